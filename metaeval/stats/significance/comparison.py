"""Decide whether a differs from b: the one place for pairing, correction and the threshold α.

Every "higher", "lower" and "not separated" of a run comes from here, in three steps:

1. a test of one pair on the items that both columns have: `resampled_difference`, which returns a
   `PairTest`;
2. `compare` corrects the p-values over a named family and returns one `TestedDifference` a pair
   (`adjusted_in_family` for hypotheses that are not of pairs);
3. `is_significant` decides: the adjusted p-value is below α, strictly.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.stats.resampling.items import Floats, as_scores
from metaeval.stats.significance.paired_differences import paired_difference

K = TypeVar("K")

ALPHA = 0.05
_ROUNDING = 1e-12  # 1 - 0.95 is 0.05 + 4e-17

Shows = Literal["nothing", "undecidable", "unsure", "something"]


class PairTest(NamedTuple):
    """A test of one pair, before any correction.

    Attributes
    ----------
    difference
        The statistic of a minus that of b, on the items that both have.
    low, high
        Its interval; NaN where the test gives none.
    p
        Two-sided p-value of "a and b are equal"; NaN where the test could not be made.
    method
        Name of the test, as a legend gives it: "permutation by image", say.
    n
        How many units (images) took part.
    smallest_p
        The smallest p-value that the test could have given.
    """

    difference: float
    low: float
    high: float
    p: float
    method: str
    n: int
    smallest_p: float = 0.0


class TestedDifference(NamedTuple):
    """A pair, its test and the decision.

    Attributes
    ----------
    a, b
        Names of the two columns (metrics, systems, categories).
    difference, low, high, p, method, n
        As in `PairTest`.
    p_adjusted
        p after Holm's correction over the family; NaN where p is.
    family, family_size
        Which hypotheses were corrected together, and how many of them had a p-value.
    alpha
        The threshold of `p_adjusted`.
    decidable
        False where no test was made (too few units, say) or where no data could have given a
        significant result: `is_undecidable`.
    """

    a: str
    b: str
    difference: float
    low: float
    high: float
    p: float
    p_adjusted: float
    method: str
    family: str
    family_size: int
    n: int
    alpha: float
    decidable: bool

    @property
    def significant(self) -> bool:
        """Whether a and b differ."""
        return is_significant(self.p_adjusted, self.alpha)

    @property
    def higher(self) -> str | None:
        """The name of the significantly higher one; None where the two are not separated."""
        if not self.significant or not self.difference:
            return None
        return self.a if self.difference > 0 else self.b


def is_significant(p_adjusted: float | None, alpha: float = ALPHA) -> bool:
    """Whether an adjusted p-value is below α. A missing p-value (None, NaN) is not.

    >>> is_significant(0.049), is_significant(0.05), is_significant(0.05, 1 - 0.95)
    (True, False, False)
    """
    return p_adjusted is not None and p_adjusted < alpha - _ROUNDING


def smallest_p(replicates: int, sides: int = 1) -> float:
    """The smallest p-value of a test with this many random replicates.

    With R replicates no p-value is below 1/(R + 1) in a test that counts arrangements, nor below
    2/(R + 1) in a two-sided test that doubles the smaller tail (a percentile bootstrap: `sides` 2).

    >>> smallest_p(199), smallest_p(199, sides=2)
    (0.005, 0.01)
    """
    return min(1.0, sides / (replicates + 1))


def is_undecidable(least: float, family_size: int, alpha: float = ALPHA) -> bool:
    """Whether a family cannot be decided with so few replicates.

    Holm's correction multiplies the smallest p-value of m by m. Where `least`, the smallest that
    the test can give (`smallest_p`), times m is not below α, at least m - 1 ties at that floor
    would be needed for any result, and a single hypothesis cannot be rejected.

    >>> is_undecidable(smallest_p(200), 9), is_undecidable(smallest_p(200), 21)
    (False, True)
    """
    return family_size > 0 and not is_significant(least * family_size, alpha)


def on_common_items(a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Both columns with NaN wherever either has NaN: an item that one is missing leaves for both.

    >>> on_common_items([1.0, float("nan"), 3.0], [1.0, 2.0, float("nan")])
    (array([ 1., nan, nan]), array([ 1., nan, nan]))
    """
    x, y = as_scores(a), as_scores(b)
    if x.shape != y.shape:
        raise InputError(f"shapes {x.shape} and {y.shape} differ", field="b")
    missing = np.isnan(x) | np.isnan(y)
    return np.where(missing, np.nan, x), np.where(missing, np.nan, y)


def resampled_difference(
    a: float,
    b: float,
    a_replicates: npt.ArrayLike,
    b_replicates: npt.ArrayLike,
    n: int,
    *,
    moved: int | None = None,
    span: float = math.inf,
    confidence: float = 1 - ALPHA,
) -> PairTest:
    """Test a difference by replicates of both statistics over the same resampled units.

    Parameters
    ----------
    a, b, a_replicates, b_replicates
        The two statistics and their replicates, **computed on the items that both have**: where
        NaN differ, mask with `on_common_items` before computing them.
    n, moved, confidence
        How many units were resampled, and in how many of them the two differ: of
        `paired_difference`, which has the rule.
    span
        The greatest difference that is possible; the interval ends there.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(0.5, 0.1, 2000); y = x - 0.2 + rng.normal(0, 0.05, 2000)
    >>> resampled_difference(0.5, 0.3, x, y, 400).p < 0.001
    True
    """
    r = paired_difference(a, b, a_replicates, b_replicates, n, confidence, moved=moved)
    least = min(1.0, 2.0 ** (1 - (n if moved is None else moved)))
    low, high = max(r.low, -span), min(r.high, span)
    return PairTest(r.difference, low, high, r.p, "bootstrap", n, least)


def adjusted_in_family(p_values: Mapping[K, float]) -> dict[K, float]:
    """Hypothesis → its p-value after Holm's correction over all that are given.

    >>> adjusted_in_family({"cell 1": 0.01, "cell 2": 0.04, "not tested": float("nan")})
    {'cell 1': 0.02, 'cell 2': 0.04, 'not tested': nan}
    """
    adjusted = holm(list(p_values.values()))
    return dict(zip(p_values, adjusted.tolist(), strict=True))


def compare(
    tests: Mapping[tuple[str, str], PairTest], family: str, *, alpha: float = ALPHA
) -> list[TestedDifference]:
    """Correct the tests of one family by Holm's method and decide each.

    Parameters
    ----------
    tests
        (a, b) → its test. Give every hypothesis of the family in one call: the correction is over
        what is given. A test whose p is NaN is not a member.
    family
        What the members have in common, for the legend: "pairs of metrics".

    Examples
    --------
    >>> test = PairTest(0.1, 0.05, 0.15, 0.02, "bootstrap", 100)
    >>> x, y = compare({("x", "y"): test, ("x", "z"): test._replace(p=0.04)}, "pairs of metrics")
    >>> x.p_adjusted, x.higher, y.p_adjusted, y.higher, y.family_size
    (0.04, 'x', 0.04, 'x', 2)
    """
    return compare_each(list(tests), list(tests.values()), family, alpha=alpha)


def compare_each(
    pairs: Sequence[tuple[str, str]],
    tests: Sequence[PairTest],
    family: str,
    *,
    alpha: float = ALPHA,
) -> list[TestedDifference]:
    """As `compare`, where a pair may occur several times in a family (once a category, say)."""
    size = sum(not math.isnan(t.p) for t in tests)
    adjusted = adjusted_in_family(dict(enumerate(t.p for t in tests)))
    return [
        TestedDifference(
            a,
            b,
            t.difference,
            t.low,
            t.high,
            t.p,
            adjusted[k],
            t.method,
            family,
            size,
            t.n,
            alpha,
            not (math.isnan(t.p) or is_undecidable(t.smallest_p, size, alpha)),
        )
        for k, ((a, b), t) in enumerate(zip(pairs, tests, strict=True))
    ]


class ControlTest(NamedTuple):
    """The metrics of one group of items against the best control.

    Attributes
    ----------
    control, control_value
        The control with the highest value.
    best, best_value
        The metric with the highest value.
    comparisons
        One a metric: a is the metric, b the control.
    shows
        "nothing" where the control is at least as high as every metric; "something" where a metric
        is significantly higher; "undecidable" where no metric could be, with so few replicates or
        units; otherwise "unsure".
    """

    control: str
    control_value: float
    best: str
    best_value: float
    comparisons: tuple[TestedDifference, ...]
    shows: Shows

    @property
    def above(self) -> list[str]:
        """The metrics that are significantly higher than the control."""
        return [c.a for c in self.comparisons if c.higher == c.a]


def against_best_control(
    values: Mapping[str, Mapping[str, float]],
    metrics: Sequence[str],
    controls: Sequence[str],
    test: Callable[[Sequence[tuple[str, str, str]]], Sequence[PairTest]],
    family: str,
    *,
    alpha: float = ALPHA,
    gapped: Collection[str] = (),
    difference: Callable[[str, str, str], float] | None = None,
) -> dict[str, ControlTest]:
    """Compare every metric with the best control of each group; one family over all groups.

    The best control of a metric is the best on the items that the metric could score.

    Parameters
    ----------
    values
        Group → column → the statistic, higher is better; NaN = not defined.
    test
        Called once with all hypotheses (group, metric, control); returns their tests in order.
    gapped, difference
        The metrics that could not score all items, and what such a metric has above a control, of
        a group, on the items that both could score: (group, metric, control).

    Returns group → `ControlTest`; nothing without metrics or controls.

    Examples
    --------
    >>> table = {"all": {"CIDEr": 0.7, "Length": 0.6}}
    >>> run = lambda asked: [PairTest(0.1, 0.05, 0.15, 0.01, "bootstrap", 50) for _ in asked]
    >>> result = against_best_control(table, ["CIDEr"], ["Length"], run, "metrics")["all"]
    >>> result.control, result.above, result.shows
    ('Length', ['CIDEr'], 'something')
    """
    if not metrics or not controls:
        return {}
    control = {group: _best_of(values[group], controls) for group in values}
    others: dict[tuple[str, str], str] = {}
    if difference is not None:
        others = {
            (group, m): _least_exceeded(best, controls, partial(difference, group, m))
            for group, best in control.items()
            for m in gapped
        }
    hypotheses = [(g, m, others.get((g, m), best)) for g, best in control.items() for m in metrics]
    made = compare_each([h[1:] for h in hypotheses], test(hypotheses), family, alpha=alpha)
    results = {}
    for k, group in enumerate(values):
        tests = tuple(made[k * len(metrics) : (k + 1) * len(metrics)])
        best = _best_of(values[group], metrics)
        results[group] = ControlTest(
            control[group],
            values[group][control[group]],
            best,
            values[group][best],
            tests,
            _shows(values[group][best], values[group][control[group]], tests),
        )
    return results


def _least_exceeded(best: str, controls: Sequence[str], above: Callable[[str], float]) -> str:
    """The control that a metric is least `above`, on the items that both could score; `best` where
    it is one of several."""
    gaps = {name: above(name) for name in controls}
    known = {name: gap for name, gap in gaps.items() if not math.isnan(gap)}
    least = min(known.values(), default=math.nan)
    if known.get(best, math.inf) <= least + 1e-12:
        return best
    return next((name for name, gap in known.items() if gap == least), best)


def _best_of(values: Mapping[str, float], names: Sequence[str]) -> str:
    """The name with the highest value; one with NaN only where all have NaN."""
    return max(names, key=lambda name: (not math.isnan(values[name]), values[name]))


def _shows(best: float, control: float, comparisons: Sequence[TestedDifference]) -> Shows:
    if not best > control:
        return "nothing"
    if any(c.higher == c.a for c in comparisons):
        return "something"
    return "unsure" if any(c.decidable for c in comparisons) else "undecidable"


def holm(p_values: npt.ArrayLike) -> Floats:
    """Adjusted p-values: rejecting those below α keeps the chance of any false rejection in the
    family at α or less, whatever the dependence between the tests.

    Parameters
    ----------
    p_values
        In [0, 1], any shape. NaN = this test could not be made: it stays NaN and is not counted in
        the family.

    Returns
    -------
    float64 of the same shape.

    Notes
    -----
    Definition
        With p_(1) ≤ … ≤ p_(m): adjusted p_(i) = min(1, max over j ≤ i of (m − j + 1) p_(j)).
    Ties
        Equal p-values get equal adjusted ones.
    Source
        S. Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian
        Journal of Statistics 6.

    Raises InputError for a p-value outside [0, 1].

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    values: Floats = np.array(p_values, dtype=np.float64)
    if ((values < 0) | (values > 1)).any():
        raise InputError("a p-value is not in [0, 1]", field="p_values")
    flat = values.reshape(-1)
    tested = np.flatnonzero(~np.isnan(flat))
    order = tested[np.argsort(flat[tested], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    flat[order] = np.minimum(1.0, np.maximum.accumulate(factors * flat[order]))
    return flat.reshape(values.shape)
