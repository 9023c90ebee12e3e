"""SCAN's official checkpoints, `model_best.pth.tar`, and their vocabulary.

{"epoch", "model": [image state, text state], "best_rsum", "opt": Namespace, "Eiters"}. Nothing in
the file is run; the network's shape is read off its weights, and its options where they are there.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from metaeval.errors import InputError
from metaeval.metrics.scan.network import Scan, ScanShape
from metaeval.readers.checkpoints import check_numbers, load_torch_checkpoint, load_weights
from metaeval.readers.torch_archive import options_of
from metaeval.text.vocabulary import Vocabulary

NORM = "clipped_l2norm"  # the normalisation of attention that the published models use


def load_checkpoint(path: Path, vocabulary: Path) -> tuple[Scan, Vocabulary]:
    """The network in an official checkpoint, in eval mode, and its words.

    Raises InputError, naming the file and the field, for a file that is not such a checkpoint,
    whose network is of another kind than SCAN's published ones, or whose vocabulary has another
    size.
    """
    words = Vocabulary.load(vocabulary)
    checkpoint = load_torch_checkpoint(path)
    if not isinstance(checkpoint, Mapping) or "model" not in checkpoint:
        raise InputError("is not a checkpoint of SCAN: it has no 'model'", file=path)
    states = checkpoint["model"]
    if not isinstance(states, list | tuple) or len(states) != 2:
        raise InputError("should be two state dictionaries", file=path, field="model")
    image, text = (_state(state, path, name) for state, name in zip(states, _NAMES, strict=True))
    options = options_of(checkpoint.get("opt"))
    if (norm := options.get("raw_feature_norm", NORM)) != NORM:
        raise InputError(f"is '{norm}'; only {NORM} is known", file=path, field="raw_feature_norm")
    if "fc.weight_v" in image:
        image = _without_weight_norm(image, path)
    shape = _shape(image, text, options, path)
    if shape.words != len(words):
        problem = f"has {len(words):,} words, the checkpoint {path} {shape.words:,}"
        raise InputError(problem, file=vocabulary)
    model = Scan(shape)
    load_weights(model.image, image, path)
    load_weights(model.text, text, path)
    return model.eval(), words


_NAMES = ("model[0] (images)", "model[1] (text)")


def _state(state: Any, path: Path, name: str) -> dict[str, torch.Tensor]:
    if not isinstance(state, Mapping):
        raise InputError("should be a state dictionary", file=path, field=name)
    # DataParallel puts its own name before each
    tensors = {str(key).removeprefix("module."): value for key, value in state.items()}
    for key, value in tensors.items():
        check_numbers(key, value, path)
        if not value.is_floating_point():
            raise InputError(f"holds numbers of {value.dtype}", file=path, field=key)
    return {key: value.float() for key, value in tensors.items()}


def _shape(
    image: Mapping[str, torch.Tensor],
    text: Mapping[str, torch.Tensor],
    options: Mapping[str, object],
    path: Path,
) -> ScanShape:
    fc, words = _matrix(image, "fc.weight", path), _matrix(text, "embed.weight", path)
    layers = sum(name.startswith("rnn.weight_hh_l") for name in text if "reverse" not in name)
    both_ways = any(name.endswith("_reverse") for name in text)
    return ScanShape(
        dim=fc.shape[1],
        words=words.shape[0],
        embed=fc.shape[0],
        word=words.shape[1],
        layers=max(1, layers),
        both_ways=both_ways,
        region_norm=not options.get("no_imgnorm", False),
        text_norm=not options.get("no_txtnorm", False),
    )


def _matrix(state: Mapping[str, torch.Tensor], name: str, path: Path) -> torch.Tensor:
    value = state.get(name)
    if value is None:
        raise InputError("is missing", file=path, field=name)
    if value.ndim != 2:
        raise InputError(f"has {value.ndim} dimensions instead of 2", file=path, field=name)
    return value


def _without_weight_norm(state: dict[str, torch.Tensor], path: Path) -> dict[str, torch.Tensor]:
    """The plain matrix of a layer that keeps length and direction apart (`weight_norm`)."""
    direction = _matrix(state, "fc.weight_v", path)
    if (length := state.get("fc.weight_g")) is None:
        raise InputError("is missing", file=path, field="fc.weight_g")
    rest = {k: v for k, v in state.items() if k not in ("fc.weight_v", "fc.weight_g")}
    return {**rest, "fc.weight": direction * (length / direction.norm())}
