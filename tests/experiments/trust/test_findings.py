"""What experiments' results say for experiment=trust, and what metrics say of themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from metaeval.config import build, compose_config
from metaeval.experiments.trust.findings import SOURCES, evidence_of
from metaeval.experiments.trust.result import ItemRun, gathered
from metaeval.experiments.trust.verdicts import read_uses
from metaeval.results.files import read_info
from metaeval.results.measured import Extra, MeasuredResult
from metaeval.results.resampled import read_resampled
from tests.experiments.trust.trust_cases import rows
from tests.forked import run_experiment
from tests.shared import write_lines


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


def test_every_source_that_a_use_asks_for_is_one_that_a_run_gives() -> None:
    asked = {source for use in read_uses(None).uses for source in use.evidence}
    assert asked <= set(SOURCES)


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
