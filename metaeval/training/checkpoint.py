"""A training's checkpoint: one safetensors file with weights, the optimiser's state and history.

No pickle: a checkpoint is numbers and one JSON text, and reading it runs nothing.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.errors import ConfigError, InputError
from metaeval.readers.checkpoints import read_safetensors
from metaeval.readers.json_text import parse_json

if TYPE_CHECKING:
    import torch

Tensors = dict[str, "torch.Tensor"]


@dataclass(slots=True)
class Progress:
    """The state of a training after an epoch.

    `model`, `best` and `average` are state dictionaries (of now, of the best epoch, and of the
    running average), `optimizer` is the optimiser's state by "PARAMETER NUMBER.NAME", and `numbers`
    all the rest, as JSON can hold it.
    """

    model: Tensors
    best: Tensors
    average: Tensors
    optimizer: Tensors
    numbers: dict[str, Any]


def write_state(
    path: Path, mark: str, progress: Progress, optimizer: torch.optim.Optimizer
) -> None:
    """Write the file, whole or not at all; `mark` says which training this is."""
    import torch

    groups: dict[str, Tensors] = {
        "model": progress.model,
        "best": progress.best,
        "average": progress.average,
        "optimizer": {
            f"{number}.{name}": torch.as_tensor(value)
            for number, state in optimizer.state_dict()["state"].items()
            for name, value in state.items()
        },
    }
    tensors = {
        f"{group}/{name}": value.detach().cpu().contiguous().clone()
        for group, members in groups.items()
        for name, value in members.items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    metadata = {"mark": mark, "numbers": json.dumps(progress.numbers)}
    try:
        import_module("safetensors.torch").save_file(tensors, part, metadata)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def read_state(path: Path, mark: str, device: torch.device) -> Progress:
    """Read a checkpoint of the same training.

    Raises InputError for a file that is not such a checkpoint, ConfigError for another training's.
    """
    groups: dict[str, Tensors] = {"model": {}, "best": {}, "average": {}, "optimizer": {}}
    try:
        tensors, metadata = read_safetensors(path)
        for key, tensor in tensors.items():
            group, _, name = key.partition("/")
            groups[group][name] = tensor
        numbers = parse_json(metadata["numbers"], path)
        identity = metadata["mark"]
        if not isinstance(numbers, dict):
            raise KeyError("numbers")
    except (InputError, KeyError) as error:
        words = error.problem if isinstance(error, InputError) else f"{error} is missing"
        problem = f"is not a checkpoint of a training ({words}); delete it to start anew"
        raise InputError(problem, file=path) from None
    if identity != mark:
        raise ConfigError(
            f"{path} is the checkpoint of a training with other settings; delete it to start anew, "
            "or choose another folder"
        )
    for group in ("model", "best", "average"):
        groups[group] = {name: value.to(device) for name, value in groups[group].items()}
    return Progress(**groups, numbers=numbers)
