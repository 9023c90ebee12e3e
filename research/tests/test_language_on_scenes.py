"""Corruptions of language on scenes, against verdicts on what the scenes' truth says of them."""

import csv

from metaeval.data.scenes import load_scenes
from metaeval.experiments.sensitivity.task import suite
from research.corruption_audit.__main__ import SCENE_VERDICTS, key_of

KINDS = (
    *("objects", "attributes", "numbers", "relations", "people", "scene", "logic", "harmless"),
    *("words", "grammar", "order", "spelling", "whole caption"),
)
KEPT = {"lower": ("false", "lost"), "same": ("true",)}  # expected effect → verdicts that fit it


def test_on_scenes_every_change_keeps_its_word() -> None:
    """A change without a verdict is new: read it, and add a line to `scene_verdicts.csv`."""
    with SCENE_VERDICTS.open(encoding="utf-8", newline="") as file:
        verdicts = {row["item"]: row["verdict"] for row in csv.DictReader(file)}
    data, wrong, n = load_scenes(n=40), [], 0
    for corruption in suite(data, KINDS):
        for text, made in zip(data.human, corruption.apply(data, 0), strict=True):
            if made.applied:
                n += 1
                verdict = verdicts.get(key_of(text, made.text), "not read")
                if verdict not in KEPT[corruption.expected]:
                    wrong.append((corruption.label, text, made.text, verdict))
    assert wrong == []
    assert n > 2700
