"""Properties of every corruption: pure, seeded by its image, configured, with correct edits."""

import hashlib
import os
import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from hydra.utils import instantiate
from hypothesis import given, settings, strategies as st
from omegaconf import OmegaConf

from metaeval.corruptions.base import KINDS, SEVERITIES, Caption, Corruption
from metaeval.corruptions.graded.random import Random
from metaeval.corruptions.graded.replace import Delete, Insert, Replace
from metaeval.corruptions.graded.shuffle import Reverse, Shuffle
from metaeval.corruptions.language.parsed import forget_parsed, parse, parse_all
from metaeval.data.dataset import CaptionDataset
from metaeval.data.scenes import load_scenes
from metaeval.experiments.sensitivity.task import OWN
from metaeval.runs.records import Edit
from tests.corruptions.language.captions import HUMAN, dataset

ALL = {
    file.stem: file
    for file in (Path(__file__).parents[2] / "conf/corruption").glob("*.yaml")
    if file.stem not in OWN  # those have something of the user's
}


def with_edits(text: str, edits: Sequence[Edit]) -> str:
    """The text with the edits made: what an edit means, in six lines."""
    tokens: list[str] = []
    old = text.split()
    assert all(edit.before in ("", *old[edit.position : edit.position + 1]) for edit in edits)
    for i in range(len(old) + 1):
        here = [edit for edit in edits if edit.position == i]
        tokens += [edit.after for edit in here if not edit.before]
        changed = [edit.after for edit in here if edit.before]
        tokens += [word for word in changed or old[i : i + 1] if word]
    return " ".join(tokens)


def levels(name: str) -> list[Corruption]:
    """The corruptions of a file of conf/corruption, lowest rate first."""
    options = OmegaConf.to_container(OmegaConf.load(ALL[name]))
    for seeding in ("seeds", "reseeded"):
        options.pop(seeding, None)
    rates = options.pop("rates", None)
    if not rates:
        return [instantiate(options)]
    return [instantiate({**options, "rate": rate}) for rate in sorted(rates)]


# those that know the truth are tested on scenes
FILES = {name: file for name, file in sorted(ALL.items()) if not levels(name)[0].needs}
ODD = {"...", ".", ",", "it's", "2", "IS", "An"}
WORDS = sorted({word for text in HUMAN for word in text.split()} | ODD)
EXAMPLES = int(os.environ.get("METAEVAL_EXAMPLES", "25"))
DRAW = random.Random(EXAMPLES)
TEXTS = [" ".join(DRAW.choices(WORDS, k=DRAW.randrange(15))) for _ in range(80 * EXAMPLES)]
WITHOUT_EDITS = {"whole caption"}  # another text altogether: there is nothing to point at


@cache
def made(name: str) -> Corruption:
    """The corruption, fitted."""
    corruption = levels(name)[0]
    corruption.apply(dataset(HUMAN * 4), 0)
    parse_all(TEXTS)  # together, which is faster
    return corruption


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=EXAMPLES)
@given(text=st.sampled_from(TEXTS), seed=st.integers(0, 5))
def test_any_text(name, text, seed):
    corruption = made(name)
    caption = Caption(10, text)
    first = corruption.corrupt(caption, corruption.generator(seed, 10))
    for other in HUMAN[:2]:  # what came in between changes nothing
        corruption.corrupt(Caption(11, other), corruption.generator(seed, 11))
    assert corruption.corrupt(caption, corruption.generator(seed, 10)) == first
    assert first.applied == (first.text != text)
    assert first.applied or not first.edits
    if (
        first.applied
        and corruption.kind not in WITHOUT_EDITS
        and name
        not in (
            "own_reference",
            "repeat_caption",
            "white_space",
            "insert",
            "delete",
        )
    ):
        assert first.edits
        assert with_edits(text, first.edits) == first.text


@pytest.mark.parametrize("name", sorted(ALL))
def test_the_order_of_captions_does_not_matter(name):
    """Of those that know the truth, too."""
    corruption, data = levels(name)[0], load_scenes(n=12)
    known = corruption.apply(data, 7)
    for i in random.Random(name).sample(range(12), 12):
        image_id = data.image_ids[i]
        caption = Caption(image_id, data.human[i], data.part("scene_graphs")[image_id])
        assert corruption.corrupt(caption, corruption.generator(7, image_id)) == known[i]


DATA = dataset(HUMAN * 4)
LONG = dataset([f"{a.rstrip('.')}. {b}" for a, b in zip(HUMAN, HUMAN[::-1], strict=True)])


@pytest.mark.parametrize("name", FILES)
def test_configured_corruptions_run(name):
    corruptions = levels(name)
    assert len({corruption.label for corruption in corruptions}) == len(corruptions)
    for corruption in corruptions:
        assert corruption.name == name
        assert corruption.kind in KINDS
        assert (corruption.kind == "harmless") == (corruption.expected == "same")
        assert corruption.title[0].isupper()
        data = LONG if corruption.kind == "sentences" else DATA
        assert corruption.missing(data) is None
        results = corruption.apply(data, 0)
        assert len(results) == len(data)
        assert any(result.applied for result in results)
        if "graded" not in FILES[name].read_text(encoding="utf-8"):
            assert all(result.applied or result.reason for result in results)


@pytest.mark.parametrize("name", sorted(ALL))
def test_severity_is_declared_and_agrees_with_the_expected_effect(name):
    made = levels(name)
    ranks = [SEVERITIES.index(corruption.severity) for corruption in made]
    assert ranks == sorted(ranks)  # a higher rate is never milder
    assert [rank == 0 for rank in ranks] == [corruption.expected == "same" for corruption in made]


def test_rates_are_the_papers_and_severity_follows_them():
    severities = {rate: Replace(rate).severity for rate in (0.1, 0.49, 0.5, 1.0)}
    assert severities == {0.1: "major", 0.49: "major", 0.5: "critical", 1.0: "critical"}
    rates = {name: OmegaConf.load(ALL[name]).rates for name in ("replace", "shuffle")}
    assert rates == {"replace": [0.25, 0.5], "shuffle": [0.25, 0.5, 1.0]}


DIGEST = "f1a9cd6c6dc85bb391d34858dec32326b3b2b13d1ead61c48ad84a0d9bbae6c9"
NOUNS = ["man", "woman", "child", "dog", "cat", "horse", "bus", "train", "plate", "pizza"]
PLACES = ["street", "field", "kitchen", "beach", "table"]
GRADED = [
    Random(),
    Replace(0.25),
    Replace(0.5, distinct=True),
    Shuffle(0.25),
    Shuffle(0.5, derange=True),
    Shuffle(1),
    Delete(0.5),
    Insert(0.5),
    Reverse(),
]


def test_parameters_ids_and_names_make_different_generators():
    draws = {
        corruption.generator(seed, image).integers(2**62)
        for corruption in (Replace(0.25), Replace(0.5), Replace(0.25, True), Shuffle(0.25))
        for seed in (0, 1)
        for image in (1, "1", 2)
    }
    assert len(draws) == 4 * 2 * 3
    assert Replace(1).generator(0, 5).integers(2**62) == Replace(1.0).generator(0, 5).integers(
        2**62
    )


def test_these_are_the_corruptions_of_the_first_release():
    """If this fails, published seeds no longer give what they gave: say so in the changelog. Every
    process has another hash seed."""
    ids = tuple(i * 37 + 5 for i in range(60))
    human = tuple(  # each word occurs often enough for the bag
        f"A {NOUNS[i % 10]} and a {NOUNS[(i // 10) % 10]} are on the {PLACES[i % 5]}, today."
        for i in range(60)
    )
    data = CaptionDataset("made", ids, human, (("a",),) * 60, ids, human)
    text = "\n".join(repr(r) for c in GRADED for r in c.apply(data, 11))
    assert hashlib.sha256(text.encode()).hexdigest() == DIGEST
    assert Replace(0.5).apply(data, 0)[0].text == "man man man a man are on the bus, child."
    assert Shuffle(0.5).apply(data, 0)[0].text == "A man and a on are today. the street, man"
    assert Random().apply(data, 0)[0].text == "A train and a horse are on the kitchen, today."


def test_a_caption_is_read_alike_in_company() -> None:
    texts = [*HUMAN, "", "Two dogs. One cat!", *HUMAN[:2]]
    alone = []
    for text in texts:
        forget_parsed()
        alone.append(parse(text))
    forget_parsed()
    assert parse_all(texts) == alone
