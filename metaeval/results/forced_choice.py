"""The result of `experiment=forced_choice`: which of two captions do metrics and people prefer?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from metaeval.results.base import Estimate, Model, Number
from metaeval.results.comparison import AgainstControl, Comparisons
from metaeval.results.metric import MetricResult
from metaeval.results.run import Measure, RunResult

MEAN = "mean"  # the mean over the categories, as a group of pairs


class ChoiceAgreement(Model):
    """How often a metric chooses as most people do, with this number of references.

    Attributes
    ----------
    n_references
        The references of each pair.
    draws
        The random choices of the references that were averaged.
    categories
        Category of pairs → accuracy in [0, 1], with its interval by resampling images, and the
        pairs that the metric could score.
    mean
        The mean over the categories.
    draw_sd
        Category → standard deviation of the accuracy over the draws; empty with one draw.
    """

    n_references: int
    draws: int
    categories: Mapping[str, Estimate]
    mean: Estimate
    draw_sd: Mapping[str, Number] = {}

    def accuracy(self, group: str) -> Estimate:
        """The accuracy of a category, or the mean."""
        return self.mean if group == MEAN else self.categories[group]


class ForcedChoiceStatistics(Model):
    """A metric's accuracies, one entry for each number of references."""

    choice: tuple[ChoiceAgreement, ...]


class ForcedChoiceSettings(Model):
    """What the statistics depend on, besides the data."""

    replicates: int
    confidence: float
    seed: int
    permutations: int
    alpha: float


class ForcedChoiceFacts(Model):
    """Counts; `undecided` are pairs on which people are equally divided."""

    pairs: int
    images: int
    undecided: int


class PublishedChoice(Model):
    """Published accuracies: metric → category → value in [0, 1]."""

    source: str
    n_references: int
    values: Mapping[str, Mapping[str, float]]


class ForcedChoiceResult(RunResult[ForcedChoiceStatistics]):
    """Metrics against people who chose one of two captions.

    Attributes
    ----------
    title
        What a reader calls the dataset.
    labels
        Whose votes are used: "consensus", "direct", or "votes" where the data has one set.
    ties
        What equal scores, and people who are divided, count: "half" or "wrong".
    label_agreement
        Category, and "all" → the share of pairs on which both sets of labels agree; `None` where
        the data has one set.
    people
        Category, and "mean" → how often one person votes as the majority of the others; `None`
        for consensus labels, which are of different people for each reference.
    draws
        The random choices of the references.
    unit
        What pairs are about and intervals resample: images, or audio clips.
    average
        What the mean is over: categories, or all pairs.
    groups
        The categories that occur, and "mean".
    n_references
        The numbers of references; the keys of `controls` and `differences`.
    controls
        Group → every metric against the best control; `None` without metrics or controls.
    differences
        Every pair of metrics over all pairs of captions, by permutation and bootstrap.
    """

    experiment: Literal["forced_choice"] = "forced_choice"
    title: str
    settings: ForcedChoiceSettings
    facts: ForcedChoiceFacts
    labels: str
    ties: Literal["half", "wrong"]
    label_agreement: Mapping[str, float] | None
    people: Mapping[str, float] | None
    published: PublishedChoice
    draws: int
    unit: Literal["image", "clip"] = "image"
    average: Literal["categories", "pairs"] = "categories"
    groups: tuple[str, ...]
    n_references: tuple[int, ...]
    controls: Mapping[int, Mapping[str, AgainstControl] | None]
    differences: Mapping[int, Comparisons]

    def measures(
        self, metric: MetricResult[ForcedChoiceStatistics]
    ) -> Iterator[tuple[Measure, Estimate]]:
        """The mean accuracy with each number of references."""
        for choice in metric.statistics.choice if metric.statistics is not None else ():
            n = choice.n_references
            title = f"agreement with people, {n} reference{'' if n == 1 else 's'}"
            yield Measure(f"agreement_{n}", title), choice.mean
