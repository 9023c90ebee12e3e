"""The scripts behind FAIEr's tables: words of what is there, and the variants side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

import torch

from benchmarks.faier import variants, words
from metaeval.data.dataset import CaptionDataset
from metaeval.data.scenes import load_scenes
from metaeval.experiments.training.dev import HeldOut
from metaeval.metrics.faier.matcher import UnionMatcher, score_matrix
from metaeval.metrics.faier.network import encode, load_network
from metaeval.reproduce.coco_words import WORDS
from metaeval.reproduce.object_words import wins
from metaeval.text.scene_graphs.triplets import TripletParser
from metaeval.training.dataset import CaptionedImages
from metaeval.vision.regions.gold import CATEGORIES, GoldRegions
from metaeval.weights import pretrained
from tests.metrics.faier import plain


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> CaptionDataset:
    return load_scenes(n=30, cache=tmp_path_factory.mktemp("scenes"))


def test_every_category_has_words_and_no_word_two_categories() -> None:
    assert list(WORDS) == list(CATEGORIES)
    words = [word for own in WORDS.values() for word in own]
    assert len(set(words)) == len(words)
    assert all(own[0] == name for name, own in WORDS.items())


def test_pairs_by_hand() -> None:
    # 3 beats 1 and 2 and ties with 3; 1 ties with 1: (2.5 + .5) of 6
    assert wins(np.array([3.0, 1.0]), np.array([1.0, 2.0, 3.0])) == 0.5


def test_words_of_what_is_there_are_found(scenes: CaptionDataset) -> None:
    model, vocabulary, _ = words.load(scenes, pretrained.AUTO)
    found = words.table(model, vocabulary, scenes)
    for row in found.values():
        assert row.gold > row.other
        assert row.wins > 0.8
        assert row.pointed > row.chance


@torch.inference_mode()
def test_a_word_by_the_plain_model(scenes: CaptionDataset) -> None:
    """The mean match of ground-truth words and of others, word by word and image by image."""
    model, vocabulary, _ = words.load(scenes, pretrained.AUTO)
    few = scenes.limited(2)
    regions = GoldRegions().load(few)
    row = words.table(model, vocabulary, few, counts=(4,))[4]
    known = words.known_words(vocabulary)
    features, boxes, mask = regions.tensors()
    gold, other = [], []
    for i, references in enumerate(few.references):
        nodes = model.read(encode(references, TripletParser(), vocabulary).take(np.arange(4)))
        one = slice(i, i + 1)
        seen = model.see(features[one], boxes[one], mask[one])
        union, *_ = plain.unite(model, seen, 0, nodes, range(4))
        scores: dict[bool, list[float]] = {True: [], False: []}
        for category, word in known:
            text = encode([f"a {word}"], TripletParser(), vocabulary).take(np.array([0]))
            tokens = model.read(text).objects[0, 2:-1]
            best = (tokens @ union.T).max(dim=1).values.mean()
            scores[category in regions.labels[i]].append(float(best))
        gold.append(np.mean(scores[True]))
        other.append(np.mean(scores[False]))
    # float32 in another order
    assert row.gold == pytest.approx(np.mean(gold), abs=1e-5)
    assert row.other == pytest.approx(np.mean(other), abs=1e-5)


def test_variants_are_rows_of_a_table(scenes: CaptionDataset) -> None:
    chosen = variants.weights_for(scenes, [])
    assert {w.card["variant"] for w in chosen} >= {"r", "corruptions"}
    (weights,) = (w for w in chosen if w.card["variant"] == "r")
    images = CaptionedImages.of(scenes, GoldRegions())
    data = HeldOut(images, scenes, TripletParser(), weights.vocabulary(), seed=0)
    rows = variants.rows(weights, data, (2, 0))
    assert [row[:2] for row in rows] == [("r", 2), ("r", 0)]
    printed = variants.line(rows[0])
    assert printed.startswith(f"| r | 2 | {rows[0][2]:.3f} | ")
    assert f"{rows[0][6]:.1f} / {rows[0][7]:.1f} / {rows[0][8]:.1f} |" in printed
    # retrieval by the scorer itself
    matcher = UnionMatcher(load_network(weights))
    regions = GoldRegions().load(scenes)
    flat = encode(
        [t for own in scenes.references for t in own], TripletParser(), weights.vocabulary()
    )
    matcher.prepare(regions, flat, [[4 * i, 4 * i + 1] for i in range(30)])
    human = encode(scenes.human, TripletParser(), weights.vocabulary())
    table = score_matrix(matcher, matcher.read(human), np.arange(30), np.arange(30))
    first = np.mean(table.argmax(axis=0) == np.arange(30))
    assert rows[0][6] == pytest.approx(100 * first, abs=0.01)


def test_weights_that_know_the_images_are_left_out(
    scenes: CaptionDataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = load_scenes(split="train", n=30, cache=tmp_path)
    assert variants.weights_for(train, ["faier_scenes_r"]) == []
    assert "left out: " in capsys.readouterr().out
