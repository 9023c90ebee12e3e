"""Taking some images of a dataset."""

from __future__ import annotations

import pytest

from metaeval.data.dataset import CaptionDataset


def _dataset() -> CaptionDataset:
    texts = ("a", "b", "c", "d")
    references = tuple((text * 2,) for text in texts)
    parts = {"objects": lambda: object()}
    pool_ids, pool = tuple(range(3, 11)), tuple("pqrstuvw")
    return CaptionDataset("four", (3, 5, 8, 9), texts, references, pool_ids, pool, parts=parts)


def test_a_subset_keeps_what_belongs_together_and_the_pool() -> None:
    whole = _dataset()
    objects = whole.part("objects")
    few = whole.subset([3, 1])
    assert few.image_ids == (5, 9)
    assert few.human == ("b", "d")
    assert few.references == (("bb",), ("dd",))
    assert (few.name, few.pool) == (whole.name, whole.pool)
    assert few.part("objects") is objects  # loaded once, for parts go by image id
    assert whole.limited(2) == whole.subset([0, 1])


def test_a_position_twice_or_beyond_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        _dataset().subset([1, 1])
    for position in (4, -1):
        with pytest.raises(IndexError):
            _dataset().subset([position])
    with pytest.raises(ValueError, match="at least one image"):
        _dataset().subset([])
