"""What searches found, as numbers: of each metric, of transfer, and of pairs of metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from omegaconf import DictConfig
from scipy.stats import binomtest

from metaeval.experiments.attack.searches import AttackOutcome, Material, generic_captions
from metaeval.experiments.measure import Items, MeanOutcome, Outcomes
from metaeval.results.base import Estimate, Measured, MetricResult
from metaeval.results.measured import Extra
from metaeval.results.run import Measure
from metaeval.search.beam import SearchLimits, Trace, Trial, search
from metaeval.search.pool import Pool, chance_of_choice
from metaeval.search.target import Target
from metaeval.stats.resampling.bootstrap import percentile_interval

COPIED, LENGTH = "references copied", "same length"
CONSTRAINTS = ("fluent", "unconstrained", COPIED, LENGTH)
DRAWN = (1, 2, 4, 8, 16, 32, 64)
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Curve = Mapping[int, Estimate]  # number of calls, or of changed words → value
_REPLICATES = 1000
RESISTS, GAIN = "resists", "gain"
CONTROLS = "controls"  # the extra with the scores that every run attacks


class Inflation(NamedTuple):
    """How far above the human caption a score can be raised when truth does not matter.

    Attributes
    ----------
    known, unknown
        The mean gain after each number of calls, by an attacker that knows the references and by
        one that does not, in units of the metric's spread between human captions of an image.
    words, human_words
        The mean number of words of the best captions with the references known, and of the human
        captions.
    """

    known: Curve
    unknown: Curve
    words: float | None
    human_words: float


class BestOfN(NamedTuple):
    """What a metric chooses from n captions of a pool of 64: expectations over all draws.

    `own` is the metric's score of the chosen caption minus the human caption's, in units of
    `spread`, `others` the same by the other metrics (no controls; the mean over them), and `true`
    the share of chosen captions without a false statement.
    """

    n: int
    own: Estimate
    others: Estimate
    true: Estimate


class AttackStatistics(NamedTuple):
    """How well one metric was attacked.

    Attributes
    ----------
    n_images
        Images with a provably false caption and a score for the human caption.
    spread
        Standard deviation of the score between human captions of one image; the unit of gains.
    success
        Constraint → share of images on which a provably false caption scores above the human one,
        after each number of calls.
    by_edits
        The same with all calls, for at most this number of changed words, by the main search.
    gain
        Mean score of the best false caption minus the human caption's, in units of `spread`.
    harm
        Mean share of false statements in the successful captions; `None` without scene graphs.
    calls_to_success
        The median number of calls until the first success, over the images with a success.
    n_calls
        How many captions the metric scored in all searches.
    inflation
        `None` where it was not searched.
    generic, outranks
        The generic caption that the metric scores highest on half of the images, and the share of
        the other half on which it scores above the human caption.
    best_of_n
        What is chosen when the metric picks the best of n captions; empty where not measured.
    resisted, gains
        [images] 1 where the main search found only false captions below the human one, 1/2 where
        the best one is equal to it; and the gain; NaN for an image without them.
    """

    n_images: int
    spread: float
    success: Mapping[str, Curve]
    by_edits: Curve
    gain: Estimate
    harm: float | None
    calls_to_success: float | None
    n_calls: int
    inflation: Inflation | None
    generic: str
    outranks: Estimate
    best_of_n: tuple[BestOfN, ...]
    resisted: Floats
    gains: Floats

    @property
    def main(self) -> str:
        """The constraint of the main results: "fluent", or "unconstrained" without a fluency."""
        return "fluent" if "fluent" in self.success else "unconstrained"

    def final(self, constraint: str | None = None) -> Estimate:
        """The success rate with all calls, under the constraint of the main results or another."""
        return list(self.success[constraint or self.main].values())[-1]


class Defence(NamedTuple):
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
            return allowed(trial, i) and fools_metric(trial, float(human[i]), material, i)

        calls = [traces[i].first(partial(succeeds, i)) for i in rows]
        return np.array([c if c is not None else np.inf for c in calls], dtype=np.float64)

    def curve(first: Floats) -> Curve:
        return {k: share(first <= max(1, k)) for k in budgets}

    main = main_traces(outcome)
    first = {name: first_successes(t, lambda t, i: True) for name, t in outcome.false.items()}
    success = {constraint: curve(calls) for constraint, calls in first.items()}
    same_length = first_successes(main, lambda t, i: abs(len(t.draft.words) - lengths[i]) <= 1)
    success[LENGTH] = curve(same_length)

    def has_edits(k: int) -> Callable[[Trial, int], bool]:
        return lambda trial, _: trial.draft.edits <= k

    by_edits = {
        k: share(np.isfinite(first_successes(main, has_edits(k)))) for k in range(limits.edits + 1)
    }
    calls = first["fluent" if "fluent" in first else "unconstrained"]
    resisted, gains_of = np.full((2, len(human)), np.nan)
    resisted[rows] = calls > max(1, budgets[-1])
    calls = calls[np.isfinite(calls)]
    tried = [(i, trial) for i in rows if (trial := best[i]) is not None]
    for i, trial in tried:
        if trial.score == human[i]:
            resisted[i] = 0.5
    gains = np.array([(trial.score - human[i]) / spread for i, trial in tried])
    gains_of[[i for i, _ in tried]] = gains
    won = [trial for i, trial in tried if fools_metric(trial, human[i], material, i)]
    harms = [trial.draft.harm for trial in won if trial.draft.harm is not None]
    generic, outranks = _generic(outcome, material)
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
        generic=generic,
        outranks=outranks,
        best_of_n=chosen,
        resisted=resisted,
        gains=gains_of,
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


def fools_metric(trial: Trial | None, human: float, material: Material, i: int) -> bool:
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

    def curve(traces: Sequence[Trace]) -> Curve:
        points = {}
        for calls in budgets:
            best = [trace.best(calls) for trace in traces]
            gains = [
                (t.score - outcome.human[i]) / spread if t is not None else np.nan
                for i, t in enumerate(best)
            ]
            points[calls] = mean(np.array(gains), seed)
        return points

    longest = [trace.best(max(budgets)) for trace in outcome.known]
    words = [len(trial.draft.words) for trial in longest if trial is not None]
    return Inflation(
        known=curve(outcome.known),
        unknown=curve(outcome.unknown),
        words=float(np.mean(words)) if words else None,
        human_words=float(np.mean(lengths[: len(outcome.known)])),
    )


def _generic(outcome: AttackOutcome, material: Material) -> tuple[str, Estimate]:
    """The generic caption with the highest mean on the even images, judged on the odd ones."""
    captions = generic_captions(material.dataset)
    even = outcome.generic[:, ::2]
    n = (~np.isnan(even)).sum(axis=1)
    chosen = int(np.argmax(np.where(n, np.nansum(even, axis=1) / np.maximum(n, 1), -np.inf)))
    scores, human = outcome.generic[chosen, 1::2], outcome.human[1::2]
    known = ~np.isnan(scores) & ~np.isnan(human)
    return captions[chosen], share(scores[known] > human[known])


@dataclass(frozen=True, slots=True)
class Preferences:
    """Which metrics prefer the false captions that were found against one metric.

    Attributes
    ----------
    usable
        [n] Images of which a false caption was found and the metric has a score.
    fooled
        [n] Images on which the search against the metric itself succeeded.
    prefers
        Column of another metric → [n] whether it scores the false caption above the human one.
    known
        The same → [n] whether it has both scores.
    """

    usable: Flags
    fooled: Flags
    prefers: Mapping[str, Flags]
    known: Mapping[str, Flags]


def transfer(preferences: Mapping[str, Preferences]) -> dict[tuple[str, str], Estimate]:
    """(source, target) → of the captions that fool the source, the share that fools the target."""
    return {
        (source, target): share(
            preference.prefers[target][preference.fooled & preference.known[target]]
        )
        for source, preference in preferences.items()
        for target in preference.prefers
    }


def defences(preferences: Mapping[str, Preferences], metrics: Sequence[str]) -> list[Defence]:
    """Each pair of metrics under the captions found against either; least successful first."""
    pairs = []
    for pair in combinations(metrics, 2):
        both = []
        for source in pair:
            preference = preferences[source]
            won = preference.fooled & np.logical_and.reduce([preference.prefers[t] for t in pair])
            both.append(share(won[preference.usable]))
        worst = max(both, key=lambda e: e.value or 0.0)
        pairs.append(Defence(metrics=pair, transferred=worst))
    return sorted(pairs, key=lambda d: (d.transferred.value or 0.0, d.metrics))


def attack_pair(
    targets: tuple[Target, Target],
    attacked: tuple[AttackOutcome, AttackOutcome],
    material: Material,
    limits: SearchLimits,
    images: int,
) -> Flags:
    """[n] Whether the search finds a false caption that both metrics prefer to the human one.

    The search maximises the smaller of the two gains, in units of each metric's spread; that is
    above 0 where both metrics prefer the caption.
    """
    rows = sorted({*usable(attacked[0], material)} & {*usable(attacked[1], material)})[:images]
    index = np.array(rows, dtype=np.intp)
    data = material.dataset

    def score(texts: Sequence[str], places: npt.NDArray[np.intp]) -> Floats:
        gains = [
            (target.score(texts, index[places]) - outcome.human[index[places]]) / spread_of(outcome)
            for target, outcome in zip(targets, attacked, strict=True)
        ]
        return np.minimum(*gains)

    def allowed(texts: Sequence[str], places: npt.NDArray[np.intp]) -> Flags:
        assert material.fluency is not None
        return material.fluency.allowed(texts, index[places])

    traces = search(
        score, [material.false[i] for i in rows], [material.near[i] for i in rows], material.far,
        [data.image_ids[i] for i in rows], limits, material.seed, "false",
        allowed if material.fluency is not None else None,
        lambda trial, k: trial.score > 0 and material.is_false(trial, rows[k]),
    )  # fmt: skip
    return np.array([
        any(t.admitted and t.score > 0 and material.is_false(t, i) for t in trace.trials)
        for i, trace in zip(rows, traces, strict=True)
    ])  # fmt: skip


def best_of_n(
    chooser: str,
    attacked: Mapping[str, AttackOutcome],
    others: Sequence[str],
    pool: Pool,
    seed: int,
) -> tuple[BestOfN, ...]:
    """What the metric `chooser` picks from n captions of the pool; `others` judge its choice."""
    if not len(pool.index):
        return ()
    gains = {
        name: (attacked[name].pool - attacked[name].human[pool.index, None])
        / spread_of(attacked[name])
        for name in {chooser, *others}
    }
    points = []
    for n in DRAWN:
        chances = np.stack([chance_of_choice(row, n) for row in attacked[chooser].pool])
        judged = [_expected(chances, gains[name]) for name in others if name != chooser]
        points.append(
            BestOfN(
                n=n,
                own=mean(_expected(chances, gains[chooser]), seed),
                others=mean(
                    np.mean(judged, axis=0) if judged else np.full(len(pool.index), np.nan), seed
                ),
                true=mean((chances * pool.true).sum(axis=1), seed),
            )
        )
    return tuple(points)


def _expected(chances: Floats, values: Floats) -> Floats:
    """[images] The expected value of the chosen caption, over the captions that have one."""
    known = ~np.isnan(values)
    weight = (chances * known).sum(axis=1)
    total = np.where(known, chances * values, 0.0).sum(axis=1)
    return np.where(weight > 0, total / np.where(weight > 0, weight, 1.0), np.nan)


FOOLED = "images fooled, {}"
CURVES = {  # extra → what its x is, its title
    "calls": ("calls", "Images fooled, by the number of calls"),
    "words": ("changed words", "Images fooled, by the number of changed words"),
    "best_of_n": ("n", "What the best of n captions is"),
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
        Measure("inflation", "inflation, references known", shown=False, best="lowest"),
        Measure("inflation_unknown", "inflation, unknown", shown=False, best="lowest"),
        Measure("generic", "generic outranks", shown=False, unit="share", best="lowest"),
    )


def attack_measures(numbers: AttackStatistics, tested: Mapping[str, Estimate]) -> Measured:
    """The measures and facts of one metric; `tested` are those that metrics are compared by."""
    values = {
        RESISTS: tested[RESISTS],
        GAIN: numbers.gain,
        **{fooled_key(constraint): numbers.final(constraint) for constraint in numbers.success},
        "generic": numbers.outranks,
    }
    words = None
    if (inflation := numbers.inflation) is not None:
        values["inflation"] = list(inflation.known.values())[-1]
        values["inflation_unknown"] = list(inflation.unknown.values())[-1]
        words = inflation.words
    return Measured(
        values=values,
        facts={
            "search": numbers.main,
            "n_images": numbers.n_images,
            "spread": numbers.spread,
            "harm": numbers.harm,
            "calls_to_success": numbers.calls_to_success,
            "n_calls": numbers.n_calls,
            "words": words,
            "human_words": None if inflation is None else inflation.human_words,
            "generic": numbers.generic,
        },
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
    preferences: Mapping[str, Preferences],
    pairs: Sequence[Defence],
) -> Iterator[Extra]:
    """The curves and tables of the page, the most fooled metric first and controls last."""
    columns = {m.name: m.column for m in metrics if m.name in attacked}
    order = sorted(
        columns, key=lambda name: (columns[name].control, -(attacked[name].final().value or 0.0))
    )
    numbers = {name: attacked[name] for name in order}

    curves = {name: _curves(of) for name, of in numbers.items()}
    for extra, (x_title, title) in CURVES.items():
        points = [
            {"panel": panel, "x_title": x_title, "line": name, "control": columns[name].control}
            | {"x": x, "y": e.value, "low": e.low, "high": e.high, "n": e.n}
            for name, of_metric in curves.items()
            for panel, curve in of_metric[extra].items()
            for x, e in curve.items()
        ]
        yield Extra.of(extra, title, points, kind="curves")
    yield Extra.of(
        "fooled",
        "Images fooled, after all calls",
        [
            {"metric": name, "n": of.n_images, **{c: of.final(c) for c in of.success}}
            for name, of in numbers.items()
        ],
    )
    yield Extra.of(
        "goals",
        "Gain, inflation and generic captions",
        [_goals(name, of) for name, of in numbers.items()],
    )
    yield from _several(order, numbers, preferences, pairs)
    yield Extra.of(
        CONTROLS,
        "Uninformative scores under the same search",
        [{"score": name, "images fooled": e, "n": e.n} for name, e in controls.items()],
    )


def _curves(numbers: AttackStatistics) -> dict[str, dict[str, Curve]]:
    """The curves of a metric by extra and panel."""
    best = numbers.best_of_n
    return {
        "calls": {FOOLED.format(name): curve for name, curve in numbers.success.items()},
        "words": {"": numbers.by_edits},
        "best_of_n": {
            "true captions": {p.n: p.true for p in best},
            "gain by other metrics": {p.n: p.others for p in best},
            "own gain": {p.n: p.own for p in best},
        },
    }


def _goals(name: str, numbers: AttackStatistics) -> dict[str, Any]:
    inflation = numbers.inflation
    record: dict[str, Any] = {
        "metric": name,
        "gain": numbers.gain,
        "false statements": numbers.harm,
    }
    if inflation is not None:
        record["references known"] = list(inflation.known.values())[-1]
        record["words"], record["words of people"] = inflation.words, inflation.human_words
        record["references unknown"] = list(inflation.unknown.values())[-1]
    return record | {
        "generic outranks": numbers.outranks,
        "calls to success": numbers.calls_to_success,
        "captions scored": numbers.n_calls,
    }


def _several(
    order: Sequence[str],
    numbers: Mapping[str, AttackStatistics],
    preferences: Mapping[str, Preferences],
    pairs: Sequence[Defence],
) -> Iterator[Extra]:
    """Transfer from metric to metric, and pairs of metrics."""
    shares = transfer(preferences)
    names = [name for name in order if name in preferences]
    yield Extra.of(
        "transfer",
        "Transfer: what fools the row, and also the column",
        ({"metric": a, **{b: shares[a, b].value for b in names}} for a in names),
        kind="matrix",
    )
    yield Extra.of(
        "transfer_intervals",
        "Transfer, with intervals",
        [{"source": a, "target": b, "share": e, "n": e.n} for (a, b), e in shares.items()],
        kind="data",
    )
    yield Extra.of(
        "defences",
        "Pairs of metrics that must both prefer a caption",
        [
            {
                "first": pair.metrics[0],
                "second": pair.metrics[1],
                "searched": pair.searched or Estimate(value=None),
                "transferred": pair.transferred,
                "first alone": numbers[pair.metrics[0]].final(),
                "second alone": numbers[pair.metrics[1]].final(),
            }
            for pair in pairs
        ],
        folded=True,
    )
