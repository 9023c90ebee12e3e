"""From scores.parquet to the result: what each metric sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from omegaconf import DictConfig

from metaeval.data.dataset import CaptionDataset
from metaeval.experiments.controls import is_control, is_ranked
from metaeval.experiments.fitted import FAMILY, TEXT, as_scores
from metaeval.experiments.graded.statistics import matrix
from metaeval.experiments.sensitivity.alike import seriation
from metaeval.experiments.sensitivity.combinations import together
from metaeval.experiments.sensitivity.comparison import (
    PairedMeans,
    against_controls,
    differences,
)
from metaeval.experiments.sensitivity.fitted import fitted_text
from metaeval.experiments.sensitivity.kinds import (
    MeanAuc,
    Sets,
    by_kind,
    severities,
    severity_order,
    summarised,
)
from metaeval.experiments.sensitivity.profile import (
    CaptionsBySet,
    UntestedCell,
    monotone,
    profile,
)
from metaeval.experiments.sensitivity.refinement import balanced
from metaeval.experiments.sensitivity.rewrites import (
    NO_OP,
    REFERENCE,
    REWRITE,
    hard_positives,
    invariance,
    sort_of_rewrite,
)
from metaeval.results.sensitivity import (
    REWRITES,
    RewriteCounts,
    SensitivityResult,
    SensitivitySettings,
    SensitivityStatistics,
)
from metaeval.runs import files
from metaeval.runs.columns import HUMAN, IMAGE_ID, METRIC, REFERENCES
from metaeval.scoring import MetricScores
from metaeval.stats.ordering.detection import auc_within_images
from metaeval.stats.resampling.bootstrap import Counts, bootstrap_counts
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.comparison import adjusted_in_family

HARM = "harm"  # all kinds that harm, each with the same weight
LANGUAGE_MODEL = "bigram_model"  # the family of the control that knows fluency alone
CHANCE = "random_score"  # the control whose scores are drawn at random
BINS = 2  # sizes of a control's gap that the refinement separates


def statistics(
    out: Path,
    dataset: CaptionDataset,
    results: Sequence[MetricScores],
    config: DictConfig,
    sets: Sets,
    refine: bool = False,
    fitted: bool = False,
) -> SensitivityResult:
    """The result of a run, from its captions.parquet, references.parquet and scores.parquet.

    `sets` are the corruptions in the order of their levels. Resampled are images, the same for all;
    p-values are Holm-corrected over all metrics and sets. With `refine`, each cell has its numbers
    also on images on which the controls are balanced. With `fitted`, a control fitted to what
    harms is one of the columns.
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
    if fitted:
        results = [*results, as_scores(TEXT)]
        tables[TEXT] = fitted_text(dataset, texts.table, applied, sets, config.stats.seed)
    profiles = {
        name: profile(table, sets, counts, fluency, texts, confidence)
        for name, table in tables.items()
    }
    if refine:
        _refine(profiles, tables, results, sets, counts, config)
    adjusted = adjusted_in_family(
        {(name, k): cell.seen.p for name, of in profiles.items() for k, cell in of.items()}
    )
    groups = by_kind(sets, summarised(sets))
    harmful, harmless = (_expected(sets, groups, e) for e in ("lower", "same"))
    of_severity = {
        severity: [[k for k in g if sets[k].severity == severity] for g in harmful]
        for severity in severities(sets)
    }

    def numbers(name: str) -> SensitivityStatistics:
        table = tables[name]
        means = MeanAuc(table, counts, confidence)
        cells = {
            entry.set: profiles[name][entry.set].cell(
                adjusted[name, entry.set], entry.expected, 1 - confidence
            )
            for entry in sets
        }
        return SensitivityStatistics(
            n=int(applied.sum()),
            n_nan=int(np.isnan(table[applied]).sum()),
            harm=means.over_kinds(harmful),
            harmless=means.over_kinds(harmless),
            kinds={kind: means.over_kinds([group]) for kind, group in groups.items()},
            severity={s: means.over_kinds([g for g in of if g]) for s, of in of_severity.items()},
            severity_order=severity_order(table, sets, counts, confidence),
            profile=cells,
            monotone=monotone(table, sets, counts, confidence),
            hard_positives=hard_positives(table, sets, sorts, counts, confidence),
            invariance=invariance(table, sets, cells, counts, confidence),
        )

    ranked, controls = (
        [c.name for r in results for c in r.columns if c.name in tables and belongs(c)]
        for belongs in (is_ranked, is_control)
    )
    compared = {**{kind: [group] for kind, group in groups.items()}, REWRITES: []}
    paired = PairedMeans(tables, sets, sorts, {**compared, HARM: harmful}, counts, confidence)
    entries = tuple(
        scored.result(k, numbers(column.name) if column.name in tables else None)
        for scored in results
        for k, column in enumerate(scored.columns)
    )
    shown = [m for m in entries if m.statistics is not None and m.column.part_of is None]
    auc = np.array(
        [[m.numbers.profile[e.set].auc.value for e in sets] for m in shown], dtype=np.float64
    )
    order = seriation([m.name for m in shown], auc.reshape(len(shown), len(sets)), sets)
    return SensitivityResult(
        experiment="sensitivity",
        dataset=dataset.name,
        metrics=entries,
        n_images=len(images),
        settings=SensitivitySettings(
            seed=config.stats.seed, replicates=config.stats.replicates, confidence=confidence
        ),
        sets=tuple(sets),
        harmless=RewriteCounts(
            rewrites=int((sorts == REWRITE).sum()),
            no_ops=int((sorts == NO_OP).sum()),
            references=int((sorts == REFERENCE).sum()),
        ),
        order=order.order,
        leaves=order.leaves,
        tree=order.tree,
        set_order=order.set_order,
        controls=against_controls(paired, list(compared), ranked, controls, 1 - confidence),
        differences=differences(paired, HARM, ranked, 1 - confidence),
        together=together(
            tables,
            ranked,
            controls,
            sets,
            seed=config.stats.seed,
            replicates=config.stats.replicates,
            confidence=confidence,
        ),
    )


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
    profiles: dict[str, dict[str, UntestedCell]],
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
            cells[entry.set] = cells[entry.set]._replace(refined=auc)
