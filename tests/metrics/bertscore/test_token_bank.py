"""The bank of token vectors: what goes in comes out, in memory or not."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from metaeval.metrics.bertscore.sentences import TokenBank


@pytest.mark.parametrize("memory", [1e9, 9e6, 0], ids=["memory", "some of both", "files"])
def test_what_goes_in_comes_out(memory: float) -> None:
    generator = torch.Generator().manual_seed(0)
    bank, kept = TokenBank(torch.device("cpu"), memory), {3: [], 50: []}
    for length, n in ((3, 5), (50, 200), (3, 2), (50, 151), (3, 2000)):
        vectors = torch.randn(n, length, 384, generator=generator)
        first = sum(len(v) for v in kept[length])
        assert bank.add(vectors) == range(first, first + n)
        kept[length].append(vectors)
    rng = np.random.default_rng(0)
    for length, parts in kept.items():
        every = torch.cat(parts)
        numbers = rng.integers(0, len(every), size=100)
        assert torch.equal(bank.get(length, numbers), every[torch.from_numpy(numbers)])
    assert (bank.n_spilled == 0) == (memory == 1e9)
    folder = bank._folder
    bank.close()
    assert folder is None or not folder.exists()


@pytest.mark.parametrize("memory", [1e9, 0], ids=["memory", "files"])
def test_what_is_forgotten_makes_room_and_the_rest_stays(memory: float) -> None:
    bank = TokenBank(torch.device("cpu"), memory)
    vectors = torch.randn(3000, 4, 384, generator=torch.Generator().manual_seed(1))
    bank.add(vectors)
    n_blocks = len(bank._blocks[4])
    bank.forget(4, 1000, np.array([2999, 1000, 2500]))
    expected = torch.cat([vectors[:1000], vectors[[2999, 1000, 2500]]])
    assert torch.equal(bank.get(4, np.arange(1003)), expected)
    assert bank.add(vectors[:1997]) == range(1003, 3000)
    assert torch.equal(torch.stack(bank.sentences(4)[:1003]), expected)
    assert len(bank._blocks[4]) == n_blocks
    bank.close()
