"""Archives of PyTorch, those of `torch.save` and of TorchScript, read as data.

Both are zip files in which a pickle, `NAME/data.pkl`, says which numbers of `NAME/data/…` make up
which tensor. Torch itself runs the code that a TorchScript archive holds (which can write any file)
and believes what a pickle says of sizes. Here the code is not looked at, and every tensor is
checked to lie within the bytes that are there. OpenAI published CLIP in this form.
"""

from __future__ import annotations

import argparse
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.errors import InputError
from metaeval.readers.pickles import Shell, numpy_names, read_pickle
from metaeval.readers.zips import member_bytes, open_zip

if TYPE_CHECKING:
    import torch

_MOST_PICKLE = 1 << 28
_MOST_STORAGE = 64 << 30
_MOST_NAMES = 1_000_000
_STORAGES = {
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
}
_DTYPES = frozenset(_STORAGES.values())


def is_torch_archive(path: Path) -> bool:
    """Whether a file is of torch's zip form; its older form is a bare pickle."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PK\x03\x04"
    except OSError:
        return False


def read_torch_archive(path: Path) -> Any:
    """What `torch.save` wrote: tensors (on the CPU), numbers, strings, and containers of them.

    Raises InputError for another kind of file, a damaged one, and other names.
    """
    with _Archive(path) as archive:
        return archive.read()


def read_torchscript(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a TorchScript archive by their names; its code is neither run nor read.

    These are the module's parameters and buffers, and any other tensor that it keeps.
    """
    import torch

    with _Archive(path) as archive:
        value = archive.read()
    tensors: dict[str, torch.Tensor] = {}
    seen: set[int] = set()
    pending: list[tuple[str, Any]] = [("", value)]
    while pending:
        prefix, module = pending.pop()
        if not isinstance(module, Shell) or id(module) in seen:
            continue  # a module that is there under two names counts once
        seen.add(id(module))
        for name, member in vars(module).items():
            if isinstance(member, torch.Tensor):
                tensors[f"{prefix}{name}"] = member
            elif isinstance(member, Shell):
                pending.append((f"{prefix}{name}.", member))
        if len(tensors) > _MOST_NAMES:
            raise InputError("holds too many tensors", file=path)
    return tensors


def is_torchscript(path: Path) -> bool:
    """Whether a file is an archive of code and weights."""
    if not is_torch_archive(path):
        return False
    with open_zip(path, "archive of torch") as packed:
        return any("/code/" in name for name in packed.namelist())


class _Storage:
    """The numbers of a tensor, one after the other."""

    def __init__(self, flat: torch.Tensor) -> None:
        self.flat = flat


class _Archive:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._zip: zipfile.ZipFile = open_zip(path, "checkpoint of torch")
        self._storages: dict[str, bytearray] = {}

    def __enter__(self) -> _Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def read(self) -> Any:
        pickles = [n for n in self._zip.namelist() if n.count("/") == 1 and n.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise InputError("is not a checkpoint of torch", file=self._path)
        self._root = pickles[0].removesuffix("data.pkl")
        order = f"{self._root}byteorder"
        if order in self._zip.namelist() and self._bytes(order, 64).strip() != b"little":
            raise InputError("is of a big-endian machine", file=self._path)
        raw = self._bytes(pickles[0], _MOST_PICKLE)
        return read_pickle(raw, self._path, _names, what="weights", persistent=self._storage)

    def _bytes(self, name: str, most: int) -> bytes:
        return member_bytes(self._zip, name, self._path, most, stored=True)

    def _storage(self, pid: Any) -> _Storage:
        """The storage that a pickle refers to: ("storage", type, key, place, how many numbers)."""
        import torch

        if not isinstance(pid, tuple) or len(pid) != 5 or pid[0] != "storage":
            raise InputError("refers to something that is not a storage", file=self._path)
        _, kind, key, _, count = pid
        if not isinstance(kind, _Dtype) or not isinstance(key, str) or type(count) is not int:
            raise InputError("refers to a storage of no known kind", file=self._path)
        dtype: torch.dtype = getattr(torch, kind.name)
        size = dtype.itemsize
        if key not in self._storages:
            self._storages[key] = bytearray(self._bytes(f"{self._root}data/{key}", _MOST_STORAGE))
        raw = self._storages[key]
        if count < 0 or len(raw) != count * size:
            raise InputError(
                f"holds {len(raw):,} bytes where {count:,} numbers of {kind.name} should be",
                file=self._path,
                record=f"data/{key}",
            )
        empty = torch.empty(0, dtype=dtype)
        return _Storage(torch.frombuffer(raw, dtype=dtype) if raw else empty)


class _Dtype:
    """A name of a number type of torch."""

    def __init__(self, name: str) -> None:
        self.name = name


def _tensor(
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    _grad: Any = False,
    _hooks: Any = None,
    metadata: Any = None,
    *more: Any,
) -> torch.Tensor:
    """A tensor in a storage, if it lies within it.

    `metadata` holds the bits `neg` and `conj` of a view whose numbers are not those of the storage.
    """
    if metadata or more:
        raise ValueError("a tensor with metadata (a negated or conjugated view); save a copy of it")
    if not isinstance(storage, _Storage):
        raise ValueError("a tensor without numbers")
    numbers = (offset, *size, *stride)
    if not all(type(n) is int and n >= 0 for n in numbers) or len(size) != len(stride):
        raise ValueError("a tensor of impossible shape")
    n, last = math.prod(size), sum((s - 1) * t for s, t in zip(size, stride, strict=True))
    if (n and offset + last >= len(storage.flat)) or n > max(len(storage.flat), 1):
        raise ValueError("a tensor that is larger than its numbers")
    if not n:
        return storage.flat[:0].reshape(tuple(size))
    return storage.flat.as_strided(tuple(size), tuple(stride), offset)


def _listed(value: Any, *_: Any) -> Any:
    return value


def _size(value: Any = ()) -> tuple[int, ...]:
    return tuple(value)


def _no_value(*_: Any) -> None:
    """A device or a layout, which is ignored."""


_TORCH: dict[str, object] = {
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_parameter": lambda tensor, *_: tensor,
    "torch.Size": _size,
    "torch.device": _no_value,
    "torch.jit._pickle.restore_type_tag": _listed,
    **{
        f"torch.jit._pickle.build_{kind}": _listed
        for kind in ("intlist", "tensorlist", "doublelist", "boollist")
    },
    **{f"torch.{name}": _Dtype(dtype) for name, dtype in _STORAGES.items()},
    **{f"torch.storage.{name}": _Dtype(dtype) for name, dtype in _STORAGES.items()},
    **{f"torch.{name}": _Dtype(name) for name in _DTYPES},
}


def _names(name: str) -> Any:
    if name == "argparse.Namespace":
        return argparse.Namespace  # how older training code keeps its options: values, no behaviour
    if name.startswith("__torch__."):
        return Shell
    return _TORCH.get(name) or numpy_names(name)


def options_of(value: Any) -> Mapping[str, object]:
    """Options in a checkpoint, given as a mapping or as a Namespace; empty where there are none."""
    if isinstance(value, Mapping):
        return value
    return vars(value) if isinstance(value, argparse.Namespace) else {}
