"""Where a network runs, and batches that shrink when the device's memory does not suffice."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent
from metaeval.errors import ConfigError
from metaeval.runs.records import NETWORK_PRECISION

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)

DTYPES = ("float32", "bfloat16", "float16")

_used: set[str] = set()


def resolve(name: str) -> torch.device:
    """The device called `name`, as of `find`; remembers that it is used: see `used`."""
    device = find(name)
    _used.add(str(device))
    return device


def find(name: str) -> torch.device:
    """The device called `name`: "auto" (the first CUDA device, else the CPU), "cpu", "cuda:1", …

    Raises ConfigError for a device that this machine does not have.
    """
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if check_name(name) == "auto":
        name = "cuda" if count else "cpu"
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= count:
        raise ConfigError(f"device '{name}': this machine has {count} CUDA devices")
    return device


def transport_device(name: str) -> torch.device | None:
    """Where transport is computed: a GPU, or `None` for POT on the processor."""
    if check_name(name) == "cpu" or (name == "auto" and find_spec("torch") is None):
        return None
    device = resolve(name)
    return device if device.type == "cuda" else None


def missing(name: str) -> Absent | None:
    """Why networks cannot run on the device `name`, if so; uses torch only for CUDA devices."""
    if check_name(name) in ("auto", "cpu"):
        return None
    try:
        resolve(name)
    except ConfigError as error:
        return Absent("device", str(error), "set device=auto")
    return None


def check_name(name: str) -> str:
    """The name of a device that there can be; ConfigError for another. Loads nothing."""
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", str(name)):
        raise ConfigError(f"unknown device '{name}'; choose auto, cpu, cuda or cuda:1")
    return str(name)


def used() -> str:
    """Where networks were put since `forget`: "cpu" (also for none), "cuda", "cpu, cuda:1"."""
    return ", ".join(sorted(_used)) or "cpu"


def forget() -> None:
    """Begin anew with what is `used`; a sweep's runs share a process."""
    _used.clear()


def check_dtype(name: str) -> str:
    """The name of a floating-point type that networks may run in; ConfigError for another."""
    if name not in DTYPES:
        raise ConfigError(f"unknown dtype '{name}'; choose from {', '.join(DTYPES)}")
    return name


def precision_of(dtype: str) -> float:
    """The precision of a score from a network that computes in `dtype`, where scores are about 1.

    The three types keep 24, 11 and 8 bits of a number.
    """
    return {"float32": NETWORK_PRECISION, "float16": 1e-3, "bfloat16": 1e-2}[check_dtype(dtype)]


def to_device(device: torch.device, *arrays: npt.NDArray[Any]) -> tuple[torch.Tensor, ...]:
    """The arrays as tensors on the device: the one place where a batch goes there."""
    import torch

    return tuple(torch.from_numpy(np.ascontiguousarray(array)).to(device) for array in arrays)


def to_host(tensor: torch.Tensor) -> npt.NDArray[Any]:
    """A tensor's values as an array: the one place where a batch comes back."""
    return tensor.cpu().numpy()


@contextmanager
def full_float32(device: torch.device) -> Iterator[None]:
    """A block in which a CUDA device computes in float32 where float32 is asked for.

    torch lets cuDNN round the factors in convolutions and recurrent networks to 10 bits (TF32), and
    in matrix products where the caller switched that on. Afterwards everything is as it was.
    """
    if device.type != "cuda":
        yield
        return
    import torch

    cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
    try:
        before = cudnn.allow_tf32, torch.get_float32_matmul_precision()
    except RuntimeError:  # the caller set the switches of torch 2.9, which exclude the older ones
        parts: Any = (cudnn.rnn, cudnn.conv, matmul)  # type: ignore[attr-defined, unused-ignore]
        precisions = [part.fp32_precision for part in parts]
        try:
            for part in parts:
                part.fp32_precision = "ieee"
            yield
        finally:
            for part, precision in zip(parts, precisions, strict=True):
                part.fp32_precision = precision
        return
    try:
        cudnn.allow_tf32 = False
        torch.set_float32_matmul_precision("highest")
        yield
    finally:
        cudnn.allow_tf32 = before[0]
        torch.set_float32_matmul_precision(before[1])


@contextmanager
def inference(device: torch.device) -> Iterator[None]:
    """A block without gradients, in full float32."""
    import torch

    with torch.inference_mode(), full_float32(device):
        yield


def free_bytes(device: torch.device) -> int | None:
    """The free memory of a CUDA device; `None` for a processor."""
    import torch

    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else None


def fitting_batch(device: torch.device, n: int, bytes_per_item: int) -> int:
    """How many of n items fit into half of the device's free memory, at least one."""
    free = free_bytes(device)
    return max(1, n if free is None else min(n, free // (2 * bytes_per_item)))


def in_batches(n: int, size: int, work: Callable[[int, int, int], None]) -> int:
    """Call `work(start, stop, size)` over n items; return the batch size that went through.

    Where the device runs out of memory the size is halved, for good, and the same items are tried
    again; a single item that does not fit raises the device's own error.
    """
    import torch

    start = 0
    while start < n:
        try:
            work(start, min(start + size, n), size)
        except torch.cuda.OutOfMemoryError:
            if size == 1:
                raise
            torch.cuda.empty_cache()
            size //= 2
            log.warning("out of memory; continuing with batches of %d", size)
            continue
        start += size
    return size
