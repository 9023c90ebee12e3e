"""What TIGEr and SCAN share: a SCAN network, the regions it looks at, and what it has seen."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from metaeval.compute.requirements import missing_packages
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError, InputError
from metaeval.metrics.base import Metric
from metaeval.vision.regions.base import Regions, RegionSource
from metaeval.weights import pretrained, tensors
from metaeval.weights.pretrained import GroundedWeights

if TYPE_CHECKING:
    from metaeval.metrics.scan.grounding import Grounder

log = logging.getLogger(__name__)

SMOOTH = 9.0
SUFFIX = " (trained on corruptions)"
_SEEN = "images that the weights were trained on (not scored)"


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

    titles: ClassVar[tuple[str, ...]]
    needs = frozenset()  # of the regions, which say themselves what they lack
    batch_size = 20_000
    counted: ClassVar[Mapping[str, str]] = MappingProxyType({_SEEN: "images"})

    def __init__(
        self,
        regions: RegionSource,
        weights: str = pretrained.AUTO,
        variant: str = "",
        vocabulary: str | Path | None = None,
        smooth: float | None = None,
        device: str = "auto",
    ) -> None:
        if variant not in ("", "corruptions"):
            raise ConfigError(f"metric.{self.name}.variant must be '' or corruptions: '{variant}'")
        if smooth is not None and not 0 < smooth <= 40:
            raise ConfigError(f"metric.{self.name}.smooth must be in (0, 40]: {smooth!r}")
        self._source, self._which, self._variant = regions, str(weights), variant
        self._vocabulary = Path(vocabulary).expanduser() if vocabulary is not None else None
        self._smooth, self._device = SMOOTH if smooth is None else float(smooth), device
        self.columns = self.titles
        self._weights: GroundedWeights | Path | None = None
        self._grounder: Grounder | None = None

    def missing(self, dataset: CaptionDataset) -> Absent | None:
        absent = super().missing(dataset) or missing_packages("scan", "torch", "safetensors")
        if absent is None:
            absent = self._source.missing(dataset)
        if absent is not None:
            return absent
        path = Path(self._which).expanduser()
        if path.is_file():
            if self._vocabulary is None:
                raise ConfigError(
                    f"metric.{self.name}.vocabulary must name the vocabulary file of {path}"
                )
            self._weights = path
            return None
        found = pretrained.choose(
            "scan", dataset, self._which, variant=self._variant, regions=self._source.name
        )
        if isinstance(found, Absent):
            return found
        if found.card["regions"] != self._source.identity():
            reason = (
                f"the weights {found.name} were trained on {found.card['regions']} regions, "
                f"and these are {self._source.identity()}"
            )
            return Absent("weights", reason, "python -m metaeval experiment=train_scan")
        self._weights = found
        if found.card.get("trained_on_corruptions"):
            self.columns = tuple(title + SUFFIX for title in self.titles)
        return self._unfit(found)

    def _unfit(self, weights: GroundedWeights) -> Absent | None:
        """What makes these weights useless for the metric, by their card."""
        return None

    def identify(self, dataset: CaptionDataset) -> None:
        from metaeval.metrics.scan.network import ScanShape

        weights = self._weights
        self._regions: Regions = self._source.load(dataset, self.store)
        self._digests = [self._source.digest(self._regions, i) for i in range(len(dataset))]
        self._grid = 0
        if isinstance(weights, GroundedWeights):
            self._grid = ScanShape.of_json(weights.card["shape"]).grid
            self._label = weights.label
            self._seen = weights.overlap(dataset)
            self._vocabulary_name = str(weights.card["vocabulary"])
        else:
            assert weights is not None
            assert self._vocabulary is not None
            self._label = f"file-{tensors.sha256(weights, self.store)[:12]}"
            self._seen = np.zeros(len(dataset), dtype=np.bool_)
            self._vocabulary_name = tensors.sha256(self._vocabulary, self.store)[:12]

    def settings(self) -> Mapping[str, Any]:
        trained = self.columns != self.titles
        return {
            "weights": self._label,
            **({"variant": "trained-on-corruptions"} if trained else {}),
            "words": self._vocabulary_name,
            "regions": self._source.identity() + (f"+grid{self._grid}" if self._grid else ""),
            "lambda": f"{self._smooth:g}",
            "dtype": "float32+float64",
        }

    def context(self, dataset: CaptionDataset, index: int) -> bytes:
        return self._digests[index] + bytes([bool(self._seen[index])])

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        return self._seen[image_index][:, None].astype(np.int64)

    def close(self) -> None:
        self._grounder = None

    def _load(self) -> Grounder:
        """The network with the regions that it looks at; InputError where they do not fit."""
        from metaeval.metrics.scan.checkpoint import load_checkpoint
        from metaeval.metrics.scan.grounding import Grounder
        from metaeval.metrics.scan.network import Scan, ScanShape
        from metaeval.vision.regions.grid import gridded
        from metaeval.weights.checkpoints import load_weights

        if isinstance(self._weights, GroundedWeights):
            model = Scan(ScanShape.of_json(self._weights.card["shape"]))
            place: Path = self._weights.folder
            load_weights(model, self._weights.state(), place)
            words = self._weights.vocabulary()
        else:
            assert self._weights is not None
            assert self._vocabulary is not None
            place = self._weights
            model, words = load_checkpoint(place, self._vocabulary)
        if model.shape.dim != self._regions.dim:
            problem = (
                f"looks at regions of {model.shape.dim:,} numbers, not of {self._regions.dim:,}"
            )
            raise InputError(problem, file=place)
        if (absent := words.missing()) is not None:
            raise ConfigError(str(absent))
        self._looked_at = gridded(self._regions, model.shape.grid)
        return Grounder(model, words, self._looked_at, self._smooth, self._device)

    def _ready(self) -> Grounder:
        if self._grounder is None:
            raise RuntimeError("prepare() comes before score() and explain()")
        return self._grounder
