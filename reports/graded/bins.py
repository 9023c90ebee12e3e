"""The numbers behind the figures: scores counted into bins, once for HTML and SVG alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def order_counts(scores: Array, seed: int, bins: int, higher_is_better: bool = True) -> Array:
    """Where the captions of each set land when all captions are put in order of score.

    `scores` is [s, n]; the result [s, bins] counts captions by position, worst first. Ties are
    broken at random with `seed`; captions without a score are left out.
    """
    sets = np.repeat(np.arange(len(scores)), scores.shape[1])
    flat = scores.ravel() if higher_is_better else -scores.ravel()
    known = ~np.isnan(flat)
    flat, sets = flat[known], sets[known]
    ranked = sets[np.lexsort((np.random.default_rng(seed).random(len(flat)), flat))]
    place = (np.arange(len(ranked)) * bins) // max(len(ranked), 1)
    counts = np.zeros((len(scores), bins))
    np.add.at(counts, (ranked, place), 1)
    return counts


@dataclass(frozen=True)
class Density:
    """Binned score densities of every set over common edges.

    `heights` [s, bins] integrates, with the atoms' shares, to 1 per set over all scores (those
    beyond the edges included). `atoms` are values that many captions share exactly (a sentence
    BLEU of 0) with the share of each set that has it: a bar of any width would misdraw them.
    """

    edges: Array
    heights: Array
    atoms: tuple[tuple[float, tuple[float, ...]], ...]

    def ridge(self, k: int) -> Array:
        """Heights of set k to draw, in [0, 1]: scaled to its own peak and share outside atoms.

        On a common scale, one narrow set would flatten all others; with the share, a ridge of
        few captions stays lower than the atoms, which are drawn by their shares.
        """
        peak = float(self.heights[k].max())
        outside = 1 - sum(shares[k] for _, shares in self.atoms)
        return np.asarray(self.heights[k] / (peak or 1.0) * max(outside, 0.0))


def density(scores: Array, bins: int = 40, atom: float = 0.05) -> Density:
    """Densities of scores [s, n]; a value held by at least `atom` of all captions is an atom."""
    known = scores[~np.isnan(scores)]
    if not known.size:
        return Density(np.linspace(0, 1, bins + 1), np.zeros((len(scores), bins)), ())
    values, counts = np.unique(known, return_counts=True)
    atoms = values[counts >= max(atom * known.size, 2)] if len(values) > 12 else values[:12]
    # outliers would squeeze everything else: the top 0.2 % of scores may lie beyond the edges
    low, high = float(values[0]), float(np.quantile(known, 0.998))
    edges = np.linspace(low, high if high > low else low + 1, bins + 1)
    heights, shares = np.zeros((len(scores), bins)), []
    for k, row in enumerate(scores):
        row = row[~np.isnan(row)]
        smooth = row[~np.isin(row, atoms)]
        heights[k] = np.histogram(smooth, edges)[0] / max(len(row), 1) / np.diff(edges)
        shares.append([float((row == v).mean()) if len(row) else 0.0 for v in atoms])
    return Density(
        edges,
        heights,
        tuple((float(v), tuple(share[j] for share in shares)) for j, v in enumerate(atoms)),
    )
