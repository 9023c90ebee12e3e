"""Taking some images of a dataset."""

from dataclasses import replace

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
    assert (few.image_ids, few.human, few.references) == ((5, 9), ("b", "d"), (("bb",), ("dd",)))
    assert (few.name, few.pool) == (whole.name, whole.pool)
    assert few.part("objects") is objects  # loaded once, for parts go by image id
    assert whole.limited(2) == whole.subset([0, 1])


def test_a_position_twice_or_beyond_is_refused() -> None:
    for positions, kind, problem in (
        ([1, 1], ValueError, "twice"),
        ([4], IndexError, None),
        ([-1], IndexError, None),
        ([], ValueError, "at least one image"),
    ):
        with pytest.raises(kind, match=problem):
            _dataset().subset(positions)


def _two_sets() -> CaptionDataset:
    """Image 5 with two sets of references, of which one is in both, and image 8."""
    references = (("a", "b"), ("a", "c"), ("d",))
    return CaptionDataset("sets", (5, 5, 8), ("x",) * 3, references, (5, 5, 8), ("x",) * 3)


def test_a_document_is_an_image_with_all_its_references() -> None:
    data = _two_sets()
    assert data.corpus() == [("a", "b", "c"), ("d",)]
    assert (data.n_images, data.count_images([0, 1])) == (2, 1)
    assert data.subset([1, 2]).corpus() == [("a", "c"), ("d",)]
    counted = replace(data, documents=(2, 1, 1))
    assert counted.corpus() == [("a", "b"), ("a", "b"), ("a", "c"), ("d",)]
    assert counted.subset([0]).corpus() == [("a", "b"), ("a", "b")]


def test_an_id_that_is_there_several_times_is_not_a_position() -> None:
    assert _dataset().positions() == {3: 0, 5: 1, 8: 2, 9: 3}
    with pytest.raises(ValueError, match="several sets of references"):
        _two_sets().positions()
    wrong = {"image_ids": ((5, 8, 5), "ascending"), "documents": ((1, 1), "documents differ in le")}
    for field, (value, problem) in wrong.items():
        with pytest.raises(ValueError, match=problem):
            replace(_two_sets(), **{field: value})


def test_the_pool_is_the_images_unless_it_is_given() -> None:
    data = CaptionDataset("x", (1, 2), ("a", "b"), ((), ()), image_source=("coco:1", None))
    for each in (data, data.subset([0])):
        pool = each.pool_ids, each.pool, each.pool_source
        assert pool == ((1, 2), ("a", "b"), ("coco:1", None))
