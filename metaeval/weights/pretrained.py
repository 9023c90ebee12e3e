"""The shipped weights of the grounded models: a folder each, with a card and what they have seen.

A folder `metaeval/weights/NAME/` holds `model.safetensors` (float16), `card.json`, `vocab.json` and
`trained_on.npy`. Its card says which model it is (`kind`), of which variant, for which family of
images ("coco" or "scenes") and which regions. No image that was learned from is ever scored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset, ImageId
from metaeval.data.json_records import kind as kind_of
from metaeval.data.json_records import read_json
from metaeval.errors import ConfigError, InputError
from metaeval.metrics.clipscore.weights import is_scenes
from metaeval.text.vocabulary import Vocabulary
from metaeval.weights import cards
from metaeval.weights.checkpoints import load_safetensors
from metaeval.weights.shipped import SHIPPED

if TYPE_CHECKING:
    import torch

VOCABULARY = "vocab.json"
AUTO = "auto"
CORRUPTIONS = "corruptions"  # the variant that was trained on spoiled captions too
_OLD_VARIANTS = {"r_neg": CORRUPTIONS}  # what earlier cards call it
COCO, SCENES = "coco", "scenes"


@dataclass(frozen=True, slots=True, eq=False)
class GroundedWeights:
    """Trained weights that are on this machine; nothing but the card is read yet.

    Attributes
    ----------
    folder
        Where they are.
    card
        What they are; `kind`, `variant`, `family` and `regions` are always there.
    seen
        uint64, sorted: the numbers of all images that were learned from or chosen by (dev).
    """

    folder: Path
    card: Mapping[str, Any]
    seen: npt.NDArray[np.uint64]

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    @property
    def label(self) -> str:
        """For signatures: the folder's name and the start of the weights' SHA-256."""
        return f"{self.name}-{str(self.card['weights_sha256'])[:12]}"

    def overlap(self, dataset: CaptionDataset) -> npt.NDArray[np.bool_]:
        """Which of the dataset's images these weights have learned from: bool [n]."""
        keys = image_keys(dataset.image_ids, dataset.human, str(self.card["family"]))
        return np.isin(keys, self.seen)

    def vocabulary(self) -> Vocabulary:
        """The words that the model knows."""
        return Vocabulary.load(self.folder / VOCABULARY)

    def state(self) -> dict[str, torch.Tensor]:
        """The weights as float32, on the CPU; InputError where the file is not the card's."""
        path = self.folder / cards.WEIGHTS
        tensors = load_safetensors(path)
        if hashlib.sha256(path.read_bytes()).hexdigest() != self.card["weights_sha256"]:
            raise InputError("is not the file that its card.json describes", file=path)
        return {k: v.float() if v.is_floating_point() else v for k, v in tensors.items()}


def family(dataset: CaptionDataset) -> str:
    """Which images these are, to a model: "scenes" (drawn) or "coco" (photographs)."""
    return SCENES if is_scenes(dataset) else COCO


def image_keys(
    image_ids: Sequence[ImageId], human: Sequence[str], family: str
) -> npt.NDArray[np.uint64]:
    """A number for each image, in order: uint64 [n].

    A photograph of COCO is its id, whatever file and captions it comes with. The ids of scenes
    start anew with each seed, so a scene is its id and its human caption.
    """
    texts = (
        f"{image_id}\0{caption}" if family == SCENES else f"{COCO}\0{image_id}"
        for image_id, caption in zip(image_ids, human, strict=True)
    )
    raw = b"".join(hashlib.sha256(text.encode()).digest()[:8] for text in texts)
    return np.frombuffer(raw, dtype="<u8").astype(np.uint64)


def save(
    folder: Path,
    model: torch.nn.Module,
    vocabulary: Vocabulary,
    card: Mapping[str, Any],
    dataset: CaptionDataset,
) -> GroundedWeights:
    """Write weights (float16), card, vocabulary and the images learned from into a folder.

    Parameters
    ----------
    card
        Must tell `kind` ("scan"), `variant` ("" or "corruptions"), and `regions` (a source's
        `identity()`).
        Added here: `family`, `words`, `parameters`, and the checksums.
    dataset
        All images that were learned from or chosen by, dev included.

    The numbers in a card should be those of the model as it is read back: `half` it before they
    are measured.
    """
    own = {
        **card,
        "family": family(dataset),
        "words": len(vocabulary),
        "vocabulary": vocabulary.digest(),
        "parameters": sum(p.numel() for p in model.parameters()),
        "images": len(dataset),
    }
    if lost := [key for key in ("kind", "variant", "regions") if not isinstance(own.get(key), str)]:
        raise ValueError(f"a card needs a text for {', '.join(lost)}")
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary.save(folder / VOCABULARY)
    seen = np.sort(image_keys(dataset.image_ids, dataset.human, str(own["family"])))
    cards.write_card(folder, model, own, seen)
    return read(folder)


def half(model: torch.nn.Module) -> None:
    """Round a model's weights, in place, to what `save` keeps of them (float16)."""
    import torch

    with torch.no_grad():
        for value in model.state_dict().values():
            if value.is_floating_point():
                value.copy_(value.half().to(value.dtype))


def read(folder: Path) -> GroundedWeights:
    """The weights in a folder; InputError where card or ids are not as they should be."""
    path = folder / cards.CARD
    value, _ = read_json(path)
    if not isinstance(value, dict):
        raise InputError(f"should be an object, not {kind_of(value)}", file=path)
    for key in ("kind", "variant", "family", "regions", "weights_sha256", "trained_on_sha256"):
        if not isinstance(value.get(key), str):
            raise InputError("should be a text", file=path, field=key)
    value["variant"] = _OLD_VARIANTS.get(value["variant"], value["variant"])
    ids = folder / cards.TRAINED_ON
    try:
        seen = np.load(ids, allow_pickle=False)
        good = seen.dtype == np.uint64 and seen.ndim == 1
    except (OSError, ValueError, EOFError) as error:
        raise InputError(
            f"cannot be read ({' '.join(str(error).split())[:100]})", file=ids
        ) from None
    if not good or hashlib.sha256(seen.tobytes()).hexdigest() != value["trained_on_sha256"]:
        raise InputError("is not the list of images that card.json describes", file=ids)
    return GroundedWeights(folder, value, seen)


def shipped() -> list[GroundedWeights]:
    """All grounded weights of this installation, by name; InputError for a damaged folder."""
    found = []
    for folder in sorted(SHIPPED.iterdir()) if SHIPPED.is_dir() else []:
        path = folder / cards.CARD
        if path.is_file() and "kind" in (read_json(path)[0] or ()):
            found.append(read(folder))
    return found


def choose(
    kind: str,
    dataset: CaptionDataset,
    which: str = AUTO,
    *,
    variant: str = "",
    regions: str = "gold",
) -> GroundedWeights | Absent:
    """The weights to score a dataset with, if there are any that may.

    Parameters
    ----------
    kind, variant
        As their card tells: "scan", "faier"; "" for the paper's loss.
    which
        "auto": of the shipped weights for this family of images, variant and regions, those that
        have learned from the fewest images of the dataset's pool, so that the choice is the same
        for any part of a dataset. Otherwise a shipped name, or a folder; then variant and regions
        are what the card says.
    regions
        The name of the region source, the part of the card's identity before the first "-".

    `Absent` where there are none, or where they have learned from every image of the dataset;
    with some, score the others and give NaN to those of `overlap`. ConfigError for a name that
    does not exist, or that is of another kind.
    """
    if which != AUTO:
        found = _named(kind, which)
    else:
        try:
            known = shipped()
        except InputError as error:
            return Absent("weights", str(error), "install metaeval anew")
        fit = [
            weights
            for weights in known
            if weights.card["kind"] == kind
            and weights.card["variant"] == variant
            and weights.card["family"] == family(dataset)
            and str(weights.card["regions"]).split("-")[0] == regions
        ]
        if not fit:
            what = f"{kind} weights" + (f" of the variant '{variant}'" if variant else "")
            reason = f"there are no {what} for {regions} regions of {_images(dataset)}"
            return Absent("weights", reason, f"python -m metaeval experiment=train_{kind}")
        keys = image_keys(dataset.pool_ids, dataset.pool, family(dataset))
        found = min(fit, key=lambda weights: (int(np.isin(keys, weights.seen).sum()), weights.name))
    if found.overlap(dataset).all():
        reason = f"the weights {found.name} have learned from every one of these images"
        return Absent("weights", reason, _remedy(dataset))
    return found


def _named(kind: str, which: str) -> GroundedWeights:
    """Weights by shipped name or by folder."""
    folder = SHIPPED / which
    if "/" in which or not folder.is_dir():
        folder = Path(which).expanduser()
    if not (folder / cards.CARD).is_file():
        known = ", ".join(w.name for w in shipped() if w.card["kind"] == kind) or "none"
        raise ConfigError(f"there are no weights '{which}': give a folder, or one of: {known}")
    found = read(folder)
    if found.card["kind"] != kind:
        raise ConfigError(f"the weights '{which}' are of {found.card['kind']}, not of {kind}")
    return found


def _images(dataset: CaptionDataset) -> str:
    return "drawn scenes" if is_scenes(dataset) else f"photographs ('{dataset.name}')"


def _remedy(dataset: CaptionDataset) -> str:
    if is_scenes(dataset):
        return "use another split: dataset.split=val"
    return "score other images, or leave these out: dataset.exclude=FILE"
