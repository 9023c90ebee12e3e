"""The command as a user runs it: files, exit codes, messages, the same bytes every time."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import zipfile
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from metaeval.results.files import read_result
from metaeval.runs import files as results
from tests.forked import run_command

REPOSITORY = Path(__file__).resolve().parents[1]
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


def refusal(*arguments: str, cwd: Path) -> str:
    """The one line with which the command ends, with exit code 2."""
    done = metaeval(*arguments, cwd=cwd)
    assert done.returncode == 2
    assert done.stderr.startswith("metaeval: ")
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr


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
        done = metaeval(*arguments, cwd=cwd, env={"PYTHONHASHSEED": str(len(runs))})
        assert done.returncode == 0, done.stderr
        runs[name] = compared(cwd / "OUT")
    assert runs["a"] == runs["b"]
    assert runs["a"][results.SCORES] != runs["c"][results.SCORES]


@pytest.mark.slow
def test_a_warm_cache_gives_the_same_bytes_as_a_cold_one(tmp_path: Path) -> None:
    for out in ("cold", "warm"):
        arguments = ("experiment=replace", *SMALL, TEXT_ONLY, f"hydra.run.dir={out}")
        assert metaeval(*arguments, cwd=tmp_path).returncode == 0
    assert compared(tmp_path / "cold") == compared(tmp_path / "warm")
    record = results.read_run_json(tmp_path / "warm" / results.RUN)
    assert [metric["n_scored"] for metric in record["metrics"]] == [0, 0, 0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (),
            "choose an experiment: experiment=arena|attack|captioners|forced_choice|graded|",
        ),
        (
            ("experiment=replace", "metrics=[bleu,blue]"),
            "unknown metric 'blue'; did you mean 'bleu'? choose from those of "
            "`python -m metaeval list metrics`, or a group: all, rule_based",
        ),
        (
            ("experiment=replace", "corruption.rates=[0.5,1.5]"),
            "rates[1]: 1.5 is not in (0, 1]",
        ),
        (("experiment=replace", "corruption.rates=[0.5,0.5]"), "have the same name in tables"),
        (("experiment=replace", "metric.bleu.max_n=0"), "max_n"),
        (("experiment=replace", "seed=abc"), "seed: 'abc' is not a whole number in "),
        (("experiment=graded",), "no corruption chosen"),
        (("experiment=replace", "dataset=coco_val2017", "dataset.root=nowhere"), "nowhere"),
        (("experiment=replace", "dataset=coco", "dataset.captions=bad.json"), "bad.json"),
    ],
)
def test_bad_input_and_bad_configuration_exit_with_2_and_one_line(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    (tmp_path / "bad.json").write_text('{"images": [')
    scenes = () if any(a.startswith("dataset=") for a in arguments) else SMALL
    line = refusal(*arguments, *scenes, "hydra.run.dir=OUT", cwd=tmp_path)
    assert message in line
    assert not (tmp_path / "OUT" / results.SCORES).exists()


@pytest.mark.parametrize("override", ["experiment=replacement", "no_such_key=1", "dataset=null"])
def test_overrides_that_hydra_refuses_exit_with_2(override: str, tmp_path: Path) -> None:
    refusal("experiment=replace", override, cwd=tmp_path)


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


@pytest.mark.slow
@pytest.mark.parametrize(("wrong", "code"), [("seed=0,-1", 2), ("strict=true,false", 1)])
def test_a_job_that_fails_elsewhere_sets_the_exit_code(
    wrong: str, code: int, tmp_path: Path
) -> None:
    """Joblib's launcher runs the jobs in processes of their own."""
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher", reason="hydra-joblib-launcher")
    arguments = ("experiment=replace", *SMALL, "metrics=[bleu,scan]", "metric.scan.weights=typo")
    done = metaeval(
        "-m", *arguments, "hydra/launcher=joblib", "hydra.launcher.n_jobs=2", wrong, cwd=tmp_path
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "iso-8859-1"])
def test_a_terminal_with_few_letters_gets_their_names(encoding: str, tmp_path: Path) -> None:
    arguments = ("experiment=replace", *SMALL, "metrics=[bleu]", "report=none")
    env = {"PYTHONIOENCODING": encoding}
    done = metaeval(*arguments, "hydra.run.dir=OUT", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert "rank-order rho" in done.stdout
    assert results.read_run_json(tmp_path / "OUT" / results.RUN)["status"] == "finished"


def test_a_metric_that_cannot_run_is_a_row_and_under_strict_an_error(tmp_path: Path) -> None:
    arguments = ("experiment=replace", *SMALL, "metrics=[bleu,scan]", "metric.scan.weights=typo")
    done = metaeval(*arguments, "hydra.run.dir=OUT", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    records = results.read_run_json(tmp_path / "OUT" / results.STATISTICS)["metrics"]
    scan = records[-1]
    facts = (scan["column"]["name"], scan["status"], scan["statistics"])
    assert facts == ("SCAN-sum (gold objects)", "skipped", None)
    assert "no weights 'typo'" in scan["reason"]
    strict = metaeval(*arguments, "strict=true", "hydra.run.dir=S", cwd=tmp_path)
    assert (strict.returncode, "scan skipped" in strict.stderr) == (1, True), strict.stderr
    assert (tmp_path / "S" / results.REPORT).exists()  # the run itself is complete


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


def test_a_reference_to_nothing_is_a_line(tmp_path: Path) -> None:
    arguments = ("experiment=replace", "dataset=own", "metrics=[bleu]", "hydra.run.dir=OUT")
    line = refusal(*arguments, "dataset.file=${PWD}/mine.csv", cwd=tmp_path)
    assert line == "metaeval: dataset.file: Interpolation key 'PWD' not found\n"
    record = results.read_run_json(tmp_path / "OUT" / results.RUN)
    assert "dataset.file=${PWD}/mine.csv" in record["overrides"]


def test_a_sweep_is_gathered_from_its_files(tmp_path: Path) -> None:
    arguments = ("experiment=replace", *SMALL, "metrics=[bleu]", "hydra.sweep.dir=SWEEP")
    done = metaeval("-m", *arguments, "corruption.rates=[0.1],[0.4]", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for job, rate in (("0", "10%"), ("1", "40%")):
        run = read_result(tmp_path / "SWEEP" / job / results.STATISTICS)
        names = [entry["set"] for entry in run.extra("sets").records]
        assert names == ["Random", f"Replace {rate}", "Human"]
    table = pd.read_csv(tmp_path / "SWEEP" / "sweep.csv")
    assert (set(table["metric"]), len(table)) == (set(BLEU), 14)
    assert (tmp_path / "SWEEP" / "sweep.html").exists()


def test_a_metric_that_the_list_leaves_out_is_a_name_like_any_other(tmp_path: Path) -> None:
    done = metaeval(
        "experiment=replace",
        *SMALL,
        "metrics=[faier_noref,bleu]",
        "metric.bleu.max_n=1",
        "device=cpu",
        "report=none",
        "hydra.run.dir=OUT",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    records = results.read_run_json(tmp_path / "OUT" / results.STATISTICS)["metrics"]
    assert [r["column"]["name"] for r in records if r["column"]["part_of"] is None] == [
        "BLEU-1",
        "FAIEr (gold objects, no references)",
    ]


@pytest.mark.coco
@pytest.mark.java
@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_bytes(tmp_path: Path, coco_root: Path) -> None:
    """SIGKILL after the first batches reached the cache, then the same command again."""
    arguments = ["experiment=replace", "dataset=coco_val2017", f"dataset.root={coco_root}"]
    arguments += ["dataset.limit=1200", "metrics=[cider,meteor]", "stats.replicates=50"]
    arguments += ["cache.batch_size=50", "report=none", "hydra.run.dir=OUT"]
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    for cwd in (undisturbed, killed):
        cwd.mkdir()
    assert metaeval(*arguments, cwd=undisturbed).returncode == 0
    victim = subprocess.Popen(
        [sys.executable, "-m", "metaeval", *arguments],
        cwd=killed,
        env={**os.environ, "METAEVAL_CACHE": str(killed / "cache")},
        start_new_session=True,
    )
    database = killed / "cache" / "content.sqlite"
    # METEOR is computed in parallel with CIDEr: all of one and two batches of the other, or some of
    # both
    rows = _wait_for_rows(database, more_than=4800 + 99)
    os.kill(victim.pid, signal.SIGKILL)
    victim.wait()
    assert rows < 9600, "the run was over before it could be killed"
    assert not (killed / "OUT" / results.SCORES).exists()
    assert metaeval(*arguments, cwd=killed).returncode == 0
    record = results.read_run_json(killed / "OUT" / results.RUN)
    assert [metric["n_cached"] > 0 for metric in record["metrics"]] == [True, True]
    assert any(metric["n_scored"] > 0 for metric in record["metrics"])
    assert compared(killed / "OUT") == compared(undisturbed / "OUT")


def _wait_for_rows(database: Path, more_than: int) -> int:
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        time.sleep(0.01)
        if not database.exists():
            continue
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
            while time.monotonic() < deadline:
                time.sleep(0.01)
                try:
                    (rows,) = db.execute("SELECT count(*) FROM checked").fetchone()
                except sqlite3.OperationalError:
                    break  # the tables are not there yet
                if rows > more_than:
                    return int(rows)
    raise AssertionError("no scores reached the cache within ten minutes")


@pytest.mark.coco
def test_the_order_of_captions_in_the_file_does_not_matter(tmp_path: Path, coco_root: Path) -> None:
    source = coco_root / "coco/annotations/captions_val2017.json"
    content = json.loads(source.read_text(encoding="utf-8"))
    content["annotations"].reverse()
    content["images"].sort(key=lambda image: -image["id"])
    other = tmp_path / "captions_val2017.json"
    other.write_text(json.dumps(content), encoding="utf-8")
    runs = []
    for name, path in (("a", source), ("b", other)):
        arguments = ("experiment=replace", "dataset=coco", f"dataset.captions={path}")
        arguments += ("dataset.limit=100", TEXT_ONLY, "report=none", f"hydra.run.dir={name}")
        assert metaeval(*arguments, cwd=tmp_path).returncode == 0
        runs.append(results.read_run_table(tmp_path / name / results.SCORES))
    pd.testing.assert_frame_equal(runs[0], runs[1], check_exact=True)


@pytest.mark.slow
def test_the_wheel_runs_from_an_empty_folder(tmp_path: Path) -> None:
    """The wheel carries the four packages and the configuration, and needs no checkout."""
    checkout = tmp_path / "checkout"
    shutil.copytree(
        REPOSITORY, checkout, ignore=shutil.ignore_patterns(".venv", ".git", ".*_cache")
    )
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", str(tmp_path), "."]
    subprocess.run(build, cwd=checkout, check=True, capture_output=True)
    shutil.rmtree(checkout)
    (wheel,) = tmp_path.glob("metaeval-*.whl")
    site, empty = tmp_path / "site", tmp_path / "empty"
    empty.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
        archive.extractall(site)
    assert {top for top in tops if not top.endswith(".dist-info")} == {"metaeval"}
    assert (site / "metaeval/data/scenes/val.jsonl.xz").is_file()
    env = {"PYTHONPATH": str(site)}
    done = metaeval(
        "experiment=replace", *SMALL, TEXT_ONLY, "hydra.run.dir=OUT", cwd=empty, env=env
    )
    assert done.returncode == 0, done.stderr
    assert (empty / "OUT" / results.REPORT).exists()
    assert results.read_run_json(empty / "OUT" / results.RUN)["git"] is None
