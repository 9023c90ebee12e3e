"""The result of `experiment=sensitivity`: what each metric notices of many small changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from metaeval.results.base import Estimate, Model, Number
from metaeval.results.comparison import AgainstControl, Comparisons
from metaeval.results.metric import MetricResult
from metaeval.results.run import CorruptionInfo, Measure, RunResult

REWRITES = "rewrites"  # a group of `SensitivityResult.controls`
Verdict = Literal["sees", "prefers", "blind", "punishes", "rewards", "spares", "unsure"]
Rule = Literal["alone", "sum of z-scores", "minimum of ranks"]


class ChangedCaption(Model):
    """A human caption, the changed one, and the scores of both."""

    image_id: int | str
    human: str
    changed: str
    scores: tuple[Number, Number]


class SensitivityCell(Model):
    """One metric on one set of changed captions.

    Attributes
    ----------
    n
        Images whose caption was changed and scored.
    auc
        How often the human caption scores above the changed one, equal scores counting one half.
    detected
        The share of images in which the human caption scores strictly higher.
    tied
        The share with equal scores.
    p, p_adjusted
        Two-sided sign test; Holm's correction over all metrics and sets.
    cost
        Mean score of the human captions minus mean score of the changed ones.
    effect
        `cost` in standard deviations of the image-wise difference.
    share_of_another
        `cost` as a share of what another image's caption costs.
    beyond_fluency
        The AUC on the images in which the language model does not prefer the human caption.
    refined
        The AUC on the images on which the controls are balanced, with `task.refine=true`.
    verdict
        `metaeval.experiments.sensitivity.profile.verdict`.
    """

    n: int
    auc: Estimate
    detected: Estimate
    tied: Number
    p: Number
    p_adjusted: Number
    cost: Estimate
    effect: Estimate
    share_of_another: Number
    beyond_fluency: Estimate | None
    refined: Estimate | None = None
    verdict: Verdict
    examples: tuple[ChangedCaption, ...]


class HardPositives(Model):
    """How often a harmless rewrite scores above a harmful near-copy of the same image.

    Attributes
    ----------
    rewrites
        Rewrites that change two content words or more, or their order, and are not a reference.
    no_ops
        All other harmless changes: spaces, capitals, a full stop, one word; and references.
    sets
        Harmless set → all its captions.
    """

    rewrites: Estimate
    no_ops: Estimate
    sets: Mapping[str, Estimate]


class Invariance(Model):
    """The cost of a harmless rewrite as a share of the mildest harm of the same size of edit.

    Attributes
    ----------
    against
        The set of that harm.
    share
        0: the rewrite costs nothing; 1: as much as that harm.
    """

    against: str
    share: Estimate


class SensitivityStatistics(Model):
    """The numbers of one score column.

    Attributes
    ----------
    n, n_nan
        Changed captions, and those without a score.
    harm, harmless
        Mean AUC of the sets that harm, and of those that do not; every kind has the same weight.
    kinds
        Kind → mean AUC of its sets.
    severity
        Severity → mean AUC of the sets that harm by as much; every kind has the same weight.
    severity_order
        How often the milder of two changes of the same caption has the higher score, equal scores
        counting one half; every kind of the milder change has the same weight.
    profile
        Set → cell.
    monotone
        Corruption with several levels → share of images in order throughout.
    invariance
        Harmless set → its cost against the mildest harm; `None` without one to compare with.
    """

    n: int
    n_nan: int
    harm: Estimate
    harmless: Estimate
    kinds: Mapping[str, Estimate]
    severity: Mapping[str, Estimate]
    severity_order: Estimate
    profile: Mapping[str, SensitivityCell]
    monotone: Mapping[str, Estimate]
    hard_positives: HardPositives
    invariance: Mapping[str, Invariance | None]


class Combination(Model):
    """One metric, or two columns combined by a rule that needs no knowledge of the answer.

    Attributes
    ----------
    columns
        One name or two.
    rule
        "sum of z-scores" or "minimum of ranks", by means and ranks of the first half of images.
    chosen_on, held_out
        Mean AUC over the kinds that harm on the first half, by which it was chosen, and on the
        second.
    """

    columns: tuple[str, ...]
    rule: Rule
    chosen_on: Number
    held_out: Estimate


class Together(Model):
    """The best combination of two metrics, chosen on one half of the images.

    Attributes
    ----------
    metrics, single, with_control
        The best of two metrics, of one metric, and of a metric with a control.
    over_single, over_control
        What the two metrics have on the other half above each of these.
    """

    metrics: Combination
    single: Combination
    with_control: Combination | None
    over_single: Estimate
    over_control: Estimate | None


class RewriteCounts(Model):
    """Harmless changes by how much they change: real rewrites, no-ops, verbatim references."""

    rewrites: int
    no_ops: int
    references: int


class SensitivitySettings(Model):
    """The settings of the statistics."""

    seed: int
    replicates: int
    confidence: float


class SensitivityResult(RunResult[SensitivityStatistics]):
    """What a run of experiment=sensitivity found.

    Attributes
    ----------
    sets
        The sets of changed captions.
    harmless
        How many harmless changes are real rewrites.
    order, set_order
        Metrics and sets such that neighbours are alike.
    leaves, tree
        scipy's linkage `tree` of the metrics `leaves`.
    controls
        Kind of change, and "rewrites" (`HardPositives.rewrites`) → the metrics against the best
        control, on the same images; the correction runs over metrics times kinds.
    differences
        All pairs of metrics in the mean AUC over the kinds that harm.
    together
        `None` with fewer than two metrics or images.
    """

    n_images: int
    settings: SensitivitySettings
    sets: tuple[CorruptionInfo, ...]
    harmless: RewriteCounts
    order: tuple[str, ...]
    leaves: tuple[str, ...]
    tree: tuple[tuple[float, ...], ...]
    set_order: tuple[str, ...]
    controls: Mapping[str, AgainstControl]
    differences: Comparisons
    together: Together | None

    @property
    def alpha(self) -> float:
        """The level of significance."""
        return 1 - self.settings.confidence

    def measures(
        self, metric: MetricResult[SensitivityStatistics]
    ) -> Iterator[tuple[Measure, Estimate]]:
        """Mean AUC of harm, and hard positives."""
        if metric.statistics is not None:
            yield Measure("mean_auc", "mean AUC over kinds that harm"), metric.statistics.harm
            title = "harmless rewrites above harmful near-copies"
            yield Measure("hard_positives", title), metric.statistics.hard_positives.rewrites
