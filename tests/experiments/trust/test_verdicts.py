"""The rules of experiment=trust, on battles of which each outcome is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from metaeval.experiments.trust.verdicts import Uses, robustness
from metaeval.results.measured import MeasuredResult
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
    others = tuple(m for m in run.result.metrics if m.name != "Length")
    without = replace(run, result=run.result.model_copy(update={"metrics": others}))
    for changed, reason in (
        (replace(run, resampled=()), "no replicates.parquet"),
        (without, "no scores of length"),
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


@pytest.mark.parametrize("k", [1, 3])
def test_metrics_without_signal_are_rarely_shown(k: int) -> None:
    """At most 5 % of two hundred; `python -m research.trust_level` simulates more."""
    rng = np.random.default_rng(0)

    def columns() -> dict[str, Floats]:
        control, others = rng.random(N) < 0.6, rng.random((20, N)) < 0.6
        made = np.vstack([control, np.where(rng.random((20, N)) < 0.5, control, others)])
        return dict(zip(("Length", *map(str, range(20))), made.astype(float), strict=True))

    words: list[str] = []
    for _ in range(10):
        runs = [item_run(str(item), columns()) for item in range(k)]
        words += of_metrics(trust_result(*runs), "word").values()
    assert words.count("shown") <= 0.05 * 200


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


def test_a_seed_changes_few_words() -> None:
    """Of fifty metrics at most 2 %, and none from "shown" to "below"."""
    rng = np.random.default_rng(1)
    columns = {str(k): right(float(rng.uniform(0.4, 0.9)), k + 1) for k in range(50)}
    first, second = (
        of_metrics(trust_result(item_run("a", columns, seed=seed)), "word") for seed in (0, 1)
    )
    changed = [(first[name], second[name]) for name in first if first[name] != second[name]]
    assert len(changed) <= 0.02 * 50
    assert not any(set(pair) == {"shown", "below"} for pair in changed)
