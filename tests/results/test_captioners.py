"""The result of `captioners` has the numbers of the file that came before it (schema 1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metaeval.results.base import Estimate
from metaeval.results.files import read_result
from metaeval.results.measured import MeasuredResult
from metaeval.runs import files
from tests.experiments.captioners.captioners_files import write_captioners_run
from tests.results.conftest import read_former

BEFORE = Path(__file__).with_name("schema1") / "captioners.json.gz"


@pytest.fixture(scope="module")
def before() -> dict[str, Any]:
    """`statistics.json` of `write_captioners_run` before results were typed."""
    content: dict[str, Any] = read_former(BEFORE)
    return content


@pytest.fixture(scope="module")
def now(tmp_path_factory: pytest.TempPathFactory, former_bleu: None) -> MeasuredResult:
    run = write_captioners_run(tmp_path_factory.mktemp("captioners"))
    result = read_result(run / files.STATISTICS)
    assert isinstance(result, MeasuredResult)
    return result


def estimate(old: dict[str, Any], name: str, n: int | None = None) -> Estimate:
    low, high = old[f"{name}_ci"] or (None, None)
    return Estimate(value=old[name], low=low, high=high, n=n)


def test_every_score_and_test_of_neighbours_is_the_same_to_the_last_bit(
    before: dict[str, Any], now: MeasuredResult
) -> None:
    assert [m["metric"] for m in before["metrics"]] == [m.name for m in now.metrics]
    tests = {(t["score"], t["A"], t["B"]): t for t in now.extra("tests").records}
    for old, new in zip(before["metrics"], now.metrics, strict=True):
        assert (old["family"], old["signature"], old["status"]) == (
            *(new.family, new.signature, new.status),
        )
        if new.statistics is None:
            assert old["systems"] == {}
            continue
        assert old["headline"] == new.column.headline
        assert new.statistics.facts == {
            "sentence_column": old["column"],
            **{key: old[key] for key in ("aggregate", "n", "n_nan")},
        }
        ranking = now.systems[new.name]
        assert ranking.scores == {
            name: estimate(s, "score", s["n"]) for name, s in old["systems"].items()
        }
        assert ranking.ranking == old["ranking"]
        for was in old["neighbours"]:
            pair = ranking.comparisons.between(was["better"], was["worse"])
            assert pair is not None
            assert (pair.n, pair.difference) == (was["n_images"], estimate(was, "difference"))
            assert pair.tests[0].p == was["p_permutation"]
            assert tests[new.name, pair.a, pair.b]["p_bootstrap"] == was["p_bootstrap"]


def test_every_number_against_human_is_the_same_to_the_last_bit(
    before: dict[str, Any], now: MeasuredResult
) -> None:
    estimates = (
        *("rank_order_rho", "rank_order_rho_within", "spearman_rho", "kendall_tau_b"),
        *("pairwise_accuracy", "inversion_rate"),
    )
    plain = (
        *("n", "mean", "human_mean", "rank_order_rho_tie_mean", "rank_order_rho_tie_std"),
        *("tie_fraction", "pairwise_ties"),
    )
    rows = {(row["metric"], row["system"]): row for row in now.extra("against_human").records}
    assert len(rows) == sum(len(old["systems"]) for old in before["against_human"])
    for old in before["against_human"]:
        for name, was in old["systems"].items():
            row = rows[old["metric"], name]
            for key in estimates:
                ends = [row[f"{key}_low"], row[f"{key}_high"]]
                assert (row[key], ends) == (was[key], was[f"{key}_ci"])
            assert {key: row[key] for key in plain} == {key: was[key] for key in plain}
            (step,) = was["adjacent_auc"]
            assert [row["auc"], row["auc_low"], row["auc_high"]] == [step["auc"], *step["ci"]]
            bounds = [row["rank_order_rho_least"], row["rank_order_rho_greatest"]]
            assert bounds == was["rank_order_rho_bounds"]
            variance = {key: row[f"variance_{key}"] for key in ("image", "level", "rest")}
            assert variance == was["variance"]


def test_agreement_and_what_describes_the_run_are_the_same(
    before: dict[str, Any], now: MeasuredResult
) -> None:
    for level, old in before["agreement"].items():
        rows = now.extra(f"agreement-{level.replace('_', '-')}").records
        names = old["metrics"]
        assert [row["metric"] for row in rows] == names
        assert [[row[name] for name in names] for row in rows] == old["tau_b"]
        if "tau_b_ci" in old:
            ends = [[[row[f"{n}_low"], row[f"{n}_high"]] for n in names] for row in rows]
            assert ends == old["tau_b_ci"]
    captions = {row["system"]: row for row in now.extra("captions").records}
    # two systems with a BLEU-4 of 0 shared no rank, one of three, before
    moved = {"<b>poor": 0.5 / 3, "mute": -0.5 / 3}
    for was in before["systems"]:
        rank = now.systems["mean rank"].scores[was["name"]].value
        assert rank == pytest.approx(was["mean_rank"] + moved.get(was["name"], 0), abs=1e-12)
        for key in ("n", "file", "n_missing", "n_other_images", "n_empty"):
            assert captions[was["name"]][key] == was[key]
    for key in ("seed", "replicates", "permutations", "confidence"):
        assert now.settings[key] == before["settings"][key]
    disagreement = dict(before["disagreement"])
    assert now.settings["votes in disagreement"] == tuple(disagreement.pop("votes"))
    assert now.extra("disagreement").records == [disagreement]
    assert (now.dataset, now.facts["Images"]) == (before["dataset"], before["n_images"])


def test_a_sweep_compares_the_mean_agreement_with_the_other_metrics(
    before: dict[str, Any], now: MeasuredResult
) -> None:
    matrix = before["agreement"]["systems"]
    k = matrix["metrics"].index("CIDEr")
    others = [tau for j, tau in enumerate(matrix["tau_b"][k]) if j != k and tau is not None]
    ((measure, value),) = now.measures(now.metric("CIDEr"))
    assert (measure.key, value.value) == ("mean_tau_b", sum(others) / len(others))
    # parts and metrics that did not run have no agreement
    assert list(now.measures(now.metric("CLIPScore"))) == []
