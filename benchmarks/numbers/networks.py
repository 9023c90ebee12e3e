"""The table of metrics with networks: runs for those with one set of weights, docs for our own.

Of a network that was trained here, the mean and standard deviation over training seeds stand in
its page, as training takes hours: a table here takes them from there, so that the two cannot
differ.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.numbers.graded import graded, head, read, row, three
from benchmarks.numbers.tables import Command, Result, Table
from metaeval.errors import InputError

PAGES = Path(__file__).resolve().parents[2] / "docs" / "metrics"
METRICS = "[bertscore,faier,tiger,vifidel]"
CHOSEN = "¹"  # chosen on this experiment's dev images
TAUGHT = "²"  # learned from corrupted captions

# name, column of the run that says how many captions have a score, page, words in the head of the
# table there, its row; the page has Replace and Shuffle, with ρ within an image where it is known
TRAINED = (
    (
        f"FAIEr (gold objects){CHOSEN}, four references",
        "FAIEr (gold objects)",
        "faier.md",
        "FAIEr-r | Replace",
        "4 references",
    ),
    (
        f"FAIEr (gold objects){CHOSEN}, no references",
        "FAIEr (gold objects)",
        "faier.md",
        "FAIEr-r | Replace",
        "no references",
    ),
    (
        f"FAIEr (gold objects, trained on corruptions){CHOSEN}{TAUGHT}",
        "FAIEr (gold objects)",
        "faier.md",
        "FAIEr (gold objects, trained on corruptions) | Replace",
        "4 references",
    ),
    (
        f"TIGEr (gold objects){CHOSEN}",
        "TIGEr (gold objects)",
        "tiger.md",
        "| | Replace | Shuffle |\n|---|---|---|",
        "TIGEr (gold objects)",
    ),
)


def from_page(page: Path, heading: str, first: str) -> list[str]:
    """The cells after the first one of a row of a page's table. InputError without such a row."""
    text = page.read_text(encoding="utf-8")
    start = text.rfind("\n\n", 0, text.find(heading)) if heading in text else -1
    lines = text[start:].strip().split("\n\n")[0].splitlines() if start >= 0 else []
    for line in lines:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == first:
            return [cell.replace("*", "") for cell in cells[1:]]
    raise InputError(f"has no row '{first}' below '{heading}'", file=page)


def table(results: Sequence[Result], pages: Path = PAGES) -> str:
    """n captions, pooled ρ and ρ within an image, on both experiments."""
    replace, shuffle = map(read, results)
    lines = head("", "n", "Replace ρ", "within", "Shuffle ρ", "within")

    def n(metric: str) -> str:
        numbers = replace.metrics[metric].numbers
        return f"{numbers.facts['n'] - numbers.facts['n_nan']:,}"

    for name, metric, page, heading, first in TRAINED:
        cells = from_page(pages / page, heading, first)
        values = cells if len(cells) == 4 else [cells[0], "–", cells[1], "–"]
        lines.append(row(name, n(metric), *values))
    for metric in replace.metrics.values():
        if metric.family in ("bertscore", "vifidel"):
            values = [
                three(m.numbers.value(measure))
                for m in (metric, shuffle.metrics[metric.name])
                for measure in ("rank_order_rho", "rank_order_rho_within")
            ]
            lines.append(row(metric.name, n(metric.name), *values))
    return re.sub(r" +", " ", "\n".join(lines))


RESEEDED = "corruption.reseeded=[faier,faier_noref] corruption.seeds=5"


def faier_seeds(results: Sequence[Result]) -> str:
    """The table of FAIEr's shipped weights, of both experiments."""
    return over_corruption_seeds([read(result).seeds for result in results])


def over_corruption_seeds(runs: Sequence[Mapping[str, Mapping[str, Any]]]) -> str:
    """FAIEr with and without references over corruption seeds: mean ± standard deviation.

    Never over training seeds, which a run may know from the card of the weights.
    """
    lines = head("FAIEr-r", "Replace", "within", "Shuffle", "within")
    rows = (
        ("4 references", "FAIEr (gold objects)"),
        ("no references", "FAIEr (gold objects, no references)"),
    )
    for name, column in rows:
        cells = []
        for run in runs:
            seeds = run[column]
            cells += [
                f"{three(seeds[f'{measure}_mean'])} ± {three(seeds[f'{measure}_sd'])}"
                for measure in ("rank_order_rho", "rank_order_rho_within")
            ]
        lines.append(row(name, *cells))
    return "\n".join(lines)


def reseeded(experiment: str) -> Command:
    """experiment=replace or shuffle with FAIEr over five corruption seeds."""
    line = f"-m metaeval experiment={experiment} dataset=coco_val2017 metric=[faier,faier_noref]"
    return Command(f"{line} {RESEEDED}")


TABLES = (
    Table("faier-seeds", (reseeded("replace"), reseeded("shuffle")), faier_seeds),
    Table("networks", tuple(graded(e, METRICS) for e in ("replace", "shuffle")), table),
)
