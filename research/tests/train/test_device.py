"""A step of training SCAN stays on the device."""

from typing import Any

import torch

from metaeval.metrics.scan.network import RegionEncoder, WordEncoder, mean_cosines
from research.train.scan_loss import hardest_negatives, triplet_loss
from tests.compute import test_device_sections as sections
from tests.compute.test_device_sections import (
    META,
    N_REGIONS,
    N_WORDS,
    SCAN,
    D,
    floats,
    ids,
    on_device,
    transfers,
)


def scan_training(n: int) -> Any:
    regions, words = on_device(RegionEncoder(SCAN)), on_device(WordEncoder(SCAN))
    first = torch.zeros(n * N_REGIONS, 1, device=sections._device)
    flat = floats(n * N_REGIONS, 5)
    images = regions.rows(flat, flat, first).view(n, N_REGIONS, D)
    captions = words(ids(n, N_WORDS))
    counts = torch.full((n,), 3.0, device=sections._device)
    negatives = hardest_negatives(mean_cosines(images, counts, captions, counts, 9.0)["i2t"])
    loss = triplet_loss(lambda i, c: (images[i, 0] * captions[c, 0]).sum(1), n, negatives, 0.2)
    loss.loss.backward()
    return regions.fc.weight.grad, words.embed.weight.grad


def test_a_step_of_training_stays_on_the_device() -> None:
    small, large = (transfers(scan_training, n, META, False) for n in (8, 64))
    assert (small.to_host, large.to_host) == (0, 0)
    assert small.to_device == large.to_device <= 12
