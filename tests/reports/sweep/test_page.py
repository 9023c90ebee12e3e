"""Sweeps gathered from their jobs' files: a result with the measures of the jobs by settings."""

import csv
import html as markup
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.stats import kendalltau

from metaeval.errors import InputError
from metaeval.reports.blocks.charts import set_scale
from metaeval.reports.sweep.jobs import Jobs, SweepJob, as_number, read_jobs, settings_of, swept
from metaeval.reports.sweep.page import write_sweep
from metaeval.reports.sweep.result import sweep_result
from metaeval.results.base import Estimate, Measured, MetricResult, Test
from metaeval.results.comparison import Comparison, Comparisons
from metaeval.results.files import read_info, read_result, write_info
from metaeval.results.measured import MeasuredResult
from metaeval.results.run import Measure, RunInfo
from metaeval.results.sentences import bold_names, sentences
from metaeval.runs import files as results
from metaeval.runs.records import ScoreColumn
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
    return read_result(folder / results.STATISTICS).metric(metric).numbers


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
    means, spreads = html.split('id="metrics"', 1)[1], html.split("deviation over seeds", 1)[1]
    for pair in ((0, 1), (2, 3)):
        rho = [numbers_of_job(sweep / str(k), "chrF").value("rank_order_rho") for k in pair]
        assert f"{np.mean(rho):.3f}" in means.split("</table>")[0]
        assert f"{np.std(rho, ddof=1):.3f}" in spreads
    assert "x=&lt;b&gt;" in html
    assert 'href="0/report.html"' in html
    assert 'href="1/report.html"' not in html  # it has no page


def test_jobs_that_failed_and_jobs_that_are_missing_are_named(sweep: Path, tmp_path: Path) -> None:
    said = (
        "Without statistics: job 4, 5.",
        "did not finish: seed is <no> number (seed=2)",
        "did not finish: it has no files",
        "4 of 6 jobs finished",
    )
    write_run(tmp_path / "0", IMAGES[:4])
    overrides(tmp_path / "0", "seed=0")
    write_sweep(tmp_path)
    whole = markup.unescape((sweep / "sweep.html").read_text())
    complete = (tmp_path / "sweep.html").read_text()
    assert [text in whole for text in said] == [True] * 4
    assert [text[:14] in complete for text in said[:3]] == [False] * 3


def test_same_files_same_bytes(sweep: Path) -> None:
    names = ("sweep.html", "sweep.json", "figures/curves.svg", "tables/measures.tex")
    before = [(sweep / name).read_bytes() for name in names]
    write_sweep(sweep)
    assert [(sweep / name).read_bytes() for name in names] == before
    assert b"corruption.rates" in before[2]


def test_nothing_to_gather_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    overrides(tmp_path / "full" / "0", status="failed", error="the disk is full")
    for folder, problem in (
        ("empty", "no job of this sweep"),
        ("absent", "directory not found"),
        ("full", "the disk is full"),
    ):
        with pytest.raises(InputError, match=problem):
            write_sweep(tmp_path / folder)


def test_runs_of_anybody_are_gathered_at_any_depth(tmp_path: Path) -> None:
    """Folders of runs that no sweep made, one of them inside another's neighbour."""
    for name in ("a/first", "a/second", "b"):
        write_run(tmp_path / name, IMAGES[:4])
        overrides(tmp_path / name, f"dataset.limit={len(name)}")
    assert [job.name for job in read_jobs(tmp_path).finished] == ["a/first", "a/second", "b"]
    write_sweep(tmp_path)
    assert read_result(tmp_path / "sweep.json").facts["Varied"] == "dataset.limit (1, 7, 8)"


def test_what_was_swept() -> None:
    jobs = [{"a": "1", "seed": s, "b": b} for s in "012" for b in ("x", "y")] + [{"seed": "0"}]
    assert swept(jobs) == ["b", "a"]
    # an axis comes first, whatever the number of categories
    assert swept([{"n": n, "c": c} for n in "12" for c in "xyz"]) == ["n", "c"]
    assert [as_number(v) for v in ("0.1", "[0.1]", "[0.1,0.2]", "abc")] == [0.1, 0.1, None, None]


ACCURACY = Measure("accuracy", "accuracy")
MISSED = Measure("missed", "sets missed", unit="count", best="lowest")


def job(
    values: Mapping[str, float],
    *,
    measure: Measure = ACCURACY,
    p: Mapping[str, float] | float | None = None,
    controls: Sequence[str] = (),
    **given: str,
) -> SweepJob:
    """A job with these values of its metrics, intervals of ± 0.1, and p-values of the pairs that
    are named "ab"; a number is the p-value of every pair."""
    names = [name for name in values if name not in controls]
    pairs = [(a, b) for k, a in enumerate(names) for b in names[k + 1 :]]
    of_pairs = {a + b: p for a, b in pairs} if not isinstance(p, Mapping) else p
    made = [
        Comparison(
            a=a, b=b, measure=measure.key, difference=Estimate(value=values[a] - values[b]),
            tests=(Test(p=of_pairs[a + b], p_adjusted=of_pairs[a + b], method="bootstrap"),),
        )
        for a, b in pairs
        if of_pairs.get(a + b) is not None
    ]  # fmt: skip
    entries = [
        MetricResult(
            column=ScoreColumn(name, control=name in controls),
            family=name,
            statistics=Measured(values={measure.key: Estimate(value=x, low=x - 0.1, high=x + 0.1)}),
        )
        for name, x in values.items()
    ]
    comparisons = Comparisons(measure=measure.key, alpha=0.05, pairs=tuple(made))
    result = MeasuredResult(
        experiment="retrieval", dataset="own", metrics=tuple(entries), declared=(measure,),
        comparisons={measure.key: comparisons},
    )  # fmt: skip
    info = RunInfo(status="finished", overrides=tuple(f"{k}={v}" for k, v in given.items()))
    return SweepJob("0", info, result)


def result_of(*jobs: SweepJob) -> MeasuredResult:
    return sweep_result(Jobs(list(jobs), {}))


def test_settings_are_ordered_by_number_and_average_their_seeds() -> None:
    jobs = [job({"m": v}, r=r) for r, v in (("10", 0.5), ("9", 0.2), ("9", 0.4))]
    assert [s.label for s in settings_of(jobs, ["r"])] == ["r=9 (2 jobs)", "r=10"]
    numbers = result_of(*jobs).metric("m").numbers
    nine, ten = numbers["accuracy, r=9 (2 jobs)"], numbers["accuracy, r=10"]
    assert (nine.value, nine.interval) == (pytest.approx(0.3), pytest.approx((0.2, 0.4)))
    assert numbers.value("accuracy, r=9 (2 jobs), sd") == pytest.approx(np.std([0.2, 0.4], ddof=1))
    assert (ten.value, numbers.value("accuracy, r=10, sd")) == (0.5, None)
    # an axis ascends, categories stand as they came, those of the first parameter together
    given = [{"c": c, "r": r} for c in ("y", "x") for r in ("10", "9")]
    settings = settings_of([job({"m": 1}, **each) for each in given], ["c", "r"])
    assert [s.label for s in settings] == ["c=y, r=9", "c=y, r=10", "c=x, r=9", "c=x, r=10"]


A, B = {"x": 0.9, "y": 0.5, "z": 0.1}, {"x": 0.2, "y": 0.5, "z": 0.7}
CLEAR, OPEN = 0.01, 0.5


@pytest.mark.parametrize(
    ("jobs", "answer", "bold"),
    [
        ([job(A, p=CLEAR, r="1"), job(A, p=CLEAR, r="2")], "x leads in r=1 and r=2", ["x", "x"]),
        ([job(A, p=CLEAR, r="1"), job(B, p={"xy": CLEAR, "xz": CLEAR, "yz": OPEN}, r="2")],
         "x leads in r=1; z leads, not separated from y, in r=2", ["x", "yz"]),
        ([job(B, p=OPEN)], "no test separates z from any other in all jobs", ["xyz"]),
        ([job(B)], "z has the highest value (no test) in all jobs", [""]),
        ([job({"x": 0.5})], "only x has a value in all jobs", [""]),
        # a control leads no metric
        ([job({"c": 1.0, "x": 0.1, "y": 0.2}, p=CLEAR, controls="c")], "y leads in all jobs",
         ["y"]),
        # "sets missed": 2 is better than 40
        ([job({"good": 2.0, "bad": 40.0}, measure=MISSED, p=CLEAR)], "good leads in all jobs",
         ["good"]),
        # of two seeds: each must separate them, in one direction
        ([job(A, p=CLEAR, seed="0"), job(A, p=CLEAR, seed="1")], "x leads in all jobs (2 jobs)",
         ["x"]),
        ([job(A, p=CLEAR, seed="0"), job(A, p=OPEN, seed="1")],
         "no test separates x from any other in all jobs (2 jobs)", ["xyz"]),
        ([job(A, p=CLEAR, seed="0"), job(B, p=CLEAR, seed="1")],
         "no test separates x from any other in all jobs (2 jobs)", ["xyz"]),
    ],
)  # fmt: skip
def test_who_leads_by_the_tests_of_the_jobs(
    jobs: list[SweepJob], answer: str, bold: list[str]
) -> None:
    result = result_of(*jobs)
    (sentence,) = sentences(result)
    assert sentence == f"By {jobs[0].result.declared[0].title}: {answer}."
    shown = [measure for measure in result.declared if measure.shown]
    assert ["".join(sorted(bold_names(result, measure))) for measure in shown] == bold


def test_what_is_not_finished_is_the_caveat() -> None:
    result = sweep_result(Jobs([job(A, p=CLEAR)], {"4": "gone", "5": "killed"}))
    assert sentences(result)[-1] == "Without statistics: job 4, 5."
    assert result.facts["Jobs"] == "1 of 3 jobs finished"


@pytest.mark.parametrize(
    ("jobs", "orders"),
    [
        ([job(A, r="1"), job(A, r="2")], "τ 1.00 (r=1 and r=2)"),
        ([job(A, r="1"), job(B, r="2")], "τ −1.00 (r=1 and r=2)"),
        ([job(A, r="1"), job(A | {"w": 0.3}, r="2")], "τ 1.00 (r=1 and r=2)"),
        # two metrics have no orders worth comparing
        ([job({"x": 0.9, "y": 0.5}, r="1"), job({"x": 0.9, "y": 0.5}, r="2")], None),
    ],
)
def test_whether_the_order_stays(jobs: list[SweepJob], orders: str | None) -> None:
    assert kendalltau([0.9, 0.5, 0.1], [0.2, 0.5, 0.7])[0] == pytest.approx(-1)
    line = f"The least alike orders of the metrics by the first measure: {orders}."
    assert result_of(*jobs).notes == (() if orders is None else (line,))


def test_a_job_without_files_says_so_and_a_damaged_one_leaves_the_others(tmp_path: Path) -> None:
    """Numbers that are left out, and folders without run.json."""
    (tmp_path / "0").mkdir()
    write_run(tmp_path / "2", IMAGES[:4])
    write_run(tmp_path / "3", IMAGES[:4])
    (tmp_path / "3" / results.STATISTICS).write_text("{")
    jobs = read_jobs(tmp_path)
    damaged = jobs.unfinished.pop("3")
    assert [job.name for job in jobs.finished] == ["2"]
    assert jobs.unfinished == {"0": "ended before it wrote anything", "1": "it has no files"}
    assert "statistics.json" in damaged


@pytest.mark.parametrize(
    ("values", "scale"),
    [((10, 100, 400), "log"), ((0, 10, 100, 1000), "symlog"), ((0, 10, 100), "linear"),
     ((1, 2, 3, 4, 5, 6, 7, 8), "linear"), ((-1, 10, 1000), "linear")],
)  # fmt: skip
def test_values_far_apart_have_a_logarithmic_axis(values: tuple[int, ...], scale: str) -> None:
    axes = Figure().add_subplot()
    set_scale(axes, list(values))
    assert axes.get_xscale() == scale
    assert [t.get_text() for t in axes.get_xticklabels()] == [str(v) for v in values]


def test_numbers_make_an_axis_and_categories_are_points() -> None:
    def points(*values: str) -> list[dict[str, object]]:
        jobs = [job({"m": 0.5}, a=v, b=b) for v in values for b in ("x", "y")]
        return result_of(*jobs).extra("curves").records

    numbers = points("[0.1]", "0.2")
    assert [(point["x"], point["panel"]) for point in numbers] == [
        (x, f"accuracy, b={b}") for x in (0.1, 0.2) for b in "xy"
    ]
    assert (numbers[0]["low"], numbers[0]["high"]) == pytest.approx((0.4, 0.6))
    assert [point["x"] for point in points("scenes", "coco")] == [*["scenes"] * 2, *["coco"] * 2]
    seeds = [job({"m": v, "c": 0.1}, controls="c", seed=str(k)) for k, v in enumerate((0.5, 0.7))]
    line, control = result_of(*seeds).extra("curves").records
    assert (line["sd"], line["control"]) == (pytest.approx(np.std([0.5, 0.7], ddof=1)), False)
    assert (control["x"], control["control"]) == ("all jobs", True)
