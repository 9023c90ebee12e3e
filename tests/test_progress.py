"""The line of a run: what it says, what is left, and how often a log has it."""

import io
import time
from types import SimpleNamespace

import pytest

from metaeval import progress
from metaeval.progress import RunLine, progress_bar, rounded_seconds, run_line


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (7.1, "8 s"), (10, "10 s"), (31, "40 s"), (89, "90 s"), (91, "2 min")],
)
def test_durations_are_as_coarse_as_they_are_known(seconds: float, text: str) -> None:
    assert rounded_seconds(seconds) == text


def test_the_line_names_the_metric_and_what_is_left() -> None:
    clock = SimpleNamespace(now=0.0)
    line = RunLine(lambda: clock.now)
    assert line.text() == ""
    line.plan([("report", 5.0)])
    bleu, faier = line.plan([("BLEU", 5.0), ("FAIEr", 30.0)], kind="metric")
    line.begin(bleu)
    assert line.text() == "metric 1 of 2, BLEU, about 40 s left"
    clock.now = 5.0  # as long as usual
    line.begin(faier)
    assert line.text() == "metric 2 of 2, FAIEr, about 40 s left"
    clock.now = 15.0
    assert line.seconds_left() == pytest.approx(25.0)
    clock.now = 99.0  # longer than thought: the report is still to come
    assert line.seconds_left() == pytest.approx(5.0)
    line.begin_stage("report")
    # a prior of 5 s, then 40 s of usual time took 99 s: the report's 5 s become 5 · 104 / 40
    assert line.seconds_left() == pytest.approx(5.0 * (5 + 99) / (5 + 35))
    assert line.text() == "report, about 20 s left"


def test_a_struck_part_leaves_the_plan_and_the_line_says_how_far_one_is() -> None:
    line = RunLine(lambda: 0.0)
    first, second = line.plan([("a", 7.0), ("b", 20.0)], kind="metric")
    line.strike(second)
    line.begin(first)
    assert line.text() == "metric 1 of 2, a, about 7 s left"
    line.report(7, 20, "7 requests")
    assert line.text() == "metric 1 of 2, a, 35%, 7 requests, about 7 s left"


def test_a_bar_within_a_stage_is_on_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with run_line() as line:
        line.begin_stage("statistics")
        texts = [line.text() for _ in progress_bar(range(4), desc="intervals")]
        assert texts[1] == "statistics, 25%, intervals, about 1 s left"
        line.begin(line.plan([("a", 7.0)], kind="metric")[0])  # which says by itself how far it is
        assert not any("%" in line.text() for _ in progress_bar(range(4)))


def test_a_log_gets_a_line_a_minute_and_no_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    log = io.StringIO()
    monkeypatch.setattr("sys.stderr", log)
    monkeypatch.setattr(progress, "_DELAY", 0.0)
    with run_line() as line:
        line.begin(line.plan([("a", 7.0)])[0])
        time.sleep(0.05)
    assert log.getvalue() == ""
    monkeypatch.setattr(progress, "_MINUTE", 0.02)
    with run_line() as line:
        line.begin(line.plan([("a", 7.0)])[0])
        time.sleep(0.2)
    first, second, *_ = log.getvalue().splitlines()
    assert (first, second) == ("1 min: a, about 7 s left", "2 min: a, about 7 s left")
    log.truncate(0)
    log.seek(0)
    for _ in progress_bar(range(3), desc="bar", delay=0):
        time.sleep(0.05)
    assert log.getvalue() == ""


def test_a_terminal_gets_one_line_which_is_wiped_and_no_bars(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(progress, "_DELAY", 0.01)
    with run_line() as line:
        assert progress.current() is line
        line.begin(line.plan([("FAIEr", 7.0)], kind="metric")[0])
        for _ in progress_bar(range(3), desc="bar", delay=0):
            time.sleep(0.05)
    text = terminal.getvalue()
    assert "metric 1 of 1, FAIEr, about 7 s left" in text
    assert ("bar" in text, "\n" in text) == (False, False)
    *_, wiped, end = text.split("\r")
    assert (wiped.strip(), end) == ("", "")
    assert progress.current() is not line
    for _ in progress_bar(range(3), desc="bar", delay=0, mininterval=0):
        pass
    assert "bar: 100%" in terminal.getvalue()  # outside of a run there are bars
