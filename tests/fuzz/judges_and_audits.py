"""Loaders of judges' answers, of batches and prompts, and of the sheets of an audit."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from jinja2 import Environment, StrictUndefined

from metaeval.audit.__main__ import read_key, read_verdicts
from metaeval.errors import InputError
from metaeval.metrics.judge.batch import import_batch
from metaeval.metrics.judge.budget import Cost, Ledger, usage_of
from metaeval.metrics.judge.prompts import Prompt
from metaeval.metrics.judge.replay import ReplayFiles
from metaeval.metrics.judge.reply import BadReply, read_answer
from metaeval.metrics.judge.requests import Request
from metaeval.runs.answers import AnswerJournal
from tests.fuzz import base, strict
from tests.fuzz.base import Loader, lines, one_file, write

KEYS = [character * 64 for character in "abc"]
ANSWERS: list[dict[str, Any]] = [
    {"key": key, "request": "{}", "answer": f"{90 - 7 * k}: good", "judge": "Judge",
     "image_id": f"{k}.jpg", "caption": "a dog runs", "rival": None, "sample": k,
     "prompt_tokens": 12, "seconds": 0.25, "usd": 1.5e-3, "score": 90.0 - 7 * k}
    for k, key in enumerate(KEYS)
]  # fmt: skip
OPTIONAL = {"sample": int, "prompt_tokens": int, "completion_tokens": int,
            "seconds": float, "usd": float, "score": float}  # fmt: skip
TEXTS = ("judge", "image_id", "caption", "rival", "finish_reason", "refusal", "logprobs", "model")


def make_answers(folder: Path) -> None:
    write(folder / "answers" / "part-00001.jsonl", ANSWERS)


def read_answers(folder: Path) -> Any:
    journal = AnswerJournal(folder)
    journal.get("")
    known = journal._known
    assert known is not None
    return {k: [a.answer, a.sample, a.prompt_tokens, a.usd] for k, a in sorted(known.items())}


def strict_answers(folder: Path) -> Any:
    *whole, last = (folder / "answers" / "part-00001.jsonl").read_bytes().split(b"\n")
    records = [strict.parsed(line.decode()) for line in whole]
    with suppress(strict.Wrong, ValueError):  # cut short
        records.append(strict.parsed(last.decode()))
    return {escaped(k): [escaped(r["answer"]), r.get("sample") or 0, count(r.get("prompt_tokens")),
                r.get("usd")] for k, r in sorted(checked(records).items())}  # fmt: skip


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(c):04x}" if 0xD800 <= ord(c) <= 0xDFFF else c for c in text)


def count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 2**63 else None


def checked(records: list[Any]) -> dict[str, dict[str, Any]]:
    out: dict[str, dict[str, Any]] = {}
    for record in records:
        strict.require(isinstance(record, dict))
        strict.require(all(isinstance(record.get(f), str) for f in ("key", "request", "answer")))
        strict.require(all(isinstance(record.get(f), str | None) for f in TEXTS))
        for name, kind in OPTIONAL.items():
            value = record.get(name)
            strict.require(value is None or type(value) in (int, kind))
            finite = value is None or (value != value and name == "score") or abs(value) < 2**63
            strict.require(finite)
        strict.require(out.setdefault(record["key"], record)["answer"] == record["answer"])
    return out


REPLAY = lines(
    ("image,candidate,answer", "1.jpg,a dog runs,Score: 80", "1.jpg,a dog runs,70",
     '2.jpg,"a cat, black",')
)  # fmt: skip


def read_replay(path: Path) -> Any:
    files = ReplayFiles(str(path))
    if files.by_request:
        raise InputError("has a column 'key'", file=path)
    return {f"{i}|{c}": [a.answer for a in of] for (i, c), of in sorted(files._by_item.items())}


def strict_replay(path: Path) -> Any:
    out: dict[str, list[str]] = {}
    for row in strict.csv_rows(path):
        image = row["image_id"] if "image_id" in row else row["image"]
        caption = row["caption"] if "caption" in row else row["candidate"]
        key = f"{strict.image_id(image)}|{strict.caption(caption)}"
        out.setdefault(key, []).append(row["answer"])
    return dict(sorted(out.items()))


class _Request:
    key, text, image_id, caption, rival, sample = KEYS[0], "{}", "1.jpg", "a dog", None, 0


REPLY = {"model": "m", "usage": {"prompt_tokens": 3, "completion_tokens": 1},
         "choices": [{"finish_reason": "stop", "message": {"content": "80"}}]}  # fmt: skip
BATCH = [{"custom_id": key, "error": None, "response": {"status_code": 200, "body": REPLY}}
         for key in KEYS]  # fmt: skip


def read_batch(path: Path) -> Any:
    requests: Any = {KEYS[0]: _Request}
    return [a.answer for a in import_batch(path, requests)]


def strict_batch(path: Path) -> Any:
    out = []
    for record in strict.json_lines(path):
        strict.require(isinstance(record.get("custom_id"), str))
        reply = record.get("response")
        used = record["custom_id"] == KEYS[0] and not record.get("error")
        if used and isinstance(reply, dict) and reply.get("status_code") == 200:
            content = reply["body"]["choices"][0]["message"].get("content")
            strict.require(content is None or isinstance(content, str))
            out.append(escaped(content or ""))
    return out


MOST = Cost(1, 700, 64)  # what is reserved for a request
BAD_USAGES: tuple[Any, ...] = (
    None, [], [1, 2], {}, "12", 7, -1, 0.5, True, 2**63, 10**30, {"prompt_tokens": -3},
    {"prompt_tokens": [3], "completion_tokens": None}, {"completion_tokens": 2**63 - 1},
)  # fmt: skip


def harm_usage(raw: bytes, rng: random.Random) -> bytes:
    """Unknown, invalid and extreme numbers of tokens; else damage to JSON."""
    reply = json.loads(raw)
    if rng.random() < 0.5:
        return base.JSON(raw, rng)
    if rng.random() < 0.2:
        reply["choices"] = rng.choice([[], [None], "x", [{"message": "hello"}]])
    name = rng.choice([None, None, "prompt_tokens", "completion_tokens"])
    part, key = (reply, "usage") if name is None else (reply["usage"], name)
    if rng.random() < 0.2:
        del part[key]
    else:
        part[key] = rng.choice(BAD_USAGES)
    return json.dumps(reply).encode()


def read_reply(path: Path) -> Any:
    """The answer, or `None`, and what is spent: an unreadable reply is paid for too."""
    ledger, request, answer = Ledger({}, None), cast(Request, _Request), None
    try:
        read = read_answer(request, path.read_bytes(), 1.0)
        answer, usage = read.answer, usage_of(read)
    except BadReply as error:
        usage = error.usage
    ledger.settle(MOST, usage, "")
    return [answer, ledger.spent.input, ledger.spent.output]


def strict_reply(path: Path) -> Any:
    answer, usage = None, None
    with suppress(strict.Wrong, ValueError):
        reply = strict.parsed(path.read_bytes().decode())
        strict.require(isinstance(reply, dict))
        usage = reply.get("usage")
        choices = reply.get("choices")
        strict.require(isinstance(choices, list) and choices and isinstance(choices[0], dict))
        message = choices[0].get("message")
        strict.require(isinstance(message, dict))
        strict.require(isinstance(message.get("content"), str | None))
        answer = escaped(message.get("content") or "")
    stated = usage if isinstance(usage, dict) else {}
    prompt, completion = (count(stated.get(f"{name}_tokens")) for name in ("prompt", "completion"))
    return [answer, 700 if prompt is None else prompt, 64 if completion is None else completion]


PROMPT = "Rate from 0 to 100.\n{% for r in references %}{{ r }}\n{% endfor %}{{ caption }}\n"
RENDERED: dict[str, Any] = {
    "caption": "a bus",
    "references": ["one bus", "the bus"],
    "image": False,
}


def strict_prompt(path: Path) -> Any:
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(strict.text(path)).render(**RENDERED)


ITEMS = [(f"{k:016x}", f"corruption {k}") for k in range(4)]


def make_audit(folder: Path) -> None:
    sheet = [f"{i},x | y,a dog,a cat,{v}" for (i, _), v in zip(ITEMS, "ls x", strict=True)]
    (folder / "sheet.csv").write_text(lines(["item,captions,a,b,verdict", *sheet]))
    key = [f"{item},{name},1,object,major,lower" for item, name in ITEMS]
    (folder / "key.csv").write_text(lines(["item,corruption,level,kind,severity,expected", *key]))


def read_audit(folder: Path) -> Any:
    key = {item: row["corruption"] for item, row in read_key(folder / "key.csv").items()}
    return [key, read_verdicts(folder / "sheet.csv")]


def strict_audit(folder: Path) -> Any:
    rows = strict.csv_rows(folder / "key.csv")
    strict.require(all({"item", "corruption", "level", "kind", "severity", "expected"} <= set(r)
                       for r in rows))  # fmt: skip
    key = {row["item"]: row["corruption"] for row in rows}
    strict.require(len(key) == len(rows))
    verdicts: dict[str, str] = {}
    for row in strict.csv_rows(folder / "sheet.csv"):
        letter = row["verdict"].strip().lower()
        strict.require(letter in ("", "l", "s", "x"))
        if letter:
            strict.require(row["item"] not in verdicts)
            verdicts[row["item"]] = {"l": "lower", "s": "same", "x": "neither"}[letter]
    return [key, verdicts]


JUDGE_LOADERS = [
    Loader("answers of a run", make_answers, read_answers, strict_answers),
    one_file("answers, replayed", "replay.csv", lambda path: path.write_text(REPLAY), read_replay,
             strict_replay),
    one_file("answers of a batch", "batch.jsonl", BATCH, read_batch, strict_batch),
    one_file("reply of a judge", "reply.json", REPLY, read_reply, strict_reply, harm_usage),
    one_file("prompt", "prompt.jinja", PROMPT, lambda path: Prompt(str(path)).render(**RENDERED),
             strict_prompt),
    Loader("sheets of an audit", make_audit, read_audit, strict_audit),
]  # fmt: skip
