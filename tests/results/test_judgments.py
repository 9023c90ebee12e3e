"""The typed results of judgments and forced choice, against files of schema 1 from the same runs.

`schema_1/*.json.gz` were written by the last version that wrote dictionaries. Every number is equal
to the last bit: rule-based metrics and controls count and add in a fixed order.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metaeval.experiments.forced_choice.statistics import measure_of
from metaeval.results.base import Estimate
from metaeval.results.comparison import AgainstControl, Comparisons
from metaeval.results.judgments import HumanAgreement, JudgmentsResult, JudgmentStatistics
from metaeval.results.measured import MeasuredResult
from tests.data.judgments.test_judgments import pascal50s
from tests.experiments.judgments.test_judgments import own_table, run_any


def old(name: str) -> dict[str, Any]:
    path = Path(__file__).parent / "schema_1" / f"{name}.json.gz"
    data: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return data


def same_estimate(estimate: Estimate, value: float | None, ends: list[float | None]) -> None:
    assert estimate.value == value
    assert [estimate.low, estimate.high] == ends


def same_comparisons(
    comparisons: Comparisons, before: Mapping[str, Any], without: str | None = None
) -> None:
    assert len(comparisons.pairs) == len(before["pairs"])
    for pair, old_pair in zip(comparisons.pairs, before["pairs"], strict=True):
        assert (pair.a, pair.b) == (old_pair["a"], old_pair["b"])
        if without in (pair.a, pair.b):
            continue
        same_estimate(pair.difference, old_pair["difference"], old_pair["bootstrap"]["ci"])
        for test in pair.tests:
            of_test = old_pair[test.method]
            assert test.p == of_test["p"]
            if without is None:  # the correction is over all metrics
                assert test.p_adjusted == of_test["p_holm"]


def same_control(against: AgainstControl, before: Mapping[str, Any]) -> None:
    assert (against.control, against.control_value) == (before["control"], before["value"])
    assert (against.best, against.best_value) == (before["best"], before["best_value"])
    assert list(against.above) == before["above"]
    # "undecidable" is new: with so few replicates nothing could have been significant
    assert against.shows in (before["shows"], "undecidable")


def same_column(metric: Any, record: Mapping[str, Any]) -> None:
    assert metric.name == record["metric"]
    assert metric.signature == record["signature"]
    assert (metric.status, metric.reason) == (record["status"], record["reason"])


def same_statistics(numbers: JudgmentStatistics, record: Mapping[str, Any]) -> None:
    for field in ("n", "n_nan", "n_nan_without_references", "ties"):
        assert getattr(numbers, field) == record[field]
    for dimension, agreement in numbers.human.items():
        same_agreement(agreement, record["human"][dimension])


def same_agreement(agreement: HumanAgreement, before: Mapping[str, Any]) -> None:
    assert agreement.n == before["n"]
    for name in ("pearson", "spearman", "kendall_tau_b", "kendall_tau_c"):
        same_estimate(getattr(agreement, name), before[name], before[f"{name}_ci"])
    accuracy = before["accuracy"]
    same_estimate(agreement.accuracy.accuracy, accuracy["value"], accuracy["ci"])
    for field in ("epsilon", "uncalibrated", "tied", "n_pairs", "n_images"):
        assert getattr(agreement.accuracy, field) == accuracy[field]
    assert agreement.system is not None
    for name in ("pearson", "kendall_tau_b", "accuracy"):
        system = before["system"]
        same_estimate(getattr(agreement.system, name), system[name], system[f"{name}_ci"])
    for name, mean in agreement.system.means.items():
        assert mean.model_dump() == before["system"]["means"][name]
    for name, view in agreement.views.items():
        old_view = before["views"][name]
        assert (view.n, view.pearson.value) == (old_view["n"], old_view["pearson"])
        same_estimate(view.kendall_tau_b, old_view["kendall_tau_b"], old_view["kendall_tau_b_ci"])
    assert (agreement.common and agreement.common.model_dump()) == before.get("common")


def test_ratings_are_equal_to_the_last_bit(tmp_path: Path) -> None:
    path = own_table(tmp_path, 12)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for k, record in enumerate(records):
        if record["system"] == "four":
            record["system"] = "Human"
        record["other"] = (7 * k) % 5
        record["candidate"] += " and" * (k % 3)
    for record in records[:3]:
        record["references"] = []
    path.write_text("\n".join(map(json.dumps, records)))
    result = run_any(
        tmp_path, "dataset=table", f"dataset.file={path}",
        "metrics=[bleu,rouge_l,cider,length,brevity]", "dataset.human=[human,other]",
    )  # fmt: skip
    assert isinstance(result, JudgmentsResult)
    before = old("judgments")
    assert result.settings.model_dump() == {**before["settings"], "fitted": False}
    assert result.protocol.model_dump() == before["protocol"]
    words = {"candidate_words", "reference_words"}  # which are new
    # an image with several sets of references was several documents, which changes CIDEr
    facts = {**before["facts"], "documents": 12}
    assert result.facts.model_dump(exclude=words) == facts
    assert list(result.systems) == before["systems"]
    assert dict(result.views) == before["views"]
    assert len(result.metrics) == len(before["metrics"])
    for metric, record in zip(result.metrics, before["metrics"], strict=True):
        if metric.name == "CIDEr":
            continue
        same_column(metric, record)
        same_statistics(metric.numbers, record)
    for dimension in result.dimensions:
        same_comparisons(result.differences[dimension], before["differences"][dimension], "CIDEr")
        against = result.controls[dimension]
        assert against is not None
        control = before["controls"][dimension]
        assert (against.control, against.control_value) == (control["control"], control["value"])


def test_forced_choice_is_equal_to_the_last_bit(tmp_path: Path) -> None:
    pascal50s(tmp_path, "cells")
    result = run_any(
        tmp_path, "dataset=pascal50s", f"dataset.root={tmp_path}", "dataset.n_references=[2,48]",
        "dataset.draws=2", "metrics=[rouge_l,cider,bleu,length]", experiment="forced_choice",
    )  # fmt: skip
    assert isinstance(result, MeasuredResult)
    before = old("forced_choice")
    agreement = dict(result.extra("label_agreement").rows)
    assert agreement == before["label_agreement"]
    for metric, record in zip(result.metrics, before["metrics"], strict=True):
        same_column(metric, record)
        for choice in record["choice"]:
            for group, accuracy in choice["accuracy"].items():
                estimate = metric.numbers[measure_of(choice["n_references"], group).key]
                same_estimate(estimate, accuracy["value"], accuracy["ci"])
                assert estimate.n == accuracy["n"]
    for n in (2, 48):
        mean = measure_of(n, "mean").key
        same_comparisons(result.comparisons[mean], before["differences"][str(n)])
        for group, against in before["controls"][str(n)].items():
            same_control(result.controls[measure_of(n, group).key], against)
