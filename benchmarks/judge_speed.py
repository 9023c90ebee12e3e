"""The time a judge takes: `python -m benchmarks.judge_speed [CAPTIONS [MS [CONCURRENCY]]]`.

By default 5,000 captions against an endpoint on loopback that takes 100 ms per call, 32 at a time,
with the answers written to a run's folder and to the score cache.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.judge.metric import Judge
from metaeval.runs.answers import record_answers
from metaeval.runs.store import SqliteStore
from metaeval.scoring import score_captions


def main() -> None:
    """Print calls, wall time, and the least time that the calls take."""
    given = [int(text) for text in sys.argv[1:]]
    n, ms, concurrency = (*given, *(5000, 100, 32)[len(given) :])
    ids = tuple(range(n))
    references = tuple((f"reference {i}",) for i in ids)
    human = tuple(r[0] for r in references)
    dataset = CaptionDataset("loopback", ids, human, references, ids, human)
    captions = [f"caption number {i}" for i in ids]
    command = [sys.executable, "-m", "benchmarks.loopback", str(ms / 1000)]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as endpoint,
    ):
        assert endpoint.stdout is not None
        url = endpoint.stdout.readline().strip()
        metric = Judge(base_url=url, model="loopback", concurrency=concurrency)
        store = SqliteStore(Path(folder) / "content.sqlite")
        started = time.perf_counter()
        with record_answers(Path(folder)):
            result = score_captions(metric, dataset, captions, np.arange(n), store)
        seconds = time.perf_counter() - started
        store.close()
        endpoint.terminate()
        assert result.scores is not None, result.reason
        least = n * ms / 1000 / concurrency
        print(
            f"{n:,} requests of {ms} ms, {concurrency} at a time: {seconds:.1f} s "
            f"(at least {least:.1f} s); {int(np.isnan(result.scores).sum())} without a score; "
            f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, {platform.machine()}, "
            f"Python {platform.python_version()}"
        )


if __name__ == "__main__":
    main()
