"""Localisation: `python -m metaeval experiment=localisation dataset=table dataset.file=hat.json`.

People marked the words of captions that are wrong. Every metric scores each caption without each of
its words: does the score rise, or fall least, without a wrong word? And where a metric explains its
scores: does the explanation point at the wrong words (`explained.py`)?
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from omegaconf import DictConfig

from metaeval.config import load_dataset
from metaeval.data.dataset import ImageId
from metaeval.data.judgments.judged import Judgments
from metaeval.errors import ConfigError
from metaeval.experiments.base import MetricExperiment, Pass, ToScore
from metaeval.experiments.localisation.explained import suspicion
from metaeval.experiments.record import (
    RunRecord,
    dataset_info,
    language_note,
    write_references,
    write_versions,
)
from metaeval.experiments.scores import explain_captions, open_store, score_all, write_scores
from metaeval.metrics.base import Metric
from metaeval.options import Draws, OpenShare, checked
from metaeval.results.base import Estimate, Measured
from metaeval.results.comparison import AgainstControl, Comparisons
from metaeval.results.measured import MeasuredResult
from metaeval.results.run import Measure
from metaeval.runs.records import CAPTION, IMAGE_ID, ITEM, LEVEL, SET, Edit, Version
from metaeval.runs.store import Store
from metaeval.scoring import MetricScores
from metaeval.stats.resampling.bootstrap import Counts, bootstrap_counts
from metaeval.stats.resampling.items import Floats, encode
from metaeval.stats.significance.comparison import (
    PairTest,
    against_best_control,
    gap_differences,
)

DESCRIBED = (
    "{title}: {captions:,} of {all:,} captions have wrong and right words{language}; {words:,} "
    "words, {wrong:,} of them wrong; {records}"
)
AUC, FIRST, EXPLAINED = "localisation_auc", "localisation_first", "explained_auc"
MEASURES = (
    Measure(AUC, "wrong words, AUC", unit="share"),
    Measure(FIRST, "first word wrong", unit="share"),
    Measure(EXPLAINED, "by explanation, AUC", unit="share"),
)
BY_CHANCE = "By chance: AUC 50, first {:.1f}."
NOTES = (
    "AUC: how often the score is higher without a wrong word than without a right one of the same "
    "caption.",
    "First: how often the word without which the score is highest is wrong.",
    "By explanation: the AUC of what the explanation of the score says of each word.",
)
Bools = npt.NDArray[np.bool_]


class MarkedCaption(NamedTuple):
    """A caption whose words people marked: its words, which of them are wrong, its image, and
    the position in the dataset of what it is compared with."""

    words: tuple[str, ...]
    wrong: tuple[bool, ...]
    image: str
    item: int

    @property
    def text(self) -> str:
        return " ".join(self.words)

    def without(self) -> list[str]:
        """The caption without each of its words, in their order.

        >>> MarkedCaption(("a", "dog", "runs"), (False, True, False), "1", 0).without()
        ['dog runs', 'a runs', 'a dog']
        """
        return [" ".join(self.words[:k] + self.words[k + 1 :]) for k in range(len(self.words))]


class CaptionOutcome(NamedTuple):
    """How well the changes of a score find the wrong words of one caption.

    Attributes
    ----------
    auc
        The chance that the score rises more (or falls less) without a wrong word than without a
        right one; ties count one half; 0.5 by chance.
    first
        Whether the word without which the score is highest is wrong; of tied words the share that
        is wrong.
    """

    auc: float
    first: float


def outcome(score: float, without: Floats, wrong: Bools) -> CaptionOutcome:
    """How well the changes of a score find the wrong words of a caption.

    Parameters
    ----------
    score
        The caption's, more is better.
    without
        float64 [n], its score without each word. NaN: could not be scored; the word is left out.
    wrong
        bool [n].

    Returns
    -------
    NaN in both where the caption has no score, or no wrong or no right word with one.

    Examples
    --------
    >>> outcome(0.5, np.array([0.4, 0.8, 0.5]), np.array([False, True, False]))
    CaptionOutcome(auc=1.0, first=1.0)
    >>> outcome(0.5, np.array([0.4, 0.4]), np.array([False, True]))
    CaptionOutcome(auc=0.5, first=0.5)
    """
    known = ~np.isnan(without)
    rise, marked = without[known] - score, wrong[known]
    if np.isnan(score) or not marked.any() or marked.all():
        return CaptionOutcome(float("nan"), float("nan"))
    first = float(marked[rise == rise.max()].mean())
    return CaptionOutcome(area_under_curve(rise, marked), first)


def area_under_curve(values: Floats, wrong: Bools) -> float:
    """The chance that a wrong word has a higher value than a right one; ties count one half.

    NaN without a wrong or without a right word.

    >>> area_under_curve(np.array([0.0, 0.5, 0.5]), np.array([False, True, False]))
    0.75
    """
    if not wrong.any() or wrong.all():
        return float("nan")
    pairs = values[wrong][:, None] - values[~wrong][None, :]
    return float((pairs > 0).mean() + 0.5 * (pairs == 0).mean())


def outcomes(captions: Sequence[MarkedCaption], scores: Floats) -> tuple[Floats, Floats]:
    """`auc` and `first` [n] of all captions, from the scores of each caption and of the caption
    without each word, one after another."""
    found, start = [], 0
    for caption in captions:
        end = start + 1 + len(caption.words)
        found.append(outcome(scores[start], scores[start + 1 : end], np.array(caption.wrong)))
        start = end
    auc, first = np.array(found, dtype=np.float64).reshape(-1, 2).T
    return auc, first


class LocalisationSettings(NamedTuple):
    """What the statistics depend on, besides the data."""

    replicates: int
    confidence: float
    seed: int
    permutations: int
    alpha: float


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


class Localisation(
    MetricExperiment[MarkedData, LocalisationScores],
    name="localisation",
    title="Where is the error?",
    question="Does the score rise without the words that people marked as wrong?",
):
    """Every caption, and the caption without each of its words.

    Parameters
    ----------
    permutations
        Random arrangements of the tests against controls and between metrics.
    alpha
        The level at which a difference is called significant.
    """

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
        return DESCRIBED.format(
            title=data.judged.title,
            captions=len(data.captions),
            all=len(data.judged),
            language=language_note(data.judged.dataset),
            words=sum(len(c.words) for c in data.captions),
            wrong=sum(sum(c.wrong) for c in data.captions),
            records=data.judged.dataset.records,
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
    ) -> MeasuredResult:
        stats = record.config.stats
        settings = LocalisationSettings(
            stats.replicates, stats.confidence, stats.seed, self.permutations, self.alpha
        )
        captions = data.captions
        labels, image = encode([c.image for c in captions])
        counts = bootstrap_counts(len(labels), settings.replicates, settings.seed)
        values: dict[str, dict[str, Floats]] = {AUC: {}, FIRST: {}, EXPLAINED: {}}
        metrics, ranked, controls = [], [], []
        for scored in scores.metrics:
            for c, column in enumerate(scored.columns):
                numbers = None
                if scored.scores is not None:
                    sign = 1 if column.higher_is_better else -1
                    auc, first = outcomes(captions, sign * scored.scores[:, c])
                    of = {AUC: auc, FIRST: first}
                    if column.name in scores.explained:
                        of[EXPLAINED] = scores.explained[column.name]
                    for key, each in of.items():
                        values[key][column.name] = each
                    n = int((~np.isnan(auc)).sum())
                    means = {k: _mean(v, image, counts, settings.confidence) for k, v in of.items()}
                    numbers = Measured(values=means, facts={"n": n})
                    if n and column.is_ranked:
                        ranked.append(column.name)
                    elif n and column.is_control:
                        controls.append(column.name)
                metrics.append(scored.result(c, numbers))
        # explanations are compared with what controls reach without words
        values[EXPLAINED] = {**{c: values[AUC][c] for c in controls}, **values[EXPLAINED]}
        tests = {key: _Tests(key, of, image, counts, settings) for key, of in values.items()}
        of_measure = {key: [name for name in ranked if name in values[key]] for key in values}
        against = {
            key: entry
            for key, each in tests.items()
            if (entry := each.against_control(of_measure[key], controls)) is not None
        }
        chance = float(np.mean([np.mean(c.wrong) for c in captions]))
        return MeasuredResult(
            experiment=self.name,
            dataset=data.judged.name,
            title=data.judged.title,
            facts={
                "Images": len(labels),
                "Captions": len(captions),
                "Words": sum(len(c.words) for c in captions),
            },
            settings={**settings._asdict(), "chance_of_first": chance},
            metrics=tuple(metrics),
            declared=tuple(m for m in MEASURES if m.key != EXPLAINED or scores.explained),
            comparisons={key: each.between(of_measure[key]) for key, each in tests.items()},
            controls=against,
            notes=(BY_CHANCE.format(100 * chance), *NOTES),
        )


class _Tests:
    """Tests of differences in a mean over captions, by exchanging two columns on whole images."""

    def __init__(
        self,
        measure: str,
        values: Mapping[str, Floats],
        image: np.ndarray,
        counts: Counts,
        settings: LocalisationSettings,
    ) -> None:
        self.measure, self.values, self.image = measure, values, image
        self.counts, self.settings = counts, settings

    def _gaps(self, a: str, b: str) -> Floats:
        """What each image adds to the difference of the means, on the common captions."""
        gap = self.values[a] - self.values[b]
        known = ~np.isnan(gap)
        added = np.bincount(self.image[known], gap[known], minlength=self.counts.shape[1])
        return np.asarray(added / max(1, int(known.sum())), np.float64)

    def _test(self, pairs: Sequence[tuple[str, str]]) -> list[PairTest]:
        s = self.settings
        intervals = [
            _mean(self.values[a] - self.values[b], self.image, self.counts, s.confidence).interval
            or (np.nan, np.nan)
            for a, b in pairs
        ]
        common = [int((~np.isnan(self.values[a] - self.values[b])).sum()) for a, b in pairs]
        table = np.stack([self._gaps(*pair) for pair in pairs], axis=1)
        return gap_differences(
            table, replicates=s.permutations, seed=s.seed, intervals=intervals, n=common
        )

    def against_control(
        self, ranked: Sequence[str], controls: Sequence[str]
    ) -> AgainstControl | None:
        """The columns against the best control; `None` without metrics or controls."""
        means = {name: float(np.nanmean(self.values[name])) for name in (*ranked, *controls)}
        tested = against_best_control(
            {self.measure: means},
            ranked,
            controls,
            lambda asked: self._test([(m, c) for _, m, c in asked]),
            "metrics against the best control",
            alpha=self.settings.alpha,
            gapped=[name for name in ranked if np.isnan(self.values[name]).any()],
            difference=lambda _, metric, control: float(self._gaps(metric, control).sum()),
        )
        if self.measure not in tested:
            return None
        return AgainstControl.of(tested[self.measure], self.measure, self.settings.alpha)

    def between(self, ranked: Sequence[str]) -> Comparisons:
        pairs, alpha = list(combinations(ranked, 2)), self.settings.alpha
        tests = dict(zip(pairs, self._test(pairs), strict=True)) if pairs else {}
        return Comparisons.tested(tests, self.measure, "pairs of metrics", alpha)


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
    n_images, n = int((sizes > 0).sum()), int(known.sum())
    return Estimate.resampled(values[known].mean(), drawn, confidence, n_images, n)


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
