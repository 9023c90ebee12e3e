"""The line of a run: what it says, what is left, and how often a log has it."""

import io
import time
from types import SimpleNamespace

import pytest

from metaeval import progress
from metaeval.experiments.run import _USUAL_SECONDS
from metaeval.metrics.base import Scorer
from metaeval.metrics.bertscore.metric import BertScorer
from metaeval.metrics.clipscore.metric import ClipScorer
from metaeval.metrics.faier.metric import FaierScorer
from metaeval.metrics.meteor.metric import MeteorScorer
from metaeval.metrics.scan.metric import ScanScorer
from metaeval.metrics.spice.metric import SpiceScorer
from metaeval.metrics.vifidel.metric import VifidelScorer
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


SCORERS = {
    "bertscore": BertScorer, "clipscore": ClipScorer, "refclipscore": ClipScorer,
    "faier": FaierScorer, "meteor": MeteorScorer, "scan": ScanScorer, "tiger": ScanScorer,
    "spice": SpiceScorer, "vifidel": VifidelScorer,
}  # fmt: skip
# runs with an empty cache on two busy cores: metric:thousands of captions:seconds, then the seconds
# of `_USUAL_SECONDS`
RECORDED = (
    # replace scenes
    "meteor:4:8 spice:4:22 bertscore:4:72 clipscore:4:16 refclipscore:4:34 tiger:4:2 faier:4:4 "
    "vifidel:4:4 | 0 8 16 16",
    # replace scenes
    "meteor:4:5 spice:4:19 bertscore:4:41 clipscore:4:11 refclipscore:4:3 vifidel:4:3 | 0 8 5 8",
    # replace scenes
    "meteor:4:5 spice:4:6 bertscore:4:42 clipscore:4:12 refclipscore:4:3 faier:4:2 vifidel:4:3 "
    "| 1 8 5 18",
    # forced_choice pascal50s
    "bleu:32:6 sacrebleu:32:11 meteor:32:59 rouge_l:32:5 cider:32:6 spice:32:105 "
    "bertscore:32:258 chair:32:5 bank:32:10 bigram_model:32:6 longest_copy:32:3 | 0 11 0 0",
    # judgments composite
    "sacrebleu:6:4 meteor:6:15 spice:6:40 bertscore:6:214 tiger:6:8 faier:6:9 vifidel:6:4 "
    "scan:5:3 | 0 120 0 0",
    # attack scenes
    "bleu:20:7 sacrebleu:20:7 meteor:20:35 rouge_l:20:6 cider:20:5 spice:20:44 bertscore:20:140 "
    "clipscore:21:29 refclipscore:21:14 tiger:21:11 faier:20:13 vifidel:20:9 scan:21:9 "
    "chair:24:8 length:16:5 random_score:17:5 bigram_model:20:7 longest_copy:20:4 "
    "gold_labels:23:5 brevity:20:4 | 0 2 0 0",
    # captioners coco_karpathy_test
    "meteor:29:56 cider:29:2 tiger:29:19 faier:29:26 vifidel:29:28 meteor:33:74 cider:33:3 "
    "tiger:33:22 faier:33:52 vifidel:33:15 | 1 68 0 0",
    # pairs sugarcrepe
    "bleu:12:2 sacrebleu:11:5 meteor:11:26 rouge_l:11:2 cider:12:7 spice:12:61 bertscore:12:145 "
    "tiger:12:6 faier:12:12 scan:11:4 chair:12:2 | 0 65 0 0",
    # pairs valse
    "sacrebleu:3:3 meteor:3:9 spice:3:27 bertscore:3:77 tiger:3:3 faier:3:6 | 0 23 0 0",
    # sensitivity scenes
    "meteor:5:9 spice:5:14 bertscore:5:58 clipscore:5:9 faier:4:2 vifidel:5:4 | 4 9 0 1",
)


def seconds_left(recorded: str, share: float) -> tuple[float, float]:
    """What the line says when this share of a run's time is over, and what is true."""
    metrics, _, rest = recorded.partition("|")
    captions, *stages = map(float, rest.split())
    known = [
        (name, int(n) * (SCORERS.get(name, Scorer).usual_ms or 0.0), float(seconds))
        for name, n, seconds in (part.split(":") for part in metrics.split())
    ]
    names = [name for name, _ in _USUAL_SECONDS]
    total = captions + sum(seconds for *_, seconds in known) + sum(stages)
    clock = SimpleNamespace(now=0.0)
    line = RunLine(lambda: clock.now)
    line.plan(_USUAL_SECONDS[: 4 if stages[-1] else 2])
    line.begin_stage(names[0])
    parts = line.plan([(name, usual) for name, usual, _ in known], kind="metric")
    begin = [lambda part=part: line.begin(part) for part in parts]
    begin += [lambda name=name: line.begin_stage(name) for name in names[1:]]
    end = captions
    for start, seconds in zip(begin, [s for *_, s in known] + stages, strict=True):
        if end > share * total:
            break
        clock.now = end
        start()
        end += seconds
    clock.now = share * total
    return line.seconds_left(), total - clock.now


def test_the_estimate_is_by_cost() -> None:
    """On recorded runs most estimates are within a factor of 1.5, and none is off by 4."""
    pairs = [seconds_left(each, share) for each in RECORDED for share in (0.25, 0.5, 0.75)]
    factors = [max(said / true, true / said) for said, true in pairs]
    assert sum(factor <= 1.5 for factor in factors) > 15
    assert max(factors) < 4
