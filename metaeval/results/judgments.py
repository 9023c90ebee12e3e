"""The result of `experiment=judgments`: agreement with people who rated captions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from metaeval.results.base import Estimate, Model, Number
from metaeval.results.comparison import AgainstControl, Comparisons
from metaeval.results.metric import MetricResult
from metaeval.results.run import Measure, RunResult

Correlation = Literal["pearson", "spearman", "kendall_tau_b", "kendall_tau_c"]

PAIRS, SYSTEMS = "pairs", "systems"  # the keys of `JudgmentsResult.accuracy_controls`
_TITLES: Mapping[Correlation, str] = {
    "pearson": "Pearson's r",
    "spearman": "Spearman's ρ",
    "kendall_tau_b": "Kendall's τ-b",
    "kendall_tau_c": "Kendall's τ-c",
}


class CorrelationEstimates(Model):
    """Correlations of a score with ratings over the rows of a protocol, each in [−1, 1].

    Attributes
    ----------
    n
        The rows that the metric could score.
    pearson, spearman, kendall_tau_b, kendall_tau_c
        With intervals by resampling images; on a part of the captions only the protocol's
        correlation has one.
    """

    n: int
    pearson: Estimate
    spearman: Estimate
    kendall_tau_b: Estimate
    kendall_tau_c: Estimate

    def estimate(self, statistic: Correlation) -> Estimate:
        """The correlation of that name."""
        return {
            "pearson": self.pearson,
            "spearman": self.spearman,
            "kendall_tau_b": self.kendall_tau_b,
            "kendall_tau_c": self.kendall_tau_c,
        }[statistic]


class CalibratedAccuracy(Model):
    """Pairwise accuracy within images, with tie calibration (Deutsch et al. 2023).

    Attributes
    ----------
    accuracy
        The share of pairs of captions of one image that the metric orders, or ties, as people do.
    epsilon
        Scores that differ by at most this count as tied: the value that is best for the metric.
    uncalibrated
        The same accuracy at ε = 0.
    tied
        The share of the pairs that ε makes ties.
    n_pairs, total_pairs, n_images
        The pairs that were compared, all that there are (more where pairs were drawn), and the
        images that have some.
    """

    accuracy: Estimate
    epsilon: Number
    uncalibrated: Number
    tied: Number
    n_pairs: int
    total_pairs: int
    n_images: int


class SystemMean(Model):
    """A system's mean score and mean rating; `None` where it has no scored caption."""

    score: Number
    human: Number


class SystemAgreement(Model):
    """Agreement over systems, of their mean scores with their mean ratings.

    `accuracy` is the share of pairs of systems in the same order (Kocmi et al. 2021).
    """

    means: Mapping[str, SystemMean]
    pearson: Estimate
    kendall_tau_b: Estimate
    accuracy: Estimate


class CommonRows(Model):
    """The protocol's correlation on the rows that all metrics could score."""

    n: int
    value: Number


class BinaryAgreement(Model):
    """How well a score separates captions of two labels, over all images together.

    Attributes
    ----------
    positive
        The share of the captions with the label 1 ("true"), the value of an uninformative score
        for average precision; such a score's AUROC is 0.5.
    average_precision, auroc
        Of the captions with the label 1. Where a higher label means a worse caption
        (`dataset.higher_is_better=false`), the lowest scores are expected to have it.
    """

    positive: Number
    average_precision: Estimate
    auroc: Estimate


class PreferredShare(Model):
    """P(people prefer the higher score) at a score difference, over the pairs rated differently.

    `logistic` has an interval by resampling images; `isotonic` assumes only that the curve does
    not fall, and shows whether the logistic curve fits.
    """

    difference: float
    logistic: Estimate
    isotonic: Number


class RaterReplacement(Model):
    """The alternative annotator test (Calderon et al. 2025): may the metric replace a rater?

    Attributes
    ----------
    winning_rate
        The share of raters against whom the metric wins; at least one half: it may replace one.
    advantage
        The mean probability that the metric is at least as close to the other raters.
    raters, items
        How many raters were tested, and the fewest items of one.
    epsilon
        How much worse than a rater the metric may be.
    """

    winning_rate: float
    advantage: float
    raters: int
    items: int
    epsilon: float

    @property
    def passes(self) -> bool:
        """Whether the metric may replace a rater."""
        return self.winning_rate >= 0.5


class FurtherAgreement(Model):
    """What else a column's agreement shows; each with its interval by resampling images.

    Attributes
    ----------
    difference_pearson
        Pearson's r over all differences between two captions of one image (PDP).
    cross_fitted_accuracy
        Pairwise accuracy whose ε is fitted on other images.
    disattenuated
        r with the mean rating, free of the raters' noise; `None` where captions have one rating, or
        different numbers.
    labels_worth
        How many labels without the metric 100 labels with it are worth; `n` captions.
    noticed
        The score difference that people prefer in 75 % of the pairs that they rate differently;
        `None` as its value or end is "never", `n` pairs.
    soft_pairwise_accuracy
        SPA over systems; `None` where fewer than two are known.
    preferred
        The curve of which `noticed` is a point; empty where `noticed` is `None`.
    replaces_rater
        `None` where it is not known who gave a rating, or raters have too few captions.
    """

    difference_pearson: Estimate
    cross_fitted_accuracy: Estimate
    disattenuated: Estimate | None = None
    labels_worth: Estimate
    noticed: Estimate | None = None
    soft_pairwise_accuracy: Number = None
    preferred: tuple[PreferredShare, ...] = ()
    replaces_rater: RaterReplacement | None = None


class ScoreGroup(Model):
    """The captions of one rating.

    Attributes
    ----------
    rating
        The nearest integer of their mean ratings, or a part of the ratings' range.
    mean
        Their mean score, where more is better (a metric of which less is better is negated).
    step
        The difference from the mean of the group below, in standard deviations of all scores;
        `None` for the lowest group.
    """

    rating: str
    mean: Estimate
    step: Number = None


class HumanAgreement(CorrelationEstimates):
    """A metric's agreement with the ratings of one dimension.

    Attributes
    ----------
    accuracy
        Pairwise accuracy within images.
    system
        Agreement over systems; `None` where fewer than two are known.
    views
        Part of the captions ("without Human", "8k") → the correlations there.
    length_controlled
        Partial Pearson's r with the caption's number of words held fixed; undefined (`None`) for a
        score that the length determines.
    common
        The correlation that metrics are ranked by where they could score different rows; `None`
        where all scored the same, and for columns that are not ranked.
    further
        Of ranked columns and controls; `None` for parts, and for constant columns.
    binary
        Average precision and AUROC; `None` where the ratings have more than two values.
    groups
        The mean score by people's rating, lowest rating first; empty with fewer than two groups.
    """

    accuracy: CalibratedAccuracy
    system: SystemAgreement | None = None
    views: Mapping[str, CorrelationEstimates] = {}
    length_controlled: Estimate | None = None
    common: CommonRows | None = None
    further: FurtherAgreement | None = None
    binary: BinaryAgreement | None = None
    groups: tuple[ScoreGroup, ...] = ()

    def ranked_by(self, statistic: Correlation) -> float | None:
        """What metrics are ranked by: the correlation on common rows, where rows differ."""
        return self.common.value if self.common else self.estimate(statistic).value


class JudgmentStatistics(Model):
    """A metric against people.

    Attributes
    ----------
    n, n_nan
        Captions with and without a score.
    n_nan_without_references
        Captions without a score that have no references.
    n_distinct
        How many different scores occur. τ-c overstates a column of few values.
    ties
        The share of all pairs of captions with exactly equal scores.
    human
        Dimension ("rating", "precision") → the agreement.
    """

    n: int
    n_nan: int
    n_nan_without_references: int
    n_distinct: int | None = None
    ties: Number
    human: Mapping[str, HumanAgreement]


FEW_VALUES = 20


def has_few_values(statistics: JudgmentStatistics) -> bool:
    """Whether a column has so few different scores that τ-c overstates it: compare by τ-b."""
    return statistics.n_distinct is not None and statistics.n_distinct < FEW_VALUES


class JudgmentSettings(Model):
    """What the statistics depend on, besides the data.

    `swap` is what the permutation test swaps: "both", "image" or "system"; `fitted` whether fitted
    controls were made.
    """

    replicates: int
    confidence: float
    seed: int
    permutations: int
    swap: str
    alpha: float
    fitted: bool = True


class ProtocolInfo(Model):
    """How judged captions became rows of a correlation (`metaeval.data.judgments.protocol`)."""

    name: str
    own_captions: Literal["drop", "unreference", "leave_out", "keep"]
    ratings: Literal["each", "mean"]
    documents: Literal["rating", "pair", "image"]
    statistic: Correlation


class JudgmentFacts(Model):
    """Counts of captions and images; `rows` is dimension → rows of the correlations.

    `candidate_words` and `reference_words` are the mean numbers of words between white space.
    """

    judged_in_files: int
    images_in_files: int
    own_captions: int
    judged: int
    images: int
    without_references: int
    documents: int
    rows: Mapping[str, int]
    candidate_words: Number = None
    reference_words: Number = None

    @property
    def length_ratio(self) -> float | None:
        """How many times as long as the references the captions are; `None` without references."""
        if not self.candidate_words or not self.reference_words:
            return None
        return self.candidate_words / self.reference_words


class PublishedAgreement(Model):
    """Published values of the protocol's correlation, in [−1, 1].

    Attributes
    ----------
    source
        The paper.
    digits
        The decimals of the percentages that it printed.
    values
        Dimension → metric → value.
    views
        Part of the captions → dimension → metric → value.
    """

    source: str
    digits: int
    values: Mapping[str, Mapping[str, float]]
    views: Mapping[str, Mapping[str, Mapping[str, float]]]


class PeopleAgreement(Model):
    """How far one rating of a caption agrees with its other ratings.

    Raters are taken as exchangeable: no column of ratings is one person.

    Attributes
    ----------
    value
        The protocol's correlation, the expectation over which rating of each caption is left out.
    raters, captions
        The ratings of each caption, and the captions.
    sorted_rows
        Whether the ratings ascend (or descend) within every caption: the columns are then minimum
        to maximum.
    """

    value: Number
    raters: int
    captions: int
    sorted_rows: bool = False


class JudgmentsResult(RunResult[JudgmentStatistics]):
    """Metrics against people who rated captions.

    Attributes
    ----------
    title
        What a reader calls the dataset.
    dimensions
        What people rated; the keys of `controls`, `people` and `differences`.
    controls
        Every metric against the best control; `None` without metrics or controls.
    accuracy_controls
        The same for the accuracy on "pairs" of captions of an image and on pairs of "systems".
    systems
        The names of the systems that wrote the captions; empty where they are not known.
    views
        Part of the captions → how many.
    people
        Agreement among people; `None` where captions have one rating, or different numbers.
    differences
        Every pair of metrics, by permutation, bootstrap and Williams' test.
    """

    experiment: Literal["judgments"] = "judgments"
    title: str
    settings: JudgmentSettings
    protocol: ProtocolInfo
    facts: JudgmentFacts
    dimensions: tuple[str, ...]
    published: PublishedAgreement
    controls: Mapping[str, AgainstControl | None]
    accuracy_controls: Mapping[str, Mapping[str, AgainstControl | None]]
    systems: tuple[str, ...]
    views: Mapping[str, int]
    people: Mapping[str, PeopleAgreement | None]
    differences: Mapping[str, Comparisons]

    def outside_intervals(self) -> list[str]:
        """A sentence on the correlations that their own intervals do not contain, if there are any.

        The percentile bootstrap draws some images twice and so compares captions of one image more
        often than the sample does. With few images that can shift a correlation.
        """
        statistic, found = self.protocol.statistic, []
        for metric in self.metrics:
            if metric.statistics is None or metric.column.part_of is not None:
                continue
            for dimension, agreement in metric.statistics.human.items():
                if not agreement.estimate(statistic).is_inside:
                    found.append(f"{metric.name} ({dimension})")
        if not found:
            return []
        return [
            f"Outside its own interval: {', '.join(found)}. A bootstrap over few images can shift "
            f"a correlation ({self.facts.images:,} here); use more images"
        ]

    def measures(
        self, metric: MetricResult[JudgmentStatistics]
    ) -> Iterator[tuple[Measure, Estimate]]:
        """The protocol's correlation with people and the accuracy on pairs, in each dimension."""
        if metric.statistics is None:
            return
        statistic = self.protocol.statistic
        several = len(metric.statistics.human) > 1
        for dimension, agreement in metric.statistics.human.items():
            of, key = (f" ({dimension})", f"_{dimension}") if several else ("", "")
            title = f"{_TITLES[statistic]} with people{of}"
            yield Measure(f"{statistic}{key}", title), agreement.estimate(statistic)
            title = f"accuracy on pairs of an image{of}"
            yield Measure(f"accuracy{key}", title), agreement.accuracy.accuracy
