"""What scorers share that look at regions of the images with a trained network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.base import Scorer
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store
from metaeval.vision.regions.base import Regions, RegionSource


class RegionScorer(Scorer):
    """A network that looks at the regions of a dataset's images.

    Attributes
    ----------
    dataset
        The images and their references.
    seen
        bool [n] The images that the network's weights have learned from; they are not scored.
    """

    batch_size = 20_000
    counted = MappingProxyType({"images that the weights were trained on (not scored)": "images"})

    def __init__(
        self,
        columns: Iterable[ScoreColumn],
        settings: Mapping[str, object],
        dataset: CaptionDataset,
        source: RegionSource,
        store: Store | None,
        seen: npt.NDArray[np.bool_],
    ) -> None:
        super().__init__(columns, settings)
        self.dataset, self.seen = dataset, seen
        self._source, self._store = source, store

    @cached_property
    def image_regions(self) -> Regions:
        """The regions of every image, loaded on first use."""
        return self._source.load_once(self.dataset, self._store)

    @cached_property
    def region_digests(self) -> list[bytes]:
        """16 bytes per image that identify its regions."""
        return self._source.digests(self.dataset, self._store)

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        return self.seen[image_index][:, None].astype(np.int64)
