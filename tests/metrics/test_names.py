"""Columns say what is read of an image, and a score that stays keeps its signature."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from metaeval.config import build, compose_config

SEEN = {
    "regions=gold": "gold objects",
    "regions=detector": "detected objects",
    "regions=bottomup": "bottom-up features",
}
OF_REGIONS = ("faier", "faier_noref", "tiger", "scan", "learn_to_eval")


@pytest.mark.parametrize(("regions", "seen"), SEEN.items())
@pytest.mark.parametrize("name", OF_REGIONS)
def test_regions_are_named(name: str, regions: str, seen: str) -> None:
    more = ["regions.file=x.npy"] if regions == "regions=bottomup" else []
    config = compose_config([f"metric=[{name}]", regions, *more])
    for column in build(name, config).columns:
        assert f"({seen}" in column.name
        assert column.sees == seen
        assert column.part_of is None or f"({seen}" in column.part_of
        assert column.variant_of == column.name.partition(" (")[0]
        assert seen not in str(column.signature_name)


@pytest.mark.parametrize(
    ("sources", "seen"),
    [
        ("[gold]", "gold objects"),
        ("[detector]", "detected objects"),
        ("[gold,detector]", "gold objects and detected objects"),
        ("[labels.json]", "labels of a file"),
    ],
)
def test_vifidel_names_its_sources(sources: str, seen: str) -> None:
    config = compose_config(["metric=[vifidel]", f"metric.vifidel.sources={sources}"])
    names = [c.name for c in build("vifidel", config).columns]
    assert names == [f"VIFIDEL ({seen})", f"VIFIDEL-ref ({seen})"]


@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("faier", ["FAIEr", "FAIEr-object", "FAIEr-relation"]),
        ("faier_noref", [f"FAIEr{p} (no references)" for p in ("", "-object", "-relation")]),
        ("tiger", ["TIGEr", "TIGEr-RRS", "TIGEr-WDS"]),
        ("scan", ["SCAN-i2t", "SCAN-t2i", "SCAN-sum"]),
        ("vifidel", ["VIFIDEL", "VIFIDEL-ref"]),
        ("learn_to_eval", ["LearnToEval"]),
    ],
)
def test_signatures_keep_the_names_of_before(name: str, before: Sequence[str]) -> None:
    """Scores that were cached before columns said what they see stay valid."""
    config = compose_config([f"metric=[{name}]"])
    columns = build(name, config).columns
    assert [column.signature_name for column in columns] == before
