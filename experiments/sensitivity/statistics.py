"""From scores.parquet to the result: what each metric sees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from omegaconf import DictConfig

from metaeval.experiments import (
    CaptionDataset,
    Estimate,
    Floats,
    Measure,
    MetricScores,
    fill_sentences,
)
from metaeval.experiments.fitted import caption_features, predictions
from metaeval.experiments.graded.statistics import image_by_set, score_tables
from metaeval.experiments.measure import (
    Items,
    MeanOutcome,
    Measurements,
    Outcomes,
    level_of,
    measure,
    of_stats,
    once_each,
)
from metaeval.experiments.sensitivity.profile import (
    NO_OP,
    REFERENCE,
    REWRITE,
    AucOfSets,
    MeanAuc,
    SensitivityCell,
    Sets,
    Sorts,
    auc_of_sets,
    by_kind,
    cell_verdict,
    profile,
    rewrites_above,
    severities,
    severity_order,
    sort_of_rewrite,
    summarised,
)
from metaeval.results.measured import EXAMPLES, SETS, Extra, MeasuredResult
from metaeval.results.sentences import join_names
from metaeval.runs import files
from metaeval.runs.records import APPLIED, CAPTION, HUMAN, IMAGE_ID, REFERENCES, SET, ScoreColumn
from metaeval.stats.resampling.bootstrap import Counts, bootstrap_counts
from metaeval.stats.significance.comparison import adjusted_in_family

SEVERITY = "severity_order"
WORST = 3  # sets that a metric misses, with captions

PROFILE_CELLS = "profile"  # the extra with a row for each metric and change
MEAN_AUC, POSITIVES = "mean_auc", "hard_positives"  # keys of measures
KIND, OF_SEVERITY = "kind_", "severity_"  # and the kind, the severity: the key of its measure
MEASURES = (
    Measure(MEAN_AUC, "mean AUC over kinds that harm"),
    Measure("harmless", "harmless punished, AUC", best="neither"),
    Measure(SEVERITY, "milder above severer", primary=True),
    Measure(POSITIVES, "harmless rewrites above harmful near-copies", primary=True),
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


class Tables(NamedTuple):
    """What all statistics of a run share.

    Attributes
    ----------
    scores
        Column → float64 [n_images, 1 + n_sets], the human captions first, higher is better.
    sorts
        [n_images, n_sets] of the harmless changes.
    counts
        [replicates, n_images] The images of each replicate.
    by_set
        `auc_of_sets` of a table, once of each.
    kinds
        Kind → the places of its sets.
    """

    scores: Mapping[str, Floats]
    sets: Sets
    sorts: Sorts
    counts: Counts
    by_set: Callable[[Floats], AucOfSets]
    confidence: float
    kinds: Mapping[str, Sequence[int]]

    def mean_auc(self, kinds: Iterable[Sequence[int]]) -> MeanAuc:
        """The mean AUC over these kinds, each the places of its sets."""
        return MeanAuc(self.by_set, kinds)

    def expected(self, expected: str) -> list[list[int]]:
        """The places of the sets with this expectation, by kind; kinds without one are left out."""
        of_kinds = self.kinds.values()
        places = ([k for k in group if self.sets[k].expected == expected] for group in of_kinds)
        return [group for group in places if group]

    @property
    def by_severity(self) -> dict[str, list[list[int]]]:
        """Severity → the kinds that harm, each its sets of this severity."""
        return {
            severity: [
                of_severity
                for group in self.expected("lower")
                if (of_severity := [k for k in group if self.sets[k].severity == severity])
            ]
            for severity in severities(self.sets)
        }

    def outcomes(self) -> Iterator[Outcomes]:
        """What metrics are compared by."""
        of = {measure.key: measure for measure in _declared(self.kinds, ())}
        harmful = self.mean_auc(self.expected("lower"))
        yield Outcomes(of[MEAN_AUC], self.scores, harmful, family=MEAN_AUC)
        every = self.scores.items()
        rewrites = {name: rewrites_above(table, self.sets, self.sorts) for name, table in every}
        yield Outcomes(of[POSITIVES], rewrites, self.mean, family=KIND)
        for kind, places in self.kinds.items():
            one = self.mean_auc([places])
            yield Outcomes(of[KIND + kind], self.scores, one, family=KIND, pairs=False)
        order = {name: severity_order(table, self.sets) for name, table in every}
        yield Outcomes(of[SEVERITY], order, self.mean)

    @property
    def mean(self) -> MeanOutcome:
        """The mean over images."""
        return MeanOutcome(Items(np.arange(self.counts.shape[1])), self.counts.astype(np.float64))


def statistics(
    out: Path,
    dataset: CaptionDataset,
    results: Sequence[MetricScores],
    config: DictConfig,
    sets: Sets,
) -> MeasuredResult:
    """The result of a run, from its captions.parquet, references.parquet and scores.parquet.

    `sets` are the corruptions in the order of their levels. Resampled are images, the same for all;
    p-values are Holm-corrected over all metrics and sets.
    """
    tables, images, texts, applied = _tables_of(out, results, config, sets)
    columns = [c for r in results for c in r.columns if c.name in tables.scores]
    confidence = tables.confidence
    measured = measure(tables.outcomes(), columns, confidence)
    profiles = _profiles(tables, images, texts)
    facts_of = {
        name: _add_numbers(name, tables, cells, measured, applied)
        for name, cells in profiles.items()
    }
    defined = {MEAN_AUC} | {
        key for of in measured.values.values() for key, each in of.items() if each.value is not None
    }
    for key in measured.comparisons.keys() - defined:
        del measured.comparisons[key]
    made = [entry for entry in sets if entry.n_applied]
    return measured.result(
        results,
        facts_of,
        experiment="sensitivity",
        dataset=dataset.name,
        facts={
            "Images": len(applied),
            "Sets that harm": sum(entry.expected == "lower" for entry in made),
            "Harmless sets": sum(entry.expected != "lower" for entry in made),
        },
        settings=of_stats(config.stats),
        declared=tuple(m for m in _declared(tables.kinds, tables.by_severity) if m.key in defined),
        extras=tuple(_extras(columns, tables, profiles, measured.values, facts_of)),
        notes=tuple(
            fill_sentences(
                NOTES,
                experimental=sum(entry.experimental for entry in sets) or None,
                unchanged=sum(not entry.n_applied for entry in sets) or None,
                rewrites=(tables.sorts == REWRITE).sum(),
                no_ops=(tables.sorts == NO_OP).sum(),
                references=(tables.sorts == REFERENCE).sum(),
            )
        ),
    )


def _tables_of(
    out: Path, results: Sequence[MetricScores], config: DictConfig, sets: Sets
) -> tuple[Tables, pd.Index[Any], npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """The tables, the ids, and [n_images, 1 + n_sets] the captions and which of them were made."""
    captions = files.read_run_table(out / files.CAPTIONS)
    images = pd.Index(captions[IMAGE_ID].unique())
    labels = [HUMAN, *(entry.set for entry in sets)]
    applied = image_by_set(captions, "applied", images, labels).astype(bool)
    texts = image_by_set(captions, CAPTION, images, labels)
    counts = bootstrap_counts(len(images), config.stats.replicates, config.stats.seed)
    stored = score_tables(out, images, labels)
    columns = [column for s in results if s.status == "ok" for column in s.columns]
    better = {c.name: stored[c.name][0] * (1 if c.higher_is_better else -1) for c in columns}
    tables = Tables(
        {name: np.where(applied, table, np.nan) for name, table in better.items()},
        sets,
        _sorts(out, images, texts, applied, sets),
        counts,
        once_each(lambda table: auc_of_sets(table, counts)),
        config.stats.confidence,
        by_kind(sets, summarised(sets)),
    )
    return tables, images, texts, applied


def _profiles(
    tables: Tables,
    images: pd.Index[Any],
    texts: npt.NDArray[Any],
) -> dict[str, dict[str, SensitivityCell]]:
    """Column → set → what the metric sees of it, with the verdict over all metrics and sets."""
    sets, confidence = tables.sets, tables.confidence
    profiles = {
        name: profile(table, sets, tables.counts, images.tolist(), texts, confidence)
        for name, table in tables.scores.items()
    }
    adjusted = adjusted_in_family(
        {(name, k): cell.p for name, of in profiles.items() for k, cell in of.items()}
    )
    for name, cells in profiles.items():
        for entry in sets:
            cell, p = cells[entry.set], adjusted[name, entry.set]
            verdict = cell_verdict(cell.auc, p, entry.expected, level_of(confidence))
            cells[entry.set] = cell._replace(p_adjusted=p, verdict=verdict)
    return profiles


def _add_numbers(
    name: str,
    tables: Tables,
    cells: Mapping[str, SensitivityCell],
    measured: Measurements,
    applied: npt.NDArray[np.bool_],
) -> dict[str, int]:
    """Add the numbers of a column that were not tested; its facts."""
    table, sets, confidence = tables.scores[name], tables.sets, tables.confidence
    no_ops = rewrites_above(table, sets, tables.sorts, NO_OP)
    measured.values[name] |= {
        "harmless": tables.mean_auc(tables.expected("same")).estimate(table, confidence),
        "missed": Estimate(value=len(missed(cells))),
        "no_ops": tables.mean.estimate(no_ops, confidence),
        **{
            OF_SEVERITY + severity: tables.mean_auc(kinds).estimate(table, confidence)
            for severity, kinds in tables.by_severity.items()
        },
    }
    undecided = [entry.expected for entry in sets if cells[entry.set].verdict == "unsure"]
    return {
        "n": int(applied.sum()),
        "n_nan": int(np.isnan(table[applied]).sum()),
        "undecided_harm": undecided.count("lower"),
        "undecided_harmless": undecided.count("same"),
    }


def _declared(groups: Mapping[str, Sequence[int]], harms: Iterable[str]) -> tuple[Measure, ...]:
    return (
        *MEASURES,
        *(Measure(KIND + kind, f"AUC, {kind}", shown=False) for kind in groups),
        *(Measure(OF_SEVERITY + s, f"AUC, {s} harm", shown=False) for s in harms),
    )


def _sorts(
    out: Path,
    images: pd.Index[Any],
    texts: npt.NDArray[Any],
    applied: npt.NDArray[np.bool_],
    sets: Sets,
) -> npt.NDArray[np.int8]:
    """The sort of each harmless change [n_images, n_sets]; -1 elsewhere."""
    references = files.read_run_table(out / files.REFERENCES).set_index(IMAGE_ID)[REFERENCES]
    sorts = np.full((len(images), len(sets)), -1, dtype=np.int8)
    for k, entry in enumerate(sets):
        for i in np.flatnonzero(applied[:, k + 1]).tolist() if entry.expected == "same" else ():
            others = list(references[images[i]])
            sorts[i, k] = sort_of_rewrite(texts[i, 0], texts[i, k + 1], others)
    return sorts


def predict_harmlessness(
    dataset: CaptionDataset, captions: pd.DataFrame, sets: Sets, seed: int
) -> Floats:
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
    features = caption_features(dataset, list(made[CAPTION]), image)
    human = np.flatnonzero(made[SET] == HUMAN)
    times = np.bincount(image, harms, len(dataset)).astype(int)[image[human]] - 1
    rows = np.concatenate([np.arange(len(image)), np.repeat(human, np.maximum(times, 0))])
    predicted = predictions(features[rows], np.where(harms, 0.0, 1.0)[rows], image[rows], seed)
    values = np.full(len(captions), np.nan)
    values[changed] = predicted[: len(image)]
    return values


# The tables of a profile: what the page shows, and every number of every set


def missed(cells: Mapping[str, SensitivityCell]) -> list[str]:
    """Harmful sets that the metric is blind to or whose changed captions it prefers, the least
    seen first."""
    return _with_verdict(cells, "blind", "prefers")


def _with_verdict(cells: Mapping[str, SensitivityCell], *verdicts: str) -> list[str]:
    """The sets with these verdicts, the lowest AUC first."""
    chosen = [(c.auc.value or 0.0, name) for name, c in cells.items() if c.verdict in verdicts]
    return [name for _, name in sorted(chosen)]


def _extras(
    every: Sequence[ScoreColumn],
    tables: Tables,
    profiles: Mapping[str, Mapping[str, SensitivityCell]],
    values: Mapping[str, Mapping[str, Estimate]],
    facts_of: Mapping[str, Mapping[str, int]],
) -> Iterator[Extra]:
    """The metrics that see most first, controls last."""
    sets, whole = tables.sets, [c for c in every if c.part_of is None]
    columns = sorted(whole, key=lambda c: (c.control, -(values[c.name][MEAN_AUC].value or 0.0)))
    order = [column.name for column in columns]
    kinds = (
        {"metric": name, **{kind: values[name][KIND + kind].value for kind in tables.kinds}}
        for name in order
    )
    yield Extra.of("kinds", "AUC by kind of change", kinds, kind="matrix")
    yield Extra.of(
        "verdicts",
        "What each metric misses and punishes",
        (
            {
                "metric": name,
                "misses": join_names(missed(profiles[name])),
                "punishes": join_names(_with_verdict(profiles[name], "punishes")[::-1]),
                "undecided, harm": facts_of[name]["undecided_harm"],
                "undecided, harmless": facts_of[name]["undecided_harmless"],
            }
            for name in order
        ),
    )
    yield Extra.of(
        "severity",
        "AUC by severity, and of no-ops above near-copies",
        (
            {"metric": name}
            | {s: values[name][OF_SEVERITY + s] for s in severities(sets)}
            | {"no-ops": values[name]["no_ops"]}
            for name in order
        ),
    )
    yield Extra.of(
        "auc",
        "AUC by change",
        (
            {"change": entry.set, **{name: profiles[name][entry.set].auc.value for name in order}}
            for entry in sets
            if entry.n_applied
        ),
        kind="matrix",
        folded=True,
    )
    of_sets = (
        entry.model_dump() | {"reasons": "; ".join(f"{w}: {n:,}" for w, n in entry.reasons.items())}
        for entry in sets
    )
    yield Extra.of(SETS, "The changes", of_sets, folded=True)
    yield from _examples(columns, profiles)


def _examples(
    columns: Sequence[ScoreColumn], profiles: Mapping[str, Mapping[str, SensitivityCell]]
) -> Iterator[Extra]:
    """What metrics miss, and every cell with its examples."""
    misses = (
        {"image_id": None, "metric": c.name, "set": name, **profiles[c.name][name].examples[0]}
        for c in columns
        if not c.control
        for name in missed(profiles[c.name])[:WORST]
        if profiles[c.name][name].examples
    )
    yield Extra.of("misses", "What metrics miss", misses, kind="examples", folded=True)
    cells = [(name, change, cell) for name, of in profiles.items() for change, cell in of.items()]
    numbers = (
        {"metric": name, "set": change}
        | {key: value for key, value in cell._asdict().items() if key != "examples"}
        for name, change, cell in cells
    )
    yield Extra.of(PROFILE_CELLS, "Every metric and change", numbers, kind="data")
    examples = (
        {"image_id": None, "metric": name, "set": change, **example}
        for name, change, cell in cells
        for example in cell.examples
    )
    yield Extra.of(EXAMPLES, "Captions on which metrics err most", examples, kind="data")
