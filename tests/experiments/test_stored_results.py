"""Stored results equal computed ones, and are of the same data, scores, options and code."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from omegaconf import OmegaConf

from metaeval.experiments import stored_results
from metaeval.experiments.base import MetricExperiment, Pass
from metaeval.experiments.graded.task import Graded
from metaeval.experiments.stored_results import statistics_of
from metaeval.results.measured import MeasuredResult
from metaeval.results.run import CorruptionInfo, DatasetInfo, RunInfo
from metaeval.runs import files
from metaeval.runs.files import SEED_SCORES
from metaeval.runs.records import ScoreColumn, TrainingFacts
from metaeval.scoring import MetricScores
from tests.shared import run_here


class Counted(MetricExperiment[Any, Any], name="counted", title="", question="", stored=True):
    """An experiment whose result is how often it was computed."""

    n = 0
    describe = write_versions = score = None  # type: ignore[assignment]

    def passes(self, scores: list[MetricScores]) -> list[Pass]:
        return [Pass(scored) for scored in scores]

    def statistics(self, data: Any, scores: Any, record: Any) -> MeasuredResult:
        Counted.n += 1
        return MeasuredResult(
            experiment=self.name, dataset="", metrics=(), declared=(), facts={"n": Counted.n}
        )


class Heir(Counted, name="counted", title="", question=""):
    """A subclass computes something else, and does not say that its results can be stored."""


INFO = RunInfo(status="unfinished", dataset=DatasetInfo(name="d", n_images=2))
CORRUPTION = CorruptionInfo(
    set="s", name="c", kind="k", expected="lower", n=2, n_applied=1, mean_share_changed=None,
    median_edits=None, reasons={},
)  # fmt: skip


def scored(signature: str = "m|v:1", **fields: Any) -> MetricScores:
    return MetricScores("m", (ScoreColumn("M"),), (signature,), "ok", **fields)


@pytest.mark.parametrize(
    ("change", "computed"),
    [
        ({}, 1),
        ({"option": ("report.style", "wide")}, 1),  # changes no number
        ({"option": ("stats.seed", 1)}, 2),
        ({"option": ("corruption.rates", [0.5])}, 2),
        ({"option": ("task.alpha", 0.1)}, 2),
        ({"file": "captions.parquet"}, 2),
        ({"file": SEED_SCORES}, 2),  # scores of further corruption seeds
        ({"scores": [scored(signature="m|v:2")]}, 2),
        ({"scores": [scored(training=TrainingFacts(chosen_on=("replace",)))]}, 2),
        ({"info": {"packages": {"numpy": "9"}}}, 2),
        ({"info": {"corruptions": (CORRUPTION,)}}, 2),
        ({"data": SimpleNamespace(dataset=SimpleNamespace(sources={"a": "1"}, part=str))}, 2),
        ({"code": "other"}, 2),
        ({"experiment": Heir()}, 2),
        ({"cached": False}, 2),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else None,
)
def test_a_result_is_computed_once_of_the_same_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], computed: int
) -> None:
    monkeypatch.setattr(Counted, "n", 0)
    config = OmegaConf.create(
        {
            "paths": {"cache": str(tmp_path / "cache")}, "cache": {"enabled": True}, "seed": 0,
            "stats": {"seed": 0}, "report": {"style": ""}, "task": {}, "corruption": {},
        }
    )  # fmt: skip
    record = SimpleNamespace(config=config, out=tmp_path, info=INFO)
    (tmp_path / "captions.parquet").write_bytes(b"1")
    first = statistics_of(Counted(), None, [scored()], record)  # type: ignore[arg-type]
    if "option" in change:
        OmegaConf.update(config, *change["option"])
    if "file" in change:
        (tmp_path / change["file"]).write_bytes(b"2")
    if "code" in change:
        monkeypatch.setattr(stored_results, "code_digest", lambda: change["code"])
    config.cache.enabled = change.get("cached", True)
    record.info = INFO.model_copy(update=change.get("info", {}))
    again = statistics_of(
        change.get("experiment") or Counted(), change.get("data"),
        change.get("scores", [scored()]), record,  # type: ignore[arg-type]
    )  # fmt: skip
    assert (first.facts["n"], again.facts["n"]) == (1, computed)


@pytest.mark.slow
def test_a_repeated_graded_run_writes_the_same_statistics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of further corruption seeds; an option of the report computes nothing again."""
    compute, computed = Graded.statistics, []
    monkeypatch.setattr(Graded, "statistics", lambda *given: computed.append(1) or compute(*given))

    def run(out: str, *overrides: str) -> bytes:
        given = ("experiment=replace", "dataset=scenes", "dataset.limit=12", "report=none")
        run_here(tmp_path, *given, "metrics=[bleu,rouge_l,controls]", "stats.replicates=50",
                 "corruption.seeds=2", *overrides, out=out)  # fmt: skip
        return (tmp_path / out / files.STATISTICS).read_bytes()

    first = run("a")
    assert (run("b"), len(computed)) == (first, 1)
    assert run("c", "cache.enabled=false") == first != run("d", "corruption.seeds=3")
    assert len(computed) == 3
