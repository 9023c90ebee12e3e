"""What a metric's row is; footnotes on training, each of the metrics that it holds for."""

from typing import Any

import pytest

from metaeval.results.base import MetricResult, Status
from metaeval.results.measured import MeasuredResult
from metaeval.results.sentences import training_footnotes
from metaeval.runs.records import CaptionModel, ScoreColumn, TrainingFacts

MINILM = CaptionModel("MiniLM", {"COCO": 828395, "Flickr30k": 317695})


def metric(
    name: str, training: dict[str, Any] | None = None, status: Status = "ok", **column: Any
) -> MetricResult:
    return MetricResult(
        column=ScoreColumn(name, **column), family="x", status=status,
        training=None if training is None else TrainingFacts(**training),
    )  # fmt: skip


TIGER = metric("TIGEr", {"chosen_on": ["replace", "shuffle"]})
BUILT = [metric(name, {"caption_models": [MINILM]}) for name in ("VIFIDEL", "FAIEr")]
SEEN = {"Random": "seen in training", "Insert": "inside the range drawn in training",
        "Delete": "new"}  # fmt: skip
UNSEEN = {"versions": {"Delete": "new"}}


@pytest.mark.parametrize(
    ("metrics", "experiment", "notes"),
    [
        ([metric("CIDEr"), metric("VIFIDEL", {})], "replace", {}),
        ([metric("FAIEr", {"chosen_on": ["replace"]}, "skipped"),
          metric("RRS", {"chosen_on": ["replace"]}, part_of="TIGEr")], "replace", {}),
        ([TIGER, metric("CIDEr")], "replace",
         {("TIGEr",): "Chosen on this experiment's dev images"}),
        ([TIGER], "judgments", {}),
        ([metric("CIDEr"), *BUILT], "judgments",
         {("VIFIDEL", "FAIEr"): "MiniLM, by its own card trained on 828,395 of COCO and 317,695 of "
                                "Flickr30k, in pairs"}),
        ([metric("FAIEr", {"versions": SEEN})], "replace",
         {("FAIEr",): "Of the versions here seen in training: Random; inside the range drawn in "
                      "training: Insert; new: Delete."}),
        ([metric("FAIEr", UNSEEN)], "replace", {}),
        ([metric("F", UNSEEN, learned_from_corruptions=True)], "replace",
         {("F",): "Of the versions here new: Delete."}),
    ],
)  # fmt: skip
def test_footnotes_on_training(
    metrics: list[MetricResult], experiment: str, notes: dict[tuple[str, ...], str]
) -> None:
    """Each is of the metrics that it holds for; those that learned nothing have none."""
    made = {note.metrics: note.text for note in training_footnotes(metrics, experiment)}
    assert {names: text in made.get(names, "") for names, text in notes.items()} == dict.fromkeys(
        made, True
    )


def visible(metrics: list[MetricResult]) -> list[str]:
    result = MeasuredResult(experiment="x", dataset="y", declared=(), metrics=metrics)
    return [m.name for m in result.visible]


def test_what_did_not_run_is_shown_once() -> None:
    absent = [
        metric("SPICE", status="skipped"),
        metric("SPICE-object", status="skipped", part_of="SPICE"),
        metric("SCAN-i2t", status="skipped"),
    ]
    assert visible(absent) == ["SPICE", "SCAN-i2t"]
    # controls are behind the metrics of the user, which are scored last
    there = [metric("Length", control=True), metric("TIGEr"), metric("RRS", part_of="TIGEr")]
    assert visible(there) == ["TIGEr", "RRS", "Length"]
