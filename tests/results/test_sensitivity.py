"""The typed profile has the numbers of the file that came before it (schema 1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metaeval.config import component, compose_config
from metaeval.experiments.run import run as carry_out
from metaeval.results.base import Estimate
from metaeval.results.files import read_result
from metaeval.results.sensitivity import SensitivityCell, SensitivityResult
from metaeval.runs import files
from tests.results.conftest import read_former

BEFORE = Path(__file__).with_name("schema1") / "sensitivity.json.gz"


def estimate(value: Any, ci: Any, n: int | None = None) -> Estimate:
    low, high = ci
    return Estimate(value=value, low=low, high=high, n=n)


def of_auc(old: dict[str, Any] | None) -> Estimate | None:
    return None if old is None else estimate(old["auc"], old["ci"], old["n"])


def cell(old: dict[str, Any], verdict: str) -> SensitivityCell:
    n = old["n"]
    return SensitivityCell(
        n=n,
        auc=estimate(old["auc"], old["ci"], n),
        detected=estimate(old["detected"], old["detected_ci"], n),
        tied=old["tied"],
        p=old["p"],
        p_adjusted=old["p_holm"],
        cost=estimate(old["cost"], old["cost_ci"], n),
        effect=estimate(old["effect"], old["effect_ci"], n),
        share_of_another=old["share_of_another"],
        beyond_fluency=of_auc(old["beyond_fluency"]),
        refined=of_auc(old["refined"]),
        verdict=verdict,
        examples=old["examples"],
    )


@pytest.mark.usefixtures("former_bleu")
def test_every_cell_is_the_same_to_the_last_bit(tmp_path: Path) -> None:
    before = read_former(BEFORE)
    config = compose_config(
        [
            "experiment=sensitivity", "dataset=scenes", "dataset.n=40",
            "task.corruptions=[wrong_colour,typos,there_is,truth_replace_object,random]",
            "task.refine=true", "task.fitted=false", "metrics=[bleu,rouge_l,length,bigram_model]",
            "stats.replicates=200", "report=none",
            f"paths.cache={tmp_path / 'cache'}",
        ]
    )  # fmt: skip
    carry_out(component(config.task, "task"), config, tmp_path / "OUT")
    now = read_result(tmp_path / "OUT" / files.STATISTICS)
    assert isinstance(now, SensitivityResult)
    assert [m["metric"] for m in before["metrics"]] == [m.name for m in now.metrics]
    assert (list(now.leaves), list(now.set_order)) == (before["leaves"], before["set_order"])
    for old, new in zip(before["metrics"], now.metrics, strict=True):
        numbers = new.numbers
        assert (old["signature"], old["n"], old["n_nan"]) == (
            new.signature, numbers.n, numbers.n_nan,
        )  # fmt: skip
        assert list(old["profile"]) == list(numbers.profile)
        for name, was in old["profile"].items():
            verdict = numbers.profile[name].verdict
            # a significant difference is never "blind" or "spares" any more
            assert verdict == was["verdict"] or was["verdict"] in ("blind", "spares")
            assert numbers.profile[name] == cell(was, verdict)
        for name, share in old["monotone"].items():
            assert numbers.monotone[name] == estimate(share["mean"], share["ci"], share["n"])
        for name, harmless in old["hard_positives"]["sets"].items():
            made = numbers.hard_positives.sets[name]
            assert made.value == pytest.approx(harmless["mean"], abs=1e-6)
        for name, against in old["invariance"].items():
            mildest = numbers.invariance[name]
            assert (mildest is None) == (against is None)
            if mildest is not None:
                assert mildest.share == estimate(against["share"], against["ci"])
