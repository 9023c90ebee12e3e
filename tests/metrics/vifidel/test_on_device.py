"""VIFIDEL's and WMD's device arithmetic, run on the processor: equal to numpy and POT.

Both sides compute in float64 from the same vectors; the device solver rounds costs to 2^-45 of the
greatest. Scores lie in [0, 1]; 1e-12 is far above what both can differ by.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch

from metaeval.compute import device as devices
from metaeval.compute import transport, transport_device
from metaeval.metrics.base import Metric
from metaeval.metrics.vifidel.metric import Vifidel
from metaeval.metrics.vifidel.wmd import Wmd
from tests.metrics.vifidel.vifidel_cases import dataset, vector_file

N_IMAGES, N_CAPTIONS = 60, 1000
NAMES = [f"word{i}" for i in range(30)]
CPU = torch.device("cpu")


@pytest.fixture(params=["VIFIDEL, p = 1", "VIFIDEL, p = 2", "WMD"])
def metric(request: pytest.FixtureRequest, tmp_path: Path) -> Metric:
    """From random vectors; word29 has none."""
    rng = np.random.default_rng(0)
    vectors = vector_file(tmp_path, {name: tuple(rng.normal(size=5)) for name in NAMES[:-1]})
    if request.param == "WMD":
        return Wmd(vectors)
    return Vifidel(vectors, p=int(request.param[-1]))


def words(rng: np.random.Generator, least: int, most: int) -> list[str]:
    return list(rng.choice(NAMES, rng.integers(least, most)))


def scores(metric: Metric) -> npt.NDArray[np.float64]:
    """Of captions of zero to seven words in images of zero to five objects and references."""
    rng = np.random.default_rng(1)
    labels = [words(rng, 0, 6) for _ in range(N_IMAGES)]
    references = [
        [" ".join(words(rng, 0, 7)) for _ in range(rng.integers(0, 6))] for _ in range(N_IMAGES)
    ]
    scorer = metric.bind(dataset(labels, references))
    scorer.prepare()
    captions = [" ".join(words(rng, 0, 8)) for _ in range(N_CAPTIONS)]
    return scorer.score(captions, rng.integers(0, N_IMAGES, N_CAPTIONS))


def test_device_scores_equal_processor_scores(
    metric: Metric, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = scores(metric)
    solved: list[int] = []
    solve = transport_device.solve

    def counted(cost: torch.Tensor, *rest: object) -> torch.Tensor:
        solved.append(cost.shape[2])
        return solve(cost, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(devices, "transport_device", lambda name: CPU)
    monkeypatch.setattr(transport_device, "solve", counted)
    monkeypatch.setattr(transport, "FEWEST", 1)
    np.testing.assert_allclose(scores(metric), expected, rtol=0, atol=1e-12)
    assert sum(solved) > N_CAPTIONS / 2
    assert np.isnan(expected).any()
    assert (expected[:, 0] == 0).any()


def test_batches_shrink_and_scores_stay(metric: Metric, monkeypatch: pytest.MonkeyPatch) -> None:
    """An allocator that fails above 20 problems."""
    expected, sizes = scores(metric), []
    distances = transport.distances

    def limited(cost: torch.Tensor, *rest: torch.Tensor, on_device: bool) -> object:
        sizes.append(cost.shape[2])
        if cost.shape[2] > 20:
            raise torch.cuda.OutOfMemoryError("20 problems at most")
        return distances(cost, *rest, on_device=on_device)  # type: ignore[arg-type]

    monkeypatch.setattr(devices, "transport_device", lambda name: CPU)
    monkeypatch.setattr(transport, "distances", limited)
    np.testing.assert_allclose(scores(metric), expected, rtol=0, atol=1e-12)
    assert max(sizes) > 20
