"""Random: another image's caption, fluent and wrong."""

import hashlib
import json
from collections.abc import Mapping, Sequence

import numpy as np

from metaeval.corruptions.base import (
    Caption,
    Corrupted,
    Corruption,
    reads_the_same,
    rewritten_whole,
)
from metaeval.data.dataset import CaptionDataset, ImageId
from metaeval.runs.records import OTHER_CAPTION

_ROUNDS = 20  # orders tried to keep equal captions apart


class FromOtherImage(Corruption):
    """A corruption that uses the caption of another image, which the seed chooses."""

    _donated: Mapping[ImageId, str] = {}

    def corrupt_all(
        self, dataset: CaptionDataset, captions: Sequence[str], seed: int
    ) -> list[Corrupted]:
        # captions depend on each other here: the seed is needed beforehand
        self._donated = donated(dataset.pool_ids, dataset.pool, seed)
        return super().corrupt_all(dataset, captions, seed)


class Random(
    FromOtherImage, title="Random", severity="critical", flaw=OTHER_CAPTION, kind="whole caption"
):
    """Every image gets the human caption of another image; each caption is used once.

    A derangement of the whole dataset's human captions: all its images are put in the order of a
    hash of (seed, image id), and each takes the caption of the next one. The donor of an image
    depends on the file and the seed alone, neither on `dataset.limit` nor on the file's order.

    Different images may hold the same caption ("a man riding a wave on top of a surfboard."). An
    order that makes one of them the donor of another is thrown away for the next, up to 20 orders;
    what is left then, in a dataset of very few different captions, is `applied = False`.
    """

    def facts(self) -> Mapping[str, object]:
        return {"random_donors": len(self._donated)}

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        return rewritten_whole(caption.text, self._donated[caption.image_id], None)


def donated(ids: Sequence[ImageId], captions: Sequence[str], seed: int) -> dict[ImageId, str]:
    """Image id → the caption that another image gives it."""
    text = dict(zip(ids, captions, strict=True))
    best: dict[ImageId, str] = {}
    fewest = len(text) + 1
    for attempt in range(_ROUNDS):
        order = sorted(
            text, key=lambda i: hashlib.sha256(json.dumps([seed, attempt, i]).encode()).digest()
        )
        taken = {i: text[j] for i, j in zip(order, order[1:] + order[:1], strict=True)}
        equal = sum(reads_the_same(taken[i], text[i]) for i in order)
        if equal < fewest:
            best, fewest = taken, equal
        if not equal:
            break
    return best
