"""Word states computed once for what captions share: those of torch's GRU, in any company."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from metaeval.compute.threads import run_parallel
from metaeval.metrics.scan.grounding import PlainWordStates, encode_captions
from metaeval.metrics.scan.network import ScanShape, WordEncoder
from tests.precision import assert_same_scores


def captions(n: int, words: int = 40, most: int = 14) -> list[list[int]]:
    """Random sentences of which many begin or end alike, and some are the same."""
    rng = np.random.default_rng(5)
    found = [[1, *rng.integers(4, words, rng.integers(0, most)).tolist(), 2] for _ in range(n // 3)]
    for _ in range(n // 3):
        own = list(found[rng.integers(len(found))])
        own[rng.integers(len(own))] = int(rng.integers(4, words))
        found += [own, list(found[rng.integers(len(found))])]
    return found


def encoder(**shape: Any) -> WordEncoder:
    torch.manual_seed(0)
    return WordEncoder(ScanShape(dim=6, words=40, embed=24, word=10, **shape)).eval()


@pytest.mark.parametrize("shape", [{}, {"text_norm": False}, {"layers": 2}, {"both_ways": False}])
def test_states_are_those_of_torch(shape: dict[str, Any]) -> None:
    text, ids = encoder(**shape), captions(60)
    found = (
        encode_captions(text, [ids], run_parallel)[0] if text.plain else PlainWordStates(text, ids)
    )
    assert text.plain == (shape in ({}, {"text_norm": False}))
    for row, own in enumerate(ids):
        with torch.no_grad():
            expected = text(torch.tensor([own]))[0]
        assert found.lengths[row] == len(own)
        states = found.of(np.array([row]), len(own))
        assert states.dtype == torch.float32
        # float32, summed in another order
        np.testing.assert_allclose(states[0], expected, rtol=0, atol=2e-6)


def test_states_do_not_depend_on_company_or_threads() -> None:
    text, ids = encoder(), captions(900)
    before = torch.get_num_threads()
    found = []
    try:
        for threads, rows in ((1, range(len(ids))), (2, range(len(ids))), (1, range(7, 300, 31))):
            torch.set_num_threads(threads)
            own, other = encode_captions(text, [[ids[row] for row in rows], ids[:9]], run_parallel)
            found.append(
                {row: own.of(np.array([k]), len(ids[row]))[0] for k, row in enumerate(rows)}
            )
            assert other.lengths.tolist() == [len(each) for each in ids[:9]]
    finally:
        torch.set_num_threads(before)
    for row, states in found[2].items():
        assert_same_scores(states, found[0][row])
        assert_same_scores(states, found[1][row])


@pytest.mark.parametrize("threads", [1, 3])
def test_jobs_are_done_together(threads: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        seen = run_parallel([partial(lambda k: (k, torch.get_num_threads()), k) for k in range(9)])
        assert seen == [(k, 1) for k in range(9)]
        assert torch.get_num_threads() == threads
        assert not torch.is_inference_mode_enabled()

        def wrong() -> None:
            raise ValueError("the third")

        with pytest.raises(ValueError, match="the third"):
            run_parallel([lambda: None, lambda: None, wrong])
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
