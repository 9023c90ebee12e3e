"""The result of `experiment=arena`: battles between captions, and between those who wrote them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from metaeval.results.base import Estimate, Model, Number
from metaeval.results.comparison import AgainstControl, Comparisons
from metaeval.results.metric import MetricResult
from metaeval.results.run import Measure, RunResult

ALL = "all battles"  # as a group


class RankAgreement(Model):
    """A metric's ranking of the systems, by the same battles, against the ranking by winners.

    Attributes
    ----------
    spearman, kendall_tau_b
        Of the strengths; intervals by resampling images.
    accuracy
        The share of pairs of systems in the same order.
    strengths
        System → log-odds by the metric's decisions, mean 0.
    battles
        How many battles the metric could score.
    """

    spearman: Estimate
    kendall_tau_b: Estimate
    accuracy: Estimate
    strengths: Mapping[str, Number]
    battles: int


class ArenaStatistics(Model):
    """How often a metric prefers the winner.

    Attributes
    ----------
    agreement
        Group (`ALL`, or a category) → the share of battles in which the metric prefers the winner;
        ties of either side count as `settings.ties` says. `n` battles have scores of both.
    decided
        The same over the battles that are not ties; a metric's tie counts one half.
    ties
        The share of battles in which the metric gives both captions the same score.
    equal_length
        Agreement where the captions differ by at most `settings.length_tolerance` words.
    noticed
        The difference of scores at which the higher score wins 75 % of the battles; `None` as an
        end is "never".
    systems
        The metric's ranking of systems; `None` where systems are not known or not connected.
    """

    agreement: Mapping[str, Estimate]
    decided: Estimate
    ties: Number
    equal_length: Estimate
    noticed: Estimate | None = None
    systems: RankAgreement | None = None


class SystemRank(Model):
    """A system in the ranking.

    Attributes
    ----------
    rank
        1 for the first cluster: a system opens the next one where it is significantly weaker than
        any member of the current one.
    strength, at_equal_length
        Log-odds of winning, mean 0; the second with the difference in words as a covariate.
    won, tied, lost
        Battles.
    words
        Mean number of words of its captions.
    """

    name: str
    rank: int
    strength: Estimate
    at_equal_length: Estimate
    won: int
    tied: int
    lost: int
    words: Number


class Ranking(Model):
    """Bradley-Terry strengths of the systems, by the winners of the battles.

    Attributes
    ----------
    systems
        Strongest first.
    tie
        ν of Davidson's model: two equal systems tie with probability ν / (2 + ν).
    length
        Log-odds of winning per word more than the other caption.
    equal_length_spearman
        Spearman's ρ of the strengths with those at equal length.
    comparisons
        All pairs of systems.
    """

    systems: tuple[SystemRank, ...]
    tie: float
    length: Estimate
    equal_length_spearman: Number
    comparisons: Comparisons


class ArenaPeople(Model):
    """How often two raters of the same battle agree; a tie against a winner counts one half."""

    value: Number
    pairs_of_ratings: int
    battles: int


class ArenaSettings(Model):
    """What the statistics depend on, besides the data.

    `winner` is "people", or the column whose preferences replace people's;
    `strength_replicates` are those of the Bradley-Terry fits.
    """

    replicates: int
    strength_replicates: int
    confidence: float
    seed: int
    permutations: int
    alpha: float
    ties: Literal["half", "wrong"]
    winner: str
    length_tolerance: float


class ArenaFacts(Model):
    """Counts. `tied` are battles without a winner."""

    battles: int
    images: int
    systems: int
    raters: int
    tied: int
    without_references: int


class ArenaResult(RunResult[ArenaStatistics]):
    """Metrics as judges of battles.

    Attributes
    ----------
    title
        What a reader calls the dataset.
    unit
        What battles are about: an image, or an audio clip.
    groups
        `ALL`, and the categories where there are several.
    ranking
        The systems; `None` where they are not known, or where battles do not connect them.
    unranked
        Why no ranking was made.
    people
        Agreement of raters; `None` where no battle has two.
    controls
        Group → every metric against the best control; empty without metrics or controls.
    differences
        Every pair of metrics over all battles, by permutation and bootstrap.
    """

    experiment: Literal["arena"] = "arena"
    title: str
    unit: Literal["image", "clip"] = "image"
    settings: ArenaSettings
    facts: ArenaFacts
    groups: tuple[str, ...]
    ranking: Ranking | None
    unranked: str | None = None
    people: ArenaPeople | None
    controls: Mapping[str, AgainstControl]
    differences: Comparisons

    def measures(self, metric: MetricResult[ArenaStatistics]) -> Iterator[tuple[Measure, Estimate]]:
        """The agreement over all battles, and the rank correlation of systems."""
        numbers = metric.statistics
        if numbers is None:
            return
        yield Measure("agreement", "agreement with winners"), numbers.agreement[ALL]
        if numbers.systems is not None:
            yield Measure("systems_spearman", "Spearman's ρ over systems"), numbers.systems.spearman
