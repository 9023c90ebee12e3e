"""The tables of experiment=replace and shuffle: the three measures, controls, seeds, hypotheses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.numbers.tables import Command, Result, Table
from metaeval.runs import files
from metaeval.stats.correlation.rank_order import by_equation_12
from reports.graded.ranking import paper_distance

Record = Mapping[str, Any]

RULES = "[bleu,sacrebleu,meteor,rouge_l,cider,controls]"


def graded(experiment: str, metrics: str = RULES, more: str = "") -> Command:
    """experiment=replace or shuffle on val2017."""
    line = f"-m metaeval experiment={experiment} dataset=coco_val2017 metrics={metrics}"
    return Command(f"{line} {more}".strip())


REPLACE, SHUFFLE = graded("replace"), graded("shuffle")
NETWORKS = "[bertscore,faier,faier_noref,tiger,vifidel]"
ALL_SEEDS = "corruption.reseeded=[rule_based,controls]"
SEEDED = "[bleu,sacrebleu,meteor,rouge_l,cider,controls]"


class Run(NamedTuple):
    """What a table reads of a run: its records by column, and what was published."""

    records: dict[str, Record]
    published: Mapping[str, float]


def read(result: Result) -> Run:
    """The records of the columns that ran; no parts of others."""
    statistics = files.read_json(result.folder / files.STATISTICS)
    published = files.read_json(result.folder / files.RUN)["published"] or {}
    return Run(
        {
            r["metric"]: r
            for r in statistics["metrics"]
            if r["status"] == "ok" and r["part_of"] is None
        },
        published.get("rank_order_rho", {}) if published.get("comparable") else {},
    )


def best_first(run: Run) -> list[Record]:
    """Metrics by pooled ρ, the best first, then controls."""
    return sorted(run.records.values(), key=lambda r: (r["control"], -r["rank_order_rho"]))


def three(value: float | None) -> str:
    """Three places, without the zero before the point: .128."""
    if value is None or value != value:
        return "–"
    text = f"{abs(value):.3f}"
    sign = "−" if value < 0 and text != "0.000" else ""
    return sign + (text[1:] if text.startswith("0") else text)


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def head(*names: str) -> list[str]:
    """The head of a table: the first column to the left, numbers to the right."""
    return [row(*names), f"|---|{'---:|' * (len(names) - 1)}"]


def title(record: Record) -> str:
    """A column's name; controls in italics, which are no metrics."""
    return f"*{record['metric']}*" if record["control"] else str(record["metric"])


def measures(record: Record) -> list[str]:
    """Pooled ρ, ρ within an image, pairwise accuracy."""
    names = ("rank_order_rho", "rank_order_rho_within", "pairwise_accuracy")
    return [three(record[name]) for name in names]


def both_experiments(results: Sequence[Result]) -> str:
    """Replace and Shuffle side by side, the published values beside the pooled ones."""
    replace, shuffle = map(read, results)
    columns = ("ρ", "published", "within", "pairs")
    names = [f"{e} {c}" if c == "ρ" else c for e in ("Replace", "Shuffle") for c in columns]
    lines = head("", *names)
    for record in best_first(replace):
        cells = [title(record)]
        for run in (replace, shuffle):
            pooled, within, pairs = measures(run.records[record["metric"]])
            cells += [pooled, published(run, record["metric"]), within, pairs]
        lines.append(row(*cells))
    return "\n".join(lines)


def published(run: Run, metric: str) -> str:
    return three(run.published[metric]) if metric in run.published else ""


def of_shuffle(results: Sequence[Result]) -> str:
    """The measures on Shuffle, and how much of the scores' variance is offset between images."""
    (run,) = map(read, results)
    lines = head("", "pooled ρ", "ρ within", "pairwise", "all in order", "variance between images")
    for record in best_first(run):
        share = record["variance"]["image"]
        percent = ">99 %" if share > 0.995 else f"{100 * share:.0f} %"
        lines.append(row(title(record), *measures(record), three(record["monotone_rate"]), percent))
    return "\n".join(lines)


def of_replace(results: Sequence[Result]) -> str:
    """The measures on Replace, with and without the Random captions."""
    (run,) = map(read, results)
    lines = head(
        "", "pooled ρ", "ρ within", "pairwise", "pooled without Random", "within without Random"
    )
    for record in best_first(run):
        degrees = record["without_floor"]
        rest = [three(degrees[f"rank_order_rho{which}"]) for which in ("", "_within")]
        lines.append(row(title(record), *measures(record), *rest))
    return "\n".join(lines)


def of_seeds(results: Sequence[Result]) -> str:
    """Means over seeds, components of the spread, and the distance of the published values."""
    lines = head("", "mean over 5 seeds", "image", "seed", "ties", "published", "distance in sd")
    for name, result in zip(("Replace", "Shuffle"), results, strict=True):
        run = read(result)
        lines.append(row(f"**{name}**", *[""] * 6))
        for record in best_first(run):
            if (value := run.published.get(record["metric"])) is None or not record["seeds"]:
                continue
            parts = record["seeds"]["components"]
            distance = paper_distance(record, value)
            lines.append(
                row(
                    record["metric"],
                    three(record["seeds"]["rank_order_rho"]["mean"]),
                    *(f"{1000 * (parts[part] or 0.0):.1f}" for part in ("image", "seed", "ties")),
                    three(value),
                    "–" if distance is None else f"{distance:+.1f}".replace("-", "−"),
                )
            )
    return "\n".join(lines)


def equation_12(results: Sequence[Result]) -> str:
    """ρ by levels, and by the paper's Eq. 12 on midranks, beside the published values."""
    run = read(results[0])
    lines = head("Replace", "published", "by levels", "Eq. 12 on midranks")
    for record in best_first(run):
        if (value := run.published.get(record["metric"])) is None:
            continue
        rho = record["rank_order_rho"]
        literal = by_equation_12(rho, record["n"], len(record["sets"]))
        lines.append(row(record["metric"], three(value), three(rho), three(literal)))
    return "\n".join(lines)


def printed(results: Sequence[Result]) -> str:
    """The Markdown that a benchmark prints."""
    return results[0].printed


TABLES = (
    Table("rule-based", (REPLACE, SHUFFLE), both_experiments, quick=True),
    # on its own: its parser takes an hour where no sentence is in the cache
    Table("spice", tuple(graded(e, "[spice]") for e in ("replace", "shuffle")), both_experiments),
    Table("shuffle", (SHUFFLE,), of_shuffle, quick=True),
    Table("replace", (REPLACE,), of_replace, quick=True),
    Table("equation-12", (REPLACE,), equation_12, quick=True, show=False),
    Table(
        "seeds",
        tuple(graded(e, SEEDED, ALL_SEEDS) for e in ("replace", "shuffle")),
        of_seeds,
    ),
    Table(
        "published-gaps",
        (
            Command(
                "-m benchmarks.numbers.published_gaps BLEU-1 BLEU-2 SacreBLEU ROUGE-L --seeds 3"
            ),
        ),
        printed,
    ),
    Table(
        "published-gaps-meteor",  # nltk's METEOR: 20 minutes
        (Command("-m benchmarks.numbers.published_gaps METEOR --seeds 2"),),
        printed,
    ),
)
