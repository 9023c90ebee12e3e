"""The tables and figures of docs/findings.md: metrics in several settings, next to controls."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib
import pandas as pd
import seaborn as sns

from benchmarks.numbers.documents import Result, Table
from benchmarks.numbers.writing import (
    Cell,
    Column,
    Places,
    interval,
    metric_table,
    row,
    rows_of,
    three,
    times_100,
)
from metaeval.results.base import Estimate, MetricResult
from metaeval.results.measured import MeasuredResult

matplotlib.use("Agg")

VOTED = "[bleu,meteor,rouge_l,cider,bertscore,length,bigram_model]"
VOTES = (
    *(
        f"-m metaeval experiment=forced_choice dataset=pascal50s dataset.labels={labels} "
        f"dataset.n_references=[5] metrics={VOTED}"
        for labels in ("direct", "consensus")
    ),
    *(
        f"-m metaeval experiment=judgments dataset=thumb dataset.dimensions=[total]{systems} "
        f"task.fitted=text metrics={VOTED}"
        for systems in ("", " dataset.systems=[Up-Down,Unified-VLP,VinVL-base,VinVL-large]")
    ),
)
SMOOTHED = "[bleu,meteor,cider,length,random_score]"
SMOOTHING = (
    f"-m metaeval experiment=replace dataset=coco_val2017 metrics={SMOOTHED}",
    "-m metaeval experiment=judgments dataset=flickr8k_expert metric.bleu.unsmoothed=true "
    f"metrics={SMOOTHED}",
)
ABLATION = tuple(
    "-m metaeval experiment=judgments dataset=composite dataset.subsets=[coco] "
    f"dataset.own_captions=keep dataset.n_references=1 dataset.draw={draw} "
    "dataset.statistic=spearman metrics=[faier,fier,aier,controls] "
    f"metric.faier.weights=faier_karpathy_r{systems}"
    for draw, systems in ((0, ""), (1, ""), (0, " dataset.systems=[Karpathy,SDG]"))
)


LEFT_OUT = ("Ceiling", "BLEU-2", "BLEU-3", "BLEU-2 (unsmoothed)", "BLEU-3 (unsmoothed)")


class Setting(NamedTuple):
    """A column: a measure of one of the runs."""

    title: str
    run: int
    key: str
    places: Places = three


def forced(category: str, run: int, title: str) -> Setting:
    return Setting(title, run, f"agreement_5_{category}", times_100)


OF_VOTES = (
    forced("HC", 0, "image seen: HC"),
    forced("HC", 1, "reference seen: HC"),
    forced("HM", 0, "image seen: HM"),
    forced("HM", 1, "reference seen: HM"),
    Setting("THumB, with people: r", 2, "pearson"),
    Setting("THumB, machines: r", 3, "pearson"),
)
OF_SMOOTHING = (
    Setting("Replace: ρ", 0, "rank_order_rho"),
    Setting("Replace within images: ρ", 0, "rank_order_rho_within"),
    Setting("Flickr8k-Expert: τ-c", 1, "kendall_tau_c"),
)
OF_ABLATION = (
    Setting("first draw: ρ", 0, "spearman"),
    Setting("second draw: ρ", 1, "spearman"),
    Setting("machines alone, first draw: ρ", 2, "spearman"),
)


def estimate_of(run: MeasuredResult, name: str, key: str) -> Estimate | None:
    metric = next((m for m in run.metrics if m.ok and m.name == name), None)
    return metric.numbers[key] if metric and key in metric.numbers.values else None


def is_above_control(run: MeasuredResult, name: str, key: str) -> bool:
    """Whether the column's own test puts the metric above the best control."""
    against = run.controls.get(key)
    compared = against.comparisons if against is not None else ()
    return any(
        c.a == name and c.is_significant() and (c.difference.value or 0) > 0 for c in compared
    )


def is_shown(_: MeasuredResult, metric: MetricResult) -> bool:
    return metric.name not in LEFT_OUT


def marked_interval(setting: Setting) -> Cell:
    """Value and interval of a column; bold where above the best control."""
    shown = interval(setting.key, setting.places)

    def cell(run: MeasuredResult, metric: MetricResult) -> str:
        if setting.key not in metric.numbers.values:
            return "–"
        value, _, ends = shown(run, metric).partition(" ")
        bold = "**" if is_above_control(run, metric.name, setting.key) else ""
        return f"{bold}{value}{bold} {ends}"

    return cell


def table(settings: Sequence[Setting]) -> Callable[[Sequence[Result]], str]:
    """A row a metric, a column a setting; how many items metrics have in the last row."""
    columns = [Column(s.title, marked_interval(s), s.run) for s in settings]
    of_metrics = metric_table(settings[0].key, columns, is_shown)

    def write(results: Sequence[Result]) -> str:
        counts = []
        for _, k, key, _ in settings:
            ok = [m for m in results[k].read().metrics if m.ok and not m.column.control]
            known = [m for m in ok if key in m.numbers.values]
            n = (m.numbers[key].n or m.numbers.facts.get("n") or 0 for m in known)
            counts.append(f"{max(map(int, n)):,}")
        return f"{of_metrics(results)}\n{row('n, metrics', *counts)}"

    return write


def figure(settings: Sequence[Setting]) -> Callable[[Sequence[Result], Path], None]:
    """A panel a setting: metrics and controls with their intervals."""

    def draw(results: Sequence[Result], file: Path) -> None:
        runs = [result.read() for result in results]
        metrics = [metric for _, metric in rows_of(runs, settings[0].key, is_shown)]
        frame = pd.DataFrame(
            [
                (s.title, m.name, m.column.control, end)
                for s in settings
                for m in metrics
                if (value := estimate_of(runs[s.run], m.name, s.key)) is not None
                for end in (value.low, value.value, value.high)
                if end is not None
            ],
            columns=["setting", "metric", "control", "value"],
        )
        grid = sns.catplot(
            frame,
            x="value",
            y="metric",
            hue="control",
            col="setting",
            kind="point",
            errorbar=("pi", 100),
            estimator="median",
            linestyle="none",
            markersize=4,
            err_kws={"linewidth": 1.4},
            palette={False: "#1f5a8a", True: "#b0622c"},
            sharex=False,
            legend=False,
            height=2.4,
            aspect=1.1,
            col_wrap=3,
        )
        grid.set_titles("{col_name}", size=9).set(xlabel="", ylabel="")
        grid.tick_params(labelsize=8)
        grid.savefig(file, dpi=110)
        matplotlib.pyplot.close(grid.figure)

    return draw


FINDING_TABLES = tuple(
    Table(f"finding-{name}", commands, table(settings), figure=figure(settings))
    for name, commands, settings in (
        ("votes", VOTES, OF_VOTES),
        ("smoothing", SMOOTHING, OF_SMOOTHING),
        ("ablation", ABLATION, OF_ABLATION),
    )
)
