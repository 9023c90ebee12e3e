"""A process that scores captions with a judge, to be killed: `URL FOLDER N`, prints the scores."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.judge.metric import Judge
from metaeval.runs.answers import record_answers
from metaeval.runs.store import MemoryStore, SqliteStore
from metaeval.scoring import score_captions

CONCURRENCY = 4


def main(url: str, folder: Path, n: int, cached: bool) -> None:
    ids = tuple(range(n))
    references = tuple((f"reference {i}",) for i in ids)
    human = tuple(r[0] for r in references)
    dataset = CaptionDataset("killed", ids, human, references, ids, human)
    captions = [f"caption number {i}" for i in ids] * 2
    metric = Judge(base_url=url, endpoint="fixed", model="m", concurrency=CONCURRENCY)
    store = SqliteStore(folder / "content.sqlite") if cached else MemoryStore()
    with record_answers(folder):
        result = score_captions(metric, dataset, captions, np.tile(np.arange(n), 2), store)
    assert result.scores is not None, result.reason
    print(result.scores.tobytes().hex())


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "cached")
