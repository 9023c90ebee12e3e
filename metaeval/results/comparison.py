"""Whether a differs from b: the one record of every comparison, whatever a and b are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count, product
from string import ascii_lowercase

from metaeval.results.base import Estimate, Model, Number, Test
from metaeval.stats.significance.comparison import (
    ALPHA,
    ControlTest,
    PairTest,
    Shows,
    TestedDifference,
    compare,
    is_significant,
)


class Power(Model):
    """How large a difference this many images can show, and how many images it would take.

    Attributes
    ----------
    effect
        The difference in standard deviations of the image-wise difference.
    detectable
        The least difference that is found with the run's power.
    images_needed
        Images at which the observed difference would be found; `None` where that is undefined.
    """

    effect: Number
    detectable: Number
    images_needed: Number


class Comparison(Model):
    """A difference between two columns, systems or categories, on the items that both have.

    Attributes
    ----------
    a, b
        The names of what is compared.
    measure
        The statistic: "rank_order_rho", "pairwise_accuracy" …
    difference
        a minus b, with its interval.
    tests
        The tests that were made; the first one decides.
    n
        The number of items that a and b have in common.
    """

    a: str
    b: str
    measure: str
    difference: Estimate
    tests: tuple[Test, ...] = ()
    n: int | None = None
    power: Power | None = None

    @property
    def test(self) -> Test | None:
        """The test that decides; `None` where none was made."""
        return self.tests[0] if self.tests else None

    @property
    def images_needed(self) -> float | None:
        """Images at which this difference would be found; `None` where its interval contains 0."""
        ends = self.difference.interval
        if self.power is None or ends is None or ends[0] <= 0 <= ends[1]:
            return None
        return self.power.images_needed

    def is_significant(self, alpha: float = ALPHA) -> bool:
        """Whether the test that decides has an adjusted p-value below `alpha`."""
        return self.test is not None and is_significant(self.test.p_adjusted, alpha)

    @classmethod
    def of(cls, tested: TestedDifference, measure: str) -> Comparison:
        """The record of a pair that `metaeval.stats.significance.comparison.compare` tested."""
        return cls(
            a=tested.a,
            b=tested.b,
            measure=measure,
            difference=Estimate(value=tested.difference, low=tested.low, high=tested.high),
            tests=(
                Test(
                    p=tested.p,
                    p_adjusted=tested.p_adjusted,
                    method=tested.method,
                    family=tested.family,
                    decidable=tested.decidable,
                ),
            ),
            n=tested.n,
        )

    def reversed(self) -> Comparison:
        """The same comparison as b minus a."""
        d = self.difference
        low = None if d.high is None else -d.high
        high = None if d.low is None else -d.low
        value = None if d.value is None else -d.value
        power = self.power
        if power is not None and power.effect is not None:
            power = power.model_copy(update={"effect": -power.effect})
        turned = Estimate(value=value, low=low, high=high, n=d.n)
        return self.model_copy(
            update={"a": self.b, "b": self.a, "difference": turned, "power": power}
        )


class Comparisons(Model):
    """All comparisons of one measure; together they are the family of the correction.

    Attributes
    ----------
    measure
        The statistic that is compared.
    alpha
        The level of significance.
    pairs
        One comparison for each pair.
    """

    measure: str
    alpha: float
    pairs: tuple[Comparison, ...]

    @classmethod
    def tested(
        cls, tests: Mapping[tuple[str, str], PairTest], measure: str, family: str, alpha: float
    ) -> Comparisons:
        """The comparisons of pairs with these tests, corrected over the family."""
        made = compare(tests, family, alpha=alpha)
        pairs = tuple(Comparison.of(each, measure) for each in made)
        return cls(measure=measure, alpha=alpha, pairs=pairs)

    def between(self, a: str, b: str) -> Comparison | None:
        """The comparison of `a` with `b`, as a minus b; `None` where they were not compared."""
        for pair in self.pairs:
            if (pair.a, pair.b) == (a, b):
                return pair
            if (pair.a, pair.b) == (b, a):
                return pair.reversed()
        return None

    @property
    def is_tested(self) -> bool:
        """Whether some pair has a test."""
        return any(pair.tests for pair in self.pairs)

    def letters(self, order: Sequence[str]) -> dict[str, str]:
        """The compact letter display: two names share a letter unless a test separates them.

        `order` are the names, best first; the letters follow it.
        Source: H.-P. Piepho (2004), An algorithm for a letter-based representation of
        all-pairwise comparisons, Journal of Computational and Graphical Statistics 13(2).
        """
        from networkx import find_cliques, from_dict_of_lists  # slow to import

        linked = {name: self.not_separated_from(name) & set(order) for name in order}
        groups = [sorted(g, key=order.index) for g in find_cliques(from_dict_of_lists(linked))]
        groups.sort(key=lambda group: [order.index(name) for name in group])
        return {
            name: "".join(
                letter for letter, group in zip(_letters(), groups, strict=False) if name in group
            )
            for name in order
        }

    def not_separated_from(self, name: str) -> frozenset[str]:
        """The names that some test does not separate from `name`, without `name` itself."""
        return frozenset(
            pair.b if pair.a == name else pair.a
            for pair in self.pairs
            if name in (pair.a, pair.b) and not pair.is_significant(self.alpha)
        )

    def not_below(self, best: str, names: Sequence[str], *, lowest: bool = False) -> list[str]:
        """The names that no test puts below `best`: not separated, above it, or never compared.

        With `lowest`, lower values are better, and "below" is a higher value.
        """
        sign = -1 if lowest else 1
        below = {
            pair.b if pair.a == best else pair.a
            for pair in self.pairs
            if best in (pair.a, pair.b)
            and pair.is_significant(self.alpha)
            and (pair.difference.value or 0.0) * (sign if pair.a == best else -sign) > 0
        }
        return [name for name in names if name != best and name not in below]


def _letters() -> Iterator[str]:
    """a, b, … z, aa, ab, …"""
    for size in count(1):
        for letters in product(ascii_lowercase, repeat=size):
            yield "".join(letters)


class AgainstControl(Model):
    """The metrics of a run against the best control, on one group of items.

    Attributes
    ----------
    control, control_value
        The control with the highest value of the statistic, and that value.
    best, best_value
        The metric with the highest value, and that value.
    alpha
        The level of significance.
    comparisons
        One for each metric: a is the metric, b the control.
    shows
        "nothing" where the control is at least as high as every metric; "something" where a metric
        is significantly higher; "undecidable" where no metric could be, with so few replicates or
        units; otherwise "unsure".
    """

    control: str
    control_value: Number
    best: str
    best_value: Number
    alpha: float = ALPHA
    comparisons: tuple[Comparison, ...]
    shows: Shows

    @classmethod
    def of(cls, tested: ControlTest, measure: str, alpha: float = ALPHA) -> AgainstControl:
        """The record of what `against_best_control` tested."""
        return cls(
            control=tested.control,
            control_value=tested.control_value,
            best=tested.best,
            best_value=tested.best_value,
            alpha=alpha,
            comparisons=tuple(Comparison.of(c, measure) for c in tested.comparisons),
            shows=tested.shows,
        )

    @property
    def above(self) -> tuple[str, ...]:
        """The metrics that are significantly higher than the control."""
        return tuple(
            c.a
            for c in self.comparisons
            if c.is_significant(self.alpha) and (c.difference.value or 0.0) > 0
        )

    @property
    def not_above(self) -> tuple[str, ...]:
        """The metrics that the test did not find higher, and could have with these replicates."""
        above = self.above
        return tuple(
            c.a for c in self.comparisons if c.a not in above and c.test and c.test.decidable
        )
