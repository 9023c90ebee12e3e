"""The typed results of judgments and forced choice, against files of schema 1 from the same runs.

`schema_1/*.json.gz` were written by the last version that wrote dictionaries. Every number is equal
to the last bit: rule-based metrics and controls count and add in a fixed order.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metaeval.experiments.forced_choice.statistics import measure_of
from metaeval.results.base import Estimate
from metaeval.results.comparison import AgainstControl, Comparisons
from metaeval.results.measured import Measured, MeasuredResult
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
    comparisons: Comparisons,
    before: Mapping[str, Any],
    without: str | None = None,
    tests: Sequence[str] = ("permutation", "bootstrap", "williams"),
) -> None:
    assert len(comparisons.pairs) == len(before["pairs"])
    for pair, old_pair in zip(comparisons.pairs, before["pairs"], strict=True):
        assert (pair.a, pair.b) == (old_pair["a"], old_pair["b"])
        if without in (pair.a, pair.b):
            continue
        assert pair.difference.value == old_pair["difference"]
        if "bootstrap" in tests:
            same_estimate(pair.difference, old_pair["difference"], old_pair["bootstrap"]["ci"])
        for test in (test for test in pair.tests if test.method in tests):
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


def same_statistics(numbers: Measured, record: Mapping[str, Any]) -> None:
    for field in ("n", "n_nan", "n_nan_without_references", "ties"):
        assert numbers.facts[field] == record[field]
    for dimension, agreement in record["human"].items():
        of = {
            key.removesuffix(f"_{dimension}"): estimate
            for key, estimate in numbers.values.items()
            if key.endswith(f"_{dimension}")
        }
        same_agreement(of, agreement)


def same_agreement(of: Mapping[str, Estimate], before: Mapping[str, Any]) -> None:
    for name in ("pearson", "spearman", "kendall_tau_b", "kendall_tau_c"):
        same_estimate(of[name], before[name], before[f"{name}_ci"])
        assert of[name].n == before["n"]
    accuracy = before["accuracy"]
    same_estimate(of["accuracy"], accuracy["value"], accuracy["ci"])
    assert of["accuracy"].n == accuracy["n_pairs"]
    for field in ("epsilon", "uncalibrated", "tied"):
        assert of[field].value == accuracy[field]
    for name in ("pearson", "kendall_tau_b", "accuracy"):
        system = before["system"]
        same_estimate(of[f"system_{name}"], system[name], system[f"{name}_ci"])
    for name, view in before["views"].items():
        assert (of[f"pearson_{name}"].n, of[f"pearson_{name}"].value) == (
            view["n"],
            view["pearson"],
        )
        tau = of[f"kendall_tau_b_{name}"]
        same_estimate(tau, view["kendall_tau_b"], view["kendall_tau_b_ci"])
    common = of.get("kendall_tau_b_common")
    assert (common and {"n": common.n, "value": common.value}) == before.get("common")


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
    assert isinstance(result, MeasuredResult)
    before = old("judgments")
    settings = result.settings
    assert before["settings"].items() <= settings.items()
    assert before["protocol"] == {name: settings.get(name, "") for name in before["protocol"]} | {
        "name": result.facts["Protocol"]
    }
    # an image with several sets of references was several documents, which changes CIDEr
    counts = dict(result.extra("counts").rows)
    assert counts["Judged captions"] == before["facts"]["judged"]
    assert counts["Documents of CIDEr's idf"] == 12
    assert len(result.metrics) == len(before["metrics"])
    means = result.extra("system_means").frame()
    for metric, record in zip(result.metrics, before["metrics"], strict=True):
        if metric.name == "CIDEr":
            continue
        same_column(metric, record)
        same_statistics(metric.numbers, record)
        of_metric = means[means["metric"] == metric.name]
        for row in of_metric.itertuples():
            mean = record["human"][row.dimension]["system"]["means"][row.system]
            assert (row.score, row.human) == (mean["score"], mean["human"])
    for dimension in ("human", "other"):
        key = f"kendall_tau_b_{dimension}"
        same_comparisons(result.comparisons[key], before["differences"][dimension], "CIDEr")
        control = before["controls"][dimension]
        against = result.controls[key]
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
        # resampled was the mean over pairs, and is that over categories
        same_comparisons(
            result.comparisons[mean], before["differences"][str(n)], tests=["permutation"]
        )
        for group, against in before["controls"][str(n)].items():
            same_control(result.controls[measure_of(n, group).key], against)
