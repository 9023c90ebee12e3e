"""Typed results of graded runs against the files that the version before types wrote.

`schema_1/` has statistics.json of small runs of rule-based metrics on drawn scenes, written by the
last version with schema 1. The same runs give the same numbers now, to the last bit.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from metaeval.config import compose_config
from metaeval.errors import InputError
from metaeval.experiments.run import run_configured
from metaeval.results.base import Estimate
from metaeval.results.files import read_result
from metaeval.results.graded import MEASURES, DoseCurve, GradedResult, SelectedStatistics
from metaeval.results.measured import MeasuredResult
from metaeval.results.metric import MetricResult
from metaeval.results.sample_size import SampleSizeResult
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
PLAIN = (
    "n", "n_nan", "rank_order_rho_tie_mean", "rank_order_rho_tie_std", "tie_fraction",
    "pairwise_ties",
)  # fmt: skip


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


def selected(record: dict[str, Any] | None) -> SelectedStatistics | None:
    if not record:
        return None
    names = ("rank_order_rho", "rank_order_rho_within", "pairwise_accuracy", "monotone_rate")
    return SelectedStatistics(
        n_images=record["n_images"], **{name: estimate(record, name) for name in names}
    )


def check_column(metric: MetricResult[Any], record: dict[str, Any]) -> None:
    assert (metric.name, metric.family, metric.status, metric.signature) == (
        record["metric"], record["family"], record["status"], record["signature"],
    )  # fmt: skip


def check_graded(result: GradedResult, old: dict[str, Any]) -> None:
    """Every number of the old file."""
    assert (result.n_images, result.leading_column) == (old["n_images"], old["leading_column"])
    assert result.settings.model_dump(mode="json") == old["settings"]
    assert [s.model_dump() for s in result.sets] == old["sets"]
    assert len(result.metrics) == len(old["metrics"])
    for metric, record in zip(result.metrics, old["metrics"], strict=True):
        check_column(metric, record)
        numbers = metric.numbers
        for name in ESTIMATES:
            assert getattr(numbers, name) == estimate(record, name), (metric.name, name)
        for name in PLAIN:
            assert getattr(numbers, name) == record[name], (metric.name, name)
        assert list(numbers.rank_order_rho_bounds) == record["rank_order_rho_bounds"]
        assert {k: v.model_dump() for k, v in numbers.sets.items()} == record["sets"]
        assert numbers.variance.model_dump() == record["variance"]
        steps = [
            (s.lower, s.upper, s.auc.value, s.auc.low, s.auc.high) for s in numbers.adjacent_auc
        ]
        assert steps == [
            (s["lower"], s["upper"], s["auc"], *s["ci"]) for s in record["adjacent_auc"]
        ]
        for name in ("least_seen_step", "clearest_step"):
            step = getattr(numbers, name)
            assert (step and step.model_dump()) == record[name]
        assert numbers.every_level_applied == selected(record["every_level_applied"])
        assert numbers.without_floor == selected(record["without_floor"])
        assert (numbers.seeds and numbers.seeds.model_dump()) == record["seeds"]
        assert list(numbers.worst_images) == record["worst_images"]
        for measure in MEASURES:
            pair = result.control_comparison(metric.name, measure)
            against = (record.get("against_control") or {}).get(measure)
            assert (pair is None) == (against is None)
            if pair is not None and against is not None:
                assert (pair.b, pair.difference.value) == (
                    against["control"], against["difference"],
                )  # fmt: skip
                assert [pair.difference.low, pair.difference.high] == against["ci"]
                assert pair.test is not None
                assert pair.test.p_adjusted == against["p_holm"]
                above = pair.is_significant(0.05) and (pair.difference.value or 0) > 0
                assert above == against["beats"]
    check_differences(result, old)


def check_differences(result: GradedResult, old: dict[str, Any]) -> None:
    for measure in MEASURES:
        pairs = old["differences"]["measures"][measure]["pairs"]
        made = result.differences[measure]
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
                pair["bootstrap"]["p"], pair["bootstrap"]["p_holm"],
            )  # fmt: skip
            assert new.power.model_dump() == {
                key: pair[key] for key in ("effect", "detectable", "images_needed")
            }


def check_curve(curve: DoseCurve, old: dict[str, Any]) -> None:
    for name in ("change", "rho", "within"):
        assert [e.value for e in getattr(curve, name)] == old[name]
        assert [[e.low, e.high] for e in getattr(curve, name)] == old[f"{name}_ci"]
    for name in ("seed_sd", "rho_seed_sd", "rises"):
        assert list(getattr(curve, name)) == old[name]
    for name in ("n", "n_seeds", "trend_p", "falls_throughout"):
        assert getattr(curve, name) == old[name]
    assert curve.floor == (None if old["floor"] is None else estimate(old, "floor"))
    half = curve.half_effect.model_dump(mode="json")
    assert half["dose"] == old["half_effect"]["dose"]
    assert half["ci"] == old["half_effect"]["ci"]
    assert half["why"] == old["half_effect"]["why"]


@pytest.mark.usefixtures("former_bleu")
def test_a_graded_run_has_the_numbers_of_schema_1(tmp_path: Path) -> None:
    result, old = run(tmp_path, *GRADED), before("graded")
    assert isinstance(result, GradedResult)
    check_graded(result, old)
    assert result.dose is not None
    assert list(result.dose.doses) == old["dose"]["doses"]
    assert list(result.dose.realised) == old["dose"]["realised"]
    assert (list(result.dose.sets), result.dose.floor) == (
        old["dose"]["sets"],
        old["dose"]["floor"],
    )
    assert result.dose.metrics.keys() == old["dose"]["metrics"].keys()
    for name, curve in result.dose.metrics.items():
        check_curve(curve, old["dose"]["metrics"][name])
    for group, former in zip(result.groups, old["groups"], strict=True):
        assert (group.by, group.label, group.n_images) == (
            former["by"], former["label"], former["n_images"],
        )  # fmt: skip
        assert group.metrics == {k: selected(v) for k, v in former["metrics"].items()}
    table = result.table().set_index("metric")
    assert (
        table.loc["BLEU-2", "rank_order_rho"]
        == result.metric("BLEU-2").numbers.rank_order_rho.value
    )


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
    assert isinstance(result, SampleSizeResult)
    check_graded(result, old)
    stability, former = result.sample_size, old["sample_size"]
    assert stability is not None
    for name in ("n_images", "draws", "stable", "power", "alpha", "images_stable"):
        assert getattr(stability, name) == former[name]
    for name in ("sizes", "order", "same_order", "tau"):
        assert list(getattr(stability, name)) == former[name]
    for pair, entry in zip(stability.neighbours, former["neighbours"], strict=True):
        assert (pair.better, pair.worse, pair.difference.value) == (
            entry["better"], entry["worse"], entry["difference"],
        )  # fmt: skip
        for name in ("sd", "images_observed", "images_same_sign"):
            assert getattr(pair, name) == entry[name]
        for name in ("same_sign", "significant", "predicted"):
            assert list(getattr(pair, name)) == entry[name]
        if pair.images_for_power.value is not None:  # the old file had no interval
            assert pair.images_for_power.value == entry["images_for_power"]
            low, high = pair.images_for_power.interval or (math.nan, math.nan)
            assert low <= pair.images_for_power.value <= high


def test_a_file_of_another_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / files.STATISTICS
    path.write_text(json.dumps(before("graded")))
    with pytest.raises(InputError, match="schema 1"):
        read_result(path)
