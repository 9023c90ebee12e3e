"""The command as a user runs it: files, exit codes, messages, the same bytes every time."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from metaeval.runs import files as results
from tests.forked import run_command

SMALL = ("dataset=scenes", "dataset.limit=40", "stats.replicates=50")
TEXT_ONLY = "metrics=[bleu,rouge_l,cider]"


def metaeval(
    *arguments: str, cwd: Path, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command with a cache of its own below `cwd`; with variables, by a new interpreter."""
    if not env:
        return run_command("metaeval", *arguments, cwd=cwd)
    return subprocess.run(
        [sys.executable, "-m", "metaeval", *arguments],
        cwd=cwd,
        env={**os.environ, "METAEVAL_CACHE": str(cwd / "cache"), **env},
        capture_output=True,
        text=True,
        timeout=300,
    )


def compared(run: Path) -> dict[str, bytes]:
    """The files that must not differ between two runs of one command."""
    return {
        name: (run / name).read_bytes()
        for name in (
            *(results.CAPTIONS, results.REFERENCES, results.SCORES, results.STATISTICS),
            results.EXPLANATIONS,
        )
        if (run / name).exists() or name != results.EXPLANATIONS  # none without a report
    }


BLEU = [f"BLEU-{n}" for n in range(1, 5)] + [f"BLEU-{n} (unsmoothed)" for n in range(2, 5)]


def test_a_run_leaves_every_file_of_the_design(tmp_path: Path) -> None:
    done = metaeval("experiment=replace", *SMALL, TEXT_ONLY, "hydra.run.dir=OUT", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("replace on scenes: 40 images, 4 references each")
    out = tmp_path / "OUT"
    captions = results.read_run_table(out / results.CAPTIONS)
    scores = results.read_run_table(out / results.SCORES)
    summary = results.read_run_json(out / results.STATISTICS)
    sets = ["Random", "Replace 50%", "Replace 25%", "Human"]
    assert list(captions["set"].unique()) == sets
    metrics = [*BLEU, "ROUGE-L", "CIDEr"]
    assert list(scores["metric"].unique()) == metrics
    assert (len(captions), len(scores)) == (40 * 4, 40 * 4 * 9)
    assert [(r["column"]["name"], r["status"]) for r in summary["metrics"]] == [
        (name, "ok") for name in metrics
    ]
    # wrong words cost BLEU-1 points on any data: the order of the means is the truth
    bleu = scores[scores["metric"] == metrics[0]]
    means = [bleu[bleu["set"] == name]["score"].mean() for name in sets]
    assert means == sorted(set(means))
    record = results.read_run_json(out / results.RUN)
    assert record["seed"] == 0
    stages = ["dataset", "captions", "scores", "statistics", "explanations", "report"]
    assert [stage["name"] for stage in record["stages"]] == stages
    assert (out / results.CONFIG).read_text().count("_target_") > 3
    assert (out / results.REPORT).stat().st_size > 10_000
    assert list((out / results.FIGURES).glob("*.svg"))
    assert not list(out.glob(".*.tmp*"))


@pytest.mark.slow
def test_the_same_command_gives_the_same_bytes_and_another_seed_does_not(tmp_path: Path) -> None:
    runs = {}
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        cwd = tmp_path / name  # its own cache, so that everything is computed again
        cwd.mkdir()
        arguments = ("experiment=shuffle", *SMALL, TEXT_ONLY, f"seed={seed}", "hydra.run.dir=OUT")
        env = {} if seed else {"PYTHONHASHSEED": str(len(runs))}
        done = metaeval(*arguments, cwd=cwd, env=env)
        assert done.returncode == 0, done.stderr
        runs[name] = compared(cwd / "OUT")
    assert runs["a"] == runs["b"]
    assert runs["a"][results.SCORES] != runs["c"][results.SCORES]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (),
            "choose an experiment: experiment=arena|attack|captioners|combine|forced_choice|",
        ),
        (
            ("experiment=replace", "metrics=[bleu,blue]"),
            "unknown metric 'blue'; did you mean 'bleu'? choose from those of "
            "`python -m metaeval list metrics`, or a group: all, rule_based",
        ),
        (("experiment=replace", "corruption.rates=[0.5,0.5]"), "have the same name in tables"),
        (("experiment=replace", "no_such_key=1"), "no_such_key"),
        (("experiment=graded",), "no corruption chosen"),
        (
            ("experiment=replace", "dataset=own", "dataset.file=${PWD}/mine.csv"),
            "metaeval: dataset.file: Interpolation key 'PWD' not found",
        ),
        (("experiment=replace", "dataset=coco_val2017", "dataset.root=nowhere"), "nowhere"),
        (("experiment=replace", "dataset=coco", "dataset.captions=bad.json"), "bad.json"),
    ],
)
def test_bad_input_and_bad_configuration_exit_with_2_and_one_line(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    (tmp_path / "bad.json").write_text('{"images": [')
    scenes = () if any(a.startswith("dataset=") for a in arguments) else SMALL
    done = metaeval(*arguments, *scenes, "hydra.run.dir=OUT", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("metaeval: ")
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert message in done.stderr
    assert not (tmp_path / "OUT" / results.SCORES).exists()


@pytest.mark.slow
def test_a_job_that_fails_does_not_end_its_sweep(tmp_path: Path) -> None:
    arguments = ("experiment=replace", *SMALL, "metrics=[bleu]", "hydra.sweep.dir=SWEEP")
    done = metaeval("-m", *arguments, "seed=0,-1,1", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "metaeval: seed: -1 is not in [0, 4294967295]\n")
    table = pd.read_csv(tmp_path / "SWEEP" / "sweep.csv")
    assert sorted(set(table["job"])) == [0, 2]
    page = (tmp_path / "SWEEP" / "sweep.html").read_text()
    assert "did not finish: seed: -1 is not in [0" in page
    # another sweep in the folder would take job 2 for its own; the same one runs again
    other = metaeval("-m", *arguments, "seed=0,1", cwd=tmp_path)
    assert (other.returncode, other.stderr) == (
        2,
        "metaeval: SWEEP: holds runs that this sweep would count as its jobs; give another folder: "
        "hydra.sweep.dir=FOLDER\n",
    )
    assert metaeval("-m", *arguments, "seed=0,-1,1", cwd=tmp_path).returncode == 2


def test_a_metric_that_cannot_run_is_a_row_and_under_strict_an_error(tmp_path: Path) -> None:
    arguments = ("experiment=replace", *SMALL, "metrics=[bleu,scan]", "metric.scan.weights=typo")
    arguments += ("report.figures=false", "strict=true", "hydra.run.dir=OUT")
    strict = metaeval(*arguments, cwd=tmp_path)
    assert (strict.returncode, "scan skipped" in strict.stderr) == (1, True), strict.stderr
    scan = results.read_run_json(tmp_path / "OUT" / results.STATISTICS)["metrics"][-1]
    facts = (scan["column"]["name"], scan["status"], scan["statistics"])
    assert facts == ("SCAN-sum (gold objects)", "skipped", None)
    assert "no weights 'typo'" in scan["reason"]
    assert (tmp_path / "OUT" / results.REPORT).exists()  # the run itself is complete


@pytest.mark.parametrize(
    ("experiment", "metrics"),
    [("replace", "[scan]"), ("replace", "[scan,controls]"), ("score", "[scan]")],
)
def test_a_run_without_any_scores_is_not_done(
    experiment: str, metrics: str, tmp_path: Path
) -> None:
    record = {"image_id": 1, "caption": "a dog", "references": ["a dog runs"]}
    (tmp_path / "c.jsonl").write_text(json.dumps(record))
    more = ("captions=c.jsonl",) if experiment == "score" else SMALL
    arguments = (f"experiment={experiment}", *more, f"metrics={metrics}", "report=none")
    done = metaeval(*arguments, "metric.scan.weights=typo", "hydra.run.dir=OUT", cwd=tmp_path)
    reason = "no metric has scores: scan skipped: "
    assert (done.returncode, f"metaeval: {reason}" in done.stderr) == (1, True), done.stderr
    record = results.read_run_json(tmp_path / "OUT" / results.RUN)
    assert (record["status"], record["error"][: len(reason)]) == ("failed", reason)
    assert (tmp_path / "OUT" / results.STATISTICS).exists()
