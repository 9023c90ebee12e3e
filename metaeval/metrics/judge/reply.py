"""Reading a reply of a chat endpoint: of a limited size, with its usage, and without the key.

A parser reads the score in an answer. It is declared and has a version, which is part of the
metric's signature: another parser is another metric. An answer that cannot be parsed is NaN in
every column, never 0.

Files of answers: batch files of OpenAI's form, and recorded answers to replay.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from metaeval.data.own.tables import read_table, table_files
from metaeval.data.rows import Row
from metaeval.data.tidy import Tidy
from metaeval.errors import ConfigError, InputError
from metaeval.metrics.judge.requests import UNKNOWN, Request, Usage
from metaeval.readers.files import parse_json, read_json_lines, read_text
from metaeval.readers.stated_numbers import (
    NUMBER,
    is_contradicted,
    leading_number,
    without_quotes,
)
from metaeval.readers.tables import is_number
from metaeval.runs import files
from metaeval.runs.answers import Answer, add_answer, storable, token_count

if TYPE_CHECKING:
    import httpx


MOST_BYTES = 1 << 24  # of a reply, unpacked
SHORTEST_KEY = 8  # characters; a shorter one is a placeholder ("EMPTY", "0"), not a secret
_LOGPROB_POSITIONS = 32
_BRACE = re.compile("[{}]")


class BadReply(Exception):
    """A reply that is not a chat completion; `usage` is what it costs all the same."""

    def __init__(self, problem: str, usage: Usage = UNKNOWN) -> None:
        super().__init__(problem)
        self.usage = usage


async def read_body(response: httpx.Response) -> bytes:
    """The unpacked bytes of a reply; BadReply as soon as there are more than MOST_BYTES."""
    encoding = response.headers.get("Content-Encoding") or "identity"
    if encoding not in ("identity", "gzip"):
        raise BadReply(f"Content-Encoding {encoding!r:.40} was not requested")
    body = bytearray()
    async for chunk in response.aiter_bytes():  # at most 64 KiB at a time, unpacked
        body += chunk
        if len(body) > MOST_BYTES:
            raise BadReply(f"more than {MOST_BYTES:,} bytes")
    return bytes(body)


def read_answer(
    request: Request, body: bytes, seconds: float, redact: Callable[[str], str] = str
) -> Answer:
    """The answer in the bytes of a reply; BadReply where it is not a chat completion."""
    usage = UNKNOWN
    try:
        reply = parse_json(body.decode(), "the reply")
        usage = _usage(reply)
        return answer_from(request, reply, round(seconds, 4), redact)
    except (InputError, ValueError) as error:
        raise BadReply(redact(str(error)), usage) from None


def answer_from(
    request: Request, reply: Any, seconds: float | None, redact: Callable[[str], str] = str
) -> Answer:
    """The answer in a chat completion; ValueError where it is not one."""
    try:
        choice = reply["choices"][0]
        message, logprobs = choice["message"], _logprobs(choice.get("logprobs"))
        content = message.get("content")
        if content is not None and not isinstance(content, str):
            raise TypeError("the content is not text")
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None

    def text(value: Any) -> str | None:
        return storable(redact(value)) if isinstance(value, str) else None

    usage = _usage(reply)
    return Answer(
        key=request.key,
        request=request.text,
        answer=text(content) or "",
        **request.subject._asdict(),
        finish_reason=text(choice.get("finish_reason")),
        refusal=text(message.get("refusal")),
        logprobs=text(logprobs),
        prompt_tokens=usage.prompt,
        completion_tokens=usage.completion,
        seconds=seconds,
        model=text(reply.get("model")),
    )


def redaction(key: str | None) -> Callable[[str], str]:
    """A function that removes the key from a text, however JSON escapes it there.

    Keys shorter than SHORTEST_KEY and keys that are numbers stay: they are placeholders, and they
    occur in the numbers of answers.

    >>> redaction("sk-12/abc")('{"message": "bad key sk-12\\\\/\\\\u0061bc"}'), redaction("0")("70")
    ('{"message": "bad key [key]"}', '70')
    """
    if key is None or len(key) < SHORTEST_KEY or re.fullmatch(r"[-+.\deE]+", key):
        return str
    # backslashes: one for each JSON text within another, and a limit, so that none costs time
    escaped = [rf"\\{{0,8}}(?:{re.escape(c)}|u(?i:{ord(c):04x}))" for c in key]
    pattern = re.compile("".join(escaped))
    return lambda text: pattern.sub("[key]", text)


def _usage(reply: Any) -> Usage:
    stated = reply.get("usage") if isinstance(reply, dict) else None
    if not isinstance(stated, dict):
        return UNKNOWN
    return Usage(
        token_count(stated.get("prompt_tokens")), token_count(stated.get("completion_tokens"))
    )


def _logprobs(value: Any) -> str | None:
    """Positions as JSON: the token that was said, then [token, logprob] of the most probable."""
    positions = value.get("content") if isinstance(value, dict) else None
    if not positions:
        return None
    rows = []
    for position in positions[:_LOGPROB_POSITIONS]:
        tops = [(top["token"], top["logprob"]) for top in position["top_logprobs"]]
        tokens = [position["token"], *(token for token, _ in tops)]
        if not all(isinstance(token, str) for token in tokens):
            raise TypeError("a token is not text")
        if not all(is_number(logprob) and logprob < 1 for _, logprob in tops):
            raise TypeError("a logprob is not the logarithm of a probability")
        rows.append([[position["token"]], *map(list, tops)])
    return json.dumps(rows, ensure_ascii=False)


class Parser(ABC):
    """Reads the scores in an answer.

    Class attributes
    ----------------
    name, version
        Together its identity, `leading_number-1`, to which its options are added. The version is
        raised when an answer would be read differently.
    aspects
        The names of several scores in one answer; empty where there is one.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1

    aspects: tuple[str, ...] = ()

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high
        self.signature = f"{self.name}-{self.version}"

    def read(self, answer: Answer) -> tuple[float, ...]:
        """The scores in an answer, of which the captions that it quotes are no part."""
        captions = (answer.caption, answer.rival or "")
        return self.parse(replace(answer, answer=without_quotes(answer.answer, captions)))

    @abstractmethod
    def parse(self, answer: Answer) -> tuple[float, ...]:
        """One score, or one for each aspect; NaN where there is none within the scale."""

    def number(self, text: object) -> float:
        """A number within the scale; NaN for anything else."""
        if isinstance(text, bool) or not isinstance(text, str | int | float) or "_" in str(text):
            return math.nan
        try:
            value = float(text)
        except (ValueError, OverflowError):
            return math.nan
        return value if self.low <= value <= self.high else math.nan


class PatternParser(Parser):
    """The first group of the first match of a regular expression is a number."""

    version = 2
    pattern: re.Pattern[str]

    def parse(self, answer: Answer) -> tuple[float, ...]:
        match = self.pattern.search(answer.answer)
        value = self.number(match[1]) if match else math.nan
        if match is None or math.isnan(value):
            return (math.nan,)
        contradicted = is_contradicted(answer.answer, *match.span(1), self.high)
        return (math.nan if contradicted else value,)


class Number(PatternParser):
    """The whole answer is a number: " 70". Anything else cannot be parsed."""

    name = "number"
    version = 1
    pattern = re.compile(rf"\A\s*({NUMBER})\s*\Z")


class LeadingNumber(Parser):
    """The answer begins with a number that its context does not contradict: "80 because …"."""

    name = "leading_number"
    version = 2

    def parse(self, answer: Answer) -> tuple[float, ...]:
        return (leading_number(answer.answer, self.low, self.high),)


class Regex(PatternParser):
    """A regular expression of the user's."""

    name = "regex"

    def __init__(self, low: float, high: float, pattern: str) -> None:
        super().__init__(low, high)
        try:
            self.pattern = re.compile(pattern)
        except re.error as error:
            raise ConfigError(f"metric.judge.pattern: {pattern!r} is not valid ({error})") from None
        if self.pattern.groups < 1:
            raise ConfigError(
                f"metric.judge.pattern: {pattern!r} has no group; put the number in parentheses: "
                r"'Score: (\d+)'"
            )
        self.signature += f"({pattern})"


class Json(Parser):
    """The last JSON object in the answer; all fields are numbers of it, or of the only object
    within it that has them.

    Without fields, its field "score". A field that occurs twice in an object is ambiguous: NaN.
    """

    name = "json"
    version = 2

    def __init__(self, low: float, high: float, fields: Sequence[str] = ()) -> None:
        super().__init__(low, high)
        self.aspects = tuple(fields)
        self._wanted = self.aspects or ("score",)
        self.signature += f"({','.join(self._wanted)})"

    def parse(self, answer: Answer) -> tuple[float, ...]:
        wanted, having = self._wanted, list[dict[str, Any]]()
        within: list[Any] = [last_object(answer.answer)]
        while within:
            value = within.pop()
            if isinstance(value, dict) and all(name in value for name in wanted):
                having.append(value)
            elif isinstance(value, dict | list):
                within += value.values() if isinstance(value, dict) else value
        if len(having) != 1:
            return (math.nan,) * len(wanted)
        return tuple(self.number(having[0][name]) for name in wanted)


def last_object(text: str) -> dict[str, object] | None:
    """The last JSON object in a text; `None` without one. A field that it has twice is `None`.

    What is within braces but not JSON is skipped as a whole, and nothing is read behind a brace
    that is never closed.

    >>> last_object('{"a": 1} or {"a": 2, "b": "{c}", "d": 3, "d": 4} {e}')
    {'a': 2, 'b': '{c}', 'd': None}
    """
    decode = json.JSONDecoder(object_pairs_hook=_unambiguous).raw_decode
    last, end = None, 0
    while (start := text.find("{", end)) >= 0:
        try:
            last, end = decode(text, start)
        except (ValueError, RecursionError):
            depth, end = 0, len(text)
            for brace in _BRACE.finditer(text, start):
                depth += 1 if brace[0] == "{" else -1
                if depth == 0:
                    end = brace.end()
                    break
    return last


def _unambiguous(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    names = Counter(name for name, _ in pairs)
    return {name: value if names[name] == 1 else None for name, value in pairs}


class Choice(Parser):
    """The answer begins with one of a few labels, each of which stands for a number.

    Case, quotation marks and emphasis around the label do not matter; "A cat" is not the label "A",
    so what follows a label is the end, a line break or a punctuation mark.
    """

    name = "choice"

    def __init__(self, low: float, high: float, choices: Mapping[str, float]) -> None:
        super().__init__(low, high)
        self.choices = {label.casefold(): float(value) for label, value in choices.items()}
        labels = "|".join(re.escape(c) for c in sorted(self.choices, key=len, reverse=True))
        self._pattern = re.compile(
            rf"[\s\"'*`(\[]*(?:(?:answer|caption)\s*:?\s*)*[\"'*`(\[]*({labels})[\"'*`)\]]*"
            r"\s*(?:$|[\n.,:;!—–-])",
            re.IGNORECASE,
        )
        values = ",".join(f"{label}={value:g}" for label, value in self.choices.items())
        self.signature += f"({values})"

    def parse(self, answer: Answer) -> tuple[float, ...]:
        match = self._pattern.match(answer.answer)
        return (self.choices[match[1].casefold()] if match else math.nan,)


class Expected(Parser):
    """The mean of the numbers that the model might have said, weighted by their probabilities.

    Taken at the first token that is a number of the scale; its alternatives that are numbers of the
    scale share the probability. NaN where its context contradicts it, thus where the number has
    several tokens: use a scale whose numbers are one token each.
    """

    name = "expected"
    version = 2

    def parse(self, answer: Answer) -> tuple[float, ...]:
        if answer.logprobs is None:
            return (math.nan,)
        positions = json.loads(answer.logprobs)
        text, end = "".join(position[0][0] for position in positions), 0
        for position in positions:
            token = position[0][0]
            end += len(token)
            if math.isnan(self.number(token.strip())):
                continue
            last = end - len(token) + len(token.rstrip())
            if is_contradicted(text, last - len(token.strip()), last, self.high):
                return (math.nan,)
            weights: dict[float, float] = {}
            for token, logprob in position[1:]:
                value = self.number(token.strip())
                if not math.isnan(value):
                    weights[value] = weights.get(value, 0.0) + math.exp(logprob)
            total = sum(weights.values())
            if not total:
                return (math.nan,)
            return (sum(value * weight for value, weight in weights.items()) / total,)
        return (math.nan,)


PARSERS: dict[str, type[Parser]] = {
    kind.name: kind for kind in (Number, LeadingNumber, Json, Regex, Choice, Expected)
}


def export_batch(path: Path, requests: Sequence[Request]) -> None:
    """Write requests, one JSON object a line; `custom_id` is the request's key."""

    def write(temporary: Path) -> None:
        with temporary.open("w", encoding="utf-8") as file:
            for request in requests:
                line = {
                    "custom_id": request.key,
                    "method": "POST",
                    "url": "/v1/chat/completions",
                    "body": request.body(),
                }
                file.write(json.dumps(line) + "\n")

    files.atomic(path, write)


def import_batch(path: Path, requests: Mapping[str, Request]) -> Iterator[Answer]:
    """The answers in a file of a finished batch, by their requests' keys.

    Lines of other requests and failed ones are left out. Raises InputError for a file that is not
    one of a batch.
    """
    for where, record in read_json_lines(read_text(path)):
        key = record.get("custom_id")
        if not isinstance(key, str):
            raise InputError("is missing", file=path, record=where, field="custom_id")
        response = record.get("response")
        if key not in requests or record.get("error") or not isinstance(response, dict):
            continue
        if response.get("status_code") != 200:
            continue
        try:
            yield answer_from(requests[key], response["body"], None)
        except (LookupError, ValueError) as error:
            problem = f"is not a chat completion ({error})"
            raise InputError(problem, file=path, record=where, field="response.body") from None


_IMAGE, _CAPTION = ("image_id", "image"), ("caption", "candidate")  # names of columns


class ReplayFiles:
    """The answers of recorded files.

    A file with a column `key` is one of metaeval's own: an answer is found by its full request.
    Another one needs `image_id` (or `image`), `caption` (or `candidate`) and `answer`: then an
    answer is found by image and caption, whatever prompt and model it came from, and several rows
    of one caption are its samples.

    Attributes
    ----------
    by_request
        Whether answers are found by request.
    sha256
        Of all files.
    """

    def __init__(self, files: str | Sequence[str]) -> None:
        tables = [read_table(path) for path in table_files(files, "metric.judge.replay")]
        self.sha256 = hashlib.sha256("".join(t.sha256 for t in tables).encode()).hexdigest()
        self.by_request = "key" in tables[0].rows[0].fields
        self.by_key: dict[str, Answer] = {}
        self._by_item: dict[tuple[str, str], list[Answer]] = {}
        tidy = Tidy()
        for table in tables:
            if ("key" in table.rows[0].fields) != self.by_request:
                problem = (
                    "has a column 'key' where another file has none, or the other way round; "
                    "replay files of one kind"
                )
                raise InputError(problem, file=table.path)
            for row in table.rows:
                if self.by_request:
                    answer = Answer.from_record(row.fields, file=table.path, where=row.where)
                    add_answer(self.by_key, answer, table.path, row.where)
                else:
                    self._add(Row(row.fields, table.path, row.where, tidy))

    def _add(self, row: Row) -> None:
        named, captioned = (
            next((name for name in names if name in row.fields), names[0])
            for names in (_IMAGE, _CAPTION)
        )
        image, written, text = row.id(named), str(row.value(captioned)), row.value("answer")
        caption = row.tidy.read(written, file=row.path, record=row.where, field=captioned)
        if not isinstance(text, str | int | float | None):
            raise row.error("is not text", "answer")
        of_item = self._by_item.setdefault((str(image), caption), [])
        identity = f"{self.sha256} {image} {caption} {len(of_item)}"
        of_item.append(
            Answer(
                key=hashlib.sha256(identity.encode()).hexdigest(),
                request=str(row.fields.get("prompt") or ""),
                answer="" if text is None else str(text),
                image_id=str(image),
                caption=caption,
                sample=len(of_item),
            )
        )

    def of_item(self, image_id: str, caption: str) -> list[Answer]:
        """All answers about a caption of an image."""
        return self._by_item.get((image_id, caption), [])
