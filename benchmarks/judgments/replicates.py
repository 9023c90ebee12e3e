"""Statistics of human judgements here against the plain way, on data of Flickr8k-Expert's size.

    python benchmarks/judgments/replicates.py

16,992 ratings from 1 to 4 of 5,664 captions of 1,000 images, scores with and without ties; made up,
so that no data is needed. Each line is a ratio of processor times, measured in turns in one
process, with the largest difference between the two results. The plain way is scipy on arrays that
are put together anew for each replicate, and for tie calibration a loop over pairs in sorted order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import kendalltau, zscore

from benchmarks.side_by_side import timed
from metaeval.stats.correlation.correlations import WeightedCorrelations
from metaeval.stats.correlation.kendall import kendall
from metaeval.stats.ordering.tie_calibration import tie_calibration
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from metaeval.stats.significance.paired_permutation import perm_both

TURNS = 5


def made_up() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    quality = rng.normal(size=5664)
    row = np.repeat(np.arange(5664), 3)
    human = np.clip(np.round(quality[row] + 0.7 * rng.normal(size=len(row)) + 1.7), 1, 4)
    smooth = quality + rng.normal(size=5664)
    tied = np.round(quality + rng.normal(size=5664), 1)
    image = rng.integers(1000, size=5664)
    return {"row": row, "human": human, "smooth": smooth, "tied": tied, "image": image}


def compare(
    name: str, ours: Callable[[], Any], plain: Callable[[], Any], shares: Sequence[float] = (1, 1)
) -> None:
    """Print a ratio of times; `shares`: what part of the whole work each of the two did."""
    taken: list[list[float]] = [[], []]
    results: list[Any] = [None, None]
    for _ in range(TURNS):
        for k, call in enumerate((ours, plain)):
            results[k], seconds = timed(call)
            taken[k].append(seconds.processor / shares[k])
    mine, theirs = (float(np.median(t)) for t in taken)
    n = min(len(np.atleast_1d(r)) for r in results)
    apart = np.abs(np.atleast_1d(results[0])[:n] - np.atleast_1d(results[1])[:n]).max()
    print(
        f"{name}: {theirs / mine:.1f} times as fast ({1000 * mine:.1f} ms against "
        f"{1000 * theirs:.1f} ms); largest difference {apart:.1e}",
        flush=True,
    )


def main() -> None:
    data = made_up()
    row, human, image = data["row"], data["human"], data["image"]
    for kind in ("smooth", "tied"):
        x = data[kind][row]
        compare(
            f"τ-c, {kind} scores",
            lambda x=x: kendall(x, human, "c").tau,
            lambda x=x: kendalltau(x, human, variant="c").statistic,
        )
    x, y = data["smooth"][row], data["tied"][row]
    counts = bootstrap_counts(1000, 1000, seed=0)
    rows_of = [np.flatnonzero(image[row] == k) for k in range(1000)]

    def resampled() -> list[float]:
        taus = []
        for weights in counts[:20]:
            drawn = np.concatenate([np.tile(rows_of[k], w) for k, w in enumerate(weights) if w])
            taus.append(kendalltau(x[drawn], human[drawn], variant="c").statistic)
        return taus

    compare(
        "1,000 bootstrap replicates of τ-c",
        lambda: (
            WeightedCorrelations(x, human, image[row], 1000, names=("kendall_tau_c",))
            .of(counts)
            .kendall_tau_c
        ),
        resampled,
        (1, 20 / 1000),
    )

    def permuted() -> list[float]:
        rng, a, b = np.random.default_rng(0), zscore(x), zscore(y)
        taus = [kendalltau(each, human, variant="c").statistic for each in (a, b)]
        for _ in range(20):
            swap = rng.integers(2, size=5664)[row] == 1
            one, other = np.where(swap, b, a), np.where(swap, a, b)
            kendalltau(one, human, variant="c")
            kendalltau(other, human, variant="c")
        return [taus[0] - taus[1]]

    compare(
        "1,000 arrangements of PERM-BOTH in τ-c",
        lambda: perm_both(x, y, human, row, replicates=1000).difference,
        permuted,
        (1, 21 / 1001),
    )
    means = np.bincount(row, human) / 3

    def by_pairs() -> float:
        pairs, sizes = [], np.bincount(image)
        for k in np.flatnonzero(sizes > 1):
            items = np.flatnonzero(image == k)
            weight = 1 / (sizes[k] * (sizes[k] - 1) / 2)
            for i, j in combinations(items.tolist(), 2):
                d, h = data["smooth"][i] - data["smooth"][j], means[i] - means[j]
                right, level = int(d * h > 0), int(h == 0)
                pairs.append((abs(d), weight * right, weight * (level - right)))
        total = best = sum(p[1] for p in pairs)
        for _, _, gain in sorted(pairs):
            total += gain
            best = max(best, total)
        return float(best / (sizes > 1).sum())

    compare(
        "tie calibration within images",
        lambda: tie_calibration(data["smooth"], means, image).accuracy,
        by_pairs,
    )


if __name__ == "__main__":
    main()
