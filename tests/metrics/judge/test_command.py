"""A judge in runs of the command: files, the key, two captions, 20 kills, and the checker."""

import itertools
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest
from pytest_httpserver import HTTPServer
from transformers import AutoTokenizer

from metaeval.check.contract import check, questions
from metaeval.metrics.judge.metric import Judge
from metaeval.reports.measured import write_report
from metaeval.runs import files
from metaeval.runs.answers import ANSWERS, AnswerJournal, read_part
from tests.forked import run_command
from tests.loopback import LoopbackEndpoint
from tests.metrics.judge.judge_cases import KEY, Served, completion
from tests.metrics.judge.tiny_model import save_tiny_model
from tests.shared import write_texts

SMALL = ("report=none", "stats.replicates=20")


def _run(folder: Path, *overrides: str, code: int = 0) -> str:
    more = [f"hydra.run.dir={folder / 'run'}", f"paths.cache={folder / 'cache'}"]
    options = (*overrides, *SMALL, "metric=[judge,length]", *more)
    done = run_command("metaeval", *options, cwd=folder)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def test_a_run_keeps_its_answers_and_nowhere_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    common = ("experiment=replace", "dataset=scenes", "dataset.limit=4", "metric.judge.model=m")
    with LoopbackEndpoint(0) as endpoint:
        options = (f"metric.judge.base_url={endpoint.url}", "metric.judge.api_key_env=MY_KEY")
        options = (*common, *options, "metric.judge.image=512")
        assert "Judge (m)" in _run(tmp_path, *options)
    answers = pd.read_parquet(tmp_path / "run" / ANSWERS)
    assert len(answers) == endpoint.requests > 4
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) > 5
    assert not any(KEY.encode() in content for content in written)
    # the image is in the request as its digest
    assert json.loads(answers["request"][0])["image"]["size"] == 512
    # without the endpoint, from the record
    again = tmp_path / "again"
    again.mkdir()
    replay = f"metric.judge.replay={tmp_path / 'run' / ANSWERS}"
    _run(again, *options, replay, "metric.judge.mode=replay_or_fail")
    first, second = ((f / "run" / "scores.parquet").read_bytes() for f in (tmp_path, again))
    assert first == second


def test_a_pairwise_judge_runs_where_two_captions_are_compared(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.jsonl"
    records = [
        {
            "image_id": f"i{k}",
            "kind": "noun",
            "true": f"a dog number {k}",
            "false": f"a cat number {k}",
            "references": [f"some dog {k}"],
        }
        for k in range(6)
    ]
    pairs.write_text("".join(json.dumps(record) + "\n" for record in records))
    with LoopbackEndpoint(0) as endpoint:
        options = (
            f"metric.judge.base_url={endpoint.url}",
            "metric.judge.model=m",
            "metric.judge.prompt=pairwise",
            "metric.judge.parser=number",
            "metric.judge.price={input: 1000, output: 2000}",
            "metric.judge.bounds=[0,100]",
        )
        _run(tmp_path, "experiment=pairs", "dataset=pairs", f"dataset.file={pairs}", *options)
        assert endpoint.requests == 12  # both orders of six pairs
        page = write_report(tmp_path / "run", figures=False).read_text(encoding="utf-8")
        lines = "Ties between two captions", "Same preference in both orders", "Price per 1,0"
        assert [line for line in lines if f'<th scope="row">{line}' not in page] == []
        (tmp_path / "other").mkdir()
        graded = ("experiment=replace", "dataset=scenes", "dataset.limit=2")
        printed = _run(tmp_path / "other", *graded, *options, code=1)
    assert "it compares two captions" in printed
    assert "experiment=pairs" in printed


def test_the_checker_reports_a_judge_that_is_not_deterministic(httpserver: HTTPServer) -> None:
    numbers = itertools.count()
    served = Served(httpserver, lambda body, n: completion(str(next(numbers) % 100)))
    with LoopbackEndpoint(0) as endpoint:
        found = [
            {
                f.what
                for f in check(Judge(base_url=url, model="m", concurrency=1), questions(3))
                if not f.ok
            }
            for url in (endpoint.url, served.url)
        ]
    # of one scorer the answers are recorded: no caption depends on its neighbours
    assert found == [set(), {"repetition"}]


ROOT = Path(__file__).parents[3]
N, KILLS, CONCURRENCY = 80, 2, 4


def _start(
    endpoint: LoopbackEndpoint, folder: Path, table: Path, cached: bool
) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "metaeval",
        "experiment=judgments",
        "dataset=table",
        f"dataset.file={table}",
        "dataset.image_source=other",
        "metric=[judge]",
        f"metric.judge.base_url={endpoint.url}",
        "metric.judge.endpoint=fixed",
        "metric.judge.model=m",
        f"metric.judge.concurrency={CONCURRENCY}",
        "report=none",
        "stats.replicates=20",
        f"hydra.run.dir={folder / 'run'}",
        f"paths.cache={folder / 'cache'}",
        f"cache.enabled={cached}",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)


def _saved(folder: Path) -> int:
    parts = (folder / "run" / "answers").glob("part-*.jsonl")
    return len({answer.key for part in parts for _, answer in read_part(part)})


@pytest.mark.slow
def test_killed_at_any_moment_the_command_continues(tmp_path: Path) -> None:
    """Requests = distinct captions + those in flight at each kill; the final scores are those of a
    run that was never killed, byte for byte. Each caption is there twice, under two systems.
    Without the cache the run's folder alone holds the answers."""
    table = tmp_path / "table.jsonl"
    table.write_text(
        "".join(
            json.dumps(
                {
                    "image_id": f"i{k % N}",
                    "candidate": f"caption number {k % N}",
                    "references": [f"reference {k % N}"],
                    "human": (k % N) % 5,
                    "system": "one" if k < N else "two",
                }
            )
            + "\n"
            for k in range(2 * N)
        )
    )
    with LoopbackEndpoint(0.15) as endpoint:
        assert _start(endpoint, tmp_path / "whole", table, True).wait(timeout=300) == 0
        assert endpoint.requests == N
        for cached in (True, False):
            folder = tmp_path / f"killed-{cached}"
            _killed_and_continued(endpoint, folder, table, cached)
            whole, killed = (f / "run" / files.SCORES for f in (tmp_path / "whole", folder))
            assert whole.read_bytes() == killed.read_bytes()
            assert len(pd.read_parquet(folder / "run" / ANSWERS)) == N


def _killed_and_continued(
    endpoint: LoopbackEndpoint, folder: Path, table: Path, cached: bool
) -> None:
    rng, lost, endpoint.requests = random.Random(0), 0, 0
    for _ in range(KILLS):
        before, process = endpoint.requests, _start(endpoint, folder, table, cached)
        while endpoint.requests == before:
            time.sleep(0.005)
            assert process.poll() is None
        time.sleep(rng.uniform(0, 0.3))
        process.kill()
        process.wait()
        time.sleep(0.2)  # what was sent before the kill arrives
        in_flight = endpoint.requests - lost - _saved(folder)
        assert 0 <= in_flight <= CONCURRENCY
        lost += in_flight
    assert _start(endpoint, folder, table, cached).wait(timeout=300) == 0
    assert endpoint.requests == N + lost


def test_a_line_that_a_kill_cut_short_is_left_out(tmp_path: Path) -> None:
    whole = '{"key": "aa", "request": "{}", "answer": "70"}\n'
    write_texts(tmp_path, {"answers/part-00001.jsonl": whole + whole.replace("aa", "bb")[:20]})
    journal = AnswerJournal(tmp_path)
    assert (journal.get("aa").answer, journal.get("bb")) == ("70", None)


_MOST_TOKENS = 2
PROGRAM = str(shutil.which("transformers", path=str(Path(sys.executable).parent)))
_NEEDED = ("accelerate", "fastapi", "openai", "uvicorn")
MISSING = [name for name in _NEEDED if find_spec(name) is None]
MISSING += ["the command 'transformers'"] if PROGRAM == "None" else []


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """The address of the tiny model behind `transformers serve`, on loopback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [PROGRAM, "serve", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    command += ["--device", "cpu", "--dtype", "float32"]
    process = subprocess.Popen(command, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    try:
        for _ in range(360):  # three minutes; half of one on an idle machine
            assert process.poll() is None
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.slow
@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
def test_a_served_model_is_a_judge(tmp_path: Path) -> None:
    model = tmp_path / "model"
    save_tiny_model(model)
    with server(model) as url:
        _run(
            tmp_path,
            "experiment=replace",
            "dataset=scenes",
            "dataset.limit=6",
            f"metric.judge.base_url={url}",
            f"metric.judge.model={model}",
            f"metric.judge.max_tokens={_MOST_TOKENS}",
            "metric.judge.title=Tiny",
            "metric.judge.concurrency=2",
        )
    answers = pd.read_parquet(tmp_path / "run" / ANSWERS)
    captions = pd.read_parquet(tmp_path / "run" / files.CAPTIONS)
    expected_items = set(zip(captions.image_id.astype(str), captions.caption, strict=True))
    assert set(zip(answers.image_id, answers.caption, strict=True)) == expected_items
    assert len(answers) == len(expected_items) >= 6

    tokenizer = AutoTokenizer.from_pretrained(model)
    for request, n in zip(answers.request, answers.prompt_tokens, strict=True):
        messages = json.loads(request)["messages"]
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        assert len(tokenizer(text, add_special_tokens=False)["input_ids"]) == n
    assert answers.completion_tokens.between(1, _MOST_TOKENS).all()
    assert (answers.seconds > 0).all()
