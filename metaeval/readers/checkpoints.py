"""Read weights from untrusted files: no code in them is ever run.

Whatever is wrong with a file (cut short, another format, a pickle with code), what
comes out is one InputError that names it.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import pickle
import re
import warnings
import zipfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.errors import InputError
from metaeval.readers.files import native_errors, open_binary, user_path
from metaeval.readers.zips import check_members, open_zip

if TYPE_CHECKING:
    import torch

_GLOBAL = re.compile(r"GLOBAL (\S+)")  # torch's message on a global that a pickle needs
_MOST = 64 << 30


def load_torch_checkpoint(path: Path | str, scripted: Collection[str] = ()) -> Any:
    """What `torch.save` put into a file, on the CPU: tensors, numbers, strings and containers only.

    An `argparse.Namespace` is accepted too, the form in which older training code (SCAN's
    `model_best.pth.tar`) keeps its options; it holds values and no behaviour. Files of Python 2
    are read. A TorchScript archive, whose code torch runs, is opened only if its SHA-256 is one of
    `scripted`: then the tensors of its module by name.

    Raises InputError for a file that is not there, not such a file, cut short, or that holds
    anything else: that would be code, and is refused unread.
    """
    path = user_path(path)
    if not path.exists():
        raise InputError("file not found", file=path)
    open_binary(path, _MOST).close()  # a regular file that can be read
    import torch

    if zipfile.is_zipfile(path):
        with open_zip(path, "checkpoint of torch") as archive:
            if any("/code/" in name for name in archive.namelist()):
                return _scripted(path, scripted)
            check_members(archive, path)
    try:
        with warnings.catch_warnings(), torch.serialization.safe_globals([argparse.Namespace]):
            warnings.simplefilter("ignore")  # of old formats
            return torch.load(path, map_location="cpu", weights_only=True, encoding="latin1")
    except pickle.UnpicklingError as error:
        if (named := _GLOBAL.search(str(error))) is not None:
            problem = f"contains code ({named[1]}) and was not opened; only weights are read"
        else:
            problem = "is not a checkpoint of torch, or has more than weights; it was not opened"
        raise InputError(problem, file=path) from None
    except Exception:  # a broken file makes torch raise nearly anything
        raise InputError("is not a checkpoint of torch, or is cut short", file=path) from None


def _scripted(path: Path, known: Collection[str]) -> dict[str, torch.Tensor]:
    """The tensors of a TorchScript archive of a known checksum."""
    import torch

    raw = path.read_bytes()  # read once: what is opened is what has the checksum
    if hashlib.sha256(raw).hexdigest() not in known:
        problem = "is a TorchScript archive, which contains code, and not one that OpenAI published"
        raise InputError(f"{problem}; save the module's state_dict()", file=path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TorchScript is deprecated
        module = torch.jit.load(io.BytesIO(raw), map_location="cpu")  # type: ignore[no-untyped-call]
        return dict(module.state_dict())


def load_safetensors(path: Path | str) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file, on the CPU; InputError for other files."""
    return read_safetensors(path)[0]


def read_safetensors(path: Path | str) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """The tensors of a safetensors file, on the CPU, and the file's metadata."""
    with _open_safetensors(user_path(path)) as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return tensors, dict(file.metadata() or {})


def safetensors_shapes(path: Path) -> list[tuple[int, ...]]:
    """The shapes of a safetensors file's tensors, without reading their numbers."""
    with _open_safetensors(path) as file:
        return [tuple(file.get_slice(name).get_shape()) for name in file.keys()]  # noqa: SIM118


@contextmanager
def _open_safetensors(path: Path) -> Iterator[Any]:
    open_binary(path, _MOST).close()  # a regular file that can be read
    with (
        native_errors(path, "safetensors file", "is not a {}, or is cut short"),
        import_module("safetensors").safe_open(path, "pt", device="cpu") as file,
    ):
        yield file


def load_weights(model: torch.nn.Module, state: Any, path: Path | str) -> None:
    """Put tensors into a model; InputError, naming the first of them, where they do not fit.

    Names and shapes must be the model's, and the kind of numbers: floating-point numbers of any
    width for floating-point numbers, whole ones for whole ones. All must be finite.
    """
    expected = model.state_dict()
    if not isinstance(state, dict):
        raise InputError("holds no weights by name", file=path)
    if lost := [name for name in expected if name not in state]:
        raise InputError(
            f"is missing ({len(lost):,} of {len(expected):,} weights are)", file=path, field=lost[0]
        )
    if strange := [name for name in state if name not in expected]:
        raise InputError("is not a weight of this model", file=path, field=str(strange[0]))
    for name, value in state.items():
        _check_weight(name, value, expected[name], path)
    model.load_state_dict(state)


def check_numbers(name: str, value: Any, path: Path | str) -> None:
    """InputError unless a value is a tensor of finite numbers that are not complex."""
    import torch

    if not isinstance(value, torch.Tensor):
        raise InputError(f"is {type(value).__name__}, not a tensor", file=path, field=name)
    if value.device.type != "cpu":
        raise InputError(
            f"is a tensor without numbers (device {value.device.type})", file=path, field=name
        )
    if value.is_complex() or value.is_quantized or value.is_sparse:
        raise InputError(f"holds numbers of {value.dtype}", file=path, field=name)
    if value.numel() * value.itemsize > value.untyped_storage().nbytes():
        raise InputError("repeats numbers; save a copy of it", file=path, field=name)
    if value.is_floating_point():
        # float32 is the widest that is computed with: what it cannot hold becomes infinite
        wide = value.float()
        if not bool(torch.isfinite(wide).all()):
            raise InputError("holds values that are not finite", file=path, field=name)


def _check_weight(name: str, value: Any, expected: torch.Tensor, path: Path | str) -> None:
    check_numbers(name, value, path)
    if value.shape != expected.shape:
        have, want = list(value.shape), list(expected.shape)
        raise InputError(f"has the shape {have} instead of {want}", file=path, field=name)
    if value.is_floating_point() != expected.is_floating_point():
        raise InputError(
            f"holds numbers of {value.dtype} where the model has {expected.dtype}",
            file=path,
            field=name,
        )


def checkpoint_options(value: Any) -> Mapping[str, object]:
    """Options in a checkpoint, given as a mapping or as a Namespace; empty where there are none."""
    if isinstance(value, Mapping):
        return value
    return vars(value) if isinstance(value, argparse.Namespace) else {}
