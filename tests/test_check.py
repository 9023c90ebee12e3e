"""The contract checker: what it lets pass, and what it catches."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from metaeval.check.contract import check, questions
from metaeval.cli.main import run_verb
from metaeval.metrics.adapters.function import metric_from
from metaeval.metrics.ngram.rouge import RougeL
from tests.metrics.adapters.adapter_cases import workplace

__all__ = ["workplace"]

asked = cache(questions)  # scenes are drawn once

MODULE = '''
import random
import numpy as np
from metaeval.metrics.base import Metric, ReferenceScorer
from metaeval.runs.records import ScoreColumn


def good(captions, references):
    return [len(set(c.split()) & set(" ".join(r).split())) for c, r in zip(captions, references)]

def by_batch(captions):
    lengths = np.array([len(c.split()) for c in captions], dtype=float)
    return lengths - lengths.mean()

def by_order(captions):
    return list(range(len(captions)))

def by_chance(captions):
    return [random.random() for _ in captions]

def by_hash(captions):
    return [hash(c) % 1000 for c in captions]

def by_call(captions, calls=[0]):
    calls[0] += 1
    return [float(calls[0])] * len(captions)

def no_empty(captions):
    return [1 / len(c) for c in captions]

def single(caption, references):
    return np.float32(len(caption) / 100)


class Words(Metric):
    """Its weight changes scores, and its signature does not contain it."""

    name = "words"
    columns = (ScoreColumn("Words", bounds=(0, 3)),)

    def __init__(self, weight=1.0, dtype="float64", tell=False, top=1e9):
        self.weight, self.dtype, self.tell, self.top = weight, dtype, tell, top

    def bind(self, dataset, store=None):
        settings = {"v": 1, "top": self.top, **({"weight": self.weight} if self.tell else {})}
        return WordScorer(self, settings, dataset)


class WordScorer(ReferenceScorer):
    def prepare(self):
        pass

    def score(self, captions, image_index):
        words = [min(self.metric.weight * len(c.split()), self.metric.top) for c in captions]
        return np.array(words)[:, None].astype(self.metric.dtype)
'''


def findings(what: str, **options: object) -> dict[str, tuple[bool, str]]:
    def made(**more: object) -> Any:
        return metric_from(what, **{**options, **more})

    return {f.what: (f.ok, f.seen) for f in check(made(), asked(5), made)}


def test_our_own_metrics_keep_it() -> None:
    seen = list(check(RougeL(), asked(5), lambda **more: RougeL(**more)))
    assert [f for f in seen if not f.ok] == []
    assert [f.what for f in seen] == [
        *("travels", "signature", "scores", "bounds", "neighbours", "batch size", "order"),
        *("repetition", "empty caption", "no references", "options", "time"),
    ]


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("good", set()),
        ("by_batch", {"neighbours", "batch size"}),
        ("by_order", {"neighbours", "batch size", "order"}),
        ("by_chance", {"neighbours", "batch size", "order", "repetition"}),
        ("by_call", {"neighbours", "batch size", "order", "repetition"}),
        ("no_empty", {"empty caption"}),
    ],
)
def test_what_breaks_the_contract_is_caught(name: str, broken: set[str], workplace: Path) -> None:
    (workplace / f"checked_{name}.py").write_text(MODULE)
    seen = findings(f"checked_{name}.{name}")
    failed = {what for what, (ok, _) in seen.items() if not ok}
    assert failed == broken if name in ("good", "by_batch", "no_empty") else failed >= broken
    if name == "by_batch":  # it says of which caption, and both scores
        assert " among 21 and 0 alone" in seen["neighbours"][1]
    if name == "no_empty":
        assert seen["empty caption"][1] == "ZeroDivisionError: division by zero"


def test_a_users_class(workplace: Path) -> None:
    (workplace / "checked_class.py").write_text(MODULE)
    seen = findings("checked_class.Words", top=3)
    weight = "weight=2.0 changes scores but not the signature; add it to `settings`"
    assert seen["options"] == (False, weight)
    assert findings("checked_class.Words", top=3, tell=True)["options"][0]
    ok, outside = findings("checked_class.Words")["bounds"]
    assert (ok, outside[-17:]) == (False, "its bounds 0 to 3")
    single = findings("checked_class.Words", top=3, dtype="float32")
    assert single["scores"] == (False, "score() returned float32 [21, 1], not float64 [21, 1]")
    # of a function float32 is taken and cast
    assert findings("checked_class.single", batched=False)["scores"] == (True, "float64 [21, 1]")


@pytest.mark.slow
def test_the_command_finds_what_only_another_process_shows(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (workplace / "checked_command.py").write_text(MODULE)
    assert run_verb(["check", "checked_command.by_hash", "--images", "3"]) == 1
    out = capsys.readouterr().out
    assert (out.count("FAILS another process"), out.count("FAILS")) == (1, 1)
    assert out.endswith("checked_command.by_hash: fails another process\n")


def test_the_command_refuses_in_one_line(
    workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_verb(["check", "no_such_module.x"]) == 2
    assert run_verb(["check", "json.dumps", "indent"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "metaeval: metric: no module named 'no_such_module'; is its folder on PYTHONPATH?",
        "metaeval: 'indent' is not an option; write name=value",
    ]


@pytest.mark.slow
def test_options_that_are_not_metaevals_are_those_of_the_class(
    workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (workplace / "words.txt").write_text("a dog on the grass")
    (workplace / "checked_loaded.py").write_text(
        "class Loaded:\n"
        "    def __init__(self, corpus):\n"
        "        self.words = set(open(corpus).read().split())\n"
        "    def __call__(self, captions):\n"
        "        return [float(len(self.words & set(c.split()))) for c in captions]\n"
        "def score(captions, top):\n"
        "    return [float(min(top, len(c.split()))) for c in captions]\n"
    )
    option = f"corpus={workplace / 'words.txt'}"
    for arguments in (["checked_loaded.Loaded", option], ["checked_loaded.score", "top=3"]):
        assert run_verb(["check", *arguments, "--images", "3"]) == 0, capsys.readouterr().out
    assert run_verb(["check", "checked_loaded.score", "top=3", "to=4"]) == 2
    assert capsys.readouterr().err == "metaeval: score has no parameter 'to'\n"
    assert run_verb(["check", "checked_loaded.Loaded", option, "k=1", "--images", "3"]) == 1
