"""The typed result of `pairs` has the numbers of the file that came before it (schema 1)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from metaeval.experiments.pairs.statistics import MEAN, key_of
from metaeval.results.base import Estimate
from metaeval.results.measured import MeasuredResult
from tests.data.pairs.pair_files import coco, sugarcrepe_pp
from tests.experiments.pairs.test_pairs import run_in
from tests.results.conftest import DRAWN_BY_ID

BEFORE = Path(__file__).with_name("schema1") / "pairs.json.gz"


@pytest.fixture(scope="module")
def before() -> dict[str, Any]:
    """`statistics.json` of the same command before results were typed."""
    content: dict[str, Any] = json.loads(gzip.decompress(BEFORE.read_bytes()))
    return content


@pytest.fixture(scope="module")
def now(tmp_path_factory: pytest.TempPathFactory) -> MeasuredResult:
    folder = tmp_path_factory.mktemp("pairs")
    sugarcrepe_pp(coco(folder))
    return run_in(
        folder, "dataset=sugarcrepe_pp", "task.fitted=false",
        "metrics=[bleu,rouge_l,clipscore,length,random_score,bigram_model,longest_copy,brevity]",
        "task.refine=Brevity", "task.ties=wrong", "dataset.near_copies=keep",
    )  # fmt: skip


def test_every_accuracy_is_the_same_to_the_last_bit(
    before: dict[str, Any], now: MeasuredResult
) -> None:
    lines = {
        (line["comparison"], line["metric"], line["kind"]): line
        for line in now.extra("accuracies").records
    }
    assert [m["metric"] for m in before["metrics"]] == [m.name for m in now.metrics]
    for old, new in zip(before["metrics"], now.metrics, strict=True):
        assert (old["status"], old["signature"]) == (new.status, new.signature)
        if new.statistics is None:
            assert "accuracy" not in old
            continue
        assert (old["n"], old["n_nan"]) == (new.numbers.facts["n"], new.numbers.facts["n_nan"])
        if new.name == DRAWN_BY_ID:
            continue
        for comparison in before["comparisons"]:
            refined = before["refinement"]["accuracy"][new.name][comparison]
            for kind, was in old["accuracy"][comparison].items():
                key = key_of(comparison, "" if kind == MEAN else kind)
                low, high = was["ci"]
                assert new.numbers[key] == Estimate(
                    value=was["value"], low=low, high=high, n=was["n"]
                )
                line = lines[comparison, new.name, kind]
                assert (line["ties"], line["untied"]) == (was["ties"], was["untied"])
                after = refined[kind]
                assert (line["refined_accuracy"], line["refined_n"]) == (after["value"], after["n"])


def test_every_comparison_is_the_same_to_the_last_bit(
    before: dict[str, Any], now: MeasuredResult
) -> None:
    heads = [f"{kind} ({n:,})" for kind, n in before["kinds"].items()]
    assert [c for c in now.extra("kinds_true___false").columns if "(" in c] == heads
    for comparison, old in before["differences"].items():
        family = now.comparisons[key_of(comparison)]
        assert len(family.pairs) == len(old["pairs"])
        for pair, new in zip(old["pairs"], family.pairs, strict=True):
            if DRAWN_BY_ID in (new.a, new.b):
                continue
            low, high = pair["bootstrap"]["ci"]
            assert (new.a, new.b) == (pair["a"], pair["b"])
            assert new.difference == Estimate(value=pair["difference"], low=low, high=high)
            assert {t.method: {"p": t.p, "p_holm": t.p_adjusted} for t in new.tests} == {
                test: {key: pair[test][key] for key in ("p", "p_holm")}
                for test in ("permutation", "bootstrap")
            }
    for comparison, kinds in before["controls"].items():
        for kind, was in kinds.items():
            control = now.controls[key_of(comparison, kind)]
            if DRAWN_BY_ID in (control.control, was["control"]):
                continue
            assert (control.control, control.control_value) == (
                was["control"],
                was["value"],
            )
            assert (control.best, control.best_value) == (
                was["best"],
                was["best_value"],
            )
            assert list(control.above) == was["above"]
            # 100 permutations could not decide, which the earlier file did not say
            undecidable = control.shows == "undecidable" and was["shows"] == "unsure"
            assert undecidable or control.shows == was["shows"]
