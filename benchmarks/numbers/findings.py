"""The tables and figures of docs/findings.md: metrics in several settings, next to controls."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib
import pandas as pd
import seaborn as sns

from benchmarks.numbers.documents import Result, Table
from benchmarks.numbers.writing import run_tables
from metaeval.results.measured import in_order

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
    """A panel of a figure: a measure of one of the runs."""

    title: str
    run: int
    key: str


HC, HM = "agreement_5_HC", "agreement_5_HM"
OF_VOTES = (
    Setting("image seen: HC", 0, HC),
    Setting("reference seen: HC", 1, HC),
    Setting("image seen: HM", 0, HM),
    Setting("reference seen: HM", 1, HM),
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


def figure(settings: Sequence[Setting]) -> Callable[[Sequence[Result], Path], None]:
    """A panel a setting: metrics and controls with their intervals."""

    def draw(results: Sequence[Result], file: Path) -> None:
        rows = []
        for title, k, key in settings:
            run = results[k].read()
            metrics = in_order([m for m in run.visible if m.name not in LEFT_OUT], run.measure(key))
            for m in sorted(metrics, key=lambda m: m.column.control):
                value = m.numbers.values.get(key) if m.ok and m.column.part_of is None else None
                ends = (value.low, value.value, value.high) if value else ()
                rows += [(title, m.name, m.column.control, end) for end in ends if end is not None]
        frame = pd.DataFrame(rows, columns=["setting", "metric", "control", "value"])
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
    Table(
        f"finding-{name}",
        commands,
        run_tables(*dict.fromkeys(setting.key for setting in settings)),
        figure=figure(settings),
    )
    for name, commands, settings in (
        ("votes", VOTES, OF_VOTES),
        ("smoothing", SMOOTHING, OF_SMOOTHING),
        ("ablation", ABLATION, OF_ABLATION),
    )
)
