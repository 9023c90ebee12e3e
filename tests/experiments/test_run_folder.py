"""A run's folder contains one run, also after a failure; write errors are one line."""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from omegaconf import DictConfig, open_dict

from metaeval.errors import ConfigError, InputError, StageError
from metaeval.experiments.run import run_configured
from metaeval.java import services
from metaeval.runs import files
from metaeval.runs.store import MemoryStore
from tests.runs.test_folder import content
from tests.shared import composed, write_json

SMALL = ("dataset=scenes", "dataset.limit=8", "stats.replicates=10", "metric=[bleu]",
         "controls=[]", "metric.bleu.tokenizer=whitespace", "report=none")  # fmt: skip


def configured(tmp_path: Path, *overrides: str) -> DictConfig:
    return composed(tmp_path, "experiment=replace", *SMALL, *overrides)


def status(out: Path) -> Any:
    return files.read_run_json(out / files.RUN)["status"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run, with its cache."""
    folder = tmp_path_factory.mktemp("finished")
    run_configured(configured(folder), folder / "OUT")
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["seed=abc"], "seed: 'abc'"),  # by the schema
        (["metric.bleu.max_n=0"], "max_n"),  # by a metric
        (["dataset=coco", "dataset.captions={}/captions_broken.json"], "captions_broken"),  # data
        (  # what the run would remove is not read by it
            ["+metric@metric.scores=scores", "metrics=[scores]",
             "metric.scores.file={}/OUT/captions.parquet"],
            r"captions\.parquet' is read by this run, which would",
        ),
    ],
    ids=["schema", "metric", "data", "own"],
)  # fmt: skip
def test_a_run_that_is_refused_leaves_an_earlier_one_as_it_was(
    options: list[str], problem: str, folder: Path
) -> None:
    out = folder / "OUT"
    before = content(out)
    (folder / "captions_broken.json").write_text('{"images": [')
    given = [option.replace("{}", str(folder)) for option in options]
    with pytest.raises((ConfigError, InputError), match=problem):
        run_configured(configured(folder, *given), out)
    assert (content(out), status(out)) == (before, "finished")


def test_a_run_of_bleu_starts_no_java_and_keeps_no_journal_of_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services._probe.cache_clear()  # what starts `java -version`
    monkeypatch.delitem(sys.modules, "metaeval.metrics.judge.metric", raising=False)
    monkeypatch.setattr("metaeval.experiments.run.record_answers", None)
    run_configured(configured(tmp_path), tmp_path / "OUT")
    assert services._probe.cache_info().misses == 0
    assert files.read_run_json(tmp_path / "OUT" / files.RUN)["java"] is None


def test_nothing_of_an_earlier_run_is_left_with_a_new_one(finished: Path, tmp_path: Path) -> None:
    """With every option that makes a file; what the user put next to it stays."""
    out = tmp_path / "OUT"
    options = ("report=default", "report.figures=false", "corruption.seeds=2")
    run_configured(configured(tmp_path, *options), out)
    made = {files.REPORT, files.EXPLANATIONS, files.SEED_SCORES, "tables/measures.csv"}
    known = {files.RUN, *files.read_run_json(out / files.RUN)["files"]}
    assert made < set(content(out)) == known
    half = dict.fromkeys((".scores.parquet.abc123", "tables/.measures.csv.xyz", ".run.json.k"), b"")
    mine = {"notes.txt": b"mine", "tables/mine.csv": b"mine", "tables/.mine.csv.k": b"mine"}
    for name, text in (mine | half).items():
        (out / name).write_bytes(text)
    run_configured(configured(tmp_path), out)
    left = content(out)
    assert mine.items() <= left.items()
    assert set(left) - set(mine) == set(content(finished / "OUT"))


def test_a_file_of_the_user_is_not_overwritten(folder: Path) -> None:
    report = folder / "OUT" / files.REPORT
    report.write_text("mine")
    config = configured(folder, "report=default", "report.figures=false")
    with pytest.raises(StageError, match=r"report\.html: is there, and no run wrote it; move it"):
        run_configured(config, folder / "OUT")
    assert report.read_text() == "mine"


def test_until_the_end_a_run_is_unfinished_and_if_it_breaks_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, seen = tmp_path / "OUT", []
    put_many = MemoryStore.put_many

    def watching(self: MemoryStore, *args: Any) -> None:
        seen.append(status(out))
        put_many(self, *args)

    monkeypatch.setattr(MemoryStore, "put_many", watching)
    config = configured(tmp_path, "cache.enabled=false")
    run_configured(config, out)
    assert (set(seen), status(out)) == ({"unfinished"}, "finished")

    def breaking(*_: Any, **__: Any) -> None:
        raise RuntimeError("a bolt is loose")

    monkeypatch.setattr("metaeval.experiments.graded.task.statistics", breaking)
    with pytest.raises(RuntimeError):
        run_configured(config, out)
    info, there = files.read_run_json(out / files.RUN), (out / files.STATISTICS).exists()
    assert (info["status"], info["error"], there) == (
        "failed", "RuntimeError: a bolt is loose", False,
    )  # fmt: skip


def test_the_refusal_is_recorded_without_a_run(tmp_path: Path) -> None:
    out = tmp_path / "OUT"
    out.mkdir()
    with pytest.raises(ConfigError):
        run_configured(configured(tmp_path, "seed=abc"), out)
    info = files.read_run_json(out / files.RUN)
    made = (info["status"], info["error"][:11], set(content(out)))
    assert made == ("failed", "seed: 'abc'", {files.RUN})


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        pytest.param("a.json", "No space left on device", marks=pytest.mark.skipif(
            not Path("/dev/full").exists(), reason="needs /dev/full"
        )),
        ("file/OUT/run.json", "Not a directory"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_written_is_a_line_and_leaves_no_half(
    path: str, problem: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")

    def to_full_disk(temporary: Path) -> None:
        Path("/dev/full").write_text("x" * 100_000)

    with pytest.raises(InputError, match=rf"{Path(path).name}.*cannot be written \({problem}\)"):
        files.atomic(tmp_path / path, to_full_disk)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    raw = os.fsdecode(b"caf\xe9")
    files.write_json(tmp_path / "a.json", {"working_directory": f"/{raw}"})
    assert files.read_run_json(tmp_path / "a.json") == {"working_directory": f"/{raw}"}
    with pytest.raises(ConfigError, match="is not UTF-8"):
        run_configured(configured(tmp_path), tmp_path / raw)
    config = configured(tmp_path, "dataset=coco", "dataset.captions=x")
    config.dataset.captions = f"/{raw}"
    with pytest.raises(
        ConfigError, match=r"dataset.captions: '/caf\\udce9' contains an unpaired surrogate"
    ):
        run_configured(config, tmp_path / "OUT")


@pytest.mark.slow
def test_captions_of_thousands_of_words_are_cut_in_the_page_and_not_explained(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A caption of 3,000 words: scored as any other, shown to its 2,000th character."""
    words = " ".join(f"word{k % 700}" for k in range(3000))
    content = {
        "images": [{"id": k, "file_name": f"{k}.jpg"} for k in range(1, 7)],
        "annotations": [
            {"id": 10 * k + j, "image_id": k,
             "caption": words if (k, j) == (1, 0) else f"a dog number {k} runs over grass {j}"}
            for k in range(1, 7) for j in range(5)
        ],
    }  # fmt: skip
    path, out = write_json(tmp_path / "captions_long.json", content), tmp_path / "OUT"
    run_configured(
        configured(
            tmp_path, "dataset=coco", f"dataset.captions={path}", "metric=[bleu,bertscore]",
            "corruption.min_count=1", "report=default", "device=cpu", "dataset.limit=null",
        ),
        out,
    )  # fmt: skip
    # its own image, and the one that got it as its Random caption
    assert "2 images are not explained: a caption or reference has more than 300" in caplog.text
    info = files.read_run_json(out / files.EXPLANATIONS)
    assert (info["left_out"], len(info["metrics"]["bertscore"]["images"])) == (2, 4)
    assert files.read_run_table(out / files.SCORES)["score"].notna().all()
    page = (out / files.REPORT).read_text(encoding="utf-8")
    assert (len(page.encode()) < 500_000, words[:2100] in page) == (True, False)


class FailingReport:
    """A user's report that fails on a missing value."""

    explanations = 0

    def __call__(self, out: Path) -> None:
        raise TypeError("unsupported operand type(s) for -: 'NoneType' and 'float'")


def test_a_report_that_fails_leaves_scores_and_statistics(tmp_path: Path) -> None:
    out = tmp_path / "OUT"
    config = configured(tmp_path)
    with open_dict(config):
        config.report = {"_target_": f"{__name__}.{FailingReport.__name__}"}
    with pytest.raises(StageError, match="report failed: TypeError: unsupported") as failed:
        run_configured(config, out)
    run = files.read_run_json(out / files.RUN)
    broken = [stage["name"] for stage in run["stages"] if stage.get("error")]
    assert (failed.value.exit_code, run["status"], broken) == (1, "finished", ["report"])
    assert {files.SCORES, files.STATISTICS} <= set(content(out))
