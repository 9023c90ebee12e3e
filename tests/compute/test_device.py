"""Devices by name, and batches that shrink when memory runs out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from metaeval.compute.device import (  # noqa: E402
    check_dtype,
    forget,
    full_float32,
    in_batches,
    resolve,
    used,
)
from metaeval.errors import ConfigError  # noqa: E402


@pytest.mark.parametrize("n", [0, 1, 7, 64, 100])
def test_every_item_once_also_when_memory_runs_out(n: int) -> None:
    done: list[int] = []

    def work(start: int, stop: int, size: int) -> None:
        if size > 10:
            raise torch.cuda.OutOfMemoryError
        assert stop - start <= size
        done.extend(range(start, stop))

    fitted = in_batches(n, 64, work)
    assert done == list(range(n))
    assert fitted == (64 if n == 0 else 8)


def test_one_item_that_does_not_fit_is_an_error() -> None:
    def work(start: int, stop: int, size: int) -> None:
        raise torch.cuda.OutOfMemoryError

    with pytest.raises(torch.cuda.OutOfMemoryError):
        in_batches(5, 4, work)


def test_what_was_used_is_remembered_until_forgotten() -> None:
    forget()
    resolve("cpu")
    with pytest.raises(ConfigError):
        resolve("cuda:99")
    assert used() == "cpu"
    if torch.cuda.is_available():
        resolve("cuda:0")
        assert used() == "cpu, cuda:0"
    forget()
    assert used() == "cpu"  # without any network, the processor did the work


def test_devices_by_name() -> None:
    assert resolve("cpu").type == "cpu"
    assert resolve("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    for name in ("cuda:99", "gpu", "mps", ""):
        with pytest.raises(ConfigError):
            resolve(name)
    with pytest.raises(ConfigError):
        check_dtype("float8")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_gpu_equals_cpu(tmp_path: Path) -> None:
    """Token vectors and CLIP's vectors in float32, of random weights: equal to 1e-4."""
    from benchmarks.gpu import random_roberta
    from metaeval.metrics.clipscore.network import Clip
    from metaeval.metrics.clipscore.weights import ClipWeights
    from metaeval.text.transformers.encoder import TextEncoder
    from metaeval.text.transformers.locate import TextModel, locate

    model = locate(random_roberta(tmp_path, layers=2))
    assert isinstance(model, TextModel)
    found = {}
    for device in ("cpu", "cuda"):
        encoder, kept = TextEncoder(model, 2, device), {}
        ids, _ = encoder.tokenize(["a dog on the beach", "two people"])
        encoder.encode(ids, lambda p, v, kept=kept: kept.update(zip(p, v.cpu(), strict=True)))
        clip = Clip(ClipWeights("ViT-S-32-alt", "random", None), device)
        found[device] = (kept, clip.texts(["a dog on the beach", "two people"]))
    for j in (0, 1):
        torch.testing.assert_close(found["cpu"][0][j], found["cuda"][0][j], rtol=0, atol=1e-4)
    assert abs(found["cpu"][1] - found["cuda"][1]).max() < 1e-4


SWITCHES = (
    "pass",
    "torch.backends.cudnn.allow_tf32 = False",
    "torch.set_float32_matmul_precision('medium')",
    "torch.backends.cuda.matmul.allow_tf32 = True",
    "torch.backends.fp32_precision = 'tf32'",
    "torch.backends.cudnn.rnn.fp32_precision = 'ieee'",
)
PRECISIONS = """
import sys, torch
from metaeval.compute.device import full_float32
exec(sys.argv[1])
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


@pytest.mark.skipif(not hasattr(torch.backends.cudnn, "rnn"), reason="torch before 2.9")
@pytest.mark.parametrize("switch", SWITCHES)
def test_full_float32_leaves_the_callers_switches_as_they_were(switch: str) -> None:
    """Whichever of torch's two sets of switches the caller used; in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", PRECISIONS, switch], capture_output=True, text=True, check=False
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
    from metaeval.metrics.clipscore.network import Clip
    from metaeval.metrics.clipscore.weights import ClipWeights

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
