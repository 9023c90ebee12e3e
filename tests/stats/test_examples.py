"""The examples in the docstrings run and print what they say; input that makes no sense is
refused."""

import doctest
import importlib
import pkgutil
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import metaeval.stats
from metaeval.errors import InputError
from metaeval.stats.agreement.ceiling import alt_test
from metaeval.stats.correlation.correlations import WeightedCorrelations, spearman
from metaeval.stats.correlation.kendall import kendall
from metaeval.stats.dose import dose_response
from metaeval.stats.ordering.graded import (
    graded_statistics,
    monotone_flags,
    pair_counts,
    replicate_statistics,
)
from metaeval.stats.ordering.tie_calibration import tie_calibration
from metaeval.stats.preference.bradley_terry import bradley_terry
from metaeval.stats.resampling.bootstrap import (
    bootstrap_counts,
    percentile_interval,
    resampled_means,
)
from metaeval.stats.sample_size import images_for_power, order_stability
from metaeval.stats.significance.comparison import holm
from metaeval.stats.significance.paired_bootstrap import (
    compare_systems,
    mean_of_sums,
    parts_of_means,
)
from metaeval.stats.significance.paired_differences import williams

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


ZEROS, NAN = np.zeros((3, 2)), float("nan")
RATINGS = np.random.default_rng(0).integers(1, 5, (100, 3)).astype(float)
SCORES = np.random.default_rng(0).normal(size=(200, 4))
PARTS = parts_of_means(np.ones((4, 1)))
WEIGHTED = np.arange(30.0), np.arange(30) % 3, np.arange(30) % 4
NAMES = list("abcd")


@pytest.mark.parametrize(
    ("function", "given", "message"),
    [
        *(
            (function, ([[0.1, 0.2], [np.inf, 0.3]], [0, 1]), r"item \[1, 0\].*infinite")
            for function in (spearman, kendall, pair_counts, monotone_flags)
        ),
        (spearman, (ZEROS, [0, 1, 2]), "levels"),
        (pair_counts, (ZEROS, [0, 1, 2]), "n_sets"),
        (kendall, ([0.1, 0.2], [0, np.inf]), "level is infinite"),
        (WeightedCorrelations, (*WEIGHTED, 3), ""),
        (WeightedCorrelations(*WEIGHTED, 4).of, (np.ones((2, 5), dtype=int),), ""),
        (tie_calibration, ([0.1, 0.2], [1]), ""),
        (alt_test, (RATINGS[:, 0], np.sort(RATINGS)), "raters with identity"),
        (alt_test, (RATINGS[:, 0], RATINGS[:, :1]), "raters with identity"),
        (alt_test, (RATINGS[:20, 0], RATINGS[:20]), "30 items"),
        (graded_statistics, ([[0.1, -np.inf]], [0, 1], ["a", "b"]), "infinite"),
        (graded_statistics, (SCORES, range(4), NAMES[:3]), "names"),
        (graded_statistics, (np.empty((0, 4)), range(4), NAMES), "names"),
        (williams, (1.5, 0, 0, 10), r"1\.5"),
        (holm, ([1.2],), ""),
        (
            compare_systems,
            ([(PARTS, PARTS[:3])], mean_of_sums, bootstrap_counts(4, 10, 0)),
            "not f",
        ),
        (compare_systems, ([(PARTS, PARTS)], mean_of_sums, bootstrap_counts(5, 10, 0)), "not f"),
        (bootstrap_counts, (0, 10, 0), ""),
        (percentile_interval, ([0.0, 1.0], 95, 30), "confidence"),
        (
            replicate_statistics,
            (np.zeros((5, 2)), [0, 1], bootstrap_counts(6, 10, 0)),
            "bootstrap",
        ),
        (resampled_means, ([0.5], bootstrap_counts(2, 10, 0)), "values"),
        (partial(images_for_power, power=1.0), (0.1, 1.0), ""),
        *(
            (partial(order_stability, draws=10), (np.ones((2, 2)), sizes), "")
            for sizes in ([3], [1])
        ),
        (bradley_terry, (["a", "c"], ["b", "d"], [1, 1], [0, 1]), "no battle connects c, d with a"),
        (bradley_terry, (["a"], ["a"], [1], [0]), "fewer than two systems"),
        (bradley_terry, (["a"], ["b"], [NAN], [0]), "fewer than two systems"),
        (bradley_terry, (["a"], ["b"], [0.7], [0]), "is not 1"),
        *(
            (dose_response, (np.zeros((1, 3, 2)), doses, bootstrap_counts(3, 5, 0)), "")
            for doses in ([0.1, 0.2], [0, 0.0], [0.0, 0.2, 0.3])
        ),
    ],
)
def test_input_that_makes_no_sense_is_refused(
    function: Callable[..., Any], given: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message or None):
        function(*given)
