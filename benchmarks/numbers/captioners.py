"""The table of captioners against Human: one sample of images for every metric."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from benchmarks.numbers.graded import head, row, three
from benchmarks.numbers.tables import Command, Result, Table
from metaeval.runs import files
from metaeval.stats.correlation.rank_order import rank_order

SHOWN = (
    "CIDEr",
    "METEOR",
    "FAIEr (gold objects)",
    "TIGEr (gold objects)",
    "VIFIDEL (gold objects)",
)


def against_human(results: Sequence[Result]) -> str:
    """Rank-order ρ of each captioner (lower level) against Human, all on the same images: those
    of which every metric shown scores Human's caption and that of every captioner."""
    scores = pd.read_parquet(results[0].folder / files.AGAINST_HUMAN / files.SCORES)
    shown = scores[scores["metric"].isin(SHOWN)]
    table = shown.pivot_table(index="image_id", columns=["metric", "set"], values="score").dropna()
    names = [name for name in shown["set"].unique() if name != "Human"]

    def rho(metric: str, name: str) -> float:
        return rank_order(table[metric][[name, "Human"]].to_numpy(), [0, 1]).rho

    names.sort(key=lambda name: rho("CIDEr", name))
    lines = head(f"ρ against Human, n = {len(table):,}", *names)
    lines += [row(metric, *(three(rho(metric, name)) for name in names)) for metric in SHOWN]
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
