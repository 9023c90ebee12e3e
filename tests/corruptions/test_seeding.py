"""A caption's corruption depends on seed, corruption and image id, and on nothing else."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from metaeval.corruptions.base import Corruption
from metaeval.corruptions.graded.delete import Delete
from metaeval.corruptions.graded.random import Random
from metaeval.corruptions.graded.replace import Insert, Replace
from metaeval.corruptions.graded.shuffle import Reverse, Shuffle
from metaeval.data.dataset import CaptionDataset

ROOT = Path(__file__).parents[2]
NOUNS = ["man", "woman", "child", "dog", "cat", "horse", "bus", "train", "plate", "pizza"]
PLACES = ["street", "field", "kitchen", "beach", "table"]
ALL = [
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


def made(n: int, ids: type = int) -> CaptionDataset:
    """n images with captions of ten words, each occurring often enough for the bag."""
    names = tuple(sorted(ids(i * 37 + 5) for i in range(n)))
    human = tuple(
        f"A {NOUNS[i % 10]} and a {NOUNS[(i // 10) % 10]} are on the {PLACES[i % 5]}, today."
        for i in range(n)
    )
    return CaptionDataset("made", names, human, tuple(("a",) for _ in names), names, human)


@pytest.mark.parametrize("corruption", ALL, ids=lambda c: c.label)
@pytest.mark.parametrize("ids", [int, str])
def test_a_subset_of_images_gets_the_same_corruptions(corruption: Corruption, ids):
    whole = made(100, ids)
    everything = dict(zip(whole.image_ids, corruption.apply(whole, 3), strict=True))
    few = whole.limited(7)
    assert corruption.apply(few, 3) == [everything[i] for i in few.image_ids]
    odd = replace(
        whole,
        image_ids=whole.image_ids[1::2],
        human=whole.human[1::2],
        references=whole.references[1::2],
        _loaded={},
    )
    assert corruption.apply(odd, 3) == [everything[i] for i in odd.image_ids]


# of the corruptions Reverse alone has nothing random in it
@pytest.mark.parametrize(
    "corruption", [c for c in ALL if not isinstance(c, Reverse)], ids=lambda c: c.label
)
def test_seeds_differ_and_repeat(corruption: Corruption):
    data = made(100)
    first = corruption.apply(data, 0)
    assert corruption.apply(data, 0) == first
    other = corruption.apply(data, 1)
    assert sum(a != b for a, b in zip(first, other, strict=True)) > 40


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


def digest() -> str:
    """All corruptions of the made captions, as a hash."""
    data = made(60)
    text = "\n".join(repr(r) for c in ALL for r in c.apply(data, 11))
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("hash_seed", ["0", "12345"])
def test_another_process_gives_the_same(hash_seed):
    code = (
        "import importlib.util as u; "
        f"s = u.spec_from_file_location('t', {__file__!r}); "
        "m = u.module_from_spec(s); s.loader.exec_module(m); print(m.digest())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == digest()


def test_these_are_the_corruptions_of_the_first_release():
    """If this fails, published seeds no longer give what they gave: say so in the changelog."""
    data = made(60)
    assert Replace(0.5).apply(data, 0)[0].text == "man man man a man are on the bus, child."
    assert Shuffle(0.5).apply(data, 0)[0].text == "A man and a on are today. the street, man"
    assert Random().apply(data, 0)[0].text == "A train and a horse are on the kitchen, today."
