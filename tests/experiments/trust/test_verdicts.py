"""The rules of experiment=trust, on battles of which each outcome is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from metaeval.experiments.trust.verdicts import Rules, Uses, robustness
from metaeval.results.measured import MeasuredResult
from metaeval.stats.resampling.bootstrap import bootstrap_counts
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
    expected = by_hand(given)
    assert (cell["skill"], cell["skill_low"], cell["skill_high"]) == pytest.approx(
        expected, abs=1e-6
    )
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
    assert (cell["control"], cell["above"], cell["tests"]) == ("Brevity", 1, 2)
    assert cell["skill"] == pytest.approx((0.3 + 0.05) / (0.5 + 0.25))


def as_control(run: Any, name: str) -> Any:
    """The run with a column as a control of the family of the first one."""
    assert run.result is not None
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
    assert cell_of(result, "A")["word"] == "cannot tell"
    assert [one["reason"] for one in rows(result, "silent")] == ([reason] if reason else [])
    (one,) = rows(result, "evidence", metric="A")
    assert one["outcome"] == "not counted"
    assert one["why_not"] == (reason or "A was chosen on experiment=arena")


def test_a_run_needs_replicates_and_every_blind_control() -> None:
    run = item_run("a", {"A": 0.9, "Brevity": 0.6})
    assert run.result is not None
    others = tuple(m for m in run.result.metrics if m.name != "Length")
    without = replace(run, result=run.result.model_copy(update={"metrics": others}))
    for changed, reason in (
        (replace(run, resampled=()), "no replicates.parquet"),
        (without, "no length"),
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


def test_a_baseline_is_no_bar_and_never_shown() -> None:
    result = trust_result(item_run("a", {"A": 0.6, "Copy": 0.9}))
    assert cell_of(result, "A")["control"] == "Length"
    copy = cell_of(result, "Copy")
    assert (copy["word"], copy["rank"]) == ("control", None)
    assert copy["skill"] == pytest.approx(0.8)


def test_ranks_are_of_metrics_with_the_same_tests() -> None:
    """C has one of two tests: it is compared there with the best and the worst of the others."""
    near = right(0.9, 1)
    close = near.copy()
    close[:1] = 1 - close[:1]
    first = {"A": near, "A'": close, "B": 0.7, "C": 0.8}
    runs = [item_run("x", first), item_run("y", {"A": near, "A'": close, "B": 0.6})]
    result = trust_result(*runs)
    ranks = {c["metric"]: c["rank"] for c in rows(result, "cells", use="pairs")}
    assert ranks == {"A": 1, "A'": 1, "B": 3, "C": None}
    others = {o["against"]: o["outcome"] for o in rows(result, "others", metric="C")}
    best = max(("A", "A'"), key=lambda name: (near if name == "A" else close).mean())
    assert others == {best: "lower", "B": "higher"}
    (use, untested) = result.extra("uses").records
    first = ", ".join(f"{name} 2/2" for name in sorted(["A", "A'"], key=lambda n: (n != best, n)))
    assert (use["rank 1"], use["tests"], use["judged by"]) == (first, 2, "people")
    assert (untested["rank 1"], untested["tests"]) == (None, 0)


def words_of(result: MeasuredResult, *but: str) -> list[tuple[Any, ...]]:
    """What no other metric may change, and no rerun."""
    names = ("metric", "word", "skill", "skill_low", "skill_high", "above", "below", "control")
    cells = rows(result, "cells", use="pairs")
    return [tuple(c[n] for n in names) for c in cells if c["metric"] not in but]


def test_a_metric_more_changes_no_other_and_a_copy_has_its_originals_cells() -> None:
    a, b = right(0.8, 1), right(0.6, 2)
    alone = trust_result(item_run("x", {"A": a}), item_run("y", {"A": b}))
    more = trust_result(
        item_run("x", {"A": a, "B": 0.99, "Copy of A": a}),
        item_run("y", {"A": b, "B": 0.99, "Copy of A": b}),
    )
    assert words_of(alone) == words_of(more, "B", "Copy of A")
    original, copy = (words_of(more, "B", other)[0][1:] for other in ("Copy of A", "A"))
    assert original == copy


def test_gaps_are_measured_on_the_items_that_are_there() -> None:
    """The controls of a metric that lacks a half of the battles are those of its half."""
    control = np.r_[np.ones(N // 2), np.zeros(N // 2)]  # right on the first half alone
    half = np.r_[right(0.9, 3, N // 2), np.full(N // 2, np.nan)]
    cell = cell_of(trust_result(item_run("a", {"A": half, "Length": control})), "A")
    assert (cell["above"], cell["below"]) == (0, 1)  # the control is always right there
    other = cell_of(trust_result(item_run("a", {"A": half, "Length": 1 - control})), "A")
    assert other["skill"] == pytest.approx(0.9)
    assert other["rank"] is None


@pytest.mark.parametrize("k", [1, 3])
def test_metrics_without_signal_are_rarely_shown(k: int) -> None:
    """At most 5 % of two hundred; `python -m research.trust_level` simulates more."""
    rng = np.random.default_rng(0)
    shown = 0
    for _ in range(10):
        runs = []
        for item in range(k):
            control = rng.random(N) < 0.6
            columns = {"Length": control.astype(float)}
            for name in range(20):
                same = rng.random(N) < 0.5
                columns[str(name)] = np.where(same, control, rng.random(N) < 0.6).astype(float)
            runs.append(item_run(str(item), columns))
        shown += sum(c["word"] == "shown" for c in rows(trust_result(*runs), "cells", use="pairs"))
    assert shown <= 0.05 * 200


def test_robustness_counts_words_that_change() -> None:
    runs = [item_run("a", {"A": 0.66, "B": 0.62}), item_run("b", {"A": 0.99, "B": 0.3})]
    result = trust_result(*runs)
    now = {c["metric"]: c["word"] for c in rows(result, "cells", use="pairs")}
    assert now == {"A": "shown", "B": "below"}
    found = {one["change"]: (one["words"], one["of"]) for one in rows(result, "robustness")}
    without = {
        item: {c["metric"]: c["word"] for c in rows(trust_result(run), "cells", use="pairs")}
        for item, run in (("b", runs[0]), ("a", runs[1]))
    }
    for item, words in without.items():
        assert found[f"without {item}"] == (sum(words[m] != now[m] for m in now), 2)
    assert found["minimal skill a fifth lower"] == (0, 2)
    assert robustness({}, RULES, {}) == []


def test_robustness_counts_what_drawn_scenes_alone_would_say() -> None:
    drawn = item_run("a", {"A": 0.66, "B": 0.62}, dataset="scenes")
    runs = [drawn, item_run("b", {"A": 0.99, "B": 0.3, "C": 0.9})]
    cells = rows(trust_result(*runs), "cells", use="pairs")
    now = {c["metric"]: c["word"] for c in cells}
    alone = {c["metric"]: c["word"] for c in rows(trust_result(drawn), "cells", use="pairs")}
    assert alone == {"A": "shown", "B": "shown"}  # C has nothing on drawn scenes
    assert rows(trust_result(*runs), "robustness")[-1] == {
        "change": "on drawn scenes alone, where they say a word",
        "words": sum(alone[m] != now[m] for m in alone),
        "of": 2,
    }


def test_a_seed_changes_few_words() -> None:
    """Of fifty metrics at most 2 %, and none from "shown" to "below"."""
    rng = np.random.default_rng(1)
    columns = {str(k): right(float(rng.uniform(0.4, 0.9)), k + 1) for k in range(50)}
    first, second = (
        {c["metric"]: c["word"] for c in rows(trust_result(run), "cells", use="pairs")}
        for run in (item_run("a", columns, seed=seed) for seed in (0, 1))
    )
    changed = [(first[name], second[name]) for name in first if first[name] != second[name]]
    assert len(changed) <= 0.02 * 50
    assert not any(set(pair) == {"shown", "below"} for pair in changed)


def test_replicates_are_those_of_the_bootstrap() -> None:
    """What a reader of replicates.parquet finds: the mean over the drawn images."""
    a = right(0.7, 5)
    run = item_run("a", {"A": a})
    (row,) = [r for r in run.resampled if r.column == "A"]
    counts = bootstrap_counts(N, 500, 0)
    assert row.replicates == pytest.approx((counts * a).sum(axis=1) / N, abs=1e-12)
    assert (row.value, row.n_units, row.n) == (0.7, N, N)


def test_rules_are_checked() -> None:
    with pytest.raises(ValueError, match="minimal_skill"):
        Rules(**{**RULES.model_dump(), "minimal_skill": 1.5})
