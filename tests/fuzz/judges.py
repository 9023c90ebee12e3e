"""Loaders of judges' answers, of batches and prompts."""

from pathlib import Path
from typing import Any

from metaeval.errors import InputError
from metaeval.metrics.judge.reply import BadReply, ReplayFiles, import_batch, read_answer
from metaeval.metrics.judge.requests import Cost, Ledger, Prompt, Request, Subject, usage_of
from metaeval.runs.answers import AnswerJournal
from tests.data.table_files import write
from tests.fuzz.base import Loader, lines, one_file

KEYS = [character * 64 for character in "abc"]
ANSWERS: list[dict[str, Any]] = [
    {
        "key": key,
        "request": "{}",
        "answer": f"{90 - 7 * k}: good",
        "judge": "Judge",
        "image_id": f"{k}.jpg",
        "caption": "a dog runs",
        "rival": None,
        "sample": k,
        "prompt_tokens": 12,
        "seconds": 0.25,
        "usd": 1.5e-3,
        "score": 90.0 - 7 * k,
    }
    for k, key in enumerate(KEYS)
]


def make_answers(folder: Path) -> None:
    write(folder / "answers" / "part-00001.jsonl", ANSWERS)


def read_answers(folder: Path) -> Any:
    journal = AnswerJournal(folder)
    journal.get("")
    known = journal._known
    assert known is not None
    return {k: [a.answer, a.sample, a.prompt_tokens, a.usd] for k, a in sorted(known.items())}


REPLAY = lines(
    (
        "image,candidate,answer",
        "1.jpg,a dog runs,Score: 80",
        "1.jpg,a dog runs,70",
        '2.jpg,"a cat, black",',
    )
)


def read_replay(path: Path) -> Any:
    files = ReplayFiles(str(path))
    if files.by_request:
        raise InputError("has a column 'key'", file=path)
    return {f"{i}|{c}": [a.answer for a in of] for (i, c), of in sorted(files._by_item.items())}


REQUEST = Request(KEYS[0], "{}", {}, Subject("1.jpg", "a dog"), None)

REPLY = {
    "model": "m",
    "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    "choices": [{"finish_reason": "stop", "message": {"content": "80"}}],
}
BATCH = [
    {"custom_id": key, "error": None, "response": {"status_code": 200, "body": REPLY}}
    for key in KEYS
]


def read_batch(path: Path) -> Any:
    return [a.answer for a in import_batch(path, {KEYS[0]: REQUEST})]


MOST = Cost(1, 700, 64)  # what is reserved for a request


def read_reply(path: Path) -> Any:
    """The answer, or `None`, and what is spent: an unreadable reply is paid for too."""
    ledger, answer = Ledger({}, None), None
    try:
        read = read_answer(REQUEST, path.read_bytes(), 1.0)
        answer, usage = read.answer, usage_of(read)
    except BadReply as error:
        usage = error.usage
    ledger.settle(MOST, usage, "")
    return [answer, ledger.spent.input, ledger.spent.output]


PROMPT = "Rate from 0 to 100.\n{% for r in references %}{{ r }}\n{% endfor %}{{ caption }}\n"
RENDERED: dict[str, Any] = {
    "caption": "a bus",
    "references": ["one bus", "the bus"],
    "image": False,
}


JUDGE_LOADERS = [
    Loader("answers of a run", make_answers, read_answers, forgiving=True),
    one_file("answers, replayed", "replay.csv", lambda path: path.write_text(REPLAY), read_replay),
    one_file("answers of a batch", "batch.jsonl", BATCH, read_batch),
    one_file("reply of a judge", "reply.json", REPLY, read_reply, forgiving=True),
    one_file("prompt", "prompt.jinja", PROMPT, lambda path: Prompt(str(path)).render(**RENDERED)),
]
