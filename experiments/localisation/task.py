"""Localisation: `python -m metaeval experiment=localisation dataset=table dataset.file=hat.json`.

People marked the words of captions that are wrong. Every metric scores each caption without each of
its words: does the score rise, or fall least, without a wrong word? And where a metric explains its
scores: does the explanation point at the wrong words (`explained.py`)?
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from metaeval.config import load_dataset
from metaeval.data.dataset import ImageId
from metaeval.data.judgments.judged import Judgments
from metaeval.errors import ConfigError
from metaeval.experiments.base import MetricExperiment, Pass, ToScore
from metaeval.experiments.captions import (
    dataset_info,
    language_note,
    write_references,
    write_versions,
)
from metaeval.experiments.controls import control_lines, is_control, is_ranked
from metaeval.experiments.explanations import explain_captions
from metaeval.experiments.localisation.explained import suspicion
from metaeval.experiments.localisation.words import MarkedCaption, area_under_curve, outcomes
from metaeval.experiments.record import RunRecord
from metaeval.experiments.scores import open_store, score_all, write_scores
from metaeval.experiments.text_table import text_table
from metaeval.metrics.base import Metric
from metaeval.options import Draws, OpenShare, checked
from metaeval.results.base import Estimate
from metaeval.results.comparison import AgainstControl, Comparison, Comparisons
from metaeval.results.localisation import (
    EXPLANATIONS,
    WRONG_WORDS,
    LocalisationResult,
    LocalisationSettings,
    LocalisationStatistics,
)
from metaeval.results.metric import MetricResult
from metaeval.runs.columns import CAPTION, IMAGE_ID, ITEM, LEVEL, SET
from metaeval.runs.records import Edit, Version
from metaeval.runs.store import Store
from metaeval.scoring import MetricScores
from metaeval.stats.resampling.bootstrap import Counts, bootstrap_counts, percentile_interval
from metaeval.stats.resampling.items import Floats, encode
from metaeval.stats.significance.comparison import (
    PairTest,
    against_best_control,
    compare,
    gap_differences,
)

MEASURE, EXPLAINED = "localisation_auc", "explained_auc"


@dataclass(frozen=True, slots=True)
class MarkedData:
    """Judged captions, and those of them that have both wrong and right words."""

    judged: Judgments
    captions: tuple[MarkedCaption, ...]


@dataclass(frozen=True, slots=True)
class LocalisationScores:
    """The scores of every metric, and column → AUC of its explanations [captions]."""

    metrics: list[MetricScores]
    explained: Mapping[str, Floats]


class Localisation(MetricExperiment[MarkedData, LocalisationScores]):
    """Every caption, and the caption without each of its words.

    Parameters
    ----------
    permutations
        Random arrangements of the tests against controls and between metrics.
    alpha
        The level at which a difference is called significant.
    """

    name = "localisation"
    title = "Where is the error?"
    question = "Does the score rise without the words that people marked as wrong?"
    report = "localisation"

    @checked
    def __init__(self, permutations: Draws = 10_000, alpha: OpenShare = 0.05) -> None:
        self.permutations, self.alpha = permutations, float(alpha)

    def load(self, config: DictConfig) -> MarkedData:
        judged = load_dataset(config)
        if not isinstance(judged, Judgments) or not any(j.wrong for j in judged.judged):
            raise ConfigError(
                "experiment=localisation needs captions with marked words: dataset=table "
                "dataset.file=FILE with a column of [word, true or false] (dataset.fields.words)"
            )
        captions = tuple(
            MarkedCaption(tuple(j.candidate.split()), j.wrong, j.image, int(item))
            for j, item in zip(judged.judged, judged.image_index, strict=True)
            if any(j.wrong) and not all(j.wrong)
        )
        if not captions:
            raise ConfigError(
                "experiment=localisation: no caption has both wrong and right words; there is "
                "nothing to tell apart"
            )
        return MarkedData(judged, captions)

    def describe(self, data: MarkedData) -> str:
        captions = data.captions
        return (
            f"{data.judged.title}: {len(captions):,} of {len(data.judged):,} captions have wrong "
            f"and right words{language_note(data.judged.dataset)}; "
            f"{sum(len(c.words) for c in captions):,} words, {sum(map(_n_wrong, captions)):,} of "
            f"them wrong; {data.judged.dataset.records}"
        )

    def write_versions(self, data: MarkedData, record: RunRecord) -> None:
        write_versions(record.out, _versions(data))
        write_references(record.out, data.judged.dataset, record.config)
        record.update(dataset=dataset_info(data.judged.dataset))

    def to_score(self, data: MarkedData, record: RunRecord) -> Iterable[ToScore]:
        return [ToScore(data.judged.dataset, _captions(data))]

    def score(
        self, data: MarkedData, metrics: Mapping[str, Metric], record: RunRecord
    ) -> LocalisationScores:
        captions = _captions(data)
        results = score_all(metrics.values(), data.judged.dataset, captions, record.config)
        write_scores(record.out, captions, results)
        explained: dict[str, Floats] = {}
        with open_store(record.config) as store:
            for (name, metric), scored in zip(metrics.items(), results, strict=True):
                if scored.status == "ok":
                    explained.update(_explained_aucs(name, metric, scored, data, store))
        return LocalisationScores(results, explained)

    def passes(self, scores: LocalisationScores) -> Sequence[Pass]:
        return [Pass(scored) for scored in scores.metrics]

    def statistics(
        self, data: MarkedData, scores: LocalisationScores, record: RunRecord
    ) -> LocalisationResult:
        stats = record.config.stats
        settings = LocalisationSettings(
            replicates=stats.replicates, confidence=stats.confidence, seed=stats.seed,
            permutations=self.permutations, alpha=self.alpha,
        )  # fmt: skip
        captions = data.captions
        labels, image = encode([c.image for c in captions])
        counts = bootstrap_counts(len(labels), settings.replicates, settings.seed)
        metrics: list[MetricResult[LocalisationStatistics]] = []
        aucs: dict[str, Floats] = {}
        ranked, controls = [], []
        for scored in scores.metrics:
            for c, column in enumerate(scored.columns):
                numbers = None
                if scored.scores is not None:
                    sign = 1 if column.higher_is_better else -1
                    auc, first = outcomes(captions, sign * scored.scores[:, c])
                    explained = scores.explained.get(column.name)
                    numbers = LocalisationStatistics(
                        n=int((~np.isnan(auc)).sum()),
                        auc=_mean(auc, image, counts, settings.confidence),
                        first=_mean(first, image, counts, settings.confidence),
                        explained_auc=None
                        if explained is None
                        else _mean(explained, image, counts, settings.confidence),
                    )
                    aucs[column.name] = auc
                    if numbers.n and is_ranked(column):
                        ranked.append(column.name)
                    elif numbers.n and is_control(column):
                        controls.append(column.name)
                metrics.append(scored.result(c, numbers))
        tests = _Tests(aucs, image, counts, settings)
        against = tests.against_controls(WRONG_WORDS, ranked, controls)
        if known := [name for name in ranked if name in scores.explained]:
            by_explanation = _Tests({**aucs, **scores.explained}, image, counts, settings)
            against |= by_explanation.against_controls(EXPLANATIONS, known, controls)
        return LocalisationResult(
            dataset=data.judged.name,
            metrics=tuple(metrics),
            n_images=len(labels),
            n_captions=len(captions),
            n_words=sum(len(c.words) for c in captions),
            chance=float(np.mean([np.mean(c.wrong) for c in captions])),
            controls=against,
            differences=tests.between(ranked),
            settings=settings,
        )

    def printout(self, summary: LocalisationResult, record: RunRecord, file: Path) -> str:
        shown = [m for m in summary.metrics if m.ok and m.column.part_of is None]
        shown.sort(key=lambda m: (m.column.control, -(m.numbers.auc.value or 0.0)))
        lines = [
            {
                "metric": m.name,
                "AUC": m.numbers.auc.in_percent(),
                "first": m.numbers.first.in_percent(),
                "explained": "–"
                if m.numbers.explained_auc is None
                else m.numbers.explained_auc.in_percent(),
                "n": f"{m.numbers.n:,}",
            }
            for m in shown
        ]
        chance = 0.0 if summary.chance is None else 100 * summary.chance
        return "\n".join(
            [
                *text_table(lines, "wrong words by leave-one-out and explained, per cent"),
                f"by chance: AUC and explained 50, first {chance:.1f}",
                *control_lines(summary.controls),
                *(f"{m.name} {m.status}: {m.reason}" for m in summary.metrics if not m.ok),
                f"{file.stem}: {file}",
            ]
        )


class _Tests:
    """Tests of differences in the mean AUC, by exchanging two columns on whole images."""

    def __init__(
        self,
        aucs: Mapping[str, Floats],
        image: np.ndarray,
        counts: Counts,
        settings: LocalisationSettings,
    ) -> None:
        self.aucs, self.image, self.counts, self.settings = aucs, image, counts, settings

    def _gaps(self, a: str, b: str) -> Floats:
        """What each image adds to the difference of the means, on the common captions."""
        gap = self.aucs[a] - self.aucs[b]
        known = ~np.isnan(gap)
        added = np.bincount(self.image[known], gap[known], minlength=self.counts.shape[1])
        return np.asarray(added / max(1, int(known.sum())), np.float64)

    def _test(self, pairs: Sequence[tuple[str, str]]) -> list[PairTest]:
        s = self.settings
        intervals = [
            _mean(self.aucs[a] - self.aucs[b], self.image, self.counts, s.confidence).interval
            or (np.nan, np.nan)
            for a, b in pairs
        ]
        common = [int((~np.isnan(self.aucs[a] - self.aucs[b])).sum()) for a, b in pairs]
        table = np.stack([self._gaps(*pair) for pair in pairs], axis=1)
        return gap_differences(
            table, replicates=s.permutations, seed=s.seed, intervals=intervals, n=common
        )

    def against_controls(
        self, group: str, ranked: Sequence[str], controls: Sequence[str]
    ) -> dict[str, AgainstControl]:
        values = {
            group: {name: float(np.nanmean(self.aucs[name])) for name in (*ranked, *controls)}
        }
        tested = against_best_control(
            values, ranked, controls, lambda asked: self._test([(m, c) for _, m, c in asked]),
            "metrics against the best control", alpha=self.settings.alpha,
            gapped=[name for name in ranked if np.isnan(self.aucs[name]).any()],
            difference=lambda _, metric, control: float(self._gaps(metric, control).sum()),
        )  # fmt: skip
        measure = MEASURE if group == WRONG_WORDS else EXPLAINED
        return {g: AgainstControl.of(t, measure, self.settings.alpha) for g, t in tested.items()}

    def between(self, ranked: Sequence[str]) -> Comparisons:
        pairs, alpha = list(combinations(ranked, 2)), self.settings.alpha
        tests = dict(zip(pairs, self._test(pairs), strict=True)) if pairs else {}
        tested = compare(tests, "pairs of metrics", alpha=alpha)
        made = tuple(Comparison.of(each, MEASURE) for each in tested)
        return Comparisons(measure=MEASURE, alpha=alpha, pairs=made)


def _explained_aucs(
    name: str, metric: Metric, scored: MetricScores, data: MarkedData, store: Store
) -> dict[str, Floats]:
    """The metric's headline column → AUC [captions] of what its explanations say of words.

    NaN for a caption without an explanation; empty for a metric without explanations of words.
    """
    texts, dataset = [c.text for c in data.captions], data.judged.dataset
    items = np.array([c.item for c in data.captions], dtype=np.intp)
    given = explain_captions(name, metric, scored, dataset, texts, items, store)
    if given is None or scored.scores is None:
        return {}
    c = next(c for c, column in enumerate(scored.columns) if column.headline)
    row = np.cumsum([0, *(1 + len(caption.words) for caption in data.captions[:-1])])
    aucs = np.full(len(texts), np.nan)
    for k, score in enumerate(scored.scores[row, c].tolist()):
        caption, explanation = data.captions[k], given[k]
        if explanation is None or np.isnan(score):
            continue
        values = suspicion(caption.words, explanation)
        if values is None:
            return {}
        aucs[k] = area_under_curve(values, np.array(caption.wrong))
    return {} if np.isnan(aucs).all() else {scored.columns[c].name: aucs}


def _mean(values: Floats, image: np.ndarray, counts: Counts, confidence: float) -> Estimate:
    """The mean over captions, NaN left out, with an interval by resampling images."""
    known = ~np.isnan(values)
    if not known.any():
        return Estimate(value=None, n=0)
    sums = np.bincount(image[known], values[known], minlength=counts.shape[1])
    sizes = np.bincount(image[known], minlength=counts.shape[1])
    with np.errstate(invalid="ignore"):
        drawn = (counts @ sums) / (counts @ sizes)
    low, high = percentile_interval(drawn, confidence, int((sizes > 0).sum()))
    return Estimate(value=values[known].mean(), low=low, high=high, n=int(known.sum()))


def _versions(data: MarkedData) -> Iterator[tuple[ImageId, Version]]:
    """Each caption, and after it the caption without each of its words."""
    for caption in data.captions:
        yield caption.image, Version("Caption", 1, caption.text, caption.text)
        for k, (word, text) in enumerate(zip(caption.words, caption.without(), strict=True)):
            edits = (Edit(k, word, ""),)
            yield caption.image, Version("Without a word", 0, text, caption.text, edits=edits)


def _captions(data: MarkedData) -> pd.DataFrame:
    """The versions, each with the item of the dataset that it is scored with."""
    versions = [(i, v.set, v.level, v.caption) for i, v in _versions(data)]
    items = np.repeat([c.item for c in data.captions], [1 + len(c.words) for c in data.captions])
    return pd.DataFrame(versions, columns=[IMAGE_ID, SET, LEVEL, CAPTION]).assign(**{ITEM: items})


def _n_wrong(caption: MarkedCaption) -> int:
    return sum(caption.wrong)
