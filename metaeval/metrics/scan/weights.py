"""Which SCAN network a metric uses: one that this project trained, or an official checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import InputError
from metaeval.runs.digests import file_sha256
from metaeval.runs.store import Store
from metaeval.text.vocabulary import Vocabulary
from metaeval.vision.regions.base import RegionSource
from metaeval.weights import pretrained
from metaeval.weights.cards import CARD, WEIGHTS

if TYPE_CHECKING:
    from metaeval.metrics.scan.network import Scan


@dataclass(frozen=True, slots=True, eq=False)
class ScanWeights:
    """A trained SCAN network that fits the regions of a dataset.

    `label` and `words` say for signatures which weights and which vocabulary these are; `seen` bool
    [n] on which of the dataset's images they were trained. `load` raises InputError for a damaged
    file. `grid` is the side of the grid that the regions are given (0: none), `human_cosine` the
    mean cosine of human captions with their images under these weights, where it is known; `card`
    the one of weights of this project.
    """

    label: str
    words: str
    seen: npt.NDArray[np.bool_]
    load: Callable[[], tuple[Scan, Vocabulary]]
    grid: int = 0
    human_cosine: float | None = None
    learned_from_corruptions: bool = False
    card: Mapping[str, Any] | None = None


def choose_weights(
    which: str, variant: str, dataset: CaptionDataset, regions: RegionSource, store: Store | None
) -> ScanWeights | Absent:
    """Weights of this project, by the name or folder `which`, or the shipped ones that fit."""
    weights = pretrained.choose("scan", dataset, which, variant=variant, regions=regions.name)
    if isinstance(weights, Absent):
        return weights
    width = weights.width("dim")
    card, shape = weights.card, weights.card["shape"]
    if (absent := weights.misfit(regions, width, store)) is not None:
        return absent

    def load() -> tuple[Scan, Vocabulary]:
        from metaeval.metrics.scan.network import Scan, ScanShape
        from metaeval.readers.checkpoints import load_weights

        try:
            model = Scan(ScanShape.of_json(shape))
        except InputError as error:
            path = weights.folder / CARD
            raise InputError(error.problem, file=path, field="shape") from None
        load_weights(model, weights.state(), weights.folder / WEIGHTS)
        return model, weights.vocabulary()

    cosine = card.get("human_cosine")
    return ScanWeights(
        weights.label,
        str(card["vocabulary"]),
        weights.overlap(dataset),
        load,
        int(shape.get("grid", 0)),
        float(cosine) if isinstance(cosine, int | float) else None,
        bool(card.get("trained_on_corruptions")),
        card,
    )


def official_weights(
    path: Path,
    vocabulary: Path,
    dataset: CaptionDataset,
    regions: RegionSource,
    store: Store | None,
) -> ScanWeights | Absent:
    """An official checkpoint, read at once: only its weights give the width of its regions.

    The images that it was trained on are not known.
    """
    from metaeval.metrics.scan.network import load_checkpoint

    try:
        model, words = load_checkpoint(path, vocabulary)
        label, digest = (file_sha256(each, store)[:12] for each in (path, vocabulary))
    except InputError as error:
        return Absent("weights", str(error), "give another checkpoint, or its own vocabulary")
    if model.shape.dim != regions.dim:
        reason = (
            f"the network of {path} looks at regions of {model.shape.dim:,} numbers, "
            f"not of {regions.dim:,}"
        )
        return Absent("weights", reason, "choose its regions: regions=bottomup regions.file=FILE")
    if (absent := words.missing()) is not None:
        return absent
    seen = np.zeros(len(dataset), dtype=np.bool_)
    return ScanWeights(f"file-{label}", digest, seen, lambda: (model, words))
