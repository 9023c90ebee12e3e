"""The bootstrap of all statistics against the simple way: resample the arrays and call scipy again.

    python benchmarks/bootstrap.py

prints the seconds for 12 metrics over 5,000 images × 4 sets (20,000 captions) and 2,000 replicates,
the peak memory, and the ratio to the plain way. The plain way is timed on a few replicates and
scaled up, as it would take hours. It computes no more than what has an interval, each statistic as
a user of NumPy and scipy would; its values are compared with ours first.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import stats

from benchmarks.side_by_side import greatest_difference, options_parser, peak_memory, timed
from metaeval.stats.ordering.graded import graded_statistics
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from metaeval.stats.resampling.replicates import replicate_statistics

LEVELS = np.arange(4)
NAMES = ["Random", "Replace 50%", "Replace 25%", "Human"]


def metric(kind: str, n_images: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Scores as metrics give them: all distinct, in steps, or mostly zero with a tail."""
    scores = rng.normal(size=(n_images, 4)) + 0.5 * LEVELS
    if kind == "stepped":
        return np.round(scores, 2)
    if kind == "mostly zero":
        return np.where(scores < 1.5, 0.0, np.round(scores, 3))
    return scores


def plain(scores: npt.NDArray[np.float64], count: npt.NDArray[np.integer]) -> list[float]:
    """One replicate: the statistics of the resampled table."""
    x = np.repeat(scores, count, axis=0)
    y = np.broadcast_to(LEVELS, x.shape)
    # One random tie-breaking, not its exact expectation.
    order = np.lexsort([np.random.default_rng(0).random(x.size), x.ravel()])
    values = [
        float(stats.spearmanr(y.ravel()[order], np.sort(y, axis=None)).statistic),
        float(stats.spearmanr(x.ravel(), y.ravel()).statistic),
        float(stats.kendalltau(x.ravel(), y.ravel()).statistic),
    ]
    for g in range(3):
        u = stats.mannwhitneyu(x[:, g + 1], x[:, g]).statistic
        values.append(float(u) / len(x) ** 2)
    difference = np.array([x[:, b] - x[:, a] for b in range(4) for a in range(b)])
    values += [float((difference > 0).mean()), float((difference < 0).mean())]
    return [*values, float((np.diff(x, axis=1) > 0).all(axis=1).mean())]


def main() -> None:
    parser = options_parser(__doc__, "threads")
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--replicates", type=int, default=2000)
    parser.add_argument("--metrics", type=int, default=12)
    parser.add_argument("--plain", type=int, default=5, help="replicates of the plain way")
    options = parser.parse_args()

    rng = np.random.default_rng(0)
    counts, drawing = timed(lambda: bootstrap_counts(options.images, options.replicates, seed=0))
    print(
        f"{options.metrics} metrics × {4 * options.images:,} captions × "
        f"{options.replicates:,} replicates, all statistics"
    )
    print(f"drawing the images, once for all metrics: {drawing.clock:.2f} s")
    for kind in ("distinct", "stepped", "mostly zero"):
        tables = [metric(kind, options.images, rng) for _ in range(options.metrics)]

        def ours(tables: list[npt.NDArray[np.float64]] = tables) -> None:
            for table in tables:
                graded_statistics(table, LEVELS, NAMES, counts=counts, threads=options.threads)

        def by_scipy(table: npt.NDArray[np.float64] = tables[0]) -> list[list[float]]:
            return [plain(table, count) for count in counts[: options.plain]]

        _, taken = timed(ours)
        fast = drawing.clock + taken.clock
        resampled, of_sample = timed(by_scipy)
        slow = of_sample.clock / options.plain * options.replicates * options.metrics
        weighted = replicate_statistics(tables[0], LEVELS, counts[: options.plain])
        mine = np.vstack([np.atleast_2d(part) for part in weighted]).T
        first = 0 if kind == "distinct" else 1  # the plain rank-order ρ is one draw of the ties
        error = greatest_difference(mine[:, first:], np.array(resampled)[:, first:], 1e-10)
        print(
            f"{kind} scores: {fast:.2f} s ({taken.processor:.2f} s of processor time); the plain "
            f"way {slow:,.0f} s (scaled up from {options.plain} replicates of one metric): "
            f"{slow / fast:,.0f} times as long; "
            f"greatest difference {error:.0e}"
        )
    print(f"peak memory of this process: {peak_memory()}")


if __name__ == "__main__":
    main()
