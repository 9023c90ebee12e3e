"""Does a metric see that a caption was changed? Original against changed, image by image."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy  # whose parts are slow to import: each is, at its first use

from metaeval.stats.resampling.bootstrap import (
    Buffers,
    Counts,
    IntervalEstimate,
    interval_estimate,
    map_chunks,
    percentile_intervals,
    replicates_at_a_time,
    resampled_sums,
)
from metaeval.stats.resampling.items import Floats, Ints
from metaeval.stats.resampling.weighted import RunningTotals, pad_weights

Interval = tuple[float, float]


class Detection(NamedTuple):
    """What `detection` returns. Intervals are of resampled images; NaN where nothing is known.

    Attributes
    ----------
    n
        Images of which both captions have a score.
    detected, detected_ci
        The share of them in which the original scores higher, in [0, 1].
    tied
        The share in which both score the same.
    auc, ci
        detected + tied / 2; 0.5 = not distinguished.
    p
        Two-sided, of "as often above as below": the exact sign test.
    cost, cost_ci
        The mean of original minus changed score, in the metric's unit.
    effect, effect_ci
        The cost in standard deviations of the images' differences (Cohen's d_z); NaN without any
        spread.
    """

    n: int
    detected: float
    detected_ci: Interval
    tied: float
    auc: float
    ci: Interval
    p: float
    cost: float
    cost_ci: Interval
    effect: float
    effect_ci: Interval


def detection(
    original: npt.ArrayLike,
    changed: npt.ArrayLike,
    counts: Counts,
    *,
    confidence: float = 0.95,
) -> list[Detection]:
    """Compare the scores of original and changed captions within images, set by set.

    Parameters
    ----------
    original
        float64 [n_images], higher is better; NaN = not scored.
    changed
        float64 [n_images, n_sets]; NaN = not scored, or not changed: the image is left out.
    counts
        int [replicates, n_images] from `bootstrap_counts`; of no replicates, intervals are NaN.

    Notes
    -----
    Definition
        AUC within images: the mean over images of 1, ½ or 0 as the original scores higher than,
        the same as or lower than the changed caption. Scores that differ by less than 1e-12 are
        the same.
    p
        Of w images above and l below, 2 · P(X ≤ min(w, l)) with X binomial of w + l and ½, at most
        1. Exact for any n; ties, which speak for neither, take no part.
    Unit
        The image. Costs are rounded to a share of the set's greatest for the intervals (2^-20 of
        1,000 images), so that sums are exact and depend on no order of additions.
    Source
        Vargha and Delaney (2000), A critique and improvement of the CL common language effect size
        statistics: A for paired data; J. Cohen (1988), Statistical Power Analysis, 2.3.5; W. J.
        Dixon and A. M. Mood (1946), The statistical sign test.

    Examples
    --------
    >>> one, = detection([3.0, 2.0, 1.0, 5.0], [[1.0], [2.0], [2.0], [np.nan]], np.empty((0, 4)))
    >>> one.n, round(one.detected, 3), round(one.auc, 3), round(one.cost, 3), one.p
    (3, 0.333, 0.5, 0.333, 1.0)
    """
    gaps: Floats = np.asarray(original, np.float64)[:, None] - np.asarray(changed, np.float64)
    intervals = _intervals(gaps, counts, confidence)
    return [_of_set(gaps[:, k], *(of_all[k] for of_all in intervals)) for k in range(gaps.shape[1])]


def _of_set(
    gaps: Floats, detected_ci: Interval, ci: Interval, cost_ci: Interval, effect_ci: Interval
) -> Detection:
    some = gaps[~np.isnan(gaps)]
    n, nan = len(some), float("nan")
    if not n:
        return Detection(0, nan, detected_ci, nan, nan, ci, nan, nan, cost_ci, nan, effect_ci)
    wins = won(some)
    spread = float(some.std(ddof=1)) if n > 1 else 0.0
    above, below = int((wins == 1).sum()), int((wins == 0).sum())
    return Detection(
        n,
        above / n,
        detected_ci,
        (n - above - below) / n,
        float(wins.mean()),
        ci,
        min(1.0, 2 * float(scipy.special.bdtr(min(above, below), above + below, 0.5))),
        float(some.mean()),
        cost_ci,
        float(some.mean()) / spread if spread > 1e-12 else nan,
        effect_ci,
    )


def won(gaps: Floats) -> Floats:
    """1 where a difference is positive, 0 where negative, ½ where there is none; NaN stays."""
    return np.where(
        np.isnan(gaps), np.nan, 0.5 * (1 + np.sign(np.where(abs(gaps) < 1e-12, 0, gaps)))
    )


def _intervals(gaps: Floats, counts: Counts, confidence: float) -> tuple[list[Interval], ...]:
    """Per set the intervals of detected, AUC, cost and effect."""
    known = ~np.isnan(gaps)
    greatest = np.max(np.abs(np.where(known, gaps, 0.0)), axis=0, initial=0.0)
    # to how many bits values are rounded, so that float64 sums of their squares are exact
    bits = (52 - max(1, len(gaps)).bit_length()) // 2
    unit = np.where(greatest > 0, greatest, 1.0) / 2.0**bits
    wins = np.where(known, won(gaps), 0.0)
    costs = np.rint(np.where(known, gaps, 0.0) / unit)
    n, detected, auc, cost, square = drawn_sums([known, wins == 1, wins, costs, costs**2], counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = cost / n
        spread = np.sqrt(np.maximum(square - cost * mean, 0) / (n - 1))
        effect = np.where(spread > 1e-9, mean / spread, np.nan)
        tables = (detected / n, auc / n, mean * unit, effect)
    intervals = (percentile_intervals(t, confidence, known.sum(axis=0)).tolist() for t in tables)
    return tuple([(low, high) for low, high in of_sets] for of_sets in intervals)


def drawn_sums(tables: list[npt.NDArray[np.generic]], counts: Counts) -> list[Floats]:
    """Of each table [n_images, k], the sums [replicates, k] over the images that were drawn.

    The tables hold multiples of ½ or whole numbers whose sums stay below 2^53: every sum is exact.
    """
    stacked = np.concatenate([t.astype(np.float64) for t in tables], axis=1)
    return np.split(resampled_sums(stacked, counts, exact=True), len(tables), axis=1)


class Classification(NamedTuple):
    """What `classification` returns; NaN where one of the classes is empty.

    Attributes
    ----------
    n_positive
        How many of the captions with a score are positive; `n` of the estimates are these captions.
    auroc
        The probability that a positive caption scores higher than a negative one, ties count half.
    average_precision
        The mean precision over the positive captions, at thresholds of descending score.

    Notes
    -----
    Ties
        Captions of equal score pass a threshold together: the precision at a threshold counts all
        of them (as scikit-learn's `average_precision_score`).
    Unit
        The image: a replicate repeats all captions of an image.
    Source
        T. Fawcett (2006), An introduction to ROC analysis, Pattern Recognition Letters 27; E. M.
        Voorhees and D. K. Harman (2005), TREC, on average precision.
    """

    n_positive: int
    auroc: IntervalEstimate
    average_precision: IntervalEstimate


def classification(
    scores: npt.ArrayLike,
    positive: npt.ArrayLike,
    image: npt.ArrayLike,
    counts: Counts | Floats,
    *,
    confidence: float = 0.95,
) -> Classification:
    """How well scores separate positive from negative captions, over all images together.

    Parameters
    ----------
    scores
        float64 [n], higher for positive captions; captions with NaN are left out.
    positive
        bool [n].
    image
        int [n], the number of each caption's image.
    counts
        int [replicates, n_images] from `bootstrap_counts`.

    Examples
    --------
    >>> found = classification([3, 2, 2, 1], [1, 1, 0, 0], [0, 1, 2, 3], np.empty((0, 4)))
    >>> found.auroc.value, round(found.average_precision.value, 4)
    (0.875, 0.8333)
    """
    x, label = np.asarray(scores, np.float64), np.asarray(positive, np.bool_)
    unit = np.asarray(image, np.int64)
    scored = ~np.isnan(x)
    x, label, unit = x[scored], label[scored], unit[scored]
    curve = _Thresholds(x, label, unit, counts.shape[1])
    one, step = np.ones((1, counts.shape[1])), replicates_at_a_time(len(x))

    def chunk(start: int, buffers: Buffers) -> Floats:
        return curve.of(counts[start : start + step], buffers)

    drawn = map_chunks(chunk, range(0, len(counts), step))
    estimates = (
        interval_estimate(float(value), replicates, confidence, len(np.unique(unit)), len(x))
        for (value,), replicates in zip(
            curve.of(one, Buffers()), np.hstack([np.empty((2, 0)), *drawn]), strict=True
        )
    )
    return Classification(int(label.sum()), *estimates)


class _Thresholds:
    """Captions in descending order of score, and the thresholds that a positive one passes."""

    def __init__(
        self, scores: Floats, label: npt.NDArray[np.bool_], unit: Ints, n_images: int
    ) -> None:
        order = np.argsort(-scores, kind="stable")
        scores, label, unit = scores[order], label[order], unit[order]
        self._of_class = [RunningTotals(unit[label == of], n_images) for of in (True, False)]
        self._sizes = [np.array([(label == of).sum()]) for of in (True, False)]
        ends = np.flatnonzero(np.append(scores[1:] != scores[:-1], len(scores) > 0))
        true, false = (np.append(0, np.cumsum(label == of)[ends]) for of in (True, False))
        self._passed = np.flatnonzero(np.diff(true))
        self._true, self._false = true[1:], false

    def of(self, counts: Counts | Floats, buffers: Buffers) -> Floats:
        """AUROC and average precision [2, r] where images are drawn `counts` [r, n_images] times;
        NaN where a class is empty."""
        weights = pad_weights(counts.T, np.float64, buffers)
        totals = [t.of(weights, buffers, f"{k}") for k, t in enumerate(self._of_class)]
        n_true, n_false = (
            total[of.rows(size)][0]
            for total, of, size in zip(totals, self._of_class, self._sizes, strict=True)
        )
        at, passed = self._of_class, self._passed
        true = buffers.take("true", totals[0], at[0].rows(self._true[passed]))
        false = buffers.take("false", totals[1], at[1].rows(self._false[passed + 1]))
        before = buffers.take("before", totals[1], at[1].rows(self._false[passed]))
        gained = np.diff(true, axis=0, prepend=0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(gained > 0, true / (true + false), 0.0)
            # pairs of which the positive is lower, and half of those in one threshold
            lost = np.einsum("gr,gr->r", gained, np.add(false, before, out=before)) / 2
            auroc = (n_true * n_false - lost) / (n_true * n_false)
            table = np.stack([auroc, np.einsum("gr,gr->r", gained, share) / n_true])
        return np.where((n_true > 0) & (n_false > 0), table, np.nan)
