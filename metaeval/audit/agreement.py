"""Agreement of annotators with the declared effects and with each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from scipy.stats import binomtest

# a corruption whose error rate may exceed this is experimental
BOUND = 0.10


class ErrorRate(NamedTuple):
    """How many of n items a reader found not to do what the corruption declares.

    Attributes
    ----------
    low, high
        The 95 % Wilson interval of the error rate (Wilson 1927).
    """

    errors: int
    n: int
    low: float
    high: float


def error_rate(errors: int, n: int) -> ErrorRate:
    """The error rate with its 95 % Wilson score interval; the interval is [0, 1] for n = 0.

    >>> [round(x, 3) for x in error_rate(0, 35)[2:]]
    [0.0, 0.099]
    """
    if n == 0:
        return ErrorRate(0, 0, 0.0, 1.0)
    interval = binomtest(errors, n).proportion_ci(0.95, method="wilson")
    return ErrorRate(errors, n, float(interval.low), float(interval.high))


def error_rates(
    key: Mapping[str, Mapping[str, str]], verdicts: Mapping[str, str]
) -> dict[str, ErrorRate]:
    """Corruption → its error rate among the items with a verdict, by name.

    An error is any verdict other than the declared effect; "neither" is always one.
    """
    wrong: Counter[str] = Counter()
    read: Counter[str] = Counter()
    for item, verdict in verdicts.items():
        if item in key:
            name = key[item]["corruption"]
            read[name] += 1
            wrong[name] += verdict != key[item]["expected"]
    return {name: error_rate(wrong[name], read[name]) for name in sorted(read)}


def cohens_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Cohen's κ of two lists of labels; `None` where both are empty or one label is all there is.

    (p_o - p_e) / (1 - p_e), with p_o the share of equal labels and p_e the share expected from the
    two marginal distributions (Cohen 1960).
    """
    n = len(first)
    if n == 0:
        return None
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / n
    counts, others = Counter(first), Counter(second)
    expected = sum(counts[label] * others[label] for label in counts) / n**2
    return None if expected == 1 else (observed - expected) / (1 - expected)
