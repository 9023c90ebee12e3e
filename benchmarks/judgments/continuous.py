"""Time of the tests between metrics where human ratings are continuous.

    python -m benchmarks.judgments.continuous --rows 3298 --columns 13

Draws ratings and scores, then makes what the statistics of a judgement table make: correlations of
every column and their replicates by image, and for all pairs of columns the permutation test and
the paired bootstrap. Prints a Markdown table of processor seconds and seconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import combinations

import numpy as np

from metaeval.stats.correlation.correlations import WeightedCorrelations, correlations
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from metaeval.stats.significance.paired_bootstrap import difference_of
from metaeval.stats.significance.paired_permutation import perm_both


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=3298)
    parser.add_argument("--columns", type=int, default=13)
    parser.add_argument("--images", type=int, default=1500)
    parser.add_argument("--levels", type=int, default=0, help="distinct ratings; 0 = continuous")
    parser.add_argument("--permutations", type=int, default=2000)
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--statistic", default="kendall_tau_c")
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    human = rng.normal(size=given.rows)
    if given.levels:
        human = np.floor(given.levels * rng.random(given.rows))
    image = rng.integers(given.images, size=given.rows)
    columns = [human + rng.normal(0, k + 1, given.rows) for k in range(given.columns)]
    columns[-1] = np.round(columns[-1])  # a metric with ties
    counts = bootstrap_counts(given.images, given.replicates, 0)
    replicates: list[np.ndarray] = []

    def correlate() -> None:
        for column in columns:
            correlations(column, human)
            made = WeightedCorrelations(column, human, image, given.images).of(counts)
            replicates.append(getattr(made, given.statistic))

    def permute() -> None:
        for a, b in combinations(columns, 2):
            perm_both(a, b, human, statistic=given.statistic, replicates=given.permutations)

    def resample() -> None:
        for a, b in combinations(replicates, 2):
            difference_of(0.1, 0.0, a, b, 0.95)

    steps: dict[str, Callable[[], None]] = {
        "correlations and replicates": correlate,
        "permutation tests of all pairs": permute,
        "bootstrap of all pairs": resample,
    }
    print(f"| step ({given.rows:,} rows, {given.columns} columns) | processor s | s |")
    print("|---|---|---|")
    for name, step in steps.items():
        started, used = time.perf_counter(), time.process_time()
        step()
        used, elapsed = time.process_time() - used, time.perf_counter() - started
        print(f"| {name} | {used:.1f} | {elapsed:.1f} |", flush=True)


if __name__ == "__main__":
    main()
