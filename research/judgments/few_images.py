"""Intervals by resampling few images, by simulation: why `MIN_UNITS` is what it is.

    python -m research.judgments.few_images --simulations 1000

Images have four captions each, which share the image's effect. Prints a Markdown table: of n
images, how often in % the 95 % interval holds the truth. Below `MIN_UNITS` a run gives none; here
they are computed all the same. Tests of differences: `research.judgments.levels`.
"""

import argparse
import math

import numpy as np

from metaeval.stats.correlation.correlations import WeightedCorrelations
from metaeval.stats.resampling.bootstrap import MIN_UNITS, bootstrap_counts, percentile_interval
from metaeval.stats.resampling.items import Floats

IMAGES = (1, 2, 3, 4, 6, 8, 10, 12, 15, 20, 30)
EACH = 4
REPLICATES = 500
R = math.sqrt(0.5)  # of scores that are the truth plus as much noise
COLUMNS = ("interval of a mean", "interval of r")


def simulate(n: int, seed: int) -> list[bool]:
    """Whether the intervals hold the truth."""
    rng, counts = np.random.default_rng([n, seed]), bootstrap_counts(n, REPLICATES, seed)
    image = np.repeat(np.arange(n), EACH)

    def captions() -> Floats:
        """Standard normal; half of the variance is the image's."""
        both = rng.normal(size=n)[image] + rng.normal(size=n * EACH)
        return np.asarray(both / math.sqrt(2))

    def drawn(scores: Floats, ratings: Floats) -> Floats:
        weighted = WeightedCorrelations(scores, ratings, image, n, names=("pearson",))
        return weighted.of(counts, threads=1).pearson

    def holds(replicates: Floats, truth: float) -> bool:
        low, high = percentile_interval(replicates, 0.95, MIN_UNITS)
        return low <= truth <= high

    scores = rng.normal(size=n)
    truth = captions()
    return [holds(counts @ scores / n, 0.0), holds(drawn(truth + captions(), truth), R)]


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
