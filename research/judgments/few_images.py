"""Intervals and tests by resampling few images, by simulation: why `MIN_UNITS` is what it is.

    python -m research.judgments.few_images --simulations 1000

Images have four captions each, which share the image's effect; ratings are from 1 to 5. Prints a
Markdown table: of n images, how often in % the 95 % interval holds the truth, and how often a test
at 5 % calls two equal metrics different. Below `MIN_UNITS` a run gives neither; here they are
computed all the same.
"""

import argparse
import math

import numpy as np

from metaeval.stats.correlation.correlations import WeightedCorrelations
from metaeval.stats.resampling.bootstrap import MIN_UNITS, bootstrap_counts, percentile_interval
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.paired_bootstrap import difference_of
from metaeval.stats.significance.paired_permutation import permutation_of_means

IMAGES = (1, 2, 3, 4, 6, 8, 10, 12, 15, 20, 30)
EACH = 4
REPLICATES = 500
R = math.sqrt(0.5)  # of scores that are the truth plus as much noise
COLUMNS = (
    "interval of a mean",
    "interval of r",
    "two means, bootstrap",
    "two random metrics' r, bootstrap",
    "two means, permutation",
)


def simulate(n: int, seed: int) -> list[bool]:
    """Whether the intervals hold the truth, and whether the tests reject a true hypothesis."""
    rng, counts = np.random.default_rng([n, seed]), bootstrap_counts(n, REPLICATES, seed)
    image = np.repeat(np.arange(n), EACH)
    once = np.ones((1, n), dtype=np.int64)

    def captions() -> Floats:
        """Standard normal; half of the variance is the image's."""
        both = rng.normal(size=n)[image] + rng.normal(size=n * EACH)
        return np.asarray(both / math.sqrt(2))

    def drawn(scores: Floats, ratings: Floats) -> tuple[float, Floats]:
        weighted = WeightedCorrelations(scores, ratings, image, n, names=("pearson",))
        value, replicates = (weighted.of(w, threads=1).pearson for w in (once, counts))
        return float(value[0]), replicates

    def holds(replicates: Floats, truth: float) -> bool:
        low, high = percentile_interval(replicates, 0.95, MIN_UNITS)
        return low <= truth <= high

    def differs(a: tuple[float, Floats], b: tuple[float, Floats]) -> bool:
        return difference_of(a[0], b[0], a[1], b[1], 0.95, MIN_UNITS).p_two_sided < 0.05

    a, b = rng.normal(size=(2, n))
    means = [(float(x.mean()), counts @ x / n) for x in (a, b)]
    truth = captions()
    ratings = np.clip(np.rint(3 + 1.2 * captions()), 1, 5)
    return [
        holds(means[0][1], 0.0),
        holds(drawn(truth + captions(), truth)[1], R),
        differs(*means),
        differs(*(drawn(captions(), ratings) for _ in range(2))),
        permutation_of_means(a, b, replicates=REPLICATES, seed=seed).p_two_sided < 0.05,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=1000)
    simulations = parser.parse_args().simulations
    print("| images | " + " | ".join(COLUMNS) + " |")
    print("|---:" * (1 + len(COLUMNS)) + "|")
    for n in IMAGES:
        shares = 100 * np.mean([simulate(n, seed) for seed in range(simulations)], axis=0)
        print(f"| {n} | " + " | ".join(f"{share:.1f}" for share in shares) + " |", flush=True)


if __name__ == "__main__":
    main()
