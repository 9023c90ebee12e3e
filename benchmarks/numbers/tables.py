"""All tables of README.md and docs/ that `make numbers` writes."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import yaml

from benchmarks.numbers.documents import Result, Table
from benchmarks.numbers.findings import FINDING_TABLES
from benchmarks.numbers.writing import (
    Cell,
    Column,
    Write,
    extra,
    fact,
    head,
    interval,
    metric_table,
    p_value,
    printed_value,
    published,
    row,
    three,
    times_100,
    value,
)
from metaeval.corruptions.base import KINDS
from metaeval.experiments.choices import MEAN
from metaeval.experiments.graded.task import PAPER
from metaeval.experiments.pairs.statistics import SHOWN, measure_key
from metaeval.experiments.printout import text_table
from metaeval.experiments.sensitivity.extras import PROFILE_CELLS
from metaeval.papers.expected import cells_of, values_of
from metaeval.reproduce.compare import NEEDS
from metaeval.reproduce.task import OVERVIEW
from metaeval.results.base import MetricResult
from metaeval.results.graded import MEASURES, rows_by_metric
from metaeval.results.measured import SETS, MeasuredResult
from metaeval.results.trust import cell_text, matrix_rows, size_of
from metaeval.runs import files
from metaeval.stats.correlation.rank_order import rank_order

# experiment=replace and shuffle

POOLED, WITHIN, PAIRWISE = MEASURES
BOTH = ("replace", "shuffle")
TEXT_RULES = ("bleu", "sacrebleu", "meteor", "rouge_l", "cider")
RULES = f"[{','.join(TEXT_RULES)},controls]"
MEASURE_COLUMNS = (
    Column("pooled ρ", value(POOLED)),
    Column("ρ within", value(WITHIN)),
    Column("pairwise", value(PAIRWISE)),
)
BOTH_COLUMNS = tuple(
    Column(title, cell, run)
    for run, name in enumerate(("Replace", "Shuffle"))
    for title, cell in (
        (f"{name} ρ", value(POOLED)),
        ("published", published(POOLED, three)),
        ("within", value(WITHIN)),
        ("pairs", value(PAIRWISE)),
    )
)


def graded(experiment: str, metrics: str, more: str = "", dataset: str = "coco_val2017") -> str:
    """experiment=replace or shuffle."""
    line = f"-m metaeval experiment={experiment} dataset={dataset} metrics={metrics}"
    return f"{line} {more}".strip()


def both(metrics: str, more: str = "") -> tuple[str, ...]:
    return tuple(graded(experiment, metrics, more) for experiment in BOTH)


def between_images(_: MeasuredResult, metric: MetricResult) -> str:
    """How much of the scores' variance is offset between images."""
    share = float(metric.numbers.facts["variance_image"] or 0.0)
    return ">99 %" if share > 0.995 else f"{100 * share:.0f} %"


def by_equation_12(rho: float, n: int, k: int) -> float:
    """What Eq. 12 of the paper, taken literally on midranks, gives where `rank_order` gives ρ.

    1 − 6Σd²/(n(n² − 1)) holds for ranks without ties; here d are the differences of midranks, of
    which n/k are tied at a time (n items, k levels of equal size), and Σd² is
    (1 − ρ)·n(n² − (n/k)²)/6. For the levels 0, 1, 0, 1 in order of score, Eq. 12 gives 0.2, where
    ρ is 0.
    """
    return 1 - (1 - rho) * (n**2 - (n / k) ** 2) / (n**2 - 1)


def equation_12(run: MeasuredResult, metric: MetricResult) -> str:
    """ρ by the paper's Eq. 12 on midranks."""
    rho, n = metric.numbers.value(POOLED), int(metric.numbers.facts["n"] or 0)
    return "–" if rho is None else three(by_equation_12(rho, n, len(run.extra(SETS).rows)))


def is_published(run: MeasuredResult, metric: MetricResult) -> bool:
    return printed_value(run, metric.name, POOLED) is not None


def is_reseeded(run: MeasuredResult, metric: MetricResult) -> bool:
    return metric.name in rows_by_metric(run, "seeds")


def thousandths(sd: float | None) -> str:
    return f"{1000 * (sd or 0.0):.1f}"


def signed(distance: float | None) -> str:
    return "–" if distance is None else f"{distance:+.1f}".replace("-", "−")


def over_seeds(measure: str) -> Cell:
    """Mean ± standard deviation over seeds of the corruptions, never over training seeds."""
    mean, sd = (extra("seeds", f"{measure}_{name}") for name in ("mean", "sd"))
    return lambda run, metric: f"{mean(run, metric)} ± {sd(run, metric)}"


def with_within(run: MeasuredResult, metric: MetricResult) -> str:
    """ρ over all captions, and in brackets within an image."""
    pooled, within = (three(metric.numbers.value(measure)) for measure in (POOLED, WITHIN))
    return f"{pooled} ({within})"


SEEDS = metric_table(
    POOLED,
    (
        Column("mean over 5 seeds", extra("seeds", "rank_order_rho_mean")),
        *(Column(p, extra("seeds", f"sd_{p}", thousandths)) for p in ("image", "seed", "ties")),
        Column("published", published(POOLED, three)),
        Column("distance in sd", extra("seeds", "published_sd", signed)),
    ),
    keep=lambda run, metric: is_published(run, metric) and is_reseeded(run, metric),
)
FAIER_SEEDS = metric_table(
    POOLED,
    tuple(
        Column(title, over_seeds(measure), run)
        for run, name in enumerate(("Replace", "Shuffle"))
        for title, measure in ((name, POOLED), ("within", WITHIN))
    ),
    keep=is_reseeded,
)
GRADED_TABLES = (
    Table("rule-based", both(RULES), metric_table(POOLED, BOTH_COLUMNS), quick=True),
    # on its own: its parser takes an hour where no sentence is in the cache
    Table("spice", both("[spice]"), metric_table(POOLED, BOTH_COLUMNS)),
    Table(
        "shuffle",
        (graded("shuffle", RULES),),
        metric_table(
            POOLED,
            (
                *MEASURE_COLUMNS,
                Column("all in order", value("monotone_rate")),
                Column("variance between images", between_images),
            ),
        ),
        quick=True,
    ),
    Table(
        "replace",
        (graded("replace", RULES),),
        metric_table(
            POOLED,
            (
                *MEASURE_COLUMNS,
                Column("pooled without Random", extra("degrees", POOLED)),
                Column("within without Random", extra("degrees", WITHIN)),
            ),
        ),
        quick=True,
    ),
    Table(
        "equation-12",
        (graded("replace", RULES),),
        metric_table(
            POOLED,
            (
                Column("published", published(POOLED, three)),
                Column("by levels", value(POOLED)),
                Column("Eq. 12 on midranks", equation_12),
            ),
            keep=is_published,
        ),
        quick=True,
        show=False,
    ),
    *(
        Table(name, (graded(e, RULES, "corruption.reseeded=[rule_based,controls]"),), SEEDS)
        for name, e in (("seeds", "replace"), ("seeds-shuffle", "shuffle"))
    ),
    Table(
        "faier-seeds",
        tuple(
            f"-m metaeval experiment={experiment} dataset=coco_val2017 metric=[faier,faier_noref] "
            "corruption.reseeded=[faier,faier_noref] corruption.seeds=5"
            for experiment in BOTH
        ),
        FAIER_SEEDS,
    ),
    Table("scenes-captions", ("-m research.scenes.statistics",), quick=True),
    Table(
        "scenes-orders",
        tuple(graded(e, RULES, dataset=d) for e in BOTH for d in ("scenes", "coco_val2017")),
        metric_table(
            POOLED,
            tuple(
                Column(f"{e}, {d}", with_within, 2 * i + j)
                for i, e in enumerate(("Replace", "Shuffle"))
                for j, d in enumerate(("scenes", "COCO"))
            ),
            keep=lambda _, metric: metric.family in TEXT_RULES,
        ),
        quick=True,
    ),
)

# experiment=judgments

FLICKR8K = ("SPICE", "CIDEr", "METEOR", "BLEU-1", "ROUGE-L", "BLEU-4")
COMPOSITE_TAU = "kendall_tau_c"  # Composite has one dimension: correctness
PASCAL = "dataset=pascal50s dataset.labels="


def judged(options: str) -> str:
    return f"-m metaeval experiment=judgments {options}"


def parsed(options: str) -> tuple[str, ...]:
    return (judged(f"{options} metric.spice.parser=perceptron"),)


def quoted(run: MeasuredResult) -> dict[str, str]:
    """Dimension → the key of the protocol's correlation."""
    return {dimension: measures[0].key for dimension, measures in run.groups().items()}


def first_quoted(run: MeasuredResult) -> str:
    return next(iter(quoted(run).values()))


def ratings(run: MeasuredResult) -> list[Column]:
    """The protocol's statistic with its interval in each dimension, and the published value."""
    columns = []
    for name, key in quoted(run).items():
        columns.append(Column(name, interval(key)))
        if any(printed_value(run, metric.name, key) is not None for metric in run.metrics):
            columns.append(Column("published", published(key)))
    return [*columns, Column("captions", fact("n"))]


def machine_keys(run: MeasuredResult) -> dict[str, str]:
    """As `quoted`, of the captions that no person wrote."""
    statistic = str(run.settings["statistic"])
    of_machines = f"{statistic}_without Human"
    return {name: key.replace(statistic, of_machines, 1) for name, key in quoted(run).items()}


def machines(run: MeasuredResult) -> list[Column]:
    keys = machine_keys(run)
    first = next(iter(keys.values()))
    captions = Column("captions", lambda _, metric: f"{metric.numbers[first].n:,}")
    return [*(Column(name, interval(key)) for name, key in keys.items()), captions]


def composite_views(run: MeasuredResult) -> list[str]:
    measures = run.groups(False)["Parts of the captions"]
    return [measure.key.removeprefix(f"{COMPOSITE_TAU}_") for measure in measures]


def is_complete(run: MeasuredResult, metric: MetricResult, view: str) -> bool:
    """Whether the metric scores every caption of a part."""
    counts = dict(run.extra("counts").rows)
    return metric.numbers[f"{COMPOSITE_TAU}_{view}"].n == counts[f"Captions, {view}"]


def of_part(view: str) -> Cell:
    """τ-c on a part; a dash where it would be of fewer captions than that of other metrics."""
    key = f"{COMPOSITE_TAU}_{view}"

    def cell(run: MeasuredResult, metric: MetricResult) -> str:
        return times_100(metric.numbers.value(key)) if is_complete(run, metric, view) else "–"

    return cell


def of_all(run: MeasuredResult, metric: MetricResult) -> str:
    scored_all = metric.numbers.facts["n"] == run.facts["Captions"]
    return times_100(metric.numbers.value(COMPOSITE_TAU), 3) if scored_all else "–"


def composite(run: MeasuredResult) -> list[Column]:
    return [
        Column("all", of_all),
        Column("published", published(COMPOSITE_TAU)),
        *(Column(view, of_part(view)) for view in composite_views(run)),
        Column("captions", fact("n")),
    ]


def common_key(run: MeasuredResult) -> str:
    return f"{run.declared[0].key}_common"


def common_captions(run: MeasuredResult) -> list[Column]:
    """The protocol's statistic on the captions that all metrics score; and how many each scores."""
    key = common_key(run)
    (n,) = {m.numbers[key].n for m in run.metrics if m.ok and key in m.numbers.values}
    title = f"{run.declared[0].title} on the same {n:,} captions"
    return [Column(title, value(key, times_100)), Column("scored", fact("n"))]


def never(gap: float | None) -> str:
    return "never" if gap is None else f"{gap:.3f}"


def whole(count: float | None) -> str:
    return f"{count:.0f}"


def choice_measures(run: MeasuredResult) -> list[tuple[str, str]]:
    """Title and key of each kind of pair, with the most references of the run; the mean last."""
    mean, *categories = list(run.groups().values())[-1]
    return [*((c.title, c.key) for c in categories), ("mean", mean.key)]


def with_published(key: str) -> Cell:
    def cell(run: MeasuredResult, metric: MetricResult) -> str:
        known = printed_value(run, metric.name, key)
        note = "" if known is None else f" ({100 * known:g})"
        return f"{times_100(metric.numbers.value(key))}{note}"

    return cell


def choice_columns(run: MeasuredResult) -> list[Column]:
    columns = [Column(title, with_published(key)) for title, key in choice_measures(run)]
    return [*columns, Column("with its interval", interval(choice_measures(run)[-1][1]))]


def choices(results: Sequence[Result]) -> str:
    """PASCAL-50S: how often each metric chooses as people do, and people at the end."""
    run = results[0].read()
    mean = choice_measures(run)[-1][1]
    lines = [metric_table(mean, choice_columns)(results)]
    if run.people:
        known = [run.people.get(key) for _, key in choice_measures(run)]
        cells = ["" if share is None else times_100(share.value) for share in known]
        lines.append(row("one person with the others", *cells, ""))
    return "\n".join(lines)


JUDGMENT_TABLES = (
    Table("levels", ("-m research.judgments.levels",)),
    Table("few-images", ("-m research.judgments.few_images --simulations 3000",)),
    Table(
        "noticed",
        (
            judged(
                "dataset=flickr8k_expert "
                "metrics=[bleu,sacrebleu,meteor,rouge_l,cider,chrf,bertscore] controls=[]"
            ),
        ),
        metric_table(
            "labels_worth",
            (
                Column("Δ at 75 %", interval("noticed", never)),
                Column("100 labels are worth", interval("labels_worth", whole)),
            ),
            keep=lambda _, m: "noticed" in m.numbers.values and not m.column.control,
        ),
    ),
    Table(
        "flickr8k",
        tuple(
            judged(f"dataset=flickr8k_{name} metrics=[bleu,meteor,rouge_l,cider,spice] controls=[]")
            for name in ("expert", "cf")
        ),
        metric_table(
            COMPOSITE_TAU,
            tuple(
                Column(title, cell, run)
                for run, name, key in (
                    (0, "Expert τ-c", COMPOSITE_TAU),
                    (1, "CF τ-b", "kendall_tau_b"),
                )
                for title, cell in (
                    (name, value(key, lambda tau: times_100(tau, 3))),
                    ("published", published(key)),
                )
            ),
            keep=lambda _, metric: metric.name in FLICKR8K,
        ),
    ),
    Table(
        "composite",
        (*parsed("dataset=composite"), judged("dataset=composite metrics=[spice] controls=[]")),
        metric_table(
            lambda run: f"{COMPOSITE_TAU}_{composite_views(run)[-1]}",
            composite,
            keep=lambda run, m: any(is_complete(run, m, view) for view in composite_views(run)),
        ),
    ),
    Table(
        "composite-coco",
        parsed("dataset=composite dataset.subsets=[coco]"),
        metric_table(
            common_key,
            common_captions,
            keep=lambda run, metric: common_key(run) in metric.numbers.values,
        ),
    ),
    Table("pascal50s-direct", parsed(f"{PASCAL}direct"), choices),
    Table("pascal50s-consensus", parsed(f"{PASCAL}consensus"), choices),
    Table("thumb", parsed("dataset=thumb"), metric_table(first_quoted, ratings, parts=True)),
    Table(
        "thumb-machines",
        parsed("dataset=thumb"),
        metric_table(lambda run: next(iter(machine_keys(run).values())), machines),
        show=False,
    ),
    Table(
        "capeval1k",
        parsed(
            "dataset=table dataset.name=CapEval1k dataset.image_source=coco "
            "dataset.file=${METAEVAL_DATA}/capeval1k/capeval1k_decoded_939.jsonl"
        ),
        metric_table(first_quoted, ratings, parts=True),
    ),
)

# experiment=pairs


def comparisons(run: MeasuredResult) -> list[str]:
    return list(dict.fromkeys(entry["comparison"] for entry in run.extra("accuracies").records))


def pairs_of(run: MeasuredResult) -> dict[str, int]:
    """Kind → pairs, as many as the column with the most scores has."""
    table = run.extra("accuracies").frame()
    counts = table[~table["kind"].isin([MEAN, SHOWN])].groupby("kind", sort=False)["n"].max()
    return {str(kind): int(n) for kind, n in counts.items()}


def of_accuracies(kind: str, column: str) -> Cell:
    """A number of the first comparison, of a kind of pair or over kinds."""

    def cell(run: MeasuredResult, metric: MetricResult) -> str:
        for entry in run.extra("accuracies").records:
            if entry["metric"] == metric.name and entry["kind"] == kind:
                return times_100(entry[column])
        return "–"

    return cell


def pair_columns(run: MeasuredResult) -> list[Column]:
    """Accuracy by kind, and the share of ties."""
    return [
        Column("mean", of_accuracies(MEAN, "accuracy")),
        Column("mean of shown", of_accuracies(SHOWN, "accuracy")),
        *(
            Column(f"{kind} ({n:,})", of_accuracies(kind, "accuracy"))
            for kind, n in pairs_of(run).items()
        ),
        Column("ties", of_accuracies(MEAN, "ties")),
    ]


def triplet_columns(run: MeasuredResult) -> list[Column]:
    """The means of the three comparisons, and the second one by kind."""
    names = comparisons(run)
    means = [Column(name, value(measure_key(name), times_100)) for name in names]
    kinds = [
        Column(f"{kind} ({n:,})", value(measure_key(names[1], kind), times_100))
        for kind, n in pairs_of(run).items()
    ]
    return [*means, *kinds]


EDITED = "metrics=[bleu,meteor,rouge_l,cider,bertscore,faier,tiger,vifidel,chair,controls]"


def edit_columns(run: MeasuredResult) -> list[Column]:
    """All pairs, those of equal length, those of which Length is right in half, and each edit."""
    same, first = "accuracy_equal_length", comparisons(run)[0]
    n = max(m.numbers[same].n or 0 for m in run.metrics if m.ok and same in m.numbers.values)
    kinds = [
        Column(f"{kind} ({n:,})", interval(measure_key(first, kind)), 1)
        for kind, n in pairs_of(run).items()
    ]
    return [
        Column("all", interval(measure_key(first)), 0),
        Column(f"within one word ({n:,})", interval(same), 0),
        Column("Length balanced", of_accuracies(MEAN, "refined_accuracy"), 0),
        *kinds,
    ]


def compared(dataset: str, more: str = "") -> tuple[str, ...]:
    return (f"-m metaeval experiment=pairs dataset={dataset} metric.spice.parser=perceptron{more}",)


PAIR_TABLES = (
    *(
        Table(
            name,
            compared(name, more),
            metric_table(lambda r: measure_key(comparisons(r)[0]), pair_columns),
        )
        for name, more in (
            ("sugarcrepe", ""),
            ("valse", ""),
            ("discourse_foil", " metrics=[rule_based,bertscore,length,bigram_model,longest_copy]"),
        )
    ),
    Table(
        "sugarcrepe_pp",
        compared("sugarcrepe_pp"),
        metric_table(lambda run: measure_key(comparisons(run)[-1]), triplet_columns),
    ),
    Table(
        "reformulations",
        tuple(
            f"-m metaeval experiment=pairs dataset=reformulations {option} {EDITED}"
            for option in ("task.refine=Length", "dataset.by_edit=true")
        ),
        metric_table("accuracy_equal_length", edit_columns),
    ),
    Table("metric-usage", ("-m benchmarks.numbers.usage",), quick=True),
    Table("language-model", ("-m research.models.blind",)),
    Table("detector", ("-m research.models.detector",)),
)

# experiment=sensitivity

FLUENCY = "Bigram model per word"  # the control shown next to each metric
PROFILE = "-m metaeval experiment=sensitivity dataset=coco_val2017 metric.spice.parser=perceptron"
SOME = "-m metaeval experiment=sensitivity task.images=500 dataset="
SEEN_BY_NETWORKS = (
    f"{SOME}coco_val2017 "
    "metrics=[bertscore,faier,faier_noref,faier_corruptions,tiger,scan,vifidel,bigram_model]"
)
# page of a metric → the command, and the columns in its table; pages share the commands
SEES = {
    SEEN_BY_NETWORKS: {
        "faier": (
            "FAIEr (gold objects)",
            "FAIEr (gold objects, no references)",
            "FAIEr (gold objects, trained on corruptions)",
        ),
    },
    f"{SOME}scenes metrics=[clipscore,refclipscore,bigram_model]": {
        "clipscore": ("CLIPScore (scenes)", "RefCLIPScore (scenes)"),
    },
}


def sees(columns: Sequence[str]) -> Write:
    """What a metric sees: mean AUC of each kind of change, harmless ones last; a column a metric,
    and the fluency control."""

    def write(results: Sequence[Result]) -> str:
        run = results[0].read()
        metrics = [run.metric(name) for name in dict.fromkeys([*columns, FLUENCY])]
        sets = [entry for entry in run.extra(SETS).records if not entry["experimental"]]
        titles = ["the caption, against one with changed …", "changes"]
        lines = head(*titles, *(f"*{m.name}*" if m.name == FLUENCY else m.name for m in metrics))
        rows = [
            ("a harmless rewrite, against a false near-copy", "", "hard_positives"),
            ("a change of less than two words, against one", "", "no_ops"),
        ]
        for kind in reversed(KINDS):
            n = sum(entry["kind"] == kind for entry in sets)
            title = "*nothing of its meaning (harmless)*" if kind == "harmless" else kind
            if n:
                rows.insert(0, (title, str(n), f"kind_{kind}"))
        for title, count, key in rows:
            lines.append(row(title, count, *(three(m.numbers.value(key)) for m in metrics)))
        return "\n".join(lines)

    return write


def made_kinds(run: MeasuredResult) -> list[Column]:
    """The kinds of harmful changes that occur."""
    sets = run.extra(SETS).records
    made = {entry["kind"] for entry in sets if entry["n_applied"] and not entry["experimental"]}
    return [Column(kind, value(f"kind_{kind}")) for kind in KINDS[:-1] if kind in made]


def undecided(expected: str) -> Cell:
    """Of how many harmful ("lower") or harmless ("same") sets no verdict is sure."""

    def cell(run: MeasuredResult, metric: MetricResult) -> str:
        sets = {e["set"] for e in run.extra(SETS).records if e["expected"] == expected}
        profile = [c for c in run.extra(PROFILE_CELLS).records if c["metric"] == metric.name]
        return str(sum(c["verdict"] == "unsure" and c["set"] in sets for c in profile))

    return cell


SENSITIVITY_TABLES = (
    *(
        Table(f"sees-{page}", (command,), sees(columns))
        for command, pages in SEES.items()
        for page, columns in pages.items()
    ),
    Table(
        "sensitivity-metrics",
        (PROFILE,),
        metric_table(
            "mean_auc",
            (
                Column("harm", value("mean_auc")),
                Column("harmless", value("harmless")),
                Column("milder above severer", value("severity_order")),
                Column("rewrite above near-copy", interval("hard_positives", three)),
                Column("no-op", value("no_ops")),
                Column("misses", value("missed", whole)),
                Column("undecided: harm", undecided("lower")),
                Column("harmless", undecided("same")),
            ),
        ),
    ),
    Table("sensitivity-kinds", (PROFILE,), metric_table("mean_auc", made_kinds)),
    Table("corruptions-second", ("-m research.corruption_audit second",)),
    Table("corruptions-made", ("-m research.corruption_audit table",)),
)

# other experiments

TRUST = "-m metaeval experiment=trust"
CAPTIONED_BY = (
    "CIDEr",
    "METEOR",
    "FAIEr (gold objects)",
    "TIGEr (gold objects)",
    "VIFIDEL (gold objects)",
)


KNOWN = (  # the metrics of README's table
    *("BLEU-4", "METEOR", "ROUGE-L", "CIDEr", "SPICE (rules)", "BERTScore (MiniLM)"),
    *("FAIEr (gold objects)", "TIGEr (gold objects)", "VIFIDEL (gold objects)", "FLEUR"),
)

ACROSS = 6  # uses next to each other, in a window of 830 pixels


def trust_uses(results: Sequence[Result]) -> str:
    """The answer in one look: ten metrics, and what each use rests on."""
    result = results[0].read()
    uses = [use for use in result.extra("uses").records if use["tests"]]
    rows = [
        {**each, "metric": each["metric"].removesuffix(" (gold objects)")}
        for each in matrix_rows(result)
        if each["metric"] in KNOWN
    ]
    lines = ["```"]
    for first in range(0, len(uses), ACROSS):
        ids = ("metric", *(use["id"] for use in uses[first : first + ACROSS]))
        lines += [*text_table([{name: each[name] for name in ids} for each in rows], ""), ""]
    lines[-1:] = ["```", ""]
    lines += [f"- **{use['id']}**: {use['use']} ({size_of(use)})" for use in uses]
    return "\n".join([*lines, "", *_without_tests(result)])


def _without_tests(result: MeasuredResult) -> list[str]:
    """Which uses have no test that counts, and which no test at all."""
    uses = [use for use in result.extra("uses").records if not use["tests"]]
    groups = {
        "No test counts": [use["use"] for use in uses if not use["why"]],
        "Not tested": [use["use"] for use in uses if use["why"]],
    }
    return [f"{title}: {'; '.join(several)}." for title, several in groups.items() if several]


def trust_matrix(results: Sequence[Result]) -> str:
    """A row a metric, a column a use: rank, in how many tests it is above every control, and
    skill, bold where it is shown; what each use rests on, and how robust the words are."""
    result = results[0].read()
    uses = result.extra("uses").records
    tested = [use["id"] for use in uses if use["tests"]]
    lines = [row("", *tested), "|---|" + ":---:|" * len(tested)]
    rows: dict[str, dict[str, str]] = {}
    for cell in result.extra("cells").records:
        bold = "**" if cell["word"] == "shown" else ""
        text = "–"
        if cell["tests"] and cell["skill"] is not None:
            text = f"{cell_text(cell).rstrip('*')} {bold}{two(cell['skill'])}{bold}"
        rows.setdefault(cell["metric"], {})[cell["use"]] = text
    lines += [
        row(metric, *(of.get(use, "–") for use in tested))
        for metric, of in rows.items()
        if any(of.get(use, "–") != "–" for use in tested)
    ]
    heads = ("use", "tests", "n", "judged by", "rank 1", "hardest control")
    lines += ["", row(*heads), "|---|---:|---|---|---|---|"]
    lines += [row(*(str(use[h] or "–") for h in heads)) for use in uses if use["tests"]]
    others = [
        f"{one['metric']} is {one['outcome']} than {one['against']}"
        if one["outcome"] != "not separated"
        else f"{one['metric']} is not separated from {one['against']}"
        for one in result.extra("others").records
        if one["use"] == "choose the better of two captions"
    ]
    changed = "; ".join(
        f"{one['change']} {one['words']}/{one['of']}" for one in result.extra("robustness").records
    )
    after = [*_without_tests(result)]
    after += [f"On other tests, to choose the better: {'; '.join(others)}."] if others else []
    after.append(f"Words that change: {changed}.")
    after.append(f"On {result.dataset}.")
    missing = [i["item"] for i in result.extra("items").records if i["status"] == "missing"]
    after += [f"Missing: {', '.join(missing)}."] if missing else []
    return "\n".join([*lines, "", " ".join(after)])


def two(number: float) -> str:
    return f"{number:.2f}".replace("-", "−")


def captioners(results: Sequence[Result]) -> str:
    """Rank-order ρ of each captioner (lower level) against Human, all on the same images: those
    of which every metric shown scores Human's caption and that of every captioner."""
    scores = pd.read_parquet(results[0].folder / files.AGAINST_HUMAN / files.SCORES)
    shown = scores[scores["metric"].isin(CAPTIONED_BY)]
    table = shown.pivot_table(index="image_id", columns=["metric", "set"], values="score").dropna()

    def rho(metric: str, name: str) -> float:
        return rank_order(table[metric][[name, "Human"]].to_numpy(), [0, 1]).rho

    names = [name for name in shown["set"].unique() if name != "Human"]
    names.sort(key=lambda name: rho("CIDEr", name))
    lines = head(f"ρ against Human, n = {len(table):,}", *names)
    lines += [row(m, *(three(rho(m, name)) for name in names)) for m in CAPTIONED_BY]
    return "\n".join(lines)


def equal_length(results: Sequence[Result]) -> str:
    """Each score's ranks of captioners, shortest captions first: as they are → at equal length;
    and Spearman's ρ of the metric with people on the systems of 2015, where it is known."""
    run, people = (result.read() for result in results)
    rows = {(r["metric"], r["system"]): r for r in run.extra("equal_length").records}
    words = {system: r["words"] for (_, system), r in rows.items()}
    systems = sorted(words, key=lambda system: words[system])
    of_2015 = {m.name: three(m.numbers.value("spearman_M2")) for m in people.metrics}
    lines = head(
        "rank → at equal length (words)",
        *(f"{system} ({words[system]:.1f})" for system in systems),
        *("words twice", "r²", "ρ with people in 2015"),
    )
    for metric in dict.fromkeys(metric for metric, _ in rows):
        ranks = []
        for system in systems:
            if (cell := rows.get((metric, system))) is None:
                ranks.append("–")
                continue
            ranks.append(f"{cell['rank']:g} → {cell['rank_at_equal_length']:g}")
            line = [three(cell["per_doubling"]), three(cell["r2"])]
        lines.append(row(metric, *ranks, *line, of_2015.get(metric.partition(" (")[0], "–")))
    leverage = {system: three(r["leverage"]) for (_, system), r in rows.items()}
    lines.append(row("*leverage*", *map(leverage.__getitem__, systems), "", "", ""))
    return "\n".join(lines)


# every system of the four papers

SYSTEMS = yaml.safe_load(Path(__file__).with_name("systems.yaml").read_text(encoding="utf-8"))
OF_PAPERS = (
    "bleu,sacrebleu,meteor,rouge_l,cider,spice,bertscore,tiger,scan,faier,faier_1,faier_4,"
    "faier_rel,fier,aier,fier_aier,vifidel"
)
ADDED = "chrf,ter,rouge_n,cider_plain,cider_r,wmd,moverscore,lm"
GROUNDED = "vifidel_lm,vifidel_cider,learn_to_eval,chair"
ALL = f"[{OF_PAPERS},{ADDED},{GROUNDED}]"
# of val2017 the first images: all systems together on all would take hours; SPICE's own parser
# takes an hour, and intervals are not shown
ON_300 = both(ALL, "dataset.limit=300 metric.spice.parser=perceptron stats.replicates=100")
ON_PASCAL = f"[bleu,meteor,rouge_l,cider,{ADDED},learn_to_eval,aier]"
BY_PASCAL = judged(
    "dataset=pascal50s dataset.draws=1 dataset.limit=250 stats.replicates=100 "
    f"metrics={ON_PASCAL} metric={ON_PASCAL} "
    "metric.learn_to_eval.variant=text"
)
BY_COMPOSITE = judged(
    "dataset=composite dataset.subsets=[coco] report=none stats.replicates=100 "
    f"metric.spice.parser=perceptron metrics={ALL}"
)


def chosen(category: str) -> Cell:
    """How often a metric chooses as most people did between captions of a kind of PASCAL-50S."""
    return lambda run, m: value(dict(choice_measures(run))[category], times_100)(run, m)


def with_count(key: str) -> Cell:
    """A correlation, and over how many captions."""
    return lambda _, m: f"{three(m.numbers.value(key))} ({m.numbers[key].n:,})"


def printed_by(paper: str, *places: tuple[str, str]) -> dict[str, float]:
    """Name of a system → the value that the paper prints for it; places are items and cells, and
    the first that has a system counts."""
    values: dict[str, float] = {}
    for item, cell in places:
        for name, cells in cells_of(paper, item).items():
            if cell in cells:
                values.setdefault(name, cells[cell])
    return values


def systems(results: Sequence[Result]) -> str:
    """Each system: ρ on both experiments, accuracy on PASCAL-50S and agreement with people on
    Composite's COCO images, with the published values."""
    runs = [result.read() for result in results]
    printed_mm = printed_by("madhyastha2019vifidel", ("table1", "5"), ("table1", "0"))
    printed_composite = printed_by(
        "madhyastha2019vifidel", ("table2", "5"), ("table2", "0"), ("table3-detected", "Relevance")
    ) | printed_by(
        "wang2021faier",
        ("table1-composite", "spearman"),
        ("table1-composite-regions", "spearman"),
        ("table4", "spearman"),
    )
    printed_rho = [values_of(PAPER, name) for name in BOTH]
    lines = head(
        "system", "papers", "metrics=", "Replace ρ", "published", "Shuffle ρ", "published",
        "PASCAL-50S MM", "published", "Composite-COCO ρ (captions)", "published", "note",
    )  # fmt: skip

    def shown(run: MeasuredResult, column: str, cell: Callable[..., str]) -> str:
        metric = next((m for m in run.metrics if m.ok and m.name == column), None)
        return "–" if metric is None else cell(run, metric)

    for name, system in SYSTEMS.items():
        column = system.get("column", "")
        cells = [name, system["papers"], f"`{system['metric']}`" if "metric" in system else "–"]
        for run, papers in zip(runs, printed_rho, strict=False):
            cells.append(shown(run, column, value(POOLED)))
            cells.append(three(papers[name]) if name in papers else "none")
        printed = system.get("printed", column.partition(" (")[0] or name)
        cells.append(shown(runs[2], system.get("pascal", column), chosen("MM")))
        cells.append(f"{100 * printed_mm[printed]:.0f}" if printed in printed_mm else "none")
        cells.append(shown(runs[3], column, with_count("spearman")))
        published = printed_composite.get(printed)
        cells.append("none" if published is None else three(published))
        lines.append(row(*cells, system.get("note", "")))
    return "\n".join(lines)


PUBLISHED = ",".join(
    (
        *(
            f"hessel2021clipscore/{name}"
            for name in ("flickr8k-expert", "flickr8k-cf", "composite")
        ),
        "kasai2022thumb/machines",
        "jiang2019tiger/table2-all",
    )
)


def published_values(results: Sequence[Result]) -> str:
    """A row a metric, a column a benchmark: printed, ours, ✓; below, why a value is missing or
    differs."""
    run = results[0].read()
    rows = {each["metric"]: each for each in run.extra(OVERVIEW).records}
    titles = [name for name in next(iter(rows.values())) if name not in ("metric", NEEDS)]
    lines = head("printed, ours", *titles)
    for name, each in rows.items():
        cells = (each[title].replace("✓ within", "(✓)") for title in titles)
        lines.append(row(name, *(cell.replace("other model", "°") for cell in cells)))
    reasons: dict[str, dict[str, None]] = {}
    for each in run.extra("values").records:
        if each["metric"] in rows and each["verdict"] in ("differs", "not run"):
            reason = re.sub("; looked in [^;]*", "", each["reason"])
            reasons.setdefault(reason, {})[each["metric"]] = None
    notes = [f"- {', '.join(names)}: {reason}" for reason, names in reasons.items()]
    return "\n".join([*lines, "", *notes])


OTHER_TABLES = (
    Table(
        "published",
        (f"-m metaeval experiment=reproduce 'reproduce.items=[{PUBLISHED}]'",),
        published_values,
    ),
    Table("searches", ("-m benchmarks.numbers.searches",)),
    Table(
        "coco2015",
        ("-m metaeval experiment=systems dataset=coco2015 dataset.human=[M2]",),
        metric_table(
            "pearson_M2",
            lambda run: [
                Column(m.title, interval(m.key, three))
                if m.key == "pearson_M2"
                else Column(m.title, value(m.key, p_value if m.unit == "p" else three))
                for m in run.declared
            ],
        ),
    ),
    Table("trust-uses", (TRUST,), trust_uses, show=False),
    Table("trust-matrix", (TRUST,), trust_matrix),
    Table(
        "captioners",
        (
            "-m metaeval experiment=captioners dataset=coco_karpathy_test "
            "dataset.exclude=val2017 captions=${METAEVAL_DATA}/coco/captioners "
            "metrics=[cider,meteor,faier,tiger,vifidel] controls=[]",
        ),
        captioners,
    ),
    Table(
        "equal-length",
        (
            "-m metaeval experiment=captioners dataset=coco_karpathy_test dataset.exclude=val2017 "
            "captions=[${METAEVAL_DATA}/coco/captioners,${METAEVAL_DATA}/coco/captioners_vlm,"
            "${METAEVAL_DATA}/coco/captioners_2023] "
            "metrics=[bleu,meteor,rouge_l,cider,faier,tiger,vifidel,chair] controls=[]",
            "-m metaeval experiment=systems dataset=coco2015 dataset.human=[M2]",
        ),
        equal_length,
    ),
    Table("systems", (*ON_300, BY_PASCAL, BY_COMPOSITE), systems, show=False),
    Table(
        "systems-added",
        (*ON_300, BY_PASCAL),
        metric_table(
            POOLED,
            (
                Column("Replace ρ", value(POOLED), 0),
                Column("within", value(WITHIN), 0),
                Column("Shuffle ρ", value(POOLED), 1),
                Column("within", value(WITHIN), 1),
                *(Column(name, chosen(name), 2) for name in ("HC", "HI", "HM", "MM")),
            ),
            keep=lambda run, metric: (
                POOLED in metric.numbers.values
                and metric.family in (*ADDED.split(","), *GROUNDED.split(","))
            ),
        ),
    ),
    Table("speed", ("-m benchmarks.scale.rates",)),
)

TABLES = (
    *GRADED_TABLES,
    *JUDGMENT_TABLES,
    *PAIR_TABLES,
    *SENSITIVITY_TABLES,
    *OTHER_TABLES,
    *FINDING_TABLES,
)
