"""Properties of every corruption: pure, independent of order, and with correct edits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from hydra.utils import instantiate
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from metaeval.corruptions.base import KINDS, Caption, Corruption
from metaeval.data.scenes import load_scenes
from metaeval.experiments.sensitivity.suite import OWN
from metaeval.runs.records import Edit
from tests.corruptions.language.captions import HUMAN, dataset

ALL = {
    file.stem: file
    for file in (Path(__file__).parents[2] / "conf/corruption").glob("*.yaml")
    if file.stem not in OWN  # those have something of the user's
}


def with_edits(text: str, edits: Sequence[Edit]) -> str:
    """The text with the edits made: what an edit means, in five lines."""
    tokens: list[str] = []
    old = text.split()
    for i in range(len(old) + 1):
        here = [edit for edit in edits if edit.position == i]
        tokens += [edit.after for edit in here if not edit.before]
        changed = [edit.after for edit in here if edit.before]
        tokens += [word for word in changed or old[i : i + 1] if word]
    return " ".join(tokens)


def configured(name: str) -> Corruption:
    """The corruption of a file of conf/corruption, at its first level."""
    options = OmegaConf.to_container(OmegaConf.load(ALL[name]))
    for seeding in ("seeds", "reseeded"):
        options.pop(seeding, None)
    if rates := options.pop("rates", None):
        options["rate"] = rates[0]
    return instantiate(options)


# those that know the truth are tested on scenes
FILES = {name: file for name, file in sorted(ALL.items()) if not configured(name).needs}
ODD = {"...", ".", ",", "it's", "2", "IS", "An"}
WORDS = sorted({word for text in HUMAN for word in text.split()} | ODD)
TEXTS = st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)
EXAMPLES = int(os.environ.get("METAEVAL_EXAMPLES", "25"))
WITHOUT_EDITS = {"whole caption"}  # another text altogether: there is nothing to point at


@cache
def made(name: str) -> Corruption:
    """The corruption, fitted."""
    corruption = configured(name)
    corruption.apply(dataset(HUMAN * 4), 0)
    return corruption


@pytest.mark.parametrize("name", FILES)
def test_kind_title_and_expectation_are_declared(name):
    corruption = made(name)
    assert corruption.kind in KINDS
    assert (corruption.kind == "harmless") == (corruption.expected == "same")
    assert corruption.title[0].isupper()


def test_titles_are_unique():
    titles = [made(name).title for name in FILES]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=EXAMPLES, deadline=None)
@given(text=TEXTS, seed=st.integers(0, 5))
def test_any_text(name, text, seed):
    corruption = made(name)
    caption = Caption(10, text)
    first = corruption.corrupt(caption, corruption.generator(seed, 10))
    for other in HUMAN[:2]:  # what came in between changes nothing
        corruption.corrupt(Caption(11, other), corruption.generator(seed, 11))
    assert corruption.corrupt(caption, corruption.generator(seed, 10)) == first
    assert first.applied == (first.text != text)
    if not first.applied:
        assert not first.edits
    elif corruption.kind not in WITHOUT_EDITS and name not in (
        "own_reference", "repeat_caption", "white_space", "insert", "delete",
    ):  # fmt: skip
        assert first.edits
        assert with_edits(text, first.edits) == first.text


@pytest.mark.parametrize("name", FILES)
def test_a_subset_in_another_order_gets_the_same(name):
    corruption, whole = made(name), dataset(HUMAN * 4)
    everything = dict(zip(whole.image_ids, corruption.apply(whole, 3), strict=True))
    few = whole.subset([1, 7, 8, 30, 41])
    assert corruption.apply(few, 3) == [everything[i] for i in few.image_ids]


@cache
def scenes():
    return load_scenes(n=12)


@cache
def on_scenes(name: str) -> tuple[Corruption, dict]:
    """The corruption fitted to twelve scenes, and what it makes of each, in their own order."""
    corruption, data = configured(name), scenes()
    return corruption, dict(zip(data.image_ids, corruption.apply(data, 7), strict=True))


@pytest.mark.parametrize("name", sorted(ALL))
@settings(max_examples=EXAMPLES, deadline=None)
@given(order=st.permutations(range(12)))
def test_the_order_of_captions_does_not_matter(name, order):
    """Of those that know the truth, too."""
    corruption, known = on_scenes(name)
    data, graphs = scenes(), scenes().part("scene_graphs")
    for i in order:
        image_id = data.image_ids[i]
        caption = Caption(image_id, data.human[i], graphs[image_id])
        now = corruption.corrupt(caption, corruption.generator(7, image_id))
        assert now == known[image_id]


@pytest.mark.parametrize(
    "name", [n for n, f in FILES.items() if "graded" not in f.read_text(encoding="utf-8")]
)
def test_what_could_not_be_changed_has_a_reason(name):
    for result in made(name).apply(dataset(HUMAN * 4), 0):
        assert result.applied or result.reason
