"""Ratings and votes that the benchmark does not know are refused, naming file, record and field."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from metaeval.data.judgments.benchmarks import load_composite, load_crowd, load_expert, load_thumb
from metaeval.data.judgments.pascal50s import load_pascal50s
from metaeval.errors import InputError
from tests.fuzz import loaders

EXPERT = loaders.make_flickr8k, load_expert, "ExpertAnnotations.txt"
CROWD = loaders.make_flickr8k, load_crowd, "CrowdFlowerAnnotations.txt"
COMPOSITE = (
    loaders.make_composite,
    lambda root, own_captions: load_composite(root, subsets=["8k"], own_captions=own_captions),
    "8k_correctness.csv",
)
THUMB = loaders.make_thumb, load_thumb, "mscoco_THumB-1.0.jsonl"


@pytest.mark.parametrize(
    ("of", "before", "after", "problem"),
    [
        (EXPERT, "\t1\t2\t4", "\t-1\t2\t4", r"line 1, field '.*': '-1' is not on the scale 1…4"),
        (EXPERT, "\t1\t2\t4", "\t1\t2\t5", "'5' is not on the scale 1…4"),
        (CROWD, "0.75\t3", "1.75\t3", "line 2, field '.*': '1.75' is not on the scale 0…1"),
        (COMPOSITE, ";5;1;3", ";9;1;3", "line 2, field 'Answer.Q1Answer': '9' is not on the scale"),
        (THUMB, '"human_score": 3.0', '"human_score": 99', "line 1, .*: 99 is not on the scale up"),
        (THUMB, '"seg_id": "7", ', "", "line 1, field 'seg_id': is missing"),
    ],
)
def test_a_rating_off_the_scale(
    of: tuple[Callable[[Path], None], Callable[..., Any], str],
    before: str,
    after: str,
    problem: str,
    tmp_path: Path,
) -> None:
    make, load, name = of
    make(tmp_path)
    assert load(root=tmp_path, own_captions="keep")
    path = tmp_path / name
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(InputError, match=f"{name}, {problem}" if "line" in problem else problem):
        load(root=tmp_path, own_captions="keep")


@pytest.mark.parametrize("vote", [7, 0, np.nan, "x"])
def test_a_vote_of_pascal_that_is_none(vote: Any, tmp_path: Path) -> None:
    loaders.make_pascal(tmp_path)
    path = tmp_path / "consensus_pascal.mat"
    triplets = loadmat(path)["triplets"]
    triplets[0, 50]["winner"] = vote if isinstance(vote, str) else np.array([[vote]])
    savemat(path, {"triplets": triplets})
    with pytest.raises(InputError, match=r"triplet 51, field 'winner': must be 1 or -1, not"):
        load_pascal50s(root=tmp_path)
