"""The table of captioners against Human: one sample of images for every metric."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.numbers.graded import head, row, three
from benchmarks.numbers.tables import Command, Result, Table
from metaeval.runs import files

SHOWN = ("CIDEr", "METEOR", "FAIEr", "TIGEr", "VIFIDEL")


def against_human(results: Sequence[Result]) -> str:
    """Rank-order ρ of each captioner (lower level) against Human, with the number of images.

    Metrics need not score the same images; a row says on how many it rests.
    """
    statistics = files.read_json(results[0].folder / files.STATISTICS)
    records = {r["metric"]: r for r in statistics["against_human"]}
    names = [system["name"] for system in statistics["systems"]]
    leading = records["CIDEr"]["systems"]
    names.sort(key=lambda name: leading[name]["rank_order_rho"])
    lines = head("ρ against Human", "images", *names)
    for metric in SHOWN:
        systems = records[metric]["systems"]
        images = max(system["n"] for system in systems.values())
        values = (three(systems[name]["rank_order_rho"]) for name in names)
        lines.append(row(metric, f"{images:,}", *values))
    return "\n".join(lines)


TABLES = (
    Table(
        "captioners",
        (
            Command(
                "-m metaeval experiment=captioners dataset=coco_karpathy_test "
                "dataset.exclude=val2017 captions=${METAEVAL_DATA}/coco/captioners "
                "metrics=[cider,meteor,faier,tiger,vifidel]"
            ),
        ),
        against_human,
    ),
)
