"""The versions of every caption: as each corruption leaves it, and as people wrote it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corruptions.base import Corruption
from metaeval.data.dataset import CaptionDataset, ImageId
from metaeval.runs.records import Version


def versions(
    dataset: CaptionDataset, corruptions: Sequence[Corruption], seed: int
) -> Iterator[tuple[ImageId, Version]]:
    """Every image's caption as each corruption leaves it, worst set first, and the human one."""
    for level, corruption in enumerate(corruptions):
        spoiled = corruption.apply(dataset, seed)
        for image_id, source, caption in zip(
            dataset.image_ids, dataset.human, spoiled, strict=True
        ):
            yield (
                image_id,
                Version(
                    corruption.label,
                    level,
                    caption.text,
                    source,
                    caption.applied,
                    corruption.expected if caption.applied else "same",
                    caption.effect,
                    caption.harm,
                    caption.requested,
                    caption.realised,
                    caption.edits,
                ),
            )
    for image_id, text in zip(dataset.image_ids, dataset.human, strict=True):
        yield image_id, Version("Human", len(corruptions), text, text, realised_rate=0.0)
