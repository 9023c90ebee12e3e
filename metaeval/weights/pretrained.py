"""The weights of SCAN and FAIEr, shipped or trained by the user: a folder each, with a card.

A folder (of shipped ones: `metaeval/weights/NAME/`) holds `model.safetensors` (float16),
`card.json`, `vocab.json` and `trained_on.npy`; the last two may be shared, see `cards`. Its card
says which model it is (`kind`), of which variant, for which family of images ("coco" or "scenes")
and which regions. No image that was learned from is ever scored.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.data.fields import kind as kind_of
from metaeval.errors import InputError
from metaeval.readers.checkpoints import check_numbers, load_safetensors, load_weights
from metaeval.readers.files import read_json, user_path
from metaeval.readers.tables import is_number
from metaeval.runs.files import file_sha256
from metaeval.runs.store import Store
from metaeval.text.vocabulary import Vocabulary
from metaeval.vision.regions.base import RegionSource
from metaeval.weights import cards
from metaeval.weights.cards import COCO, SCENES, SHIPPED, image_keys

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)

Shape = TypeVar("Shape")
Network = TypeVar("Network", bound="torch.nn.Module")

VOCABULARY = "vocab.json"
_TEXTS = (
    "kind",
    "variant",
    "family",
    "regions",
    "vocabulary",
    "weights_sha256",
    "trained_on_sha256",
)
AUTO = "auto"
_WIDEST = 1_000_000
# what is trained from captions alone has a command of its own, no experiment
_TRAINERS = {
    "lm": "metaeval.metrics.language_model.train",
    "learn_to_eval": "metaeval.metrics.learn_to_eval.train",
}
CORRUPTIONS = "corruptions"  # the variant that was trained on corrupted captions too
_OLD_VARIANTS = {"r_neg": CORRUPTIONS}  # what earlier cards call it
_REMEDY_UNKNOWN = (
    "name their files as COCO does, or set dataset.image_source=coco (their ids are COCO's) or "
    "other (none of them is)"
)


@dataclass(frozen=True, slots=True, eq=False)
class PretrainedWeights:
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
        """Which of the dataset's images these weights must not score: bool [n].

        Those that they have learned from, and those that they may have learned from, because which
        photograph it is is not known.
        """
        keys = image_keys(dataset, family=str(self.card["family"]))
        return np.isin(keys, self.seen) | unknown_images(dataset)

    def misfit(
        self, regions: RegionSource, width: int, store: Store | None = None
    ) -> Absent | None:
        """Why a network whose regions are `width` numbers wide cannot look at these regions."""
        trained_on, kind = str(self.card["regions"]), str(self.card["kind"])
        if not regions.suits(trained_on, store):
            reason = (
                f"the weights {self.name} were trained on {trained_on} regions, "
                f"and these are {regions.identity(store)}"
            )
        elif width != regions.dim:
            reason = (
                f"the weights {self.name} look at regions of {width:,} numbers, "
                f"not of {regions.dim:,}"
            )
        else:
            return None
        return Absent("weights", reason, f"{_train(kind)} regions={regions.name}")

    def width(self, name: str) -> int:
        """A number of the network's shape; InputError where the card does not have it."""
        value = self.card.get("shape", {}).get(name)
        if type(value) is not int:
            problem = "should be a whole number"
            raise InputError(problem, file=self.folder / cards.CARD, field=f"shape.{name}")
        return int(value)

    def vocabulary(self) -> Vocabulary:
        """The words that the model knows; InputError where the file is not the card's."""
        path = cards.find_part(self.folder, VOCABULARY, str(self.card["vocabulary"]))
        vocabulary = Vocabulary.load(path)
        if vocabulary.digest() != self.card["vocabulary"]:
            raise InputError("holds other words than its card.json describes", file=path)
        return vocabulary

    def network(
        self, make: Callable[[Shape], Network], shape: Callable[..., Shape], what: str
    ) -> Network:
        """A network of the card's shape with these weights, in eval mode; `what` it is in messages.

        InputError where the files are not the card's.
        """
        try:
            model = make(shape(**self.card["shape"]))
        except (KeyError, TypeError) as error:
            problem = f"is not the shape of {what} ({error})"
            raise InputError(problem, file=self.folder / cards.CARD, field="shape") from None
        load_weights(model, self.state(), self.folder / cards.WEIGHTS)
        model.eval()
        return model

    def state(self) -> dict[str, torch.Tensor]:
        """The weights as float32, on the CPU; InputError where the file is not the card's."""
        path = self.folder / cards.WEIGHTS
        tensors = load_safetensors(path)
        if file_sha256(path) != self.card["weights_sha256"]:
            raise InputError("is not the file that its card.json describes", file=path)
        for name, value in tensors.items():
            check_numbers(name, value, path)
        return {k: v.float() if v.is_floating_point() else v for k, v in tensors.items()}


def system_scores(dataset: CaptionDataset) -> str:
    """Which images these are, to a model: "scenes" (drawn) or "coco" (photographs)."""
    return SCENES if dataset.is_scenes else COCO


def unknown_images(dataset: CaptionDataset) -> npt.NDArray[np.bool_]:
    """Which of the dataset's images have an unknown photograph: bool [n]."""
    sources = dataset.image_source
    if sources is None:  # the ids themselves are COCO's, or the scenes' own
        return np.zeros(len(dataset), dtype=np.bool_)
    return np.array([source is None for source in sources], dtype=np.bool_)


def save(
    folder: Path,
    model: torch.nn.Module,
    vocabulary: Vocabulary,
    card: Mapping[str, Any],
    dataset: CaptionDataset,
) -> PretrainedWeights:
    """Write weights (float16), card, vocabulary and the images learned from into a folder.

    Parameters
    ----------
    card
        Must contain `kind` ("scan"), `variant` ("" or "corruptions"), and `regions` (a source's
        `identity()`).
        Added here: `family`, `words`, `parameters`, and the checksums.
    dataset
        All images that were learned from or chosen by, dev included.

    The numbers in a card should be those of the model as it is read back: `half` it before they
    are measured.
    """
    card = {
        **card,
        "family": system_scores(dataset),
        "words": len(vocabulary),
        "vocabulary": vocabulary.digest(),
        "parameters": sum(p.numel() for p in model.parameters()),
        "images": len(dataset),
    }
    lost = [key for key in ("kind", "variant", "regions") if not isinstance(card.get(key), str)]
    if lost:
        raise ValueError(f"a card needs a text for {', '.join(lost)}")
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary.save(folder / VOCABULARY)
    seen = np.sort(image_keys(dataset))
    cards.write_card(folder, model, card, seen)
    return read(folder)


def half(model: torch.nn.Module) -> None:
    """Round a model's weights, in place, to what `save` keeps of them (float16)."""
    import torch

    with torch.no_grad():
        for value in model.state_dict().values():
            if value.is_floating_point():
                value.copy_(value.half().to(value.dtype))


def read(folder: Path) -> PretrainedWeights:
    """The weights in a folder; InputError where card or ids are not as they should be."""
    path = folder / cards.CARD
    value, _ = read_json(path)
    if not isinstance(value, dict):
        raise InputError(f"should be an object, not {kind_of(value)}", file=path)
    for key in _TEXTS:
        if not isinstance(value.get(key), str):
            raise InputError("should be a text", file=path, field=key)
    _check_shape(value.get("shape", {}), path)
    value["variant"] = _OLD_VARIANTS.get(value["variant"], value["variant"])
    return PretrainedWeights(folder, value, cards.read_seen(folder, value))


def _check_shape(shape: Any, path: Path) -> None:
    """Refuse a card with an invalid network shape: its values are numbers and booleans."""
    if not isinstance(shape, dict):
        raise InputError(f"should be an object, not {kind_of(shape)}", file=path, field="shape")
    for name, value in shape.items():
        if not isinstance(value, bool) and not (is_number(value) and 0 <= value <= _WIDEST):
            problem = f"must be a number in 0…{_WIDEST:,}, not {value!r:.40}"
            raise InputError(problem, file=path, field=f"shape.{name}")


def shipped() -> list[PretrainedWeights]:
    """All such weights of this installation, by name; InputError for a damaged folder."""
    return [
        read(path.parent)
        for path in sorted(SHIPPED.glob(f"*/{cards.CARD}"))
        if "kind" in cards.read_card(path.parent)
    ]


def choose(
    kind: str,
    dataset: CaptionDataset,
    which: str = AUTO,
    *,
    variant: str = "",
    regions: str = "gold",
) -> PretrainedWeights | Absent:
    """The weights to score a dataset with, if there are any that may.

    Parameters
    ----------
    kind, variant
        As in their card: "scan", "faier"; "" for the paper's loss.
    which
        "auto": of the shipped weights for this family of images, variant and regions, those that
        have learned from the fewest images of the dataset's pool, so that the choice is the same
        for any part of a dataset. Otherwise a shipped name, or a folder; then variant and regions
        are what the card says.
    regions
        The name of the region source, the part of the card's identity before the first "-".

    `Absent` where there are none, where one of their files is missing or damaged, or where they
    have learned from every image of the dataset; with some, score the others and give NaN to those
    of `overlap`.
    """
    try:
        weights = (
            _fitting(kind, dataset, variant, regions) if which == AUTO else _named(kind, which)
        )
        if isinstance(weights, Absent):
            return weights
        if not (path := weights.folder / cards.WEIGHTS).is_file():
            raise InputError("file not found", file=path)
        if (absent := weights.vocabulary().missing()) is not None:
            return absent
    except InputError as error:
        remedy = "install metaeval again" if which == AUTO else f"train them again: {_train(kind)}"
        return Absent("weights", str(error), remedy)
    unknown = dataset.count_images(np.flatnonzero(unknown_images(dataset)))
    if unknown == dataset.n_images:
        reason = (
            f"which photographs these {unknown:,} images are is not known, and the weights "
            f"{weights.name} may have learned from them"
        )
        return Absent("weights", reason, _REMEDY_UNKNOWN)
    if weights.overlap(dataset).all():
        reason = f"the weights {weights.name} have learned from every one of these images"
        return Absent("weights", reason, _remedy(dataset))
    if unknown:
        log.warning(
            "%s: the source of %s of %s images is unknown, and the weights may have "
            "learned from them: not scored; %s",
            weights.name,
            f"{unknown:,}",
            f"{dataset.n_images:,}",
            _REMEDY_UNKNOWN,
        )
    return weights


def _fitting(
    kind: str, dataset: CaptionDataset, variant: str, regions: str
) -> PretrainedWeights | Absent:
    """The shipped weights for these images and regions that know the fewest of the images."""
    fit = [
        weights
        for weights in shipped()
        if weights.card["kind"] == kind
        and weights.card["variant"] == variant
        and weights.card["family"] == system_scores(dataset)
        and str(weights.card["regions"]).split("-")[0] == regions
    ]
    if not fit:
        what = f"{kind} weights" + (f" of the variant '{variant}'" if variant else "")
        reason = f"no {what} for {regions} regions of {_images(dataset)}"
        return Absent("weights", reason, _train(kind))
    keys = image_keys(dataset, pool=True)
    return min(fit, key=lambda weights: (int(np.isin(keys, weights.seen).sum()), weights.name))


def _named(kind: str, which: str) -> PretrainedWeights | Absent:
    """Weights by shipped name or by folder."""
    folder = SHIPPED / which
    if "/" in which or not folder.is_dir():
        folder = user_path(which)
    if not (folder / cards.CARD).is_file():
        reason = f"no weights '{which}'"
    elif (weights := read(folder)).card["kind"] != kind:
        reason = f"the weights '{which}' are of {weights.card['kind']}, not of {kind}"
    else:
        return weights
    known = ", ".join(weights.name for weights in shipped() if weights.card["kind"] == kind)
    return Absent("weights", reason, f"give a folder, or one of: {known or 'none'}")


def _train(kind: str) -> str:
    """The command that trains such weights."""
    if kind in _TRAINERS:
        return f"python -m {_TRAINERS[kind]} FOLDER"
    return f"python -m metaeval experiment=train_{kind}"


def _images(dataset: CaptionDataset) -> str:
    return "drawn scenes" if dataset.is_scenes else f"photographs ('{dataset.name}')"


def _remedy(dataset: CaptionDataset) -> str:
    if dataset.is_scenes:
        return "use another split: dataset.split=val"
    return "score other images, or leave these out: dataset.exclude=FILE"
