"""From scores.parquet to the result of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from omegaconf import DictConfig

from metaeval.corruptions.base import Corruption
from metaeval.experiments import CaptionDataset, Floats, MetricScores, fill_sentences
from metaeval.experiments.graded.column import (
    POWER,
    ColumnRecord,
    Curve,
    Design,
    Row,
    column_statistics,
    comparable_statistics,
    compare_columns,
)
from metaeval.experiments.measure import of_stats
from metaeval.results.base import NEW, MetricResult
from metaeval.results.graded import MEASURES, SWEEP_MEASURES, paper_distance
from metaeval.results.measured import SETS, Extra, MeasuredResult, PublishedValues
from metaeval.results.run import PublishedInfo
from metaeval.runs import files
from metaeval.runs.records import (
    APPLIED,
    HARM,
    HUMAN,
    IMAGE_ID,
    LEVEL,
    METRIC,
    REALISED_RATE,
    REQUESTED_RATE,
    SEED,
    SET,
    DrawnCorruption,
    paper_value,
)
from metaeval.stats.correlation.rank_order import tie_breaking_seeds
from metaeval.stats.resampling.bootstrap import bootstrap_counts

_NEEDED = (  # of the captions
    *("image_id", "set", "level", "caption", "applied", "expected"),
    *("requested_rate", "realised_rate", "harm"),
)
FEWEST = 3  # rates that make a dose-response curve
SATURATED = 0.995  # ρ within an image, above which little room is left for a better metric
NOTES = (
    "Unchanged captions, which equal the original: {unchanged}.",
    "With one corruption seed only (corruption.reseeded): {once}.",
    "Another model than the paper's, so not compared: {others}.",
)
NOTHING_CHANGED = (
    "No corruption changed a caption: all versions of an image are the same, and these numbers say "
    "nothing about the metrics."
)
CAVEATS = (
    "Versions as good as the original, whose scores should stay: {same}.",
    "{saturated} of {ranked} metrics order nearly every version of an image (ρ within ≥ {rho}), "
    "which leaves little room between them: use lower rates (corruption.rates=[0.05,0.1]) or a "
    "subtler corruption.",
)
TITLES = {
    "steps": "AUC of each step from a version to the next better one; 0.5 is chance",
    "applied": "Images in which every corruption changed the caption",
    "degrees": "Without the captions of other images",
    "seeds": "Spread over corruption seeds",
    "dose": "Dose and response",
    "dose_points": "Dose and response, every point",
}


class CaptionSet(NamedTuple):
    """One set of versions.

    Attributes
    ----------
    name, level
        "Replace 25%", and its level, 0 = worst.
    n, n_applied, n_unapplied
        Its captions, and how many of them were changed and were not.
    requested_rate, mean_realised_rate
        Shares of words in [0, 1]; `None` of corruptions without a rate.
    mean_harm
        The share of statements that became false or were lost, where that is known.
    expected
        What the corruption should do to a score: "lower" or "same".
    """

    name: str
    level: int
    n: int
    n_applied: int
    n_unapplied: int
    requested_rate: float | None
    mean_realised_rate: float
    mean_harm: float
    expected: str | None


def statistics(
    out: Path,
    results: Sequence[MetricScores],
    config: DictConfig,
    dataset: CaptionDataset,
    corruptions: Sequence[Corruption] = (),
    experiment: str = "graded",
    floor: bool = False,
    published: PublishedInfo | None = None,
) -> MeasuredResult:
    """All statistics of a run, computed from its captions.parquet and scores.parquet.

    The same resampled images serve every metric, so that metrics can be compared in pairs.
    `corruptions` are those of the run, worst first, and `experiment` is its name. With `floor`, the
    lowest set holds captions of other images, which is not a degree of corruption.
    """
    captions = files.read_run_table(out / files.CAPTIONS, _NEEDED)
    images = pd.Index(captions[IMAGE_ID].unique())
    sets = set_table(captions)
    design = _design(captions, images, sets, floor, config.stats)
    tables = score_tables(out, images, design.names)
    columns = {
        column.name: column_statistics(design, column, scored.family, tables[column.name])
        for scored in results
        for column in (scored.columns if scored.status == "ok" else ())
    }
    rows = _rows_by_extra(columns)
    metrics = _metric_results(results, columns, corruptions)
    printed, others = _published(metrics, published)
    _add_published(rows.get("seeds", []), printed)
    statistics_of = partial(comparable_statistics, levels=design.levels, counts=design.counts)
    comparisons, controls, resampled = compare_columns(
        list(columns.values()), statistics_of, design.confidence
    )
    worst = {name: images[record.worst_images].tolist() for name, record in columns.items()}
    notes = fill_sentences(
        NOTES,
        unchanged=", ".join(_unchanged(sets)),
        once=", ".join(_of_one_seed(metrics, rows)),
        others=", ".join(others),
    )
    return MeasuredResult(
        experiment=experiment,
        dataset=dataset.name,
        metrics=tuple(metrics),
        facts={
            "Images": len(images),
            "Captions": len(captions),
            "Versions": " < ".join(design.names),
        },
        settings={**of_stats(config.stats), "tie_seeds": tuple(design.tie_seeds), "power": POWER},
        declared=SWEEP_MEASURES,
        comparisons=comparisons,
        controls=controls,
        resampled=tuple(resampled),
        published=printed,
        extras=tuple(_graded_extras(sets, rows, worst)),
        notes=tuple(notes),
        caveat=_caveat(metrics, sets),
    )


def _design(
    captions: pd.DataFrame,
    images: pd.Index[Any],
    sets: Sequence[CaptionSet],
    floor: bool,
    stats: DictConfig,
) -> Design:
    """What the statistics of every column depend on."""
    names = [entry.name for entry in sets]
    return Design(
        names=names,
        levels=[entry.level for entry in sets],
        applied=image_by_set(captions, "applied", images, names).astype(bool),
        floor=floor,
        curve=curve_of(sets, floor),
        counts=bootstrap_counts(len(images), stats.replicates, stats.seed),
        confidence=float(stats.confidence),
        tie_seeds=tie_breaking_seeds(stats.tie_seeds, stats.seed),
    )


def _rows_by_extra(columns: Mapping[str, ColumnRecord]) -> dict[str, list[dict[str, Any]]]:
    """Name of an extra → its rows of all columns."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for name, record in columns.items():
        for extra, of_column in record.rows.items():
            more = {"control": record.column.control} if extra == "dose_points" else {}
            of_extra = rows.setdefault(extra, [])
            of_extra += [{"metric": name, **row, **more} for row in of_column]
    return rows


def _metric_results(
    results: Sequence[MetricScores],
    columns: Mapping[str, ColumnRecord],
    corruptions: Sequence[Corruption],
) -> list[MetricResult]:
    """The results of all columns, with how their training relates to the run."""
    metrics = []
    for scored in results:
        drawn = scored.training.drawn if scored.training is not None else ()
        versions = versions_in_training(drawn, corruptions)
        for c, column in enumerate(scored.columns):
            numbers = columns[column.name].measured if column.name in columns else None
            metrics.append(scored.result(c, numbers, versions=versions))
    return metrics


def _add_published(rows: Iterable[dict[str, Any]], printed: Iterable[PublishedValues]) -> None:
    """Add the published value, where it can be compared, and the distance to it, to the rows of
    metrics that have one."""
    for row, source in product(rows, printed):
        if source.why_not is None and row["metric"] in source.values:
            row["published"] = source.values[row["metric"]][MEASURES[0]]
            row["published_sd"] = paper_distance(row, row["published"])


def _graded_extras(
    sets: Sequence[CaptionSet],
    rows: Mapping[str, Sequence[Row]],
    worst: Mapping[str, list[Any]],
) -> Iterator[Extra]:
    """Yield the versions, the tables of the metrics in the order of `TITLES`, and, in a column a
    metric, the ids of the images with the worst inversions, worst first."""
    versions = ({"set": s[0], **dict(zip(s._fields[1:], s[1:], strict=True))} for s in sets)
    yield Extra.of(SETS, "Versions, worst first", versions, folded=True)
    for name in TITLES:
        if name in rows:
            yield Extra.of(
                name,
                TITLES[name],
                rows[name],
                folded=name != "dose",
                kind="data" if name == "dose_points" else "table",
            )
    yield Extra(
        name="worst_images",
        title="Images with the worst inversions",
        kind="data",
        columns=tuple(worst),
        rows=tuple(zip_longest(*worst.values())),
    )


def _published(
    metrics: Sequence[MetricResult], published: PublishedInfo | None
) -> tuple[tuple[PublishedValues, ...], list[str]]:
    """The paper's values of the same models, where the run has a paper; and the metrics with one of
    another model."""
    if published is None:
        return (), []
    values, others = {}, []
    for metric in metrics:
        paper = paper_value(published.rank_order_rho, metric.name, metric.column.variant_of)
        if paper and paper.same_model:
            values[metric.name] = {MEASURES[0]: paper.value}
        elif paper:
            others.append(f"{metric.name} (published {paper.value:.3f})")
    source = PublishedValues(source=published.source, values=values, why_not=published.why_not)
    return (source,), others


def _unchanged(sets: Sequence[CaptionSet]) -> list[str]:
    """The shares of the captions that a corruption could not change."""
    return [
        f"{100 * s.n_unapplied / s.n:.1f}% of {s.name}"
        for s in sets
        if s.n_unapplied and s.name != HUMAN
    ]


def _of_one_seed(
    metrics: Sequence[MetricResult], rows: Mapping[str, Sequence[Mapping[str, Any]]]
) -> list[str]:
    """The metrics without further corruption seeds, where others have some."""
    several = {row["metric"] for row in rows.get("seeds", ())}
    ranked = [m.name for m in metrics if m.ok and m.column.is_ranked]
    return [name for name in ranked if several and name not in several]


def _caveat(metrics: Sequence[MetricResult], sets: Sequence[CaptionSet]) -> str:
    """The one fact about the versions that would change a reader's decision."""
    *corrupted, _ = sets  # the last is the human caption
    if corrupted and not any(entry.n_applied for entry in corrupted):
        return NOTHING_CHANGED
    ranked = [m for m in metrics if m.ok and m.column.is_ranked]
    saturated = sum((m.numbers.value(MEASURES[1]) or 0.0) >= SATURATED for m in ranked)
    caveats = fill_sentences(
        CAVEATS,
        same=", ".join(entry.name for entry in sets if entry.expected == "same"),
        saturated=saturated if saturated > 1 else None,
        ranked=len(ranked),
        rho=SATURATED,
    )
    return next(caveats, "")


def curve_of(sets: Sequence[CaptionSet], floor: bool) -> Curve | None:
    """The curve of a run's sets; `None` where they have fewer than FEWEST rates.

    `sets` are worst first (see `set_table`); the last holds the human captions, and with `floor`
    the first those of other images.
    """
    rates = [
        (entry.requested_rate, k)
        for k, entry in enumerate(sets[:-1])
        if k >= floor and entry.requested_rate is not None
    ]
    if len(rates) < FEWEST or len(rates) < len(sets) - 1 - floor:
        return None
    rates.sort(key=lambda pair: pair[0])
    order = [len(sets) - 1, *(k for _, k in rates)]
    doses = [0.0, *(rate for rate, _ in rates)]
    return Curve(order, doses, [sets[k].mean_realised_rate for k in order])


def score_tables(out: Path, images: pd.Index[Any], names: Sequence[str]) -> dict[str, list[Floats]]:
    """Column → its scores [n_images, n_sets], then those of each further corruption seed."""
    tables: dict[str, list[Floats]] = {}
    for metric, part in files.read_run_table(out / files.SCORES).groupby(METRIC, sort=False):
        tables[str(metric)] = [image_by_set(part, "score", images, names)]
    if (path := out / files.SEED_SCORES).is_file():
        for (name, _), part in files.read_run_table(path).groupby([METRIC, SEED], sort=True):
            tables.setdefault(str(name), []).append(image_by_set(part, "score", images, names))
    return tables


def set_table(captions: pd.DataFrame) -> list[CaptionSet]:
    """The caption sets, worst first."""
    table = []
    level: Any
    for (level, name), part in captions.groupby([LEVEL, SET]):
        requested = part[REQUESTED_RATE].dropna()
        expected = part.loc[part[APPLIED], "expected"]
        table.append(
            CaptionSet(
                name=str(name),
                level=int(level),
                n=len(part),
                n_applied=int(part[APPLIED].sum()),
                n_unapplied=int((~part[APPLIED]).sum()),
                requested_rate=float(requested.iloc[0]) if len(requested) else None,
                mean_realised_rate=float(part[REALISED_RATE].mean()),
                mean_harm=float(part[HARM].mean()),
                expected=str(expected.iloc[0]) if len(expected) else None,
            )
        )
    return table


def image_by_set(
    table: pd.DataFrame,
    value: str | npt.NDArray[Any],
    images: pd.Index[Any],
    names: Sequence[str],
) -> npt.NDArray[Any]:
    """The column `value` as [n_images, n_sets]; the table has one row per image and set.

    `value` may also be an array with the rows of the table: [n] or [n, k]. NaN without a row.
    Texts stay texts.
    """
    data = table[value].to_numpy() if isinstance(value, str) else value
    row = images.get_indexer(pd.Index(table[IMAGE_ID]))
    column = pd.Index(names).get_indexer(pd.Index(table[SET]))
    shape = (len(images), len(names), *data.shape[1:])
    values = np.full(shape, np.nan, np.result_type(data.dtype, np.float64))
    values[row, column] = data
    return values


# How the training of a metric relates to a run

SEEN = "seen in training"  # the same corruption, at a rate that was drawn
INSIDE = "inside the range drawn in training"  # another one, with the same flaw in as many words


def in_training(drawn: Iterable[DrawnCorruption], corruption: Corruption) -> str | None:
    """Whether a training that drew these saw captions like the corruption's.

    A corruption without a rate is compared with no range. `None` if it does not declare its flaw.
    """
    if corruption.flaw is None:
        return None
    rate = corruption.parameters.get("rate")
    alike = [
        each.corruption == corruption.name
        for each in drawn
        if each.flaw == corruption.flaw
        and (each.rates is None or rate is None or each.rates[0] <= rate <= each.rates[1])
    ]
    return NEW if not alike else SEEN if any(alike) else INSIDE


def versions_in_training(
    drawn: Sequence[DrawnCorruption], corruptions: Sequence[Corruption]
) -> dict[str, str]:
    """`in_training` by set of versions; empty for a metric whose training drew nothing."""
    if not drawn:
        return {}
    statuses = {corruption.label: in_training(drawn, corruption) for corruption in corruptions}
    return {label: status for label, status in statuses.items() if status is not None}
