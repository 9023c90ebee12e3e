"""How many images it takes: `python -m metaeval experiment=sample_size`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.graded.statistics import matrix, set_table
from experiments.graded.task import Graded
from experiments.record import RunRecord
from experiments.text_table import text_table
from metaeval.data.dataset import CaptionDataset
from metaeval.options import Count, OpenShare
from metaeval.runs import files
from metaeval.scoring import Scored
from metaeval.stats.correlation.rank_order_within import rank_orders_within
from metaeval.stats.sample_size.order_stability import order_stability
from metaeval.stats.sample_size.power import images_for_power, power_at

SIZES = (25, 50, 100, 200, 500, 1000, 2000, 5000)


class SampleSize(Graded):
    """Graded corruption, and how the order of the metrics hangs on the number of images.

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
        draws: Count = 1000,
        stable: OpenShare = 0.95,
        power: OpenShare = 0.8,
        alpha: OpenShare = 0.05,
        floor: bool = True,
    ) -> None:
        super().__init__(floor)
        self.draws, self.stable, self.power, self.alpha = draws, stable, power, alpha

    def statistics(
        self, data: CaptionDataset, scores: list[Scored], record: RunRecord
    ) -> dict[str, Any]:
        summary = super().statistics(data, scores, record)
        summary["sample_size"] = self._sample_size(summary, record)
        return summary

    def _sample_size(self, summary: Mapping[str, Any], record: RunRecord) -> dict[str, Any] | None:
        """Stability of the order by ρ within an image; `None` with fewer than two metrics."""
        names = [
            r["metric"] for r in summary["metrics"]
            if r["status"] == "ok" and r["part_of"] is None
            and not r["untrained"] and not r["control"]
        ]  # fmt: skip
        if len(names) < 2:
            return None
        values = _of_images(record.out, summary["metrics"], names)
        values = values[~np.isnan(values).any(axis=1)]
        n = len(values)
        sizes = sorted({size for size in SIZES if size < n} | ({n} if n > 1 else set()))
        if not sizes:
            return None
        seed = record.config.stats.seed
        found = order_stability(values, sizes, draws=self.draws, alpha=self.alpha, seed=seed)
        neighbours = []
        for k, (a, b) in enumerate(zip(found.order[:-1], found.order[1:], strict=True)):
            gap = values[:, a] - values[:, b]
            difference, sd = float(gap.mean()), float(gap.std(ddof=1))
            needed = images_for_power(difference, sd, alpha=self.alpha, power=self.power)
            neighbours.append({
                "better": names[a], "worse": names[b], "difference": difference, "sd": sd,
                "images_for_power": needed if np.isfinite(needed) else None,
                "images_observed": _first(sizes, found.significant[k], self.power),
                "images_same_sign": _first(sizes, found.same_sign[k], self.stable),
                "same_sign": found.same_sign[k].tolist(),
                "significant": found.significant[k].tolist(),
                "predicted": [power_at(s, difference, sd, alpha=self.alpha) for s in sizes],
            })  # fmt: skip
        return {
            "n_images": n,
            "sizes": sizes,
            "draws": self.draws,
            "stable": self.stable,
            "power": self.power,
            "alpha": self.alpha,
            "order": [names[k] for k in found.order],
            "same_order": found.same_order.tolist(),
            "tau": found.tau.tolist(),
            "images_stable": _first(sizes, found.same_order, self.stable),
            "neighbours": neighbours,
        }

    def printout(self, summary: Mapping[str, Any], record: RunRecord, file: Path) -> str:
        told = summary["sample_size"]
        if told is None:
            return f"fewer than two metrics to compare\n{file.stem}: {file}"
        lines = [
            {"metric": f"{p['better']} > {p['worse']}", "difference": f"{p['difference']:.4f}",
             "same way round": _images(p["images_same_sign"]),
             "significant": _images(p["images_observed"]),
             "by the formula": _images(p["images_for_power"])}
            for p in told["neighbours"]
        ]  # fmt: skip
        whole = _images(told["images_stable"])
        return "\n".join([
            *text_table(lines, "images until"),
            f"the whole order in {100 * told['stable']:g}% of samples: {whole} images",
            f"{file.stem}: {file}",
        ])  # fmt: skip


def _images(n: float | None) -> str:
    return "more" if n is None else f"{np.ceil(n):,.0f}"


def _first(sizes: list[int], shares: np.ndarray[Any, Any], wanted: float) -> int | None:
    """The smallest size from which on all shares are as wanted; `None` if there is none."""
    enough = [bool((shares[k:] >= wanted).all()) for k in range(len(sizes))]
    return next((size for size, ok in zip(sizes, enough, strict=True) if ok), None)


def _of_images(out: Path, records: list[dict[str, Any]], names: list[str]) -> Any:
    """[n_images, metrics] the rank-order ρ of each image alone."""
    captions = files.read_table(out / files.CAPTIONS)
    scores = files.read_table(out / files.SCORES)
    images = pd.Index(captions["image_id"].unique())
    sets = set_table(captions)
    labels, levels = [s["name"] for s in sets], [s["level"] for s in sets]
    upward = {r["metric"]: r["higher_is_better"] for r in records}
    columns = []
    for name in names:
        values = matrix(scores[scores["metric"] == name], "score", images, labels)
        columns.append(rank_orders_within(values if upward[name] else -values, levels))
    return np.stack(columns, axis=1)
