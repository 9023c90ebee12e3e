"""True against false captions: the arithmetic by hand, and whole runs from their files alone."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metaeval.data.pairs.benchmarks import load_sugarcrepe
from metaeval.errors import ConfigError
from metaeval.experiments.pairs.outcomes import (
    BOTH,
    PARAPHRASE,
    TRUE,
    Groups,
    Outcomes,
    Ties,
    outcomes_of,
    refined,
    shares_of,
)
from metaeval.experiments.pairs.statistics import (
    MEAN,
    SHOWN,
    PairSample,
    PairsSettings,
    ShareCounts,
    accuracies,
    against_controls,
    count,
    differences,
    key_of,
)
from metaeval.experiments.pairs.task import TrueAgainstFalse
from metaeval.results.measured import MeasuredResult
from metaeval.runs import files as results
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from metaeval.stats.significance.paired_permutation import permutation_of_means
from tests.data.pairs.pair_files import SAID, coco, sugarcrepe, sugarcrepe_pp
from tests.shared import run_here, write_json

SMALL = ("stats.replicates=60", "task.permutations=100", "report=none")
NAN = float("nan")


def run_in(folder: Path, *overrides: str, out: str = "OUT") -> MeasuredResult:
    given = ("experiment=pairs", *SMALL, f"paths.data={folder}")
    return run_here(folder, *given, *overrides, out=out)


def settings(permutations: int = 500, ties: Ties = "wrong") -> PairsSettings:
    return PairsSettings(
        replicates=400, confidence=0.95, seed=0, permutations=permutations, alpha=0.05, ties=ties
    )


def test_outcomes_by_hand() -> None:
    """Right is strictly higher; "both" needs both, and is tied where neither is lower."""
    true = np.array([2.0, 1, 0, 2, 2, NAN, 1])
    false = np.array([1.0, 1, 1, 1, 1, 1, 1])
    other = np.array([3.0, 2, 2, 1, 0, 2, NAN])
    outcomes = outcomes_of(true, false, other)
    half = outcomes_of(true, false, other, "half")
    for name, right, tied in (
        (TRUE, [1, 0, 0, 1, 1, NAN, 0], [0, 1, 0, 0, 0, NAN, 1]),
        (PARAPHRASE, [1, 1, 1, 0, 0, 1, NAN], [0, 0, 0, 1, 0, 0, NAN]),
        (BOTH, [1, 0, 0, 0, 0, NAN, NAN], [0, 1, 0, 1, 0, NAN, NAN]),
    ):
        np.testing.assert_equal(outcomes[name].right, right)
        np.testing.assert_equal(outcomes[name].tied, tied)
    assert list(outcomes_of(true, false)) == [TRUE]
    np.testing.assert_equal(half[TRUE].credit, [1, 0.5, 0, 1, 1, NAN, 0.5])
    # pair 2: a tie and a win; pair 4: a win and a tie; a coin for each tie
    np.testing.assert_equal(half[BOTH].credit, [1, 0.5, 0, 0.5, 0, NAN, NAN])
    np.testing.assert_equal(outcomes[TRUE].credit, outcomes[TRUE].right)


def test_a_metric_that_ties_everything_is_at_chance() -> None:
    """A constant score gets 1/2 as a coin does, and 0 only where ties count as wrong."""
    same = np.ones(9)
    half, wrong = (outcomes_of(same, same, same, ties) for ties in ("half", "wrong"))
    means = [half[TRUE].credit.mean(), half[BOTH].credit.mean(), wrong[TRUE].credit.mean()]
    assert means == [0.5, 0.25, 0]


def groups() -> Groups:
    """Image a has two pairs of kind x and one of y, image b one of each."""
    return Groups.of(["x", "y"], ["x", "x", "y", "x", "y"], ["a", "a", "a", "b", "b"])


def test_shares_by_hand() -> None:
    weights = np.array([[2.0, 0.0], [0.0, 2.0]])
    shares = shares_of(np.array([1.0, 0, 1, 1, NAN]), groups(), weights)
    assert (shares.point.tolist(), shares.n.tolist()) == (pytest.approx([2 / 3, 1]), [3, 1])
    mean, replicates = shares.mean()
    assert (mean, replicates[0]) == (pytest.approx(5 / 6), 0.75)
    assert shares.mean(np.array([True, False]))[0] == pytest.approx(2 / 3)
    # b's pair of y has no score
    np.testing.assert_allclose(shares.replicates, [[0.5, 1], [1, NAN]])


def test_differences_are_the_tests_of_means_for_one_kind() -> None:
    """With one kind the mean over kinds is the mean over pairs, which the plain tests compare."""
    rng = np.random.default_rng(0)
    image = rng.integers(40, size=150)
    a, b = ((rng.random(150) < share).astype(float) for share in (0.7, 0.6))
    a[3] = NAN
    one = Groups.of(["x"], ["x"] * 150, [f"{i:02d}" for i in image])
    weights = bootstrap_counts(one.n_images, 400, 0).astype(float)
    shared = PairSample(one, weights, settings())
    (pair,) = differences({"A": a, "B": b}, ["A", "B"], shared).pairs
    plain = permutation_of_means(a, b, image, replicates=500, seed=0)
    assert pair.difference.value == pytest.approx(plain.difference, abs=1e-12)
    # the same swaps of the same images
    permutation, bootstrap = pair.tests
    assert (permutation.method, bootstrap.method) == ("permutation", "bootstrap")
    assert permutation.p == pytest.approx(plain.p_two_sided, abs=1e-12)
    known, unit = ~np.isnan(a - b), np.unique(image, return_inverse=True)[1]
    means = [np.average((a - b)[known], weights=row[unit[known]]) for row in weights]
    assert pair.difference.interval == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=1e-12)
    assert pair.n == len(np.unique(np.delete(image, 3)))


def kinds_and_rights(n: int) -> tuple[Groups, dict[str, np.ndarray]]:
    """On x the control is always right, on y the metric is much better, on z slightly."""
    kind, image = ["x"] * n + ["y"] * n + ["z"] * n, [str(i % n) for i in range(3 * n)]
    half = np.arange(n) % 2
    right = {
        "Metric": np.concatenate([np.arange(n) % 10 > 0, np.ones(n), np.arange(n) % 30 < 16]),
        "Blind": np.concatenate([np.ones(n), half, half]),
        "Random": np.concatenate([half, half, half]),
    }
    return Groups.of(["x", "y", "z"], kind, image), {k: v.astype(float) for k, v in right.items()}


def counted(right: dict[str, np.ndarray], shared: PairSample) -> dict[str, ShareCounts]:
    return {name: count(Outcomes(v, 0 * v, v), shared) for name, v in right.items()}


def test_what_kinds_show_against_controls() -> None:
    groups, right = kinds_and_rights(60)
    weights = bootstrap_counts(groups.n_images, 20, 0).astype(float)
    shared = PairSample(groups, weights, settings(2000))
    numbers = counted(right, shared)
    controls = against_controls(numbers, right, ["Metric"], ["Blind", "Random"], shared)
    assert {k: c.shows for k, c in controls.items()} == {
        "x": "nothing", "y": "something", "z": "unsure",
    }  # fmt: skip
    x, y = controls["x"], controls["y"]
    found = (x.control, x.control_value, x.best, x.best_value, x.above, y.above)
    assert found == ("Blind", 1.0, "Metric", 0.9, (), ("Metric",))
    assert against_controls(numbers, right, ["Metric"], [], shared) == {}
    (mean,) = against_controls(
        numbers, right, ["Metric"], ["Blind", "Random"], shared, in_mean=True
    ).values()
    best = (0.9 + 1 + 32 / 60) / 3
    found = (mean.control, mean.control_value, mean.best_value, mean.above)
    assert found == ("Blind", pytest.approx(2 / 3), pytest.approx(best), ("Metric",))


def test_few_permutations_are_undecidable_over_metrics_times_kinds() -> None:
    """3 kinds and 8 metrics are 24 hypotheses: 24 / (R + 1) is below .05 from R = 480 on.

    The metric is right in every pair of y and the control in half of them, so that "not certain"
    would be false: no data could have been significant.
    """
    groups, right = kinds_and_rights(60)
    names = [f"Metric {k}" for k in range(8)]
    right |= dict.fromkeys(names, right["Metric"])
    weights = bootstrap_counts(groups.n_images, 20, 0).astype(float)
    verdicts = {}
    for permutations in (200, 480):
        shared = PairSample(groups, weights, settings(permutations))
        controls = against_controls(counted(right, shared), right, names, ["Blind"], shared)
        verdicts[permutations] = {kind: c.shows for kind, c in controls.items()}
    assert verdicts[200] == {"x": "nothing", "y": "undecidable", "z": "undecidable"}
    assert verdicts[480]["y"] == "something"


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
            assert numbers.value(key_of(TRUE, str(kind))) == pytest.approx(value, abs=1e-12)
        assert numbers.value(key_of(TRUE)) == pytest.approx(by_kind.mean(), abs=1e-12)
        line = next(x for x in lines if x["metric"] == name and x["kind"] == "mean")
        assert float(line["accuracy"]) == pytest.approx(by_kind.mean(), abs=1e-12)
    # what is added makes a caption longer: the shorter one is always the true one
    add = key_of(TRUE, "add_obj")
    of_add = [result.metric(name).numbers.value(add) for name in ("Brevity", "Length")]
    assert (of_add, result.controls[add].shows) == ([1, 0], "nothing")
    printed = capsys.readouterr().out
    for line in (
        "pairs on SugarCrepe: 15 pairs of 4 images, 7 kinds; the true caption of 15",
        "(Brevity)",
        "not run: clipscore (skipped)",
        # 7 kinds and 5 metrics: 35 / (R + 1) is below .05 from R = 700 on
        "100 permutations cannot decide 35 hypotheses: set task.permutations=700",
    ):
        assert line in printed
    run_in(tmp_path, "metrics=[bleu,rouge_l,clipscore,controls]", "task.fitted=false", out="AGAIN")
    for name in ("pairs.parquet", results.SCORES, results.STATISTICS, "accuracies.csv"):
        assert (tmp_path / "AGAIN" / name).read_bytes() == (tmp_path / "OUT" / name).read_bytes()


def test_triplets_and_refinement(tmp_path: Path) -> None:
    sugarcrepe_pp(coco(tmp_path))
    result = run_in(
        tmp_path, "dataset=sugarcrepe_pp", "metrics=[rouge_l,length,brevity]",
        "task.refine=Length", "task.ties=wrong",
    )  # fmt: skip
    assert list(result.comparisons) == [key_of(c) for c in (TRUE, PARAPHRASE, BOTH)]
    scores = pd.read_parquet(tmp_path / "OUT" / results.SCORES)
    rouge = scores[scores["metric"] == "ROUGE-L"]
    both = (rouge["true"] > rouge["false"]) & (rouge["paraphrase"] > rouge["false"])
    numbers = result.metric("ROUGE-L").numbers
    assert numbers.value(key_of(BOTH)) == pytest.approx(both.mean(), abs=1e-12)
    # only the last pair of each kind differs in length, and nothing mirrors it
    table = result.extra("accuracies").frame()
    assert set(table.loc[~table["kind"].isin([MEAN, SHOWN]), "refined_n"]) == {4}
    table = table.set_index(["comparison", "metric", "kind"])
    assert table.loc[(TRUE, "Length", MEAN), "refined_accuracy"] == 0
    assert "replace_obj (4)" in result.extra("refined_true___false").columns
    assert any("20 pairs are left when Length" in note for note in result.notes)


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


def test_the_mean_of_what_is_shown_leaves_out_the_other_kinds(tmp_path: Path) -> None:
    """A kind that a control wins is in the plain mean only; worked by hand from two kinds."""
    groups, right = kinds_and_rights(60)
    weights = bootstrap_counts(groups.n_images, 20, 0).astype(float)
    shared = PairSample(groups, weights, settings(2000))
    metric = counted(right, shared)["Metric"]
    made = accuracies(metric, shared, np.array([False, True, False]))
    assert made[MEAN].estimate.value == pytest.approx((0.9 + 1 + 32 / 60) / 3, abs=1e-12)
    assert (made[SHOWN].estimate.value, made[SHOWN].estimate.n) == (1, 60)
    assert SHOWN not in accuracies(metric, shared, np.zeros(3, bool))


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
    expected = {key_of(TRUE): 1.0, "auroc": 3 / 4, "average_precision": (1 + 2 / 3) / 2}
    assert {key: numbers.value(key) for key in expected} == pytest.approx(expected)


@pytest.mark.parametrize(
    ("near_copies", "expected"),
    [("keep", "near-copies of 1 stay;"), ("drop", "near-copies of 1 too;")],
)
def test_the_line_on_the_data(tmp_path: Path, near_copies: str, expected: str) -> None:
    coco(sugarcrepe(tmp_path))
    data = load_sugarcrepe(data=tmp_path, kinds=["replace_obj"], near_copies=near_copies)
    task = TrueAgainstFalse(permutations=10)
    facts = data.facts | {"near_copies": 1, "near_copies_dropped": int(near_copies == "drop")}
    line = task.describe(replace(data, facts=facts))
    assert f"{data.title}: {facts['pairs']:,} pairs of {facts['images']:,} images, 1 kind;" in line
    assert f"the true caption of {facts['true_among_references']:,} was among" in line
    assert expected in line
    assert "near-copies" not in task.describe(replace(data, facts=facts | {"near_copies": 0}))
