"""True against false captions: the arithmetic by hand, and whole runs from their files alone."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from omegaconf import OmegaConf

from metaeval.data.pairs.benchmarks import load_sugarcrepe
from metaeval.errors import ConfigError
from metaeval.experiments.pairs.outcomes import (
    BOTH,
    PARAPHRASE,
    TRUE,
    PairOutcomes,
    comparison_outcomes,
    refined,
)
from metaeval.experiments.pairs.statistics import (
    MEAN,
    SHOWN,
    PairSample,
    accuracies,
    measure_key,
)
from metaeval.experiments.pairs.task import TrueAgainstFalse
from metaeval.results.measured import MeasuredResult
from metaeval.runs import files as results
from tests.data.pairs.pair_files import SAID, coco, sugarcrepe, sugarcrepe_pp
from tests.shared import run_here, write_json

SMALL = ("stats.replicates=60", "report=none")
NAN = float("nan")


def run_in(folder: Path, *overrides: str, out: str = "OUT") -> MeasuredResult:
    given = ("experiment=pairs", *SMALL, f"paths.data={folder}")
    return run_here(folder, *given, *overrides, out=out)


def test_outcomes_by_hand() -> None:
    """Right is strictly higher; "both" needs both, and is tied where neither is lower."""
    true = np.array([2.0, 1, 0, 2, 2, NAN, 1])
    false = np.array([1.0, 1, 1, 1, 1, 1, 1])
    other = np.array([3.0, 2, 2, 1, 0, 2, NAN])
    outcomes = comparison_outcomes(true, false, other)
    half = comparison_outcomes(true, false, other, "half")
    for name, right, tied in (
        (TRUE, [1, 0, 0, 1, 1, NAN, 0], [0, 1, 0, 0, 0, NAN, 1]),
        (PARAPHRASE, [1, 1, 1, 0, 0, 1, NAN], [0, 0, 0, 1, 0, 0, NAN]),
        (BOTH, [1, 0, 0, 0, 0, NAN, NAN], [0, 1, 0, 1, 0, NAN, NAN]),
    ):
        np.testing.assert_equal(outcomes[name].right, right)
        np.testing.assert_equal(outcomes[name].tied, tied)
    assert list(comparison_outcomes(true, false)) == [TRUE]
    np.testing.assert_equal(half[TRUE].credit, [1, 0.5, 0, 1, 1, NAN, 0.5])
    # pair 2: a tie and a win; pair 4: a win and a tie; a coin for each tie
    np.testing.assert_equal(half[BOTH].credit, [1, 0.5, 0, 0.5, 0, NAN, NAN])
    np.testing.assert_equal(outcomes[TRUE].credit, outcomes[TRUE].right)


def test_a_metric_that_ties_everything_is_at_chance() -> None:
    """A constant score gets 1/2 as a coin does, and 0 only where ties count as wrong."""
    same = np.ones(9)
    half, wrong = (comparison_outcomes(same, same, same, ties) for ties in ("half", "wrong"))
    means = [half[TRUE].credit.mean(), half[BOTH].credit.mean(), wrong[TRUE].credit.mean()]
    assert means == [0.5, 0.25, 0]


def test_the_mean_over_kinds_by_hand() -> None:
    """Image a has two pairs of kind x and one of y, image b one of each."""
    stats = OmegaConf.create({"replicates": 4, "seed": 0})
    of = PairSample.of(["x", "y"], ["x", "x", "y", "x", "y"], ["a", "a", "a", "b", "b"], stats)
    sample = of._replace(counts=np.array([[2.0, 0.0], [0.0, 2.0]]))
    # b's pair of y has no score
    value = sample.mean(["x", "y"]).of(np.array([1.0, 0, 1, 1, NAN]))
    assert (value.value, value.n, value.n_units) == (pytest.approx(5 / 6), 4, 1)
    np.testing.assert_allclose(value.replicates, [0.75, NAN])
    assert sample.mean(["x"]).of(np.array([1.0, 0, 1, 1, NAN])).value == pytest.approx(2 / 3)


def test_refinement_leaves_a_control_no_use() -> None:
    """In each kind and bin as many pairs right as wrong; ties stay, the unscored go."""
    rng = np.random.default_rng(1)
    n = 4000
    two = [np.arange(n) % 2 == k for k in (0, 1)]
    gap = np.round(rng.normal(1, 2, n))
    gap[:5] = NAN
    stays = refined(gap, two, 50, 0)
    assert not stays[:5].any()
    assert stays[gap == 0].all()
    for k in (0, 1):
        of_kind = two[k]
        for size in np.unique(np.abs(gap[~np.isnan(gap)])):
            sides = [of_kind & (gap == sign * size) for sign in (1, -1)]
            kept = [int(stays[side].sum()) for side in sides]
            assert kept[0] == kept[1] == min(side.sum() for side in sides) or size == 0
    assert (refined(gap, two, 50, 0) == stays).all()
    assert (refined(gap, two, 50, 1) != stays).any()
    # with one bin only the sign counts
    kinds = [
        np.array([True, True, False, True, False]),
        np.array([False, False, True, False, True]),
    ]
    assert refined(np.array([1.0, 2, 3, -9, 0]), kinds, 1, 0).sum() == 3


def test_a_run_from_its_files_alone(tmp_path: Path, capsys) -> None:
    """Accuracies again by pandas from scores.parquet, and in the CSV; printed best first."""
    sugarcrepe(coco(tmp_path))
    result = run_in(tmp_path, "metrics=[bleu,rouge_l,clipscore,controls]", "task.fitted=false")
    kinds = result.extra("kinds").columns
    assert {f"replace_obj ({len(SAID)})", f"add_obj ({len(SAID)})"} < set(kinds)
    pairs = pd.read_parquet(tmp_path / "OUT" / "pairs.parquet")
    scores = pd.read_parquet(tmp_path / "OUT" / results.SCORES).merge(pairs, on="pair")
    assert list(scores.columns[:4]) == ["pair", "metric", "true_x", "false_x"]
    lines = list(csv.DictReader((tmp_path / "OUT" / "accuracies.csv").open(encoding="utf-8")))
    for name, of_metric in scores.groupby("metric"):
        gap = of_metric["true_x"] - of_metric["false_x"]
        credit = (gap > 0) + (gap == 0) / 2
        by_kind = credit[gap.notna()].groupby(of_metric["kind"]).mean()
        numbers = result.metric(str(name)).numbers
        for kind, value in by_kind.items():
            assert numbers.value(measure_key(TRUE, str(kind))) == pytest.approx(value, abs=1e-12)
        assert numbers.value(measure_key(TRUE)) == pytest.approx(by_kind.mean(), abs=1e-12)
        line = next(x for x in lines if x["metric"] == name and x["kind"] == "mean")
        assert float(line["accuracy"]) == pytest.approx(by_kind.mean(), abs=1e-12)
    # what is added makes a caption longer: the shorter one is always the true one
    add = measure_key(TRUE, "add_obj")
    of_add = [result.metric(name).numbers.value(add) for name in ("Brevity", "Length")]
    assert (of_add, result.controls[add].shows) == ([1, 0], "nothing")
    printed = capsys.readouterr().out
    for line in (
        "pairs on SugarCrepe: 15 pairs of 4 images, 7 kinds; the true caption of 15",
        "(Brevity)",
        "not run: clipscore (skipped)",
    ):
        assert line in printed


def test_triplets_and_refinement(tmp_path: Path) -> None:
    sugarcrepe_pp(coco(tmp_path))
    result = run_in(
        tmp_path, "dataset=sugarcrepe_pp", "metrics=[rouge_l,length,brevity]",
        "task.refine=Length", "task.ties=wrong",
    )  # fmt: skip
    assert list(result.comparisons) == [measure_key(c) for c in (TRUE, PARAPHRASE, BOTH)]
    scores = pd.read_parquet(tmp_path / "OUT" / results.SCORES)
    rouge = scores[scores["metric"] == "ROUGE-L"]
    both = (rouge["true"] > rouge["false"]) & (rouge["paraphrase"] > rouge["false"])
    numbers = result.metric("ROUGE-L").numbers
    assert numbers.value(measure_key(BOTH)) == pytest.approx(both.mean(), abs=1e-12)
    # only the last pair of each kind differs in length, and nothing mirrors it
    table = result.extra("accuracies").frame()
    assert set(table.loc[~table["kind"].isin([MEAN, SHOWN]), "refined_n"]) == {4}
    table = table.set_index(["comparison", "metric", "kind"])
    assert table.loc[(TRUE, "Length", MEAN), "refined_accuracy"] == 0
    assert "replace_obj (4)" in result.extra("refined_true___false").columns
    assert any("20 pairs are left when Length" in note for note in result.notes)


def test_a_wrong_control_or_dataset_is_refused(tmp_path: Path) -> None:
    sugarcrepe(coco(tmp_path))
    with pytest.raises(
        ConfigError, match=r"task.refine: unknown control 'ROUGE-L'; choose from Length$"
    ):
        run_in(tmp_path, "metrics=[rouge_l,length]", "task.refine=ROUGE-L")
    # a control that this data does not let run: bigrams are learnt from other images
    one = ("dataset.kinds=[swap_obj]", "dataset.limit=1")
    with pytest.raises(ConfigError, match=r"refine: 'Bigram model' cannot run .* other images"):
        run_in(tmp_path, *one, "metrics=[rouge_l,bigram_model]", "task.refine='Bigram model'")
    assert not (tmp_path / "OUT").exists()  # nothing was begun


def test_pairs_without_scores_are_counted(tmp_path: Path) -> None:
    sugarcrepe(coco(tmp_path))
    path = write_json(
        tmp_path / "mine.json", [{"image_id": "139", "caption": SAID[0][1], "Mine": 0.5}]
    )
    result = run_in(
        tmp_path, "dataset.kinds=[swap_obj]", "metric=[scores,random_score]",
        f"metric.scores.file={path}", "metric.scores.columns=[Mine]",
    )  # fmt: skip
    assert result.metric("Mine").numbers.facts["n_nan"] == 1
    assert "Mine: no score for 1 of 1 pairs" in result.notes


def test_the_mean_of_what_is_shown_leaves_out_the_other_kinds() -> None:
    """A kind that a control wins is in the plain mean only; worked by hand from three kinds."""
    n = 60
    right = np.concatenate([np.arange(n) % 10 > 0, np.ones(n), np.arange(n) % 30 < 16]).astype(
        float
    )
    stats = OmegaConf.create({"replicates": 20, "seed": 0})
    kind = ["x"] * n + ["y"] * n + ["z"] * n
    sample = PairSample.of("xyz", kind, [str(i % n) for i in range(3 * n)], stats)
    outcome = PairOutcomes(right, 0 * right, right)
    made = accuracies(outcome, sample, 0.95, ["y"])
    assert made[MEAN].estimate.value == pytest.approx((0.9 + 1 + 32 / 60) / 3, abs=1e-12)
    assert (made[SHOWN].estimate.value, made[SHOWN].estimate.n) == (1, 60)
    assert SHOWN not in accuracies(outcome, sample, 0.95)


def test_pooled_captions_are_compared_over_all_images(tmp_path: Path) -> None:
    """Right within every pair, but one image's false caption is above the other's true one."""
    texts = {
        "a": ("one two three four five six", "one two three four"),
        "b": ("one two three", "one"),
    }
    rows = [
        {"image_id": image, "true": true, "false": false, "references": ["one two"]}
        for image, (true, false) in texts.items()
    ]
    path = write_json(tmp_path / "pairs.json", rows)
    result = run_in(
        tmp_path, "dataset=pairs", f"dataset.file={path}", "dataset.image_source=other",
        "metrics=[length]",
    )  # fmt: skip
    numbers = result.metric("Length").numbers
    # false captions by ascending length: 1st of 1, 2nd of 3
    expected = {measure_key(TRUE): 1.0, "auroc": 3 / 4, "average_precision": (1 + 2 / 3) / 2}
    assert {key: numbers.value(key) for key in expected} == pytest.approx(expected)


@pytest.mark.parametrize(
    ("near_copies", "expected"),
    [("keep", "near-copies of 1 stay;"), ("drop", "near-copies of 1 too;")],
)
def test_the_line_on_the_data(tmp_path: Path, near_copies: str, expected: str) -> None:
    coco(sugarcrepe(tmp_path))
    data = load_sugarcrepe(data=tmp_path, kinds=["replace_obj"], near_copies=near_copies)
    task = TrueAgainstFalse()
    facts = data.facts | {"near_copies": 1, "near_copies_dropped": int(near_copies == "drop")}
    line = task.describe(replace(data, facts=facts))
    assert f"{data.title}: {facts['pairs']:,} pairs of {facts['images']:,} images, 1 kind;" in line
    assert f"the true caption of {facts['true_among_references']:,} was among" in line
    assert expected in line
    assert "near-copies" not in task.describe(replace(data, facts=facts | {"near_copies": 0}))
