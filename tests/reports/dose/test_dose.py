"""Curves of dose and response on the page: every sentence, with numbers for which it is false."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from metaeval.reports.dose.curves import Panel, corruption_title, panel
from metaeval.reports.dose.figure import _ticks
from metaeval.reports.dose.findings import finding
from metaeval.reports.dose.section import dose_section
from metaeval.results.graded import DoseCurve, HalfDose
from metaeval.stats.dose import dose_record
from metaeval.stats.resampling.bootstrap import bootstrap_counts

DOSES = [0.0, 0.2, 0.4, 0.8]


def curve(*means: float, floor: float | None = None, seeds: int = 1, n: int = 10) -> DoseCurve:
    """What n images give whose scores are these, one image's shifted against another's."""
    scores = [[[m + i + 0.01 * s * k for k, m in enumerate(means)] for i in range(n)]
              for s in range(seeds)]  # fmt: skip
    lowest = None if floor is None else [[floor + i for i in range(n)]] * seeds
    return DoseCurve.of(dose_record(scores, DOSES, bootstrap_counts(n, 50, 0), floor=lowest))


def made(**curves: DoseCurve) -> Panel:
    """A panel of metrics a, b, … and controls whose names begin with "control"."""
    floor = any(c.floor is not None for c in curves.values())
    kinds = {m: "control" if m.startswith("control") else "result" for m in curves}
    return panel("Replace", DOSES, DOSES, "Random" if floor else None, curves, kinds)


FALLING, RISING, FLAT = (9.0, 7, 5, 1), (9.0, 5, 7, 1), (9.0, 9, 9, 9)


def test_what_falls_at_every_step_and_what_rises() -> None:
    text = finding(made(a=curve(*FALLING), b=curve(*RISING))).text
    assert "At each of the 3 steps the scores of a get worse" in text
    assert "b gets better from 20% to 40%." in text
    assert "not significant" not in text
    text = finding(made(a=curve(*FLAT), b=curve(*RISING))).text
    assert "At each of" not in text
    assert "Of a at least one step is not significant, and none is better." in text
    # nine images have no interval, so nothing is said of significance
    text = finding(made(a=curve(*FLAT, n=9), b=curve(*FALLING, n=9))).text
    assert "significant" not in text
    assert "get worse" not in text


def test_half_of_the_effect() -> None:
    """Half of 9 → 1 is 5: a is there at 40%; b, of which half is 4 as well, at 53.3%."""
    text = finding(made(a=curve(*FALLING), b=curve(9, 8, 6, 0))).text
    assert "Half of the fall to 80% is reached first by a at 40.0% [40.0%, 40.0%]" in text
    assert "last by b at 50.0%" in text
    text = finding(made(a=curve(*FALLING, floor=-20.0), b=curve(*FALLING, floor=1.0))).text
    assert "Half of the fall to Random is reached by b at 40.0%" in text
    assert "a does not reach half of the fall to Random up to 80%." in text
    text = finding(made(a=curve(*FLAT))).text
    assert "a does not significantly fall to 80%" in text
    assert "Half of" not in text


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ((0.45, 0.6), "is reached first by a at 40.0% [38.0%, 42.0%], last by b at 50.0%"),
        ((0.41, 0.6), "is reached between a at 40.0% [38.0%, 42.0%] and b at 50.0%"),
        ((0.45, None), "is reached first by a"),
        ((None, None), "is reached first by a"),  # both ends lie beyond the largest dose
    ],
)
def test_no_metric_is_first_where_intervals_overlap(
    ends: tuple[float | None, float | None], expected: str
) -> None:
    curves = {"a": curve(*FALLING), "b": curve(*FALLING)}
    for name, dose, ci in (("a", 0.4, (0.38, 0.42)), ("b", 0.5, ends)):
        half = HalfDose(dose=dose, ci=ci)
        curves[name] = curves[name].model_copy(update={"half_effect": half})
    text = finding(made(**curves)).text
    assert f"Half of the fall to 80% {expected}" in text
    assert ("overlap" in text) == ("between" in expected)


def test_controls_that_fall_are_named_and_others_are_not() -> None:
    case = made(a=curve(*FALLING), control=curve(*FALLING))
    assert "The scores of the control control get worse at each step, too" in finding(case).text
    assert "of a and control" not in finding(case).text
    assert "too:" not in finding(made(a=curve(*FALLING), control=curve(*FLAT))).text


def test_seeds_are_reported_where_a_run_has_some() -> None:
    text = finding(made(a=curve(*FALLING, seeds=3))).text
    assert "Over three seeds of the corruption the change has a standard deviation of" in text
    assert "(a at " in text
    assert "seeds" not in finding(made(a=curve(*FALLING))).text


def test_files_are_written_twice_the_same(tmp_path: Path) -> None:
    case = made(a=curve(*FALLING, seeds=2), control=curve(*FLAT))
    section = dose_section(tmp_path, [case], figures=True)
    assert section is not None
    names = ("figures/dose.svg", "figures/dose.pdf", "tables/dose.tex", "tables/dose-points.csv")
    first = [(tmp_path / name).read_bytes() for name in names]
    dose_section(tmp_path, [case], figures=True)
    assert [(tmp_path / name).read_bytes() for name in names] == first
    for text in (b"Replace", b"control", b"bands: intervals over images; bars"):
        assert text in first[0]
    rows = list(csv.DictReader((tmp_path / "tables/dose-points.csv").open()))
    assert [(r["metric"], r["dose"]) for r in rows] == [
        (m, str(d)) for m in ("a", "control") for d in DOSES
    ]
    assert float(rows[3]["change"]) == case.curves["a"].change[3].value
    assert rows[0]["rho"] == ""


def test_nothing_to_show_is_no_section(tmp_path: Path) -> None:
    empty = made(a=curve(float("nan"), 1, 1, 1))
    assert dose_section(tmp_path, [empty], figures=True) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "title"), [("Replace 10%", "Replace"), ("Cut", "Cut")])
def test_title_of_a_corruption(name: str, title: str) -> None:
    assert corruption_title(["Human", name]) == title


def test_the_numbers_below_the_axis_do_not_run_into_each_other() -> None:
    nine = [0.0, *(k / 10 for k in range(1, 10))]
    assert _ticks(nine) == [0.0, 0.2, 0.4, 0.6, 0.9]  # and not .8 next to .9
    assert _ticks([*nine, 1.0]) == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert _ticks([0.0, 0.25, 0.5]) == [0.0, 0.25, 0.5]
