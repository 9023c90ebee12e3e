"""Reading weights from files that someone else wrote: nothing in them is ever run.

Whatever is wrong with a file (cut short, another format, a pickle that wants to run code), what
comes out is one InputError that names it.
"""

from __future__ import annotations

import argparse
import pickle
import warnings
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.errors import InputError

if TYPE_CHECKING:
    import torch


def load_torch_checkpoint(path: Path | str) -> Any:
    """What `torch.save` put into a file, on the CPU: tensors, numbers, strings and containers only.

    An `argparse.Namespace` is let in too, the form in which older training code (SCAN's
    `model_best.pth.tar`) keeps its options; it holds values and no behaviour. Files of Python 2
    are read.

    Raises InputError for a file that is not there, not such a file, cut short, or that holds
    anything else: that would be code, and is refused unread.
    """
    import torch

    path = Path(path).expanduser()
    if not path.is_file():
        raise InputError("there is no such file", file=path)
    serialization: Any = torch.serialization
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of old formats
            with serialization.safe_globals([argparse.Namespace]):
                return torch.load(path, map_location="cpu", weights_only=True, encoding="latin1")
    except pickle.UnpicklingError as error:
        words = _line(error)
        if "Unsupported" in words or "global" in words.lower():
            problem = f"holds more than weights, and was not opened ({_culprit(words)})"
        else:
            problem = f"is no checkpoint of torch ({words})"
        raise InputError(problem, file=path) from None
    except MemoryError:
        raise
    except Exception as error:  # a broken file makes torch raise nearly anything
        words = f"{type(error).__name__}: {_line(error)}"
        raise InputError(
            f"is no checkpoint of torch, or is cut short ({words})", file=path
        ) from None


def load_safetensors(path: Path | str) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file, on the CPU; InputError for anything that is none."""
    path = Path(path).expanduser()
    safetensors = import_module("safetensors")
    load = import_module("safetensors.torch").load_file
    try:
        found: dict[str, torch.Tensor] = load(path)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", file=path) from None
    except (safetensors.SafetensorError, ValueError, KeyError, RuntimeError) as error:
        problem = f"is no safetensors file, or is cut short ({_line(error)})"
        raise InputError(problem, file=path) from None
    return found


def load_weights(model: torch.nn.Module, state: Any, path: Path | str) -> None:
    """Put tensors into a model; InputError, naming the first of them, where they do not fit."""
    import torch

    own = model.state_dict()
    if not isinstance(state, dict):
        raise InputError("holds no weights by name", file=path)
    if lost := [name for name in own if name not in state]:
        problem = f"is missing ({len(lost):,} of {len(own):,} weights are)"
        raise InputError(problem, file=path, field=lost[0])
    if strange := [name for name in state if name not in own]:
        raise InputError("is no weight of this model", file=path, field=str(strange[0]))
    for name, value in state.items():
        if not isinstance(value, torch.Tensor):
            raise InputError(f"is {type(value).__name__}, not a tensor", file=path, field=name)
        if value.shape != own[name].shape:
            have, want = list(value.shape), list(own[name].shape)
            raise InputError(f"has the shape {have} instead of {want}", file=path, field=name)
        if value.is_floating_point() and not bool(torch.isfinite(value).all()):
            raise InputError("holds values that are not finite", file=path, field=name)
    model.load_state_dict(state)


def _culprit(words: str) -> str:
    """The part of torch's long message that names what it met."""
    start = words.find("Unsupported")
    start = max(words.find("global"), 0) if start < 0 else start
    return words[start : start + 100].split(" by default")[0].rstrip(" .,:")


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:160]
