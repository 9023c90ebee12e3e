"""Words that people marked as wrong, against the change of a score without each word."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import mannwhitneyu

from metaeval.config import override_texts
from metaeval.data.judgments.table import load_table
from metaeval.errors import ConfigError, InputError, StrictError
from metaeval.experiments.localisation.task import AUC, EXPLAINED, FIRST, MarkedCaption, outcome
from metaeval.results.measured import MeasuredResult
from metaeval.runs import files
from tests.shared import run_here, write_json

# capitals mark the wrong words: a metric that counts them knows the truth
CAPTIONS = [
    "a DOG runs over grass", "two CATS sit on a BENCH", "the BUS is parked", "a man RIDES a horse",
    "three women HOLD umbrellas", "a plate of FISH and rice", "the sky is GREEN", "A child sleeps",
]  # fmt: skip


def marked_file(folder: Path, captions: Sequence[str] = CAPTIONS, **fields: object) -> Path:
    rows = [
        {
            "image_id": 100 + i // 2,
            "candidate": text,
            "references": ["a dog runs on the grass", "people sit in the park"],
            "grounding": [[w, len(w) > 1 and w.isupper()] for w in text.split()],
            **fields,
        }
        for i, text in enumerate(captions)
    ]
    return write_json(folder / "marked.json", rows)


@pytest.mark.parametrize("seed", range(20))
def test_auc_is_that_of_mann_and_whitney(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 15))
    wrong = rng.permutation(n) < rng.integers(1, n)
    without = rng.integers(0, 4, n) / 4  # with ties
    u = mannwhitneyu(without[wrong], without[~wrong]).statistic
    top = wrong[without == max(without)]
    expected = (u / (wrong.sum() * (~wrong).sum()), top.mean())
    # the same sum in another order
    assert outcome(0.3, without, wrong) == pytest.approx(expected, abs=1e-12)


def test_words_without_a_score_are_left_out() -> None:
    nan, wrong = float("nan"), np.array([True, False, True])
    assert outcome(1.0, np.array([nan, 0.2, 0.5]), wrong) == (1.0, 1.0)
    assert all(np.isnan(outcome(1.0, np.array([nan, 0.2, nan]), wrong)))
    assert all(np.isnan(outcome(nan, np.array([0.1, 0.2, 0.3]), wrong)))
    assert MarkedCaption(("a", "dog"), (False, True), "1", 0).without() == ["dog", "a"]


def run(folder: Path, file: Path, *given: str, out: str = "OUT", **more: object) -> MeasuredResult:
    settings = {
        "experiment": "localisation", "dataset__file": file, "metrics": ["rouge_l", "length"],
        "stats__replicates": 100, "task__permutations": 500, **more,
    }  # fmt: skip
    return run_here(folder, *override_texts(settings), *given, out=out)


MODULE = """
def knows(captions):
    return [-float(sum(len(w) > 1 and w.isupper() for w in c.split())) for c in captions]

def errs(captions):
    return [-score for score in knows(captions)]
"""


@pytest.mark.parametrize(("function", "value"), [("knows", 1.0), ("errs", 0.0)])
def test_a_metric_that_knows_the_wrong_words_finds_them_all(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    function: str,
    value: float,
) -> None:
    (tmp_path / f"{function}_module.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    result = run(
        tmp_path, marked_file(tmp_path), "metric=[callable,length]", "metrics=[callable,length]",
        f"metric.callable.function={function}_module.{function}",
    )  # fmt: skip
    # the last caption has no wrong word
    n_words = sum(len(c.split()) for c in CAPTIONS[:7])
    assert dict(result.facts) == {"Captions": 7, "Images": 4, "Words": n_words}
    numbers, length = result.metrics[0].numbers, result.metric("Length").numbers
    assert (numbers.value(AUC), numbers.value(FIRST), numbers.facts["n"]) == (value, value, 7)
    chance = pytest.approx(result.settings["chance_of_first"])
    assert (length.value(AUC), length.value(FIRST)) == (0.5, chance)
    for key in (AUC, FIRST):  # each by its own statistic
        (tested,) = result.controls[key].comparisons
        gap = (numbers.value(key) or 0) - (length.value(key) or 0)
        assert tested.difference.value == pytest.approx(gap)
    assert len(pd.read_parquet(tmp_path / "OUT" / files.CAPTIONS)) == n_words + 7
    words = sum(len(w) > 1 and w.isupper() for text in CAPTIONS for w in text.split())
    said = "7 of 8 captions have wrong and right words; 34 words, "
    assert f"{said}{words} of them wrong" in capsys.readouterr().out
    html = (tmp_path / "OUT" / files.REPORT).read_text(encoding="utf-8")
    assert "wrong words, AUC" in html


def test_the_same_command_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        run(tmp_path, marked_file(tmp_path), out=name)
    for name in (files.STATISTICS, files.SCORES, files.CAPTIONS):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_run_without_a_metric_says_so(tmp_path: Path) -> None:
    for metric, absent in (("pacscore", True), ("rouge_l", False)):
        with pytest.raises(StrictError) if absent else nullcontext():
            run(tmp_path, marked_file(tmp_path), metrics=[metric])
        text = (tmp_path / "OUT" / files.REPORT).read_text(encoding="utf-8")
        assert ("No metric has a value." in text) == absent


def one_marked(folder: Path, **record: object) -> Path:
    return write_json(folder / "marked.json", [{"image_id": 1, "candidate": "a dog", **record}])


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        ([["a", False]], "has 1 entries, and the candidate 2 words"),
        ([["a", False], ["cat", True]], "'cat' is marked where the candidate has 'dog'"),
        ([[None, 0], ["dog", 0]], r"\[None, 0\] is not \[word, true or false\]"),
        ([["a", 2], ["dog", 0]], r"\['a', 2\] is not \[word, true or false\]"),
        ([0.5, 1], "0.5 is not"),
        ("dog", "is not a list with an entry a word"),
    ],
)
def test_marks_that_do_not_fit_are_refused(tmp_path: Path, marks: object, message: str) -> None:
    with pytest.raises(InputError, match=rf"field 'words': .*{message}"):
        load_table(one_marked(tmp_path, words=marks))


def test_marks_are_of_the_words_as_they_are_read(tmp_path: Path) -> None:
    """A control character becomes a space: the caption has two words, and the file one mark."""
    with pytest.raises(InputError, match="has 1 entries, and the candidate 2 words"):
        load_table(one_marked(tmp_path, candidate="a\u0007dog", words=[True]))
    path = one_marked(tmp_path, candidate="a\u0007dog", words=[0, 1])
    assert load_table(path).judged[0].wrong == (False, True)
    write_json(
        path, [{"image_id": 1, "candidate": "a", "words": [0]}, {"image_id": 1, "words": [0]}]
    )
    with pytest.raises(InputError, match=r"\[1\], field 'candidate': is missing"):
        load_table(path)


@pytest.mark.parametrize("higher", [True, False])
def test_marks_are_ratings_where_there_are_none(tmp_path: Path, higher: bool) -> None:
    data = load_table(marked_file(tmp_path), higher_is_better=higher)
    values = [j.human["human"] for j in data.judged]
    assert values == [(float(higher) - 1,)] * 7 + [(float(higher),)]
    rated = marked_file(tmp_path, rating=3)
    assert {j.human["human"] for j in load_table(rated).judged} == {(3.0,)}
    flags = one_marked(tmp_path, words=[0, 1])
    assert load_table(flags).judged[0].wrong == (False, True)


def test_captions_without_marks_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"needs captions with marked words.*dataset\.fields"):
        run(tmp_path, one_marked(tmp_path, human=1))
    for captions in (CAPTIONS[7:], ["DOGS RUN"]):
        with pytest.raises(ConfigError, match="no caption has both wrong and right words"):
            run(tmp_path, marked_file(tmp_path, captions))


@pytest.mark.skipif("METAEVAL_DATA" not in os.environ, reason="needs METAEVAL_DATA")
def test_hat_as_it_is(tmp_path: Path) -> None:
    """One command without conversion; counts by the file itself."""
    file = Path(os.environ["METAEVAL_DATA"]) / "hat/hat-trainval.json"
    if not file.is_file():
        pytest.skip("HAT is not in METAEVAL_DATA")
    records = json.loads(file.read_text())
    result = run(tmp_path, file, report="none", metrics=["rouge_l", "vifidel", "length"])
    with_error = [r for r in records if any(wrong for _, wrong in r["grounding"])]
    n_words = sum(len(r["grounding"]) for r in with_error)
    assert (result.facts["Captions"], result.facts["Words"]) == (len(with_error), n_words)
    assert len(with_error) == 135
    # the references lack the wrong words
    assert result.metric("ROUGE-L").numbers[AUC].low > 0.5
    vifidel = result.metric("VIFIDEL (gold objects)")
    if vifidel.statistics is not None:  # no box is known of most of these images
        assert vifidel.numbers[EXPLAINED].n == vifidel.numbers.facts["n"] < 135
