"""The tables of metrics on noisy gold objects: Replace, and Composite's COCO images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from benchmarks.numbers.graded import head, read, row, three
from benchmarks.numbers.judgments import read_ratings
from benchmarks.numbers.tables import Command, Result, Table

KINDS = ("dropped", "confused", "jittered")
RATES = (0.1, 0.3, 0.5)
NOISES = (("", 0.0), *((kind, rate) for kind in KINDS for rate in RATES))
METRICS = "metrics=[faier,tiger,scan,vifidel,gold_labels]"
REPLACE = f"-m metaeval experiment=replace dataset=coco_val2017 dataset.limit=1000 {METRICS}"
COMPOSITE = (
    f"-m metaeval experiment=judgments dataset=composite dataset.subsets=[coco] {METRICS} "
    "task.fitted=false task.permutations=1 stats.replicates=20"
)
SHOWN = ("FAIEr", "TIGEr", "SCAN-sum", "VIFIDEL", "VIFIDEL-ref", "Gold label F1")


def commands(line: str) -> tuple[Command, ...]:
    """The run without noise, and one for each noise."""
    return tuple(
        Command(f"{line} regions.noise.{kind}={rate:g}" if kind else line) for kind, rate in NOISES
    )


def table(values: Callable[[Result], Mapping[str, float | None]]) -> Callable[..., str]:
    """A row for each metric and kind of noise; `values` are those of a run by column."""

    def write(results: Sequence[Result]) -> str:
        runs = dict(zip(NOISES, map(values, results), strict=True))
        lines = head("", "noise", "none", *(f"{100 * rate:g} %" for rate in RATES))
        for metric in SHOWN:
            for kind in KINDS:
                cells = [value_of(runs["", 0.0], metric)]
                cells += [value_of(runs[kind, rate], metric) for rate in RATES]
                name = metric if kind == KINDS[0] else ""
                lines.append(row(name, kind, *map(three, cells)))
        return "\n".join(lines)

    return write


def value_of(run: Mapping[str, float | None], metric: str) -> float | None:
    """The value of a metric's column, whatever stands in brackets behind its name."""
    return next((v for name, v in run.items() if name.partition(" (")[0] == metric), None)


def replace_rho(result: Result) -> dict[str, float | None]:
    """Column → ρ over all captions."""
    return {name: m.numbers.value("rank_order_rho") for name, m in read(result).metrics.items()}


def composite_tau(result: Result) -> dict[str, float | None]:
    """Column → Kendall's τ-c with correctness."""
    run = read_ratings(result)
    return {m.name: m.numbers.value("kendall_tau_c") for m in run.metrics if m.ok}


TABLES = (
    Table("noise-replace", commands(REPLACE), table(replace_rho), show=False),
    Table("noise-composite", commands(COMPOSITE), table(composite_tau), show=False),
)
