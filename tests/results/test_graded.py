"""Typed results of graded runs against the files that the version before types wrote.

`schema_1/` has statistics.json of small runs of rule-based metrics on drawn scenes, written by the
last version with schema 1. The same runs give the same numbers now, to the last bit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from metaeval.config import compose_config
from metaeval.errors import InputError
from metaeval.experiments.run import run_configured
from metaeval.experiments.sample_size.task import IN_ORDER, PREDICTED, SIGNIFICANT
from metaeval.results.base import Estimate
from metaeval.results.files import read_result
from metaeval.results.graded import MEASURES, leading_column, rows_of
from metaeval.results.measured import MeasuredResult
from metaeval.results.metric import MetricResult
from metaeval.runs import files
from tests.results.conftest import read_former

SCHEMA_1 = Path(__file__).parent / "schema_1"
RUN = [
    "dataset=scenes", "dataset.limit=12",
    "metrics=[bleu,rouge_l,length,random_score,bigram_model,longest_copy]",
    "stats.replicates=40", "report=none", "cache.enabled=false",
]  # fmt: skip
GRADED = [
    "experiment=graded", "corruption=replace", "corruption.rates=[0.25,0.5,0.75]",
    "task.floor=true", "corruption.seeds=2",
]  # fmt: skip
ESTIMATES = (
    "rank_order_rho", "rank_order_rho_within", "spearman_rho", "kendall_tau_b",
    "pairwise_accuracy", "monotone_rate", "inversion_rate",
)  # fmt: skip
FACTS = ("n", "n_nan", "rank_order_rho_tie_mean", "rank_order_rho_tie_std", "pairwise_ties")


def before(name: str) -> dict[str, Any]:
    """The file that schema 1 had."""
    data: dict[str, Any] = read_former(SCHEMA_1 / f"{name}.json.gz")
    return data


def run(out: Path, *overrides: str) -> Any:
    """The result of a run, read back from its file."""
    run_configured(compose_config([*overrides, *RUN]), out)
    return read_result(out / files.STATISTICS)


def estimate(record: dict[str, Any], name: str) -> Estimate:
    low, high = record.get(f"{name}_ci") or (None, None)
    return Estimate(value=record[name], low=low, high=high)


def same(row: Mapping[str, Any], name: str, old: Estimate) -> None:
    """The row of an extra has this estimate under this name."""
    assert (row[name], row[f"{name}_low"], row[f"{name}_high"]) == (old.value, old.low, old.high)


def check_selected(row: Mapping[str, Any] | None, old: dict[str, Any] | None) -> None:
    """A row of "applied", "degrees" or "groups"."""
    assert (row is None) == (not old)
    if row is not None and old:
        assert row["n_images"] == old["n_images"]
        assert row["rank_order_rho"] == old["rank_order_rho"]
        for name in ("rank_order_rho_within", "pairwise_accuracy", "monotone_rate"):
            same(row, name, estimate(old, name))


def check_column(metric: MetricResult[Any], record: dict[str, Any]) -> None:
    assert (metric.name, metric.family, metric.status, metric.signature) == (
        record["metric"], record["family"], record["status"], record["signature"],
    )  # fmt: skip


def check_graded(result: MeasuredResult, old: dict[str, Any]) -> None:
    """Every number of the old file."""
    assert (result.facts["Images"], leading_column(result.metrics)) == (
        old["n_images"],
        old["leading_column"],
    )
    assert old["settings"].items() <= result.model_dump(mode="json")["settings"].items()
    sets = result.extra("sets").records
    assert [{"name": row.pop("set"), **row} for row in sets] == old["sets"]
    assert len(result.metrics) == len(old["metrics"])
    by_set = result.extra("scores_by_set").records
    applied, degrees, seeds = (rows_of(result, name) for name in ("applied", "degrees", "seeds"))
    worst = result.extra("worst_images").frame()
    for metric, record in zip(result.metrics, old["metrics"], strict=True):
        check_column(metric, record)
        name, numbers, facts = metric.name, metric.numbers, metric.numbers.facts
        for key in ESTIMATES:
            assert numbers[key] == estimate(record, key), (name, key)
        assert numbers.value("tie_fraction") == record["tie_fraction"]
        for key in FACTS:
            assert facts[key] == record[key], (name, key)
        bounds = [facts["rank_order_rho_lowest"], facts["rank_order_rho_highest"]]
        assert bounds == record["rank_order_rho_bounds"]
        for row in by_set:
            if row["metric"] == name:
                of_set = record["sets"][row["set"]]
                quantiles = {q: row[f"quantile_{q}"] for q in of_set["quantiles"]}
                plain = {key: row[key] for key in ("level", "n", "mean", "std")}
                assert {**plain, "quantiles": quantiles} == of_set
        for part, value in record["variance"].items():
            assert facts[f"variance_{part}"] == value
        steps = rows_of(result, "steps")[name]
        for step in record["adjacent_auc"]:
            old_step = Estimate(value=step["auc"], low=step["ci"][0], high=step["ci"][1])
            same(steps, f"{step['lower']} → {step['upper']}", old_step)
        for key in ("least_seen_step", "clearest_step"):
            step = record[key]
            assert facts[key] == (step and f"{step['lower']} → {step['upper']}")
        check_selected(applied.get(name), record["every_level_applied"])
        check_selected(degrees.get(name), record["without_floor"])
        check_seeds(seeds.get(name), record["seeds"])
        assert worst[name].dropna().tolist() == record["worst_images"]
        check_controls(result, name, record)
    check_differences(result, old)


def check_seeds(row: Mapping[str, Any] | None, old: dict[str, Any] | None) -> None:
    assert (row is None) == (old is None)
    if row is not None and old is not None:
        assert row["n"] == old["n"]
        for measure in MEASURES:
            of_measure = {key: row[f"{measure}_{key}"] for key in ("mean", "sd")}
            assert of_measure == old[measure]
        components = {key: row[f"sd_{key}"] for key in ("image", "seed", "ties")}
        assert components == old["components"]


def check_controls(result: MeasuredResult, name: str, record: dict[str, Any]) -> None:
    for measure in MEASURES:
        pairs = {pair.a: pair for pair in result.controls[measure].comparisons}
        against = (record.get("against_control") or {}).get(measure)
        assert (name in pairs) == (against is not None)
        if against is not None:
            pair = pairs[name]
            assert (pair.b, pair.difference.value) == (
                against["control"],
                against["difference"],
            )
            assert [pair.difference.low, pair.difference.high] == against["ci"]
            assert pair.test is not None
            assert pair.test.p_adjusted == against["p_holm"]
            assert (name in result.controls[measure].above) == against["beats"]


def check_differences(result: MeasuredResult, old: dict[str, Any]) -> None:
    for measure in MEASURES:
        pairs = old["differences"]["measures"][measure]["pairs"]
        made = result.comparisons[measure]
        assert made.alpha == old["differences"]["alpha"]
        assert len(made.pairs) == len(pairs)
        for new, pair in zip(made.pairs, pairs, strict=True):
            assert new.test is not None
            assert new.power is not None
            assert (new.a, new.b, new.difference.value) == (
                pair["a"],
                pair["b"],
                pair["difference"],
            )
            assert [new.difference.low, new.difference.high] == pair["bootstrap"]["ci"]
            assert (new.test.p, new.test.p_adjusted) == (
                pair["bootstrap"]["p"],
                pair["bootstrap"]["p_holm"],
            )
            assert new.power.model_dump() == {
                key: pair[key] for key in ("effect", "detectable", "images_needed")
            }


def check_curve(row: Mapping[str, Any], points: list[dict[str, Any]], old: dict[str, Any]) -> None:
    """The rows of a metric in "dose" and "dose_points"."""
    for name, of_name in (("change", points), ("rho", points[1:]), ("within", points[1:])):
        assert [point[name] for point in of_name] == old[name]
        ends = [[point[f"{name}_ci_low"], point[f"{name}_ci_high"]] for point in of_name]
        assert ends == old[f"{name}_ci"]
    assert [point["change_seed_sd"] for point in points] == old["seed_sd"]
    assert [point["rho_seed_sd"] for point in points[1:]] == old["rho_seed_sd"]
    assert (row["images"], row["seeds"], row["trend_p"]) == (
        old["n"],
        old["n_seeds"],
        old["trend_p"],
    )
    assert (row["steps"] == "worse") == old["falls_throughout"]
    assert row["steps"].startswith("better") == (bool(old["rises"]) and row["steps"] != "worse")
    same(row, "change_to_floor", estimate(old, "floor"))
    half = old["half_effect"]
    assert (row["half_effect"], row["no_half_effect"]) == (half["dose"], half["why"])
    assert [row["half_effect_low"], row["half_effect_high"]] == half["ci"]


@pytest.mark.usefixtures("former_bleu")
def test_a_graded_run_has_the_numbers_of_schema_1(tmp_path: Path) -> None:
    result, old = run(tmp_path, *GRADED), before("graded")
    check_graded(result, old)
    points, dose = result.extra("dose_points").records, rows_of(result, "dose")
    assert dose.keys() == old["dose"]["metrics"].keys()
    for name, curve in old["dose"]["metrics"].items():
        of_metric = [point for point in points if point["metric"] == name]
        assert [point["dose"] for point in of_metric] == old["dose"]["doses"]
        assert [point["realised"] for point in of_metric] == old["dose"]["realised"]
        check_curve(dose[name], of_metric, curve)
    groups = {
        (row["by"], row["label"], row["metric"]): row for row in result.extra("groups").records
    }
    for former in old["groups"]:
        for name, of_metric in former["metrics"].items():
            check_selected(groups.pop((former["by"], former["label"], name)), of_metric)
    assert not groups
    table = result.table().set_index("metric")
    rho = result.metric("BLEU-2").numbers.value("rank_order_rho")
    assert table.loc["BLEU-2", "rank_order_rho"] == rho


@pytest.mark.usefixtures("former_bleu")
def test_a_run_by_references_has_the_numbers_of_schema_1(tmp_path: Path) -> None:
    result, old = run(tmp_path, "experiment=references"), before("references")
    assert isinstance(result, MeasuredResult)
    assert list(result.settings["n_references"]) == old["n_references"]
    for metric, record in zip(result.metrics, old["metrics"], strict=True):
        check_column(metric, record)
        for former in record["by_references"]:
            for name in MEASURES:
                value = metric.numbers.values.get(f"{name}_{former['n_references']}")
                assert value == (estimate(former, name) if name in former else None)


@pytest.mark.usefixtures("former_bleu")
def test_a_run_by_sample_size_has_the_numbers_of_schema_1(tmp_path: Path) -> None:
    overrides = ("experiment=sample_size", "task.draws=20")
    result, old = run(tmp_path, *overrides), before("sample_size")
    check_graded(result, old)
    former = old["sample_size"]
    settings = ("draws", "stable", "test_power", "test_alpha")
    assert [result.settings[name] for name in settings] == [
        former[name] for name in ("draws", "stable", "power", "alpha")
    ]
    assert result.facts["Scored by every metric"] == former["n_images"]
    stable = former["images_stable"]
    assert result.facts["Images for a stable order"] == (
        f"more than {former['sizes'][-1]}" if stable is None else stable
    )
    samples = result.extra("samples").frame()
    assert samples["images"].tolist() == former["sizes"]
    assert samples["same_order"].tolist() == former["same_order"]
    assert samples["kendall_tau"].tolist() == former["tau"]
    neighbours = result.extra("neighbours").records
    assert [row["better"] for row in neighbours] == former["order"][:-1]
    points = result.extra("sample_size").frame()
    for row, entry in zip(neighbours, former["neighbours"], strict=True):
        assert (row["better"], row["worse"], row["difference"]) == (
            entry["better"],
            entry["worse"],
            entry["difference"],
        )
        assert row["sd"] == entry["sd"]
        assert row["images_significant"] == entry["images_observed"]
        assert row["images_same_order"] == entry["images_same_sign"]
        of_pair = points[points["line"] == f"{row['better']} > {row['worse']}"]
        for panel, name in (
            (IN_ORDER, "same_sign"),
            (SIGNIFICANT, "significant"),
            (PREDICTED, "predicted"),
        ):
            assert of_pair[of_pair["panel"] == panel]["y"].tolist() == entry[name]
        if row["images_by_formula"] is not None:  # the old file had no interval
            assert row["images_by_formula"] == entry["images_for_power"]
            low, high = row["images_by_formula_low"], row["images_by_formula_high"]
            assert low <= row["images_by_formula"] <= high


def test_a_file_of_another_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / files.STATISTICS
    path.write_text(json.dumps(before("graded")))
    with pytest.raises(InputError, match="schema 1"):
        read_result(path)
