"""The examples in the docstrings run and print what they say."""

import doctest
import importlib
import pkgutil

import pytest

import metaeval.stats

MODULES = [
    module.name
    for module in pkgutil.walk_packages(metaeval.stats.__path__, "metaeval.stats.")
    if not module.ispkg
]
# What a user calls has an example; the machinery below it need not.
WITH_EXAMPLES = [
    "ceiling",
    "comparison",
    "controls",
    "dose",
    "bootstrap",
    "correlations",
    "graded",
    "kendall",
    "paired_bootstrap",
    "paired_differences",
    "pairwise",
    "pearson",
    "rank_order",
    "sample_size",
    "spearman",
    "tie_calibration",
    "ties",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
    assert result.attempted > 0 or name.split(".")[-1] not in WITH_EXAMPLES
