"""`python -m reports DIR`: the directory's own files decide what it writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from metaeval.reports.__main__ import main
from metaeval.runs import files
from tests.reports.run_files import write_run


def test_a_run_gets_its_report_and_a_sweep_is_gathered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for k in range(2):
        write_run(tmp_path / str(k), seed=k)
    assert main([str(tmp_path / "0"), "--no-figures", "--photos", "2"]) == 0
    assert not (tmp_path / "0" / "figures").exists()
    assert main([str(tmp_path / "1"), "--explanations", "0"]) == 0
    drawn = {path.name for path in (tmp_path / "1" / "figures").iterdir()}
    assert drawn == {f"{n}.{form}" for n in ("ranking", "histograms") for form in ("svg", "pdf")}
    assert main([str(tmp_path)]) == 0
    pages = [tmp_path / "0/report.html", tmp_path / "1/report.html", tmp_path / "sweep.html"]
    assert capsys.readouterr().out.split() == [str(page) for page in pages]
    assert all(page.is_file() for page in pages)


def test_an_option_that_the_page_does_not_have_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path / "0")
    with pytest.raises(SystemExit):
        main([str(tmp_path), "--no-figures", "--photos", "2"])
    assert "has no --no-figures, --photos" in capsys.readouterr().err
    assert not (tmp_path / "sweep.html").exists()


def test_what_is_no_run_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "gone")]) == 2
    assert "file not found; give the directory of a finished run" in capsys.readouterr().err
    run = write_run(tmp_path / "0")
    statistics = files.read_json(run / files.STATISTICS)
    files.write_json(run / files.STATISTICS, statistics | {"experiment": 7})
    assert main([str(run)]) == 2
    assert "statistics.json, field 'experiment': " in capsys.readouterr().err
    del statistics["metrics"][0]["family"]
    files.write_json(run / files.STATISTICS, statistics)
    assert main([str(run)]) == 2
    error = capsys.readouterr().err
    assert "field 'metrics.0.family': Field required" in error


def test_what_a_page_misses_in_a_run_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "0")
    info = files.read_json(run / files.RUN)
    del info["stages"][0]["seconds"]
    files.write_json(run / files.RUN, info)
    assert main([str(run)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "field 'stages.0.seconds': Field required" in line
