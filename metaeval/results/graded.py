"""The result of `experiment=graded`, `replace` and `shuffle`: the order of corrupted versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from metaeval.results.base import Estimate, Model, Number
from metaeval.results.comparison import Comparison, Comparisons
from metaeval.results.metric import MetricResult, Spread
from metaeval.results.run import Measure as SweepMeasure
from metaeval.results.run import RunResult
from metaeval.stats.dose import DoseRecord
from metaeval.stats.ordering.graded import GradedRecord, StepEstimate
from metaeval.stats.ordering.selected import SelectedRecord
from metaeval.stats.ordering.variance_parts import VarianceParts
from metaeval.stats.significance.comparison import ALPHA

Measure = Literal["rank_order_rho", "rank_order_rho_within", "pairwise_accuracy"]
MEASURES: tuple[Measure, ...] = ("rank_order_rho", "rank_order_rho_within", "pairwise_accuracy")
CEILING = "ceiling"  # the family of the control whose scores are the levels


class SetScores(Model):
    """The scores of one set: number, mean, standard deviation (n − 1) and quantiles.

    `quantiles` maps "0.05" … to the score; `level` is the set's level, 0 = worst.
    """

    level: int
    n: int
    mean: Number
    std: Number
    quantiles: Mapping[str, Number]


class StepAuc(Model):
    """The AUC of one step between neighbouring levels: 0.5 is chance; ties count half."""

    lower: str
    upper: str
    auc: Estimate

    @classmethod
    def of(cls, step: StepEstimate) -> StepAuc:
        """From an entry of `adjacent_auc` of `graded_statistics`."""
        return cls(lower=step.lower, upper=step.upper, auc=Estimate.of(step.auc))


class Step(Model):
    """A step from one level to the next, by the names of their sets."""

    lower: str
    upper: str


class VarianceShares(Model):
    """Shares of the variance of the scores: between images, between levels, and the rest."""

    image: Number
    level: Number
    rest: Number

    @classmethod
    def of(cls, parts: VarianceParts) -> VarianceShares:
        """From what `variance_parts` returns."""
        return cls(image=parts.image, level=parts.level, rest=parts.rest)


class SelectedStatistics(Model):
    """The measures on a part of the images or levels; intervals in closed form.

    Attributes
    ----------
    n_images
        The images of the part.
    rank_order_rho
        Pooled, in [−1, 1]; without an interval.
    rank_order_rho_within, pairwise_accuracy, monotone_rate
        Means over images, as in `GradedStatistics`.
    """

    n_images: int
    rank_order_rho: Estimate
    rank_order_rho_within: Estimate
    pairwise_accuracy: Estimate
    monotone_rate: Estimate

    @classmethod
    def of(cls, record: SelectedRecord) -> SelectedStatistics:
        """From what `metaeval.stats.ordering.selected.selected_statistics` returns."""
        return cls(
            n_images=record.n_images,
            rank_order_rho=Estimate(value=record.rank_order_rho),
            rank_order_rho_within=Estimate.of(record.rank_order_rho_within),
            pairwise_accuracy=Estimate.of(record.pairwise_accuracy),
            monotone_rate=Estimate.of(record.monotone_rate),
        )


class RhoComponents(Model):
    """Standard deviations of the pooled ρ over images, corruption seeds and tie breaking."""

    image: Number
    seed: Number
    ties: Number


class CorruptionSeeds(Model):
    """The spread over `n` corruption seeds, the run's own included."""

    n: int
    rank_order_rho: Spread
    rank_order_rho_within: Spread
    pairwise_accuracy: Spread
    components: RhoComponents


class GradedStatistics(Model):
    """How one score orders the versions of captions; definitions in docs/statistics.md.

    Attributes
    ----------
    n, n_nan
        The captions, and those that could not be scored.
    sets
        Set → its scores.
    rank_order_rho
        Of all captions in order of score, in [−1, 1]; ties at their expectation.
    rank_order_rho_tie_mean, rank_order_rho_tie_std
        Over random ways of breaking ties.
    rank_order_rho_bounds
        The least and the greatest value that breaking ties can give.
    rank_order_rho_within
        Of the versions of one image, averaged over images, in [−1, 1].
    spearman_rho, kendall_tau_b
        Of level and score over all captions.
    tie_fraction
        The share of pairs of captions with equal scores.
    pairwise_accuracy, pairwise_ties, inversion_rate
        Shares of the pairs of versions of one image that are in order, tied, inverted.
    adjacent_auc
        One entry for each step between neighbouring levels, worst first.
    monotone_rate
        The share of images whose versions are all strictly in order.
    least_seen_step, clearest_step
        The step whose AUC is significantly below (above) that of every other step; else `None`.
    every_level_applied
        The images in which every corruption changed the caption; `None` where all were changed.
    without_floor
        Without the lowest set, where that holds captions of other images.
    seeds
        The spread over corruption seeds, where several were scored.
    worst_images
        Images with the worst inversions, worst first.
    """

    n: int
    n_nan: int
    sets: Mapping[str, SetScores]
    rank_order_rho: Estimate
    rank_order_rho_tie_mean: Number
    rank_order_rho_tie_std: Number
    rank_order_rho_bounds: tuple[Number, Number]
    rank_order_rho_within: Estimate
    spearman_rho: Estimate
    kendall_tau_b: Estimate
    tie_fraction: Number
    pairwise_accuracy: Estimate
    pairwise_ties: Number
    adjacent_auc: tuple[StepAuc, ...]
    monotone_rate: Estimate
    inversion_rate: Estimate
    variance: VarianceShares
    least_seen_step: Step | None = None
    clearest_step: Step | None = None
    every_level_applied: SelectedStatistics | None = None
    without_floor: SelectedStatistics | None = None
    seeds: CorruptionSeeds | None = None
    worst_images: tuple[int | str, ...] = ()

    @classmethod
    def of(cls, record: GradedRecord, **more: Any) -> GradedStatistics:
        """From what `metaeval.stats.ordering.graded.graded_statistics` returns."""
        return cls(
            sets={name: SetScores(**s._asdict()) for name, s in record.sets.items()},
            rank_order_rho=Estimate.of(record.rank_order_rho),
            rank_order_rho_tie_mean=record.rank_order_rho_tie_mean,
            rank_order_rho_tie_std=record.rank_order_rho_tie_std,
            rank_order_rho_bounds=record.rank_order_rho_bounds,
            rank_order_rho_within=Estimate.of(record.rank_order_rho_within),
            spearman_rho=Estimate.of(record.spearman_rho),
            kendall_tau_b=Estimate.of(record.kendall_tau_b),
            tie_fraction=record.tie_fraction,
            pairwise_accuracy=Estimate.of(record.pairwise_accuracy),
            pairwise_ties=record.pairwise_ties,
            adjacent_auc=tuple(StepAuc.of(step) for step in record.adjacent_auc),
            monotone_rate=Estimate.of(record.monotone_rate),
            inversion_rate=Estimate.of(record.inversion_rate),
            variance=VarianceShares.of(record.variance),
            **more,
        )

    def estimate(self, measure: Measure) -> Estimate:
        """The measure of that name."""
        return {
            "rank_order_rho": self.rank_order_rho,
            "rank_order_rho_within": self.rank_order_rho_within,
            "pairwise_accuracy": self.pairwise_accuracy,
        }[measure]


class CaptionSet(Model):
    """One set of versions.

    Attributes
    ----------
    name, level
        "Replace 25%", and its level, 0 = worst.
    n, n_applied, n_unapplied
        Its captions, and how many of them were changed and were not.
    requested_rate, mean_realised_rate
        Shares of words in [0, 1]; `None` of corruptions without a rate.
    mean_harm
        The share of statements that became false or were lost, where that is known.
    expected
        What the corruption should do to a score: "lower" or "same".
    """

    name: str
    level: int
    n: int
    n_applied: int
    n_unapplied: int
    requested_rate: Number = None
    mean_realised_rate: Number = None
    mean_harm: Number = None
    expected: str | None = None


class StatisticsSettings(Model):
    """The settings of the statistics; `tie_seeds` are the seeds of random tie breaking."""

    seed: int
    replicates: int
    confidence: float
    tie_seeds: tuple[int, ...] = ()


class HalfDose(Model):
    """The dose at which half of the effect is reached.

    `dose` is in [0, 1]; where there is none, `why` says so. An end of `ci` that is `None` lies
    beyond the greatest dose.
    """

    dose: Number
    ci: tuple[Number, Number] | None = None
    why: str | None = None


class DoseCurve(Model):
    """The scores of one metric by dose; definitions in `metaeval.stats.dose`.

    Attributes
    ----------
    n, n_seeds
        Images with all versions scored in every seed, and seeds.
    change, seed_sd
        At each of k doses the change from dose 0 in standard deviations within an image, and its
        standard deviation over seeds (`None` with one seed).
    floor
        The change of other images' captions; `None` without them.
    trend_p
        p-value of Page's test that scores fall with the dose.
    falls_throughout, rises
        Whether each step is a fall, and the steps that are rises.
    half_effect
        The dose of half of the effect.
    rho, rho_seed_sd, within
        At each of the k − 1 doses above 0: the rank-order ρ of that dose against dose 0, pooled,
        its standard deviation over seeds, and within an image.
    """

    n: int
    n_seeds: int
    change: tuple[Estimate, ...]
    seed_sd: tuple[Number, ...] | None
    floor: Estimate | None
    trend_p: Number
    falls_throughout: bool
    rises: tuple[int, ...]
    half_effect: HalfDose
    rho: tuple[Estimate, ...]
    rho_seed_sd: tuple[Number, ...]
    within: tuple[Estimate, ...]

    @classmethod
    def of(cls, record: DoseRecord) -> DoseCurve:
        """From what `metaeval.stats.dose.dose_record` returns."""
        response, floor = record.response, None
        if response.floor is not None:
            low, high = response.floor_ci or (None, None)
            floor = Estimate(value=response.floor, low=low, high=high)
        return cls(
            n=response.n,
            n_seeds=response.n_seeds,
            change=tuple(
                Estimate(value=value, low=low, high=high)
                for value, (low, high) in zip(response.change, response.change_ci, strict=True)
            ),
            seed_sd=tuple(response.seed_sd) if response.n_seeds > 1 else None,
            floor=floor,
            trend_p=response.trend_p,
            falls_throughout=response.falls_throughout,
            rises=tuple(response.rises),
            half_effect=HalfDose(**response.half._asdict()),
            rho=tuple(Estimate.of(estimate) for estimate in record.rho),
            rho_seed_sd=tuple(record.rho_seed_sd),
            within=tuple(Estimate.of(estimate) for estimate in record.within),
        )


class Dose(Model):
    """Dose and response of a run with several rates.

    `doses` ascend from 0, the human caption; `sets` and `realised` are the sets' names and the mean
    shares of words that were changed; `floor` is the set of other images' captions.
    """

    doses: tuple[float, ...]
    sets: tuple[str, ...]
    realised: tuple[Number, ...]
    floor: str | None
    metrics: Mapping[str, DoseCurve]


class ImageGroup(Model):
    """The measures on images that are alike: `by` says in which respect, `label` how."""

    by: str
    label: str
    n_images: int
    metrics: Mapping[str, SelectedStatistics]


# the measures that a sweep compares; its page shows the first three
SWEEP_MEASURES = (
    SweepMeasure("rank_order_rho", "rank-order ρ"),
    SweepMeasure("rank_order_rho_within", "rank-order ρ within an image"),
    SweepMeasure("pairwise_accuracy", "pairwise accuracy"),
    SweepMeasure("spearman_rho", "Spearman's ρ", False),
    SweepMeasure("kendall_tau_b", "Kendall's τ-b", False),
    SweepMeasure("tie_fraction", "share of ties", False),
    SweepMeasure("monotone_rate", "share of images in order", False),
    SweepMeasure("inversion_rate", "share of inverted pairs", False),
)


SATURATED = 0.995  # ρ within an image, above which little room is left for a better metric


class GradedResult(RunResult[GradedStatistics]):
    """The result of a run of graded corruption.

    Attributes
    ----------
    n_images
        The images of the run.
    sets
        The sets of versions, worst first.
    leading_column
        The column with the best pooled ρ, whose images the report shows first; `None` where no
        metric ran.
    differences
        Measure → all pairs of metrics; Holm's correction runs over the pairs of a measure.
    against_control
        Measure → every column against the best control of the measure; empty without controls.
    power
        The chance of finding a difference, to which `detectable` and `images_needed` refer.
    dose
        Dose and response, of runs with three rates or more.
    groups
        The measures on images that are alike.
    """

    experiment: Literal["graded", "replace", "shuffle", "sample_size"]
    n_images: int
    settings: StatisticsSettings
    sets: tuple[CaptionSet, ...]
    leading_column: str | None
    differences: Mapping[Measure, Comparisons]
    against_control: Mapping[Measure, Comparisons] = {}
    power: float = 0.8
    dose: Dose | None = None
    groups: tuple[ImageGroup, ...] = ()

    def alpha(self) -> float:
        """The level of significance of the run."""
        return next((c.alpha for c in self.differences.values()), ALPHA)

    def measures(
        self, metric: MetricResult[GradedStatistics]
    ) -> Iterator[tuple[SweepMeasure, Estimate]]:
        """The numbers of a metric that a sweep compares."""
        if (numbers := metric.statistics) is not None:
            values = (
                numbers.rank_order_rho,
                numbers.rank_order_rho_within,
                numbers.pairwise_accuracy,
                numbers.spearman_rho,
                numbers.kendall_tau_b,
                Estimate(value=numbers.tie_fraction),
                numbers.monotone_rate,
                numbers.inversion_rate,
            )
            yield from zip(SWEEP_MEASURES, values, strict=True)

    def saturated(self) -> list[str]:
        """The metrics, without controls and parts, whose ρ within an image is nearly 1."""
        return [
            m.name
            for m in self.metrics
            if m.statistics is not None
            and not m.column.control
            and m.column.part_of is None
            and (m.statistics.rank_order_rho_within.value or 0.0) >= SATURATED
        ]

    @property
    def unchanged(self) -> bool:
        """Whether no corruption changed any caption."""
        *corrupted, _ = self.sets  # the last is the human caption
        return bool(corrupted) and not any(s.n_applied for s in corrupted)

    def control_comparison(self, name: str, measure: Measure) -> Comparison | None:
        """A column minus the best control of the measure; `None` where it was not compared."""
        compared = self.against_control.get(measure)
        pairs = compared.pairs if compared is not None else ()
        return next((pair for pair in pairs if pair.a == name), None)
