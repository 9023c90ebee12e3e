"""The answers of judges in a run's folder: written one by one, gathered in `answers.parquet`.

During a run, each answer is a line in `answers/part-*.jsonl` before the next request, so a
process that is killed loses only what is in flight. When the run ends, the answers that it used
are gathered in `answers.parquet` and the parts are removed.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import pyarrow as pa

from metaeval.errors import InputError
from metaeval.readers.files import parse_json, read_bytes
from metaeval.readers.tables import is_number, read_parquet
from metaeval.runs import files

ANSWERS = "answers.parquet"
PARTS = "answers"  # a folder of parts, while the run lasts


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of a model.

    Attributes
    ----------
    key
        SHA-256 of the full request, hexadecimal.
    request
        The request as JSON; an image is replaced by its digest and size.
    answer
        The text, as it came; empty where the model refused. An unpaired surrogate is escaped, here
        and in all other texts.
    judge
        The name of its score column.
    image_id, caption, rival
        What was judged; `rival` is the other caption of a pairwise request.
    sample
        Which of several samples of one request it is, from 0.
    finish_reason, refusal
        As the endpoint states them.
    logprobs
        JSON: for each token of the answer, its most probable alternatives as [token, logprob];
        `None` where they were not asked for.
    prompt_tokens, completion_tokens
        As the endpoint counts them, `None` where it does not or where that is not a count.
    seconds
        From sending the request to having the answer.
    model
        The model's name in the endpoint's answer.
    usd
        Its price, `None` where no prices are declared.
    score
        What the parser of this run reads in the answer, NaN where it cannot be parsed; `None`
        before it is parsed. Of several columns, the first.
    """

    key: str
    request: str
    answer: str
    judge: str = ""
    image_id: str = ""
    caption: str = ""
    rival: str | None = None
    sample: int = 0
    finish_reason: str | None = None
    refusal: str | None = None
    logprobs: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float | None = None
    model: str | None = None
    usd: float | None = None
    score: float | None = None

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=True)

    @classmethod
    def from_record(cls, record: Mapping[str, Any], *, file: Path | None, where: str) -> Answer:
        """The answer in a record of a recorded file; InputError for missing or wrong fields."""
        values: dict[str, Any] = {f.name: record.get(f.name) for f in fields(cls)}
        for name, value in values.items():
            wanted = _TYPES[name]
            if value is None and name not in ("key", "request", "answer"):
                continue
            if is_number(value) and wanted is float:
                value = values[name] = float(value)
            in_range = (is_number(value) and abs(value) < 1 << 63) or isinstance(value, str)
            in_range |= name == "score" and value != value  # what could not be parsed
            if not isinstance(value, wanted) or not in_range:
                raise InputError(
                    f"{value!r:.40} is not {_WORDS[wanted]}", file=file, record=where, field=name
                )
            values[name] = storable(value) if isinstance(value, str) else value
        values |= {name: token_count(values[name]) for name in _COUNTS}
        defaults: dict[str, Any] = {f.name: f.default for f in fields(cls)}
        return cls(**{k: defaults[k] if v is None else v for k, v in values.items()})


def storable(text: str) -> str:
    r"""The text, with unpaired surrogates escaped: UTF-8 has none.

    >>> storable("70 \ud800")
    '70 \\ud800'
    """
    return text.encode("utf-8", "backslashreplace").decode()


def token_count(value: object) -> int | None:
    """A number of tokens; `None` for anything other than a non-negative integer of 64 bits.

    JSON does not tell 3.0 from 3.

    >>> token_count(3.0), token_count(0.5), token_count(True)
    (3, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1 << 63:
        return None
    return int(value) if value == int(value) else None


SURROGATE = re.compile(r"\\ud[89a-f][0-9a-f]{2}")
_COUNTS = ("prompt_tokens", "completion_tokens")
_WORDS = {str: "text", int: "a whole number", float: "a number"}
_TYPES: dict[str, type] = {
    **{f.name: str for f in fields(Answer)},
    **dict.fromkeys(("sample", *_COUNTS), int),
    **dict.fromkeys(("seconds", "usd", "score"), float),
}
_SCHEMA = pa.schema(
    [
        (name, {str: pa.string(), int: pa.int64(), float: pa.float64()}[kind])
        for name, kind in _TYPES.items()
    ]
)


class AnswerJournal:
    """The answers of one run's folder, those of an earlier, killed attempt included."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[str, Answer] | None = None  # key → answer, read when first needed
        self._used: dict[tuple[str, str], Answer] = {}  # (judge, key) → answer
        self._file: int | None = None
        self._sent: set[str] = set()  # the keys of the answers that this run has requested
        self.failed: Counter[str] = Counter()  # judge → its requests without an answer
        self.repeated: Counter[str] = Counter()  # judge → attempts after the first of a request

    def get(self, key: str) -> Answer | None:
        """The recorded answer to a request."""
        if self._known is None:
            self._known = {}
            for answer, file, where in self._recorded():
                add_answer(self._known, answer, file, where)
        return self._known.get(key)

    def append(self, answer: Answer) -> None:
        """Write an answer into the run's folder; it is there when this returns."""
        if self._file is None:
            folder = self.folder / PARTS
            try:
                folder.mkdir(parents=True, exist_ok=True)
                number = 1 + max((_number(p) for p in folder.glob("part-*.jsonl")), default=0)
                path = folder / f"part-{number:05d}.jsonl"
                self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            except OSError as error:
                raise InputError(f"cannot be written ({error.strerror})", file=folder) from None
        line = f"{answer.to_json()}\n".encode()
        if os.write(self._file, line) != len(line):
            raise InputError("cannot be written (the disk is full)", file=self.folder / PARTS)
        self._sent.add(answer.key)
        if self._known is not None:
            self._known[answer.key] = answer

    def use(self, answer: Answer) -> None:
        """Mark an answer as one that a score of this run comes from."""
        self._used[answer.judge, answer.key] = answer

    @property
    def used(self) -> list[Answer]:
        """The answers that this run's scores come from, by judge, image and caption."""

        def order(answer: Answer) -> tuple[str, ...]:
            return answer.judge, answer.image_id, answer.caption, answer.rival or "", answer.key

        return sorted(self._used.values(), key=order)

    def summary(self) -> list[str]:
        """A line for each judge: its answers and requests, their tokens and their price."""
        by_judge: dict[str, list[Answer]] = {j: [] for j in (*self.failed, *self.repeated)}
        for answer in self.used:
            by_judge.setdefault(answer.judge, []).append(answer)
        lines = []
        for judge, answers in by_judge.items():
            sent = sum(answer.key in self._sent for answer in answers)
            unparsed = sum(a.score is not None and a.score != a.score for a in answers)
            tokens = sum((a.prompt_tokens or 0) + (a.completion_tokens or 0) for a in answers)
            now, all_usd = (
                sum(a.usd or 0.0 for a in answers if a.key in keys)
                for keys in (self._sent, {a.key for a in answers})
            )
            priced = any(a.usd is not None for a in answers)
            repeated = f", {n:,} attempts repeated" if (n := self.repeated[judge]) else ""
            price = f"{all_usd:,.2f} USD, {now:,.2f} of it now" if priced else "no price is known"
            lines.append(
                f"{judge}: {len(answers):,} answers, {sent:,} requested now and "
                f"{len(answers) - sent:,} recorded before; {self.failed[judge]:,} requests failed"
                f"{repeated}, {unparsed:,} answers cannot be parsed; {tokens:,} tokens, {price}"
            )
        return lines

    def finish(self) -> None:
        """Gather the used answers in `answers.parquet` and remove the parts."""
        self.close()
        if not self._used:
            return
        rows = [asdict(answer) for answer in self.used]
        table = pa.Table.from_pylist(rows, schema=_SCHEMA)
        files.write_arrow(self.folder / ANSWERS, table)
        for path in (self.folder / PARTS).glob("part-*.jsonl"):
            path.unlink(missing_ok=True)
        folder = self.folder / PARTS
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()

    def close(self) -> None:
        """Close the part that is being written."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _recorded(self) -> Iterator[tuple[Answer, Path, str]]:
        path = self.folder / ANSWERS
        if path.is_file():
            for where, record in read_parquet(path):
                yield Answer.from_record(record, file=path, where=where), path, where
        for part in sorted((self.folder / PARTS).glob("part-*.jsonl")):
            yield from ((answer, part, where) for where, answer in read_part(part))


def read_part(path: Path) -> Iterator[tuple[str, Answer]]:
    """The place of each answer of a part, and the answer.

    A last line that a kill cut short is left out; any other that is not an answer is an InputError.
    """
    *lines, last = read_bytes(path).split(b"\n")
    for number, line in enumerate([*lines, last], 1):
        where = f"line {number:,}"
        try:
            record = parse_json(line.decode("utf-8"), path, where)
        except (InputError, UnicodeDecodeError):
            if number > len(lines):
                continue
            raise InputError("is not JSON", file=path, record=where) from None
        if not isinstance(record, dict):
            raise InputError("is not an answer", file=path, record=where)
        yield where, Answer.from_record(record, file=path, where=where)


def add_answer(known: dict[str, Answer], answer: Answer, file: Path, where: str) -> None:
    """Keep an answer by its request's key; InputError for another answer to the same request."""
    if known.setdefault(answer.key, answer).answer != answer.answer:
        raise InputError(
            "an earlier record has another answer to the same request; keep one of them",
            file=file,
            record=where,
            field="answer",
        )


def _number(path: Path) -> int:
    digits = path.stem.partition("-")[2]
    return int(digits) if digits.isdecimal() else 0


_journal: AnswerJournal | None = None  # of the run that is on


def current_journal() -> AnswerJournal | None:
    """The journal of the run that is on, `None` outside of one."""
    return _journal


@contextmanager
def record_answers(folder: Path) -> Iterator[AnswerJournal]:
    """While the block lasts, judges write their answers into this folder."""
    global _journal
    before, _journal = _journal, AnswerJournal(folder)
    try:
        yield _journal
        _journal.finish()
    finally:
        _journal.close()
        _journal = before
