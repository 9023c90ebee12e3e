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
from metaeval.readers.json_text import read_json
from metaeval.runs.digests import file_sha256

COCO, SCENES = "coco", "scenes"  # families of images
WEIGHTS, CARD, TRAINED_ON = "model.safetensors", "card.json", "trained_on.npy"
SHARED = Path(__file__).resolve().parent  # where the files are that several folders share


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
    shared = {path.stem: path for path in SHARED.glob(f"{own_file.stem}-*{own_file.suffix}")}
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
