"""Facts of a training that affect a run's findings, read from a card.

A card's `caption_models`, `chosen_on` and `drawn` are written by the training, from what it used
and drew. `seeds` is what trainings with other seeds gave, entered by hand with the command that
measured it; a metric whose options differ from those that were measured gets none of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metaeval.runs.records import CaptionModel, DrawnCorruption, TrainingFacts, TrainingSeeds


def training_facts(card: Mapping[str, Any], settings: Mapping[str, Any]) -> TrainingFacts:
    """The facts of a card, for a scorer whose signature says `settings`."""
    spreads = (TrainingSeeds(**entry) for entry in card.get("seeds", ()))
    return TrainingFacts(
        caption_models=tuple(CaptionModel(**each) for each in card.get("caption_models", ())),
        chosen_on=tuple(card.get("chosen_on", ())),
        drawn=tuple(_drawn(each) for each in card.get("drawn", ())),
        own=_own_training(card),
        seeds=tuple(spread for spread in spreads if _suits(spread.settings, settings)),
    )


def _own_training(card: Mapping[str, Any]) -> str | None:
    """ "own training on captions of 4,000 images of coco_karpathy_test, with annotated objects"."""
    data = card.get("data") or {}
    if "dataset" not in data or "n_train" not in data:
        return None
    text = f"own training on captions of {data['n_train']:,} images of {data['dataset']}"
    if str(card.get("regions", "")).startswith("gold"):
        text += ", with annotated objects (gold)"
    return text


def _drawn(entry: Mapping[str, Any]) -> DrawnCorruption:
    rates = entry["rates"]
    return DrawnCorruption(
        entry["corruption"], entry["flaw"], None if rates is None else (rates[0], rates[1])
    )


def _suits(wanted: Mapping[str, str | None], settings: Mapping[str, object]) -> bool:
    """Whether the settings have the wanted value; `None` if they do not contain it."""
    values = {key: str(value) for key, value in settings.items()}
    return all(values.get(key) == value for key, value in wanted.items())
