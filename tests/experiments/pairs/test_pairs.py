"""True against false captions: the arithmetic by hand, and whole runs from their files alone."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hydra import compose, initialize_config_dir

from experiments.pairs.outcomes import BOTH, MEAN, PARAPHRASE, TRUE, Groups, outcomes_of, shares_of
from experiments.pairs.printout import printout
from experiments.pairs.refinement import refined
from experiments.pairs.statistics import Settings, controls_by_kind, differences
from experiments.run import run as carry_out
from metaeval import installation
from metaeval.config import component
from metaeval.errors import ConfigError
from metaeval.runs import files as results
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from metaeval.stats.significance.paired_bootstrap import bootstrap_of_means
from metaeval.stats.significance.paired_permutation import permutation_of_means
from tests.data.pairs.pair_files import SAID, coco, sugarcrepe, sugarcrepe_pp

SMALL = ("stats.replicates=60", "task.permutations=100", "report=none")
NAN = float("nan")


def run_in(folder: Path, *overrides: str, out: str = "OUT") -> dict[str, Any]:
    """The experiment as the command composes it, in this process; its statistics as written."""
    with initialize_config_dir(str(installation.conf().resolve()), version_base="1.3"):
        config = compose(
            "config",
            ["experiment=pairs", *SMALL, f"paths.cache={folder / 'cache'}",
             f"paths.data={folder}", *overrides],
        )  # fmt: skip
    carry_out(component(config.task, "task"), config, folder / out)
    return results.read_json(folder / out / results.STATISTICS)


def test_outcomes_by_hand() -> None:
    """Right is strictly higher; "both" needs both, and is tied where nothing is lower."""
    true = np.array([2.0, 1, 0, 2, 2, NAN, 1])
    false = np.array([1.0, 1, 1, 1, 1, 1, 1])
    other = np.array([3.0, 2, 2, 1, 0, 2, NAN])
    outcomes = outcomes_of(true, false, other)
    np.testing.assert_equal(outcomes[TRUE].right, [1, 0, 0, 1, 1, NAN, 0])
    np.testing.assert_equal(outcomes[TRUE].tied, [0, 1, 0, 0, 0, NAN, 1])
    np.testing.assert_equal(outcomes[PARAPHRASE].right, [1, 1, 1, 0, 0, 1, NAN])
    np.testing.assert_equal(outcomes[BOTH].right, [1, 0, 0, 0, 0, NAN, NAN])
    np.testing.assert_equal(outcomes[BOTH].tied, [0, 1, 0, 1, 0, NAN, NAN])
    assert list(outcomes_of(true, false)) == [TRUE]


def groups() -> Groups:
    """Image a has two pairs of kind x and one of y, image b one of each."""
    return Groups.of(["x", "y"], ["x", "x", "y", "x", "y"], ["a", "a", "a", "b", "b"])


def test_shares_by_hand() -> None:
    weights = np.array([[2.0, 0.0], [0.0, 2.0]])
    shares = shares_of(np.array([1.0, 0, 1, 1, NAN]), groups(), weights)
    assert shares.point.tolist() == pytest.approx([2 / 3, 1, 5 / 6])
    assert shares.n.tolist() == [3, 1]
    np.testing.assert_allclose(shares.replicates[0], [0.5, 1, 0.75])
    np.testing.assert_equal(shares.replicates[1], [1, NAN, NAN])  # b's pair of y has no score


def test_differences_are_the_tests_of_means_for_one_kind() -> None:
    """With one kind the mean over kinds is the mean over pairs, which the plain tests compare."""
    rng = np.random.default_rng(0)
    image = rng.integers(40, size=150)
    a, b = ((rng.random(150) < share).astype(float) for share in (0.7, 0.6))
    a[3] = NAN
    one = Groups.of(["x"], ["x"] * 150, [f"{i:02d}" for i in image])
    weights = bootstrap_counts(one.n_images, 400, 0).astype(float)
    settings = Settings(500, 0.05, 0.95, 0, None, 50)
    (pair,) = differences({"A": a, "B": b}, ["A", "B"], one, weights, settings)["pairs"]
    plain = permutation_of_means(a, b, image, replicates=500, seed=0)
    assert pair["difference"] == pytest.approx(plain.difference, abs=1e-12)
    # the same swaps of the same images
    assert pair["permutation"]["p"] == pytest.approx(plain.p_two_sided, abs=1e-12)
    resampled = bootstrap_of_means(a, b, image, replicates=400, seed=0)
    assert pair["bootstrap"]["ci"] == pytest.approx([resampled.low, resampled.high], abs=1e-12)


def test_what_kinds_show_beside_controls() -> None:
    """On x the control is always right, on y a metric is surely better, on z nobody knows."""
    n = 60
    kind, image = ["x"] * n + ["y"] * n + ["z"] * n, [str(i % n) for i in range(3 * n)]
    three = Groups.of(["x", "y", "z"], kind, image)
    half = np.arange(n) % 2
    right = {
        "Metric": np.concatenate([np.arange(n) % 10 > 0, np.ones(n), np.arange(n) % 30 < 16]),
        "Blind": np.concatenate([np.ones(n), half, half]).astype(float),
        "Random": np.concatenate([half, half, half]).astype(float),
    }
    right["Metric"] = right["Metric"].astype(float)
    by_name = {
        name: {"accuracy": {TRUE: {
            k: {"value": float(v[np.array(kind) == k].mean())} for k in three.kinds
        }}}
        for name, v in right.items()
    }  # fmt: skip
    settings = Settings(2000, 0.05, 0.95, 0, None, 50)
    told = controls_by_kind(by_name, right, ["Metric"], ["Blind", "Random"], three, TRUE, settings)
    assert told is not None
    assert {k: told[k]["shows"] for k in told} == {
        "x": "nothing", "y": "something", "z": "unsure",
    }  # fmt: skip
    assert told["x"] == {
        "control": "Blind", "value": 1.0, "best": "Metric", "best_value": 0.9, "above": [],
        "shows": "nothing",
    }  # fmt: skip
    assert told["y"]["above"] == ["Metric"]
    assert controls_by_kind(by_name, right, ["Metric"], [], three, TRUE, settings) is None


def test_refinement_leaves_a_control_no_use() -> None:
    """In each kind and bin as many pairs right as wrong; ties stay, the unscored go."""
    rng = np.random.default_rng(1)
    n = 4000
    kind = [("x", "y")[k % 2] for k in range(n)]
    two = Groups.of(["x", "y"], kind, [str(k // 4) for k in range(n)])
    gap = np.round(rng.normal(1, 2, n))
    gap[:5] = NAN
    stays = refined(gap, two, 50, 0)
    assert not stays[:5].any()
    assert stays[gap == 0].all()
    for k in (0, 1):
        of_kind = two.kind == k
        for size in np.unique(np.abs(gap[~np.isnan(gap)])):
            sides = [of_kind & (gap == sign * size) for sign in (1, -1)]
            kept = [int(stays[side].sum()) for side in sides]
            assert kept[0] == kept[1] == min(side.sum() for side in sides) or size == 0
    assert (refined(gap, two, 50, 0) == stays).all()
    assert (refined(gap, two, 50, 1) != stays).any()
    # with one bin only the sign counts
    assert refined(np.array([1.0, 2, 3, -9, 0]), groups(), 1, 0).sum() == 3


def test_a_run_from_its_files_alone(tmp_path: Path, capsys) -> None:
    """Accuracies again by pandas from scores.parquet, and in the CSV; printed best first."""
    sugarcrepe(coco(tmp_path))
    summary = run_in(tmp_path, "metrics=[bleu,rouge_l,clipscore,controls]")
    assert summary["kinds"]["replace_obj"] == len(SAID) == summary["kinds"]["add_obj"]
    pairs = pd.read_parquet(tmp_path / "OUT" / "pairs.parquet")
    scores = pd.read_parquet(tmp_path / "OUT" / results.SCORES).merge(pairs, on="pair")
    assert list(scores.columns[:4]) == ["pair", "metric", "true_x", "false_x"]
    lines = list(csv.DictReader((tmp_path / "OUT" / "accuracies.csv").open(encoding="utf-8")))
    records = {r["metric"]: r for r in summary["metrics"] if r["status"] == "ok"}
    for name, of_metric in scores.groupby("metric"):
        right = of_metric["true_x"] > of_metric["false_x"]
        by_kind = right.groupby(of_metric["kind"]).mean()
        accuracy = records[name]["accuracy"][TRUE]
        for kind, value in by_kind.items():
            assert accuracy[kind]["value"] == pytest.approx(value, abs=1e-12)
        assert accuracy[MEAN]["value"] == pytest.approx(by_kind.mean(), abs=1e-12)
        line = next(x for x in lines if x["metric"] == name and x["kind"] == MEAN)
        assert float(line["accuracy"]) == pytest.approx(by_kind.mean(), abs=1e-12)
    # what is added makes a caption longer: the shorter one is always the true one
    assert records["Brevity"]["accuracy"][TRUE]["add_obj"]["value"] == 1
    assert records["Length"]["accuracy"][TRUE]["add_obj"]["value"] == 0
    assert summary["controls"][TRUE]["add_obj"]["shows"] == "nothing"
    printed = capsys.readouterr().out
    assert "pairs on SugarCrepe: 15 pairs of 4 images, 7 kinds; the true caption of 15" in printed
    assert "add_obj shows nothing: " in printed
    assert "(Brevity)" in printed
    assert "not run: clipscore (skipped)" in printed
    assert "no difference can be significant by permutation: 100 draws for 10 pairs" in printed
    run_in(tmp_path, "metrics=[bleu,rouge_l,clipscore,controls]", out="AGAIN")
    for name in ("pairs.parquet", results.SCORES, results.STATISTICS, "accuracies.csv"):
        assert (tmp_path / "AGAIN" / name).read_bytes() == (tmp_path / "OUT" / name).read_bytes()


def test_triplets_and_refinement(tmp_path: Path, capsys) -> None:
    sugarcrepe_pp(coco(tmp_path))
    summary = run_in(
        tmp_path, "dataset=sugarcrepe_pp", "metrics=[rouge_l,length,brevity]", "task.refine=Length"
    )
    assert summary["comparisons"] == [TRUE, PARAPHRASE, BOTH]
    scores = pd.read_parquet(tmp_path / "OUT" / results.SCORES)
    rouge = scores[scores["metric"] == "ROUGE-L"]
    both = (rouge["true"] > rouge["false"]) & (rouge["paraphrase"] > rouge["false"])
    accuracy = next(r for r in summary["metrics"] if r["metric"] == "ROUGE-L")["accuracy"]
    assert accuracy[BOTH][MEAN]["value"] == pytest.approx(both.mean(), abs=1e-12)
    refinement = summary["refinement"]
    # only the last pair of each kind differs in length, and nothing mirrors it
    assert refinement["kinds"] == dict.fromkeys(summary["kinds"], 4)
    assert refinement["accuracy"]["Length"][TRUE][MEAN]["value"] == 0
    printed = capsys.readouterr().out
    assert "5 kinds" in printed
    assert "before and after Length is no use" in printed
    assert "replace_obj (4)" in printed


def test_a_wrong_control_or_dataset_is_refused(tmp_path: Path) -> None:
    sugarcrepe(coco(tmp_path))
    with pytest.raises(ConfigError, match=r"task.refine: 'ROUGE-L' is not among the .* Length$"):
        run_in(tmp_path, "metrics=[rouge_l,length]", "task.refine=ROUGE-L")
    # a control that this data does not let run: bigrams are learnt from other images
    one = ("dataset.kinds=[swap_obj]", "dataset.limit=1")
    with pytest.raises(ConfigError, match=r"refine: 'Bigram model' cannot run .* other images"):
        run_in(tmp_path, *one, "metrics=[rouge_l,bigram_model]", "task.refine='Bigram model'")
    assert not (tmp_path / "OUT").exists()  # nothing was begun
    with pytest.raises(ConfigError, match="experiment=pairs needs true and false captions"):
        run_in(tmp_path, "dataset=scenes", "dataset.limit=2", "metrics=[length]")


def test_a_metric_without_scores_has_dashes(tmp_path: Path) -> None:
    """References of one image are gone: NaN there, said with its number."""
    sugarcrepe(coco(tmp_path))
    summary = run_in(
        tmp_path, "metrics=[rouge_l,random_score]", "dataset.near_copies=drop",
        "dataset.kinds=[swap_obj]",
    )  # fmt: skip
    for record in summary["metrics"]:
        record["n_nan"] = 1
    text = printout(summary, tmp_path / "report.html")
    assert "ROUGE-L: no score for 1 of 2 pairs" in text
