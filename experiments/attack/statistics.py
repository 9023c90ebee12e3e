"""From what the searches found to the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest

from metaeval.experiments.attack.searches import AttackOutcome, Material, generic_captions
from metaeval.results.attack import (
    AttackStatistics,
    BestOfN,
    CurvePoint,
    GenericCaption,
    Inflation,
)
from metaeval.results.base import Estimate
from metaeval.search.beam import SearchLimits, Trace, Trial
from metaeval.stats.resampling.bootstrap import percentile_interval

Floats = npt.NDArray[np.float64]
_REPLICATES = 1000


def share(successes: npt.NDArray[np.bool_]) -> Estimate:
    """A share of images with its 95 % Wilson interval; images are the unit."""
    n = len(successes)
    if not n:
        return Estimate(value=None, n=0)
    interval = binomtest(int(successes.sum()), n).proportion_ci(0.95, method="wilson")
    return Estimate(value=successes.mean(), low=interval.low, high=interval.high, n=n)


def mean(values: Floats, seed: int) -> Estimate:
    """A mean over images with its 95 % percentile bootstrap interval."""
    values = values[~np.isnan(values)]
    if not len(values):
        return Estimate(value=None, n=0)
    rng = np.random.default_rng(seed)
    draws = rng.integers(len(values), size=(_REPLICATES, len(values)))
    low, high = percentile_interval(values[draws].mean(axis=1), 0.95, len(values))
    return Estimate(value=values.mean(), low=low, high=high, n=len(values))


def attack_statistics(
    outcome: AttackOutcome,
    material: Material,
    limits: SearchLimits,
    budgets: Sequence[int],
    chosen: tuple[BestOfN, ...] = (),
) -> AttackStatistics:
    """The numbers of one metric."""
    rows = usable(outcome, material)
    spread = spread_of(outcome)
    best = best_false(outcome, material, limits)
    human = outcome.human
    lengths = [len(text.split()) for text in material.dataset.human]

    def first_successes(traces: Sequence[Trace], allowed: Callable[[Trial, int], bool]) -> Floats:
        """[images] The number of calls to the first success; infinite where there is none."""

        def succeeds(i: int, trial: Trial) -> bool:
            return allowed(trial, i) and wins(trial, float(human[i]), material, i)

        calls = [traces[i].first(partial(succeeds, i)) for i in rows]
        return np.array([c if c is not None else np.inf for c in calls], dtype=np.float64)

    def curve(first: Floats) -> tuple[CurvePoint, ...]:
        return tuple(CurvePoint(at=k, value=share(first <= max(1, k))) for k in budgets)

    def has_length(trial: Trial, i: int) -> bool:
        return abs(len(trial.draft.words) - lengths[i]) <= 1

    main = main_traces(outcome)
    first = {name: first_successes(t, lambda t, i: True) for name, t in outcome.false.items()}
    success = {constraint: curve(calls) for constraint, calls in first.items()}
    success["same length"] = curve(first_successes(main, has_length))

    def has_edits(k: int) -> Callable[[Trial, int], bool]:
        return lambda trial, _: trial.draft.edits <= k

    by_edits = tuple(
        CurvePoint(at=k, value=share(np.isfinite(first_successes(main, has_edits(k)))))
        for k in range(limits.edits + 1)
    )
    calls = first["fluent" if "fluent" in first else "unconstrained"]
    calls = calls[np.isfinite(calls)]
    tried = [(i, trial) for i in rows if (trial := best[i]) is not None]
    gains = np.array([(trial.score - human[i]) / spread for i, trial in tried])
    won = [trial for i, trial in tried if wins(trial, human[i], material, i)]
    harms = [trial.draft.harm for trial in won if trial.draft.harm is not None]
    traces = [*outcome.false.values(), outcome.known, outcome.unknown]
    return AttackStatistics(
        n_images=len(rows),
        spread=spread,
        success=success,
        by_edits=by_edits,
        gain=mean(gains, material.seed),
        harm=float(np.mean(harms)) if harms else None,
        calls_to_success=float(np.median(calls)) if len(calls) else None,
        n_calls=sum(len(trace.trials) for several in traces for trace in several),
        inflation=_inflation(outcome, spread, lengths, budgets, material.seed),
        generic=_generic(outcome, material),
        best_of_n=chosen,
    )


def main_traces(outcome: AttackOutcome) -> list[Trace]:
    """The traces under the fluency constraint, or without one where there is none."""
    return outcome.false.get("fluent", outcome.false["unconstrained"])


def usable(outcome: AttackOutcome, material: Material) -> list[int]:
    """Images whose human caption has a score, and of which a false caption can be made."""
    seen = material.fluency.seen if material.fluency else np.zeros(len(outcome.human), dtype=bool)
    return [
        i
        for i in range(len(outcome.human))
        if not np.isnan(outcome.human[i]) and material.false[i] and not seen[i]
    ]


def best_false(
    outcome: AttackOutcome, material: Material, limits: SearchLimits
) -> list[Trial | None]:
    """Per image, the best caption that is false beyond doubt; `None` where there is none."""
    chosen = []
    for i, trace in enumerate(main_traces(outcome)):
        trials = [t for t in trace.trials[: limits.calls] if t.admitted and not np.isnan(t.score)]
        ordered = sorted(trials, key=lambda t: -t.score)
        chosen.append(next((t for t in ordered if material.is_false(t, i)), None))
    return chosen


def wins(trial: Trial | None, human: float, material: Material, i: int) -> bool:
    """Whether a false caption scores above the human one, and is false beyond doubt."""
    return trial is not None and trial.score > human and material.is_false(trial, i)


def spread_of(outcome: AttackOutcome) -> float:
    """The unit of gains: sqrt(mean((a - b)²) / 2) of two human captions' scores per image.

    NaN where it is 0.
    """
    differences = outcome.human - outcome.other_human
    differences = differences[~np.isnan(differences)]
    spread = float(np.sqrt(np.mean(differences**2) / 2)) if len(differences) else float("nan")
    return spread if spread > 0 else float("nan")


def _inflation(
    outcome: AttackOutcome, spread: float, lengths: Sequence[int], budgets: Sequence[int], seed: int
) -> Inflation | None:
    if not outcome.known:
        return None

    def curve(traces: Sequence[Trace]) -> tuple[CurvePoint, ...]:
        points = []
        for calls in budgets:
            best = [trace.best(calls) for trace in traces]
            gains = [
                (t.score - outcome.human[i]) / spread if t is not None else np.nan
                for i, t in enumerate(best)
            ]
            points.append(CurvePoint(at=calls, value=mean(np.array(gains), seed)))
        return tuple(points)

    longest = [trace.best(max(budgets)) for trace in outcome.known]
    words = [len(trial.draft.words) for trial in longest if trial is not None]
    return Inflation(
        known=curve(outcome.known),
        unknown=curve(outcome.unknown),
        words=(
            float(np.mean(words)) if words else None,
            float(np.mean(lengths[: len(outcome.known)])),
        ),
    )


def _generic(outcome: AttackOutcome, material: Material) -> GenericCaption:
    """The generic caption with the highest mean on the even images, judged on the odd ones."""
    captions = generic_captions(material.dataset)
    even = outcome.generic[:, ::2]
    n = (~np.isnan(even)).sum(axis=1)
    chosen = int(np.argmax(np.where(n, np.nansum(even, axis=1) / np.maximum(n, 1), -np.inf)))
    scores, human = outcome.generic[chosen, 1::2], outcome.human[1::2]
    known = ~np.isnan(scores) & ~np.isnan(human)
    return GenericCaption(caption=captions[chosen], outranks=share(scores[known] > human[known]))
