"""Localisation: `python -m metaeval experiment=localisation dataset=table dataset.file=hat.json`.

People marked the words of captions that are wrong. Every metric scores each caption without each of
its words: does the score rise, or fall least, without a wrong word? And where a metric explains its
scores: does the explanation point at the wrong words (`explained.py`)?
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from omegaconf import DictConfig

from metaeval.config import load_dataset
from metaeval.data.judgments.judged import Judgments
from metaeval.experiments import (
    ConfigError,
    ImageId,
    Measure,
    MeasuredResult,
    Metric,
    MetricExperiment,
    MetricScores,
    ToScore,
)
from metaeval.experiments.localisation.explained import suspicion
from metaeval.experiments.measure import Items, MeanOutcome, Outcomes, measure, of_stats
from metaeval.experiments.record import (
    RunRecord,
    language_note,
    write_dataset,
)
from metaeval.experiments.scores import (
    explain_captions,
    open_store,
    score_all,
    upward,
    write_scores,
)
from metaeval.runs.records import CAPTION, IMAGE_ID, ITEM, LEVEL, SET, Edit, Version
from metaeval.runs.store import Store
from metaeval.stats.ordering.pairwise import auc
from metaeval.stats.resampling.items import Floats, encode

DESCRIBED = (
    "{title}: {captions:,} of {all:,} captions have wrong and right words{language}; {words:,} "
    "words, {wrong:,} of them wrong; {records}"
)
AUC, FIRST, EXPLAINED = "localisation_auc", "localisation_first", "explained_auc"
MEASURES = (
    Measure(AUC, "wrong words, AUC", unit="share"),
    Measure(FIRST, "first word wrong", unit="share", primary=True),
    Measure(EXPLAINED, "by explanation, AUC", unit="share", primary=True),
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


def outcome(score: float, without: Floats, wrong: Bools) -> tuple[float, float]:
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
    auc
        The chance that the score rises more (or falls less) without a wrong word than without a
        right one; ties count one half; 0.5 by chance.
    first
        Whether the word without which the score is highest is wrong; of tied words the share that
        is wrong.

    NaN in both where the caption has no score, or no wrong or no right word with one.

    Examples
    --------
    >>> outcome(0.5, np.array([0.4, 0.8, 0.5]), np.array([False, True, False]))
    (1.0, 1.0)
    >>> outcome(0.5, np.array([0.4, 0.4]), np.array([False, True]))
    (0.5, 0.5)
    """
    known = ~np.isnan(without)
    rise, marked = without[known] - score, wrong[known]
    if np.isnan(score) or not marked.any() or marked.all():
        return float("nan"), float("nan")
    first = float(marked[rise == rise.max()].mean())
    return auc(rise[~marked], rise[marked]), first


def outcomes(captions: Sequence[MarkedCaption], scores: Floats) -> tuple[Floats, Floats]:
    """`auc` and `first` [n] of all captions, from the scores of each caption and of the caption
    without each word, one after another."""
    ends = np.cumsum([1 + len(caption.words) for caption in captions])
    found = [
        outcome(of[0], of[1:], np.array(caption.wrong))
        for caption, of in zip(captions, np.split(scores, ends[:-1]), strict=True)
    ]
    aucs, firsts = np.array(found, dtype=np.float64).reshape(-1, 2).T
    return aucs, firsts


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
    """Every caption, and the caption without each of its words."""

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
        write_dataset(record, data.judged.dataset, _versions(data))

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

    def statistics(
        self, data: MarkedData, scores: LocalisationScores, record: RunRecord
    ) -> MeasuredResult:
        stats, captions = record.config.stats, data.captions
        labels, image = encode([c.image for c in captions])
        columns = [column for scored in scores.metrics for column in scored.columns]
        made = {name: outcomes(captions, of) for name, of in upward(scores.metrics).items()}
        aucs, firsts = ({name: of[k] for name, of in made.items()} for k in (0, 1))
        # explanations are compared with what controls reach without words
        controls = {c.name for c in columns if c.is_control}
        known = [n for n, of in aucs.items() if n in controls and not np.isnan(of).all()]
        explained = {**{name: aucs[name] for name in known}, **scores.explained}
        items = Items(image)
        mean = MeanOutcome(items, items.resamples(stats))
        measured = measure(
            [
                Outcomes(each, of_columns, mean, family=each.key)
                for each, of_columns in zip(MEASURES, (aucs, firsts, explained), strict=True)
            ],
            columns,
            stats.confidence,
        )
        for name, values in measured.values.items():
            if name not in scores.explained:  # controls have no explanations
                values.pop(EXPLAINED, None)
        facts_of = {name: {"n": values[AUC].n} for name, values in measured.values.items()}
        chance = float(np.mean([np.mean(c.wrong) for c in captions]))
        return measured.result(
            scores.metrics,
            facts_of,
            experiment=self.name,
            dataset=data.judged.name,
            title=data.judged.title,
            facts={
                "Images": len(labels),
                "Captions": len(captions),
                "Words": sum(len(c.words) for c in captions),
            },
            settings={**of_stats(stats), "chance_of_first": chance},
            declared=tuple(m for m in MEASURES if m.key != EXPLAINED or scores.explained),
            notes=(BY_CHANCE.format(100 * chance), *NOTES),
        )


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
        wrong = np.array(caption.wrong)
        aucs[k] = auc(values[~wrong], values[wrong])
    return {} if np.isnan(aucs).all() else {scored.columns[c].name: aucs}


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
