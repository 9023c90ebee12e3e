"""The tables of experiment=replace and shuffle: the three measures, controls, seeds, hypotheses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.numbers.tables import Command, Result, Table
from metaeval.errors import InputError
from metaeval.results.files import read_info
from metaeval.results.graded import MEASURES, paper_distance, rows_of
from metaeval.results.measured import SETS
from metaeval.results.metric import MetricResult
from metaeval.runs import files
from metaeval.stats.correlation.rank_order import by_equation_12

GradedMetric = MetricResult

EXPERIMENTS = ("graded", "replace", "shuffle", "sample_size")
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
    """The metrics of a run by column, the published values, and rows of its extras by column.

    `seeds` are of the spread over corruption seeds, `degrees` without other images' captions.
    """

    metrics: dict[str, GradedMetric]
    published: Mapping[str, float]
    seeds: Mapping[str, Mapping[str, Any]]
    degrees: Mapping[str, Mapping[str, Any]]
    n_sets: int


def read(result: Result) -> Run:
    """The metrics that ran, without parts."""
    run = result.read()
    if run.experiment not in EXPERIMENTS:
        raise InputError(
            f"is a run of '{run.experiment}', not of graded corruption",
            file=result.folder / files.STATISTICS,
        )
    published = read_info(result.folder / files.RUN).published
    return Run(
        {m.name: m for m in run.metrics if m.ok and m.column.part_of is None},
        published.rank_order_rho if published is not None and published.comparable else {},
        rows_of(run, "seeds"),
        rows_of(run, "degrees"),
        len(run.extra(SETS).rows),
    )


def best_first(run: Run) -> list[GradedMetric]:
    """Metrics by pooled ρ, the best first, then controls."""
    return sorted(
        run.metrics.values(),
        key=lambda m: (m.column.control, -(m.numbers.value("rank_order_rho") or 0.0)),
    )


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


def title_of(metric: GradedMetric) -> str:
    """A column's name; controls in italics, as they are not metrics."""
    return f"*{metric.name}*" if metric.column.control else metric.name


def measures(metric: GradedMetric) -> list[str]:
    """Pooled ρ, ρ within an image, pairwise accuracy."""
    return [three(metric.numbers.value(measure)) for measure in MEASURES]


def both_experiments(results: Sequence[Result]) -> str:
    """Replace and Shuffle side by side, the published values next to the pooled ones."""
    replace, shuffle = map(read, results)
    columns = ("ρ", "published", "within", "pairs")
    names = [f"{e} {c}" if c == "ρ" else c for e in ("Replace", "Shuffle") for c in columns]
    lines = head("", *names)
    for metric in best_first(replace):
        cells = [title_of(metric)]
        for run in (replace, shuffle):
            pooled, within, pairs = measures(run.metrics[metric.name])
            cells += [pooled, published(run, metric.name), within, pairs]
        lines.append(row(*cells))
    return "\n".join(lines)


def published(run: Run, metric: str) -> str:
    return three(run.published[metric]) if metric in run.published else ""


def of_shuffle(results: Sequence[Result]) -> str:
    """The measures on Shuffle, and how much of the scores' variance is offset between images."""
    (run,) = map(read, results)
    lines = head("", "pooled ρ", "ρ within", "pairwise", "all in order", "variance between images")
    for metric in best_first(run):
        share = float(metric.numbers.facts["variance_image"] or 0.0)
        percent = ">99 %" if share > 0.995 else f"{100 * share:.0f} %"
        lines.append(
            row(
                title_of(metric),
                *measures(metric),
                three(metric.numbers.value("monotone_rate")),
                percent,
            )
        )
    return "\n".join(lines)


def of_replace(results: Sequence[Result]) -> str:
    """The measures on Replace, with and without the Random captions."""
    (run,) = map(read, results)
    lines = head(
        "", "pooled ρ", "ρ within", "pairwise", "pooled without Random", "within without Random"
    )
    for metric in best_first(run):
        degrees = run.degrees.get(metric.name)
        rest = ["–", "–"]
        if degrees is not None:
            rest = [three(degrees["rank_order_rho"]), three(degrees["rank_order_rho_within"])]
        lines.append(row(title_of(metric), *measures(metric), *rest))
    return "\n".join(lines)


def of_seeds(results: Sequence[Result]) -> str:
    """Means over seeds, components of the spread, and the distance of the published values."""
    lines = head("", "mean over 5 seeds", "image", "seed", "ties", "published", "distance in sd")
    for name, result in zip(("Replace", "Shuffle"), results, strict=True):
        run = read(result)
        lines.append(row(f"**{name}**", *[""] * 6))
        for metric in best_first(run):
            seeds = run.seeds.get(metric.name)
            if (value := run.published.get(metric.name)) is None or seeds is None:
                continue
            parts = [seeds[key] for key in ("sd_image", "sd_seed", "sd_ties")]
            distance = paper_distance(seeds, value)
            lines.append(
                row(
                    metric.name,
                    three(seeds["rank_order_rho_mean"]),
                    *(f"{1000 * (sd or 0.0):.1f}" for sd in parts),
                    three(value),
                    "–" if distance is None else f"{distance:+.1f}".replace("-", "−"),
                )
            )
    return "\n".join(lines)


def equation_12(results: Sequence[Result]) -> str:
    """ρ by levels, and by the paper's Eq. 12 on midranks, next to the published values."""
    run = read(results[0])
    lines = head("Replace", "published", "by levels", "Eq. 12 on midranks")
    for metric in best_first(run):
        rho = metric.numbers.value("rank_order_rho")
        if (value := run.published.get(metric.name)) is None or rho is None:
            continue
        literal = by_equation_12(rho, int(metric.numbers.facts["n"] or 0), run.n_sets)
        lines.append(row(metric.name, three(value), three(rho), three(literal)))
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
