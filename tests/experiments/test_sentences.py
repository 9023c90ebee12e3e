"""Sentences of printouts and of evidence, with results for which they are true and false."""

from __future__ import annotations

from typing import Any

import pytest
from omegaconf import OmegaConf

from metaeval.data.dataset import CaptionDataset
from metaeval.experiments.attack.printout import printout as attack_printout
from metaeval.experiments.controls import control_lines
from metaeval.experiments.graded.published import published
from metaeval.experiments.judgments.printout import _nearly_all_tied, _ratings
from metaeval.experiments.judgments.printout import tests_line as line_of_tests
from metaeval.experiments.trust.task import _outcome, _why_learned
from metaeval.results.attack import AttackResult, AttackSettings, Defence
from metaeval.results.base import Estimate
from metaeval.results.judgments import PeopleAgreement
from metaeval.results.metric import MetricResult, TrainingRecord
from metaeval.runs.records import ScoreColumn
from tests.results.examples import (
    against_control,
    comparison,
    comparisons,
    human_agreement,
    ratings_metric,
    ratings_result,
)


@pytest.mark.falsifies("experiments.controls.control_lines")
def test_a_control_is_not_beaten_or_nothing_can_be_decided() -> None:
    def line(shows: Any) -> list[str]:
        return list(control_lines({"HC": against_control(shows)}))

    values = "(Length 60.0, best metric CIDEr 50.0)"
    assert line("nothing") == [f"HC: no metric is above the best control {values}"]
    assert line("unsure") == [f"HC: no metric is significantly above the best control {values}"]
    assert line("undecidable") == [
        f"HC: cannot be decided with so few replicates or images {values}"
    ]
    assert line("something") == []
    assert list(control_lines(None)) == []


def attack_result(**fields: Any) -> AttackResult:
    settings: dict[str, Any] = {
        "rule": "scene graph", "budgets": (0, 100), "max_edits": 3, "seed": 0, "n_images": 200,
        "fluent": fields.pop("fluent", 0.95), "no_fluency": fields.pop("no_fluency", None),
    }  # fmt: skip
    return AttackResult(
        experiment="attack", dataset="d", metrics=(), settings=AttackSettings(**settings), **fields
    )


@pytest.mark.falsifies("experiments.attack.printout.printout", "experiments.attack.printout._pairs")
def test_what_an_attacker_could_do(tmp_path: Any) -> None:
    def printed(**fields: Any) -> str:
        return attack_printout(attack_result(**fields), tmp_path / "report.html")

    assert "fluent: within the central 95 % of human captions of that length" in printed()
    text = printed(fluent=None, no_fluency="no captions to learn from")
    assert "no fluency constraint: no captions to learn from" in text
    assert "fluent:" not in text
    assert "at most 3 words changed" in text
    one = Estimate(value=0.5, n=10)
    pair = Defence(metrics=("A", "B"), transferred=one, searched=one)
    assert "both must prefer it: A and B 50.0" in printed(defences=(pair,))
    unsearched = pair.model_copy(update={"searched": None})
    assert "both must prefer it" not in printed(defences=(unsearched,))


@pytest.mark.falsifies("experiments.judgments.printout.tests_line")
def test_how_many_differences_are_significant() -> None:
    pairs = (comparison("A", "B", 0.1, 0.001), comparison("A", "C", 0.1, 0.05))
    assert line_of_tests(comparisons(*pairs)) == (
        "2 pairs of metrics, significant at 0.05 after Holm: 1 by permutation"
    )
    assert line_of_tests(comparisons(pairs[0])).startswith("1 pair of metrics")
    assert line_of_tests(comparisons()) == (
        "0 pairs of metrics, significant at 0.05 after Holm: none"
    )


@pytest.mark.falsifies(
    "experiments.judgments.printout._ratings", "experiments.judgments.printout._nearly_all_tied"
)
def test_sorted_ratings_and_ties_of_nearly_all_pairs() -> None:
    def lines(sorted_rows: bool) -> str:
        people = PeopleAgreement(value=0.5, raters=3, captions=4, sorted_rows=sorted_rows)
        result = ratings_result(
            [ratings_metric("A", 4, human=human_agreement(4, 0.5))], ["human"]
        ).model_copy(
            update={"people": {"human": people}, "differences": {"human": comparisons()},
                    "controls": {"human": None}}
        )  # fmt: skip
        return "\n".join(_ratings(result))

    assert "one rating with the 2 others (exchangeable raters): τ-c 50.000" in lines(False)
    assert "(exchangeable raters; ratings are sorted within captions): τ-c" in lines(True)

    def tied(share: float | None, **column: Any) -> list[str]:
        agreement = human_agreement(4, 0.5)
        calibrated = agreement.accuracy.model_copy(update={"tied": share})
        metric = ratings_metric("A", 4, human=agreement.model_copy(
            update={"accuracy": calibrated}
        )).model_copy(update={"column": ScoreColumn("A", **column)})  # fmt: skip
        return list(_nearly_all_tied([metric], "human"))

    assert tied(0.9)[0].startswith("tie calibration ties at least 90% of the pairs of A:")
    assert tied(0.89) == tied(None) == tied(0.95, control=True) == []


@pytest.mark.falsifies("experiments.graded.published.published")
def test_why_published_values_do_not_compare() -> None:
    paper = {"rates": [0.25]}

    def why(n: int = 5000, references: int = 4, name: str = "coco_val2017", **more: Any) -> Any:
        ids = list(range(n))
        dataset = CaptionDataset(
            name, ids, ["a"] * n, [("b",) * references] * n, ids, ["a"] * n,
            notes=more.get("notes", []),
        )  # fmt: skip
        corruption = {"_target_": "x", "rates": more.get("rates", [0.25])}
        config = OmegaConf.create({"corruption": corruption})
        return published({"CIDEr": 0.5}, paper, dataset, config).why_not

    assert why() is None
    assert why(name="flickr") == (
        "the paper's captions are MS-COCO val2017's, this run's are from flickr"
    )
    assert why(n=10) == "the paper uses all 5,000 images of val2017, this run 10"
    assert why(references=3) == "the paper uses four references per image"
    assert why(rates=[0.5]) == "this run differs from the paper in corruption.rates"
    note = "These are not the captions of the paper."
    assert why(notes=[note]) == note.rstrip(".")


@pytest.mark.falsifies("experiments.trust.task._why_learned")
def test_what_a_metric_has_learned_from() -> None:
    def why(corrupted: bool, chosen: tuple[str, ...] = (), learned: bool = False) -> str | None:
        metric = MetricResult[Any](
            column=ScoreColumn("A", learned_from_corruptions=learned), family="a",
            training=TrainingRecord(chosen_on=chosen),
        )  # fmt: skip
        return _why_learned(metric, corrupted, "replace")

    assert why(True, ("replace",)) == "A was chosen on experiment=replace"
    assert why(True, ("shuffle",)) is None
    assert why(True, learned=True) == "A was trained on corrupted captions"
    assert why(False, learned=True) is None


@pytest.mark.falsifies("experiments.trust.task._outcome")
@pytest.mark.parametrize(
    ("difference", "p", "expected"),
    [
        (0.1, 0.001, "beats"), (-0.1, 0.001, "falls behind"), (0.1, 0.05, "not separated"),
        (-0.1, 0.5, "not separated"), (None, None, "not separated"),
    ],
)  # fmt: skip
def test_a_metric_beats_another_only_by_a_test(
    difference: float | None, p: float | None, expected: str
) -> None:
    assert _outcome(comparison("Mine", "A", difference, p), 0.05) == expected
