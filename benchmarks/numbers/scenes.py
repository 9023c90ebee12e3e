"""The tables that compare the embedded scenes with COCO."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.numbers.graded import best_first, graded, head, read, row, three
from benchmarks.numbers.tables import Command, Result, Table

METRICS = "[bleu,sacrebleu,meteor,rouge_l,cider]"
# what README shows of all that the benchmark compares
SHOWN = (
    "words a caption, mean",
    "words a caption, standard deviation",
    "distinct words",
    "distinct captions",
    "distinct openings of three words",
    "words shared by two captions of an image",
)


def captions(results: Sequence[Result]) -> str:
    """Some rows of the comparison of captions that benchmarks/scenes.py prints."""
    lines = results[0].printed.strip().splitlines()
    rows = {line.strip("| ").split(" | ")[0]: line for line in lines[2:]}
    return "\n".join([*lines[:2], *(rows[name] for name in SHOWN)])


def orders(results: Sequence[Result]) -> str:
    """Pooled and within ρ of the rule-based metrics on scenes and on COCO, both experiments."""
    runs = [read(result) for result in results]
    names = [f"{e}, {d}" for e in ("Replace", "Shuffle") for d in ("scenes", "COCO")]
    lines = head("pooled ρ (within)", *names)
    for first in best_first(runs[0]):
        numbers = [run.metrics[first.name].numbers for run in runs]
        cells = [
            f"{three(n.value('rank_order_rho'))} ({three(n.value('rank_order_rho_within'))})"
            for n in numbers
        ]
        lines.append(row(first.name, *cells))
    return "\n".join(lines)


def on_scenes(experiment: str) -> Command:
    return Command(f"-m metaeval experiment={experiment} dataset=scenes metrics={METRICS}")


TABLES = (
    Table("scenes-captions", (Command("benchmarks/scenes.py"),), captions, quick=True),
    Table(
        "scenes-orders",
        tuple(c for e in ("replace", "shuffle") for c in (on_scenes(e), graded(e, METRICS))),
        orders,
        quick=True,
    ),
)
