"""The result of `experiment=attack`: captions that fool metrics, found by search."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.results.base import Estimate, Model, Number
from metaeval.results.run import RunResult


class CurvePoint(Model):
    """A value after a number of metric calls, or with at most a number of changed words.

    `at` is that number; with 0 calls the attacker submits a caption without asking the metric.
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


class AttackStatistics(Model):
    """How well one metric was attacked.

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
        The same with all calls, for at most so many changed words, fluent captions only.
    gain
        Mean score of the best false caption minus the human caption's, in units of `spread`.
    harm
        Mean share of false statements in the successful captions; `None` without scene graphs.
    inflation, generic
        The other two goals; `None` where they were not searched.
    """

    n_images: int
    spread: Number
    success: Mapping[str, tuple[CurvePoint, ...]]
    by_edits: tuple[CurvePoint, ...]
    gain: Estimate
    harm: Number = None
    inflation: Inflation | None = None
    generic: GenericCaption | None = None

    def final(self, constraint: str = "fluent") -> Estimate:
        """The success rate with all calls."""
        return self.success[constraint][-1].value


class Transfer(Model):
    """Of the captions that fool one metric, the share that fools another."""

    source: str
    target: str
    share: Estimate


class Found(Model):
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
    """The whole run: what each metric gives in to, and what passes on to others."""

    settings: AttackSettings
    transfer: tuple[Transfer, ...] = ()
    gallery: tuple[Found, ...] = ()
