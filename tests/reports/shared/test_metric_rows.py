"""What a metric's row is; footnotes on training, each of the metrics that it holds for."""

from typing import Any

from metaeval.results.base import MetricResult, Spread, Status, TrainingRecord, TrainingSpread
from metaeval.results.measured import MeasuredResult
from metaeval.results.sentences import training_footnotes
from metaeval.runs.records import CaptionModel, ScoreColumn

MINILM = CaptionModel("MiniLM", {"COCO": 828395, "Flickr30k": 317695})


def metric(
    name: str, training: dict[str, Any] | None = None, status: Status = "ok", **column: Any
) -> MetricResult:
    return MetricResult(
        column=ScoreColumn(name, **column), family="x", status=status,
        training=None if training is None else TrainingRecord(**training),
    )  # fmt: skip


def texts(*metrics: MetricResult, experiment: str = "replace") -> list[tuple[str, tuple[str, ...]]]:
    return [(note.text, note.metrics) for note in training_footnotes(metrics, experiment)]


def test_metrics_that_learned_nothing_have_no_footnote() -> None:
    assert texts(metric("CIDEr"), metric("VIFIDEL", {})) == []
    absent = metric("FAIEr", {"chosen_on": ["replace"]}, "skipped")
    part = metric("RRS", {"chosen_on": ["replace"]}, part_of="TIGEr")
    assert texts(absent, part) == []


def test_chosen_on_this_experiment_is_reported_only_in_this_experiment() -> None:
    tiger = metric("TIGEr", {"chosen_on": ["replace", "shuffle"]})
    (note,) = texts(tiger, metric("CIDEr"))
    assert note[0].startswith("Chosen on this experiment's dev images")
    assert note[1] == ("TIGEr",)
    assert texts(tiger, experiment="judgments") == []


def test_models_trained_on_captions_are_named_with_their_pairs() -> None:
    built = [metric(name, {"caption_models": [MINILM]}) for name in ("VIFIDEL", "FAIEr")]
    ((text, metrics),) = texts(metric("CIDEr"), *built, experiment="judgments")
    assert "MiniLM" in text
    assert "828,395 of COCO and 317,695 of Flickr30k" in text
    assert metrics == ("VIFIDEL", "FAIEr")


def test_what_training_saw_of_the_versions() -> None:
    seen = {"Random": "seen in training", "Insert": "inside the range drawn in training",
            "Delete": "new"}  # fmt: skip
    ((text, _),) = texts(metric("FAIEr", {"versions": seen}))
    assert text == (
        "Of the versions here seen in training: Random; inside the range drawn in training: "
        "Insert; new: Delete."
    )
    unseen = {"versions": {"Delete": "new"}}
    assert texts(metric("FAIEr", unseen)) == []
    corrupted = metric("F", unseen, learned_from_corruptions=True)
    assert [text for text, _ in texts(corrupted)] == ["Of the versions here new: Delete."]


def test_training_seeds_with_mean_and_deviation() -> None:
    seeds = TrainingSpread(seeds=(0, 1, 2), rank_order_rho=Spread(mean=0.8041, sd=0.0012))
    ((text, metrics),) = texts(metric("FAIEr", {"seeds": seeds}), metric("TIGEr", {}))
    assert text.endswith(
        "Mean ± standard deviation of ρ over all training seeds: FAIEr 0.804 ± 0.001 (3 seeds)."
    )
    assert metrics == ("FAIEr",)
    two = TrainingSpread(seeds=(0, 1), rank_order_rho=Spread(mean=0.5, sd=0.1))
    ((text, _),) = texts(metric("FAIEr", {"seeds": seeds}), metric("SCAN", {"seeds": two}))
    assert text.endswith("FAIEr 0.804 ± 0.001 (3 seeds); SCAN 0.500 ± 0.100 (2 seeds).")


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
