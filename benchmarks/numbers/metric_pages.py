"""What a metric sees and misses: the table of its page in docs/metrics/.

A page `docs/metrics/NAME.md` has the marks of the table `sees-NAME`; to give a metric its table,
add a line to `PAGES`. Pages share the commands: one profile serves all metrics in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from benchmarks.numbers.graded import head, row, three
from benchmarks.numbers.tables import Command, Result, Table
from metaeval.corruptions.base import KINDS
from metaeval.results.measured import SETS

FLUENCY = "Bigram model per word"  # the control shown next to each metric


def profile(dataset: str, metrics: str) -> Command:
    """experiment=sensitivity on 500 images."""
    return Command(
        f"-m metaeval experiment=sensitivity task.images=500 dataset={dataset} metrics={metrics}"
    )


RULES = profile("coco_val2017", "[bleu,sacrebleu,meteor,rouge_l,cider,controls]")
SPICE = profile("coco_val2017", "[spice,bigram_model] metric.spice.parser=perceptron")
NETWORKS = profile(
    "coco_val2017",
    "[bertscore,faier,faier_noref,faier_corruptions,tiger,scan,vifidel,bigram_model]",
)
CLIP = profile("scenes", "[clipscore,refclipscore,bigram_model]")


class Page(NamedTuple):
    """Of a metric's page: the columns in its table, the run they are read from."""

    columns: tuple[str, ...]
    command: Command
    quick: bool = True


PAGES = {
    "bleu": Page(("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4"), RULES),
    "sacrebleu": Page(("SacreBLEU",), RULES),
    "meteor": Page(("METEOR",), RULES),
    "rouge_l": Page(("ROUGE-L",), RULES),
    "cider": Page(("CIDEr",), RULES),
    "spice": Page(("SPICE (rules)",), SPICE, quick=False),  # CoreNLP's parser takes an hour
    "bertscore": Page(("BERTScore (MiniLM)",), NETWORKS, quick=False),
    "tiger": Page(
        tuple(f"{c} (gold objects)" for c in ("TIGEr", "SCAN-i2t", "SCAN-t2i")),
        NETWORKS,
        quick=False,
    ),
    "faier": Page(
        tuple(
            f"FAIEr (gold objects{note})"
            for note in ("", ", no references", ", trained on corruptions")
        ),
        NETWORKS,
        quick=False,
    ),
    "vifidel": Page(
        ("VIFIDEL (gold objects)", "VIFIDEL-ref (gold objects)"), NETWORKS, quick=False
    ),
    "clipscore": Page(("CLIPScore (scenes)", "RefCLIPScore (scenes)"), CLIP, quick=False),
    "controls": Page(("Length", "Random score", "Bigram model", FLUENCY, "Longest copy"), RULES),
}


def by_kind(columns: Sequence[str]) -> Callable[[Sequence[Result]], str]:
    """The table of these columns: mean AUC of each kind of change, harmless ones last."""

    def write(results: Sequence[Result]) -> str:
        run = results[0].read()
        shown = [*columns, *([] if FLUENCY in columns else [FLUENCY])]
        numbers = [run.metric(column).numbers for column in shown]
        sets = run.extra(SETS).records
        lines = head("the caption, against one with changed …", "changes", *map(_title, shown))
        for kind in KINDS:
            n = sum(e["kind"] == kind and not e["experimental"] for e in sets)
            if not n:
                continue
            means = (m.value(f"kind_{kind}") for m in numbers)
            title = "*nothing of its meaning (harmless)*" if kind == "harmless" else kind
            lines.append(row(title, str(n), *map(three, means)))
        rewrites = [three(m.value("hard_positives")) for m in numbers]
        lines.append(row("a harmless rewrite, against a false near-copy", "", *rewrites))
        no_ops = [three(m.value("no_ops")) for m in numbers]
        lines.append(row("a change of less than two words, against one", "", *no_ops))
        return "\n".join(lines)

    return write


def _title(column: str) -> str:
    return f"*{column}*" if column == FLUENCY else column


TABLES = tuple(
    Table(f"sees-{name}", (page.command,), by_kind(page.columns), quick=page.quick)
    for name, page in PAGES.items()
)
