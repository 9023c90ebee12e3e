"""The line of a run: what it says, what is left, and how often a log has it."""

import io
import time
from threading import Thread
from types import SimpleNamespace

import pytest

from metaeval import progress
from metaeval.experiments.run import _USUAL_SECONDS
from metaeval.metrics.base import Scorer
from metaeval.metrics.bertscore.metric import BertScorer
from metaeval.metrics.clipscore.metric import SMALL_MS
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
    other = Thread(target=line.report, args=(19, 20))  # of something that is done meanwhile
    other.start()
    other.join()
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


USUAL_MS = {
    "bertscore": BertScorer.usual_ms, "faier": FaierScorer.usual_ms,
    "meteor": MeteorScorer.usual_ms, "scan": ScanScorer.usual_ms, "tiger": ScanScorer.usual_ms,
    "spice": SpiceScorer.usual_ms, "vifidel": VifidelScorer.usual_ms,
    "clipscore": SMALL_MS, "refclipscore": SMALL_MS,
}  # fmt: skip
# runs with an empty cache on two busy cores: metric:thousands of texts:seconds, then the seconds of
# `_USUAL_SECONDS`; texts are captions, and the references of a metric that reads them
RECORDED = (
    # attack attack_scenes
    "bleu:14:2 sacrebleu:14:2 meteor:14:9 rouge_l:14:2 cider:14:2 spice:14:7 bertscore:15:39 "
    "clipscore:14:8 refclipscore:15:6 tiger:14:5 faier:14:5 vifidel:14:3 scan:14:2 chair:18:2 "
    "random_score:10:2 bigram_model:14:2 | 0 0 0 2",
    # sensitivity sensitivity_scenes
    "sacrebleu:13:2 meteor:13:4 spice:13:4 bertscore:13:40 clipscore:11:8 faier:11:2 | 4 4 0 1",
    # sensitivity sensitivity_coco
    "bleu:22:2 sacrebleu:22:3 meteor:22:5 spice:22:6 bertscore:22:53 tiger:18:2 faier:18:4 "
    "vifidel:18:3 brevity:18:2 | 5 9 0 0",
    # sensitivity language_coco
    "sacrebleu:24:3 meteor:24:4 spice:24:7 bertscore:24:57 tiger:20:2 faier:20:3 vifidel:20:5 "
    "scan:20:2 bigram_model:20:2 | 3 3 0 0",
    # judgments flickr8k_expert
    "meteor:11:3 cider:11:2 spice:11:2 bertscore:11:13 | 0 9 0 6",
    # judgments composite_machines
    "meteor:10:3 spice:10:3 bertscore:10:23 faier:3:3 vifidel:3:2 | 0 11 0 7",
    # forced_choice pascal50s
    "bleu:35:4 sacrebleu:35:7 meteor:35:17 rouge_l:35:2 cider:36:3 spice:35:16 "
    "bertscore:35:79 chair:35:3 bigram_model:32:3 longest_copy:35:2 | 0 5 0 2",
    # pairs discourse_foil
    "meteor:1:6 spice:1:6 bertscore:1:32 faier:0:4 vifidel:0:2 | 0 1 0 1",
    # pairs sugarcrepe
    "bleu:29:2 sacrebleu:29:4 meteor:29:6 spice:29:8 bertscore:29:47 tiger:12:3 faier:12:6 "
    "vifidel:12:2 scan:11:2 | 0 16 0 1",
    # pairs valse
    "meteor:9:4 spice:9:4 bertscore:9:26 tiger:3:2 faier:3:4 vifidel:3:2 | 0 8 0 1",
    # pairs rococo
    "sacrebleu:10:2 meteor:10:4 spice:10:4 bertscore:10:18 faier:4:2 vifidel:4:2 | 0 4 0 0",
    # pairs reformulations
    "meteor:4:4 spice:4:2 bertscore:4:14 | 0 4 0 1",
)


def seconds_left(recorded: str, share: float) -> tuple[float, float]:
    """What the line says when this share of a run's time is over, and what is true."""
    metrics, _, rest = recorded.partition("|")
    captions, *stages = map(float, rest.split())
    known = [
        (name, int(n) * (USUAL_MS.get(name, Scorer.usual_ms) or 0.0), float(seconds))
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
    """After a quarter of a recorded run, most estimates are within a factor of 1.5."""
    pairs = [seconds_left(each, 0.25) for each in RECORDED]
    factors = [max(said / true, true / said) for said, true in pairs]
    assert (len(factors), sum(factor <= 1.5 for factor in factors)) == (12, 11)
    assert max(factors) < 2.5
