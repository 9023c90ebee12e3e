"""The result of `experiment=captioners`: scores of systems, and how far metrics agree on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from metaeval.results.base import Estimate, Model, Number
from metaeval.results.comparison import Comparison, Comparisons
from metaeval.results.graded import VarianceShares
from metaeval.results.metric import MetricResult
from metaeval.results.run import Measure, RunResult
from metaeval.stats.ordering.graded import GradedRecord
from metaeval.stats.significance.comparison import is_significant

Aggregate = Literal["mean of sentences", "corpus"]
MEAN: Aggregate = "mean of sentences"
CORPUS: Aggregate = "corpus"


class CaptionersStatistics(Model):
    """One score of systems: a column of sentence scores, and how systems get one score of it.

    Attributes
    ----------
    sentence_column
        The column of scores.parquet.
    aggregate
        "corpus": the counts of all captions are added up first; or "mean of sentences".
    n, n_nan
        Captions of all systems, and those without a score.
    systems
        System → its score, with an interval by resampling the images; `n` counts its images.
    ranking
        The systems that have a score, best first.
    neighbours
        Each system of the ranking (a) against the next (b). The permutation test is the first of
        the tests; each is corrected over this ranking's neighbours.
    """

    sentence_column: str
    aggregate: Aggregate
    n: int
    n_nan: int
    systems: Mapping[str, Estimate]
    ranking: tuple[str, ...]
    neighbours: Comparisons

    def rank(self, system: str) -> int | None:
        """The place of a system, 1 = first; `None` where it has no score."""
        return 1 + self.ranking.index(system) if system in self.ranking else None

    def is_ahead(self, place: int) -> bool:
        """Whether the system at this place (0 = first) is significantly ahead of the next one.

        False for the last system.
        """
        pairs = self.neighbours.pairs
        return place < len(pairs) and is_ahead(pairs[place], self.neighbours.alpha)


def is_ahead(comparison: Comparison, alpha: float) -> bool:
    """Whether the permutation test, corrected, separates two neighbours of a ranking."""
    return comparison.test is not None and is_significant(comparison.test.p_adjusted, alpha)


class AgainstHuman(Model):
    """The captions of one system (level 0) against people's (level 1), on the images of both.

    Attributes
    ----------
    n
        The images.
    mean, human_mean
        Mean scores of the system's captions and of people's.
    rank_order_rho
        In [−1, 1]; positive: people's captions are ranked above the system's.
    rank_order_rho_tie_mean, rank_order_rho_tie_std
        Over random ways of breaking ties.
    rank_order_rho_bounds
        The least and the greatest value that breaking ties can give.
    rank_order_rho_within
        Of the two captions of one image, averaged over images, in [−1, 1].
    spearman_rho, kendall_tau_b
        Of level and score over all captions.
    tie_fraction
        The share of pairs of captions with equal scores.
    pairwise_accuracy, pairwise_ties, inversion_rate
        Shares of the images on which people's caption scores higher, the same, lower.
    auc
        The probability that a caption of people scores higher than one of the system; ties count
        half.
    """

    n: int
    mean: Number
    human_mean: Number
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
    auc: Estimate
    inversion_rate: Estimate
    variance: VarianceShares

    @classmethod
    def of(cls, record: GradedRecord, n: int) -> AgainstHuman:
        """From what `graded_statistics` returns for two levels, and the number of images."""
        system, human = record.sets.values()
        return cls(
            n=n,
            mean=system.mean,
            human_mean=human.mean,
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
            auc=Estimate.of(record.adjacent_auc[0].auc),
            inversion_rate=Estimate.of(record.inversion_rate),
            variance=VarianceShares.of(record.variance),
        )


class HumanStatistics(Model):
    """One column of sentence scores: system → its captions against people's."""

    systems: Mapping[str, AgainstHuman]


class AgreementMatrix(Model):
    """Kendall's τ-b between all metrics, in [−1, 1].

    Attributes
    ----------
    metrics
        The names of rows and columns.
    n
        What the intervals or pairs are over: systems, or images; `None` over all captions.
    tau_b
        [metrics][metrics], symmetric; intervals by resampling the images.
    """

    metrics: tuple[str, ...]
    n: int | None = None
    tau_b: tuple[tuple[Estimate, ...], ...]

    def mean_with_others(self, metric: str) -> float | None:
        """The mean τ-b of a metric with the other ones; `None` where none is defined."""
        if metric not in self.metrics:
            return None
        row = self.tau_b[self.metrics.index(metric)]
        others = [
            tau.value
            for name, tau in zip(self.metrics, row, strict=True)
            if name != metric and tau.value is not None
        ]
        return sum(others) / len(others) if others else None


class Agreement(Model):
    """How metrics agree in three ways: docs/captioners.md. Parts of metrics are left out.

    Attributes
    ----------
    systems
        On the order of the systems.
    within_image
        On captions of the same image.
    captions
        On the order of all captions; without intervals.
    """

    systems: AgreementMatrix
    within_image: AgreementMatrix
    captions: AgreementMatrix


class Disagreement(Model):
    """How often metrics contradict each other on the captions of an image.

    Attributes
    ----------
    votes
        The columns that vote, one for each metric.
    n_images
        The images on which two of them compare two captions.
    mean
        The mean disagreement of these images, in [0, 1].
    """

    votes: tuple[str, ...]
    n_images: int
    mean: Number


class CaptioningSystem(Model):
    """One system, and how its file fits the images of the run.

    Attributes
    ----------
    n
        Its captions of images of the run.
    mean_rank
        Its rank, 1 = first, averaged over the headline scores; `None` where none ranks it.
    file
        The name of its file.
    n_missing, n_other_images, n_empty
        Images of the run without a caption, captions of other images, and empty captions.
    """

    name: str
    n: int
    mean_rank: Number
    file: str
    n_missing: int
    n_other_images: int
    n_empty: int


class ReferenceCounts(Model):
    """The numbers of references that occur, ascending: of systems, and against Human."""

    systems: tuple[int, ...]
    against_human: tuple[int, ...]


class CaptionersSettings(Model):
    """The settings of the statistics.

    Attributes
    ----------
    replicates
        Bootstrap replicates.
    permutations
        Random arrangements of the paired permutation tests.
    tie_seeds
        The seeds of random tie breaking.
    """

    seed: int
    replicates: int
    permutations: int
    confidence: float
    tie_seeds: tuple[int, ...]

    @property
    def alpha(self) -> float:
        """The level of the tests: what the intervals leave out."""
        return 1 - self.confidence


class SystemLength(Model):
    """The lengths of one system's captions.

    Attributes
    ----------
    words
        Mean number of words between white space.
    ratio
        Mean of words divided by the mean words of the image's references.
    longer
        Share of captions that are longer than every reference of their image.
    bins
        Captions in each length bin.
    comparable
        Whether its captions are in length bins that the other systems' captions are in, too.
    """

    name: str
    words: Number
    ratio: Number
    longer: Number
    bins: tuple[int, ...]
    comparable: bool


class MetricLength(Model):
    """One metric by length bins.

    Attributes
    ----------
    by_bin
        System → mean score in each bin; `None` with fewer captions than `LengthAnalysis.fewest`.
    controlled
        Comparable system → mean over the bins that all comparable systems share, each bin with the
        same weight; empty without such a bin.
    ranking, controlled_ranking
        Systems by the mean of all captions, and by `controlled`; best first.
    trend
        System → Spearman's ρ of length ratio and score within the system's captions, in [−1, 1].
    """

    name: str
    by_bin: Mapping[str, tuple[Number, ...]]
    controlled: Mapping[str, float]
    ranking: tuple[str, ...]
    controlled_ranking: tuple[str, ...]
    trend: Mapping[str, Number]


class LengthAnalysis(Model):
    """Scores of systems by the length of their captions.

    Attributes
    ----------
    edges
        Edges of the bins: caption length divided by the mean length of the image's references. The
        first bin is below the first edge, the last one from the last edge on.
    fewest
        A bin with fewer captions of a system has no mean.
    """

    edges: tuple[float, ...]
    fewest: int
    systems: tuple[SystemLength, ...]
    metrics: tuple[MetricLength, ...]

    def system(self, name: str) -> SystemLength:
        """The lengths of a system. Raises KeyError for an unknown one."""
        for entry in self.systems:
            if entry.name == name:
                return entry
        raise KeyError(name)

    def bin_name(self, place: int) -> str:
        """ "1 to 1.25 ×": a bin, as a share of the references' length."""
        if place == 0:
            return f"below {self.edges[0]:g} ×"
        if place == len(self.edges):
            return f"{self.edges[-1]:g} × and more"
        return f"{self.edges[place - 1]:g} to {self.edges[place]:g} ×"


class CaptionersResult(RunResult[CaptionersStatistics]):
    """The result of a run on captioners.

    A metric with a corpus score has two entries in `metrics`, "BLEU-4 (corpus)" and "BLEU-4 (mean
    of sentences)". `column.headline` is true of the scores that stand for their metrics.

    Attributes
    ----------
    references
        How many references captions are compared with.
    systems
        One entry for each system, in the order of the configuration.
    against_human
        One entry for each column of sentence scores; empty without captions by people.
    agreement
        `None` where no metric ran.
    """

    n_images: int
    references: ReferenceCounts
    settings: CaptionersSettings
    systems: tuple[CaptioningSystem, ...]
    against_human: tuple[MetricResult[HumanStatistics], ...]
    agreement: Agreement | None
    disagreement: Disagreement
    length: LengthAnalysis

    @property
    def scores(self) -> tuple[MetricResult[CaptionersStatistics], ...]:
        """The scores of systems that ran, without parts of others."""
        return tuple(m for m in self.metrics if m.ok and m.column.part_of is None)

    @property
    def headlines(self) -> tuple[MetricResult[CaptionersStatistics], ...]:
        """The scores that represent their metrics."""
        return tuple(m for m in self.scores if m.column.headline)

    @property
    def human_scores(self) -> tuple[MetricResult[HumanStatistics], ...]:
        """The sentence scores against Human that ran, without parts of others."""
        return tuple(m for m in self.against_human if m.ok and m.column.part_of is None)

    def by_mean_rank(self) -> list[str]:
        """The systems, best first; those without a rank come last."""
        ranks = {s.name: s.mean_rank for s in self.systems}
        return sorted(ranks, key=lambda name: (ranks[name] is None, ranks[name] or 0.0))

    def measures(
        self, metric: MetricResult[CaptionersStatistics]
    ) -> Iterator[tuple[Measure, Estimate]]:
        """The mean τ-b with the other metrics over systems."""
        if self.agreement is not None:
            mean = self.agreement.systems.mean_with_others(metric.name)
            title = "mean τ-b with the other metrics, over systems"
            yield Measure("mean_tau_b", title), Estimate(value=mean)
