"""True against false captions: the arithmetic by hand, and whole runs from their files alone."""

import csv
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from metaeval.data.pairs.benchmarks import load_sugarcrepe
from metaeval.errors import ConfigError
from metaeval.experiments.choices import PairSample
from metaeval.experiments.measure import Items, Measurements
from metaeval.experiments.pairs.task import (
    BOTH,
    MEAN,
    PARAPHRASE,
    SHOWN,
    TRUE,
    ScoredPairs,
    TrueAgainstFalse,
    accuracies,
    comparison_credit,
    measure_key,
    refined,
)
from metaeval.results.measured import MeasuredResult
from metaeval.runs import files as results
from metaeval.runs.records import ScoreColumn
from tests.data.pairs.pair_files import SAID, coco, sugarcrepe, sugarcrepe_pp
from tests.shared import run_here, write_json

SMALL = ("stats.replicates=60", "report=none")
NAN = float("nan")


def run_in(folder: Path, *overrides: str, out: str = "OUT") -> MeasuredResult:
    given = ("experiment=pairs", *SMALL, f"paths.data={folder}")
    return run_here(folder, *given, *overrides, out=out)


@pytest.mark.parametrize(
    ("comparison", "tied", "expected"),
    [
        (TRUE, 0, [1, 0, 0, 1, 1, NAN, 0, 0]),
        (TRUE, 0.5, [1, 0.5, 0, 1, 1, NAN, 0.5, 0.5]),
        (PARAPHRASE, 0, [1, 1, 1, 0, 0, 1, NAN, 0]),
        (BOTH, 0, [1, 0, 0, 0, 0, NAN, NAN, 0]),
        # pair 2: a tie and a win; pair 4: a win and a tie; a coin for each tie: two in pair 8
        (BOTH, 0.5, [1, 0.5, 0, 0.5, 0, NAN, NAN, 0.25]),
        (BOTH, 1, [1, 1, 0, 1, 0, NAN, NAN, 1]),  # neither caption is below the false one
    ],
)
def test_outcomes_by_hand(comparison: str, tied: float, expected: list[float]) -> None:
    """Right is strictly higher; "both" needs both. A constant score is right as often as a coin."""
    true, false = np.array([2.0, 1, 0, 2, 2, NAN, 1, 1]), np.ones(8)
    other = np.array([3.0, 2, 2, 1, 0, 2, NAN, 1])
    made = comparison_credit([true, false, other], comparison, tied)
    np.testing.assert_equal(made, expected)


def test_the_mean_over_kinds_by_hand() -> None:
    """Image a has two pairs of kind x and one of y, image b one of each."""
    kinds = {"x": np.array([1, 1, 0, 1, 0], bool), "y": np.array([0, 0, 1, 0, 1], bool)}
    counts = np.array([[2.0, 0.0], [0.0, 2.0]])
    sample = PairSample(Items(np.array([0, 0, 0, 1, 1])), counts, kinds)
    credit = np.array([1.0, 0, 1, 1, NAN])  # b's pair of y has no score
    value = sample.mean("x", "y").of(credit)
    assert (value.value, value.n, value.n_units) == (pytest.approx(5 / 6), 4, 1)
    np.testing.assert_allclose(value.replicates, [0.75, NAN])
    assert sample.mean("x").of(credit).value == pytest.approx(2 / 3)


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
    table = {"kind": two[0], "size": np.abs(gap), "right": gap > 0, "stays": stays}
    sides = pd.DataFrame(table)[np.abs(gap) > 0].groupby(["kind", "size", "right"])["stays"]
    kept, there = (of.unstack(fill_value=0).to_numpy() for of in (sides.sum(), sides.size()))
    assert (kept == there.min(axis=1, keepdims=True)).all()
    same, others = (refined(gap, two, 50, seed) == stays for seed in (0, 1))
    assert (same.all(), others.all()) == (True, False)
    # with one bin only the sign counts
    kinds = [np.array([1, 1, 0, 1, 0], bool), np.array([0, 0, 1, 0, 1], bool)]
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
    """A kind that a control wins is in the plain mean only; worked by hand from three kinds. 56 of
    60 pairs of x have no tie, and of these 51 are right."""
    n = 60
    right = np.concatenate([np.arange(n) % 10 > 0, np.ones(n), np.arange(n) % 30 < 16])
    gap = np.where(right, 1.0, -1.0)
    gap[:4] = 0
    items, counts = Items(np.tile(np.arange(n), 3)), np.ones((20, n))
    kinds = {kind: np.repeat(np.arange(3), n) == k for k, kind in enumerate("xyz")}
    shown = {measure_key(TRUE, "y"): SimpleNamespace(shows="something")}
    data = ScoredPairs(
        None, [TRUE], [ScoreColumn("M")], {"M": [gap, 0 * gap]},
        PairSample(items, counts, kinds), 0.5,
    )  # fmt: skip
    of, without = (
        accuracies(data, TRUE, Measurements({}, {}, controls, []), 0.95) for controls in (shown, {})
    )
    x = (54 - 3 + 4 / 2) / 60  # pair 0 was wrong, and 1 to 3 were right
    rows = {kind: (row["accuracy"], row["untied"], row["n"]) for (_, kind), row in of.items()}
    assert rows["x"] == (pytest.approx(x), pytest.approx(51 / 56), 60)
    assert rows[MEAN][0] == pytest.approx((x + 1 + 32 / 60) / 3, abs=1e-12)
    assert rows[SHOWN] == (1, 1, 60)
    assert ("M", SHOWN) not in without


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
    ("n", "near_copies", "expected"),
    [
        (1, "keep", ", near-copies of 1 stay;"),
        (1, "drop", ", near-copies of 1 too;"),
        (0, "drop", ";"),
    ],
)
def test_the_line_on_the_data(tmp_path: Path, n: int, near_copies: str, expected: str) -> None:
    data = load_sugarcrepe(data=coco(sugarcrepe(tmp_path)), kinds=["replace_obj"])
    facts = {"near_copies": n, "near_copies_dropped": int(near_copies == "drop")}
    line = TrueAgainstFalse().describe(replace(data, facts=data.facts | facts))
    assert line.startswith(
        "SugarCrepe: 5 pairs of 4 images, 1 kind; the true caption of 5 was among the references "
        f"and was taken out{expected} "
    )
