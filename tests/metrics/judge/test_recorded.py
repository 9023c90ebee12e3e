"""The recorded answers of four LLaVA judges on Flickr8k-Expert, read by two parsers."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau

from metaeval.data.judgments.flickr8k import load_expert
from metaeval.metrics.judge.metric import Judge
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions

FOLDER = Path(os.environ.get("METAEVAL_DATA", "nowhere")) / "judges" / "flickr8k_expert"


@pytest.mark.skipif(not FOLDER.is_dir(), reason="METAEVAL_DATA holds no judges/flickr8k_expert")
@pytest.mark.parametrize(
    ("file", "parser", "tau_b", "tau_c", "unparsed", "distinct"),
    [
        ("llava-1.5-13b_references", "number", 6.3, 0.8, 5379, 5),
        ("llava-1.5-13b_references", "leading_number", 47.6, 33.5, 0, 9),
        ("llava-1.5-13b_visual_context", "leading_number", 42.4, 31.8, 78, 11),
        ("llava-1.5-7b_image_only", "leading_number", 40.7, 30.8, 0, 6),
        ("llava-1.6-7b_image_only", "leading_number", -20.5, -6.6, 3, 6),
    ],
)
def test_the_parser_decides(
    file: str, parser: str, tau_b: float, tau_c: float, unparsed: int, distinct: int
) -> None:
    """Values that were computed from the same answers by other code, to a tenth.

    They count an answer that cannot be parsed as 0, which metaeval leaves to its reader.
    """
    judged = load_expert(data=FOLDER.parents[1])
    rows, ratings = judged.rows("rating")
    metric = Judge(replay=str(FOLDER / f"{file}.parquet"), parser=parser)  # type: ignore[arg-type]
    captions = [each.candidate for each in judged.judged]
    result = score_captions(metric, judged.dataset, captions, judged.image_index, MemoryStore())
    scores = result.scores[rows, 0]
    assert int(np.isnan(scores).sum()) == unparsed
    assert len(set(scores[~np.isnan(scores)])) == distinct
    zeros = np.nan_to_num(scores)
    for variant, expected in (("b", tau_b), ("c", tau_c)):
        tau = 100 * kendalltau(zeros, ratings, variant=variant).statistic
        # a tenth, rounded; the last value was rounded up from -6.548
        assert tau == pytest.approx(expected, abs=0.06)
