"""Weights that a training writes: a folder that `metaeval.weights.pretrained` reads."""

from __future__ import annotations

import hashlib
import json
import shlex
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from metaeval.data.dataset import CaptionDataset
from metaeval.runs.files import file_sha256
from metaeval.text.vocabulary import Vocabulary
from metaeval.weights.pretrained import (
    CARD,
    COCO,
    SCENES,
    TRAINED_ON,
    VOCABULARY,
    WEIGHTS,
    PretrainedWeights,
    image_keys,
    read_weights,
)
from research.vocabulary import save_vocabulary


def write_card(
    folder: Path, model: Any, card: Mapping[str, Any], seen: npt.NDArray[np.uint64]
) -> None:
    """Write weights (as float16), the card and the training images' digests into a folder.

    The card gets two more entries: the SHA-256 of the weights and of the digests.
    """
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


def save_weights(
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
        "family": SCENES if dataset.is_scenes else COCO,
        "words": len(vocabulary),
        "vocabulary": vocabulary.digest(),
        "parameters": sum(p.numel() for p in model.parameters()),
        "images": len(dataset),
    }
    lost = [key for key in ("kind", "variant", "regions") if not isinstance(card.get(key), str)]
    if lost:
        raise ValueError(f"a card needs a text for {', '.join(lost)}")
    folder.mkdir(parents=True, exist_ok=True)
    save_vocabulary(vocabulary, folder / VOCABULARY)
    seen = np.sort(image_keys(dataset))
    write_card(folder, model, card, seen)
    return read_weights(folder)


def half(model: torch.nn.Module) -> None:
    """Round a model's weights, in place, to what `save_weights` keeps of them (float16)."""
    with torch.no_grad():
        for value in model.state_dict().values():
            if value.is_floating_point():
                value.copy_(value.half().to(value.dtype))


def command(*, without: tuple[str, ...]) -> str:
    """How this process was started, less the arguments that begin with one of `without`: for a
    card, which records what was done and not where the files were."""
    return shlex.join(["python", *(a for a in sys.orig_argv[1:] if not a.startswith(without))])
