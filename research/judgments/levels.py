"""Level and power of tests of two metrics' difference, by simulation: why the rule is what it is.

    python -m research.judgments.levels

Prints two Markdown tables: how often in % a test at 5 % calls two equal metrics different, and two
different ones, for so many units (images; systems). Three tests, from the same replicates:

    rule         `paired_difference`: Student's t of the bootstrap's error, n counting units that
                 differ
    normal       the same replicates with a normal law, p = 2 Φ(−|d| / error)
    permutation  the two metrics are exchanged image by image; of means, and of τ-b
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr
from scipy.stats import rankdata

from metaeval.stats.correlation.correlations import WeightedCorrelations
from metaeval.stats.resampling.bootstrap import Counts, bootstrap_counts
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.paired_differences import paired_difference, williams_test

UNITS = (5, 10, 20, 30, 100, 300)
SYSTEMS = (10, 20, 30)
REPLICATES, SWAPS, ALPHA = 200, 199, 0.05
EACH = 5  # captions of an image
KINDS = np.array([0.6, 0.3, 0.1])  # of the images, in the mean over kinds
Rng = np.random.Generator


class Drawn(NamedTuple):
    """A difference, its replicates, how many units it is of, and the units that differ."""

    difference: float
    replicates: Floats
    n: int
    moved: int


class Case(NamedTuple):
    """p-values by the name of the test, of metrics that differ by `effect` units of noise."""

    title: str
    units: tuple[int, ...]
    worlds: int
    test: Callable[[Rng, int, float, Counts], Mapping[str, float]]
    effect: float


def tested(drawn: Drawn, permutation: float | None) -> dict[str, float]:
    d, replicates, n, moved = drawn
    zero = np.zeros(len(replicates))
    rule = paired_difference(d, 0.0, replicates, zero, n, moved=moved)
    error = float(np.nanstd(replicates, ddof=1))
    normal = 2 * float(ndtr(-abs(d) / error)) if error > 1e-12 else float(abs(d) < 1e-12)
    p = {"rule": rule.p, "normal": normal}
    return p if permutation is None else {**p, "permutation": permutation}


def of_mean(gap: Callable[[Rng, int, float], Floats]) -> Callable[..., dict[str, float]]:
    """Tests of the mean of one difference an image."""

    def test(rng: Rng, n: int, effect: float, counts: Counts) -> dict[str, float]:
        gaps = gap(rng, n, effect)
        drawn = Drawn(float(gaps.mean()), counts @ gaps / n, n, int((gaps != 0).sum()))
        swapped = rng.choice([-1.0, 1.0], (SWAPS, n)) @ gaps / n
        return tested(drawn, share_as_great(drawn.difference, swapped))

    return test


def normal(rng: Rng, n: int, effect: float) -> Floats:
    return rng.normal(effect, 1, n)


def choices(moved: float) -> Callable[[Rng, int, float], Floats]:
    """Right or wrong; so many of the images are right by one metric alone."""

    def gaps(rng: Rng, n: int, effect: float) -> Floats:
        better = rng.random(n) < 0.5 + effect / 2
        return np.where(rng.random(n) < moved, np.where(better, 1.0, -1.0), 0.0)

    return gaps


def clustered(rng: Rng, n: int, effect: float, counts: Counts) -> dict[str, float]:
    """The mean over items, of which an image has 1 to 9 that share its effect."""
    items = rng.integers(1, 10, n)
    image = np.repeat(np.arange(n), items)
    gaps = effect + 0.7 * rng.normal(size=n)[image] + 0.7 * rng.normal(size=len(image))
    sums = np.bincount(image, gaps)
    return tested(Drawn(float(gaps.mean()), (counts @ sums) / (counts @ items), n, n), None)


def over_kinds(rng: Rng, n: int, effect: float, counts: Counts) -> dict[str, float]:
    """The mean over three kinds of images, of 60, 30 and 10 %; right or wrong."""
    kind = np.searchsorted(np.cumsum(KINDS), (np.arange(n) + 0.5) / n)
    gaps = choices(0.3)(rng, n, effect)
    masks = np.eye(3)[kind]
    with np.errstate(invalid="ignore"):
        values = (gaps @ masks) / masks.sum(axis=0)
        replicates = (counts @ (gaps[:, None] * masks)) / (counts @ masks)
    smallest, moved = int(masks.sum(axis=0).min()), int((gaps != 0).sum())
    return tested(Drawn(float(values.mean()), replicates.mean(axis=1), smallest, moved), None)


def of_correlation(statistic: str, ties: float, swaps: bool) -> Callable[..., dict[str, float]]:
    """Tests of two metrics' correlation with ratings of five captions an image.

    A share `ties` of the second metric's scores is 0, as of BLEU-4; `noise` is chosen so that both
    population values are equal.
    """
    noise = equal_noise(statistic, ties)

    def test(rng: Rng, n: int, effect: float, counts: Counts) -> dict[str, float]:
        image, rating, a, b = captions(rng, n, noise[effect], ties)
        values, drawn = [], []
        for scores in (a, b):
            made = WeightedCorrelations(scores, rating, image, n, (statistic,))
            once = np.ones((1, n), dtype=np.int8)
            values.append(float(getattr(made.of(once, 1), statistic)[0]))
            drawn.append(getattr(made.of(counts, 1), statistic))
        p = None
        if swaps and n <= 30:
            p = exchanged(rng, a, b, rating, image, statistic)
        return tested(Drawn(values[0] - values[1], drawn[0] - drawn[1], n, n), p)

    return test


def share_as_great(difference: float, swapped: Floats) -> float:
    """p of a permutation test: how many arrangements are as great, with the one observed."""
    return (1 + int((abs(swapped) >= abs(difference) - 1e-12).sum())) / (1 + len(swapped))


def exchanged(
    rng: Rng, a: Floats, b: Floats, rating: Floats, image: Floats, statistic: str
) -> float:
    """p by the exchange of two metrics' midranks, image by image (PERM-INPUT of Deutsch et al.)."""
    n = int(image[-1]) + 1
    both = WeightedCorrelations(
        np.concatenate([rankdata(a), rankdata(b)]),
        np.concatenate([rating, rating]),
        np.concatenate([image, n + image]),
        2 * n,
        (statistic,),
    )
    keep = rng.integers(2, size=(SWAPS, n), dtype=np.int8)
    keep = np.concatenate([np.ones((1, n), np.int8), keep])
    first, second = (
        getattr(both.of(np.concatenate(sides, axis=1), 1), statistic)
        for sides in ((keep, 1 - keep), (1 - keep, keep))
    )
    observed, *swapped = first - second
    return share_as_great(observed, np.array(swapped))


def captions(rng: Rng, n: int, noise: float, ties: float) -> tuple[Floats, ...]:
    """Image, rating from 1 to 4, and two metrics' scores of five captions an image."""
    image = np.repeat(np.arange(n), EACH)
    truth = rng.normal(size=EACH * n) + 0.5 * rng.normal(size=n)[image]
    rating = np.digitize(truth + 0.5 * rng.normal(size=truth.size), [-0.8, 0.2, 1.0])
    shared = rng.normal(size=truth.size)
    a = truth + 1.6 * (0.8 * shared + 0.6 * rng.normal(size=truth.size))
    b = truth + noise * (0.8 * shared + 0.6 * rng.normal(size=truth.size))
    return image, rating.astype(np.float64), a, np.maximum(b, np.quantile(b, ties)) if ties else b


def equal_noise(statistic: str, ties: float) -> dict[float, float]:
    """Effect → the noise with which the second metric's correlation is lower by so much, in a
    large population."""
    grid = np.linspace(0.1, 3.1, 13)
    gaps = []
    for noise in grid:
        image, rating, a, b = captions(np.random.default_rng(1), 16_000, noise, ties)
        first, second = (
            getattr(
                WeightedCorrelations(x, rating, image, 16_000, (statistic,)).of(
                    np.ones((1, 16_000), dtype=np.int8), 1
                ),
                statistic,
            )[0]
            for x in (a, b)
        )
        gaps.append(first - second)
    return {effect: float(np.interp(effect, gaps, grid)) for effect in (0.0, 0.05)}


def of_systems(
    statistic: str, outlier: float = 0.0, df: float = np.inf
) -> Callable[..., dict[str, float]]:
    """Tests of two metrics' correlation with people over systems; one system may be far worse, and
    the noise of the metrics may have heavy tails (Student's t)."""

    def test(rng: Rng, n: int, effect: float, counts: Counts) -> dict[str, float]:
        human = rng.normal(size=n)
        human[0] -= outlier
        noise = rng.normal(size=(3, n)) / np.sqrt(rng.chisquare(df, (3, n)) / df if df < 99 else 1)
        shared = noise[0]
        a, b = (
            human + size * (0.6 * shared + 0.8 * own)
            for own, size in zip(noise[1:], (0.7, 0.7 + effect), strict=True)
        )
        values, drawn = [], []
        for scores in (a, b):
            made = WeightedCorrelations(scores, human, np.arange(n), n, (statistic,))
            values.append(float(getattr(made.of(np.ones((1, n), dtype=np.int8), 1), statistic)[0]))
            drawn.append(getattr(made.of(counts, 1), statistic))
        p = tested(Drawn(values[0] - values[1], drawn[0] - drawn[1], n, n), None)
        return {**p, "Williams": williams_test(a, b, human).p_two_sided}

    return test


def cases() -> Iterator[Case]:
    yield Case("mean, normal", UNITS, 500, of_mean(normal), 0.3)
    yield Case("mean, right or wrong, 30 % differ", UNITS, 500, of_mean(choices(0.3)), 0.4)
    yield Case("mean, right or wrong, 5 % differ", UNITS, 500, of_mean(choices(0.05)), 0.6)
    yield Case("mean over items, 1 to 9 an image", UNITS, 500, clustered, 0.25)
    yield Case("mean over kinds of 60, 30, 10 %", UNITS, 500, over_kinds, 0.4)
    yield Case("τ-b, 80 % ties", UNITS, 200, of_correlation("kendall_tau_b", 0.8, True), 0.05)
    yield Case("r by image", UNITS, 300, of_correlation("pearson", 0.0, False), 0.05)
    yield Case("r of systems", SYSTEMS, 400, of_systems("pearson"), 0.7)
    yield Case("r of systems, an outlier", SYSTEMS, 400, of_systems("pearson", 5.0), 0.7)
    yield Case("r of systems, heavy tails", SYSTEMS, 400, of_systems("pearson", df=2.0), 0.7)
    yield Case("ρ of systems", SYSTEMS, 200, of_systems("spearman"), 0.7)


@cache
def resamples(n: int, seed: int) -> Counts:
    """Of `bootstrap_counts`, which take longer to draw than to use."""
    return bootstrap_counts(n, REPLICATES, seed)


def shares(case: Case, n: int, effect: float) -> dict[str, float]:
    """Test → how often in % it is significant; a test that was not made is not."""
    p: dict[str, list[float]] = {}
    for seed in range(case.worlds):
        rng = np.random.default_rng([n, seed])
        counts = resamples(n, seed % 25)
        for name, value in case.test(rng, n, effect, counts).items():
            p.setdefault(name, []).append(value)
    return {name: 100 * float(np.mean(np.array(values) < ALPHA)) for name, values in p.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="the cases whose title begins so")
    only = parser.parse_args().only
    for title, is_power in (("level", False), ("power", True)):
        print(f"\n| {title} | test |" + "".join(f" {n} |" for n in UNITS))
        print("|---|---|" + "---:|" * len(UNITS))
        for case in cases():
            if not case.title.startswith(only):
                continue
            found = {n: shares(case, n, is_power * case.effect) for n in case.units}
            for name in dict.fromkeys(name for of in found.values() for name in of):
                cells = (
                    f"{of[name]:.1f}" if name in (of := found.get(n, {})) else "" for n in UNITS
                )
                print(f"| {case.title} | {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
