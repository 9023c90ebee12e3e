"""A judge against an endpoint on loopback that answers well, badly, too much or with the key; and
the recorded answers of four LLaVA judges."""

import gzip
import itertools
import json
import math
import os
import pickle
import socket
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

from metaeval.data.judgments.benchmarks import load_expert
from metaeval.data.judgments.judged import Judgments
from metaeval.errors import ConfigError
from metaeval.metrics.judge import client, metric
from metaeval.metrics.judge.client import retry_after
from metaeval.metrics.judge.metric import Judge
from metaeval.metrics.judge.reply import MOST_BYTES
from metaeval.progress import RunLine
from metaeval.runs.answers import ANSWERS, record_answers
from metaeval.runs.files import read_columns
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions
from tests.metrics.judge.judge_cases import (
    CAPTIONS,
    Served,
    caption_in,
    completion,
    dataset,
    judge,
    length_score,
    prompt_in,
    reply_with,
    scored,
)


def test_a_caption_is_requested_once_and_its_number_is_its_score(lengths: Served) -> None:
    store = MemoryStore()
    result = scored(judge(lengths.url), [*CAPTIONS, *CAPTIONS], store)
    assert result.scores[:, 0].tolist() == [len(c) for c in CAPTIONS] * 2
    sent = json.loads(lengths.bodies[0])
    assert (sent["model"], sent["temperature"], "stop" in sent) == ("tiny", 0, False)
    assert "reference 0 one" in "".join(map(prompt_in, lengths.bodies))
    # the answers are in the store: nothing is asked again, also for another parser
    again = scored(judge(lengths.url, parser="number"), CAPTIONS, store)
    np.testing.assert_array_equal(again.scores, result.scores[:4])
    assert len(lengths.bodies) == 4


@pytest.mark.parametrize(
    ("option", "asks_again"),
    [
        ({"model": "other"}, True),
        ({"temperature": 0.5}, True),
        ({"seed": 3}, True),
        ({"max_tokens": 5}, True),
        ({"stop": ["\n"]}, True),
        ({"references": 1}, True),
        ({"system": "You are strict."}, True),
        ({"prompt": "aspects"}, True),
        ({"endpoint": "elsewhere"}, True),
        ({"parameters": {"top_p": 0.5}}, True),
        ({"parser": "number"}, False),
        ({"bounds": [0, 1000]}, False),
        ({"concurrency": 2}, None),
        ({"retries": 9}, None),
        ({"timeout": 5.0}, None),
        ({"price": {"input": 1, "output": 2}}, None),
    ],
)
def test_whatever_changes_a_request_or_its_reading_is_in_the_signature(
    lengths: Served, option: dict[str, Any], asks_again: bool | None
) -> None:
    store = MemoryStore()
    one, other = judge(lengths.url), judge(lengths.url, **option)
    assert (scored(one, store=store).signatures == scored(other, store=store).signatures) == (
        asks_again is None
    )
    assert len(lengths.bodies) == (8 if asks_again else 4)


@pytest.mark.parametrize(
    ("reply", "expected", "count"),
    [
        (completion("I rate it 70"), math.nan, "cannot be parsed"),
        (
            completion(None, choice={"message": {"content": None, "refusal": "No."}}),
            math.nan,
            "cannot be parsed",
        ),
        (completion("101"), math.nan, "cannot be parsed"),
        (completion("70 becau", choice={"finish_reason": "length"}), 70.0, "cut at max_tokens"),
    ],
    ids=["wrong place", "refusal", "outside the scale", "truncated"],
)
def test_an_answer_is_read_as_it_is(
    httpserver: HTTPServer, reply: Any, expected: float, count: str
) -> None:
    served = Served(httpserver, lambda body, n: reply if "cat" in body else length_score(body, n))
    result = scored(judge(served.url))
    np.testing.assert_equal(result.scores[1, 0], expected)
    assert [c.n for c in result.counts if count in c.what] == [1]


@pytest.mark.parametrize(
    ("reply", "options", "requests", "reason"),
    [
        *((Response("no", status), {}, 1, f"HTTP {status}") for status in (401, 403, 404)),
        (Response("bad", 400), {"max_failures": 3}, 4, "more than 3 requests failed"),
        # attempts count in the budget
        (Response("no", 500), {"budget": {"calls": 5}, "retries": 10}, 5, "budget.calls=5 is"),
        # an unreadable reply costs what it states
        (
            {"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 1000}},
            {"budget": {"tokens": 10_000}, "max_failures": None},
            5,
            "budget.tokens=10000 is reached after 5 calls",
        ),
        # a limit in the parameters is reserved
        (
            reply_with(None),
            {"parameters": {"max_completion_tokens": 5000}, "budget": {"tokens": 6000}},
            1,
            "budget.tokens=6000 is",
        ),
    ],
)
def test_what_stops_a_judge(
    httpserver: HTTPServer, reply: Any, options: dict[str, Any], requests: int, reason: str
) -> None:
    served = Served(httpserver, lambda body, n: reply)
    captions = [f"caption {k}" for k in range(40)]
    result = scored(judge(served.url, concurrency=1, **options), captions)
    assert (result.status, len(served.bodies)) == ("failed", requests)
    assert reason in str(result.reason)


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_budget_of_calls_is_held_to_the_call(lengths: Served, concurrency: int) -> None:
    store, captions = MemoryStore(), [f"caption number {k}" for k in range(30)]
    # the same command spends nothing more; a greater budget goes on where it stopped
    for calls, status, asked in ((7, "failed", 7), (7, "failed", 7), (30, "ok", 30)):
        options = {"concurrency": concurrency, "budget": {"calls": calls}}
        result = scored(judge(lengths.url, **options), captions, store)
        assert (result.status, len(lengths.bodies)) == (status, asked)
        assert status == "ok" or "budget.calls=7 is reached after 7 calls" in str(result.reason)


@pytest.mark.parametrize(
    ("budget", "price", "each"),
    [
        ({"tokens": 4000}, None, 102),
        # 100 × 10 + 2 × 100 dollars per million
        ({"usd": 0.04}, {"input": 10, "output": 100}, 0.0012),
    ],
)
def test_a_budget_of_tokens_or_money_is_never_exceeded(
    lengths: Served, budget: dict[str, float], price: Any, each: float
) -> None:
    captions = [f"caption number {k}" for k in range(60)]
    scored(judge(lengths.url, budget=budget, price=price, max_tokens=10), captions)
    (most,) = budget.values()
    assert most / 2 < each * len(lengths.bodies) <= most


@pytest.mark.slow
def test_no_request_is_faster_than_allowed_and_a_429_holds_all(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[float] = []
    send = client.Endpoint._send

    async def timed(self: client.Endpoint, request: Any, http: Any) -> Any:
        sent.append(time.monotonic())
        return await send(self, request, http)

    monkeypatch.setattr(client.Endpoint, "_send", timed)

    def reply(body: str, number: int) -> Any:
        storm = number in (5, 6, 7)
        return Response("", 429, {"Retry-After": "1"}) if storm else length_score(body, number)

    served = Served(httpserver, reply)
    captions = [f"caption number {k}" for k in range(16)]
    options = {"requests_per_minute": 1200, "concurrency": 8, "retries": 5}
    assert scored(judge(served.url, **options), captions).status == "ok"
    assert len(sent) == len(served.bodies) == 16 + 3
    gaps = np.diff(sent)
    assert gaps.min() > 0.05 - 0.02  # 20 a second; a busy machine reads the clock late
    assert gaps.max() > 0.9  # no request while the endpoint wants a pause


def test_no_more_tokens_a_minute_than_allowed(lengths: Served) -> None:
    captions = [f"caption number {k}" for k in range(101)]
    options = {"tokens_per_minute": 1_000_000, "max_tokens": 10_000, "concurrency": 8}
    started = time.monotonic()
    assert scored(judge(lengths.url, **options), captions).status == "ok"
    # each request reserves its prompt and 10,000 tokens: 10,000 above the minute's store wait
    assert time.monotonic() - started > 10_000 / (1_000_000 / 60) - 0.05


def test_retry_after_is_seconds_or_a_date() -> None:
    past = "Wed, 21 Oct 2015 07:28:00 GMT"  # RFC 9110's example
    assert [retry_after(value) for value in ("2", "soon", None, past)] == [2, None, None, 0]


def test_a_dry_run_sends_nothing_and_states_the_price(lengths: Served) -> None:
    options = {"price": {"input": 1, "output": 1000}, "max_tokens": 50}
    result = scored(judge(lengths.url, dry_run=True, **options))
    assert (result.status, len(lengths.bodies)) == ("skipped", 0)
    parts = "4 calls", "at most 200 of answers", "0.20 USD"
    assert [part for part in parts if part not in str(result.reason)] == []


@pytest.fixture
def details(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What stands on the line of progress."""
    details: list[str] = []
    monkeypatch.setattr(
        RunLine, "report", lambda self, done, total, detail="": details.append(detail)
    )
    return details


def test_requests_and_their_price_are_on_the_line_of_progress_and_in_the_summary(
    httpserver: HTTPServer, tmp_path: Path, details: list[str]
) -> None:
    """One answer is recorded, one request fails, one answer has no number; 0.12 USD an answer."""
    replies = {"a cat sleeps": Response("", 400), "two men talk": completion("hm")}
    served = Served(
        httpserver, lambda body, n: replies.get(caption_in(body)) or length_score(body, n)
    )
    price = {"input": 1000, "output": 10_000}
    metric, store = judge(served.url, price=price, max_tokens=10, concurrency=1), MemoryStore()
    for name, captions in (("before", CAPTIONS[:1]), ("run", CAPTIONS)):
        with record_answers(tmp_path / name) as journal:
            scored(metric, captions, store)
    counts = "3 of 3 requests, 1 recorded before, 1 failed, 1 unparsed, 204 tokens"
    assert counts + ", 0.24 USD, about 0.00 to come" in details
    assert journal.summary() == [
        "Judge (tiny): 3 answers, 2 requested now and 1 recorded before; 1 requests failed, "
        "1 answers cannot be parsed; 306 tokens, 0.36 USD, 0.24 of it now"
    ]


def test_a_dead_server_is_named(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    result = scored(judge(f"http://127.0.0.1:{port}/v1", retries=1))
    assert result.status == "failed"
    problem = f"no connection to 127.0.0.1:{port} (Connection refused) (2 attempts)"
    assert result.reason == f"4 captions have no answer; the last request: {problem}"


def test_repeated_attempts_are_counted(
    httpserver: HTTPServer, tmp_path: Path, details: list[str]
) -> None:
    served = Served(
        httpserver, lambda body, n: length_score(body, n) if n > 2 else Response("", 500)
    )
    with record_answers(tmp_path) as journal:
        assert scored(judge(served.url, concurrency=1)).status == "ok"
    assert any("2 repeated, 0 failed" in detail for detail in details)
    assert "0 requests failed, 2 attempts repeated, 0 answers" in journal.summary()[0]


TOKENS = [("3", 0.5), ("1", 0.25), ("none", 0.25)]
ASPECTS = 'Sure: {"fidelity": 90, "adequacy": 30, "fluency": 60}'


def said_three(body: str, number: int) -> Any:
    assert json.loads(body)["logprobs"] is True
    tops = [{"token": t, "logprob": math.log(p)} for t, p in TOKENS]
    position = {"token": "3", "logprob": math.log(0.5), "top_logprobs": tops}
    return completion("3", choice={"logprobs": {"content": [position]}})


def packed(body: str, number: int) -> Response:
    content = gzip.compress(json.dumps(completion("70")).encode())
    return Response(content, headers={"Content-Encoding": "gzip"})


@pytest.mark.parametrize(
    ("reply", "options", "columns", "row", "requests"),
    [
        # the mean of 10, 20 and 30: samples have their own seeds
        (
            lambda body, n: completion(str(10 * json.loads(body)["seed"])),
            {"n_samples": 3, "seed": 1},
            ["Judge (tiny)"],
            [20],
            3,
        ),
        (
            lambda body, n: completion(ASPECTS),
            {"prompt": "aspects"},
            [*(f"Judge (tiny): {a}" for a in ("fidelity", "adequacy", "fluency")), "Judge (tiny)"],
            [90, 30, 60, 60],
            1,
        ),
        (packed, {}, ["Judge (tiny)"], [70], 1),
        # by hand: 1 with probability .25, 3 with .5, a word with .25: (.25 + 1.5) / .75
        (
            said_three,
            {"parser": "expected", "bounds": [0, 5]},
            ["Judge expected (tiny)"],
            [1.75 / 0.75],
            1,
        ),
    ],
)
def test_columns_and_their_scores(
    httpserver: HTTPServer,
    reply: Any,
    options: dict[str, Any],
    columns: list[str],
    row: list[float],
    requests: int,
) -> None:
    served = Served(httpserver, reply)
    result = scored(judge(served.url, **options), CAPTIONS[:1])
    assert [c.name for c in result.columns] == columns
    assert result.scores[0].tolist() == pytest.approx(row, abs=1e-12)
    assert len(served.bodies) == requests
    assert served.headers[0]["Accept-Encoding"] == "gzip"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (lambda dog_first: "A", [0.5, 0.5]),  # always the first: no preference from its bias
        (lambda dog_first: "**A**." if dog_first else "Caption B", [1, 0]),
    ],
)
def test_a_pair_is_requested_once_in_each_order(
    httpserver: HTTPServer, answer: Any, expected: list[float]
) -> None:
    def reply(body: str, number: int) -> Any:
        return completion(answer(prompt_in(body).index("a dog") < prompt_in(body).index("a cat")))

    served, captions = Served(httpserver, reply), ["a dog", "a cat"]
    metric, index = judge(served.url, prompt="pairwise"), np.array([0, 0])
    result = score_captions(
        metric, dataset(), captions, index, MemoryStore(), rivals=captions[::-1]
    )
    assert result.scores[:, 0].tolist() == expected
    assert (len(served.bodies), len({prompt_in(body) for body in served.bodies})) == (2, 2)


def test_a_recorded_run_is_replayed_to_the_byte(lengths: Served, tmp_path: Path) -> None:
    with record_answers(tmp_path):
        recorded = scored(judge(lengths.url))
    table = read_columns(tmp_path / ANSWERS, ["key", "request", "answer"])
    assert sorted(table["caption"]) == sorted(CAPTIONS)
    assert table["score"].tolist() == [len(c) for c in table["caption"]]
    assert not (tmp_path / "answers").exists()
    replay = {"replay": str(tmp_path / ANSWERS)}
    replayed = scored(judge(lengths.url, **replay, mode="replay_or_fail"))
    assert replayed.scores.tobytes() == recorded.scores.tobytes()
    assert replayed.signatures == recorded.signatures
    # another prompt was not recorded: every caption is NaN
    for options, reason in (({"mode": "replay_or_fail"}, "no answer is recorded"), ({}, "NaN")):
        other = scored(judge(lengths.url, **replay, system="x", **options))
        assert (other.status, reason in str(other.reason)) == ("failed", True)
    assert len(lengths.bodies) == len(CAPTIONS)


def test_a_table_of_answers_is_replayed_by_image_and_caption(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("image,candidate,answer\n0,a dog runs,70\n1,a cat sleeps,none\n0,x,5\n")
    metric = Judge(replay=str(path))
    result = scored(metric, CAPTIONS[:3])
    np.testing.assert_equal(result.scores[:, 0], [70, math.nan, math.nan])
    assert [c.n for c in result.counts][:2] == [1, 1]
    assert pickle.loads(pickle.dumps(metric)).columns == metric.columns == result.columns
    assert result.columns[0].name == "Judge (answers)"


def test_batch_files_go_out_and_come_back(lengths: Served, tmp_path: Path) -> None:
    out, back = tmp_path / "requests.jsonl", tmp_path / "answers.jsonl"
    result = scored(judge(lengths.url, batch_export=str(out)))
    assert (result.status, "4 requests are written" in str(result.reason)) == ("skipped", True)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert {line["url"] for line in lines} == {"/v1/chat/completions"}
    answers = [
        {
            "custom_id": line["custom_id"],
            "error": None,
            "response": {"status_code": 200, "body": length_score(json.dumps(line["body"]), 0)},
        }
        for line in lines[:3]
    ]
    back.write_text("".join(json.dumps(line) + "\n" for line in answers))
    result = scored(judge(lengths.url, batch_import=str(back)))
    assert (int(np.isnan(result.scores).sum()), lengths.bodies) == (1, [])


def test_the_key_is_not_needed_on_loopback_and_named_elsewhere() -> None:
    metric = Judge(base_url="https://api.example.org/v1", model="m", api_key_env="MY_KEY")
    assert "MY_KEY is not set" in metric.bind(dataset()).reason


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "metric.judge.base_url is not given"),
        ({"base_url": "http://x/v1"}, "metric.judge.model is not given"),
        ({"base_url": "x", "model": "m"}, "is not an http address"),
        ({"base_url": "https://me:pw@x/v1", "model": "m"}, "contains a password"),
        ({"api_key_env": "sk-123"}, "not the name of an environment variable"),
        ({"parser": "regex"}, "metric.judge.pattern is not given"),
        ({"parser": "regex", "pattern": "("}, "metric.judge.pattern"),
        ({"parser": "regex", "pattern": "a"}, "has no group"),
        ({"parser": "choice"}, "metric.judge.choices is not given"),
        ({"bounds": [1, 0]}, "metric.judge.bounds"),
        ({"budget": {"usd": 1}}, "needs prices"),
        ({"budget": {"cals": 1}}, "did you mean 'calls'"),
        ({"price": {"input": 1}}, "Judge.price.output: a value is missing"),
        ({"temperature": "hot"}, "Judge.temperature: 'hot' is not a number"),
        ({"concurrency": 0}, "Judge.concurrency: 0 is not"),
        ({"prompt": "nonsense"}, "neither a shipped prompt"),
        ({"n_samples": 0}, "Judge.n_samples: 0 is not"),
        # without a greatest cost of a request
        ({"parameters": {"n": 5}, "budget": {"tokens": 9}}, "one choice of a reply is read"),
        (
            {"parameters": {"max_tokens": None}, "budget": {"tokens": 9}},
            "the answers have no limit",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    usual = {"base_url": "http://localhost/v1", "model": "m"} if "base_url" not in options else {}
    with pytest.raises(ConfigError, match=message) as raised:
        Judge(**({} if not options else {**usual, **options}))
    assert "sk-123" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Rate it.", "does not contain the caption"),
        ("{{ capton }}", "line|capton"),
        ("{% if %}", "line 1"),
        ("{{ ''.__class__.__mro__ }} {{ caption }}", "cannot be rendered"),
    ],
)
def test_a_prompt_that_cannot_be_used_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.jinja"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        Judge(base_url="http://localhost/v1", model="m", prompt=str(path))


FOLDER = Path(os.environ.get("METAEVAL_DATA", "nowhere")) / "judges" / "flickr8k_expert"


@pytest.fixture(scope="module")
def expert() -> Judgments:
    return load_expert(data=FOLDER.parents[1])


@pytest.mark.skipif(not FOLDER.is_dir(), reason="METAEVAL_DATA holds no judges/flickr8k_expert")
@pytest.mark.parametrize(
    ("file", "parser", "tau_b", "tau_c", "unparsed", "distinct"),
    [
        ("llava-1.5-13b_references", "number", 6.3, 0.8, 5379, 5),
        ("llava-1.5-13b_references", "leading_number", 47.6, 33.5, 0, 9),
        ("llava-1.5-13b_visual_context", "leading_number", 42.4, 31.8, 78 + 9, 10),
        ("llava-1.5-7b_image_only", "leading_number", 40.7, 30.8, 0, 6),
        ("llava-1.6-7b_image_only", "leading_number", -20.5, -6.6, 3, 6),
    ],
)
def test_the_parser_decides(
    expert: Judgments,
    file: str,
    parser: str,
    tau_b: float,
    tau_c: float,
    unparsed: int,
    distinct: int,
) -> None:
    """Values that were computed from the same answers by other code, to a tenth.

    They count an answer that cannot be parsed as 0, which metaeval leaves to its reader, and the
    "1." of nine lists ("1. People: The group of people … 2. Train: …") as the score 1.
    """
    rows, ratings = expert.rows("rating")
    metric = Judge(replay=str(FOLDER / f"{file}.parquet"), parser=parser)  # type: ignore[arg-type]
    captions = [each.candidate for each in expert.judged]
    result = score_captions(metric, expert.dataset, captions, expert.image_index, MemoryStore())
    scores = result.scores[rows, 0]
    answered = scores[~np.isnan(scores)]
    assert (len(scores) - len(answered), len(set(answered))) == (unparsed, distinct)
    zeros = np.nan_to_num(scores)
    for variant, expected in (("b", tau_b), ("c", tau_c)):
        tau = 100 * kendalltau(zeros, ratings, variant=variant).statistic
        # a tenth, rounded; the last value was rounded up from -6.548
        assert tau == pytest.approx(expected, abs=0.06)


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


ODD: dict[str, Any] = {
    "429": Response("slow down", 429, {"Retry-After": "0.1"}),
    "500": Response("broken", 500),
    "503": Response("overloaded", 503),
    "malformed": "{not json",
    "no choice": {"choices": []},
    "no completion": {"error": {"message": "odd"}},
    "message a text": {"choices": [{"message": "hello"}]},
    "choices a text": {"choices": "hello"},
    "choice null": {"choices": [None]},
    "a list": [completion("70")],
    "deep": "[" * 200_000 + "]" * 200_000,
    "a key twice": '{"choices": [{"message": {"content": "1"}}], "choices": []}',
    "another encoding": Response(
        json.dumps(completion("70")).encode(), headers={"Content-Encoding": "br"}
    ),
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
def test_a_failed_attempt_is_repeated_and_the_last_one_counted(
    httpserver: HTTPServer, odd: Any
) -> None:
    """The first attempt fails, and every one of a caption with a cat: it alone has no score."""

    def reply(body: str, number: int) -> Any:
        return odd if number == 1 or "cat" in body else length_score(body, number)

    served, store = Served(httpserver, reply), MemoryStore()
    result = scored(judge(served.url, concurrency=1), store=store)
    expected = [len(c) if "cat" not in c else math.nan for c in CAPTIONS]
    np.testing.assert_array_equal(result.scores[:, 0], expected)
    assert len(served.bodies) == 2 + 3 + 1 + 1
    assert {c.what: c.n for c in result.counts}[metric.UNANSWERED] == 1
    assert {str(c) for c in result.counts} >= {"1 of 4 captions without an answer (25.0%)"}
    # a failure is not an answer: the same command tries again
    scored(judge(served.url, concurrency=1), store=store)
    assert len(served.bodies) == 7 + 3


SURROGATE = json.dumps(completion("70 \ud800", model="m\udfff"))


def test_an_unpaired_surrogate_is_stored_escaped_and_counted(
    httpserver: HTTPServer, tmp_path: Path
) -> None:
    served = Served(
        httpserver, lambda body, n: SURROGATE if "cat" in body else length_score(body, n)
    )
    store = MemoryStore()
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
