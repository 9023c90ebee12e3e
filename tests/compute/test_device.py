"""Devices by name, and batches that shrink when memory runs out."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from metaeval.compute.device import check_dtype, forget, in_batches, resolve, used  # noqa: E402
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
    from benchmarks.bertscore import random_roberta
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
