"""Stored results equal computed ones, and are of the same data, scores, options and code."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from omegaconf import OmegaConf

from metaeval.data.dataset import CaptionDataset
from metaeval.experiments import stored_results
from metaeval.experiments.base import MetricExperiment, Pass
from metaeval.experiments.graded import task
from metaeval.experiments.graded.task import Graded
from metaeval.experiments.stored_results import statistics_of, write_seed_scores
from metaeval.results.measured import MeasuredResult
from metaeval.results.run import CorruptionInfo, DatasetInfo, RunInfo
from metaeval.runs import files
from metaeval.runs.files import SEED_SCORES
from metaeval.runs.records import ScoreColumn, TrainingFacts
from metaeval.scoring import MetricScores


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
        ({"option": ("task.ties", "wrong")}, 2),
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


CAPTIONS = ("a man rides a brown horse", "a sunny beach near the sea", "two dogs run on the sand")
DATA = CaptionDataset("d", (1, 2, 3), CAPTIONS, ((), (), ()))


@pytest.mark.parametrize(
    ("change", "made"),
    [
        ({}, 1),
        ({"seed": 1}, 2),
        ({"corruption.rates": [0.5]}, 2),
        ({"corruption.min_count": 2}, 2),
        ({"human": ("a dog", *CAPTIONS[1:])}, 2),
        ({"pool": ("a dog", *CAPTIONS[1:])}, 2),
        ({"code": "other"}, 2),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else None,
)
def test_captions_are_corrupted_once_in_the_same_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], made: int
) -> None:
    target = "metaeval.corruptions.graded.replace.Replace"
    config = OmegaConf.create(
        {
            "paths": {"cache": str(tmp_path / "cache")}, "cache": {"enabled": True}, "seed": 0,
            "corruption": {"_target_": target, "rates": [0.25], "min_count": 1}, "report": {},
        }
    )  # fmt: skip
    calls, facts = [], list[Any]()
    compute = task.versions
    monkeypatch.setattr(task, "versions", lambda *given: calls.append(given) or compute(*given))
    record = SimpleNamespace(
        config=config, out=tmp_path, update=lambda **fields: facts.append(fields["corruption"])
    )
    Graded(floor=True).write_versions(DATA, record)  # type: ignore[arg-type]
    first = (tmp_path / files.CAPTIONS).read_bytes()
    data = replace(DATA, **{key: text for key, text in change.items() if key in ("human", "pool")})
    for key in change.keys() - {"human", "pool", "code"}:
        OmegaConf.update(config, key, change[key])
    if "code" in change:
        monkeypatch.setattr(stored_results, "code_digest", lambda: change["code"])
    Graded(floor=True).write_versions(data, record)  # type: ignore[arg-type]
    assert len(calls) == made
    if not change:
        assert (tmp_path / files.CAPTIONS).read_bytes() == first
        assert facts[0] == facts[1] == {"random_donors": 3, "bag_words": 15, "bag_min_count": 1}


@pytest.mark.parametrize(
    ("key", "of_seeds", "status", "again", "scored_twice"),
    [
        (b"1", b"2", "ok", b"1", False),
        (None, None, "skipped", None, False),
        (b"1", b"2", "ok", b"3", True),  # what a caption is compared with has changed
        (b"1", None, "ok", b"1", True),  # some score may be another one the next time
        (b"1", None, "failed", b"1", True),
        (None, b"2", "ok", None, True),
    ],
)
def test_scores_of_seeds_are_computed_once_where_they_last(
    tmp_path: Path, key: Any, of_seeds: Any, status: Any, again: Any, scored_twice: bool
) -> None:
    config = OmegaConf.create(
        {"paths": {"cache": str(tmp_path / "cache")}, "cache": {"enabled": True}}
    )
    record, calls = SimpleNamespace(config=config, out=tmp_path, info=INFO), 0

    def score() -> tuple[pd.DataFrame, list[MetricScores]]:
        nonlocal calls
        calls += 1
        row = {"image_id": 1, "seed": 1, "set": "s", "level": 0, "metric": "M", "score": 0.5}
        return pd.DataFrame([row]), [replace(scored(), key=of_seeds, status=status)]

    for given in (key, again):
        known = [replace(scored(), key=given, status="ok" if given else status)]
        write_seed_scores(Counted(), None, known, record, score)  # type: ignore[arg-type]
        assert files.read_run_table(tmp_path / SEED_SCORES)["score"].tolist() == [0.5]
        (tmp_path / SEED_SCORES).unlink()
    assert calls == 1 + scored_twice
