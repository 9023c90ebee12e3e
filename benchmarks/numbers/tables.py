"""All tables of README.md and docs/ that `make numbers` writes."""

import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import yaml

from benchmarks.numbers.documents import Result, Table, printed_as_text
from benchmarks.numbers.findings import FINDING_TABLES
from benchmarks.numbers.writing import (
    Write,
    controls_in_italics,
    head,
    markdown,
    row,
    run_tables,
)
from metaeval.experiments.graded.task import PAPER
from metaeval.experiments.printout import text_table
from metaeval.papers.expected import cells_of, values_of
from metaeval.reproduce.compare import NEEDS
from metaeval.reproduce.task import OVERVIEW
from metaeval.results.graded import MEASURES
from metaeval.results.measured import SETS, MeasuredResult
from metaeval.results.trust import cell_text, matrix_rows, size_of

# experiment=replace and shuffle

POOLED, WITHIN, PAIRWISE = MEASURES
BOTH = ("replace", "shuffle")
RULES = "[bleu,sacrebleu,meteor,rouge_l,cider,controls]"


def graded(experiment: str, metrics: str, more: str = "", dataset: str = "coco_val2017") -> str:
    """experiment=replace or shuffle."""
    line = f"-m metaeval experiment={experiment} dataset={dataset} metrics={metrics}"
    return f"{line} {more}".strip()


def both(metrics: str, more: str = "") -> tuple[str, ...]:
    return tuple(graded(experiment, metrics, more) for experiment in BOTH)


def of_shuffle(results: Sequence[Result]) -> str:
    """The measures, and how much of the scores' variance is offset between images."""
    run = results[0].read()
    table = run.table().dropna(subset=POOLED).sort_values(POOLED, ascending=False)
    columns = ["metric", *MEASURES, "monotone_rate", "variance_image"]
    return controls_in_italics(run, markdown(table[columns]))


def by_equation_12(rho: float, n: int, k: int) -> float:
    """What Eq. 12 of the paper, taken literally on midranks, gives where `rank_order` gives ρ.

    1 − 6Σd²/(n(n² − 1)) holds for ranks without ties; here d are the differences of midranks, of
    which n/k are tied at a time (n items, k levels of equal size), and Σd² is
    (1 − ρ)·n(n² − (n/k)²)/6. For the levels 0, 1, 0, 1 in order of score, Eq. 12 gives 0.2, where
    ρ is 0.
    """
    return 1 - (1 - rho) * (n**2 - (n / k) ** 2) / (n**2 - 1)


def equation_12(results: Sequence[Result]) -> str:
    """ρ of the metrics with a published value, and by the paper's Eq. 12 on midranks."""
    run = results[0].read()
    published = {
        name: values[POOLED]
        for source in run.published
        if source.why_not is None
        for name, values in source.values.items()
    }
    table = run.table().sort_values(POOLED, ascending=False)
    table["published"] = table["metric"].map(published)
    table = table.dropna(subset=["published", POOLED])
    table["Eq. 12 on midranks"] = [
        by_equation_12(rho, int(n), len(run.extra(SETS).rows))
        for rho, n in zip(table[POOLED], table["n"], strict=True)
    ]
    return markdown(table[["metric", "published", POOLED, "Eq. 12 on midranks"]])


def seeds(*columns: str) -> Write:
    """Numbers over seeds of the corruptions, never over training seeds."""

    def write(results: Sequence[Result]) -> str:
        texts = []
        for run in (result.read() for result in results):
            table = run.extra("seeds").frame().reindex(columns=["metric", *columns])
            texts.append(f"{run.experiment}:\n\n{markdown(table)}")
        return "\n\n".join(texts)

    return write


SEEDS = seeds(f"{POOLED}_mean", "sd_image", "sd_seed", "sd_ties", "published", "published_sd")
GRADED_TABLES = (
    Table("rule-based", both(RULES), run_tables(*MEASURES), quick=True),
    # on its own: its parser takes an hour where no sentence is in the cache
    Table("spice", both("[spice]"), run_tables(*MEASURES)),
    Table("shuffle", (graded("shuffle", RULES),), of_shuffle, quick=True),
    Table(
        "replace",
        (graded("replace", RULES),),
        run_tables(*MEASURES, extras={"degrees": ("metric", POOLED, WITHIN)}),
        quick=True,
    ),
    Table("equation-12", (graded("replace", RULES),), equation_12, quick=True, show=False),
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
        seeds(*(f"{measure}_{name}" for measure in (POOLED, WITHIN) for name in ("mean", "sd"))),
    ),
    Table("scenes-captions", ("-m research.scenes.statistics",), quick=True),
    Table(
        "scenes-orders",
        tuple(graded(e, RULES, dataset=d) for e in BOTH for d in ("scenes", "coco_val2017")),
        run_tables(POOLED, WITHIN),
        quick=True,
    ),
)

# experiment=judgments

COMPOSITE_TAU = "kendall_tau_c"  # Composite has one dimension: correctness
PASCAL = "-m metaeval experiment=forced_choice dataset=pascal50s"


def judged(options: str) -> str:
    return f"-m metaeval experiment=judgments {options}"


def parsed(options: str) -> tuple[str, ...]:
    return (judged(f"{options} metric.spice.parser=perceptron"),)


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
        run_tables("labels_worth", "noticed"),
    ),
    Table(
        "flickr8k",
        tuple(
            judged(f"dataset=flickr8k_{name} metrics=[bleu,meteor,rouge_l,cider,spice] controls=[]")
            for name in ("expert", "cf")
        ),
        run_tables(),
    ),
    Table(
        "composite",
        (*parsed("dataset=composite"), judged("dataset=composite metrics=[spice] controls=[]")),
        run_tables(f"{COMPOSITE_TAU}*"),
    ),
    Table(
        "composite-coco",
        parsed("dataset=composite dataset.subsets=[coco]"),
        run_tables(f"{COMPOSITE_TAU}_common"),
    ),
    *(
        Table(
            f"pascal50s-{labels}",
            (f"{PASCAL} dataset.labels={labels} metric.spice.parser=perceptron",),
            run_tables("agreement_5*"),
        )
        for labels in ("direct", "consensus")
    ),
    Table("thumb", parsed("dataset=thumb"), run_tables()),
    Table(
        "thumb-machines",
        parsed("dataset=thumb"),
        run_tables("pearson_without Human*"),
        show=False,
    ),
    Table(
        "capeval1k",
        parsed(
            "dataset=table dataset.name=CapEval1k dataset.image_source=coco "
            "dataset.file=${METAEVAL_DATA}/capeval1k/capeval1k_decoded_939.jsonl"
        ),
        run_tables(),
    ),
)

# experiment=pairs

TRUE_FALSE = "accuracy_true___false"  # the first comparison
EDITED = "metrics=[bleu,meteor,rouge_l,cider,bertscore,faier,tiger,vifidel,chair,controls]"


def compared(dataset: str, more: str = "") -> tuple[str, ...]:
    return (f"-m metaeval experiment=pairs dataset={dataset} metric.spice.parser=perceptron{more}",)


PAIR_TABLES = (
    *(
        Table(name, compared(name, more), run_tables(TRUE_FALSE, extras={"kinds": ()}))
        for name, more in (
            ("sugarcrepe", ""),
            ("valse", ""),
            ("discourse_foil", " metrics=[rule_based,bertscore,length,bigram_model,longest_copy]"),
        )
    ),
    Table(
        "sugarcrepe_pp",
        compared("sugarcrepe_pp"),
        run_tables(
            TRUE_FALSE,
            "accuracy_paraphrase___false",
            "accuracy_both",
            extras={"kinds_paraphrase___false": ()},
        ),
    ),
    Table(
        "reformulations",
        tuple(
            f"-m metaeval experiment=pairs dataset=reformulations {option} {EDITED}"
            for option in ("task.refine=Length", "dataset.by_edit=true")
        ),
        run_tables(f"{TRUE_FALSE}*", "accuracy_equal_length", extras={"refined": ()}),
    ),
    Table("metric-usage", ("-m research.metric_usage",), quick=True),
    Table("language-model", ("-m research.models.blind",)),
    Table("detector", ("-m research.models.detector",)),
)

# experiment=sensitivity

PROFILE = "-m metaeval experiment=sensitivity dataset=coco_val2017 metric.spice.parser=perceptron"
SOME = "-m metaeval experiment=sensitivity task.images=500 dataset="
# page of a metric → the command of what it sees, next to the fluency control
SEES = {
    "faier": f"{SOME}coco_val2017 metrics=[faier,faier_noref,faier_corruptions,bigram_model]",
    "clipscore": f"{SOME}scenes metrics=[clipscore,refclipscore,bigram_model]",
}
SEEN = ("mean_auc", "harmless", "severity_order", "hard_positives", "no_ops", "missed")
SENSITIVITY_TABLES = (
    *(
        Table(f"sees-{page}", (command,), run_tables(*SEEN, extras={"kinds": ()}))
        for page, command in SEES.items()
    ),
    Table("sensitivity-metrics", (PROFILE,), run_tables(*SEEN)),
    Table("sensitivity-kinds", (PROFILE,), run_tables(extras={"kinds": ()})),
    Table("corruptions-second", ("-m research.corruption_audit second",)),
    Table("corruptions-made", ("-m research.corruption_audit table",)),
)

# other experiments

TRUST = "-m metaeval experiment=trust"
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


USES = ("use", "tests", "n", "judged by", "rank 1", "hardest control")  # what a use rests on


def trust_matrix(results: Sequence[Result]) -> str:
    """A row a metric, a column a use: rank, in how many tests it is above every control, and
    skill, bold where it is shown; what each use rests on, and how robust the words are."""
    result = results[0].read()
    lines: dict[str, dict[str, str]] = {}
    for cell in result.extra("cells").records:
        if cell["tests"] and cell["skill"] is not None:
            bold = "**" if cell["word"] == "shown" else ""
            skill = f"{bold}{cell['skill']:.2f}{bold}".replace("-", "−")
            of_metric = lines.setdefault(cell["metric"], {"metric": cell["metric"]})
            of_metric[cell["use"]] = f"{cell_text(cell).rstrip('*')} {skill}"
    tables = {"uses": USES, "others": (), "robustness": ()}
    parts = [markdown(pd.DataFrame(lines.values())), "", *_without_tests(result)]
    missing = [i["item"] for i in result.extra("items").records if i["status"] == "missing"]
    parts += [f"Missing: {', '.join(missing)}."] if missing else []
    return "\n".join([*parts, "", run_tables(extras=tables)(results)])


def equal_length(results: Sequence[Result]) -> str:
    """Each score's ranks of captioners, shortest captions first: as they are → at equal length;
    and Spearman's ρ of the metric with people on the systems of 2015, where it is known."""
    run, people = (result.read() for result in results)
    table = run.extra("equal_length").frame()
    of_system = table.groupby("system")[["words", "leverage"]].first().sort_values("words")
    table["ranks"] = [
        f"{rank:g} → {equal:g}"
        for rank, equal in zip(table["rank"], table["rank_at_equal_length"], strict=True)
    ]
    ranks = table.pivot(index="metric", columns="system", values="ranks")[of_system.index]
    of_metric = table.groupby("metric", sort=False)[["per_doubling", "r2"]].first()
    made = of_metric.join(ranks)[[*of_system.index, *of_metric.columns]].astype(object)
    made.loc["*leverage*"] = of_system["leverage"]
    rho = people.table().set_index("metric")["spearman_M2"]
    made["ρ with people in 2015"] = [rho.get(name.partition(" (")[0]) for name in made.index]
    heads = {s: f"{s} ({words:.1f})" for s, words in of_system["words"].items()}
    shown = made.rename(columns={**heads, "per_doubling": "words twice", "r2": "r²"})
    return markdown(shown.reset_index(names="rank → at equal length (words)"))


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
BY_PASCAL = (
    f"{PASCAL} dataset.draws=1 dataset.limit=250 stats.replicates=100 "
    f"metrics={ON_PASCAL} metric={ON_PASCAL} "
    "metric.learn_to_eval.variant=text"
)
BY_COMPOSITE = judged(
    "dataset=composite dataset.subsets=[coco] report=none stats.replicates=100 "
    f"metric.spice.parser=perceptron metrics={ALL}"
)


def printed_by(paper: str, *places: tuple[str, str]) -> dict[str, float]:
    """Name of a system → the value that the paper prints for it; places are items and cells, and
    the first that has a system counts."""
    values: dict[str, float] = {}
    for item, cell in places:
        for name, cells in cells_of(paper, item).items():
            if cell in cells:
                values.setdefault(name, cells[cell])
    return values


# column of the table → the run of its number, and the measure
MEASURED = {
    "Replace ρ": (0, POOLED),
    "Shuffle ρ": (1, POOLED),
    "PASCAL-50S MM": (2, "agreement_5_MM"),
    "Composite-COCO ρ": (3, "spearman"),
    "captions": (3, "n"),
}


def systems(results: Sequence[Result]) -> str:
    """Each system: ρ on both experiments, accuracy on PASCAL-50S and agreement with people on
    Composite's COCO images, with the published values."""
    tables = [result.read().table().set_index("metric") for result in results]
    vifidel, faier = "madhyastha2019vifidel", "wang2021faier"
    published = {
        "Replace ρ": values_of(PAPER, "replace"),
        "Shuffle ρ": values_of(PAPER, "shuffle"),
        "PASCAL-50S MM": printed_by(vifidel, ("table1", "5"), ("table1", "0")),
        "Composite-COCO ρ": printed_by(
            vifidel, ("table2", "5"), ("table2", "0"), ("table3-detected", "Relevance")
        )
        | printed_by(
            faier,
            ("table1-composite", "spearman"),
            ("table1-composite-regions", "spearman"),
            ("table4", "spearman"),
        ),
    }
    rows = []
    for name, system in SYSTEMS.items():
        column = system.get("column", "")
        printed = system.get("printed", column.partition(" (")[0] or name)
        cells = {"system": name, "papers": system["papers"], "metrics=": system.get("metric")}
        for title, (run, key) in MEASURED.items():
            shown = system.get("pascal", column) if run == 2 else column
            cells[title] = tables[run][key].get(shown)
            if title in published:
                known = published[title].get(name if run < 2 else printed, "none")
                cells[f"{title}, published"] = known
        rows.append({**cells, "note": system.get("note", "")})
    return markdown(pd.DataFrame(rows))


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
    Table(
        "searches",
        ("-m metaeval explain values=benchmarks/numbers/searches.csv",),
        printed_as_text,
    ),
    Table(
        "coco2015",
        ("-m metaeval experiment=systems dataset=coco2015 dataset.human=[M2]",),
        run_tables("*M2*"),
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
        run_tables(extras={"human": ()}),
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
    Table("systems-added", (*ON_300, BY_PASCAL), run_tables(POOLED, WITHIN, "agreement_5_*")),
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
