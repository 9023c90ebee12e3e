"""The result of `experiment=localisation`: does a score point at the words that are wrong?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from metaeval.results.base import Estimate, Model, Number
from metaeval.results.comparison import AgainstControl, Comparisons
from metaeval.results.metric import MetricResult
from metaeval.results.run import Measure, RunResult


class LocalisationStatistics(Model):
    """How well a metric separates wrong words from right ones: by the change of its score without
    a word, and by its explanation.

    Attributes
    ----------
    n
        The captions that the metric could score with and without their words.
    auc
        The chance that the score rises more (or falls less) without a wrong word than without a
        right one of the same caption; ties count one half. The mean over captions, 0.5 by chance.
    first
        The share of captions in which the word without which the score is highest is wrong; of
        tied words the share that is wrong.
    explained_auc
        As `auc`, of what the metric's explanation says of each word instead of the change without
        it: an unmatched tuple, an object that is not there, the distance to the best match. `None`
        where the explanation says nothing of words.
    """

    n: int
    auc: Estimate
    first: Estimate
    explained_auc: Estimate | None = None


WRONG_WORDS, EXPLANATIONS = "wrong words", "explanations"  # the keys of `controls`


class LocalisationSettings(Model):
    """What the statistics depend on, besides the data."""

    replicates: int
    confidence: float
    seed: int
    permutations: int
    alpha: float


class LocalisationResult(RunResult[LocalisationStatistics]):
    """Leave-one-word-out changes and explanations against the words that people marked as wrong.

    Attributes
    ----------
    n_images, n_captions, n_words
        The captions with both wrong and right words, their images and words.
    chance
        The mean share of wrong words in a caption: what `first` is by chance.
    controls
        Every metric against the best control, by `auc`, under the key "wrong words"; and every
        explanation, by `explained_auc` against the control's `auc`, under "explanations".
    differences
        All pairs of metrics, by `auc`.
    """

    experiment: Literal["localisation"] = "localisation"
    n_images: int
    n_captions: int
    n_words: int
    chance: Number
    controls: Mapping[str, AgainstControl] = {}
    differences: Comparisons
    settings: LocalisationSettings

    def measures(
        self, metric: MetricResult[LocalisationStatistics]
    ) -> Iterator[tuple[Measure, Estimate]]:
        """The measures; the one by explanations only of metrics that have it."""
        if (numbers := metric.statistics) is None:
            return
        yield Measure("localisation_auc", "wrong words, AUC"), numbers.auc
        yield Measure("localisation_first", "first word wrong"), numbers.first
        if numbers.explained_auc is not None:
            explained = Measure("explained_auc", "wrong words by explanation, AUC")
            yield explained, numbers.explained_auc
