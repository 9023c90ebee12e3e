"""The metric: names and signatures, references, overlap, explanations, the command."""

import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from metaeval.data.dataset import CaptionDataset
from metaeval.data.scenes import load_scenes
from metaeval.metrics.faier.metric import Faier
from metaeval.metrics.faier.network import FaierNetwork, FaierShape
from metaeval.runs.records import NETWORK_PRECISION
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions
from metaeval.text.scene_graphs.parse import TripletParser
from metaeval.vision.regions.gold import GoldRegions
from metaeval.weights import pretrained
from research.train.networks import vocabulary_with_triplets
from research.weights import save_weights
from tests.metrics.metric_cases import bound, ready
from tests.precision import assert_same_scores

COLUMNS = {
    ("r", 4): (
        "FAIEr (gold objects)",
        "FAIEr-object (gold objects)",
        "FAIEr-relation (gold objects)",
    ),
    ("r", 0): (
        "FAIEr (gold objects, no references)",
        "FAIEr-object (gold objects, no references)",
        "FAIEr-relation (gold objects, no references)",
    ),
    ("corruptions", 4): (
        "FAIEr (gold objects, trained on corruptions)",
        "FAIEr-object (gold objects, trained on corruptions)",
        "FAIEr-relation (gold objects, trained on corruptions)",
    ),
    ("rel", 4): ("FAIEr (gold objects, object level alone)",),
    ("fier", 4): (
        "FIEr (gold objects, no references)",
        "FIEr-object (gold objects, no references)",
        "FIEr-relation (gold objects, no references)",
    ),
    ("aier", 4): ("AIEr", "AIEr-object", "AIEr-relation"),
}


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> CaptionDataset:
    return load_scenes(n=12, cache=tmp_path_factory.mktemp("scenes"))


@pytest.fixture(scope="module")
def weights(scenes: CaptionDataset, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Networks with random weights, one a variant, that have "learned" from the first scene."""
    texts = [text for own in scenes.references for text in own]
    vocabulary = vocabulary_with_triplets(texts, TripletParser()(texts), 2)
    found = {}
    for variant in ("r", "corruptions", "rel", "fier", "aier"):
        torch.manual_seed(0)
        sees = variant != "aier"
        shape = FaierShape(
            88 if sees else 0, len(vocabulary), 8, 12, variant != "rel", variant != "fier", sees
        )
        card = {
            "kind": "faier",
            "variant": variant,
            "regions": "gold-v1" if sees else "none",
            "parser": "rules-1",
            "trained_on_corruptions": variant == "corruptions",
            "shape": asdict(shape),
        }
        folder = tmp_path_factory.mktemp(variant)
        save_weights(folder, FaierNetwork(shape), vocabulary, card, scenes.limited(1))
        found[variant] = folder
    return found


def metric(weights: dict[str, Path], variant: str = "r", **options: Any) -> Faier:
    return Faier(GoldRegions(), weights=str(weights[variant]), device="cpu", **options)


def scored(own: Faier, dataset: CaptionDataset, texts: list[str], index: list[int]) -> Any:
    found = score_captions(own, dataset, texts, np.array(index, dtype=np.intp), MemoryStore())
    assert found.status == "ok", found.reason
    return found


@pytest.mark.parametrize(("variant", "references"), list(COLUMNS))
def test_columns_and_signatures_say_what_they_are(
    weights: dict[str, Path], scenes: CaptionDataset, variant: str, references: int
) -> None:
    scorer = bound(metric(weights, variant, references=references), scenes)
    names = COLUMNS[variant, references]
    assert tuple(column.name for column in scorer.columns) == names
    note = names[0].partition(" (")[2]
    for column in scorer.columns:
        assert column.part_of == (None if column.name == names[0] else names[0])
        assert column.variant_of == (column.name.partition(" (")[0] if note else None)
        assert column.learned_from_corruptions == (variant == "corruptions")
        assert column.bounds == (-math.inf, math.inf)
    assert Faier(GoldRegions(), variant=variant, references=references).columns == scorer.columns
    found = scorer.signatures[0]
    label = pretrained.read_weights(weights[variant]).label
    kind = "r_neg" if variant == "corruptions" else variant
    regions = "none" if variant == "aier" else "gold-v1"
    for part in (f"weights:{label}", f"variant:{kind}|", f"regions:{regions}|", "parser:rules-1"):
        assert part in found
    assert f"refs:{0 if variant == 'fier' else references}" in found
    assert ("trained-on-corruptions" in found) == (variant == "corruptions")


def test_references_change_a_score_and_none_are_needed(
    weights: dict[str, Path], scenes: CaptionDataset
) -> None:
    texts, index = list(scenes.human[1:]), list(range(1, 12))
    four = scored(metric(weights), scenes, texts, index).scores
    two = scored(metric(weights, references=2), scenes, texts, index).scores
    none = scored(metric(weights, references=0), scenes, texts, index).scores
    assert (four[:, 0] != two[:, 0]).all()
    assert (two[:, 0] != none[:, 0]).all()
    bare = replace(scenes, references=tuple(() for _ in range(12)), _loaded={})
    assert_same_scores(scored(metric(weights), bare, texts, index).scores, none)
    cut = replace(scenes, references=tuple(own[:2] for own in scenes.references), _loaded={})
    assert_same_scores(scored(metric(weights), cut, texts, index).scores, two)


def test_aier_needs_references_and_no_region(
    weights: dict[str, Path], scenes: CaptionDataset
) -> None:
    texts, index = list(scenes.human[1:]), list(range(1, 12))
    own = Faier(GoldRegions(), "aier", str(weights["aier"]), device="cpu")
    whole = scored(own, scenes, texts, index).scores
    blind = replace(scenes, parts={}, _loaded={})
    assert_same_scores(scored(own, blind, texts, index).scores, whole)
    assert_same_scores(whole[:, 0], whole[:, 1] + whole[:, 2], 2e-5)
    groups = ((), *((r[:1] if i % 2 else ()) for i, r in enumerate(scenes.references[1:], 1)))
    without = scored(own, replace(scenes, references=groups, _loaded={}), texts, index).scores
    assert np.isnan(without[:, 0]).tolist() == [i % 2 == 0 for i in index]
    assert (without[::2] != whole[::2]).any()
    bare = replace(scenes, references=tuple(() for _ in range(12)), _loaded={})
    assert own.bind(bare).part == "references"
    assert bound(own, scenes).explain_all(texts, np.array(index)) == [None] * 11


def test_calibration_is_in_units_of_the_references(
    weights: dict[str, Path], scenes: CaptionDataset
) -> None:
    index = list(range(1, 12))
    texts = [scenes.human[i] for i in index]
    done = scored(metric(weights, calibrate=True), scenes, texts, index)
    found = done.scores
    plain = scored(metric(weights), scenes, texts, index).scores
    assert done.columns[0].name == "FAIEr (gold objects, calibrated)"
    assert "|cal:references|" in done.signatures[0]
    units = []
    for i in index:
        references = list(scenes.references[i])
        units.append(scored(metric(weights), scenes, references, [i] * 4).scores[:, 0].mean())
    unit = np.array(units)
    good = unit > 0
    # a rounded score over a mean of rounded scores, and the quotient is rounded too
    slack = NETWORK_PRECISION * (
        1 + 1 / unit[good, None] + abs(plain[good]) / unit[good, None] ** 2
    )
    assert (abs(found[good] - plain[good] / unit[good, None]) <= slack).all()
    assert np.isnan(found[~good]).all()
    assert good.any()


def test_explanations_can_be_written_and_add_up(
    weights: dict[str, Path], scenes: CaptionDataset
) -> None:
    own = ready(metric(weights), scenes)
    explanation = own.explain(scenes.human[2], 2)
    assert json.loads(json.dumps(explanation)) == explanation
    assert explanation["kind"] == "matches"
    assert list(explanation["values"]) == [column.name for column in own.columns]
    assert explanation["relations"][0] == "(sentence)"
    for level, matches in (("object", "matches"), ("relation", "relation_matches")):
        best = np.array(explanation[matches]).max(axis=1)
        score = explanation["values"][f"FAIEr-{level} (gold objects)"]
        assert best.mean() == pytest.approx(score, abs=2e-4)
    assert len(explanation["references"]) == 4
    assert explanation["regions"][0] == {"label": "whole image", "box": [0.0, 0.0, 1.0, 1.0]}
    # the networks have learned from the first image
    assert own.explain(scenes.human[0], 0) is None
    assert np.isnan(own.score([scenes.human[0]], np.array([0]))).all()
    again = own.explain(scenes.human[3], 2)
    assert again["references"] == explanation["references"]
    assert again["words"] != explanation["words"]
    scores = own.score([scenes.human[2], scenes.human[3]], np.array([2, 2]))
    for each, row in zip((explanation, again), scores, strict=True):
        # the same float32 sums in another order, rounded to four digits
        assert list(each["values"].values()) == pytest.approx(row.tolist(), abs=6e-5)
