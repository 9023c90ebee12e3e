"""The result of `experiment=attack`: captions that fool metrics, found by search."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.results.base import Estimate, Model, Number
from metaeval.results.run import RunResult


class CurvePoint(Model):
    """A value after a number of metric calls, or with at most a number of changed words.

    `at` is that number; with 0 calls the attacker submits a caption without calling the metric.
    """

    at: int
    value: Estimate


class Inflation(Model):
    """How far above the human caption a score can be raised when truth does not matter.

    Attributes
    ----------
    known, unknown
        The mean gain after each number of calls, by an attacker that knows the references and by
        one that does not, in units of the metric's spread between human captions of an image.
    words
        The mean number of words of the best captions with the references known, and of the human
        captions.
    """

    known: tuple[CurvePoint, ...]
    unknown: tuple[CurvePoint, ...]
    words: tuple[Number, Number]


class GenericCaption(Model):
    """The generic caption that the metric scores highest on half of the images.

    `outranks` is the share of the other half on which it scores above the human caption.
    """

    caption: str
    outranks: Estimate


class BestOfN(Model):
    """The best of n captions, chosen by one metric from a pool of 64 captions per image.

    Values are expectations over all draws of n captions from the pool.

    Attributes
    ----------
    n
        How many captions the metric chose from.
    own
        The metric's score of the chosen caption minus the human caption's, in units of `spread`.
    others
        The same by the other metrics (no controls), the mean over them.
    true
        The share of chosen captions without a false statement.
    """

    n: int
    own: Estimate
    others: Estimate
    true: Estimate


class AttackStatistics(Model):
    """How well one metric was attacked.

    `final()` is the success rate at the largest budget, with its 95 % interval and its n (images
    are the unit); with `AttackResult.controls`, the same of uninformative scores, it says
    whether a metric can serve as a reward.

    Attributes
    ----------
    n_images
        Images with a provably false caption and a score for the human caption.
    spread
        Standard deviation of the score between human captions of one image; the unit of gains.
    success
        "fluent", "unconstrained", "same length", "references copied" (made from a reference and
        not from the human caption) → share of images on which a provably false
        caption scores above the human one, after each number of calls.
    by_edits
        The same with all calls, for at most this number of changed words, fluent captions only.
    gain
        Mean score of the best false caption minus the human caption's, in units of `spread`.
    harm
        Mean share of false statements in the successful captions; `None` without scene graphs.
    calls_to_success
        The median number of calls until the first success, over the images with a success.
    n_calls
        How many captions the metric scored in all searches.
    inflation, generic
        The other two goals; `None` where they were not searched.
    best_of_n
        What is chosen when the metric picks the best of n captions; empty where not measured.
    """

    n_images: int
    spread: Number
    success: Mapping[str, tuple[CurvePoint, ...]]
    by_edits: tuple[CurvePoint, ...]
    gain: Estimate
    harm: Number = None
    calls_to_success: Number = None
    n_calls: int = 0
    inflation: Inflation | None = None
    generic: GenericCaption | None = None
    best_of_n: tuple[BestOfN, ...] = ()

    @property
    def main(self) -> str:
        """The constraint of the main results: "fluent", or "unconstrained" without a fluency."""
        return "fluent" if "fluent" in self.success else "unconstrained"

    def final(self, constraint: str | None = None) -> Estimate:
        """The success rate with all calls, under the constraint of the main results or another."""
        return self.success[constraint or self.main][-1].value


class Transfer(Model):
    """Of the captions that fool one metric, the share that fools another."""

    source: str
    target: str
    share: Estimate


class Defence(Model):
    """Two metrics of which the lower rank counts: a caption must rank high by both.

    Attributes
    ----------
    metrics
        Their names.
    transferred
        Share of images on which the false caption found against either metric is preferred by
        both; of the two searches, the more successful one.
    searched
        Success rate of a search against the pair itself; `None` where it was not made.
    """

    metrics: tuple[str, str]
    transferred: Estimate
    searched: Estimate | None = None


class SuccessfulAttack(Model):
    """A provably false caption that a metric prefers to the human one.

    `scores` are those of the human and of the false caption.
    """

    metric: str
    image_id: int | str
    human: str
    false: str
    scores: tuple[Number, Number]
    edits: int


class AttackSettings(Model):
    """What the attacker could do.

    Attributes
    ----------
    rule
        By which rule captions are provably false.
    budgets
        Numbers of metric calls per image.
    max_edits
        How many words the search may change.
    fluent
        Share of human captions of a length whose language-model scores the constraint admits;
        `None` where there was no constraint, and then why in `no_fluency`.
    lengths
        The least and the greatest number of words.
    """

    rule: str
    budgets: tuple[int, ...]
    max_edits: int
    seed: int
    n_images: int
    fluent: Number = None
    no_fluency: str | None = None
    lengths: tuple[int, int] | None = None


class AttackResult(RunResult[AttackStatistics]):
    """The whole run: which captions fool each metric, and which of them fool others.

    Attributes
    ----------
    controls
        "length", "random", "exact match" (1 for a caption that is a reference word for word, else
        0) → success rate at the largest budget under the constraint of the main results, by the
        same search. They are included for any choice of metrics. A metric that is fooled no less
        often than "random" offers no resistance.
    transfer
        A cell for each ordered pair of metrics.
    defences
        Each pair of metrics (no controls), the least successful attack first.
    gallery
        The first successes against each metric.
    """

    settings: AttackSettings
    controls: Mapping[str, Estimate] = {}
    transfer: tuple[Transfer, ...] = ()
    defences: tuple[Defence, ...] = ()
    gallery: tuple[SuccessfulAttack, ...] = ()
