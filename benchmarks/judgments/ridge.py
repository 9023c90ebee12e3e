"""Metrics combined to agree with people: fitted on one half of the images, reported on the other.

    python -m benchmarks.judgments.ridge RUN

RUN is a folder of experiment=judgments. Which half an image is in, a digest of its id says. On the
first half ridge regression of the mean rating on the standardised scores is fitted, for every pair
and triple of metrics and for all of them; the pair and the triple with the highest τ-b *there* are
taken. What is printed is τ-b on the other half, which nothing was chosen by, next to each metric
alone: all of it *learned*, and of this data set alone.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaeval.results.files import read_result
from metaeval.runs import files
from metaeval.stats.correlation.kendall import kendall

Floats = npt.NDArray[np.float64]
ALPHA = 10.0  # of the ridge, for standardised scores of thousands of captions


def first_half(images: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which captions are of images in the first half."""
    return np.array([hashlib.sha256(str(i).encode()).digest()[0] % 2 == 0 for i in images])


def ridge(scores: Floats, ratings: Floats) -> Floats:
    """The weights [k] of standardised, centred scores [n, k] that fit the centred ratings [n]."""
    k = scores.shape[1]
    return np.linalg.solve(
        scores.T @ scores + ALPHA * np.eye(k), scores.T @ (ratings - ratings.mean())
    )


def table(folder: Path) -> str:
    """The Markdown of a run."""
    judged = pd.read_parquet(folder / files.JUDGMENTS)
    metrics = [
        m.column
        for m in read_result(folder / files.STATISTICS).metrics
        if m.ok and m.column.headline and not m.column.control and m.column.part_of is None
    ]
    names = [column.name for column in metrics]
    (dimension,) = [c for c in judged.columns if c.startswith("human_")][:1]
    wide = pd.read_parquet(folder / files.SCORES).pivot(
        index="caption", columns="metric", values="score"
    )
    signs = [1.0 if column.higher_is_better else -1.0 for column in metrics]
    scores = np.stack(
        [wide[name].to_numpy() * sign for name, sign in zip(names, signs, strict=True)], axis=1
    )
    ratings = np.array([np.mean(given) if len(given) else np.nan for given in judged[dimension]])
    known = ~np.isnan(ratings) & ~np.isnan(scores).any(axis=1)
    fit = first_half(judged["image_id"]) & known
    rest = ~first_half(judged["image_id"]) & known
    scores = (scores - scores[fit].mean(axis=0)) / scores[fit].std(axis=0)

    def taus(columns: Sequence[int]) -> tuple[float, float]:
        """τ-b of the combination on the half that it is fitted on, and on the other."""
        own = scores[:, list(columns)]
        weights = ridge(own[fit], ratings[fit]) if len(columns) > 1 else np.ones(1)
        combined = own @ weights
        return tuple(float(kendall(combined[h], ratings[h]).tau) for h in (fit, rest))  # type: ignore[return-value]

    n = len(names)
    alone = sorted(((taus([k]), names[k]) for k in range(n)), key=lambda each: -each[0][1])
    lines = ["| | fitted half | other half |", "|---|---:|---:|"]
    lines += [f"| {name} | {a:.3f} | {b:.3f} |" for (a, b), name in alone]
    for size, what in ((2, "best pair"), (3, "best triple")):
        tried = [(taus(chosen), chosen) for chosen in combinations(range(n), size)]
        (a, b), chosen = max(tried, key=lambda each: each[0][0])
        title = " + ".join(names[k] for k in chosen)
        lines.append(f"| *{what}, learned*: {title} | {a:.3f} | {b:.3f} |")
    a, b = taus(range(n))
    lines.append(f"| *all {n}, learned* | {a:.3f} | {b:.3f} |")
    text = "\n".join(lines).replace("0.", ".").replace("-.", "−.")
    return f"{text}\n\n{fit.sum():,} captions in the fitted half, {rest.sum():,} in the other; τ-b."


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))
