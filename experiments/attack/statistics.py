"""From what the searches found to the result."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest

from metaeval.experiments.attack.searches import Attacked, Material, generic_captions
from metaeval.results.attack import AttackStatistics, CurvePoint, GenericCaption, Inflation
from metaeval.results.base import Estimate
from metaeval.search.beam import SearchLimits, Trace, Trial

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
    if len(values) < 2:
        return Estimate(value=values.mean() if len(values) else None, n=len(values))
    rng = np.random.default_rng(seed)
    draws = rng.integers(len(values), size=(_REPLICATES, len(values)))
    low, high = np.quantile(values[draws].mean(axis=1), [0.025, 0.975])
    return Estimate(value=values.mean(), low=low, high=high, n=len(values))


def attack_statistics(
    found: Attacked, material: Material, limits: SearchLimits, budgets: Sequence[int]
) -> AttackStatistics:
    """The numbers of one metric."""
    rows = usable(found, material)
    spread = _spread(found)
    best = best_false(found, material, limits)
    human = found.human
    lengths = [len(text.split()) for text in material.dataset.human]

    def succeeded(traces: Sequence[Trace], calls: int, edits: int, same_length: bool) -> Estimate:
        chosen = [
            traces[i].best(calls, edits, (lengths[i] - 1, lengths[i] + 1) if same_length else None)
            for i in rows
        ]
        pairs = zip(rows, chosen, strict=True)
        return share(np.array([wins(trial, human[i], material, i) for i, trial in pairs]))

    def curve(traces: Sequence[Trace], same_length: bool = False) -> tuple[CurvePoint, ...]:
        return tuple(
            CurvePoint(at=calls, value=succeeded(traces, calls, limits.edits, same_length))
            for calls in budgets
        )

    main = main_traces(found)
    success = {constraint: curve(traces) for constraint, traces in found.false.items()}
    success["same length"] = curve(main, same_length=True)
    by_edits = tuple(
        CurvePoint(at=k, value=succeeded(main, limits.calls, k, False))
        for k in range(limits.edits + 1)
    )
    tried = [(i, trial) for i in rows if (trial := best[i]) is not None]
    gains = np.array([(trial.score - human[i]) / spread for i, trial in tried])
    won = [trial for i, trial in tried if wins(trial, human[i], material, i)]
    harms = [trial.draft.harm for trial in won if trial.draft.harm is not None]
    return AttackStatistics(
        n_images=len(rows),
        spread=spread,
        success=success,
        by_edits=by_edits,
        gain=mean(gains, material.seed),
        harm=float(np.mean(harms)) if harms else None,
        inflation=_inflation(found, spread, lengths, budgets, material.seed),
        generic=_generic(found, material),
    )


def main_traces(found: Attacked) -> list[Trace]:
    """The traces under the fluency constraint, or without one where there is none."""
    return found.false.get("fluent", found.false["unconstrained"])


def usable(found: Attacked, material: Material) -> list[int]:
    """Images whose human caption has a score, and of which a false caption can be made."""
    seen = material.fluency.seen if material.fluency else np.zeros(len(found.human), dtype=bool)
    return [
        i
        for i in range(len(found.human))
        if not np.isnan(found.human[i]) and material.false[i] and not seen[i]
    ]


def best_false(found: Attacked, material: Material, limits: SearchLimits) -> list[Trial | None]:
    """Per image, the best false caption with all calls."""
    return [trace.best(limits.calls) for trace in main_traces(found)]


def wins(trial: Trial | None, human: float, material: Material, i: int) -> bool:
    """Whether a false caption scores above the human one, and is false beyond doubt."""
    if trial is None or not trial.score > human:
        return False
    return material.check is None or bool(material.check.absent(trial.draft.text, i))


def _spread(found: Attacked) -> float:
    """sqrt(mean((a - b)²) / 2) of two human captions' scores per image; NaN where it is 0."""
    differences = found.human - found.other_human
    differences = differences[~np.isnan(differences)]
    spread = float(np.sqrt(np.mean(differences**2) / 2)) if len(differences) else float("nan")
    return spread if spread > 0 else float("nan")


def _inflation(
    found: Attacked, spread: float, lengths: Sequence[int], budgets: Sequence[int], seed: int
) -> Inflation | None:
    if not found.known:
        return None

    def curve(traces: Sequence[Trace]) -> tuple[CurvePoint, ...]:
        points = []
        for calls in budgets:
            best = [trace.best(calls) for trace in traces]
            gains = [
                (t.score - found.human[i]) / spread if t is not None else np.nan
                for i, t in enumerate(best)
            ]
            points.append(CurvePoint(at=calls, value=mean(np.array(gains), seed)))
        return tuple(points)

    longest = [trace.best(max(budgets)) for trace in found.known]
    words = [len(trial.draft.words) for trial in longest if trial is not None]
    return Inflation(
        known=curve(found.known),
        unknown=curve(found.unknown),
        words=(
            float(np.mean(words)) if words else None,
            float(np.mean(lengths[: len(found.known)])),
        ),
    )


def _generic(found: Attacked, material: Material) -> GenericCaption:
    """The generic caption with the highest mean on the even images, judged on the odd ones."""
    captions = generic_captions(material.dataset)
    means = np.nan_to_num(np.nanmean(found.generic[:, ::2], axis=1), nan=-np.inf)
    chosen = int(np.argmax(means))
    scores, human = found.generic[chosen, 1::2], found.human[1::2]
    known = ~np.isnan(scores) & ~np.isnan(human)
    return GenericCaption(caption=captions[chosen], outranks=share(scores[known] > human[known]))
