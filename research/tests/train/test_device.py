"""A step of every training stays on the device."""

from typing import Any

import pytest
import torch

from metaeval.metrics.faier.network import level_score
from metaeval.metrics.scan.network import RegionEncoder, WordEncoder
from research.train.networks import mean_cosines, read_texts, read_words
from research.train.scan_loss import hardest_negatives, triplet_loss
from tests.compute import test_device_sections as sections
from tests.compute.test_device_sections import (
    META,
    N_REGIONS,
    N_WORDS,
    SCAN,
    D,
    Section,
    clip_encode,
    faier,
    floats,
    ids,
    judge_logits,
    language_model,
    on_device,
    there,
    transfers,
)


def scan_training(n: int) -> Any:
    regions, words = on_device(RegionEncoder(SCAN)), on_device(WordEncoder(SCAN))
    first = torch.zeros(n * N_REGIONS, 1, device=sections._device)
    flat = floats(n * N_REGIONS, 5)
    images = regions.rows(flat, flat, first).view(n, N_REGIONS, D)
    captions = read_words(words, ids(n, N_WORDS))
    counts = torch.full((n,), 3.0, device=sections._device)
    negatives = hardest_negatives(mean_cosines(images, counts, captions, counts, 9.0)["i2t"])
    loss = triplet_loss(lambda i, c: (images[i, 0] * captions[c, 0]).sum(1), n, negatives, 0.2)
    loss.loss.backward()
    return regions.fc.weight.grad, words.embed.weight.grad


def faier_training(n: int) -> Any:
    network = faier()
    seen = network.see(floats(n, N_REGIONS, 5), floats(n, N_REGIONS, 4), there(n, N_REGIONS))
    text = network.text
    states, _ = read_texts(text, text.words, ids(n, N_WORDS))
    torch.relu(0.2 - level_score(seen.objects, seen.mask, states)).sum().backward()
    return [p.grad for p in (network.visual.inner.weight, text.embedding.weight)]


def clip_training(n: int) -> Any:
    image, text = clip_encode(n)
    targets = torch.arange(n, device=sections._device)
    torch.nn.functional.cross_entropy(image @ text.T, targets).backward()
    return image, text


def judge_training(n: int) -> Any:
    logits = judge_logits(n)
    torch.nn.functional.cross_entropy(logits, ids(n, most=5) - 4).backward()
    return logits


def language_model_training(n: int) -> Any:
    logs = language_model(n)
    (-logs.mean()).backward()
    return logs


@pytest.mark.parametrize(
    "training",
    [scan_training, faier_training, clip_training, judge_training, language_model_training],
)
def test_a_step_of_training_stays_on_the_device(training: Section) -> None:
    small, large = (transfers(training, n, META, False) for n in (8, 64))
    assert (small.to_host, large.to_host) == (0, 0)
    assert small.to_device == large.to_device <= 12
