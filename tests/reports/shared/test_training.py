"""Footnotes on training: said of the metrics that they are true of, and of no others."""

from __future__ import annotations

from typing import Any

from metaeval.reports.shared.elements import Cell, Row
from metaeval.reports.shared.table import MetricsTable
from metaeval.reports.shared.training import footnotes
from tests.reports.run_files import declared

NONE = {"caption_models": [], "chosen_on": [], "drawn": []}
MINILM = {"model": "MiniLM", "pairs": {"COCO": 828395, "Flickr30k": 317695}}


def record(metric: str, training: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    learned = None if training is None else {**NONE, **training}
    return {**declared(metric), "status": "ok", "training": learned, **more}


def texts(
    *records: dict[str, Any], experiment: str = "replace"
) -> list[tuple[str, tuple[str, ...]]]:
    return [(note.text, note.metrics) for note in footnotes(records, experiment)]


def test_metrics_that_learned_nothing_have_no_footnote() -> None:
    assert texts(record("CIDEr"), record("VIFIDEL", {})) == []
    absent = record("FAIEr", {"chosen_on": ["replace"]}) | {"status": "skipped"}
    part = record("RRS", {"chosen_on": ["replace"]}, part_of="TIGEr")
    assert texts(absent, part) == []


def test_chosen_on_this_experiment_is_said_in_this_experiment_alone() -> None:
    tiger = record("TIGEr", {"chosen_on": ["replace", "shuffle"]})
    (note,) = texts(tiger, record("CIDEr"))
    assert note[0].startswith("Chosen on this experiment's dev images")
    assert note[1] == ("TIGEr",)
    assert texts(tiger, experiment="judgments") == []


def test_models_trained_on_captions_are_named_with_their_pairs() -> None:
    built = [record(name, {"caption_models": [MINILM]}) for name in ("VIFIDEL", "FAIEr")]
    ((text, metrics),) = texts(record("CIDEr"), *built, experiment="judgments")
    assert "MiniLM" in text
    assert "828,395 of COCO and 317,695 of Flickr30k" in text
    assert metrics == ("VIFIDEL", "FAIEr")


def test_what_training_saw_of_the_versions() -> None:
    told = {"Random": "seen in training", "Insert": "inside the range drawn in training",
            "Delete": "new"}  # fmt: skip
    ((text, _),) = texts(record("FAIEr", {}, versions_in_training=told))
    assert text == (
        "Of the versions here seen in training: Random; inside the range drawn in training: "
        "Insert; new: Delete."
    )
    unseen = {"Delete": "new"}
    assert texts(record("FAIEr", {}, versions_in_training=unseen)) == []
    spoiled = record("F", {}, versions_in_training=unseen, learned_from_corruptions=True)
    assert [text for text, _ in texts(spoiled)] == ["Of the versions here new: Delete."]


def test_training_seeds_with_mean_and_deviation() -> None:
    seeds = {"seeds": [0, 1, 2], "rank_order_rho": {"mean": 0.8041, "sd": 0.0012}}
    ((text, metrics),) = texts(record("FAIEr", {}, training_seeds=seeds), record("TIGEr", {}))
    assert text.endswith("Mean ± standard deviation of ρ over all 3: FAIEr 0.804 ± 0.001.")
    assert metrics == ("FAIEr",)


def test_marks_stand_in_the_rows_that_the_notes_speak_of() -> None:
    records = [
        record("A", {"chosen_on": ["replace"], "caption_models": [MINILM]}),
        record("B", {"caption_models": [MINILM]}),
        record("C"),
    ]
    rows = [Row(r["metric"], "result", None, "", (Cell("metric", r["metric"]),)) for r in records]
    table = MetricsTable([], [("all", rows)]).with_footnotes(footnotes(records, "replace"))
    assert [row.marks for row in table.bodies[0][1]] == ["a b", "b", ""]
    assert [note.mark for note in table.footnotes] == ["a", "b"]
