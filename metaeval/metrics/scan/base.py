"""What TIGEr and SCAN share: a SCAN network, the regions it looks at, and what it has seen."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from metaeval.compute import device as devices
from metaeval.compute.networks import load_once
from metaeval.compute.requirements import missing_packages
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.metrics.base import Metric, Scorer
from metaeval.metrics.scan.weights import ScanWeights, choose_weights, official_weights
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store
from metaeval.vision.regions.base import Regions, RegionSource
from metaeval.weights.pretrained import AUTO

SMOOTH = 9.0
SUFFIX = " (trained on corruptions)"


class ScanMetric(Metric):
    """A metric of a SCAN network; see `metric.tiger` in the configuration for the options.

    Parameters
    ----------
    regions
        Where an image's regions come from: a node of `conf/regions`.
    weights
        "auto" (the shipped ones for these images and regions), the name of shipped ones, a folder
        that `experiment=train_scan` wrote, or an official checkpoint, `model_best.pth.tar`.
    variant
        Of the weights that "auto" finds: "" (the paper's loss) or "corruptions" (trained on
        spoiled captions too; the columns' names say so).
    vocabulary
        The vocabulary file of an official checkpoint.
    smooth
        λ of the attention; `None`: 9, as the authors of TIGEr have it.
    device
        "auto", "cpu", "cuda", "cuda:1".
    """

    needs = frozenset()  # the regions say themselves what they lack
    plain_columns: ClassVar[tuple[ScoreColumn, ...]]  # with weights that saw no spoiled caption

    def __init__(
        self,
        regions: RegionSource,
        weights: str = AUTO,
        variant: str = "",
        vocabulary: str | Path | None = None,
        smooth: float | None = None,
        device: str = "auto",
    ) -> None:
        if variant not in ("", "corruptions"):
            raise ConfigError(f"metric.{self.name}.variant must be '' or corruptions: '{variant}'")
        if smooth is not None and not 0 < smooth <= 40:
            raise ConfigError(f"metric.{self.name}.smooth must be in (0, 40]: {smooth!r}")
        self.regions, self.weights, self.variant = regions, str(weights), variant
        self.vocabulary = Path(vocabulary).expanduser() if vocabulary is not None else None
        self.smooth = SMOOTH if smooth is None else float(smooth)
        self.device = devices.check_name(device)

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        return self.columns_of(self.weights == AUTO and self.variant == "corruptions")

    def columns_of(self, learned_from_corruptions: bool) -> tuple[ScoreColumn, ...]:
        """The columns under weights that were, or were not, trained on spoiled captions too."""
        if not learned_from_corruptions:
            return self.plain_columns
        return tuple(
            replace(
                column,
                name=column.name + SUFFIX,
                part_of=column.part_of and column.part_of + SUFFIX,
                variant_of=column.name,
                learned_from_corruptions=True,
            )
            for column in self.plain_columns
        )

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> ScanScorer | Absent:
        absent = (
            missing_packages("scan", "torch", "safetensors")
            or devices.missing(self.device)
            or self.regions.missing(dataset)
        )
        if absent is not None:
            return absent
        weights = self._choose_weights(dataset, store)
        if isinstance(weights, Absent):
            return weights
        return self._unfit(weights) or self._scorer(weights, dataset, store)

    def _choose_weights(self, dataset: CaptionDataset, store: Store | None) -> ScanWeights | Absent:
        path = Path(self.weights).expanduser()
        if not path.is_file():
            return choose_weights(self.weights, self.variant, dataset, self.regions, store)
        if self.vocabulary is None:
            reason = f"the checkpoint {path} comes without its vocabulary"
            return Absent("weights", reason, f"set metric.{self.name}.vocabulary=FILE")
        return official_weights(path, self.vocabulary, dataset, self.regions, store)

    def _unfit(self, weights: ScanWeights) -> Absent | None:
        """What makes these weights useless for the metric."""
        return None

    @abstractmethod
    def _scorer(
        self, weights: ScanWeights, dataset: CaptionDataset, store: Store | None
    ) -> ScanScorer: ...


class ScanScorer(Scorer):
    """A SCAN network that looks at the regions of a dataset.

    `settings` are the metric's, in the signature behind those of the network.
    """

    usual_ms = 0.15
    batch_size = 20_000
    counted = MappingProxyType({"images that the weights were trained on (not scored)": "images"})

    def __init__(
        self,
        metric: ScanMetric,
        weights: ScanWeights,
        dataset: CaptionDataset,
        store: Store | None,
        settings: Mapping[str, Any],
    ) -> None:
        corrupted = weights.learned_from_corruptions
        network = {
            "weights": weights.label,
            **({"variant": "trained-on-corruptions"} if corrupted else {}),
            "words": weights.words,
            "regions": metric.regions.identity(store)
            + (f"+grid{weights.grid}" if weights.grid else ""),
            "lambda": f"{metric.smooth:g}",
            "dtype": "float32+float64",
        }
        super().__init__(metric.columns_of(corrupted), {**network, **settings})
        self.weights, self.dataset = weights, dataset
        self._source, self._store = metric.regions, store
        self._smooth, self._device = metric.smooth, metric.device

    @cached_property
    def _regions(self) -> Regions:
        return self._source.load_once(self.dataset, self._store)

    @cached_property
    def _region_digests(self) -> list[bytes]:
        return self._source.digests(self.dataset, self._store)

    def context(self, index: int) -> bytes:
        return self._region_digests[index] + bytes([bool(self.weights.seen[index])])

    def prepare(self) -> None:
        from metaeval.metrics.scan.grounding import Grounder
        from metaeval.vision.regions.grid import add_grid

        key = ("scan", self.weights.label, self.weights.words, self._device)
        model, words = load_once(key, self.weights.load)
        self.regions = add_grid(self._regions, model.shape.grid)
        self.grounder = Grounder(model, words, self.regions, self._smooth, self._device)
        self.usable = ~self.weights.seen & (self.grounder.n_regions > 0)

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        return self.weights.seen[image_index][:, None].astype(np.int64)
