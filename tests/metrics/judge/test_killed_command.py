"""A run of the command, killed 20 times at random, pays only for what was in flight."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.loopback import LoopbackEndpoint
from metaeval.runs import files
from metaeval.runs.answers import ANSWERS, AnswerJournal, read_part

ROOT = Path(__file__).parents[3]
N, KILLS, CONCURRENCY = 400, 20, 4


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
        "task.permutations=20",
        f"hydra.run.dir={folder / 'run'}",
        f"paths.cache={folder / 'cache'}",
        f"cache.enabled={cached}",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)


def _saved(folder: Path) -> int:
    """Distinct answers on disk, as the run's folder holds them."""
    parts = (folder / "run" / "answers").glob("part-*.jsonl")
    return len({answer.key for part in parts for _, answer in read_part(part)})


@pytest.mark.slow
@pytest.mark.parametrize("cached", [True, False])
def test_twenty_kills_of_the_command(tmp_path: Path, cached: bool) -> None:
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
    rng, lost = random.Random(0), 0
    with LoopbackEndpoint(0.15) as endpoint:
        whole = _start(endpoint, tmp_path / "whole", table, cached)
        assert whole.wait(timeout=300) == 0
        assert endpoint.requests == N
        endpoint.requests, folder = 0, tmp_path / "killed"
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
    scores = [(tmp_path / f / "run" / files.SCORES).read_bytes() for f in ("whole", "killed")]
    assert scores[0] == scores[1]
    assert len(pd.read_parquet(folder / "run" / ANSWERS)) == N
    print(f"{KILLS} kills: {N + lost} requests = {N} captions + {lost} in flight")


def test_a_line_that_a_kill_cut_short_is_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    folder.mkdir()
    whole = '{"key": "aa", "request": "{}", "answer": "70"}\n'
    (folder / "part-00001.jsonl").write_text(whole + whole.replace("aa", "bb")[:20])
    journal = AnswerJournal(tmp_path)
    assert journal.get("aa").answer == "70"
    assert journal.get("bb") is None
