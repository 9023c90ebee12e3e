"""RoCOCO: which true caption an altered one was made from, and both sides in one spelling."""

from pathlib import Path

import numpy as np
import pytest

from metaeval.data.pairs.benchmarks import load_rococo, normalise_caption
from metaeval.metrics.ngram.cider import Cider
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions
from tests.data.pairs import pair_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return pair_files.coco(pair_files.rococo(tmp_path))


def test_an_altered_caption_is_paired_with_the_one_it_was_made_from(folder: Path) -> None:
    pairs = load_rococo(data=folder)
    assert pairs.kinds == ("same_concept", "rand_voca")  # those whose files are there
    made = [(p.true, p.false) for p in pairs.pairs if p.kind == "same_concept" and "139" in p.image]
    assert made == [
        ("a dog runs on the grass", "a cat runs on the grass"),
        ("the brown dog runs", "the brown horse runs"),
        ("a dog in a park", "a dog in a garden"),
        ("dog on grass", "cat on grass"),
        # five words for four: still the same true caption
        ("a running animal outside", "a running animal out there"),
    ]
    references = {p.references for p in pairs.pairs if p.true == "a dog in a park"}
    assert all("A dog in a park." not in r for r in references)


def test_six_true_captions_and_equal_ones(folder: Path) -> None:
    """Eleven captions are six true and five altered ones; an altered one that equals a true one is
    left out and counted."""
    own = [p for p in load_rococo(data=folder, kinds=["rand_voca"]).pairs if "285" in p.image]
    assert len(own) == 4
    assert all(p.true != p.false for p in own)
    notes = load_rococo(data=folder, kinds=["rand_voca"]).dataset.notes
    assert "1 altered captions equal a true one" in " ".join(notes)


def test_both_sides_have_one_spelling() -> None:
    for caption in ("A man's red-hot  stove, on fire .", "a MAN's red-hot stove on fire"):
        assert normalise_caption(caption) == "a man's red-hot stove on fire"


@pytest.mark.slow
@pytest.mark.coco
def test_cider_prefers_the_true_caption_on_the_real_files(coco_root: Path) -> None:
    """About nine times in ten (no value is published): far from half, and from always."""
    if not (coco_root / "rococo").is_dir():
        pytest.skip("METAEVAL_DATA has no folder rococo")
    pairs = load_rococo(data=coco_root, limit=400)
    texts = [*(p.true for p in pairs.pairs), *(p.false for p in pairs.pairs)]
    index = np.concatenate([pairs.image_index, pairs.image_index])
    scores = score_captions(Cider(), pairs.dataset, texts, index, MemoryStore()).scores
    true, false = scores[:, 0].reshape(2, -1)
    kind = np.array([p.kind for p in pairs.pairs])
    share = {k: float((true > false)[kind == k].mean()) for k in pairs.kinds}
    assert 0.88 < share["same_concept"] < share["rand_voca"] < 0.995
