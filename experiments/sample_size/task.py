"""How many images it takes: `python -m metaeval experiment=sample_size`."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaeval.experiments import CaptionDataset, Extra, MeasuredResult, MetricScores, RunRecord
from metaeval.experiments.graded.statistics import score_tables, set_table
from metaeval.experiments.graded.task import Graded
from metaeval.options import OpenShare, PositiveInt
from metaeval.results.base import Estimate, MetricResult
from metaeval.runs import files
from metaeval.runs.records import IMAGE_ID
from metaeval.stats.correlation.rank_order import rank_orders_within
from metaeval.stats.resampling.bootstrap import MIN_UNITS
from metaeval.stats.sample_size import images_for_power, order_stability, power_at
from metaeval.stats.significance.paired_differences import student

Floats = npt.NDArray[np.float64]
IN_ORDER, SIGNIFICANT = "share of samples in order", "share of samples with a significant test"
PREDICTED = "power by the formula"
WHOLE, MORE = "the whole order", "more than {}"
NO_ORDER = f"Fewer than two metrics or {MIN_UNITS} images: there is no order to test."
NEIGHBOURS = (
    "Neighbours in the order by ρ within an image: images until {share:g}% of the samples have "
    "them in this order, and until a paired test is significant in {power:g}%, observed and by the "
    "power formula"
)
BY_SIZE, OF_SAMPLES = "Samples by their number of images", "Order of the samples"
SIZES = (25, 50, 100, 200, 500, 1000, 2000, 5000)


class SampleSize(
    Graded,
    name="sample_size",
    stored=True,
    title="How many images does it take?",
    question="How many images does it take until the order of the metrics is that of all images?",
):
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
    ) -> MeasuredResult:
        graded = super().statistics(data, scores, record)
        pooled, within, *others = graded.declared
        metrics = [m for m in graded.metrics if m.ok and m.column.is_ranked]
        values = _of_images(record.out, metrics)
        values = values[~np.isnan(values).any(axis=1)]
        n = len(values)
        sizes = sorted({size for size in SIZES if size < n} | ({n} if n >= MIN_UNITS else set()))
        update: dict[str, Any] = {
            "declared": (within, pooled, *others),  # the order is that by ρ within an image
            "caveat": NO_ORDER,
        }
        if len(metrics) >= 2 and sizes:
            names = [metric.name for metric in metrics]
            update |= self._sample_size(graded, values, names, sizes, record.config.stats.seed)
        return graded.model_copy(update=update)

    def _sample_size(
        self,
        graded: MeasuredResult,
        values: Floats,
        names: Sequence[str],
        sizes: Sequence[int],
        seed: int,
    ) -> dict[str, Any]:
        """Facts, settings and extras on the stability of the order; `values` [n_images, metrics]
        are the ρ within each image."""
        stability = order_stability(values, sizes, draws=self.draws, alpha=self.alpha, seed=seed)
        neighbours = []
        lines = [(IN_ORDER, WHOLE, stability.same_order)]
        for (a, b), same, significant in zip(
            pairwise(stability.order), stability.same_sign, stability.significant, strict=True
        ):
            gap = values[:, a] - values[:, b]
            mean, sd = float(gap.mean()), float(gap.std(ddof=1))
            needed = {
                "images_same_order": _first(sizes, same, self.stable),
                "images_significant": _first(sizes, significant, self.power),
                "images_by_formula": images_with_interval(gap, self.alpha, self.power),
            }
            difference = {"difference": mean_with_interval(gap), "sd": sd}
            neighbours.append({"better": names[a], "worse": names[b], **difference, **needed})
            predicted = np.array([power_at(size, mean, sd, alpha=self.alpha) for size in sizes])
            of_panels = ((IN_ORDER, same), (SIGNIFICANT, significant), (PREDICTED, predicted))
            lines += [(panel, " > ".join([names[a], names[b]]), of) for panel, of in of_panels]
        points = (
            {"panel": panel, "line": line, "x": size, "y": share, "x_title": "images"}
            for panel, line, shares in lines
            for size, share in zip(sizes, shares, strict=True)
        )
        samples = (
            {"images": size, "same_order": same, "kendall_tau": tau}
            for size, same, tau in zip(sizes, stability.same_order, stability.tau, strict=True)
        )
        enough = _first(sizes, stability.same_order, self.stable)
        title = NEIGHBOURS.format(share=100 * self.stable, power=100 * self.power)
        return {
            "facts": {
                **graded.facts,
                "Scored by every metric": len(values),
                "Images for a stable order": enough or MORE.format(sizes[-1]),
            },
            "settings": {
                **graded.settings,
                "draws": self.draws,
                "stable": self.stable,
                "test_power": self.power,
                "test_alpha": self.alpha,
            },
            "extras": (
                Extra.of("sample_size", BY_SIZE, points, kind="curves"),
                Extra.of("neighbours", title, neighbours),
                Extra.of("samples", OF_SAMPLES, samples, folded=True),
                *graded.extras,
            ),
            "caveat": "",
        }


def mean_with_interval(values: Floats) -> Estimate:
    """The mean over images with its 95 % interval, by Student's t.

    >>> made = mean_with_interval(np.array([0.0, 1.0, 2.0, 1.0]))
    >>> made.value, round(made.low, 3), round(made.high, 3), made.n
    (1.0, -0.299, 2.299, 4)
    """
    mean, n = float(values.mean()), len(values)
    low, high, _ = student(mean, float(values.std(ddof=1)) / np.sqrt(n), n - 1)
    return Estimate(value=mean, low=low, high=high, n=n)


def images_with_interval(values: Floats, alpha: float, power: float) -> Estimate:
    """The images that a paired test needs, at the mean difference and at both ends of its interval.

    Without a value where the interval contains 0: the data are compatible with no difference at
    all, for which no number of images is enough.
    """
    mean, sd = mean_with_interval(values), float(values.std(ddof=1))
    low, high = mean.interval or (0.0, 0.0)
    if low <= 0 <= high:
        return Estimate(value=None, n=mean.n)
    near, far = sorted((low, high), key=abs)

    def needed(difference: float) -> float:
        return images_for_power(difference, sd, alpha=alpha, power=power)

    return Estimate(
        value=needed(float(values.mean())), low=needed(far), high=needed(near), n=mean.n
    )


def _first(sizes: Sequence[int], shares: np.ndarray[Any, Any], wanted: float) -> int | None:
    """The smallest size from which on all shares are as wanted; `None` if there is none."""
    enough = [bool((shares[k:] >= wanted).all()) for k in range(len(sizes))]
    return next((size for size, ok in zip(sizes, enough, strict=True) if ok), None)


def _of_images(out: Path, metrics: Sequence[MetricResult]) -> Floats:
    """[n_images, metrics]: the rank-order ρ of each image alone."""
    captions = files.read_run_table(out / files.CAPTIONS)
    images = pd.Index(captions[IMAGE_ID].unique())
    sets = set_table(captions)
    tables = score_tables(out, images, [s.name for s in sets])
    columns = [
        rank_orders_within(
            tables[m.name][0] * (1 if m.column.higher_is_better else -1), [s.level for s in sets]
        )
        for m in metrics
    ]
    return np.stack(columns, axis=1)
