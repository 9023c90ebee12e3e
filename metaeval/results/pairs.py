"""The result of `experiment=pairs`: how often each metric prefers the true caption."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from metaeval.results.base import Estimate, Model, Number
from metaeval.results.comparison import AgainstControl, Comparisons
from metaeval.results.metric import MetricResult
from metaeval.results.run import Measure, RunResult

Ties = Literal["half", "wrong"]


class Accuracy(Estimate):
    """The share of pairs in which the true caption has the higher score, in [0, 1].

    The interval is of resampled images. `n` is the number of pairs that the metric could score.

    Attributes
    ----------
    ties
        The share of pairs with equal scores.
    untied
        The share of pairs with the true caption higher among the pairs that are not tied; `None`
        where all are.
    """

    ties: Number
    untied: Number


class AccuracyByKind(Model):
    """Accuracies by kind of falsehood, and their means; every kind has the same weight.

    Attributes
    ----------
    kinds
        Kind → accuracy.
    mean
        Over all kinds.
    mean_of_shown
        Over the kinds on which some metric is significantly above the best control; `None`
        without such a kind, or if no control was scored.
    """

    kinds: Mapping[str, Accuracy]
    mean: Accuracy
    mean_of_shown: Accuracy | None = None


class Pooled(Model):
    """How well a score separates false from true captions, over all images together.

    In `accuracy` a caption is compared with the other caption of its image only; here with the
    captions of all images, as where a threshold decides.

    Attributes
    ----------
    average_precision, auroc
        Of the false captions, which are expected to have the lowest scores. A score that says
        nothing has 0.5 of both. Each pair counts with both captions.
    """

    average_precision: Estimate
    auroc: Estimate


class PairsStatistics(Model):
    """The numbers of one score column.

    Attributes
    ----------
    n, n_nan
        Pairs with and without a score of both captions.
    accuracy
        Comparison ("true > false") → accuracies.
    refined
        The same on the pairs that the refinement keeps; `None` without a refinement.
    pooled
        The true and the false captions of all scored pairs together.
    """

    n: int
    n_nan: int
    accuracy: Mapping[str, AccuracyByKind]
    refined: Mapping[str, AccuracyByKind] | None = None
    pooled: Pooled | None = None


class PairsSettings(Model):
    """The settings of the statistics.

    Attributes
    ----------
    replicates
        Bootstrap replicates of the intervals.
    permutations
        Random arrangements of the paired permutation tests.
    ties
        How equal scores count: "half" (as by a coin) or "wrong", for metrics and controls alike.
    """

    replicates: int
    confidence: float
    seed: int
    permutations: int
    alpha: float
    ties: Ties


class PairFacts(Model):
    """Counts of the data: `metaeval.data.pairs.pairs.arrange_pairs`."""

    pairs_in_files: int
    images_in_files: int
    without_captions: int
    pairs: int
    images: int
    true_among_references: int
    false_among_references: int
    near_copies: int
    near_copies_dropped: int
    without_references: int
    documents: int


class Refinement(Model):
    """Which pairs are left when a control is right as often as wrong.

    Attributes
    ----------
    control
        The control's column.
    bins
        The number of bins of the control's gap.
    kinds
        Kind → pairs left.
    """

    control: str
    bins: int
    kinds: Mapping[str, int]


class PairsResult(RunResult[PairsStatistics]):
    """The result of a run on true and false captions.

    Attributes
    ----------
    title
        The benchmark's name for readers.
    kinds
        Kind of falsehood → pairs.
    comparisons
        The comparisons made: "true > false", and for triplets "paraphrase > false" and "both".
    controls
        Comparison → kind → the metrics against the best control; empty without metrics or controls.
        The correction runs over metrics times kinds.
    differences
        Comparison → all pairs of metrics in the mean over kinds.
    """

    title: str
    settings: PairsSettings
    facts: PairFacts
    kinds: Mapping[str, int]
    comparisons: tuple[str, ...]
    controls: Mapping[str, Mapping[str, AgainstControl]]
    differences: Mapping[str, Comparisons]
    refinement: Refinement | None = None

    def measures(self, metric: MetricResult[PairsStatistics]) -> Iterator[tuple[Measure, Estimate]]:
        """The mean accuracy over kinds in each comparison."""
        if metric.statistics is not None:
            for comparison, accuracy in metric.statistics.accuracy.items():
                key = "accuracy_" + "".join(c if c.isalnum() else "_" for c in comparison)
                yield Measure(key, f"accuracy, {comparison}"), accuracy.mean
