"""Random is a derangement of captions over images."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.corruptions.graded.random import Random
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import CaptionDataset


def dataset(captions: list[str], ids: list[int] | list[str] | None = None) -> CaptionDataset:
    names = tuple(range(len(captions))) if ids is None else tuple(ids)
    texts = tuple(captions)
    return CaptionDataset("test", names, texts, tuple(("a",) for _ in names), names, texts)


@pytest.mark.coco
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_derangement_on_coco(coco_root, seed):
    coco = load_coco("coco_val2017", root=coco_root)
    results = Random().apply(coco, seed)
    assert all(
        r.applied and r.text.lower() != h.lower() for r, h in zip(results, coco.human, strict=True)
    )
    assert Counter(r.text for r in results) == Counter(coco.human)  # each given away once
    assert {(r.requested, r.realised, r.edits) for r in results} == {(None, 1.0, ())}


@given(st.integers(2, 30), st.integers(0, 99))
def test_derangement_of_distinct_captions(n, seed):
    captions = [f"caption {i}" for i in range(n)]
    results = Random().apply(dataset(captions), seed)
    assert sorted(r.text for r in results) == sorted(captions)
    assert all(r.text != c and r.applied for r, c in zip(results, captions, strict=True))


def test_equal_captions_stay_separate():
    captions = ["a dog", "A  dog", "a cat", "a cow", "a hen", "a pig", "a fly", "an ant"]
    for seed in range(100):
        results = Random().apply(dataset(captions), seed)
        assert all(r.applied for r in results)
        assert all(
            r.text.lower().split() != c.lower().split()
            for r, c in zip(results, captions, strict=True)
        )


def test_nothing_else_to_give_is_unapplied():
    for captions in (["a dog"], ["a dog", "A dog", "a dog"]):
        results = Random().apply(dataset(captions), 0)
        assert [(r.text, r.applied, r.realised) for r in results] == [
            (c, False, 0.0) for c in captions
        ]


def test_donors_are_random():
    """With four images each of the three others gives with probability 1/3: 200 of 600, 5 sd 58."""
    counts = Counter(Random().apply(dataset(list("abcd")), s)[0].text for s in range(600))
    assert set(counts) == set("bcd")
    assert all(abs(n - 200) < 58 for n in counts.values())


def test_string_and_integer_ids():
    as_text = Random().apply(dataset(list("abcdefgh"), list("01234567")), 0)
    as_number = Random().apply(dataset(list("abcdefgh")), 0)
    assert as_text != as_number
    assert sorted(r.text for r in as_text) == list("abcdefgh")
