"""From scores.parquet to the result: what each metric sees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from omegaconf import DictConfig

from metaeval.data.dataset import CaptionDataset
from metaeval.experiments.fitted import FAMILY, predictions, text_features
from metaeval.experiments.graded.statistics import matrix
from metaeval.experiments.means import Means
from metaeval.experiments.sensitivity.combinations import (
    MeanAuc,
    ResampledMean,
    Sets,
    by_kind,
    mean_of_images,
    severities,
    severity_order,
    summarised,
    together,
)
from metaeval.experiments.sensitivity.extras import (
    KIND,
    MEAN_AUC,
    OF_SEVERITY,
    POSITIVES,
    NumbersOfMetric,
    extras_of,
    missed,
)
from metaeval.experiments.sensitivity.profile import (
    NO_OP,
    REFERENCE,
    REWRITE,
    CaptionsBySet,
    SensitivityCell,
    Sorts,
    balanced,
    estimate_of,
    hard_positives,
    invariance,
    monotone,
    profile,
    replicated_rewrites,
    sort_of_rewrite,
    verdict,
)
from metaeval.results.base import Estimate, Measured
from metaeval.results.comparison import AgainstControl, Comparisons
from metaeval.results.measured import MeasuredResult
from metaeval.results.notes import fill_sentences
from metaeval.results.run import Measure
from metaeval.results.sentences import names as listed
from metaeval.runs import files
from metaeval.runs.records import APPLIED, CAPTION, HUMAN, IMAGE_ID, METRIC, REFERENCES, SET
from metaeval.scoring import MetricScores
from metaeval.stats.ordering.detection import auc_within_images
from metaeval.stats.resampling.bootstrap import Counts, bootstrap_counts
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.comparison import (
    PairTest,
    adjusted_in_family,
    against_best_control,
    resampled_difference,
)

SEVERITY = "severity_order"
REWRITES = "rewrites"  # the group of sets of `PairedMeans` that compares them with near-copies
HARM = "harm"  # all kinds that harm, each with the same weight
LANGUAGE_MODEL = "bigram_model"  # the family of the control that knows fluency alone
CHANCE = "random_score"  # the control whose scores are drawn at random
BINS = 2  # sizes of a control's gap that the refinement separates
MEASURES = (
    Measure(MEAN_AUC, "mean AUC over kinds that harm"),
    Measure("harmless", "harmless punished, AUC", best="neither"),
    Measure(SEVERITY, "milder above severer"),
    Measure(POSITIVES, "harmless rewrites above harmful near-copies"),
    Measure("missed", "sets missed", unit="count", best="lowest"),
    Measure("no_ops", "no-ops above harmful near-copies", shown=False),
)
NOTES = (
    "AUC: how often the human caption scores above the changed one, equal scores counting one "
    "half; 0.5 is chance. In means every kind of change has the same weight.",
    "A metric misses a set if it significantly prefers the changed captions, or if the difference "
    "is not significant and the AUC's interval ends at 0.6 or below (20 images or more).",
    "Experimental sets, left out of all means: {experimental}.",
    "Sets that changed no caption: {unchanged}.",
    "Harmless changes: {rewrites:,} rewrites (two content words or more, or their order), "
    "{no_ops:,} that change less, {references:,} verbatim references.",
)


def statistics(
    out: Path,
    dataset: CaptionDataset,
    results: Sequence[MetricScores],
    config: DictConfig,
    sets: Sets,
    refine: bool = False,
) -> MeasuredResult:
    """The result of a run, from its captions.parquet, references.parquet and scores.parquet.

    `sets` are the corruptions in the order of their levels. Resampled are images, the same for all;
    p-values are Holm-corrected over all metrics and sets. With `refine`, each cell has its numbers
    also on images on which the controls are balanced.
    """
    captions = files.read_table(out / files.CAPTIONS)
    scores = files.read_table(out / files.SCORES)
    images = pd.Index(captions[IMAGE_ID].unique())
    names = [HUMAN, *(entry.set for entry in sets)]
    applied = matrix(captions, "applied", images, names).astype(bool)
    counts = bootstrap_counts(len(images), config.stats.replicates, config.stats.seed)
    confidence = config.stats.confidence
    tables = _tables(results, scores, applied, images, names)
    fluency = _first_column(tables, results, LANGUAGE_MODEL)
    texts = CaptionsBySet(captions, images, names)
    sorts = _sorts(out, texts, applied, sets)
    profiles = {
        name: profile(table, sets, counts, fluency, texts, confidence)
        for name, table in tables.items()
    }
    if refine:
        _refine(profiles, tables, results, sets, counts, config)
    adjusted = adjusted_in_family(
        {(name, k): cell.p for name, of in profiles.items() for k, cell in of.items()}
    )
    groups = by_kind(sets, summarised(sets))
    harmful, harmless = (_expected(sets, groups, e) for e in ("lower", "same"))
    by_severity = {
        severity: [[k for k in g if sets[k].severity == severity] for g in harmful]
        for severity in severities(sets)
    }

    def numbers(name: str) -> NumbersOfMetric:
        table = tables[name]
        means = MeanAuc(table, counts, confidence)
        cells = {}
        for entry in sets:
            cell, p = profiles[name][entry.set], adjusted[name, entry.set]
            found = verdict(cell.auc, p, entry.expected, 1 - confidence)
            cells[entry.set] = cell._replace(p_adjusted=p, verdict=found)
        positives = hard_positives(table, sets, sorts, counts, confidence)
        severity = {s: means.over_kinds([g for g in of if g]) for s, of in by_severity.items()}
        values = {
            MEAN_AUC: means.over_kinds(harmful),
            "harmless": means.over_kinds(harmless),
            SEVERITY: mean_of_images(order_of[name], counts, confidence),
            POSITIVES: positives.rewrites,
            "missed": Estimate(value=len(missed(cells))),
            "no_ops": positives.no_ops,
            **{KIND + kind: means.over_kinds([group]) for kind, group in groups.items()},
            **{OF_SEVERITY + name: estimate for name, estimate in severity.items()},
        }
        undecided = [e.expected for e in sets if cells[e.set].verdict == "unsure"]
        facts = {
            "n": int(applied.sum()),
            "n_nan": int(np.isnan(table[applied]).sum()),
            "undecided_harm": undecided.count("lower"),
            "undecided_harmless": undecided.count("same"),
        }
        return NumbersOfMetric(
            Measured(values=values, facts=facts),
            cells,
            positives.sets,
            monotone(table, sets, counts, confidence),
            invariance(table, sets, cells, counts, confidence),
        )

    ranked, controls = (
        [c.name for r in results for c in r.columns if c.name in tables and getattr(c, which)]
        for which in ("is_ranked", "is_control")
    )
    order_of = {name: severity_order(table, sets) for name, table in tables.items()}
    compared = {**{kind: [group] for kind, group in groups.items()}, REWRITES: []}
    paired = PairedMeans(tables, sets, sorts, {**compared, HARM: harmful}, counts, confidence)
    of_metrics = {name: numbers(name) for name in tables}
    metrics = tuple(
        scored.result(k, of_metrics[c.name].measured if c.name in tables else None)
        for scored in results
        for k, c in enumerate(scored.columns)
    )
    alpha = 1 - confidence
    by_group = against_controls(paired, list(compared), ranked, controls, alpha)
    keys = {REWRITES: POSITIVES, **{kind: KIND + kind for kind in groups}}
    against = {keys[group]: entry for group, entry in by_group.items()}
    for entry in against_controls(paired, [HARM], ranked, controls, alpha).values():
        against[MEAN_AUC] = entry
    severity_means = Means(
        SEVERITY, order_of, np.arange(len(images)), counts, confidence=confidence, alpha=alpha
    )
    comparisons = {
        MEAN_AUC: differences(paired, HARM, ranked, alpha),
        POSITIVES: differences(paired, REWRITES, ranked, alpha),
        SEVERITY: severity_means.comparisons(ranked),
    }
    defined = _defined(of_metrics)
    seed, replicates = config.stats.seed, config.stats.replicates
    made = [entry for entry in sets if entry.n_applied]
    return MeasuredResult(
        experiment="sensitivity",
        dataset=dataset.name,
        facts={
            "Images": len(images),
            "Sets that harm": sum(entry.expected == "lower" for entry in made),
            "Harmless sets": sum(entry.expected != "lower" for entry in made),
        },
        settings={"seed": seed, "replicates": replicates, "confidence": confidence},
        metrics=metrics,
        declared=tuple(m for m in _declared(groups, by_severity) if m.key in defined),
        comparisons={key: of for key, of in comparisons.items() if key in defined},
        controls=against,
        extras=tuple(
            extras_of(
                metrics,
                of_metrics,
                sets,
                list(groups),
                together(
                    tables,
                    ranked,
                    controls,
                    sets,
                    seed=seed,
                    replicates=replicates,
                    confidence=confidence,
                ),
            )
        ),
        notes=tuple(
            fill_sentences(
                NOTES,
                experimental=sum(entry.experimental for entry in sets) or None,
                unchanged=sum(not entry.n_applied for entry in sets) or None,
                rewrites=(sorts == REWRITE).sum(),
                no_ops=(sorts == NO_OP).sum(),
                references=(sorts == REFERENCE).sum(),
            )
        ),
        caveat=_missed_by_all([of_metrics[name] for name in ranked], sets),
    )


def _defined(of_metrics: Mapping[str, NumbersOfMetric]) -> set[str]:
    """The keys of the measures that some column has, and of the first one."""
    values = [of.measured.values.items() for of in of_metrics.values()]
    return {key for of in values for key, each in of if each.value is not None} | {MEAN_AUC}


def _declared(groups: Mapping[str, Sequence[int]], harms: Iterable[str]) -> tuple[Measure, ...]:
    return (
        *MEASURES,
        *(Measure(KIND + kind, f"AUC, {kind}", shown=False) for kind in groups),
        *(Measure(OF_SEVERITY + s, f"AUC, {s} harm", shown=False) for s in harms),
    )


def _missed_by_all(metrics: Sequence[NumbersOfMetric], sets: Sets) -> str:
    """The harmful sets that every metric misses."""
    if len(metrics) < 2:
        return ""
    common = set.intersection(*(set(missed(numbers.cells)) for numbers in metrics))
    named = listed([entry.set for entry in sets if entry.set in common])
    return f"Every metric misses {named}." if named else ""


def _expected(sets: Sets, groups: Mapping[str, Sequence[int]], expected: str) -> list[list[int]]:
    """The places of the sets with this expectation, by kind; kinds without one are left out."""
    places = ([k for k in group if sets[k].expected == expected] for group in groups.values())
    return [group for group in places if group]


def _sorts(
    out: Path, texts: CaptionsBySet, applied: npt.NDArray[np.bool_], sets: Sets
) -> npt.NDArray[np.int8]:
    """The sort of each harmless change [n_images, n_sets]; -1 elsewhere."""
    references = files.read_table(out / files.REFERENCES).set_index(IMAGE_ID)[REFERENCES]
    sorts = np.full((len(texts.images), len(sets)), -1, dtype=np.int8)
    for k, entry in enumerate(sets):
        if entry.expected != "same":
            continue
        for i in np.flatnonzero(applied[:, k + 1]).tolist():
            human, changed = texts.table[i, 0], texts.table[i, k + 1]
            others = references[texts.images[i]]
            sorts[i, k] = sort_of_rewrite(human, changed, list(others))
    return sorts


def _tables(
    results: Sequence[MetricScores],
    scores: pd.DataFrame,
    applied: Any,
    images: pd.Index[Any],
    names: Sequence[str],
) -> dict[str, Floats]:
    """Column → its scores [n_images, 1 + n_sets], higher is better, NaN where nothing changed."""
    columns = {str(name): part for name, part in scores.groupby(METRIC, sort=False)}
    tables = {}
    for scored in results:
        for column in scored.columns if scored.status == "ok" else ():
            values = matrix(columns[column.name], "score", images, names)
            better = values if column.higher_is_better else -values
            tables[column.name] = np.where(applied, better, np.nan)
    return tables


def _first_column(
    tables: Mapping[str, Floats], results: Sequence[MetricScores], family: str
) -> Floats | None:
    ran = (s for s in results if s.family == family and s.status == "ok")
    return next((tables[scored.columns[0].name] for scored in ran), None)


def _refine(
    profiles: dict[str, dict[str, SensitivityCell]],
    tables: Mapping[str, Floats],
    results: Sequence[MetricScores],
    sets: Sets,
    counts: Counts,
    config: DictConfig,
) -> None:
    """Set `refined` in every cell: the AUC on images on which the controls are balanced."""
    controls = [
        tables[column.name]
        for scored in results
        if scored.status == "ok" and scored.family not in (CHANCE, FAMILY)
        for column in scored.columns
        if column.control
    ]
    if not controls:
        return
    confidence = config.stats.confidence
    stays = np.column_stack(
        [
            balanced(np.stack([t[:, 0] - t[:, k] for t in controls], 1), BINS, config.stats.seed)
            for k in range(1, 1 + len(sets))
        ]
    )
    for name, cells in profiles.items():
        table = tables[name]
        remaining = np.where(stays, table[:, 1:], np.nan)
        seen = auc_within_images(table[:, 0], remaining, counts, confidence=confidence)
        for entry, auc in zip(sets, seen, strict=True):
            cells[entry.set] = cells[entry.set]._replace(refined=estimate_of(auc))


def fitted_text(dataset: CaptionDataset, captions: pd.DataFrame, sets: Sets, seed: int) -> Floats:
    """[n] The fitted control: how harmless each row of captions.parquet looks by its text.

    It is fitted on the captions of other images; NaN where nothing was changed.

    The targets are 0 for a changed caption that should score lower and 1 for a harmless one and
    for the human caption, which counts once for each of the image's harmful ones. A control of the
    references or of the image alone has nothing to tell: all captions of an image have the same.
    """
    image_of_row = pd.factorize(captions[IMAGE_ID])[0]
    changed = np.flatnonzero(captions[APPLIED])
    changed = changed[np.argsort(image_of_row[changed], kind="stable")]
    made = captions.iloc[changed]
    image = image_of_row[changed]
    harms = made[SET].isin([e.set for e in sets if e.expected == "lower"]).to_numpy()
    features = text_features(dataset, list(made[CAPTION]), image)
    human = np.flatnonzero(made[SET] == HUMAN)
    times = np.bincount(image, harms, len(dataset)).astype(int)[image[human]] - 1
    rows = np.concatenate([np.arange(len(image)), np.repeat(human, np.maximum(times, 0))])
    predicted = predictions(features[rows], np.where(harms, 0.0, 1.0)[rows], image[rows], seed)
    values = np.full(len(captions), np.nan)
    values[changed] = predicted[: len(image)]
    return values


class PairedMeans:
    """Means over groups of sets of two columns on the same images, resampled together.

    Parameters
    ----------
    tables
        Column → float64 [n_images, 1 + n_sets], the human captions first, higher is better.
    groups
        Group → its kinds, each the places of its sets; `REWRITES` has none.
    """

    def __init__(
        self,
        tables: Mapping[str, Floats],
        sets: Sets,
        sorts: Sorts,
        groups: Mapping[str, Sequence[Sequence[int]]],
        counts: Counts,
        confidence: float,
    ) -> None:
        self._tables, self._sets, self._sorts, self._groups = tables, sets, sorts, groups
        self._counts, self._confidence = counts, confidence
        self._whole: dict[str, MeanAuc] = {}

    def of(self, name: str, group: str, other: str | None = None) -> ResampledMean:
        """A column's mean, on the captions that `other` could score, too."""
        table = self._tables[name]
        unknown = np.isnan(self._tables[name if other is None else other])
        masked = bool((unknown & ~np.isnan(table)).any())
        if masked:
            table = np.where(unknown, np.nan, table)
        if group == REWRITES:
            return replicated_rewrites(table, self._sets, self._sorts, self._counts)
        if masked:
            means = MeanAuc(table, self._counts, self._confidence)
        else:
            if name not in self._whole:
                self._whole[name] = MeanAuc(table, self._counts, self._confidence)
            means = self._whole[name]
        return means.replicated(self._groups[group])

    def gapped(self, names: Sequence[str]) -> list[str]:
        """Those that could not score all captions that some other column scored."""
        known = np.logical_or.reduce([~np.isnan(table) for table in self._tables.values()])
        return [name for name in names if (known & np.isnan(self._tables[name])).any()]

    def test(self, group: str, a: str, b: str) -> PairTest:
        """a minus b by resampled images; p by the normal distribution of the replicates."""
        first, second = self.of(a, group, b), self.of(b, group, a)
        if not first.n:
            return PairTest(np.nan, np.nan, np.nan, np.nan, "bootstrap, normal", 0, 1.0)
        return resampled_difference(
            first.value, second.value, first.replicates, second.replicates, first.n,
            confidence=self._confidence,
        )  # fmt: skip


def against_controls(
    means: PairedMeans, groups: Sequence[str], ranked: Sequence[str], controls: Sequence[str],
    alpha: float,
) -> dict[str, AgainstControl]:  # fmt: skip
    """Group → every metric against the best control; one family over metrics and groups."""
    values = {
        group: {name: means.of(name, group).value for name in (*ranked, *controls)}
        for group in groups
    }
    tested = against_best_control(
        values,
        ranked,
        controls,
        lambda pairs: [means.test(*each) for each in pairs],
        "metrics against the best control, over kinds",
        alpha=alpha,
        gapped=means.gapped(ranked),
        difference=lambda group, m, c: means.of(m, group, c).value - means.of(c, group, m).value,
    )
    return {group: AgainstControl.of(of, MEAN_AUC, alpha) for group, of in tested.items()}


def differences(means: PairedMeans, group: str, ranked: Sequence[str], alpha: float) -> Comparisons:
    """All pairs of metrics in one group."""
    tests = {(a, b): means.test(group, a, b) for a, b in combinations(ranked, 2)}
    return Comparisons.tested(tests, MEAN_AUC, "pairs of metrics", alpha)
