"""The folder of a run: exclusive, locked while it is written, cleared of its own files alone."""

import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import pytest

import metaeval
from metaeval.errors import ConfigError, InputError
from metaeval.runs import files
from metaeval.runs.folder import LOCK, lock, new_folder, require_same_sweep
from tests.forked import command

SMALL = (
    "experiment=replace",
    "dataset=scenes",
    "dataset.limit=6",
    "stats.replicates=10",
    "metrics=[bleu]",
    "metric.bleu.tokenizer=whitespace",
    "report=none",
)


def content(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_each_of_many_gets_a_folder(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(new_folder, [tmp_path / "runs" / "09-30"] * 40))
    names = ["09-30", *(f"09-30-{k}" for k in range(2, 41))]
    assert sorted(path.name for path in made) == sorted(names)


def test_one_run_at_a_time(tmp_path: Path) -> None:
    problem = "another run is writing into this folder; wait for it, or give another folder"
    with lock(tmp_path), pytest.raises(InputError, match=problem), lock(tmp_path):
        pass
    with lock(tmp_path):
        assert (tmp_path / LOCK).exists()
    assert content(tmp_path) == {}
    with lock(tmp_path / "refused" / "OUT"):
        pass
    assert not (tmp_path / "refused" / "OUT").exists()


def test_the_folder_of_a_killed_run_is_free_and_its_files_are_known(tmp_path: Path) -> None:
    """Killed before run.json was there, with one file written and one half-written."""
    if (child := os.fork()) == 0:
        with lock(tmp_path):
            files.atomic(tmp_path / "scores/a.parquet", lambda path: path.write_text("whole"))
            files.atomic(tmp_path / "b.csv", lambda path: (path.write_text("h"), os._exit(9)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert {path.partition("csv.")[0] for path in content(tmp_path)} == {
        LOCK,
        "scores/a.parquet",
        ".b.",
    }
    with lock(tmp_path) as held:
        held.require_own()
        held.clear()
    assert not list(tmp_path.iterdir())


def test_a_folder_that_never_held_a_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".DS_Store").write_text("")
    (tmp_path / "metaeval.log").write_text("of this command")
    with lock(tmp_path) as held:
        held.require_own()
    (tmp_path / "tables").mkdir()
    for record in ("", "half {", '{"status": "finished"}', '{"files": 7}', '{"files": null}'):
        if record:
            (tmp_path / files.RUN).write_text(record)
        with lock(tmp_path) as held, pytest.raises(ConfigError) as refusal:
            held.require_own()
        name = files.RUN if record else "tables"
        assert f"holds '{name}', and no run.json that lists what a run wrote" in str(refusal.value)


@pytest.mark.parametrize(
    ("record", "experiment", "problem"),
    [
        ({"status": "finished", "experiment": {"name": "judgments"}}, "replace",
         "holds a finished run of experiment=judgments, which this run would replace; give"),
        ({"status": "finished", "experiment": {"name": "replace"}}, "replace", None),
        ({"status": "failed", "experiment": {"name": "judgments"}}, "replace", None),
        ({"status": "finished", "experiment": 7}, "replace", None),
        ({"status": "finished"}, "replace", None),
    ],
)  # fmt: skip
def test_a_finished_run_of_another_experiment_is_not_replaced(
    tmp_path: Path, record: dict[str, object], experiment: str, problem: str | None
) -> None:
    (tmp_path / files.RUN).write_text(json.dumps({**record, "files": []}))
    refused = pytest.raises(ConfigError, match=problem) if problem else nullcontext()
    with lock(tmp_path) as held, refused:
        held.require_own((), experiment)


@pytest.mark.parametrize(
    ("multirun", "is_refused"),
    [
        ("hydra: {overrides: {task: [seed=0]}}", False),
        ("hydra: {overrides: {task: ['seed=0,1']}}", True),
        ("hydra: 3", True),
        (None, True),
    ],
)
def test_a_sweep_does_not_take_jobs_of_another_one(
    tmp_path: Path, multirun: str | None, is_refused: bool
) -> None:
    require_same_sweep(tmp_path, ["seed=0"])  # a folder without runs
    if multirun is not None:
        (tmp_path / "multirun.yaml").write_text(multirun)
    (tmp_path / "2").mkdir()
    (tmp_path / "2" / files.RUN).write_text("{}")
    line = "would count as its jobs; give another folder"
    with pytest.raises(ConfigError, match=line) if is_refused else nullcontext():
        require_same_sweep(tmp_path, ["seed=0"])


def test_only_what_is_listed_and_inside_is_removed(tmp_path: Path) -> None:
    """A run.json from elsewhere may list anything."""
    out, other = tmp_path / "OUT", tmp_path / "other"
    other.mkdir()
    (other / "a.csv").write_text("not of the run")
    with lock(out) as held:
        for name in ("tables/a.csv", "tables/kept/part-0.parquet", "b.svg", "answers.parquet"):
            files.atomic(out / name, lambda path: path.write_text("of a run"))
        files.write_json(out / files.RUN, {"files": list(held.files)})
    (out / "link").symlink_to(other)
    (out / "linked.csv").symlink_to(other / "a.csv")
    (out / "tables/mine.csv").write_text("mine")
    info = files.read_run_json(out / files.RUN)
    assert info["files"] == [
        *("answers.parquet", "b.svg", "tables/a.csv", "tables/kept/part-0.parquet")
    ]
    bad = ["../other/a.csv", str(other / "a.csv"), "link/a.csv", "linked.csv", "..", "", "a\0b"]
    bad += ["tables", "9" * 999]
    (out / files.RUN).write_text(json.dumps({"files": info["files"] + bad}))
    with lock(out) as held:
        held.clear(keep="tables/kept")
        assert held.files == ("answers.parquet", "tables/kept/part-0.parquet")
    assert {name for name in content(out) if not name.startswith("link")} == {
        *(files.RUN, "answers.parquet", "tables/mine.csv", "tables/kept/part-0.parquet")
    }
    assert (out / "linked.csv").read_text() == (other / "a.csv").read_text() == "not of the run"


def test_the_command_leaves_a_folder_of_another_kind_as_it_was(tmp_path: Path) -> None:
    for name in ("tables/chapter3.csv", "figures/forest.svg", "report.html", "config.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine")
    before = content(tmp_path)
    refused = "metaeval: .*holds 'config.yaml', and no run.json that lists what a run wrote.*\n"
    for options, line in (((), refused), (("seed=abc",), "metaeval: .*\n")):
        done = command(*SMALL, *options, "hydra.run.dir=.", cwd=tmp_path, env={}, code=2)
        assert re.fullmatch(line, done.stderr)
        assert content(tmp_path) == before


def test_the_command_is_refused_while_another_run_writes(tmp_path: Path) -> None:
    command(*SMALL, "hydra.run.dir=OUT", cwd=tmp_path, env={})
    before = content(tmp_path / "OUT")
    with lock(tmp_path / "OUT"):
        for given in ((*SMALL, "hydra.run.dir=OUT", "seed=1"), ("report", "OUT")):
            done = command(*given, cwd=tmp_path, env={}, code=2)
            assert "another run is writing into this" in done.stderr
    assert content(tmp_path / "OUT") == before


@pytest.mark.slow
def test_a_folder_named_by_the_time_is_a_new_one(tmp_path: Path) -> None:
    for mode, options in (("run", ()), ("sweep", ("seed=0,1", "-m"))):
        name = rf"hydra.{mode}.dir='it\'s ${{now:%Y}}/{mode}'"
        for _ in range(2):
            assert command(*SMALL, name, *options, cwd=tmp_path, env={}).stderr == ""
    (year,) = tmp_path.glob("it's *")
    assert {path.name for path in year.iterdir()} == {"run", "run-2", "sweep", "sweep-2"}
    assert len(list(year.glob("sweep*/[01]/statistics.json"))) == 4
    assert len(list(year.glob("sweep*/sweep.csv"))) == 2


def test_a_page_that_is_built_later_is_of_the_run(tmp_path: Path) -> None:
    command(*SMALL, "hydra.run.dir=OUT", cwd=tmp_path, env={})
    command("report", "OUT", cwd=tmp_path, env={})
    listed = files.read_run_json(tmp_path / "OUT" / files.RUN)["files"]
    assert {files.REPORT, files.SCORES, "figures/ranking.svg"} <= set(listed)
    assert not (tmp_path / "OUT" / LOCK).exists()
    command(*SMALL, "hydra.run.dir=OUT", cwd=tmp_path, env={})
    assert not (tmp_path / "OUT" / files.REPORT).exists()


def test_records_do_not_overwrite_a_file_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "dataset.jsonl").write_text("mine")
    records = [{"image_id": 1, "caption": "a dog", "references": ["a dog"]}]
    with pytest.raises(ConfigError, match=r"holds 'dataset\.jsonl', and no run\.json"):
        metaeval.run("replace", dataset=records, out=tmp_path)
    assert content(tmp_path) == {"dataset.jsonl": b"mine"}


@pytest.mark.slow
def test_runs_in_threads_have_a_folder_and_a_number_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each number is that of the same run alone."""
    monkeypatch.chdir(tmp_path)

    def rho(seed: int, out: str | None) -> tuple[str, float]:
        run = metaeval.run(
            "replace", out=out, dataset="scenes", dataset__limit=20, metrics=["rouge_l"], seed=seed,
            quiet=True, report="none", cache__enabled=False, stats__replicates=10,
        )  # fmt: skip
        return str(run.directory), run.result.metrics[0].numbers.value("rank_order_rho")

    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(rho, range(3), [None] * 3))
    assert len({folder for folder, _ in together}) == 3
    assert [value for _, value in together] == [rho(k, f"alone{k}")[1] for k in range(3)]
