"""What experiments' results say for experiment=trust, and what metrics say of themselves."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from metaeval.config import build, compose_config
from metaeval.experiments.trust.findings import between_metrics, findings
from metaeval.experiments.trust.result import ItemRun, gathered
from metaeval.results.comparison import Comparison
from metaeval.results.measured import Extra, MeasuredResult
from tests.experiments.trust.trust_cases import RULES
from tests.forked import run_experiment


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> MeasuredResult:
    out = tmp_path_factory.mktemp("sensitivity")
    run = run_experiment(
        "sensitivity",
        metrics=["bleu", "rouge_l", "cider", "controls"],
        dataset="scenes",
        task__images=60,
        stats__replicates=200,
        report="none",
        out=out,
    )
    return run.result


@pytest.mark.slow
def test_every_finding_is_the_experiments_own_paired_comparison(result: MeasuredResult) -> None:
    found = {(f.source, f.part, f.metric): f for f in findings(result)}
    for key, against in result.controls.items():
        part = key.removeprefix("kind_")
        source = "sensitivity.kinds"
        if key == "hard_positives":
            source, part = "sensitivity.rewrites", ""
        for compared in against.comparisons:
            one = found.get((source, part, compared.a))
            if one is not None and compared.test is not None:
                assert one.difference == compared.difference
                assert one.control == compared.b
                assert one.of_control == result.metric(compared.b).numbers[key]
    assert {"CIDEr", "ROUGE-L", "BLEU-4"} == {metric for _, _, metric in found}
    assert all(f.examples for f in found.values() if f.source == "sensitivity.kinds")


def test_the_best_known_metric_is_the_highest_of_the_others(result: MeasuredResult) -> None:
    run = ItemRun("scenes", "sensitivity", "", result)
    made = gathered("quick", (), RULES, [run], ["rouge_l"])
    assert made.metric("CIDEr").citation == ("vedantam2015cider",)  # as in the run it comes from
    (against,) = made.extra("known").records
    harm = {m.name: m.numbers.value("mean_auc") or 0 for m in result.metrics if m.statistics}
    known = max(("BLEU-4", "CIDEr"), key=harm.__getitem__)
    assert (against["metric"], against["best known"]) == ("ROUGE-L", known)
    assert against["difference"] == pytest.approx(harm["ROUGE-L"] - harm[known], abs=1e-12)
    (tested,) = between_metrics(result)
    pair = tested.pairs.between("ROUGE-L", known)
    assert isinstance(pair, Comparison)
    significant = pair.is_significant(tested.pairs.alpha)
    assert (against["outcome"] == "not separated") == (not significant)
    assert gathered("quick", (), RULES, [run]).extra("known").rows == ()


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
    assert metric.reads == reads
    assert metric.runs_network == network


@pytest.mark.parametrize(("systems", "counts"), [(3, False), (4, True)])
def test_three_systems_in_order_show_nothing(systems: int, counts: bool, tmp_path: Path) -> None:
    """Six orders of three systems exist: a random one is right more often than one time in 20."""
    rng = np.random.default_rng(0)
    lines = [
        {
            "image_id": image,
            "caption": " ".join(["dog"] * (2 + system)),
            "system": f"s{system}",
            "human": float(system + rng.normal(0, 0.1)),
            "references": ["a dog"],
        }
        for image in range(40)
        for system in range(systems)
    ]
    table = tmp_path / "table.jsonl"
    table.write_text("\n".join(map(json.dumps, lines)))
    run = run_experiment(
        "judgments",
        metrics=["rouge_l", "controls"],
        dataset="table",
        dataset__file=str(table),
        stats__replicates=100,
        report="none",
        out=tmp_path / "OUT",
    )
    found = [f for f in findings(run.result) if f.source == "judgments.systems"]
    assert found
    assert all((f.why_not is None) == counts for f in found)
    if not counts:
        assert {f.why_not for f in found} == {
            "a random order of 3 systems is right with probability 0.17"
        }


def attacked(
    name: str, fluent: float, copied: float, *, control: bool = False
) -> dict[str, object]:
    def rate(value: float) -> dict[str, object]:
        low, high = max(value - 0.05, 0.0), min(value + 0.05, 1.0)
        return {"value": value, "low": low, "high": high, "n": 100}

    statistics = {
        "values": {"fooled_fluent": rate(fluent), "fooled_references_copied": rate(copied)},
        "facts": {"search": "fluent"},
    }
    column = {"name": name, "control": control}
    return {"column": column, "family": name.lower(), "statistics": statistics}


def test_a_reward_resists_both_searches_and_more_than_every_control() -> None:
    heads = ("score", "images fooled", "images fooled_low", "images fooled_high", "n")
    controls = [("length", 0.8, 0.75, 0.85, 100), ("exact match", 0.0, 0.0, 0.04, 100)]
    result = MeasuredResult.model_validate(
        {
            "experiment": "attack",
            "dataset": "scenes",
            "declared": [],
            "extras": [
                Extra(name="controls", title="", columns=heads, rows=controls),
                Extra.of("examples", "", []),
            ],
            "metrics": [
                attacked("Copier", 0.4, 1.0),
                attacked("Strong", 0.1, 0.1),
                attacked("Gold label F1", 0.25, 0.3, control=True),
                attacked("Brevity", 0.9, 0.95, control=True),
            ],
        }
    )
    found = {(f.metric, f.part): f for f in findings(result)}
    assert set(found) == {
        (m, part) for m in ("Copier", "Strong") for part in ("fluent", "references copied")
    }
    assert {f.control for f in found.values()} == {"Gold label F1"}
    # of all false captions found, 60 % do not fool the copier; the control resists in 75 %
    fluent = found["Copier", "fluent"]
    assert fluent.value.value == pytest.approx(0.6)
    assert fluent.difference.value == pytest.approx(-0.15)
    assert found["Copier", "references copied"].value.value == pytest.approx(0.0)
    assert found["Strong", "fluent"].difference.value == pytest.approx(0.15)
    only_blind = result.model_copy(update={"metrics": result.metrics[:2]})
    assert {(f.part, f.control) for f in findings(only_blind)} == {("fluent", "length")}


def test_value_control_and_difference_of_few_values_are_one_statistic(tmp_path: Path) -> None:
    """By τ-c, as scipy has it; the value was τ-b, the control that minus a difference of τ-c."""
    rng = np.random.default_rng(1)
    human = rng.integers(1, 6, 120)
    words = rng.integers(1, 9, 120) + human
    binary = (human + rng.normal(0, 1.5, 120) > 3).astype(float)
    captions = [" ".join([f"number{k}", *(["dog"] * n)]) for k, n in enumerate(words)]
    rows = [
        {"image_id": k // 2, "caption": caption, "human": int(h), "references": ["a dog"]}
        for k, (caption, h) in enumerate(zip(captions, human, strict=True))
    ]
    scored = [
        {"image_id": r["image_id"], "caption": r["caption"], "Binary": b}
        for r, b in zip(rows, binary, strict=True)
    ]
    for name, records in (("table", rows), ("scored", scored)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, records)))
    result = run_experiment(
        "judgments",
        metric=["scores", "length"],
        metric__scores__columns=["Binary"],
        metric__scores__file=str(tmp_path / "scored.jsonl"),
        dataset="table",
        dataset__file=str(tmp_path / "table.jsonl"),
        dataset__statistic="kendall_tau_c",
        task__fitted=False,
        stats__replicates=20,
        report="none",
        out=tmp_path / "OUT",
    ).result
    (one,) = [f for f in findings(result) if f.source == "judgments.correlation"]
    value, control = (stats.kendalltau(x, human, variant="c").statistic for x in (binary, words))
    assert (one.metric, one.control, one.ceiling_is) == ("Binary", "Length", "the mean rating")
    perfect = stats.kendalltau(human, human, variant="c").statistic
    assert one.ceiling == pytest.approx(perfect, abs=1e-12)
    assert one.value.value == pytest.approx(value, abs=1e-12)
    assert one.control_value == pytest.approx(control, abs=1e-12)
    assert abs(stats.kendalltau(binary, human).statistic - value) > 0.02  # τ-b is another number
