"""Sweeps gathered from their jobs' files."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from metaeval.errors import InputError
from metaeval.runs import files as results
from reports.sweep.groups import groups, number, swept
from reports.sweep.page import write_sweep
from tests.reports.run_files import IMAGES, write_run


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two rates × two seeds, and a job that did not finish."""
    root = tmp_path_factory.mktemp("sweep")
    jobs = [(rate, seed) for rate in ("[0.1]", "[0.4]") for seed in (0, 1)]
    for k, (rate, seed) in enumerate(jobs):
        write_run(root / str(k), IMAGES[: 4 + k], seed=10 * k)
        overrides(root / str(k), f"corruption.rates={rate}", f"seed={seed}", "+x=<b>")
    overrides(root / "10", "seed=2", status="failed", error="seed is <no> number")
    (root / "not a job").mkdir()
    write_sweep(root)
    return root


def overrides(job: Path, *given: str, status: str = "finished", error: str | None = None) -> None:
    """Write into a job's run.json how it was asked for, and what became of it."""
    path = job / results.RUN
    info = results.read_json(path) if path.exists() else {}
    results.write_json(path, {**info, "overrides": given, "status": status, "error": error})


def test_csv_has_every_job_and_metric(sweep: Path) -> None:
    rows = list(csv.DictReader((sweep / "sweep.csv").open()))
    assert [(r["job"], r["metric"]) for r in rows] == [
        (str(job), metric) for job in range(4) for metric in ("SacreBLEU", "chrF")
    ]
    for row in rows:
        record = results.read_json(sweep / row["job"] / "statistics.json")["metrics"]
        rho = next(r["rank_order_rho"] for r in record if r["metric"] == row["metric"])
        assert float(row["rank_order_rho"]) == rho
    assert rows[2]["corruption.rates"] == "[0.1]"
    assert rows[2]["seed"] == "1"


def test_page_shows_mean_and_deviation_over_seeds(sweep: Path) -> None:
    html = (sweep / "sweep.html").read_text()
    for pair in ((0, 1), (2, 3)):
        rho = [
            results.read_json(sweep / str(k) / "statistics.json")["metrics"][1]["rank_order_rho"]
            for k in pair
        ]
        assert f"{np.mean(rho):.3f} ± {np.std(rho, ddof=1):.3f}" in html
    assert "Without statistics: job 10." in html
    assert "did not finish: seed is &lt;no&gt; number" in html
    assert "x=&lt;b&gt;" in html
    assert "<b>" not in html.replace("<b>chrF</b>", "").replace("<b>SacreBLEU</b>", "")
    assert 'href="0/report.html"' in html


def test_same_files_same_bytes(sweep: Path) -> None:
    before = (sweep / "sweep.html").read_bytes()
    write_sweep(sweep)
    assert (sweep / "sweep.html").read_bytes() == before


def test_nothing_to_gather_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no job of this sweep"):
        write_sweep(tmp_path)
    with pytest.raises(InputError, match="no such directory"):
        write_sweep(tmp_path / "absent")


def test_what_was_swept() -> None:
    jobs = [{"a": "1", "seed": s, "b": b} for s in "012" for b in ("x", "y")] + [{"seed": "0"}]
    assert swept(jobs) == ["b", "a"]
    assert [number(v) for v in ("0.1", "[0.1]", "[0.1,0.2]", "abc")] == [0.1, 0.1, None, None]
    statistics = {"metrics": [{"status": "failed", "metric": "m"}]}
    made = groups([({"r": v}, statistics) for v in ("10", "9", "9")], ["r"])
    assert [(g.label, g.jobs) for g in made] == [("r=9", 2), ("r=10", 1)]


def test_figure_is_drawn_from_the_same_numbers_twice_the_same(sweep: Path) -> None:
    svg = (sweep / "sweep.svg").read_bytes()
    for text in (b"corruption.rates", b"SacreBLEU", b"chrF", b"rank-order"):
        assert text in svg
    write_sweep(sweep)
    assert (sweep / "sweep.svg").read_bytes() == svg
