"""The typed result of `captioners` has the numbers of the file that came before it (schema 1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metaeval.results.base import Estimate
from metaeval.results.captioners import CaptionersResult
from metaeval.results.files import read_result
from metaeval.runs import files
from tests.reports.captioners.captioners_files import write_captioners_run
from tests.results.conftest import read_former

BEFORE = Path(__file__).with_name("schema1") / "captioners.json.gz"


@pytest.fixture(scope="module")
def before() -> dict[str, Any]:
    """`statistics.json` of `write_captioners_run` before results were typed."""
    content: dict[str, Any] = read_former(BEFORE)
    return content


@pytest.fixture(scope="module")
def now(tmp_path_factory: pytest.TempPathFactory, former_bleu: None) -> CaptionersResult:
    run = write_captioners_run(tmp_path_factory.mktemp("captioners"))
    result = read_result(run / files.STATISTICS)
    assert isinstance(result, CaptionersResult)
    return result


def estimate(old: dict[str, Any], name: str, n: int | None = None) -> Estimate:
    low, high = old[f"{name}_ci"] or (None, None)
    return Estimate(value=old[name], low=low, high=high, n=n)


def test_every_score_of_a_system_is_the_same_to_the_last_bit(
    before: dict[str, Any], now: CaptionersResult
) -> None:
    assert [m["metric"] for m in before["metrics"]] == [m.name for m in now.metrics]
    for old, new in zip(before["metrics"], now.metrics, strict=True):
        assert (old["family"], old["signature"], old["status"]) == (
            *(new.family, new.signature, new.status),
        )
        if new.statistics is None:
            assert old["systems"] == {}
            continue
        assert old["headline"] == new.column.headline
        assert (old["column"], old["aggregate"], old["n"], old["n_nan"]) == (
            *(new.statistics.sentence_column, new.statistics.aggregate),
            *(new.statistics.n, new.statistics.n_nan),
        )
        assert new.statistics.systems == {
            name: estimate(s, "score", s["n"]) for name, s in old["systems"].items()
        }
        assert list(new.statistics.ranking) == old["ranking"]


def test_every_test_between_neighbours_is_the_same_to_the_last_bit(
    before: dict[str, Any], now: CaptionersResult
) -> None:
    alpha = 1 - before["settings"]["confidence"]
    decisions = set()
    for old, new in zip(before["metrics"], now.metrics, strict=True):
        pairs = new.statistics.neighbours.pairs if new.statistics is not None else ()
        assert len(pairs) == len(old.get("neighbours", ()))
        for place, pair in enumerate(pairs):
            was = old["neighbours"][place]
            assert (pair.a, pair.b, pair.n) == (was["better"], was["worse"], was["n_images"])
            assert pair.difference == estimate(was, "difference")
            assert [(t.method, t.p, t.p_adjusted) for t in pair.tests] == [
                (test, was[f"p_{test}"], was[f"p_{test}_holm"])
                for test in ("permutation", "bootstrap")
            ]
            ahead = was["p_permutation_holm"] < alpha
            assert new.numbers.is_ahead(place) == ahead
            decisions.add(ahead)
        assert new.statistics is None or not new.numbers.is_ahead(len(pairs))
    assert decisions == {True, False}


def test_every_number_against_human_is_the_same_to_the_last_bit(
    before: dict[str, Any], now: CaptionersResult
) -> None:
    estimates = (
        *("rank_order_rho", "rank_order_rho_within", "spearman_rho", "kendall_tau_b"),
        *("pairwise_accuracy", "inversion_rate"),
    )
    plain = (
        *("n", "mean", "human_mean", "rank_order_rho_tie_mean", "rank_order_rho_tie_std"),
        *("tie_fraction", "pairwise_ties"),
    )
    assert len(before["against_human"]) == len(now.against_human) == 6
    for old, new in zip(before["against_human"], now.against_human, strict=True):
        assert (old["metric"], old["signature"]) == (new.name, new.signature)
        assert list(old["systems"]) == list(new.numbers.systems)
        for name, was in old["systems"].items():
            system = new.numbers.systems[name].model_dump()
            for key in estimates:
                assert system.pop(key) == estimate(was, key).model_dump()
            for key in plain:
                assert system.pop(key) == was[key]
            (step,) = was["adjacent_auc"]
            low, high = step["ci"]
            assert system.pop("auc") == Estimate(value=step["auc"], low=low, high=high).model_dump()
            assert list(system.pop("rank_order_rho_bounds")) == was["rank_order_rho_bounds"]
            assert system.pop("variance") == was["variance"]
            assert not system


def test_agreement_and_what_describes_the_run_are_the_same(
    before: dict[str, Any], now: CaptionersResult
) -> None:
    assert now.agreement is not None
    for key, n, new in (
        ("systems", "n_systems", now.agreement.systems),
        ("within_image", "n_images", now.agreement.within_image),
        ("captions", None, now.agreement.captions),
    ):
        old = before["agreement"][key]
        assert list(new.metrics) == old["metrics"]
        assert new.n == (old[n] if n else None)
        assert [[tau.value for tau in row] for row in new.tau_b] == old["tau_b"]
        ends = [[list(tau.interval or ()) for tau in row] for row in new.tau_b]
        assert ends == old.get("tau_b_ci", [[[] for _ in row] for row in new.tau_b])
    assert [s.model_dump() for s in now.systems] == before["systems"]
    assert now.settings.model_dump(mode="json") == before["settings"]
    assert now.references.model_dump(mode="json") == before["references"]
    assert now.disagreement.model_dump(mode="json") == before["disagreement"]
    assert (now.dataset, now.n_images) == (before["dataset"], before["n_images"])


def test_a_sweep_compares_the_mean_agreement_with_the_other_metrics(
    before: dict[str, Any], now: CaptionersResult
) -> None:
    matrix = before["agreement"]["systems"]
    k = matrix["metrics"].index("CIDEr")
    others = [tau for j, tau in enumerate(matrix["tau_b"][k]) if j != k and tau is not None]
    ((measure, value),) = now.measures(now.metric("CIDEr"))
    assert (measure.key, value.value) == ("mean_tau_b", sum(others) / len(others))
    # parts and metrics that did not run have no agreement
    assert [v.value for _, v in now.measures(now.metric("CLIPScore"))] == [None]
