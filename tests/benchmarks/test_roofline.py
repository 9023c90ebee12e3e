"""The counts of the roofline table against counts by hand."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from benchmarks.networks.roofline import BYTES, FLOPS, REFERENCES, TOKENS, Cost, bert


def test_a_transformer_costs_what_its_products_cost() -> None:
    layers, d = 3, 64
    products = 24 * TOKENS * d**2  # query, key, value, output: 8; the two of width 4 d: 16
    attention = 4 * TOKENS**2 * d  # queries by keys, weights by values
    matching = 2 * TOKENS**2 * d * REFERENCES
    cost = bert(layers, d, 4, "tokenising")
    assert cost.flops == layers * (products + attention) + matching
    # at least the states are read and written by each layer
    assert cost.bytes > layers * 2 * 4 * TOKENS * d


def test_the_lower_limit_counts() -> None:
    assert Cost(FLOPS, BYTES / 4, "").captions_per_second == 1
    assert Cost(FLOPS / 4, BYTES, "").captions_per_second == 1
    assert Cost(0, BYTES / 2, "").captions_per_second == 2
