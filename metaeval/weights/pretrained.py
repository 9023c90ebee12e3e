"""The weights of SCAN and FAIEr, shipped or trained by the user: a folder each, with a card.

`research/weights.py` writes them.

A folder (of shipped ones: `metaeval/weights/NAME/`) holds `model.safetensors` (float16),
`card.json`, `vocab.json` and `trained_on.npy`; the last two may be shared: `find_part`. Its card
says which model it is (`kind`), of which variant, for which family of images ("coco" or "scenes")
and which regions. No image that was learned from is ever scored.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.data.records import json_type
from metaeval.errors import InputError
from metaeval.readers.arrays import map_array
from metaeval.readers.checkpoints import check_numbers, load_safetensors, load_weights
from metaeval.readers.files import one_line, read_json, user_path
from metaeval.readers.tables import is_number
from metaeval.runs.files import file_sha256
from metaeval.runs.records import CaptionModel, DrawnCorruption, TrainingFacts
from metaeval.runs.store import Store
from metaeval.text.vocabulary import Vocabulary
from metaeval.vision.regions.base import RegionSource

if TYPE_CHECKING:
    import torch


# Weights that this project trained itself, with a card that says what they are.
#
# A folder holds `model.safetensors`, `card.json` and `trained_on.npy`: one number for every image
# that was learned from. A model never scores an image it has seen in training. Of the shipped ones
# those that have learned from the same images share a list, `trained_on-CHECKSUM.npy` next to the
# folders, and those that know the same words a vocabulary.

COCO, SCENES = "coco", "scenes"  # families of images
WEIGHTS, CARD, TRAINED_ON = "model.safetensors", "card.json", "trained_on.npy"
SHIPPED = Path(__file__).resolve().parent  # with the files that several folders share


def image_keys(
    dataset: CaptionDataset, *, pool: bool = False, family: str | None = None
) -> npt.NDArray[np.uint64]:
    """A number for each image of the dataset or of its pool, in order: uint64 [n].

    A photograph is its source (`CaptionDataset.image_source`), whatever file, key and captions it
    comes with; one of unknown source is its id. The ids of scenes start anew with each seed, so a
    scene is its id and its human caption. `family` is that of the weights.
    """
    ids = dataset.pool_ids if pool else dataset.image_ids
    if family == SCENES or (family is None and dataset.is_scenes):
        human = dataset.pool if pool else dataset.human
        texts = [f"{i}\0{caption}" for i, caption in zip(ids, human, strict=True)]
    else:
        sources = (dataset.pool_source if pool else dataset.image_source) or (None,) * len(ids)
        texts = [
            f"{COCO}\0{i}" if source is None else source.replace(":", "\0", 1)
            for i, source in zip(ids, sources, strict=True)
        ]
    raw = b"".join(hashlib.sha256(text.encode()).digest()[:8] for text in texts)
    return np.frombuffer(raw, dtype="<u8").astype(np.uint64)


def trained_on(dataset: CaptionDataset) -> npt.NDArray[np.uint64]:
    """The `image_keys` of scenes, sorted."""
    return np.sort(image_keys(dataset, family=SCENES))


def find_part(folder: Path, name: str, checksum: str) -> Path:
    """A folder's own file, or where it has none the shared one of that checksum."""
    own_file = folder / name
    shared = {path.stem: path for path in SHIPPED.glob(f"{own_file.stem}-*{own_file.suffix}")}
    return (
        own_file if own_file.exists() else shared.get(f"{own_file.stem}-{checksum[:12]}", own_file)
    )


def read_seen(folder: Path, card: Mapping[str, Any]) -> npt.NDArray[np.uint64]:
    """The numbers of all images that weights have learned from: uint64, sorted.

    InputError where they are not those of the card.
    """
    checksum = str(card.get("trained_on_sha256"))
    file = find_part(folder, TRAINED_ON, checksum)
    seen = map_array(file)
    good = seen.dtype == np.uint64 and seen.ndim == 1
    if not good or hashlib.sha256(seen.tobytes()).hexdigest() != checksum:
        raise InputError("is not the list of images that card.json describes", file=file)
    return seen


def overlap(folder: Path, dataset: CaptionDataset) -> int:
    """How many of the dataset's images the weights in this folder were trained on."""
    seen = read_seen(folder, read_card(folder))
    return int(np.isin(trained_on(dataset), seen).sum())


def read_card(folder: Path) -> dict[str, Any]:
    """The card of the weights in a folder; InputError where there is none."""
    card, _ = read_json(folder / CARD)
    if not isinstance(card, dict):
        raise InputError(f"should be an object, not {json_type(card)}", file=folder / CARD)
    return card


def shipped_lines(folder: Path = SHIPPED) -> list[str]:
    """One line for each folder of weights: name, size, what it is; or what is wrong with it."""
    there = folder.iterdir() if folder.is_dir() else ()
    folders = sorted(f for f in there if f.is_dir() and not f.name.startswith(("_", ".")))
    width = max((len(f.name) for f in folders), default=0)
    return [f"{f.name:<{width}}  {_describe(f)}" for f in folders]


def _describe(folder: Path) -> str:
    try:
        card, size = read_card(folder), (folder / WEIGHTS).stat().st_size
    except InputError as error:
        return f"cannot be used: {error}"
    except OSError:
        return f"cannot be used: {folder / WEIGHTS} is not there"
    what = card.get("what")  # the card's own words, or what its entries say
    if not isinstance(what, str):
        name = " ".join(str(card[key]) for key in ("kind", "variant") if card.get(key))
        images = "drawn scenes" if card.get("family") == "scenes" else "photographs"
        what = f"{name or 'a model'}, {card.get('regions', 'unknown')} regions of {images}"
    return f"{size / 1e6:.1f} MB, {one_line(what)}"


def training_facts(card: Mapping[str, Any]) -> TrainingFacts:
    """The facts of a training that affect a run's findings, from its card.

    A card's `caption_models`, `chosen_on` and `drawn` are written by the training, from what it
    used and drew. Its `seeds`, what trainings with other seeds gave, are for readers of the card.
    """
    drawn = [(each["corruption"], each["flaw"], each["rates"]) for each in card.get("drawn", ())]
    return TrainingFacts(
        caption_models=tuple(CaptionModel(**each) for each in card.get("caption_models", ())),
        chosen_on=tuple(card.get("chosen_on", ())),
        drawn=tuple(
            DrawnCorruption(corruption, flaw, rates and (rates[0], rates[1]))
            for corruption, flaw, rates in drawn
        ),
        own=_own_training(card),
    )


def _own_training(card: Mapping[str, Any]) -> str | None:
    """ "own training on captions of 4,000 images of coco_karpathy_test, with annotated objects"."""
    data = card.get("data") or {}
    if "dataset" not in data or "n_train" not in data:
        return None
    gold = str(card.get("regions", "")).startswith("gold")
    objects = ", with annotated objects (gold)" if gold else ""
    return f"own training on captions of {data['n_train']:,} images of {data['dataset']}{objects}"


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
# kinds with a command of their own, in a checkout; the others are `research.train`'s
_TRAINERS = {"lm": "language_model", "learn_to_eval": "learn_to_eval"}
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
            raise InputError(problem, file=self.folder / CARD, field=f"shape.{name}")
        return int(value)

    def vocabulary(self) -> Vocabulary:
        """The words that the model knows; InputError where the file is not the card's."""
        path = find_part(self.folder, VOCABULARY, str(self.card["vocabulary"]))
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
        except (KeyError, TypeError, ValueError, RuntimeError, ZeroDivisionError) as error:
            problem = f"is not the shape of {what} ({one_line(error)})"
            raise InputError(problem, file=self.folder / CARD, field="shape") from None
        load_weights(model, self.state(), self.folder / WEIGHTS)
        model.eval()
        return model

    def state(self) -> dict[str, torch.Tensor]:
        """The weights as float32, on the CPU; InputError where the file is not the card's."""
        path = self.folder / WEIGHTS
        tensors = load_safetensors(path)
        if file_sha256(path) != self.card["weights_sha256"]:
            raise InputError("is not the file that its card.json describes", file=path)
        for name, value in tensors.items():
            check_numbers(name, value, path)
        return {k: v.float() if v.is_floating_point() else v for k, v in tensors.items()}


def unknown_images(dataset: CaptionDataset) -> npt.NDArray[np.bool_]:
    """Which of the dataset's images have an unknown photograph: bool [n]."""
    sources = dataset.image_source
    if sources is None:  # the ids themselves are COCO's, or the scenes' own
        return np.zeros(len(dataset), dtype=np.bool_)
    return np.array([source is None for source in sources], dtype=np.bool_)


def read_weights(folder: Path) -> PretrainedWeights:
    """The weights in a folder; InputError where card or ids are not as they should be."""
    path, value = folder / CARD, read_card(folder)
    for key in _TEXTS:
        if not isinstance(value.get(key), str):
            raise InputError("should be a text", file=path, field=key)
    _check_shape(value.get("shape", {}), path)
    value["variant"] = _OLD_VARIANTS.get(value["variant"], value["variant"])
    return PretrainedWeights(folder, value, read_seen(folder, value))


def _check_shape(shape: Any, path: Path) -> None:
    """Refuse a card with an invalid network shape: its values are numbers and booleans."""
    if not isinstance(shape, dict):
        raise InputError(f"should be an object, not {json_type(shape)}", file=path, field="shape")
    for name, value in shape.items():
        if not isinstance(value, bool) and not (is_number(value) and 0 <= value <= _WIDEST):
            problem = f"must be a number in 0…{_WIDEST:,}, not {value!r:.40}"
            raise InputError(problem, file=path, field=f"shape.{name}")


def shipped() -> list[PretrainedWeights]:
    """All such weights of this installation, by name; InputError for a damaged folder."""
    return [
        read_weights(path.parent)
        for path in sorted(SHIPPED.glob(f"*/{CARD}"))
        if "kind" in read_card(path.parent)
    ]


def choose_pretrained(
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
        if not (path := weights.folder / WEIGHTS).is_file():
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
        remedy = "score other images, or leave these out: dataset.exclude=FILE"
        remedy = "use another split: dataset.split=val" if dataset.is_scenes else remedy
        return Absent("weights", reason, remedy)
    if unknown:
        log.warning(
            "%s: the source of %s of %s images is unknown, and the weights may have "
            "learned from them: not scored; %s",
            weights.name, f"{unknown:,}", f"{dataset.n_images:,}", _REMEDY_UNKNOWN,
        )  # fmt: skip
    return weights


def _fitting(
    kind: str, dataset: CaptionDataset, variant: str, regions: str
) -> PretrainedWeights | Absent:
    """The shipped weights for these images and regions that know the fewest of the images."""
    family = SCENES if dataset.is_scenes else COCO
    fit = [
        weights
        for weights in shipped()
        if weights.card["kind"] == kind
        and weights.card["variant"] == variant
        and weights.card["family"] == family
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
    if not (folder / CARD).is_file():
        reason = f"no weights '{which}'"
    elif (weights := read_weights(folder)).card["kind"] != kind:
        reason = f"the weights '{which}' are of {weights.card['kind']}, not of {kind}"
    else:
        return weights
    known = ", ".join(weights.name for weights in shipped() if weights.card["kind"] == kind)
    return Absent("weights", reason, f"give a folder, or one of: {known or 'none'}")


def _train(kind: str) -> str:
    """The command that trains such weights."""
    if kind in _TRAINERS:
        return f"python -m research.{_TRAINERS[kind]} FOLDER"
    return f"python -m research.train experiment=train_{kind}"


def _images(dataset: CaptionDataset) -> str:
    return "drawn scenes" if dataset.is_scenes else f"photographs ('{dataset.name}')"
