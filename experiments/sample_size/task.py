"""How many images it takes: `python -m metaeval experiment=sample_size`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtri

from metaeval.data.dataset import CaptionDataset
from metaeval.experiments.graded.differences import is_compared
from metaeval.experiments.graded.statistics import matrix, set_table
from metaeval.experiments.graded.task import Graded
from metaeval.experiments.record import RunRecord
from metaeval.experiments.text_table import text_table
from metaeval.options import OpenShare, PositiveInt
from metaeval.results.base import Estimate
from metaeval.results.graded import GradedResult, GradedStatistics
from metaeval.results.metric import MetricResult
from metaeval.results.sample_size import NeighbourPair, OrderStabilityResult, SampleSizeResult
from metaeval.runs import files
from metaeval.runs.columns import IMAGE_ID, METRIC
from metaeval.scoring import MetricScores
from metaeval.stats.correlation.rank_order_within import rank_orders_within
from metaeval.stats.resampling.bootstrap import MIN_UNITS
from metaeval.stats.sample_size import images_for_power, order_stability, power_at

Floats = npt.NDArray[np.float64]
SIZES = (25, 50, 100, 200, 500, 1000, 2000, 5000)


class SampleSize(Graded):
    """Graded corruption, and how the order of the metrics depends on the number of images.

    Parameters
    ----------
    draws
        Samples of images of each size.
    stable
        The share of samples from which on an order counts as stable.
    power
        How often a test of two neighbours is to be significant, for the power formula.
    alpha
        The level of that test.
    floor
        See `Graded`.
    """

    name = "sample_size"
    title = "How many images does it take?"
    question = "How many images does it take until the order of the metrics is that of all images?"
    report = "sample_size"

    def __init__(
        self,
        draws: PositiveInt = 1000,
        stable: OpenShare = 0.95,
        power: OpenShare = 0.8,
        alpha: OpenShare = 0.05,
        floor: bool = True,
    ) -> None:
        super().__init__(floor)
        self.draws, self.stable, self.power, self.alpha = draws, stable, power, alpha

    def statistics(
        self, data: CaptionDataset, scores: list[MetricScores], record: RunRecord
    ) -> SampleSizeResult:
        graded = self.graded_result(data, scores, record, self.name)
        return SampleSizeResult(**dict(graded), sample_size=self._sample_size(graded, record))

    def _sample_size(self, graded: GradedResult, record: RunRecord) -> OrderStabilityResult | None:
        """Stability of the order by ρ within an image; `None` with fewer than two metrics or
        `MIN_UNITS` images."""
        metrics = [m for m in graded.metrics if m.ok and is_compared(m.column)]
        names = [m.name for m in metrics]
        if len(names) < 2:
            return None
        values = _of_images(record.out, metrics)
        values = values[~np.isnan(values).any(axis=1)]
        n = len(values)
        sizes = sorted({size for size in SIZES if size < n} | ({n} if n >= MIN_UNITS else set()))
        if not sizes:
            return None
        seed = record.config.stats.seed
        stability = order_stability(values, sizes, draws=self.draws, alpha=self.alpha, seed=seed)
        neighbours = []
        for k, (a, b) in enumerate(zip(stability.order[:-1], stability.order[1:], strict=True)):
            gap = values[:, a] - values[:, b]
            neighbours.append(
                NeighbourPair(
                    better=names[a],
                    worse=names[b],
                    difference=mean_with_interval(gap),
                    sd=float(gap.std(ddof=1)),
                    images_for_power=images_with_interval(gap, self.alpha, self.power),
                    images_observed=_first(sizes, stability.significant[k], self.power),
                    images_same_sign=_first(sizes, stability.same_sign[k], self.stable),
                    same_sign=tuple(stability.same_sign[k].tolist()),
                    significant=tuple(stability.significant[k].tolist()),
                    predicted=tuple(
                        power_at(s, float(gap.mean()), float(gap.std(ddof=1)), alpha=self.alpha)
                        for s in sizes
                    ),
                )
            )
        return OrderStabilityResult(
            n_images=n,
            sizes=tuple(sizes),
            draws=self.draws,
            stable=self.stable,
            power=self.power,
            alpha=self.alpha,
            order=tuple(names[k] for k in stability.order),
            same_order=tuple(stability.same_order.tolist()),
            tau=tuple(stability.tau.tolist()),
            images_stable=_first(sizes, stability.same_order, self.stable),
            neighbours=tuple(neighbours),
        )

    def printout(self, summary: SampleSizeResult, record: RunRecord, file: Path) -> str:
        stability = summary.sample_size
        if stability is None:
            return f"fewer than two metrics or {MIN_UNITS} images to compare\n{file.stem}: {file}"
        lines = [
            {"metric": f"{p.better} > {p.worse}", "difference": f"{p.difference.value:.4f}",
             "same order": _images(p.images_same_sign),
             "significant": _images(p.images_observed),
             "by the formula": _needed(p.images_for_power)}
            for p in stability.neighbours
        ]  # fmt: skip
        whole = _images(stability.images_stable)
        return "\n".join([
            *text_table(lines, "images until"),
            f"the whole order in {100 * stability.stable:g}% of samples: {whole} images",
            f"{file.stem}: {file}",
        ])  # fmt: skip


def mean_with_interval(values: Floats) -> Estimate:
    """The mean over images with its 95 % interval, mean ± 1.96 · sd / √n.

    >>> mean_with_interval(np.array([0.0, 1.0, 2.0, 1.0]))
    Estimate(value=1.0, low=0.19983604600644323, high=1.8001639539935568, n=4)
    """
    mean = float(values.mean())
    half = float(ndtri(0.975) * values.std(ddof=1) / np.sqrt(len(values)))
    return Estimate(value=mean, low=mean - half, high=mean + half, n=len(values))


def images_with_interval(values: Floats, alpha: float, power: float) -> Estimate:
    """The images that a paired test needs, at the mean difference and at both ends of its interval.

    Without a value where the interval contains 0: the data are compatible with no difference at
    all, for which no number of images is enough.
    """
    mean, sd = mean_with_interval(values), float(values.std(ddof=1))
    assert mean.value is not None
    assert mean.interval is not None
    low, high = mean.interval
    if low <= 0 <= high:
        return Estimate(value=None, n=mean.n)
    near, far = sorted((low, high), key=abs)

    def needed(difference: float) -> float:
        return images_for_power(difference, sd, alpha=alpha, power=power)

    return Estimate(value=needed(mean.value), low=needed(far), high=needed(near), n=mean.n)


def _needed(images: Estimate) -> str:
    """1,300 (900 to 2,100), or a dash where no number can be given."""
    if images.value is None or images.interval is None:
        return "–"
    low, high = images.interval
    return f"{_images(images.value)} ({_images(low)} to {_images(high)})"


def _images(n: float | None) -> str:
    return "more" if n is None else f"{np.ceil(n):,.0f}"


def _first(sizes: list[int], shares: np.ndarray[Any, Any], wanted: float) -> int | None:
    """The smallest size from which on all shares are as wanted; `None` if there is none."""
    enough = [bool((shares[k:] >= wanted).all()) for k in range(len(sizes))]
    return next((size for size, ok in zip(sizes, enough, strict=True) if ok), None)


def _of_images(out: Path, metrics: Sequence[MetricResult[GradedStatistics]]) -> Floats:
    """[n_images, metrics]: the rank-order ρ of each image alone."""
    captions = files.read_table(out / files.CAPTIONS)
    scores = files.read_table(out / files.SCORES)
    images = pd.Index(captions[IMAGE_ID].unique())
    sets = set_table(captions)
    labels, levels = [s.name for s in sets], [s.level for s in sets]
    columns = []
    for metric in metrics:
        values = matrix(scores[scores[METRIC] == metric.name], "score", images, labels)
        upward = metric.column.higher_is_better
        columns.append(rank_orders_within(values if upward else -values, levels))
    return np.stack(columns, axis=1)
