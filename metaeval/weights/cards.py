"""Weights that this project trained itself, with a card that says what they are.

A folder holds `model.safetensors`, `card.json` and `trained_on.npy`: one number for every image
that was learned from. A model never scores an image it has seen in training. Of the shipped ones
those that have learned from the same images share a list, `trained_on-CHECKSUM.npy` next to the
folders, and those that know the same words a vocabulary.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import CaptionDataset
from metaeval.errors import InputError
from metaeval.readers.arrays import map_array
from metaeval.readers.files import one_line, read_json
from metaeval.runs.files import file_sha256
from metaeval.runs.records import CaptionModel, DrawnCorruption, TrainingFacts, TrainingSeeds

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


def write_card(
    folder: Path, model: Any, card: Mapping[str, Any], seen: npt.NDArray[np.uint64]
) -> None:
    """Write weights (as float16), the card and the training images' digests into a folder.

    The card gets two more entries: the SHA-256 of the weights and of the digests.
    """
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    halves = {
        name: value.detach().cpu().to(torch.float16) if value.is_floating_point() else value.cpu()
        for name, value in model.state_dict().items()
    }
    halves = {name: value.contiguous() for name, value in halves.items()}
    # save_file would keep others from reading the file, whatever the user's umask
    (folder / WEIGHTS).write_bytes(import_module("safetensors.torch").save(halves))
    np.save(folder / TRAINED_ON, seen)
    sums = {
        "weights_sha256": file_sha256(folder / WEIGHTS),
        "trained_on_sha256": hashlib.sha256(seen.tobytes()).hexdigest(),
    }
    text = json.dumps({**card, **sums}, indent=1, ensure_ascii=False)
    (folder / CARD).write_text(text + "\n", encoding="utf-8")


def read_card(folder: Path) -> dict[str, Any]:
    """The card of the weights in a folder; InputError where there is none."""
    card, _ = read_json(folder / CARD)
    if not isinstance(card, dict):
        raise InputError("should be an object", file=folder / CARD)
    return card


def shipped_lines(folder: Path = SHIPPED) -> list[str]:
    """One line for each folder of weights: name, size, what it is; or what is wrong with it."""
    there = folder.iterdir() if folder.is_dir() else ()
    folders = sorted(f for f in there if f.is_dir() and not f.name.startswith(("_", ".")))
    width = max((len(f.name) for f in folders), default=0)
    return [f"{f.name:<{width}}  {_describe(f)}" for f in folders]


def _describe(folder: Path) -> str:
    try:
        card, _ = read_json(folder / CARD)
        size = (folder / WEIGHTS).stat().st_size
    except InputError as error:
        return f"cannot be used: {error}"
    except OSError:
        return f"cannot be used: {folder / WEIGHTS} is not there"
    if not isinstance(card, dict):
        return f"cannot be used: {folder / CARD} holds no card"
    what = card.get("what")  # the card's own words, or what its entries say
    if not isinstance(what, str):
        name = " ".join(str(card[key]) for key in ("kind", "variant") if card.get(key))
        images = "drawn scenes" if card.get("family") == "scenes" else "photographs"
        what = f"{name or 'a model'}, {card.get('regions', 'unknown')} regions of {images}"
    return f"{size / 1e6:.1f} MB, {one_line(what)}"


def training_facts(card: Mapping[str, Any], settings: Mapping[str, Any]) -> TrainingFacts:
    """The facts of a training that affect a run's findings, from its card.

    A card's `caption_models`, `chosen_on` and `drawn` are written by the training, from what it
    used and drew. `seeds` is what trainings with other seeds gave, entered by hand with the command
    that measured it; a scorer whose signature says other `settings` than those measured gets none
    of it.
    """
    values = {key: str(value) for key, value in settings.items()}
    drawn = [(each["corruption"], each["flaw"], each["rates"]) for each in card.get("drawn", ())]
    spreads = (TrainingSeeds(**entry) for entry in card.get("seeds", ()))
    return TrainingFacts(
        caption_models=tuple(CaptionModel(**each) for each in card.get("caption_models", ())),
        chosen_on=tuple(card.get("chosen_on", ())),
        drawn=tuple(
            DrawnCorruption(corruption, flaw, rates and (rates[0], rates[1]))
            for corruption, flaw, rates in drawn
        ),
        own=_own_training(card),
        seeds=tuple(
            spread
            for spread in spreads
            if all(values.get(key) == value for key, value in spread.settings.items())
        ),
    )


def _own_training(card: Mapping[str, Any]) -> str | None:
    """ "own training on captions of 4,000 images of coco_karpathy_test, with annotated objects"."""
    data = card.get("data") or {}
    if "dataset" not in data or "n_train" not in data:
        return None
    text = f"own training on captions of {data['n_train']:,} images of {data['dataset']}"
    if str(card.get("regions", "")).startswith("gold"):
        text += ", with annotated objects (gold)"
    return text
