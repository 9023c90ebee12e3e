"""Comparisons of metrics, controls and steps; the ceiling; the spread over corruption seeds."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from omegaconf import OmegaConf

from metaeval.config import compose_config
from metaeval.errors import ConfigError
from metaeval.experiments.graded.column import (
    ColumnRecord,
    Design,
    column_statistics,
    comparable_of,
    comparable_statistics,
    compare_columns,
    seed_spread,
)
from metaeval.experiments.graded.task import ceiling, rescorable, seed_count
from metaeval.metrics.controls import Length
from metaeval.results.base import Measured
from metaeval.results.comparison import AgainstControl, Comparisons
from metaeval.results.graded import MEASURES, rows_by_metric
from metaeval.results.measured import MeasuredResult
from metaeval.runs import files
from metaeval.runs.records import ScoreColumn
from metaeval.schema import check_config
from metaeval.stats.correlation.rank_order import rank_order, rank_orders_within
from metaeval.stats.ordering.graded import graded_result
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from tests.shared import run_here

N = 300
COUNTS = bootstrap_counts(N, 400, seed=0)
NAMES = ["Random", "Half", "Human"]


def scores(signal: float, seed: int, steps: tuple[float, ...] = (0, 1, 2)) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, 3)) + signal * np.array(steps)


def column(
    name: str, values: np.ndarray, family: str = "", counts: np.ndarray = COUNTS, **fields: Any
) -> ColumnRecord:
    measures = comparable_statistics(values, [0, 1, 2], counts)
    none = Measured(values={})
    return ColumnRecord(ScoreColumn(name, **fields), family, values, measures, none, {}, [])


def compared(
    columns: list[ColumnRecord], counts: np.ndarray = COUNTS
) -> tuple[dict[str, Comparisons], dict[str, AgainstControl]]:
    comparisons, controls, _ = compare_columns(
        columns, lambda values: comparable_statistics(values, [0, 1, 2], counts), 0.95
    )
    return comparisons, controls


def test_pairs_are_of_metrics_alone_and_separated_where_they_differ() -> None:
    columns = [
        column("good", scores(2.0, 1)),
        column("poor", scores(0.3, 2)),
        column("twin", scores(2.0, 3)),
        column("part", scores(0.0, 4), part_of="good"),
        column("control", scores(0.0, 5), control=True),
    ]
    tested = compared(columns)[0]["rank_order_rho_within"]
    pairs = {(p.a, p.b): p for p in tested.pairs}
    expected = [("good", "poor"), ("good", "twin"), ("poor", "twin")]
    assert (tested.alpha, list(pairs)) == (0.05, expected)
    real, equal = pairs["good", "poor"], pairs["good", "twin"]
    assert real.test.p_adjusted < 0.001
    assert real.difference.value > real.power.detectable > 0
    assert not equal.is_significant()
    # fewer would have shown the first
    assert real.power.images_needed < N < equal.power.images_needed


def test_a_pair_is_compared_on_the_items_that_both_have() -> None:
    """ "Tested in pairs over the same images" was not so where one column had no score.

    Both have equal scores wherever both have one. Where b has none, a orders the images the wrong
    way round: on all its own items a is worse, on common items they are equal.
    """
    a = scores(2.0, 1)
    a[:60] = a[:60, ::-1]
    b = a.copy()
    b[:60] = np.nan
    columns = [column("a", a), column("b", b)]
    own, other = (each.comparable["pairwise_accuracy"].value for each in columns)
    assert own < other - 0.1
    for measure, tested in compared(columns)[0].items():
        (pair,) = tested.pairs
        made = (pair.difference.value, pair.n, pair.is_significant())
        assert made == (0.0, 240, False), measure


def test_measures_alone_are_those_of_the_whole_statistics() -> None:
    """What pairs are compared by, computed alone and with everything else: the same bits."""
    values = scores(1.0, 1).round(1)
    values[3, 1] = np.nan
    for up in (True, False):
        whole = comparable_of(
            graded_result(values, range(3), NAMES, higher_is_better=up, counts=COUNTS), N
        )
        alone = comparable_statistics(values if up else -values, [0, 1, 2], COUNTS)
        for key, expected in whole.items():
            assert alone[key][:1] + alone[key][2:] == expected[:1] + expected[2:]
            np.testing.assert_array_equal(alone[key].replicates, expected.replicates)


def test_without_replicates_nothing_is_claimed() -> None:
    none = bootstrap_counts(N, 0, seed=0)
    columns = [column(name, scores(0.0, k), counts=none) for k, name in enumerate("ab")]
    (pair,) = compared(columns, none)[0]["rank_order_rho"].pairs
    assert (pair.test.p_adjusted, pair.power.detectable) == (None, None)


def test_a_metric_is_above_the_best_control_or_is_not() -> None:
    columns = [
        column("good", scores(2.0, 1)),
        column("weak", scores(0.1, 2)),
        column("length", scores(0.0, 4), control=True),
        column("model", scores(0.5, 5), control=True),
        column("Ceiling", scores(9.0, 6), family="ceiling", control=True),
    ]
    tested = compared(columns)[1]
    assert tuple(tested) == MEASURES
    for against in tested.values():
        assert (against.control, against.above) == ("model", ("good",))
        above = {(c.a, c.b): c.is_significant() and c.difference.value > 0
                 for c in against.comparisons}  # fmt: skip
        assert above == {("good", "model"): True, ("weak", "model"): False}
    assert compared(columns[:2])[1] == {}


def frame(rows: list[list[str]]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"image_id": image, "caption": text, "level": level}
            for image, row in enumerate(rows)
            for level, text in enumerate(row)
        ]
    )


def test_without_equal_captions_it_is_the_perfect_order() -> None:
    scores = ceiling(frame([["x", "y", "z"], ["z", "y", "x"]])).scores
    assert scores.reshape(2, 3).tolist() == [[0, 1, 2]] * 2


def test_no_scoring_of_equal_captions_gets_more() -> None:
    """Every function of (image, caption) to three values, tried out."""
    rows = [["a", "b", "b"], ["c", "d", "e"]]
    table = ceiling(frame(rows)).scores.reshape(2, 3)
    texts = ["a", "b", "c", "d", "e"]
    for values in product(range(3), repeat=5):
        given = dict(zip(texts, values, strict=True))
        scores = np.array([[given[t] for t in row] for row in rows], dtype=float)
        pooled, most = (rank_order(each, range(3)).rho for each in (scores, table))
        assert pooled <= most + 1e-12
        within, most = (rank_orders_within(each, range(3)).mean() for each in (scores, table))
        assert within <= most + 1e-12


def test_the_spread_over_seeds_by_hand() -> None:
    # one image, three levels: in order (ρ 1), one neighbouring pair swapped (ρ 1/2), reversed (−1)
    tables = [np.array([row], dtype=float) for row in ([0, 1, 2], [1, 0, 2], [2, 1, 0])]
    spread = seed_spread(tables, [0, 1, 2], error=1.5, tie_sd=0.1)
    sd = float(np.std([1.0, 0.5, -1.0], ddof=1))
    expected = {
        "n": 3, "rank_order_rho_mean": 0.5 / 3, "rank_order_rho_sd": sd,
        "rank_order_rho_within_sd": sd, "pairwise_accuracy_mean": (1 + 2 / 3 + 0) / 3,
        "sd_image": np.sqrt(1.5**2 - sd**2), "sd_seed": sd, "sd_ties": 0.1,
    }  # fmt: skip
    assert {name: spread[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    assert seed_spread(tables[:1], [0, 1, 2], 1.5, 0.1) is None
    # seeds that spread ρ more than the bootstrap leave no variance to images, not a negative one
    assert seed_spread(tables, [0, 1, 2], 0.5, 0.1)["sd_image"] == 0


@pytest.mark.parametrize("seeds", [0, -1, 1.5, True, "two"])
def test_a_number_of_seeds_that_makes_no_sense(seeds: object) -> None:
    with pytest.raises(ConfigError, match=r"corruption\.seeds"):
        check_config(compose_config(["experiment=shuffle", f"corruption.seeds={seeds}"]))


def test_five_seeds_where_published_values_compare_unless_a_run_says_otherwise() -> None:
    for seeds, expected in ((None, [1, 5]), (2, [2, 2])):
        config = OmegaConf.create({"corruption": {"seeds": seeds}})
        assert [seed_count(config, comparable) for comparable in (False, True)] == expected


def test_only_cheap_metrics_are_scored_on_every_seed_by_default() -> None:
    config = compose_config(["experiment=shuffle"])
    metrics = {name: Length() for name in config.metric}  # which metric it is plays no part here
    cheap, dear = {"bleu", "sacrebleu", "rouge_l", "cider", "bigram_model"}, {"meteor", "spice"}
    assert set(rescorable(metrics, config)) & {*cheap, *dear, "bertscore", "faier"} == cheap
    config.corruption.reseeded = ["meteor", "controls"]
    chosen = {"meteor", *config.metric_groups.controls}
    assert set(rescorable(metrics, config)) == chosen & {*metrics}
    config.corruption.reseeded = ["rules"]
    with pytest.raises(ConfigError, match=r"corruption\.reseeded: 'rules' is neither"):
        rescorable(metrics, config)


@pytest.mark.slow
def test_a_run_with_three_seeds(tmp_path: Path) -> None:
    """Two further seeds: other captions, other scores; and the numbers of the run stay its own."""

    def run(seeds: int) -> MeasuredResult:
        return run_here(
            tmp_path, "experiment=replace", "dataset=scenes", "dataset.limit=40", "report=none",
            "metrics=[bleu,controls]", "stats.replicates=200", f"corruption.seeds={seeds}",
            out=str(seeds),
        )  # fmt: skip

    one, three = run(1), run(3)
    same = ("metrics", "comparisons", "controls")
    assert [getattr(one, name) for name in same] == [getattr(three, name) for name in same]
    seeds = rows_by_metric(three, "seeds")
    # of the ceiling the scores are the levels
    assert {name: row["n"] for name, row in seeds.items()} == {
        m.name: 3 for m in three.metrics if m.name != "Ceiling"
    }
    assert seeds["BLEU-2"]["rank_order_rho_sd"] > 0
    there = (tmp_path / "1" / files.SEED_SCORES).exists()
    assert (rows_by_metric(one, "seeds"), there) == ({}, False)
    scores = files.read_run_table(tmp_path / "3" / files.SEED_SCORES)
    n_images = rows_by_metric(three, "degrees")["BLEU-2"]["n_images"]
    assert (sorted(scores["seed"].unique()), n_images) == ([1, 2], 40)


@pytest.mark.filterwarnings("error")
def test_a_metric_that_few_replicates_define_gives_no_warning() -> None:
    """Its scores are of two images of twelve: before, numpy warned of "Degrees of freedom <= 0"."""
    scores = np.full((12, 2), np.nan)
    scores[:2] = [[0.0, 1.0], [2.0, 1.0]]
    design = Design(
        names=["Random", "Human"], levels=[0, 1], applied=np.ones((12, 2), dtype=bool),
        floor=True, curve=None, confidence=0.95, tie_seeds=[],
        counts=np.array([[0, 0, *[1] * 8, 2, 2]] * 3, dtype=np.int8),
    )  # fmt: skip
    made = column_statistics(design, ScoreColumn("M"), "m", [scores, scores + 1])
    assert made.measured["rank_order_rho"].interval is None
    assert np.isnan(made.rows["seeds"][0]["sd_image"])
