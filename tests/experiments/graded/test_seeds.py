"""Spread over corruption seeds: worked by hand, and of a small run."""

from pathlib import Path

import numpy as np
import pytest
from omegaconf import OmegaConf

from metaeval.config import compose_config
from metaeval.errors import ConfigError
from metaeval.experiments.graded.column import Design, column_statistics, seed_spread
from metaeval.experiments.graded.task import rescorable, seed_count
from metaeval.metrics.controls import Length
from metaeval.results.graded import rows_by_metric
from metaeval.results.measured import MeasuredResult
from metaeval.runs import files
from metaeval.runs.records import ScoreColumn
from metaeval.schema import check_config
from tests.shared import run_here


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
