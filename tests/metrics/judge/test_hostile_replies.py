"""Replies that are too large, unpaid for, odd, or that repeat the key."""

import gzip
import itertools
import json
import math
import time
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pytest_httpserver import HTTPServer
from scipy.stats import kendalltau
from werkzeug import Response

from metaeval.metrics.judge import metric
from metaeval.metrics.judge.reply import MOST_BYTES
from metaeval.runs.answers import ANSWERS, record_answers
from metaeval.runs.store import MemoryStore
from tests.metrics.judge.judge_cases import (
    CAPTIONS,
    Served,
    caption_in,
    completion,
    judge,
    length_score,
    prompt_in,
    reply_with,
    scored,
)

KEY = "sk-SECRET/abc+'123"


UNSTATED = {
    "missing": None,
    "a list": [1, 2],
    "a text": "12",
    "empty": {},
    "null": {"prompt_tokens": None, "completion_tokens": None},
    "negative": {"prompt_tokens": -(10**6), "completion_tokens": -(10**6)},
    "true": {"prompt_tokens": True, "completion_tokens": True},
    "fractions": {"prompt_tokens": 0.1, "completion_tokens": 0.1},
    "2^63": {"prompt_tokens": 2**63, "completion_tokens": 2},
    "30 digits": {"prompt_tokens": 10**30, "completion_tokens": 2},
}


@pytest.mark.parametrize("usage", UNSTATED.values(), ids=UNSTATED)
def test_a_usage_that_is_not_a_count_costs_the_most_that_was_reserved(
    httpserver: HTTPServer, usage: Any, tmp_path: Path
) -> None:
    """A token has at least one byte: prompt and answer cost at most bytes + max_tokens."""
    served, store = Served(httpserver, lambda body, n: reply_with(usage)), MemoryStore()
    captions = [f"caption number {k}" for k in range(10, 60)]
    metric = judge(served.url, budget={"tokens": 2000}, max_tokens=10, concurrency=4)
    with record_answers(tmp_path):
        result = scored(metric, captions, store)
    answered = len(served.bodies)
    assert "budget.tokens=2000 is reached" in str(result.reason)
    assert f"({answered} at their most: no usage is stated)" in str(result.reason)
    most = len(prompt_in(served.bodies[0]).encode()) + 10
    output = 2 if isinstance(usage, dict) and usage.get("completion_tokens") == 2 else 10
    # the chat template's tokens are counted too: at least one request fewer fits than by bytes
    assert 2000 / (most + 16) - 2 < answered <= 2000 // (most - 10 + output)
    # answers of an earlier attempt count alike: nothing more is sent
    scored(metric, captions, store)
    assert len(served.bodies) == answered


@pytest.mark.parametrize(
    ("reply", "least", "most"),
    [
        (Response("busy", 503), 30, 30),  # a refused request costs no tokens
        (Response([b"{"], headers={"Content-Length": "100"}), 1, 9),  # a broken off one its most
    ],
)
def test_what_a_request_without_an_answer_costs(
    httpserver: HTTPServer, reply: Response, least: int, most: int
) -> None:
    captions = [f"caption {k}" for k in range(10, 40)]
    options = {"budget": {"tokens": 2000}, "max_failures": None, "retries": 0, "concurrency": 1}
    served = Served(httpserver, lambda body, n: reply)
    result = scored(judge(served.url, **options), captions)
    assert least <= len(served.bodies) <= most
    assert ("budget.tokens=2000 is reached" in str(result.reason)) == (most < 30)


def test_the_price_of_an_unknown_usage_is_unknown(httpserver: HTTPServer, tmp_path: Path) -> None:
    price = {"input": 10, "output": 100}
    replies = itertools.cycle([reply_with(None), completion("70")])
    served = Served(httpserver, lambda body, n: next(replies))
    with record_answers(tmp_path):
        scored(judge(served.url, price=price, concurrency=1), CAPTIONS[:2])
    answers = pq.read_table(tmp_path / ANSWERS).to_pydict()
    assert sorted(answers["usd"], key=str) == [pytest.approx(0.0012, abs=1e-15), None]
    assert sorted(answers["prompt_tokens"], key=str) == [100, None]


MEGABYTE = bytes(1 << 20)


def endless(sent: list[int]) -> Response:
    def body() -> Iterator[bytes]:
        while True:
            sent.append(len(MEGABYTE))
            yield MEGABYTE

    return Response(body())


def bomb(sent: list[int]) -> Response:
    """256 MiB of zeros in about one."""
    pack = zlib.compressobj(1, zlib.DEFLATED, 31)
    packed = b"".join(pack.compress(MEGABYTE) for _ in range(256)) + pack.flush()
    return Response(packed, headers={"Content-Encoding": "gzip"})


@pytest.mark.parametrize("reply", [endless, bomb])
def test_a_reply_has_a_largest_size(httpserver: HTTPServer, reply: Any) -> None:
    sent: list[int] = []
    served = Served(httpserver, lambda body, n: reply(sent))
    tracemalloc.start()
    result = scored(judge(served.url, retries=0, concurrency=1), CAPTIONS[:1])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    time.sleep(0.05)
    assert result.status == "failed"
    assert peak < 4 * MOST_BYTES + (1 << 24)
    assert sum(sent) < 4 * MOST_BYTES


@pytest.mark.parametrize("wait", [0.02, 2])
def test_a_reply_has_a_longest_time(httpserver: HTTPServer, wait: float) -> None:
    """Whether nothing comes, or a blank now and then."""

    def body() -> Iterator[bytes]:
        for _ in range(int(4 / wait)):
            time.sleep(wait)
            yield b" "

    served = Served(httpserver, lambda _, n: Response(body()))
    started = time.monotonic()
    result = scored(judge(served.url, retries=1, timeout=0.3), CAPTIONS[:1])
    assert time.monotonic() - started < 3
    assert (len(served.bodies), result.status) == (2, "failed")


def test_a_packed_reply_is_unpacked_and_other_encodings_are_failures(
    httpserver: HTTPServer,
) -> None:
    def reply(body: str, number: int) -> Response:
        raw = json.dumps(completion("70")).encode()
        if number == 1:
            return Response(raw, headers={"Content-Encoding": "br"})
        return Response(gzip.compress(raw), headers={"Content-Encoding": "gzip"})

    served = Served(httpserver, reply)
    result = scored(judge(served.url), CAPTIONS[:1])
    assert (served.headers[0]["Accept-Encoding"], len(served.bodies)) == ("gzip", 2)
    assert result.scores[0, 0] == 70


ODD: dict[str, Any] = {
    "message a text": {"choices": [{"message": "hello"}]},
    "choices a text": {"choices": "hello"},
    "choice null": {"choices": [None]},
    "a list": [completion("70")],
    "deep": "[" * 200_000 + "]" * 200_000,
    "a key twice": '{"choices": [{"message": {"content": "1"}}], "choices": []}',
    "not UTF-8": Response(json.dumps(completion("70")).encode("utf-16"), 200),
    "5,000 digits": '{"choices": ' + "7" * 5000 + "}",
    "tokens not text": completion(
        "70", choice={"logprobs": {"content": [{"token": 70, "top_logprobs": []}]}}
    ),
    "logprob above 0": completion(
        "70",
        choice={
            "logprobs": {
                "content": [{"token": "70", "top_logprobs": [{"token": "70", "logprob": 1e6}]}]
            }
        },
    ),
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_an_odd_reply_is_a_failed_attempt_and_is_counted(httpserver: HTTPServer, odd: Any) -> None:
    def reply(body: str, number: int) -> Any:
        return odd if number == 1 or "cat" in body else length_score(body, number)

    served = Served(httpserver, reply)
    result = scored(judge(served.url, concurrency=1))
    expected = [len(c) if "cat" not in c else math.nan for c in CAPTIONS]
    np.testing.assert_array_equal(result.scores[:, 0], expected)
    assert len(served.bodies) == 2 + 3 + 1 + 1
    assert {c.what: c.n for c in result.counts}[metric.UNANSWERED] == 1


SURROGATE = json.dumps(completion("70 \ud800", model="m\udfff"))


def test_an_unpaired_surrogate_is_stored_escaped_and_counted(
    httpserver: HTTPServer, tmp_path: Path
) -> None:
    def reply(body: str, number: int) -> Any:
        return SURROGATE if "cat" in body else length_score(body, number)

    served, store = Served(httpserver, reply), MemoryStore()
    with record_answers(tmp_path / "one"):
        result = scored(judge(served.url), store=store)
    assert {c.what: c.n for c in result.counts}[metric.ESCAPED] == 1
    assert result.scores[1, 0] == 70
    answers = pq.read_table(tmp_path / "one" / ANSWERS).to_pylist()
    (escaped,) = [a for a in answers if "cat" in a["caption"]]
    assert (escaped["answer"], escaped["model"]) == ("70 \\ud800", "m\\udfff")
    # from the cache, and from the record
    replay = str(tmp_path / "one" / ANSWERS)
    for name, more in (("two", {}), ("three", {"replay": replay, "mode": "replay_or_fail"})):
        with record_answers(tmp_path / name):
            again = scored(judge(served.url, **more), store=store)
        np.testing.assert_array_equal(again.scores, result.scores)
        assert {c.what: c.n for c in again.counts}[metric.ESCAPED] == 1
    assert len(served.bodies) == 4


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(c):04X}" for c in text)


SPELLINGS = {
    "plain": json.dumps(KEY)[1:-1],
    "escaped": escaped(KEY),
    "slash": KEY.replace("/", "\\/"),
    "twice": json.dumps(KEY.replace("/", "\\/"))[1:-1],
    "mixed": KEY[:5] + escaped(KEY[5:9]) + KEY[9:],
}


@pytest.mark.parametrize("status", [200, 401, 400])
@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_the_key_is_nowhere_however_it_is_spelled(
    httpserver: HTTPServer,
    spelling: str,
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    text = json.dumps(completion("70 KEY", model="KEY", choice={"finish_reason": "KEY"}))
    text = text if status == 200 else json.dumps({"error": {"message": "wrong key KEY"}})
    served = Served(httpserver, lambda body, n: Response(text.replace("KEY", spelling), status))
    with caplog.at_level("DEBUG"), record_answers(tmp_path):
        result = scored(judge(served.url), CAPTIONS[:1])
    assert served.headers[0]["Authorization"] == f"Bearer {KEY}"
    written = str(result.reason) + caplog.text
    if status == 200:
        assert result.scores[0, 0] == 70
        (answer,) = pq.read_table(tmp_path / ANSWERS).to_pylist()
        assert answer["answer"] == "70 [key]"
        written += str(answer)
    assert "[key]" in written
    seen = written
    for _ in range(3):  # as a reader of JSON within JSON sees it
        seen = seen.encode().decode("unicode_escape").replace("\\/", "/")
        assert "SECRET" not in seen


@pytest.mark.parametrize("key", ["sk-one\ntwo", "sk-\x1b[31m", "sk-é", "sk two", "sk-…"])
def test_a_key_that_no_header_can_have_is_refused_unseen(
    lengths: Served,
    key: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with caplog.at_level("DEBUG"):
        result = scored(judge(lengths.url))
    assert result.status == "skipped"
    assert "the environment variable OPENAI_API_KEY has a space" in str(result.reason)
    assert not lengths.bodies
    assert "sk-" not in f"{result.reason}{caplog.text}"


@pytest.mark.parametrize("key", ["0", "7", "1", "EMPTY", "none", "x", "-", "stop", "00000000"])
def test_a_placeholder_of_a_key_changes_no_answer(
    httpserver: HTTPServer, key: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    replies = dict(zip(CAPTIONS, ["70", "20", "50.00000000", "100"], strict=True))
    served = Served(httpserver, lambda body, n: completion(replies[caption_in(body)]))
    with record_answers(tmp_path):
        result = scored(judge(served.url))
    assert kendalltau(result.scores[:, 0], [70, 20, 50, 100]).statistic == pytest.approx(1)
    recorded = pq.read_table(tmp_path / ANSWERS).to_pylist()
    assert {a["caption"]: a["answer"] for a in recorded} == replies
