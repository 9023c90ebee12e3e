"""Ratings and votes that the benchmark does not know are refused, naming file, record and field."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from metaeval.data.judgments.benchmarks import load_crowd, load_expert
from metaeval.errors import InputError
from tests.fuzz import loaders

EXPERT = loaders.read_flickr8k(load_expert)
CROWD = loaders.read_flickr8k(load_crowd)


@pytest.mark.parametrize(
    ("make", "read", "name", "before", "after", "problem"),
    [
        (
            loaders.make_flickr8k,
            EXPERT,
            "ExpertAnnotations.txt",
            "\t1\t2\t4",
            "\t-1\t2\t4",
            r"line 1, field '.*': '-1' is not on the scale 1…4",
        ),
        (
            loaders.make_flickr8k,
            EXPERT,
            "ExpertAnnotations.txt",
            "\t1\t2\t4",
            "\t1\t2\t5",
            "'5' is not on the scale 1…4",
        ),
        (
            loaders.make_flickr8k,
            CROWD,
            "CrowdFlowerAnnotations.txt",
            "0.75\t3",
            "1.75\t3",
            "line 2, field '.*': '1.75' is not on the scale 0…1",
        ),
        (
            loaders.make_composite,
            loaders.read_composite,
            "8k_correctness.csv",
            ";5;1;3",
            ";9;1;3",
            "line 2, field 'Answer.Q1Answer': '9' is not on the scale 1…5",
        ),
        (
            loaders.make_thumb,
            loaders.read_thumb,
            "mscoco_THumB-1.0.jsonl",
            '"human_score": 3.0',
            '"human_score": 99',
            "line 1, field 'human_score': 99 is not on the scale up to 5",
        ),
        (
            loaders.make_thumb,
            loaders.read_thumb,
            "mscoco_THumB-1.0.jsonl",
            '"seg_id": "7", ',
            "",
            "line 1, field 'seg_id': is missing",
        ),
    ],
)
def test_a_rating_off_the_scale(
    make: Callable[[Path], None],
    read: Callable[[Path], Any],
    name: str,
    before: str,
    after: str,
    problem: str,
    tmp_path: Path,
) -> None:
    make(tmp_path)
    assert read(tmp_path)
    path = tmp_path / name
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(InputError, match=problem) as refused:
        read(tmp_path)
    assert name in str(refused.value)


@pytest.mark.parametrize("vote", [7, 0, np.nan, "x"])
def test_a_vote_of_pascal_that_is_none(vote: Any, tmp_path: Path) -> None:
    loaders.make_pascal(tmp_path)
    path = tmp_path / "consensus_pascal.mat"
    triplets = loadmat(path)["triplets"]
    triplets[0, 50]["winner"] = vote if isinstance(vote, str) else np.array([[vote]])
    savemat(path, {"triplets": triplets})
    with pytest.raises(InputError, match=r"triplet 51, field 'winner': must be 1 or -1, not"):
        loaders.read_pascal(tmp_path)
