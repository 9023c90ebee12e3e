"""Reading weights from files that someone else wrote: nothing in them is ever run.

Whatever is wrong with a file (cut short, another format, a pickle that wants to run code), what
comes out is one InputError that names it.
"""

from __future__ import annotations

import argparse
import pickle
import re
import warnings
import zipfile
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.errors import InputError

if TYPE_CHECKING:
    import torch

_GLOBAL = re.compile(r"GLOBAL (\S+)")  # how torch names what a pickle asked for


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
    _check_sums(path)
    # torch before 2.5 lets in nothing but its own list
    allowing: Any = getattr(torch.serialization, "safe_globals", lambda _: nullcontext())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of old formats
            with allowing([argparse.Namespace]):
                return torch.load(path, map_location="cpu", weights_only=True, encoding="latin1")
    except pickle.UnpicklingError as error:
        if (named := _GLOBAL.search(str(error))) is not None:
            problem = f"wants to run code ({named[1]}) and was not opened: only weights are read"
        else:
            problem = "is no checkpoint of torch, or holds more than weights; it was not opened"
        raise InputError(problem, file=path) from None
    except MemoryError:
        raise
    except Exception:  # a broken file makes torch raise nearly anything
        raise InputError("is no checkpoint of torch, or is cut short", file=path) from None


def load_safetensors(path: Path | str) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file, on the CPU; InputError for anything that is none."""
    path = Path(path).expanduser()
    safetensors = import_module("safetensors")
    load = import_module("safetensors.torch").load_file
    try:
        tensors: dict[str, torch.Tensor] = load(path)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", file=path) from None
    except (safetensors.SafetensorError, ValueError, KeyError, RuntimeError) as error:
        words = " ".join(str(error).split())[:160]
        problem = f"is no safetensors file, or is cut short ({words})"
        raise InputError(problem, file=path) from None
    return tensors


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


def _check_sums(path: Path) -> None:
    """Refuse an archive of torch's newer form with a damaged member: torch itself does not look."""
    try:
        with zipfile.ZipFile(path) as packed:
            damaged = packed.testzip()
    except (zipfile.BadZipFile, OSError, NotImplementedError):
        return  # the older form, or no archive at all: torch will say
    if damaged is not None:
        raise InputError("is damaged: its checksum is wrong", file=path, record=damaged)
