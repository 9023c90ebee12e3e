"""Forced choice: outcomes by hand, labels and ties, and the page."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metaeval.data.judgments.pascal50s import load_pascal50s
from metaeval.experiments.choices import choice_outcomes
from metaeval.experiments.forced_choice.task import published_accuracies
from metaeval.reports.measured import write_report
from metaeval.results.files import read_info
from metaeval.results.measured import MeasuredResult
from metaeval.runs import files
from tests.data.judgments.test_judgments import pascal50s
from tests.experiments.judgments.test_judgments import run_any
from tests.shared import in_data


def run_choice(folder: Path, *overrides: str) -> MeasuredResult:
    """A run on the pairs in the folder."""
    root = f"dataset.root={folder}"
    return run_any(folder, "dataset=pascal50s", root, *overrides, experiment="forced_choice")


def test_forced_choice(tmp_path: Path) -> None:
    """ROUGE-L of the first pair's captions is 0 and 0 with these references: one half; so is a
    pair on which people are divided."""
    pascal50s(tmp_path)
    result = run_choice(
        tmp_path, "dataset.n_references=[2,48]", "dataset.draws=2", "metrics=[rouge_l,bleu]"
    )
    numbers = result.metric("ROUGE-L").numbers
    assert list(numbers.values) == [
        f"agreement_{n}{category}" for n in (2, 48) for category in ("", "_HC", "_MM")
    ]
    assert [numbers.value(f"agreement_2{c}") for c in ("", "_HC", "_MM")] == [0.5] * 3
    assert numbers.facts.keys() == {"draw_sd_agreement_2_HC", "draw_sd_agreement_2_MM"}
    scores = pd.read_parquet(tmp_path / "OUT" / files.SCORES)
    assert set(scores["n_references"]) == {2, 48}
    assert (tmp_path / "OUT" / "judgments.parquet").is_file()


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("half", [1, 0, 0.5, 0.5, np.nan, np.nan]),
        ("wrong", [1, 0, 0, 0, np.nan, np.nan]),
        ("drop", [1, 0, 0.5, np.nan, np.nan, np.nan]),
    ],
)
def test_choosing_as_people_do(ties: str, expected: list[float]) -> None:
    """By hand: right, wrong, metric undecided, people undecided, not scored, nobody asked."""
    gap, votes = [0.2, 0.2, 0.0, 0.3, np.nan, 0.1], [3, -1, 1, 0, 1, np.nan]
    np.testing.assert_equal(choice_outcomes(np.array(gap), np.array(votes), ties), expected)


def test_wrong_ties_and_direct_labels(tmp_path: Path) -> None:
    """A tie of the metric is wrong, and the people's own agreement by hand."""
    pascal50s(tmp_path)
    result = run_choice(
        tmp_path, "dataset.n_references=1", "dataset.draws=2", "dataset.labels=direct",
        "dataset.ties=wrong", "metrics=[rouge_l]",
    )  # fmt: skip
    (metric,) = result.metrics
    assert metric.numbers.value("agreement_1") == 0.0  # it ties both pairs
    assert result.extra("label_agreement").rows == (("HC", 0.0), ("MM", 0.0), ("all", 0.0))
    # of 11 voters 7 are with the majority of the other ten (6 to 4), 4 are not (3 to 7)
    people = {"": 9 / 11, "_HC": 7 / 11, "_MM": 1.0}
    for category, share in people.items():
        assert result.people[f"agreement_1{category}"].value == pytest.approx(share)
    family = read_info(tmp_path / "OUT" / files.RUN).metrics[0]
    assert family.n_scored + family.n_cached == 2 * 4  # two draws of two pairs


@pytest.mark.parametrize(
    ("labels", "ties", "metric", "printed", "why_not"),
    [
        ("direct", "wrong", "SPICE", 0.5, None),  # FAIEr's Table 3, MM
        ("direct", "half", "SPICE", 0.5, "add dataset.ties=wrong"),
        ("consensus", "half", "METEOR", 0.66, None),  # VIFIDEL's Table 6, MM
        ("consensus", "wrong", "METEOR", 0.66, "add dataset.ties=half"),
    ],
)
def test_printed_accuracies_are_compared_by_the_papers_rule_for_ties(
    tmp_path: Path, labels: str, ties: str, metric: str, printed: float, why_not: str | None
) -> None:
    """SPICE ties so many pairs that its MM is 49.6 by one rule and 68.1 by the other."""
    pascal50s(tmp_path)
    few = load_pascal50s(tmp_path, labels=labels, ties=ties, n_references=5)
    whole = replace(few, image=few.image * 2000)
    known = published_accuracies(whole, None)
    assert known.values[metric]["agreement_5_MM"] == pytest.approx(printed)
    assert known.why_not == why_not
    assert not published_accuracies(few, None).values
    assert not published_accuracies(whole, 4000).values


@pytest.mark.coco
def test_audiocaps_eval_from_the_command_to_the_page(tmp_path: Path, coco_root: Path) -> None:
    """Zhou et al. (2022): CIDEr 56.2, 96.0, 90.4, 61.2 (71.0), ROUGE-L 64.9; length's
    74.4 % on HC, counted from the file, is above every metric's."""
    file = in_data(coco_root, "audiocaps_eval/audiocaps_eval.json")
    result = run_any(
        tmp_path, "dataset=fense_pairs", f"dataset.file={file}", "metrics=[cider,rouge_l,length]",
        experiment="forced_choice",
    )  # fmt: skip
    assert result.metric("ROUGE-L").numbers.value("agreement_4") == pytest.approx(0.649, abs=5e-4)
    numbers = result.metric("CIDEr").numbers
    made = [100 * (numbers.value(f"agreement_4{c}") or 0) for c in ("_HC", "_HI", "_HM", "_MM", "")]
    assert made == pytest.approx([56.2, 96.0, 90.4, 61.2, 71.0], abs=0.055)
    votes = [(pair, sum(pair[-1])) for r in json.loads(file.read_text()) if (pair := r.get("HC"))]
    longer = [
        (len(pair[0].split()) - len(pair[1].split())) * sign > 0 for pair, sign in votes if sign
    ]
    against = result.controls["agreement_4_HC"]
    assert (against.control, against.shows) == ("Length", "nothing")
    assert against.control_value == pytest.approx(np.mean(longer))


def test_the_page_has_a_table_for_each_number_of_references(tmp_path: Path) -> None:
    pascal50s(tmp_path)
    options = ("dataset.n_references=[1,2]", "dataset.draws=1", "metrics=[rouge_l,bleu,length]")
    run_choice(tmp_path, *options)
    page = write_report(tmp_path / "OUT", figures=False).read_text(encoding="utf-8")
    # of the pairs on which ROUGE-L and people differ: what people prefer, by how many votes
    votes = "<dd>a dog runs</dd></div><div><dt>votes</dt><dd>36 to 12</dd>"
    for text in ("Table, 1 reference", "Table, 2 references", votes):
        assert text in page
    table = (tmp_path / "OUT" / files.TABLES / "measures-2-references.csv").read_text()
    assert table.splitlines()[0] == "Metric,Mean accuracy,HC,MM"
