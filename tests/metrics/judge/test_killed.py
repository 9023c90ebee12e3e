"""SIGKILL at any moment loses what is in flight, and nothing else."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from metaeval.runs.answers import ANSWERS, AnswerJournal, read_part
from tests.loopback import LoopbackEndpoint
from tests.metrics.judge import killed

N = 120


def _start(endpoint: LoopbackEndpoint, folder: Path, store: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.metrics.judge.killed", endpoint.url, str(folder)]
    return subprocess.Popen([*command, str(N), store], stdout=subprocess.PIPE, text=True)


def _saved(folder: Path) -> int:
    """Answers on disk, as the run's folder holds them."""
    parts = (folder / "answers").glob("part-*.jsonl")
    return len({answer.key for part in parts for _, answer in read_part(part)})


@pytest.mark.slow
@pytest.mark.parametrize("store", ["cached", "uncached"])
def test_twenty_kills_cost_only_what_was_in_flight(tmp_path: Path, store: str) -> None:
    """The captions are there twice, each is paid for once; without the cache the run's folder
    alone holds the answers."""
    rng = random.Random(0)
    kills, lost = 10, 0  # of each kind of store
    with LoopbackEndpoint(0.1) as endpoint:
        whole = _start(endpoint, tmp_path / "whole", store)
        expected, _ = whole.communicate(timeout=300)
        assert endpoint.requests == N
        endpoint.requests, folder = 0, tmp_path / "killed"
        for _ in range(kills):
            before, process = endpoint.requests, _start(endpoint, folder, store)
            while endpoint.requests == before:
                time.sleep(0.005)
                assert process.poll() is None
            time.sleep(rng.uniform(0, 0.4))
            process.kill()
            process.wait()
            time.sleep(0.15)  # what was sent before the kill arrives
            in_flight = endpoint.requests - lost - _saved(folder)
            assert 0 <= in_flight <= killed.CONCURRENCY
            lost += in_flight
        final, _ = _start(endpoint, folder, store).communicate(timeout=300)
        assert endpoint.requests == N + lost
    assert final == expected
    assert (folder / ANSWERS).is_file()
    assert not (folder / "answers").exists()


def test_a_line_that_a_kill_cut_short_is_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    folder.mkdir()
    whole = '{"key": "aa", "request": "{}", "answer": "70"}\n'
    (folder / "part-00001.jsonl").write_text(whole + whole.replace("aa", "bb")[:20])
    journal = AnswerJournal(tmp_path)
    known = journal.get("aa")
    assert known is not None
    assert known.answer == "70"
    assert journal.get("bb") is None
