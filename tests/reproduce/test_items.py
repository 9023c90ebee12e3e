"""Every item of the papers on a few real images: its run goes through, and has its values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from metaeval.compute.networks import keep_networks
from metaeval.java.shared_services import shared_java_services
from metaeval.papers.expected import PaperItem, papers
from metaeval.reproduce.items import Reproduction

IMAGES = 24
ITEMS = [
    pytest.param(paper.paper, item, id=f"{paper.paper}/{item.item}")
    for paper in papers().values()
    for item in paper.items
    if item.run
]


def small(item: PaperItem) -> PaperItem:
    """The item with a run of few images."""
    run = {**item.run, "dataset.limit": IMAGES}
    if "task.images" in run:
        run["task.images"] = IMAGES
    return item.model_copy(update={"run": run})


@pytest.fixture(scope="module")
def computed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reproduction]:
    folder = tmp_path_factory.mktemp("reproduce")
    with keep_networks(), shared_java_services():
        yield Reproduction(folder / "runs", shared={"paths.cache": str(folder / "cache")})


@pytest.mark.coco
@pytest.mark.slow
@pytest.mark.parametrize(("paper", "item"), ITEMS)
def test_an_item_has_its_values_or_says_what_is_missing(
    paper: str, item: PaperItem, computed: Reproduction, coco_root: Path
) -> None:
    rows = computed.values(paper, small(item))
    assert len(rows) == len(list(item.printed()))
    for row in rows:
        if row.verdict == "not run":  # data or weights: not a wrong name in the paper's file
            assert "the run has no" not in row.reason, (row.column, row.cell)
            assert "Error" not in row.reason
        elif row.verdict in ("within", "other model", "other data"):
            assert row.reason
