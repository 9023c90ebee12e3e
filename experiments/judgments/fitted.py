"""Fitted controls of human ratings: by dimension, and on each part of the captions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from metaeval.data.judgments.judged import Judgments
from metaeval.experiments.fitted import (
    IMAGE,
    REFERENCES,
    TEXT,
    image_features,
    predictions,
    reference_features,
    text_features,
)
from metaeval.experiments.judgments.agreement import agreement_of, of_view
from metaeval.experiments.judgments.sample import RankedScores, Sample
from metaeval.results.judgments import Correlation, HumanAgreement, JudgmentSettings
from metaeval.stats.correlation.correlations import Correlations
from metaeval.stats.resampling.items import Floats


def features_of(judged: Judgments) -> Mapping[str, Floats]:
    """Control → features [n, k]: of the caption, of its references, of the annotated objects.

    A control whose features no caption has is left out. NaN where one caption's are missing.
    """
    captions = [j.candidate for j in judged.judged]
    features = {
        TEXT: text_features(judged.dataset, captions, judged.image_index),
        REFERENCES: reference_features([j.references or () for j in judged.judged]),
        IMAGE: image_features(judged.dataset, judged.image_index),
    }
    return {name: table for name, table in features.items() if table is not None}


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
