"""Fitted controls: the best prediction of ratings from features that see no truth.

A control with a fixed sign ("longer is better") understates what such features reach. Each control
here is a ridge regression on what can be known of the caption alone, of the references alone, or of
the image alone. A prediction is never fitted on the ratings of its own image.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from metaeval.data.dataset import Absent
from metaeval.data.judgments.judged import Judgments
from metaeval.experiments.judgments.agreement import agreement_of, of_view
from metaeval.experiments.judgments.sample import RankedScores, Sample
from metaeval.results.judgments import Correlation, HumanAgreement, JudgmentSettings
from metaeval.runs.records import ScoreColumn
from metaeval.stats.agreement.fitted_control import fitted_control
from metaeval.stats.correlation.correlations import Correlations
from metaeval.stats.resampling.items import Floats, Ints

FOLDS, PENALTY = 5, 1.0
TEXT, REFERENCES, IMAGE = "Fitted text", "Fitted references", "Fitted image"
_FUNCTION_WORDS = (
    "a", "an", "the", "and", "of", "in", "on", "at", "with", "to", "is", "are", "his", "her",
    "while", "that", "there",
)  # fmt: skip


def column_of(name: str) -> ScoreColumn:
    """The score column of a fitted control."""
    return ScoreColumn(name, bounds=(-np.inf, np.inf), control=True, headline=False)


def signature(name: str) -> str:
    """The identity of a fitted control."""
    return f"{name.lower().replace(' ', '-')}|ridge:{PENALTY:g}|folds:{FOLDS}|by:image|v:1"


def features_of(judged: Judgments) -> Mapping[str, Floats]:
    """Control → features [n, k]: of the caption, of its references, of the annotated objects.

    "Fitted references" is left out where no caption has references, and "Fitted image" where the
    images have no annotated objects. NaN where one caption's are missing.
    """
    tables = {TEXT: np.array([text_features(j.candidate) for j in judged.judged])}
    references = np.array([reference_features(j.references) for j in judged.judged])
    if not np.isnan(references).all():
        tables[REFERENCES] = references
    objects = judged.dataset.part("objects")
    if not isinstance(objects, Absent):
        keys = [judged.dataset.image_ids[k] for k in judged.image_index]
        known = {key: objects.get(key) for key in set(keys)}
        tables[IMAGE] = np.array(
            [image_features([] if known[k] is None else known[k].labels, known[k]) for k in keys]
        )
    return tables


def text_features(caption: str) -> list[float]:
    """Lengths, variety, punctuation and function words of a caption."""
    words = caption.lower().split()
    n = max(len(words), 1)
    return [
        len(words),
        len(caption),
        sum(map(len, words)) / n,
        len(set(words)) / n,
        caption.count(","),
        float(caption[:1].isupper()),
        float(caption.rstrip().endswith(".")),
        *(words.count(word) / n for word in _FUNCTION_WORDS),
    ]


def reference_features(references: Sequence[str]) -> list[float]:
    """Number, lengths, variety and mutual overlap of the references; NaN without any."""
    if not references:
        return [float("nan")] * 5
    sets = [set(reference.lower().split()) for reference in references]
    lengths = [len(reference.split()) for reference in references]
    overlaps = [len(a & b) / max(len(a | b), 1) for k, a in enumerate(sets) for b in sets[k + 1 :]]
    return [
        len(references),
        float(np.mean(lengths)),
        float(np.std(lengths)),
        len(set().union(*sets)),
        float(np.mean(overlaps)) if overlaps else 0.0,
    ]


def image_features(labels: Sequence[str], objects: object) -> list[float]:
    """Number, variety and kinds of the annotated objects; NaN where there are none known."""
    if objects is None:
        return [float("nan")] * 4
    return [
        len(labels),
        len(set(labels)),
        sum(label == "person" for label in labels),
        float("person" in labels),
    ]


class FittedResult(NamedTuple):
    """A fitted control: by dimension its predictions, agreement and replicates."""

    name: str
    columns: Mapping[str, RankedScores]
    human: Mapping[str, HumanAgreement]
    replicates: Mapping[str, Correlations]


def fitted_results(
    sample: Sample, statistic: Correlation, settings: JudgmentSettings
) -> list[FittedResult]:
    """Every fitted control in every dimension; on a part of the captions it is fitted there."""
    confidence, results = settings.confidence, []
    for name, features in features_of(sample.judged).items():
        columns, human, replicates = {}, {}, {}
        for dimension, given in sample.ratings.items():
            column = RankedScores(
                name, predictions(features, given.mean, sample.image, settings.seed)
            )
            agreement, resampled = agreement_of(column, given, sample, statistic, confidence)
            views = {}
            for view in sample.views:
                ratings = np.where(view.captions, given.mean, np.nan)
                of_part = RankedScores(
                    name, predictions(features, ratings, sample.image, settings.seed)
                )
                views[view.name] = of_view(
                    of_part, given, view, sample.counts, statistic, confidence
                )
            columns[dimension], replicates[dimension] = column, resampled
            human[dimension] = agreement.model_copy(update={"views": views})
        results.append(FittedResult(name, columns, human, replicates))
    return results


def predictions(features: Floats, ratings: Floats, image: Ints, seed: int) -> Floats:
    """[n] Ratings predicted from features, out of fold by image; ratings of NaN are not fitted."""
    return fitted_control(
        features, ratings, image, folds=FOLDS, penalty=PENALTY, seed=seed
    ).predictions
