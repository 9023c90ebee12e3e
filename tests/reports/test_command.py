"""`metaeval report DIR`: the directory's own files decide what it writes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metaeval.cli.main import run_verb
from metaeval.runs import files
from tests.reports.run_files import IMAGES, write_run


def test_a_run_gets_its_report_and_a_sweep_is_gathered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for k in range(2):
        write_run(tmp_path / str(k), seed=k)
    write_run(tmp_path / "deep" / "er" / "0", IMAGES[:4])
    assert run_verb(["report", str(tmp_path / "0"), "--no-figures", "--photos", "2"]) == 0
    assert not (tmp_path / "0" / "figures").exists()
    assert run_verb(["report", str(tmp_path / "1"), "--explanations", "0"]) == 0
    drawn = {path.name for path in (tmp_path / "1" / "figures").iterdir()}
    assert drawn == {
        f"{n}.{form}" for n in ("ranking", "histograms", "ranks") for form in ("svg", "pdf")
    }
    assert run_verb(["report", str(tmp_path)]) == run_verb(["report", str(tmp_path / "deep")]) == 0
    names = ("0/report.html", "1/report.html", "sweep.html", "deep/sweep.html")
    pages = [tmp_path / name for name in names]
    assert capsys.readouterr().out.split() == [str(page) for page in pages]
    assert all(page.is_file() for page in pages)


def test_an_option_that_the_page_does_not_have_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path / "0")
    assert run_verb(["report", str(tmp_path), "--no-figures", "--photos", "2"]) == 2
    assert "has no --no-figures, --photos" in capsys.readouterr().err
    assert not (tmp_path / "sweep.html").exists()


@pytest.mark.parametrize(
    ("name", "harm", "problem"),
    [
        ("statistics.json", lambda v: {**v, "extras": 3}, ", field 'extras': "),
        (
            "statistics.json",
            lambda v: {**v, "metrics": [{"column": v["metrics"][0]["column"]}]},
            ", field 'metrics.0.family': Field",
        ),
        ("statistics.json", lambda v: [], ": is not a file of a run"),
        ("run.json", lambda v: [], ": is not a file of a run"),
        ("run.json", lambda v: {**v, "dataset": 5}, ", field 'dataset': "),
        ("scores.parquet", None, ": file not found"),
        ("statistics.json", None, ": file not found; give the directory of a finished run"),
    ],
)
def test_a_damaged_run_is_one_clear_line(
    name: str,
    harm: Callable[[Any], Any] | None,
    problem: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = write_run(tmp_path, IMAGES[:4]) / name
    if harm is None:
        path.unlink()
    else:
        files.write_json(path, harm(files.read_run_json(path)))
    assert run_verb(["report", str(tmp_path), "--no-figures"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{path}{problem}" in line
