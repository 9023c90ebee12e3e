"""Battles: files of every form, what a winner may be, references, and battles of captioners."""

from pathlib import Path

import numpy as np

from metaeval.data.judgments.battles import Battles, load_captioner_battles
from tests.shared import write_captions, write_json

ROWS = [
    {
        "image_id": "a.jpg",
        "first": "a dog runs",
        "second": "a cat",
        "winner": "first",
        "references": ["a dog", "dog running"],
    },
    {
        "image_id": "a.jpg",
        "first": "a cat",
        "second": "a dog runs",
        "winner": "B",
        "references": ["a dog", "dog running"],
    },
    {
        "image_id": "b.jpg",
        "first": "rain",
        "second": "snow",
        "winner": "tie",
        "references": ["Rain."],
    },
]


def caparena(folder: Path) -> Path:
    """A file of the layout of CapArena: the winner is a system or "equal"; one reference."""
    records = [
        {
            "img": f"test_{k}.jpg",
            "source1": a,
            "source2": b,
            "caption1": f"{a} sees {k}",
            "caption2": f"{b} looks at {k}",
            "winner": w,
            "ref": f"this is {k}",
            "cluster": f"level {1 + k % 2}",
            "in-400": bool(k),
        }
        for k, (a, b, w) in enumerate(
            [("x", "y", "x"), ("y", "z", "equal"), ("z", "x", "x"), ("human", "x", "human")]
        )
    ]
    return write_json(folder / "caparena_annots_eval.json", records)


def test_battles_of_captioners_are_drawn_without_repetition(tmp_path: Path) -> None:
    images = range(1, 6)
    write_captions(tmp_path / "captions.json", {i: [f"reference {i}"] for i in images})
    for name in "xyz":
        rows = [{"image_id": i, "caption": f"{name} {i}"} for i in images if (name, i) != ("z", 5)]
        write_json(tmp_path / f"{name}.json", rows)
    files = [str(tmp_path / f"{name}.json") for name in "xyz"]

    def drawn(seed: int) -> Battles:
        return load_captioner_battles(
            files, 100, seed, tmp_path / "captions.json", image_source="coco"
        )

    battles = drawn(0)
    keys = [(i, *sorted(p)) for i, p in zip(battles.image, battles.systems, strict=True)]
    assert len(set(keys)) == len(keys) == 4 * 3 + 1
    assert battles.first[0] == f"{battles.systems[0][0]} {battles.image[0]}"
    assert battles.references[0] == (f"reference {battles.image[0]}",)
    assert np.isnan(battles.winner).all()
    assert drawn(0).first == battles.first != drawn(1).first
