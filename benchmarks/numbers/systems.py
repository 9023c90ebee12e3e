"""Every system that the four papers compare, with its row here; and how fast the new ones are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.judgments import ridge
from benchmarks.numbers.graded import graded, head, read, row, three
from benchmarks.numbers.judgments import italic, read_choices, read_ratings
from benchmarks.numbers.tables import Command, Result, Table
from metaeval.experiments.graded.task import REPLACE, SHUFFLE
from metaeval.experiments.sensitivity.extras import PROFILE_CELLS
from metaeval.papers.expected import value_of
from metaeval.results.measured import SETS
from metaeval.results.metric import MetricResult

IMAGES = 300  # of val2017, the first: all systems together on all would take hours
RULES = "bleu,sacrebleu,meteor,rouge_l,cider,spice"
NETWORKS = "bertscore,tiger,scan,faier,faier_1,faier_4,faier_rel,fier,aier,fier_aier,vifidel"
ADDED = "chrf,ter,rouge_n,cider_plain,cider_r,wmd,moverscore,lm"
GROUNDED = "vifidel_lm,vifidel_cider,learn_to_eval,chair"
ALL = f"[{RULES},{NETWORKS},{ADDED},{GROUNDED}]"

# the parser of SPICE takes an hour where no sentence is in the cache; intervals are not shown
SHORT = "metric.spice.parser=perceptron stats.replicates=100"
BOTH = tuple(graded(e, ALL, f"dataset.limit={IMAGES} {SHORT}") for e in ("replace", "shuffle"))
JUDGED = f"[bleu,meteor,rouge_l,cider,{ADDED},learn_to_eval,aier]"
PASCAL = Command(
    "-m metaeval experiment=judgments dataset=pascal50s dataset.draws=1 dataset.limit=250 "
    "stats.replicates=100 task.permutations=100 "
    f"metrics={JUDGED} metric={JUDGED} metric.learn_to_eval.variant=text"
)
FLICKR8K = Command(
    "-m metaeval experiment=judgments dataset=flickr8k_expert "
    "stats.replicates=100 task.permutations=100 "
    "metrics=[bleu,meteor,rouge_l,cider,chrf,rouge_n,cider_r,lm]"
)
COMPOSITE = Command(
    "-m metaeval experiment=judgments dataset=composite dataset.subsets=[coco] report=none "
    "stats.replicates=100 task.permutations=100 metric.spice.parser=perceptron "
    f"metrics={ALL}"
)
# TIGEr's Fig. 7: what is said of an object, an action, a property gives way to something wrong
COMPONENTS = {
    "object": ("other_object",),
    "action": ("wrong_verb",),
    "property": ("wrong_colour", "wrong_size"),
}
_CHANGES = ",".join(["random", *(name for names in COMPONENTS.values() for name in names)])
COMPONENT_RUN = Command(
    "-m metaeval experiment=sensitivity dataset=coco_val2017 task.images=1000 "
    f"task.corruptions=[{_CHANGES}] stats.replicates=200 metric.spice.parser=perceptron "
    "metrics=[bleu,meteor,rouge_l,cider,spice,bertscore,tiger,scan,faier,vifidel,bigram_model]"
)

SOURCES = (
    "G: González-Chávez et al. (2023); T: TIGEr, Jiang et al. (2019); V: VIFIDEL, Madhyastha et "
    "al. (2019); F: FAIEr, Wang et al. (2021)"
)


class Printed(NamedTuple):
    """The place of a printed value in metaeval/papers, and how it is shown.

    `scale` is what one printed unit counts here; `of` says on what else than the table's data.
    """

    paper: str
    item: str
    column: str
    cell: str
    scale: float = 1.0
    of: str = ""

    @property
    def value(self) -> float:
        return self.scale * value_of(self.paper, self.item, self.column, self.cell)

    @property
    def text(self) -> str:
        """The digits as printed."""
        digits = 2 if self.paper == VIFIDEL else 3
        text = f"{self.value:.{digits}f}".replace("-0.", "−.").removeprefix("0")
        return f"{text} ({self.of})" if self.of else text


VIFIDEL, FAIER, TIGER = "madhyastha2019vifidel", "wang2021faier", "jiang2019tiger"


def _mm(column: str, cell: str, item: str = "table1") -> Printed:
    """Accuracy on PASCAL-50S' MM pairs, of VIFIDEL's Table 1."""
    return Printed(VIFIDEL, item, column, cell, 100)


def _relevance(column: str, cell: str) -> Printed:
    """Spearman's ρ on Composite's COCO images, of VIFIDEL's Table 2."""
    return Printed(VIFIDEL, "table2", column, cell)


def _composite(paper: str, column: str) -> Printed:
    """Spearman's ρ on Composite, of TIGEr's and FAIEr's Table 1."""
    return Printed(paper, "table1-composite", column, "spearman", of="all of Composite")


class System(NamedTuple):
    """A system of the papers.

    Attributes
    ----------
    name
        What the papers call it.
    papers
        Which of them compare it.
    metric
        What the command calls it; "" where it cannot run here.
    column
        The column of a run on COCO.
    pascal
        The published accuracy on PASCAL-50S' MM pairs, per cent, with five references, by votes
        against references (V); `None` where none was published.
    note
        What differs, or why it cannot run.
    composite
        The published Spearman's ρ with people's correctness on Composite's COCO images, and on what
        else, if the paper mentions more.
    """

    name: str
    papers: str
    metric: str
    column: str
    pascal: Printed | None = None
    note: str = ""
    composite: Printed | None = None


SYSTEMS = (
    System("BLEU-1", "GTVF", "bleu", "BLEU-1"),
    System("BLEU-2", "G", "bleu", "BLEU-2"),
    System("BLEU-3", "G", "bleu", "BLEU-3"),
    System("BLEU-4", "GTVF", "bleu", "BLEU-4"),
    System("BLEU-2 (unsmoothed)", "G", "bleu", "BLEU-2 (unsmoothed)"),
    System("BLEU-3 (unsmoothed)", "G", "bleu", "BLEU-3 (unsmoothed)"),
    System("BLEU-4 (unsmoothed)", "G", "bleu", "BLEU-4 (unsmoothed)"),
    System("SacreBLEU", "G", "sacrebleu", "SacreBLEU"),
    System("ROUGE-L", "GTVF", "rouge_l", "ROUGE-L"),
    System("METEOR", "GTVF", "meteor", "METEOR", Printed(VIFIDEL, "tables5-6", "METEOR", "MM")),
    System("CIDEr", "GTVF", "cider", "CIDEr", Printed(VIFIDEL, "tables5-6", "CIDEr", "MM")),
    System("SPICE", "GTVF", "spice", "SPICE (rules)", note="built-in parser, not CoreNLP"),
    System("BERTScore", "G", "bertscore", "BERTScore (MiniLM)", note="MiniLM, not roberta-large"),
    System("CLIPScore", "G", "clipscore", "", note="OpenAI's weights and photographs are needed"),
    System("RefCLIPScore", "G", "refclipscore", "", note="likewise"),
    System(
        "WMD, best reference",
        "V",
        "wmd",
        "WMD-best",
        _mm("WMD-best", "5"),
        "MiniLM's word vectors",
        _relevance("WMD-best", "4"),
    ),
    System("WMD, mean reference", "V", "wmd", "WMD-mean", None, "likewise"),
    System(
        "WMD, worst reference",
        "V",
        "wmd",
        "WMD-worst",
        _mm("WMD-worst", "5"),
        "likewise",
        _relevance("WMD-worst", "4"),
    ),
    System(
        "LM",
        "V",
        "lm",
        "LM",
        _mm("LM", "0"),
        "a GRU of 22,000 captions of other images",
        _relevance("LM", "0"),
    ),
    System(
        "VIFIDEL, gold objects",
        "V",
        "vifidel",
        "VIFIDEL (gold objects)",
        None,
        "MiniLM's word vectors",
    ),
    System(
        "VIFIDEL with references",
        "V",
        "vifidel",
        "VIFIDEL-ref (gold objects)",
        _mm("VIFIDEL-ref", "5"),
        "likewise",
    ),
    System(
        "VIFIDEL, D80",
        "V",
        "vifidel",
        "",
        None,
        "metric.vifidel.sources=[detector]: photographs are needed",
    ),
    System(
        "VIFIDEL, D500",
        "V",
        "vifidel",
        "",
        _mm("VIFIDEL-ref", "5", "table1-detected"),
        "metric.vifidel.sources=[FILE]: the detector's labels are needed",
    ),
    System(
        "VIFIDEL, gold ∪ D500",
        "V",
        "vifidel",
        "",
        None,
        "metric.vifidel.sources=[gold,FILE]: likewise",
        composite=_relevance("VIFIDEL-ref", "4"),
    ),
    System("VIFIDEL+LM", "V", "vifidel_lm", "VIFIDEL+LM (gold objects)"),
    System("VIFIDEL+CIDEr", "V", "vifidel_cider", "VIFIDEL+CIDEr (gold objects)"),
    System("SCAN", "T", "scan", "SCAN-sum (gold objects)", None, "gold regions, our weights"),
    System(
        "TIGEr",
        "TF",
        "tiger",
        "TIGEr (gold objects)",
        None,
        "gold regions, our weights",
        composite=_composite(TIGER, "TIGEr"),
    ),
    System("REO", "F", "", "", None, "neither code nor equations to check ours against"),
    System(
        "LearnToEval",
        "F",
        "learn_to_eval",
        "LearnToEval (gold objects)",
        None,
        "gold regions, our weights; trained with corrupted captions",
    ),
    System(
        "FAIEr, 1-ref",
        "F",
        "faier_1",
        "FAIEr-1 (gold objects)",
        None,
        "gold regions, our weights",
        composite=_composite(FAIER, "FAIEr-1"),
    ),
    System(
        "FAIEr, 4-ref",
        "F",
        "faier_4",
        "FAIEr-4 (gold objects)",
        None,
        "likewise",
        composite=_composite(FAIER, "FAIEr-4"),
    ),
    System(
        "FAIEr, r-ref",
        "F",
        "faier",
        "FAIEr (gold objects)",
        None,
        "likewise",
        composite=_composite(FAIER, "FAIEr"),
    ),
    System(
        "FAIEr\\rel",
        "F",
        "faier_rel",
        "FAIEr (gold objects, object level alone)",
        None,
        "likewise; metric.faier_rel.references=1, 4, null",
    ),
    System("FIEr", "F", "fier", "FIEr (gold objects, no references)", None, "likewise"),
    System("AIEr", "F", "aier", "AIEr", None, "our weights; how references are matched is ours"),
    System(
        "FIEr+AIEr", "F", "fier_aier", "FIEr+AIEr (gold objects)", None, "the mean of both: ours"
    ),
)


def table(results: Sequence[Result]) -> str:
    """Each system: where it runs, ρ on both experiments, accuracy on PASCAL-50S and agreement with
    people on Composite's COCO images, published values next to them."""
    *runs, pascal, composite = results
    replace, shuffle = map(read, runs)
    chosen = _accuracies(pascal)
    rated = read_ratings(composite).metrics
    agreeing = {metric.name: metric for metric in rated if metric.ok}
    names = (
        "system",
        "papers",
        "metrics=",
        "Replace ρ",
        "published",
        "Shuffle ρ",
        "published",
        "PASCAL-50S MM",
        "published",
        "Composite-COCO ρ (captions)",
        "published",
        "note",
    )
    lines = [row(*names), row("---", "---", "---", *["---:"] * 8, "---")]
    for system in SYSTEMS:
        cells = [system.name, system.papers, f"`{system.metric}`" if system.metric else "–"]
        for run, papers in ((replace, REPLACE), (shuffle, SHUFFLE)):
            metric = run.metrics.get(system.column)
            if system.column and metric is None:
                raise KeyError(f"{system.name}: no column {system.column} in {list(run.metrics)}")
            cells += [three(metric.numbers.value("rank_order_rho") if metric else None)]
            published = papers.get(system.name)
            cells += ["none" if published is None else three(published)]
        value = chosen.get(on_pascal(system.column))
        cells += ["–" if value is None else f"{100 * value:.1f}"]
        cells += ["none" if system.pascal is None else f"{system.pascal.value:g}"]
        cells += [
            _with_people(agreeing.get(system.column)),
            _printed(system.composite),
            system.note,
        ]
        lines.append(row(*cells))
    note = (
        "On Composite's COCO images: Spearman's ρ with people's correctness, people's captions "
        "among those rated. A learned metric scores no image that its weights were trained on; of "
        "some there are weights for val2017 alone, hence the fewer captions."
    )
    return "\n".join([*lines, "", f"{SOURCES}. {note}"])


def on_pascal(column: str) -> str:
    """The column of a metric on PASCAL-50S, which has no regions: of LearnToEval the text alone."""
    return "LearnToEval (text)" if column.startswith("LearnToEval") else column


def added(results: Sequence[Result]) -> str:
    """What runs without a download next to the systems of the papers: both experiments, and all
    pairs of PASCAL-50S."""
    replace, shuffle, pascal = results
    runs, chosen = (read(replace), read(shuffle)), _by_category(pascal)
    families = (*ADDED.split(","), *GROUNDED.split(","))
    names = ("Replace ρ", "within", "Shuffle ρ", "within", "HC", "HI", "HM", "MM")
    lines = head("", *names)
    for name, metric in runs[0].metrics.items():
        if metric.family not in families:
            continue
        cells = [name]
        for run in runs:
            numbers = run.metrics[name].numbers
            cells += [
                three(numbers.value("rank_order_rho")),
                three(numbers.value("rank_order_rho_within")),
            ]
        judged = chosen.get(on_pascal(name), {})
        cells += [_percent(judged.get(category)) for category in ("HC", "HI", "HM", "MM")]
        lines.append(row(*cells))
    return "\n".join(lines)


def components(results: Sequence[Result]) -> str:
    """How much of a metric's score falls where one component is wrong, in per cent of what another
    image's caption costs, and how often it sees so."""
    run = results[0].read()
    of_name = {entry["name"]: entry["set"] for entry in run.extra(SETS).records}
    profile = {(c["metric"], c["set"]): c for c in run.extra(PROFILE_CELLS).records}
    ran = [m for m in run.metrics if m.ok and m.column.part_of is None]
    counts = {name: profile[ran[0].name, of_set]["n"] for name, of_set in of_name.items()}
    names = [f"{kind}: fall, % ({', '.join(sets)})" for kind, sets in COMPONENTS.items()]
    lines = head("metric", *(cell for name in names for cell in (name, "sees")))
    for metric in ran:
        cells = []
        for sets in COMPONENTS.values():
            of_sets = [profile[metric.name, of_name[name]] for name in sets]
            n = [counts[name] for name in sets]
            falls = [f for cell in of_sets if (f := cell["share_of_another"]) is not None]
            # the share is undefined for a control that ignores another image's caption
            known = len(falls) == len(of_sets)
            share = f"{100 * np.average(falls, weights=n):.1f}".replace("-", "−") if known else "–"
            seen = [cell["auc"] for cell in of_sets if cell["auc"] is not None]
            cells += [share, three(np.average(seen, weights=n))]
        lines.append(row(italic(metric), *cells))
    images = ", ".join(f"{name} {counts[name]:,}" for sets in COMPONENTS.values() for name in sets)
    return "\n".join([*lines, "", f"Images in which the change can be made: {images}."])


def _printed(printed: Printed | None) -> str:
    return "none" if printed is None else printed.text


def _by_category(result: Result) -> dict[str, dict[str, float | None]]:
    """Column → category → the share of its pairs in which it chose as most people did."""
    run = read_choices(result)
    ((_, *categories),) = run.groups().values()
    return {
        metric.name: {c.title: metric.numbers.value(c.key) for c in categories}
        for metric in run.metrics
        if metric.ok
    }


def _accuracies(result: Result) -> dict[str, float | None]:
    return {name: shares.get("MM") for name, shares in _by_category(result).items()}


def _with_people(metric: MetricResult | None) -> str:
    """Spearman's ρ with people's correctness, and over how many captions."""
    if metric is None:
        return "–"
    rho = metric.numbers["spearman"]
    return f"{three(rho.value)} ({rho.n:,})"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


TABLES = (
    Table("systems", (*BOTH, PASCAL, COMPOSITE), table, show=False),
    Table("systems-added", (*BOTH, PASCAL), added),
    Table("components", (COMPONENT_RUN,), components),
    Table("learned", (FLICKR8K,), lambda results: ridge.table(results[0].folder)),
    Table("speed", (Command("-m benchmarks.scale.rates"),), lambda results: results[0].printed),
)
