"""The versions of every caption: as each corruption leaves it, and as people wrote it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metaeval.corruptions.base import Corruption
from metaeval.data.dataset import CaptionDataset, ImageId
from metaeval.runs.columns import HUMAN
from metaeval.runs.records import Version


def versions(
    dataset: CaptionDataset, corruptions: Sequence[Corruption], seed: int
) -> Iterator[tuple[ImageId, Version]]:
    """Every image's caption as each corruption leaves it, worst set first, and the human one."""
    for level, corruption in enumerate(corruptions):
        results = corruption.apply(dataset, seed)
        for image_id, source, result in zip(dataset.image_ids, dataset.human, results, strict=True):
            yield image_id, corruption.version(level, source, result)
    for image_id, text in zip(dataset.image_ids, dataset.human, strict=True):
        yield image_id, Version(HUMAN, len(corruptions), text, text, realised_rate=0.0)
