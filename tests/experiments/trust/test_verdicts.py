"""The rules of experiment=trust on known battles, and the findings that they read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from metaeval.config import build, compose_config
from metaeval.experiments.trust.findings import evidence_of
from metaeval.experiments.trust.result import ItemRun, gathered
from metaeval.experiments.trust.verdicts import Uses, read_uses, robustness
from metaeval.results.files import read_info, read_resampled
from metaeval.results.measured import Extra, MeasuredResult
from metaeval.results.trust import answer_of
from metaeval.stats.resampling.items import Floats
from tests.experiments.trust.trust_cases import (
    RULES,
    USES,
    N,
    cell_of,
    item_run,
    right,
    rows,
    trust_result,
)
from tests.forked import run_experiment
from tests.shared import write_lines


def by_hand(tests: list[tuple[Floats, Floats]], seed: int = 0) -> tuple[float, float, float]:
    """Σ(metric − control) / Σ(1 − control) with its interval, in the words of docs/trust.md."""
    rng, n = np.random.default_rng([0xB007, seed]), len(tests[0][0])
    drawn = [rng.integers(n, size=n) for _ in range(500)]

    def ratio(images: Floats) -> float:
        gain = sum(m[images].mean() - c[images].mean() for m, c in tests)
        return float(gain / sum(1 - c[images].mean() for _, c in tests))

    low, high = np.quantile([ratio(images) for images in drawn], [0.025, 0.975])
    return ratio(np.arange(n)), float(low), float(high)


def test_a_skill_is_one_ratio_over_all_tests_from_the_same_images() -> None:
    """Against a loop over the bootstrap's own draws; replicates are stored in float32."""
    given = [(right(share, k), right(0.5 + 0.05 * k, 9)) for k, share in enumerate((0.9, 0.7))]
    runs = [item_run(str(k), {"A": a, "Length": c}) for k, (a, c) in enumerate(given)]
    cell = cell_of(trust_result(*runs), "A")
    skill = [cell[name] for name in ("skill", "skill_low", "skill_high")]
    assert skill == pytest.approx(by_hand(given), abs=1e-6)
    assert (cell["above"], cell["tests"], cell["n"]) == (2, 2, "800 battles")


@pytest.mark.parametrize(
    ("share", "word", "above"),
    [
        (1.0, "shown", 1),
        (0.66, "shown", 1),  # .32 of the way
        (0.57, "not shown", 1),  # above the control, and perhaps the minimal skill
        (0.55, "not shown", 1),  # above it by just the minimal skill
        (0.5, "below", 0),  # as the control
        (0.4, "below", 0),
    ],
)
def test_one_test(share: float, word: str, above: int) -> None:
    control = right(0.5)
    metric = control.copy()  # differs from the control where it must
    flips = np.flatnonzero(control == (share < 0.5))[: round(abs(share - 0.5) * N)]
    metric[flips] = 1 - metric[flips]
    cell = cell_of(trust_result(item_run("a", {"A": metric, "Length": control})), "A")
    assert (cell["word"], cell["above"]) == (word, above)


def test_a_metric_must_beat_every_control() -> None:
    """The second control wins on one test alone: over both it is the harder one all the same."""
    two = Uses(**{**USES.model_dump(), "blind": ("length",)})
    tests = [
        {"A": 0.8, "Length": 0.5, "Brevity": 0.5},
        {"A": 0.8, "Length": 0.5, "Brevity": 0.75},
    ]
    runs = [item_run(str(k), t) for k, t in enumerate(tests)]
    runs = [as_control(run, "Brevity") for run in runs]
    cell = cell_of(trust_result(*runs, uses=two), "A")
    skill = pytest.approx((0.3 + 0.05) / (0.5 + 0.25))
    assert [cell[k] for k in ("control", "above", "tests", "skill")] == ["Brevity", 1, 2, skill]


def as_control(run: Any, name: str) -> Any:
    """The run with a column as a control of the family of the first one."""
    metrics = tuple(
        m
        if m.name != name
        else m.model_copy(update={"column": replace(m.column, control=True), "family": "length"})
        for m in run.result.metrics
    )
    return replace(run, result=run.result.model_copy(update={"metrics": metrics}))


@pytest.mark.parametrize(
    ("columns", "options", "reason"),
    [
        ({"A": 1.0, "Length": 0.95}, {}, "Length alone has 0.95 of 1.00"),
        ({"A": 1.0}, {"n": 60}, "60 images; a test needs 100"),
        ({"A": 1.0}, {"trained": ["A"]}, ""),
    ],
)
def test_what_is_not_admitted_counts_for_no_metric(
    columns: dict[str, float], options: dict[str, Any], reason: str
) -> None:
    result = trust_result(item_run("a", columns, **options))
    reasons = [one["reason"] for one in rows(result, "silent")]
    (one,) = rows(result, "evidence", metric="A")
    assert (cell_of(result, "A")["word"], one["outcome"], one["why_not"], reasons) == (
        "cannot tell", "not counted", reason or "A was chosen on experiment=arena",
        [reason] if reason else [],
    )  # fmt: skip


def test_a_run_needs_replicates_and_every_blind_control() -> None:
    run = item_run("a", {"A": 0.9, "Brevity": 0.6})
    length = next(m for m in run.result.metrics if m.name == "Length")
    others = tuple(m for m in run.result.metrics if m is not length)
    of_none = {"status": "skipped", "reason": "no words", "statistics": None}
    without, skipped = (
        replace(run, result=run.result.model_copy(update={"metrics": metrics}))
        for metrics in (others, (*others, length.model_copy(update=of_none)))
    )
    for changed, reason in (
        (replace(run, resampled=()), "no replicates.parquet"),
        (without, "no scores of length (metrics must contain all"),
        (skipped, "no scores of length (no words)"),
    ):
        (one,) = rows(trust_result(changed), "silent")
        assert reason in one["reason"]


def test_a_control_without_a_value_is_there_all_the_same() -> None:
    """As the number of words where all captions are equally long."""
    run = as_control(item_run("a", {"A": 0.9, "Brevity": 0.6}), "Brevity")
    undefined = tuple(
        r._replace(value=np.nan, replicates=np.nan * r.replicates) if r.column == "Length" else r
        for r in run.resampled
    )
    cell = cell_of(trust_result(replace(run, resampled=undefined)), "A")
    assert (cell["word"], cell["control"]) == ("shown", "Brevity")


def test_a_use_whose_tests_no_metric_has() -> None:
    """As aspects of long descriptions, of which metrics with references have no score."""
    (use,) = rows(trust_result(item_run("a", {})), "uses", id="pairs")
    assert (use["tests"], answer_of(use)) == (1, "no metric has all tests (1 test)")


def test_a_baseline_is_no_bar_and_never_shown() -> None:
    result = trust_result(item_run("a", {"A": 0.6, "Copy": 0.9}))
    assert cell_of(result, "A")["control"] == "Length"
    copy = cell_of(result, "Copy")
    assert (copy["word"], copy["rank"], copy["skill"]) == ("control", None, pytest.approx(0.8))


def test_ranks_are_of_metrics_with_the_same_tests() -> None:
    """C has one of two tests: it is compared there with the best and the worst of the others."""
    near = np.r_[0.0, np.ones(N - 40), np.zeros(39)]
    better = np.r_[1.0, near[1:]]
    first = {"A": better, "A'": near, "B": 0.7, "C": 0.8}
    runs = [item_run("x", first), item_run("y", {"A": better, "A'": near, "B": 0.6})]
    result = trust_result(*runs)
    assert of_metrics(result, "rank") == {"A": 1, "A'": 1, "B": 3, "C": None}
    others = {o["against"]: o["outcome"] for o in rows(result, "others", metric="C")}
    assert others == {"A": "lower", "B": "higher"}
    uses = [[u[k] for k in ("rank 1", "tests", "judged by")] for u in result.extra("uses").records]
    assert (uses[0], uses[1][:2]) == (["A 2/2, A' 2/2", 2, "people"], [None, 0])


def of_metrics(result: MeasuredResult, *names: str) -> dict[str, Any]:
    """Metric → these values of its cell for the first use."""
    cells = rows(result, "cells", use="pairs")
    return {c["metric"]: c[names[0]] if len(names) == 1 else [c[n] for n in names] for c in cells}


def test_a_metric_more_changes_no_other_and_a_copy_has_its_originals_cells() -> None:
    a, b = right(0.8, 1), right(0.6, 2)
    names = ("word", "skill", "skill_low", "skill_high", "above", "below", "control")
    alone = trust_result(item_run("x", {"A": a}), item_run("y", {"A": b}))
    more = trust_result(
        item_run("x", {"A": a, "B": 0.99, "Copy of A": a}),
        item_run("y", {"A": b, "B": 0.99, "Copy of A": b}),
    )
    cells = of_metrics(more, *names)
    assert cells["A"] == cells["Copy of A"] == of_metrics(alone, *names)["A"]


def test_gaps_are_measured_on_the_items_that_are_there() -> None:
    """The controls of a metric that lacks a half of the battles are those of its half."""
    control = np.r_[np.ones(N // 2), np.zeros(N // 2)]  # right on the first half alone
    half = np.r_[right(0.9, 3, N // 2), np.full(N // 2, np.nan)]
    cell = cell_of(trust_result(item_run("a", {"A": half, "Length": control})), "A")
    assert (cell["above"], cell["below"]) == (0, 1)  # the control is always right there
    other = cell_of(trust_result(item_run("a", {"A": half, "Length": 1 - control})), "A")
    assert (other["skill"], other["rank"]) == (pytest.approx(0.9), None)


def test_robustness_counts_words_that_change() -> None:
    runs = [item_run("a", {"A": 0.66, "B": 0.62}), item_run("b", {"A": 0.99, "B": 0.3})]
    result = trust_result(*runs)
    now = of_metrics(result, "word")
    assert now == {"A": "shown", "B": "below"}
    changes = {one["change"]: (one["words"], one["of"]) for one in rows(result, "robustness")}
    alone = [of_metrics(trust_result(run), "word") for run in runs]
    names = ("without b", "without a", "minimal skill a fifth lower")
    expected = [sum(words[m] != now[m] for m in now) for words in (*alone, now)]
    assert [changes[name] for name in names] == [(n, 2) for n in expected]
    assert robustness({}, RULES, {}) == []


def test_robustness_counts_what_drawn_scenes_alone_would_say() -> None:
    drawn = item_run("a", {"A": 0.66, "B": 0.62}, dataset="scenes")
    runs = [drawn, item_run("b", {"A": 0.99, "B": 0.3, "C": 0.9})]
    result = trust_result(*runs)
    now, alone = (of_metrics(made, "word") for made in (result, trust_result(drawn)))
    assert alone == {"A": "shown", "B": "shown"}  # C has nothing on drawn scenes
    assert rows(result, "robustness")[-1] == {
        "change": "on drawn scenes alone, where they say a word",
        "words": sum(alone[m] != now[m] for m in alone),
        "of": 2,
    }


@pytest.mark.slow
def test_every_comparison_with_a_control_is_a_test_with_its_replicates(tmp_path: Path) -> None:
    """The value of the file is the result's; the interval is the run's own, of the same draws."""
    run = run_experiment(
        "sensitivity",
        metrics=["bleu", "rouge_l", "cider", "controls"],
        dataset="scenes",
        task__images=30,
        stats__replicates=200,
        report="none",
        out=tmp_path / "OUT",
    )
    result = run.result
    tests = {test.key: test for test in evidence_of(result)}
    assert {*tests, "mean_auc"} == set(result.controls)
    assert all(t.examples for t in tests.values() if t.source == "sensitivity.kinds")
    resampled = read_resampled(run.directory / "replicates.parquet")
    known = [r for r in resampled if not r.items_of]
    assert {r.measure for r in known} == {*tests, "mean_auc"}
    for row in known:
        estimate = result.metric(row.column).numbers[row.measure]
        assert row.value == estimate.value
        if estimate.low is not None:
            low, high = np.quantile(row.replicates, [0.025, 0.975])
            assert (low, high) == pytest.approx((estimate.low, estimate.high), abs=1e-6)
    for name in ("BLEU-4", "Bigram model", "Length"):
        assert {r.measure for r in known if r.column == name} == {*tests, "mean_auc"}


@pytest.mark.parametrize(
    ("overrides", "reads", "network"),
    [
        (["metrics=[cider]"], {"references"}, False),
        (["metrics=[length]"], set(), False),
        (["metrics=[bertscore]"], {"references"}, True),
        (["metrics=[clipscore]"], {"image"}, True),
        (["metrics=[refclipscore]"], {"image", "references"}, True),
        (["metrics=[tiger]"], {"image", "references"}, True),
        (["metrics=[scan]"], {"image"}, True),
        (["metrics=[faier]"], {"image", "references"}, True),
        (["metrics=[faier]", "metric.faier.variant=fier"], {"image"}, True),
        (["metrics=[faier]", "metric.faier.references=0"], {"image"}, True),
        (["metrics=[vifidel]"], {"image"}, False),
    ],
)
def test_metrics_say_what_they_read(overrides: list[str], reads: set[str], network: bool) -> None:
    config = compose_config(["experiment=trust", *overrides])
    metric = build(config.metrics[0], config)
    assert (metric.reads, metric.runs_network) == (reads, network)


@pytest.mark.parametrize(("n", "word"), [(11, "cannot tell"), (24, "shown")])
def test_few_systems_show_nothing_whatever_their_correlation(
    n: int, word: str, tmp_path: Path
) -> None:
    """The interval is Fisher's, of SciPy, averaged over both columns of people."""
    rng = np.random.default_rng(0)
    columns = pd.DataFrame({"system": [f"s{k}" for k in range(n)], "M1": rng.normal(size=n)})
    for name, noise in (("M2", 0.3), ("Good", 0.2)):
        columns[name] = columns["M1"] + rng.normal(0, noise, n)
    columns.to_csv(tmp_path / "t.csv", index=False)
    run = run_experiment(
        "systems",
        dataset="systems",
        dataset__file=str(tmp_path / "t.csv"),
        dataset__human=["M1", "M2"],
        stats__replicates=50,
        report="none",
        out=tmp_path / "OUT",
    )
    info = read_info(run.directory / "run.json")
    item = ItemRun("table", "systems", "", run.result, info)
    made = gathered("quick", read_uses(None), [item])
    (cell,) = rows(made, "cells", use="captioners", metric="Good")
    expected = [
        stats.pearsonr(columns[name], columns["Good"]).confidence_interval(0.95)
        for name in ("M1", "M2")
    ]
    assert (cell["word"], [cell["skill_low"], cell["skill_high"]]) == (
        word, pytest.approx(np.mean(expected, axis=0), abs=1e-9),
    )  # fmt: skip


def test_value_control_and_ceiling_of_few_values_are_one_statistic(tmp_path: Path) -> None:
    """By τ-c, as scipy has it; the ceiling is the mean rating's own."""
    rng = np.random.default_rng(1)
    human = rng.integers(1, 6, 240)
    words = rng.integers(1, 9, 240) + human
    binary = (human + rng.normal(0, 1.5, 240) > 3).astype(float)
    captions = [" ".join([f"number{k}", *(["dog"] * n)]) for k, n in enumerate(words)]
    given = [
        {"image_id": k // 2, "caption": caption, "human": int(h), "references": ["a dog"]}
        for k, (caption, h) in enumerate(zip(captions, human, strict=True))
    ]
    scored = [
        {"image_id": r["image_id"], "caption": r["caption"], "Binary": b}
        for r, b in zip(given, binary, strict=True)
    ]
    run = run_experiment(
        "judgments",
        metric=["scores", "length"],
        metric__scores__columns=["Binary"],
        metric__scores__file=str(write_lines(tmp_path / "scored.jsonl", scored)),
        dataset="table",
        dataset__file=str(write_lines(tmp_path / "table.jsonl", given)),
        dataset__statistic="kendall_tau_c",
        task__fitted=False,
        stats__replicates=20,
        report="none",
        out=tmp_path / "OUT",
    )
    uses = read_uses(None).model_copy(update={"blind": ("length",)})
    resampled = read_resampled(run.directory / "replicates.parquet")
    made = gathered("quick", uses, [ItemRun("t", "judgments", "", run.result, resampled=resampled)])
    (one,) = rows(made, "evidence", use="grade", metric="Binary")
    value, control = (stats.kendalltau(x, human, variant="c").statistic for x in (binary, words))
    perfect = stats.kendalltau(human, human, variant="c").statistic
    texts = [one[key] for key in ("control", "ceiling_is", "unit")]
    assert texts == ["Length", "the mean rating", "captions"]
    numbers = [one[key] for key in ("value", "control_value", "ceiling", "skill")]
    skill = (value - control) / (perfect - control)
    assert numbers == pytest.approx([value, control, perfect, skill], abs=1e-12)
    # a pair of captions an image: its images count, and nothing else
    (pairs,) = rows(made, "evidence", use="pairs", metric="Binary")
    assert (pairs["n"], pairs["unit"]) == (120, "pairs")


def test_a_search_is_evidence_by_its_images_and_the_rule_itself_is_left_out() -> None:
    """CHAIR decides in a search which captions are false."""
    use = next(use for use in read_uses(None).uses if use.id == "reward")
    assert set(use.circular) == {"chair", "gold_labels"}
    example = {
        "image_id": 1, "metric": "M", "human": "a", "score of the human caption": 0.1,
        "false": "b", "score of the false caption": 0.2,
    }  # fmt: skip
    result = MeasuredResult(
        experiment="attack", dataset="scenes", declared=(), metrics=(),
        extras=(Extra.of("examples", "", [example] * 4),),
    )  # fmt: skip
    (test,) = evidence_of(result)
    assert (test.key, test.constant, len(test.examples["M"])) == ("resists", 0.5, 3)
