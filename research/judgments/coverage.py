"""Coverage of the 95 % intervals of agreement with people, by simulation.

    python -m research.judgments.coverage --simulations 1000
    python -m research.judgments.coverage "partial correlation" --simulations 4000

Data are drawn from models whose true value is known; images share an effect, so that intervals by
caption would be too short. Prints, as a Markdown table, how often each interval holds the truth,
with the Wilson interval of this share.
"""

import argparse
import math
from collections.abc import Callable

import numpy as np
from scipy.stats import binomtest

from metaeval.stats.agreement.ceiling import disattenuated_correlation
from metaeval.stats.agreement.controls import partial_correlation
from metaeval.stats.ordering.pairwise import pairwise_difference_pearson
from metaeval.stats.preference.bradley_terry import bradley_terry
from metaeval.stats.preference.difference import preference_curve
from metaeval.stats.sample_size import label_efficiency

IMAGES, EACH = 200, 4
REPLICATES = 1000
Interval = tuple[float, float, float]
IMAGE = np.repeat(np.arange(IMAGES), EACH)


def shared(rng: np.random.Generator) -> np.ndarray:
    """Standard normal values of captions; half of the variance is the image's."""
    n = IMAGES * EACH
    return (rng.normal(size=IMAGES)[IMAGE] + rng.normal(size=n)) / math.sqrt(2)


def disattenuation(rng: np.random.Generator) -> Interval:
    truth = shared(rng)
    ratings = truth[:, None] + rng.normal(size=(len(truth), 3))
    scores = truth + shared(rng)
    made = disattenuated_correlation(scores, ratings, IMAGE, replicates=REPLICATES)
    return made.low, made.high, math.sqrt(0.5)


def efficiency(rng: np.random.Generator) -> Interval:
    truth = shared(rng)
    made = label_efficiency(
        truth + shared(rng), truth, IMAGE, n_labels=10**6, replicates=REPLICATES
    )
    return made.low, made.high, 2.0


def partial(rng: np.random.Generator) -> Interval:
    length = shared(rng)
    common = shared(rng)
    made = partial_correlation(
        length + common + shared(rng),
        length + common,
        length,
        IMAGE,
        statistic="pearson",
        replicates=REPLICATES,
    )
    return made.low, made.high, math.sqrt(0.5)


def differences(rng: np.random.Generator) -> Interval:
    truth = shared(rng)
    made = pairwise_difference_pearson(truth + shared(rng), truth, IMAGE, replicates=REPLICATES)
    return made.low, made.high, math.sqrt(0.5)


def noticed(rng: np.random.Generator) -> Interval:
    gap = shared(rng)
    preferred = rng.random(len(gap)) < 1 / (1 + np.exp(-1.5 * gap))
    made = preference_curve(gap, preferred, IMAGE, replicates=REPLICATES)
    return made.noticed.low, made.noticed.high, math.log(3) / 1.5


def strength(rng: np.random.Generator) -> Interval:
    n = IMAGES * EACH
    a = rng.integers(3, size=n)
    b = (a + rng.integers(1, 3, size=n)) % 3
    theta = np.array([-0.5, 0.0, 0.5])
    d = theta[a] - theta[b]
    win, lose = np.exp(d / 2), np.exp(-d / 2)
    u = rng.random(n) * (win + lose + 0.6)
    winner = np.where(u < win, 1.0, np.where(u < win + lose, 0.0, 0.5))
    names = np.array(["x", "y", "z"])
    made = bradley_terry(names[a], names[b], winner, IMAGE, replicates=REPLICATES)
    place = made.systems.index("z")
    return float(made.low[place]), float(made.high[place]), 0.5


CASES: dict[str, Callable[[np.random.Generator], Interval]] = {
    "disattenuated correlation": disattenuation,
    "label efficiency": efficiency,
    "partial correlation": partial,
    "pairwise difference Pearson": differences,
    "difference that people notice": noticed,
    "Bradley-Terry strength": strength,
}


def coverage(case: Callable[[np.random.Generator], Interval], simulations: int) -> int:
    """How many intervals hold the true value."""
    held = 0
    for seed in range(simulations):
        low, high, truth = case(np.random.default_rng([7, seed]))
        held += low <= truth <= high
    return held


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}; all by default"
    )
    parser.add_argument("--simulations", type=int, default=1000)
    given = parser.parse_args()
    if unknown := sorted(set(given.cases) - set(CASES)):
        parser.error(f"unknown case {unknown[0]!r}; choose from {', '.join(CASES)}")
    print(f"| 95 % interval of ({given.simulations:,} simulations) | holds the truth in % |")
    print("|---|---:|")
    for name in given.cases or CASES:
        held = binomtest(coverage(CASES[name], given.simulations), given.simulations)
        low, high = held.proportion_ci(0.95, method="wilson")
        print(
            f"| {name} | {100 * held.statistic:.1f} [{100 * low:.1f}, {100 * high:.1f}] |",
            flush=True,
        )


if __name__ == "__main__":
    main()
