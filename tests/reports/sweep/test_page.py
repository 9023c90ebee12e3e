"""Sweeps gathered from their jobs' files."""

import csv
import html as markup
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from metaeval.errors import InputError
from metaeval.reports.blocks.charts import set_scale
from metaeval.reports.sweep.jobs import (
    JobGroup,
    SweepJob,
    Value,
    as_number,
    constant,
    dose_records,
    groups,
    read_jobs,
    spread,
    swept,
)
from metaeval.reports.sweep.page import chart_points, overview, read_sweep, write_sweep
from metaeval.results.base import Measured
from metaeval.results.files import read_info, read_result, write_info
from metaeval.results.run import Measure, RunInfo
from metaeval.runs import files as results
from tests.reports.graded_results import graded_metric, graded_result
from tests.reports.run_files import IMAGES, write_run


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two rates × two seeds, and a job that did not finish."""
    root = tmp_path_factory.mktemp("sweep")
    jobs = [(rate, seed) for rate in ("[0.1]", "[0.4]") for seed in (0, 1)]
    for k, (rate, seed) in enumerate(jobs):
        write_run(root / str(k), IMAGES[: 4 + k], seed=10 * k)
        overrides(root / str(k), f"corruption.rates={rate}", f"seed={seed}", "+x=<b>")
    (root / "0" / results.REPORT).write_text("a page")
    overrides(root / "5", "seed=2", status="failed", error="seed is <no> number")
    (root / "not a job").mkdir()
    write_sweep(root)
    return root


def overrides(job: Path, *given: str, status: str = "finished", error: str | None = None) -> None:
    """Write into a job's run.json its overrides, and how it ended."""
    path = job / results.RUN
    info = read_info(path) if path.exists() else RunInfo(status="unfinished")
    fields = {name: getattr(info, name) for name in RunInfo.model_fields}
    write_info(path, RunInfo(**{**fields, "overrides": given, "status": status, "error": error}))


def numbers_of_job(folder: Path, metric: str) -> Measured:
    numbers: Measured = read_result(folder / results.STATISTICS).metric(metric).numbers
    return numbers


def test_csv_has_every_job_and_metric(sweep: Path) -> None:
    rows = list(csv.DictReader((sweep / "sweep.csv").open()))
    assert [(r["job"], r["metric"]) for r in rows] == [
        (str(job), metric) for job in range(4) for metric in ("SacreBLEU", "chrF")
    ]
    for row in rows:
        numbers = numbers_of_job(sweep / row["job"], row["metric"])
        for key, estimate in numbers.values.items():
            assert float(row[key]) == estimate.value
        low = numbers["rank_order_rho"].low
        assert row["rank_order_rho_ci_low"] == ("" if low is None else str(low))
    assert (rows[2]["corruption.rates"], rows[2]["seed"]) == ("[0.1]", "1")


def test_page_shows_mean_and_deviation_over_seeds(sweep: Path) -> None:
    html = (sweep / "sweep.html").read_text()
    assert "corruption.rates ([0.1], [0.4]); seed (2 values)" in markup.unescape(html)
    for pair in ((0, 1), (2, 3)):
        rho = [numbers_of_job(sweep / str(k), "chrF").value("rank_order_rho") for k in pair]
        assert f"{np.mean(rho):.3f} ± {np.std(rho, ddof=1):.3f}" in html
    assert "x=&lt;b&gt;" in html
    assert "<b>" not in html.split('id="sweep-rank_order_rho"')[1]
    assert 'href="0/report.html"' in html
    assert 'href="1/report.html"' not in html  # it has no page


def test_jobs_that_failed_and_jobs_that_are_missing_are_named(sweep: Path, tmp_path: Path) -> None:
    html = markup.unescape((sweep / "sweep.html").read_text())
    assert "Without statistics: job 4, 5." in html
    assert "did not finish: seed is <no> number" in html
    assert "did not finish: it has no files" in html
    assert "4 of 6 jobs finished" in html
    for k in (0, 1):
        write_run(tmp_path / str(k), IMAGES[:4], seed=k)
        overrides(tmp_path / str(k), f"seed={k}")
    write_sweep(tmp_path)
    complete = (tmp_path / "sweep.html").read_text()
    assert [part for part in ("Without statistics", "did not finish") if part in complete] == []


def test_same_files_same_bytes(sweep: Path) -> None:
    names = ("sweep.html", "sweep.svg", "sweep.pdf", "tables/sweep-rank_order_rho.tex")
    before = [(sweep / name).read_bytes() for name in names]
    write_sweep(sweep)
    assert [(sweep / name).read_bytes() for name in names] == before


def test_nothing_to_gather_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no job of this sweep"):
        write_sweep(tmp_path)
    with pytest.raises(InputError, match="directory not found"):
        write_sweep(tmp_path / "absent")
    overrides(tmp_path / "0", status="failed", error="the disk is full")
    with pytest.raises(InputError, match="the disk is full"):
        write_sweep(tmp_path)


def test_runs_of_anybody_are_gathered_at_any_depth(tmp_path: Path) -> None:
    """Folders of runs that no sweep made, one of them inside another's neighbour."""
    for name in ("a/first", "a/second", "b"):
        write_run(tmp_path / name, IMAGES[:4])
        overrides(tmp_path / name, f"dataset.limit={len(name)}")
    assert [job.name for job in read_jobs(tmp_path)] == ["a/first", "a/second", "b"]
    assert read_sweep(tmp_path).parameters == ["dataset.limit"]


def test_what_was_swept() -> None:
    jobs = [{"a": "1", "seed": s, "b": b} for s in "012" for b in ("x", "y")] + [{"seed": "0"}]
    assert swept(jobs) == ["b", "a"]
    # an axis comes first, whatever the number of categories
    assert swept([{"n": n, "c": c} for n in "12" for c in "xyz"]) == ["n", "c"]
    assert [as_number(v) for v in ("0.1", "[0.1]", "[0.1,0.2]", "abc")] == [0.1, 0.1, None, None]
    assert constant([{"a": "1", "b": "2"}, {"a": "1", "b": "3"}, {"a": "1"}]) == {"a": "1"}


def job(rho: Mapping[str, float], **given: str) -> SweepJob:
    """A graded job whose metrics have these ρ; a name that begins with "c" is a control's."""
    metrics = [
        graded_metric({"metric": m, "control": m.startswith("c"), "rank_order_rho": v,
                       "rank_order_rho_ci": [v - 0.1, v + 0.1]})
        for m, v in rho.items()
    ]  # fmt: skip
    return SweepJob("0", given, graded_result(metrics))


RHO = Measure("rank_order_rho", "rank-order ρ")


def overview_of(*jobs: SweepJob) -> dict[str, str | None]:
    """What the overview says of ρ."""
    return overview(groups(jobs, swept([j.overrides for j in jobs])), RHO, frozenset({"c"}))


def test_groups_are_ordered_by_number_and_average_their_seeds() -> None:
    made = groups([job({"m": v}, r=r) for r, v in (("10", 0.5), ("9", 0.2), ("9", 0.4))], ["r"])
    assert [(g.label, g.jobs) for g in made] == [("r=9", 2), ("r=10", 1)]
    nine = made[0].values[RHO]["m"]
    assert nine.mean == pytest.approx(0.3)
    assert nine.sd == pytest.approx(np.std([0.2, 0.4], ddof=1))
    assert nine.ci == pytest.approx((0.2, 0.4))
    assert made[1].values[RHO]["m"].sd is None
    assert spread([Value(1.0, (0.0, 2.0)), Value(2.0)]).ci is None  # not of all


A, B = {"x": 0.9, "y": 0.5, "z": 0.1}, {"x": 0.2, "y": 0.5, "z": 0.7}


@pytest.mark.parametrize(
    ("jobs", "highest", "apart"),
    [
        ([job(A, r="1"), job(A, r="2")], "x in r=1 and r=2", "2 of 2"),
        ([job(A, r="1"), job(B, r="2")], "x in r=1; z in r=2", "1 of 2"),  # ± 0.1: z, y overlap
        ([job(A)], "x in all jobs", "1 of 1"),
        ([job(B)], "z in all jobs", "0 of 1"),
        # a control leads no metric
        ([job({"c": 1.0, "x": 0.1, "y": 0.2})], "y in all jobs", "0 of 1"),
    ],
)
def test_who_leads(jobs: list[SweepJob], highest: str, apart: str) -> None:
    made = overview_of(*jobs)
    assert (made["highest value"], made["interval apart"]) == (highest, apart)


@pytest.mark.parametrize(
    ("jobs", "tau"),
    [
        ([job(A, r="1"), job(A, r="2")], "1.00 (r=1 and r=2)"),
        ([job(A, r="1"), job(B, r="2")], "−1.00 (r=1 and r=2)"),
        ([job(A, r="1"), job(A | {"w": 0.3}, r="2")], "1.00 (r=1 and r=2)"),
        # two metrics have no orders worth comparing
        ([job({"x": 0.9, "y": 0.5}, r="1"), job({"x": 0.9, "y": 0.5}, r="2")], None),
    ],
)
def test_whether_the_order_stays(jobs: list[SweepJob], tau: str | None) -> None:
    assert overview_of(*jobs)["least alike orders (τ)"] == tau


def test_what_seeds_do() -> None:
    def said(*values: float, key: str = "seed") -> str | None:
        jobs = [job({"x": value}, **{key: str(k)}) for k, value in enumerate(values)]
        return overview_of(*jobs)["greatest sd over seeds"]

    assert (said(0.5, 0.7), said(0.5, 0.5)) == ("0.1414 (x, all jobs)", "0.0000 (x, all jobs)")
    assert said(0.5, 0.7, key="r") is None


def test_a_job_without_files_says_so(tmp_path: Path) -> None:
    """Numbers that are left out, and folders without run.json; a finished job has no error."""
    (tmp_path / "0").mkdir()
    write_run(tmp_path / "2", IMAGES[:4])
    errors = {j.name: j.error for j in read_jobs(tmp_path)}
    assert errors == {
        "0": "ended before it wrote anything", "1": "it has no files", "2": "",
    }  # fmt: skip


def test_jobs_of_several_rates_and_seeds_make_curves(tmp_path: Path) -> None:
    """Three jobs of a rate each and two seeds give what one run with three rates would."""
    images = IMAGES[:5]
    rng = np.random.default_rng(0)
    table = {0: rng.normal(size=(5, 5)), 1: rng.normal(size=(5, 5))}
    for seed, values in table.items():
        values[:, 0] = table[0][:, 0]  # Human is the same whatever the seed
        for k, rate in enumerate((0.1, 0.2, 0.4), start=1):
            folder = tmp_path / str(3 * seed + k - 1)
            sets = (("Random", 0, None, 4), (f"Replace {100 * rate:g}%", 1, rate, k),
                    ("Human", 2, None, 0))  # fmt: skip
            captions = pd.DataFrame([
                {"image_id": image, "set": name, "level": level, "caption": f"{name} {image}",
                 "source_caption": "s", "applied": True, "expected": "lower",
                 "requested_rate": asked, "realised_rate": asked, "effect": None, "harm": None,
                 "severity": None, "edits": []}
                for name, level, asked, _ in sets for image, _, _ in images
            ])  # fmt: skip
            scores = {"m": np.concatenate([values[:, place] for *_, place in sets])}
            scores["unlike"] = np.repeat([0.0, rate, 2.0 + rate], 5)  # Human differs by job
            scores["ceiling"] = np.repeat([0.0, 1.0, 2.0], 5)
            write_run(folder, images, captions=captions, scores=scores, run={"seed": seed})
            overrides(folder, f"corruption.rates=[{rate}]", f"seed={seed}")
    points, (row,) = dose_records(tmp_path, read_jobs(tmp_path))
    assert (row["corruption"], row["metric"], row["seeds"]) == ("Replace", "m", 2)
    assert row["change_to_floor"] is not None
    assert [point["dose"] for point in points] == [0.0, 0.1, 0.2, 0.4]
    by_hand = np.mean(
        [(t[:, 1:4] - t[:, :1]) / t.std(axis=1, keepdims=True) for t in table.values()], axis=(0, 1)
    )
    np.testing.assert_allclose([point["change"] for point in points], [0.0, *by_hand])
    page = write_sweep(tmp_path).read_text()
    assert "Dose and response" in page
    names = ("figures/dose.pdf", "tables/dose.tex", "tables/dose-points.csv")
    assert all((tmp_path / name).is_file() for name in names)


def test_figure_is_drawn_from_the_same_numbers(sweep: Path) -> None:
    svg = (sweep / "sweep.svg").read_bytes()
    for text in (b"corruption.rates", b"SacreBLEU", b"chrF", b"rank-order"):
        assert text in svg
    assert "capped bars" in (sweep / "sweep.html").read_text()


@pytest.mark.parametrize(
    ("values", "scale"),
    [((10, 100, 1000), "log"), ((0, 10, 100, 1000), "symlog"), ((0, 10, 100), "linear"),
     ((1, 2, 3), "linear"), ((-1, 10, 1000), "linear")],
)  # fmt: skip
def test_values_far_apart_have_a_logarithmic_axis(values: tuple[int, ...], scale: str) -> None:
    axes = Figure().add_subplot()
    set_scale(axes, list(values))
    assert axes.get_xscale() == scale
    assert [t.get_text() for t in axes.get_xticklabels()] == [str(v) for v in values]


def test_numbers_make_an_axis_and_categories_are_points() -> None:
    def members(*values: str) -> list[JobGroup]:
        of_seeds = spread([Value(0.5, (0.4, 0.6)), Value(0.7, (0.6, 0.8))])
        return [JobGroup((("a", v), ("b", "x")), 2, {RHO: {"m": of_seeds}}) for v in values]

    numbers = chart_points(members("[0.1]", "0.2"), [RHO], frozenset())
    assert [point["x"] for point in numbers] == [0.1, 0.2]
    assert (numbers[0]["low"], numbers[0]["high"]) == pytest.approx((0.5, 0.7))
    assert numbers[0]["sd"] == pytest.approx(np.std([0.5, 0.7], ddof=1))
    assert numbers[0]["panel"] == "rank-order ρ, b=x"
    texts = chart_points(members("scenes", "coco"), [RHO], frozenset({"m"}))
    assert [(point["x"], point["control"]) for point in texts] == [
        ("scenes", True),
        ("coco", True),
    ]
    assert chart_points([JobGroup((), 1, {})], [RHO], frozenset()) == []
