"""FAIEr's table of words for what is there."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

import torch

from metaeval.data.dataset import CaptionDataset
from metaeval.data.scenes import load_scenes
from metaeval.metrics.faier.network import parse_and_encode
from metaeval.reproduce.functions import WORDS, known_words, load, table
from metaeval.text.scene_graphs.parse import TripletParser
from metaeval.vision.regions.gold import CATEGORIES, GoldRegions
from metaeval.weights import pretrained
from research.tests import faier_plain as plain
from research.train.networks import TextBatch, read_nodes


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> CaptionDataset:
    return load_scenes(n=30, cache=tmp_path_factory.mktemp("scenes"))


def test_every_category_has_words_and_no_word_two_categories() -> None:
    assert list(WORDS) == list(CATEGORIES)
    words = [word for own in WORDS.values() for word in own]
    assert len(set(words)) == len(words)
    assert all(own[0] == name for name, own in WORDS.items())


def test_words_of_what_is_there_are_found(scenes: CaptionDataset) -> None:
    model, vocabulary, _ = load(scenes, pretrained.AUTO)
    found = table(model, vocabulary, scenes)
    for row in found.values():
        assert row.gold > row.other
        assert row.wins > 0.8


@torch.inference_mode()
def test_a_word_by_the_plain_model(scenes: CaptionDataset) -> None:
    """The mean match of ground-truth words and of others, word by word and image by image."""
    model, vocabulary, _ = load(scenes, pretrained.AUTO)
    few = scenes.limited(2)
    regions = GoldRegions().load(few)
    row = table(model, vocabulary, few, counts=(4,))[4]
    known = known_words(vocabulary)
    features, boxes, mask = regions.tensors()
    gold, other = [], []
    for i, references in enumerate(few.references):
        parsed = parse_and_encode(references, TripletParser(), vocabulary)
        nodes = read_nodes(model.text, TextBatch.of(parsed, np.arange(4)))
        one = slice(i, i + 1)
        seen = model.see(features[one], boxes[one], mask[one])
        union, *_ = plain.unite(model, seen, 0, nodes, range(4))
        scores: dict[bool, list[float]] = {True: [], False: []}
        for category, word in known:
            text = parse_and_encode([f"a {word}"], TripletParser(), vocabulary)
            read = read_nodes(model.text, TextBatch.of(text, np.array([0])))
            tokens = read.objects[0, 2:-1]
            best = (tokens @ union.T).max(dim=1).values.mean()
            scores[category in regions.labels[i]].append(float(best))
        gold.append(np.mean(scores[True]))
        other.append(np.mean(scores[False]))
    # float32 in another order
    assert row.gold == pytest.approx(np.mean(gold), abs=1e-5)
    assert row.other == pytest.approx(np.mean(other), abs=1e-5)
