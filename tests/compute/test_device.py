"""Devices by name, batches that shrink, equal keys, networks loaded once, threads, memory."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest
import torch

from metaeval.compute.device import (
    forget_used_devices,
    full_float32,
    group_rows_by_keys,
    in_batches,
    keep_networks,
    load_once,
    map_ordered,
    release,
    resolve,
    run_on,
    used,
)
from metaeval.errors import ConfigError
from metaeval.metrics.clipscore.network import Clip
from metaeval.metrics.clipscore.weights import ClipWeights

CPU = torch.device("cpu")


@pytest.mark.parametrize("n", [0, 1, 7, 64, 100])
def test_every_item_once_also_when_memory_runs_out(n: int) -> None:
    done: list[int] = []

    def work(start: int, stop: int, size: int, most: int = 10) -> None:
        if size > most:
            raise torch.cuda.OutOfMemoryError
        assert stop - start <= size
        done.extend(range(start, stop))

    assert in_batches(n, 64, work) == (64 if n == 0 else 8)
    assert done == list(range(n))
    with pytest.raises(torch.cuda.OutOfMemoryError):  # one item that does not fit
        in_batches(n + 1, 64, partial(work, most=0))


def test_what_was_used_is_remembered_until_forgotten() -> None:
    forget_used_devices()
    resolve("cpu")
    with pytest.raises(ConfigError):
        resolve("cuda:99")
    assert used() == "cpu"
    assert resolve("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    if torch.cuda.is_available():
        resolve("cuda:0")
        assert used() == "cpu, cuda:0"
    forget_used_devices()
    assert used() == "cpu"  # without any network, the processor did the work


SWITCHES = (
    "pass",
    "torch.backends.cudnn.allow_tf32 = False",
    "torch.set_float32_matmul_precision('medium')",
    "torch.backends.cuda.matmul.allow_tf32 = True",
    "torch.backends.fp32_precision = 'tf32'",
    "torch.backends.cudnn.rnn.fp32_precision = 'ieee'",
)
PRECISIONS = """
import os, sys, torch
from metaeval.compute.device import full_float32
for switch in sys.argv[1:]:
    if not (child := os.fork()):
        exec(switch)
        break
    assert os.waitpid(child, 0)[1] == 0, switch
else:
    sys.exit()
backends = torch.backends
parts = backends.cudnn.rnn, backends.cudnn.conv, backends.cuda.matmul
kinds = lambda: [part.fp32_precision == "tf32" for part in parts]
before = kinds()
with full_float32(torch.device("cpu")):
    assert kinds() == before
try:
    with full_float32(torch.device("cuda")):
        inside = kinds()
        raise KeyError
except KeyError:
    pass
assert inside == [False, False, False], inside
assert kinds() == before, (before, kinds())
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(torch.backends.cudnn, "rnn"), reason="torch before 2.9")
def test_full_float32_leaves_the_callers_switches_as_they_were() -> None:
    """Whichever of torch's two sets of switches the caller used; in a process for each."""
    done = subprocess.run(
        [sys.executable, "-c", PRECISIONS, *SWITCHES], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_convolutions_are_not_rounded_to_tf32() -> None:
    """A convolution on the device equals that of the processor; outside of the block it does not,
    which shows that the block is needed."""
    torch.manual_seed(0)
    convolution, x = torch.nn.Conv2d(64, 64, 3), torch.randn(8, 64, 32, 32)
    expected = convolution(x)
    convolution.cuda()
    with full_float32(torch.device("cuda")):
        exact = convolution(x.cuda()).cpu()
    rounded = convolution(x.cuda()).cpu()
    torch.testing.assert_close(exact, expected, rtol=0, atol=1e-5)
    assert (rounded - expected).abs().max() > 1e-4


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_full_device_halves_batches_and_changes_no_vector() -> None:
    """The device's own error, with 96 MiB left: the 256 images alone take 147."""
    clip = Clip(ClipWeights("ViT-S-32-alt", "random", None), "cuda")
    pixels = torch.randn(256, 3, 224, 224, generator=torch.Generator().manual_seed(0))
    expected = clip.images(pixels)
    assert clip.n_images == 256
    torch.cuda.empty_cache()
    most = torch.cuda.memory_reserved() + 96 * 2**20
    torch.cuda.set_per_process_memory_fraction(most / torch.cuda.mem_get_info()[1])
    try:
        vectors = clip.images(pixels)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert clip.n_images < 256
    assert abs(vectors - expected).max() < 1e-5


PROGRAM = """
import numpy as np
from metaeval.compute.device import return_free_memory

def resident():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024

pieces = [np.ones(7_500) for _ in range(4_000)]  # 60 kB each, 229 MiB
full = resident()
last = pieces[-1]  # it keeps the end of the heap in use, so that nothing before it is returned
del pieces
held = resident()
return_free_memory()
print(full - held, full - resident(), last.sum())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and only glibc returns memory")
def test_freed_pieces_are_returned() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    by_itself, returned, kept = map(float, done.stdout.split())
    assert by_itself < 50, "the C library returns this by itself: the function is not needed"
    assert returned > 150
    assert kept == 7_500


def test_groups_by_hand() -> None:
    groups = group_rows_by_keys(np.array([2, 1, 2, 2, 1]), np.array([0, 5, 7, 0, 4]))
    assert [rows.tolist() for rows in groups] == [[4], [1], [0, 3], [2]]
    assert [rows.tolist() for rows in group_rows_by_keys(np.array([7]))] == [[0]]
    assert group_rows_by_keys(np.array([], dtype=np.int64)) == []
    parts = group_rows_by_keys(np.array([2, 1, 2, 2, 1]), most=2)
    assert [rows.tolist() for rows in parts] == [[1, 4], [0, 2], [3]]


def test_a_network_is_loaded_once_a_run() -> None:
    loaded: list[object] = []

    def load() -> object:
        loaded.append(object())
        return loaded[-1]

    assert load_once("a", load) is not load_once("a", load)
    with keep_networks():
        first = load_once("a", load)
        large = load_once("c", load, by_runs=True)
        assert load_once("c", load, by_runs=True) is not large
        with keep_networks():  # a run within a run shares
            assert load_once("a", load) is first
            large = load_once("c", load, by_runs=True)
            assert load_once("c", load, by_runs=True) is large
        assert load_once("a", load) is first
        assert load_once(("b", 1), load) is not first
        release("b")  # by the first part of its key; the rest stays
        assert [load_once("a", load), load_once(("b", 1), load)] == [first, loaded[-1]]
    with keep_networks():
        assert load_once("a", load) is not first
    assert len(loaded) == 9


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_in_order_whatever_takes_longest(threads: int) -> None:
    """The first job ends last: it waits for the last of those begun with it."""
    last = threading.Event()
    if threads == 1:
        last.set()  # nothing could set it later

    def job(item: int) -> int:
        if item == threads - 1:
            last.set()
        assert last.wait(10)
        return item * item

    assert list(map_ordered(CPU, job, range(20))) == [k * k for k in range(20)]


def test_operators_run_on_one_thread_and_without_gradients(threads: int) -> None:
    parameter = torch.nn.Parameter(torch.ones(2))

    def job(_: int) -> tuple[int, bool]:
        return torch.get_num_threads(), (parameter * 2).requires_grad

    assert set(map_ordered(CPU, job, range(5))) == {(1, False)}
    assert set(run_on(CPU, [lambda: job(0)] * 5)) == {(1, False)}
    assert run_on(CPU, [partial(abs, -k) for k in range(9)]) == list(range(9))
    assert not torch.is_inference_mode_enabled()
    assert torch.get_num_threads() == threads


def test_only_a_few_items_are_taken_ahead(threads: int) -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for item in range(100):
            taken.append(item)
            yield item

    results = map_ordered(CPU, lambda item: item, items())
    assert next(results) == 0
    assert len(taken) <= 2 * threads + 1
    results.close()
    assert len(taken) <= 2 * threads + 1


def test_the_first_exception_comes_in_its_place(threads: int) -> None:
    started: list[int] = []

    def job(item: int) -> int:
        started.append(item)
        if item >= 3:
            raise ValueError(f"item {item}")
        return item

    found: list[int] = []
    with pytest.raises(ValueError, match="item 3"):
        found.extend(map_ordered(CPU, job, range(1000)))
    assert found == [0, 1, 2]
    assert len(started) < 30
    assert torch.get_num_threads() == threads
