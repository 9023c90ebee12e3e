"""What searches found, as numbers: of each metric, and of transfer."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from omegaconf import DictConfig
from scipy.stats import binomtest

from metaeval.experiments.attack.searches import (
    AttackOutcome,
    Material,
)
from metaeval.experiments.measure import Items, MeanOutcome, Outcomes
from metaeval.results.base import Estimate, MetricResult
from metaeval.results.measured import Extra
from metaeval.results.run import Measure
from metaeval.search.beam import SearchLimits, Trace, Trial
from metaeval.stats.resampling.items import mean_of_known

COPIED, LENGTH = "references copied", "same length"
CONSTRAINTS = ("fluent", "unconstrained", COPIED, LENGTH)
Floats = npt.NDArray[np.float64]
Curve = Mapping[int, Estimate]  # number of calls, or of changed words → value
RESISTS, GAIN = "resists", "gain"
CONTROLS = "controls"  # the extra with the scores that every run attacks


class AttackStatistics(NamedTuple):
    """How well one metric was attacked.

    Attributes
    ----------
    values, facts
        By the keys of the measures, those by which metrics are not compared (see `declared`); and
        further numbers: "n_images" are images with a provably false caption and a score of the
        human one, "spread" is the unit of gains, "harm" the mean share of false statements in the
        successful captions (`None` without scene graphs), "calls_to_success" the median over the
        images with a success.
    curves
        Extra → panel → curve.
    resisted, gains
        [images] 1 where the main search found only false captions below the human one, 1/2 where
        the best one is equal to it; and the best one's score minus the human caption's, in units
        of the spread; NaN for an image without them.
    """

    values: Mapping[str, Estimate]
    facts: Mapping[str, Any]
    curves: Mapping[str, Mapping[str, Curve]]
    resisted: Floats
    gains: Floats


def share(successes: npt.NDArray[np.bool_]) -> Estimate:
    """A share of images with its 95 % Wilson interval; images are the unit."""
    n = len(successes)
    if not n:
        return Estimate(value=None, n=0)
    interval = binomtest(int(successes.sum()), n).proportion_ci(0.95, method="wilson")
    return Estimate(value=successes.mean(), low=interval.low, high=interval.high, n=n)


def _first_calls(
    outcome: AttackOutcome, material: Material, edits: int
) -> tuple[dict[str, Floats], dict[int, Floats]]:
    """The number of calls to the first success on each usable image, infinite where there is none:
    by constraint, and by the most words that the main search may change."""
    rows, human = usable(outcome, material), outcome.human
    lengths = [len(text.split()) for text in material.dataset.human]
    main = next(iter(outcome.false.values()))

    def first_successes(traces: Sequence[Trace], allowed: Callable[[Trial, int], bool]) -> Floats:
        """[images] The number of calls to the first success; infinite where there is none."""

        def succeeds(i: int, trial: Trial) -> bool:
            return allowed(trial, i) and fools_metric(trial, float(human[i]), material, i)

        calls = [traces[i].first(partial(succeeds, i)) for i in rows]
        return np.array([c if c is not None else np.inf for c in calls], dtype=np.float64)

    def has_edits(most: int, trial: Trial, _: int) -> bool:
        return trial.draft.edits <= most

    first = {
        **{name: first_successes(t, lambda t, i: True) for name, t in outcome.false.items()},
        LENGTH: first_successes(main, lambda t, i: abs(len(t.draft.words) - lengths[i]) <= 1),
    }
    return first, {k: first_successes(main, partial(has_edits, k)) for k in range(edits + 1)}


def attack_statistics(
    outcome: AttackOutcome,
    material: Material,
    limits: SearchLimits,
    budgets: Sequence[int],
) -> AttackStatistics:
    """The numbers of one metric."""
    rows, human, spread = usable(outcome, material), outcome.human, spread_of(outcome)
    search = next(iter(outcome.false))
    first, by_edits = _first_calls(outcome, material, limits.edits)
    success = {
        name: {k: share(calls <= max(1, k)) for k in budgets} for name, calls in first.items()
    }
    resisted, gains = np.full((2, len(human)), np.nan)
    resisted[rows] = first[search] > max(1, budgets[-1])
    tried = best_false(outcome, material, limits)
    for i, trial in tried.items():
        gains[i] = (trial.score - human[i]) / spread
        if trial.score == human[i]:
            resisted[i] = 0.5
    won = [trial for i, trial in tried.items() if fools_metric(trial, human[i], material, i)]
    successes = first[search][np.isfinite(first[search])]
    return AttackStatistics(
        {fooled_key(name): curve[budgets[-1]] for name, curve in success.items()},
        {
            "search": search,
            "n_images": len(rows),
            "spread": spread,
            "harm": mean_of_known(np.array([t.draft.harm for t in won], dtype=np.float64)),
            "calls_to_success": float(np.median(successes)) if len(successes) else None,
            "n_calls": sum(len(trace.trials) for of in outcome.false.values() for trace in of),
        },
        {
            "calls": {FOOLED.format(name): curve for name, curve in success.items()},
            "words": {"": {k: share(np.isfinite(calls)) for k, calls in by_edits.items()}},
        },
        resisted,
        gains,
    )


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
) -> dict[int, Trial]:
    """Usable image → the best caption that is false beyond doubt, of the main search, which is the
    first one; without the images that have none."""
    chosen: dict[int, Trial] = {}
    traces = next(iter(outcome.false.values()))
    for i in usable(outcome, material):
        ordered = traces[i].best_first(limits.calls)
        if (best := next((t for t in ordered if material.is_false(t, i)), None)) is not None:
            chosen[i] = best
    return chosen


def fools_metric(trial: Trial, human: float, material: Material, i: int) -> bool:
    """Whether a false caption scores above the human one, and is false beyond doubt."""
    return trial.score > human and material.is_false(trial, i)


def spread_of(outcome: AttackOutcome) -> float:
    """The unit of gains: sqrt(mean((a - b)²) / 2) of two human captions' scores per image.

    NaN where it is 0.
    """
    differences = outcome.human - outcome.other_human
    differences = differences[~np.isnan(differences)]
    spread = float(np.sqrt(np.mean(differences**2) / 2)) if len(differences) else float("nan")
    return spread if spread > 0 else float("nan")


FOOLED = "images fooled, {}"
CURVES = {  # extra → what its x is, its title
    "calls": ("calls", "Images fooled, by the number of calls"),
    "words": ("changed words", "Images fooled, by the number of changed words"),
}
NOT_FOOLED = "images not fooled, {:,} calls"


def fooled_key(constraint: str) -> str:
    """The key of the measure: how often a search under this constraint succeeds.

    >>> fooled_key("references copied")
    'fooled_references_copied'
    """
    return f"fooled_{constraint.replace(' ', '_')}"


def declared(calls: int) -> tuple[Measure, ...]:
    """The measures of an attack with so many calls."""
    fooled = (
        Measure(fooled_key(c), FOOLED.format(c), shown=False, unit="share", best="lowest")
        for c in CONSTRAINTS
    )
    return (
        Measure(RESISTS, NOT_FOOLED.format(calls), unit="share"),
        Measure(GAIN, "gain of a false caption, in spreads", best="lowest"),
        *fooled,
    )


def attack_outcomes(attacked: Mapping[str, AttackStatistics], stats: DictConfig) -> list[Outcomes]:
    """The outcomes of the shown measures, an item an image."""
    if not attacked:
        return []
    items = Items(np.arange(len(next(iter(attacked.values())).gains)))
    counts, (resists, gain) = items.resamples(stats), declared(0)[:2]
    resisted = {name: numbers.resisted for name, numbers in attacked.items()}
    gains = {name: numbers.gains for name, numbers in attacked.items()}
    return [
        Outcomes(resists, resisted, MeanOutcome(items, counts), family=RESISTS),
        Outcomes(gain, gains, MeanOutcome(items, counts, span=np.inf)),
    ]


def attack_extras(
    metrics: Sequence[MetricResult],
    attacked: Mapping[str, AttackStatistics],
    controls: Mapping[str, Estimate],
    transfer: Mapping[tuple[str, str], Estimate],
) -> Iterator[Extra]:
    """The curves and tables of the page, the most fooled metric first and controls last."""
    search = {name: fooled_key(numbers.facts["search"]) for name, numbers in attacked.items()}
    shown = sorted(
        (m for m in metrics if m.name in attacked),
        key=lambda m: (m.column.control, -(m.numbers.value(search[m.name]) or 0.0)),
    )
    for extra, (x_title, title) in CURVES.items():
        points = [
            {"panel": panel, "x_title": x_title, "line": m.name, "control": m.column.control}
            | {"x": x, "y": e.value, "low": e.low, "high": e.high, "n": e.n}
            for m in shown
            for panel, curve in attacked[m.name].curves[extra].items()
            for x, e in curve.items()
        ]
        yield Extra.of(extra, title, points, kind="curves")
    fooled = {c: fooled_key(c) for c in CONSTRAINTS}
    yield Extra.of(
        "fooled",
        "Images fooled, after all calls",
        [
            {"metric": m.name, "n": m.numbers.facts["n_images"]}
            | {c: m.numbers[key] for c, key in fooled.items() if key in m.numbers.values}
            for m in shown
        ],
    )
    yield Extra.of(
        "gains",
        "Gain and cost of false captions",
        (
            {
                "metric": m.name,
                "gain": m.numbers[GAIN],
                "false statements": m.numbers.facts["harm"],
                "calls to success": m.numbers.facts["calls_to_success"],
                "captions scored": m.numbers.facts["n_calls"],
            }
            for m in shown
        ),
    )
    names = [m.name for m in shown if (m.name, m.name) in transfer]
    yield Extra.of(
        "transfer",
        "Transfer: what fools the row, and also the column",
        ({"metric": a, **{b: transfer[a, b].value for b in names}} for a in names),
        kind="matrix",
    )
    yield Extra.of(
        CONTROLS,
        "Uninformative scores under the same search",
        [{"score": name, "images fooled": e, "n": e.n} for name, e in controls.items()],
    )
