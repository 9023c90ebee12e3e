"""Coverage of several 95 % intervals of the partial correlation, on the data of `coverage.py`.

    python -m benchmarks.judgments.partial_intervals --simulations 4000

200 images with four captions each; images share an effect; the true partial r is √½. Prints, as a
Markdown table, how often each interval holds it, with the Wilson interval of the share.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from scipy.stats import binomtest, norm, t

from benchmarks.judgments.coverage import IMAGE, IMAGES, shared
from metaeval.stats.resampling.items import Floats

REPLICATES = 1000
TRUTH = math.sqrt(0.5)
LEVELS = (0.025, 0.975)


def sums(x: Floats, y: Floats, z: Floats) -> Floats:
    """[images, 10] What each image adds to n and to the first and second moments."""
    moments = [np.ones_like(x), x, y, z, x * x, y * y, z * z, x * y, x * z, y * z]
    return np.stack([np.bincount(IMAGE, each) for each in moments], axis=1)


def partial(totals: Floats) -> Floats:
    """Partial Pearson's r of x and y given z, of [k, 10] totals."""
    n, x, y, z, xx, yy, zz, xy, xz, yz = totals.T
    variance = [second / n - (first / n) ** 2 for first, second in ((x, xx), (y, yy), (z, zz))]

    def r(product: Floats, a: Floats, b: Floats, of_a: int, of_b: int) -> Floats:
        covariance = product / n - a * b / n**2
        return np.asarray(covariance / np.sqrt(variance[of_a] * variance[of_b]))

    r_xy, r_xz, r_yz = r(xy, x, y, 0, 1), r(xz, x, z, 0, 2), r(yz, y, z, 1, 2)
    return np.asarray((r_xy - r_xz * r_yz) / np.sqrt((1 - r_xz**2) * (1 - r_yz**2)))


def intervals(per_image: Floats, rng: np.random.Generator) -> dict[str, Floats]:
    """Name → the ends of the interval."""
    counts = rng.multinomial(IMAGES, [1 / IMAGES] * IMAGES, size=REPLICATES)
    replicates = partial(counts @ per_image)
    value = float(partial(per_image.sum(axis=0, keepdims=True))[0])
    left_out = partial(per_image.sum(axis=0) - per_image)
    on_z, z = np.arctanh(replicates), math.atanh(value)
    wide = norm.ppf(0.975) * on_z.std(ddof=1)
    low, high = np.quantile(on_z, LEVELS)
    deviations = np.arctanh(left_out) - np.arctanh(left_out).mean()
    error = math.sqrt((IMAGES - 1) * (deviations**2).mean())
    jackknife = t.ppf(0.975, IMAGES - 1) * error
    pull = left_out.mean() - left_out
    acceleration = (pull**3).sum() / (6 * (pull**2).sum() ** 1.5)
    bias = norm.ppf((replicates < value).mean())
    shifted = bias + norm.ppf(LEVELS)
    levels = norm.cdf(bias + shifted / (1 - acceleration * shifted))
    return {
        "percentile (ours)": np.quantile(replicates, LEVELS),
        "basic, on Fisher's z": np.tanh([2 * z - high, 2 * z - low]),
        "normal, on Fisher's z": np.tanh([z - wide, z + wide]),
        "jackknife, on Fisher's z": np.tanh([z - jackknife, z + jackknife]),
        "bias-corrected accelerated": np.quantile(replicates, levels),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=1000)
    simulations = parser.parse_args().simulations
    held: dict[str, int] = {}
    for seed in range(simulations):
        rng = np.random.default_rng([7, seed])
        length, common = shared(rng), shared(rng)
        per_image = sums(length + common + shared(rng), length + common, length)
        for name, (low, high) in intervals(per_image, rng).items():
            held[name] = held.get(name, 0) + int(low <= TRUTH <= high)
    print(f"| 95 % interval ({simulations:,} simulations) | holds the truth in % |")
    print("|---|---:|")
    for name, times in held.items():
        low, high = binomtest(times, simulations).proportion_ci(0.95, method="wilson")
        share = times / simulations
        print(f"| {name} | {100 * share:.1f} [{100 * low:.1f}, {100 * high:.1f}] |")


if __name__ == "__main__":
    main()
