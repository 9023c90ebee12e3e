"""Localisation: `python -m metaeval experiment=localisation dataset=table dataset.file=hat.json`.

People marked the words of captions that are wrong. Every metric scores each caption without each of
its words: does the score rise, or fall least, without a wrong word?
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
from metaeval.experiments.localisation.words import MarkedCaption, outcomes
from metaeval.experiments.record import RunRecord
from metaeval.experiments.scores import score_all, write_scores
from metaeval.experiments.text_table import text_table
from metaeval.metrics.base import Metric
from metaeval.options import Draws, OpenShare, checked
from metaeval.results.base import Estimate
from metaeval.results.comparison import AgainstControl, Comparison, Comparisons
from metaeval.results.localisation import (
    LocalisationResult,
    LocalisationSettings,
    LocalisationStatistics,
)
from metaeval.results.metric import MetricResult
from metaeval.runs import files
from metaeval.runs.columns import CAPTION, IMAGE_ID
from metaeval.runs.records import Edit, Version
from metaeval.scoring import MetricScores
from metaeval.stats.resampling.bootstrap import Counts, bootstrap_counts, percentile_interval
from metaeval.stats.resampling.items import Floats, encode
from metaeval.stats.significance.comparison import (
    PairTest,
    against_best_control,
    compare,
    gap_differences,
)

MEASURE = "localisation_auc"
GROUP = "wrong words"


@dataclass(frozen=True, slots=True)
class MarkedData:
    """Judged captions, and those of them that have both wrong and right words."""

    judged: Judgments
    captions: tuple[MarkedCaption, ...]

    @property
    def image_ids(self) -> list[ImageId]:
        """The document that each caption is scored against."""
        return [self.judged.dataset.image_ids[c.document] for c in self.captions]


class Localisation(MetricExperiment[MarkedData, list[MetricScores]]):
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
            MarkedCaption(tuple(j.candidate.split()), j.wrong, j.image, int(document))
            for j, document in zip(judged.judged, judged.image_index, strict=True)
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
        captions = files.read_table(record.out / files.CAPTIONS)
        ids, texts = captions[IMAGE_ID].tolist(), captions[CAPTION].tolist()
        return [ToScore(data.judged.dataset, ids, texts)]

    def score(
        self, data: MarkedData, metrics: Mapping[str, Metric], record: RunRecord
    ) -> list[MetricScores]:
        captions = pd.DataFrame(
            [(i, v.set, v.level, v.caption) for i, v in _versions(data)],
            columns=[IMAGE_ID, "set", "level", CAPTION],
        )
        results = score_all(metrics.values(), data.judged.dataset, captions, record.config)
        write_scores(record.out, captions, results)
        return results

    def passes(self, scores: list[MetricScores]) -> Sequence[Pass]:
        return [Pass(scored) for scored in scores]

    def statistics(
        self, data: MarkedData, scores: list[MetricScores], record: RunRecord
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
        for scored in scores:
            for c, column in enumerate(scored.columns):
                numbers = None
                if scored.scores is not None:
                    sign = 1 if column.higher_is_better else -1
                    auc, first = outcomes(captions, sign * scored.scores[:, c])
                    numbers = LocalisationStatistics(
                        n=int((~np.isnan(auc)).sum()),
                        auc=_mean(auc, image, counts, settings.confidence),
                        first=_mean(first, image, counts, settings.confidence),
                    )
                    aucs[column.name] = auc
                    if numbers.n and is_ranked(column):
                        ranked.append(column.name)
                    elif numbers.n and is_control(column):
                        controls.append(column.name)
                metrics.append(scored.result(c, numbers))
        tests = _Tests(aucs, image, counts, settings)
        return LocalisationResult(
            dataset=data.judged.name,
            metrics=tuple(metrics),
            n_images=len(labels),
            n_captions=len(captions),
            n_words=sum(len(c.words) for c in captions),
            chance=float(np.mean([np.mean(c.wrong) for c in captions])),
            controls=tests.against_controls(ranked, controls),
            differences=tests.between(ranked),
            settings=settings,
        )

    def printout(self, summary: LocalisationResult, record: RunRecord, file: Path) -> str:
        shown = [m for m in summary.metrics if m.ok and m.column.part_of is None]
        shown.sort(key=lambda m: (m.column.control, -(m.numbers.auc.value or 0.0)))
        lines = [
            {
                "metric": m.name,
                "AUC": _text(m.numbers.auc),
                "first": _text(m.numbers.first),
                "n": f"{m.numbers.n:,}",
            }
            for m in shown
        ]
        chance = 0.0 if summary.chance is None else 100 * summary.chance
        return "\n".join(
            [
                *text_table(lines, "wrong words by leave-one-out, per cent"),
                f"by chance: AUC 50, first {chance:.1f}",
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
        self, ranked: Sequence[str], controls: Sequence[str]
    ) -> dict[str, AgainstControl]:
        values = {
            GROUP: {name: float(np.nanmean(self.aucs[name])) for name in (*ranked, *controls)}
        }
        tested = against_best_control(
            values, ranked, controls, lambda asked: self._test([(m, c) for _, m, c in asked]),
            "metrics against the best control", alpha=self.settings.alpha,
            gapped=[name for name in ranked if np.isnan(self.aucs[name]).any()],
            difference=lambda _, metric, control: float(self._gaps(metric, control).sum()),
        )  # fmt: skip
        return {g: AgainstControl.of(t, MEASURE, self.settings.alpha) for g, t in tested.items()}

    def between(self, ranked: Sequence[str]) -> Comparisons:
        pairs, alpha = list(combinations(ranked, 2)), self.settings.alpha
        tests = dict(zip(pairs, self._test(pairs), strict=True)) if pairs else {}
        tested = compare(tests, "pairs of metrics", alpha=alpha)
        made = tuple(Comparison.of(each, MEASURE) for each in tested)
        return Comparisons(measure=MEASURE, alpha=alpha, pairs=made)


def _mean(values: Floats, image: np.ndarray, counts: Counts, confidence: float) -> Estimate:
    """The mean over captions, NaN left out, with an interval by resampling images."""
    known = ~np.isnan(values)
    if not known.any():
        return Estimate(value=None, n=0)
    sums = np.bincount(image[known], values[known], minlength=counts.shape[1])
    sizes = np.bincount(image[known], minlength=counts.shape[1])
    with np.errstate(invalid="ignore"):
        low, high = percentile_interval((counts @ sums) / (counts @ sizes), confidence)
    return Estimate(value=values[known].mean(), low=low, high=high, n=int(known.sum()))


def _versions(data: MarkedData) -> Iterator[tuple[ImageId, Version]]:
    """Each caption, and after it the caption without each of its words."""
    for caption, image_id in zip(data.captions, data.image_ids, strict=True):
        yield image_id, Version("Caption", 1, caption.text, caption.text)
        for k, (word, text) in enumerate(zip(caption.words, caption.without(), strict=True)):
            edits = (Edit(k, word, ""),)
            yield image_id, Version("Without a word", 0, text, caption.text, edits=edits)


def _n_wrong(caption: MarkedCaption) -> int:
    return sum(caption.wrong)


def _text(estimate: Estimate) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "–" if estimate.value is None else f"{100 * estimate.value:.1f}"
    return f"{100 * estimate.value:.1f} [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"
