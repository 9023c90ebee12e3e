"""Java services that jobs share: the same process for the same references, none left behind."""

from __future__ import annotations

import pytest

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.java.process import shared_java_services
from metaeval.metrics.meteor.metric import Meteor, MeteorScorer
from metaeval.runs.store import MemoryStore

pytestmark = pytest.mark.java


def dataset(*references: str) -> CaptionDataset:
    """One image with these references."""
    return CaptionDataset("d", (1,), ("a dog",), (references,), (1,), ("a dog",))


def pid_and_score(data: CaptionDataset) -> tuple[int, bool, float]:
    """Bind, score and close METEOR as a job does: its process, whether it runs on, the score."""
    import numpy as np

    scorer = Meteor().scorer(data, MemoryStore())
    if isinstance(scorer, Absent):
        pytest.skip(str(scorer))
    assert isinstance(scorer, MeteorScorer)
    scorer.prepare()
    statistics = scorer.statistics(["a dog runs"], np.array([0]))
    server = scorer._server
    scorer.close()
    return server.pid, server.is_running, float(np.nansum(statistics))


@pytest.mark.slow
def test_jobs_share_a_process_and_get_the_same_scores() -> None:
    with shared_java_services():
        first = pid_and_score(dataset("a dog", "a running dog"))
        again = pid_and_score(dataset("a dog", "a running dog"))
        other = pid_and_score(dataset("a cat"))
    assert again == first
    assert first[1]
    assert other[0] != first[0]  # other references: another process, and the first was ended
    alone = pid_and_score(dataset("a dog", "a running dog"))
    assert not alone[1]
    assert alone[2] == first[2]
