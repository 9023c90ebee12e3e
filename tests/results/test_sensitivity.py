"""The typed profile has the numbers of the file that came before it (schema 1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metaeval.config import component, compose_config
from metaeval.experiments.run import run as carry_out
from metaeval.results.files import read_result
from metaeval.results.measured import MeasuredResult
from metaeval.runs import files
from tests.results.conftest import read_former

BEFORE = Path(__file__).with_name("schema1") / "sensitivity.json.gz"


def ends(old: dict[str, Any], key: str, interval: str) -> tuple[Any, Any, Any]:
    return (old[key], *old[interval])


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
    assert isinstance(now, MeasuredResult)
    extras = {
        name: {(r["metric"], r.get("set") or r["corruption"]): r for r in now.extra(name).records}
        for name in ("profile", "positives", "monotone", "invariance")
    }
    examples = now.extra("examples").records
    assert [m["metric"] for m in before["metrics"]] == [m.name for m in now.metrics]
    for old, new in zip(before["metrics"], now.metrics, strict=True):
        facts, metric = new.numbers.facts, new.name
        assert (old["signature"], old["n"], old["n_nan"]) == (
            new.signature, facts["n"], facts["n_nan"],
        )  # fmt: skip
        assert [(metric, name) for name in old["profile"]] == [
            place for place in extras["profile"] if place[0] == metric
        ]
        for name, was in old["profile"].items():
            cell = extras["profile"][metric, name]
            # a significant difference is never "blind" or "spares" any more
            assert cell["verdict"] == was["verdict"] or was["verdict"] in ("blind", "spares")
            assert cell["p_adjusted"] == was["p_holm"]
            for key in ("n", "tied", "p", "share_of_another"):
                assert cell[key] == was[key]
            for key in ("auc", "detected", "cost", "effect"):
                interval = "ci" if key == "auc" else f"{key}_ci"
                assert ends(was, key, interval) == tuple(
                    cell[f"{key}{end}"] for end in ("", "_low", "_high")
                )
            for key in ("beyond_fluency", "refined"):
                part = was[key] or {"auc": None, "ci": (None, None), "n": None}
                assert (*ends(part, "auc", "ci"), part["n"]) == tuple(
                    cell[f"{key}{end}"] for end in ("", "_low", "_high", "_n")
                )
            assert [e["changed"] for e in was["examples"]] == [
                e["changed"] for e in examples if (e["metric"], e["set"]) == (metric, name)
            ]
        for name, share in old["monotone"].items():
            made = extras["monotone"][metric, name]
            assert ends(share, "mean", "ci") == (
                made["share"], made["share_low"], made["share_high"],
            )  # fmt: skip
        for name, harmless in old["hard_positives"]["sets"].items():
            assert extras["positives"][metric, name]["share"] == pytest.approx(
                harmless["mean"], abs=1e-6
            )
        for name, against in old["invariance"].items():
            mildest = extras["invariance"].get((metric, name))
            assert (mildest is None) == (against is None)
            if mildest is not None:
                assert ends(against, "share", "ci") == (
                    mildest["share"], mildest["share_low"], mildest["share_high"],
                )  # fmt: skip
