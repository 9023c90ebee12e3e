"""Battles: files of every form, what a winner may be, references, and battles of captioners."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from metaeval.data.judgments.battles import Battles, load_battles, load_captioner_battles
from metaeval.errors import ConfigError, InputError

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
    path = folder / "caparena_annots_eval.json"
    path.write_text(json.dumps(records))
    return path


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    texts = [{**row, "references": json.dumps(row["references"])} for row in rows]
    writers: dict[str, Callable[[], Any]] = {
        ".jsonl": lambda: path.write_text("".join(json.dumps(r) + "\n" for r in rows)),
        ".json": lambda: path.write_text(json.dumps(rows)),
        ".csv": lambda: pd.DataFrame(texts).to_csv(path, index=False),
        ".tsv": lambda: pd.DataFrame(texts).to_csv(path, index=False, sep="\t"),
        ".parquet": lambda: pd.DataFrame(rows).to_parquet(path),
    }
    writers[path.suffix]()


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv", ".tsv", ".parquet"])
def test_every_form_of_a_table_gives_the_same_battles(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"battles{suffix}"
    _write(path, ROWS)
    battles = load_battles(path, image_source="other")
    assert battles.winner is not None
    assert battles.winner.tolist() == [1.0, 0.0, 0.5]
    assert battles.votes.tolist() == [[1, 0], [0, 1], [0, 0]]
    assert battles.image == ("a.jpg", "a.jpg", "b.jpg")
    assert battles.systems == ()
    # "rain" is its own reference, by letters: it is taken out for both sides
    assert battles.references == (("a dog", "dog running"),) * 2 + ((),)
    # of the third, "rain" was the only reference
    (note,) = [note for note in battles.notes if "own_captions" in note]
    assert "in 1 of 3 battles; 1 have no reference left" in note


def test_columns_of_other_names_and_values_of_other_meaning(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("img,l,r,vote,who\n7,one,two,1,ann\n7,one,two,0,bob\n7,one,two,,ann\n")
    battles = load_battles(
        path,
        image_source="other",
        winners={"1": "first", "0": "second"},
        fields={"image_id": "img", "first": "l", "second": "r", "winner": "vote", "rater": "who"},
    )
    assert battles.winner is not None
    assert np.isnan(battles.winner[2])
    assert battles.winner[:2].tolist() == [1.0, 0.0]
    assert battles.raters == ("ann", "bob", "ann")


def test_the_layout_of_caparena(tmp_path: Path) -> None:
    battles = load_battles(caparena(tmp_path), layout="caparena", image_source="other")
    assert battles.winner is not None
    assert battles.winner.tolist() == [1.0, 0.5, 0.0, 1.0]
    assert battles.systems == (("x", "y"), ("y", "z"), ("z", "x"), ("human", "x"))
    assert battles.category == ("level 1", "level 2", "level 1", "level 2")
    assert battles.references[0] == ("this is 0",)


def test_a_missing_file_of_a_benchmark_is_named_with_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"caparena_annots_eval.json.*github.com/njucckevin"):
        load_battles(layout="caparena", data=tmp_path)


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    def load(**changes: Any) -> Battles:
        path = tmp_path / "b.jsonl"
        path.write_text(json.dumps({**ROWS[0], **changes}) + "\n")
        return load_battles(path, image_source="other")

    with pytest.raises(InputError, match=r"b.jsonl, line 1, field 'winner': 'me' is neither"):
        load(winner="me")
    with pytest.raises(InputError, match="'x' is both systems"):
        load(first_system="x", second_system="x")
    with pytest.raises(InputError, match="field 'first'"):
        load(first=7)
    # "B" is the second caption, and the system b wrote the first one
    with pytest.raises(InputError, match="'B' can be the system 'b' or the other caption; use"):
        load(first_system="b", second_system="a", winner="B")
    for winner, expected in (("b", 1.0), ("a", 0.0), ("second", 0.0)):
        data = load(first_system="b", second_system="a", winner=winner)
        assert data.winner is not None
        assert data.winner.tolist() == [expected]
    data = load(first_system="a", second_system="b", winner="B")
    assert data.winner is not None
    assert data.winner.tolist() == [0.0]
    with pytest.raises(ConfigError, match=r"dataset.winners: 'me' is not one of first, second"):
        load_battles(tmp_path / "b.jsonl", winners={"1": "me"})
    with pytest.raises(ConfigError, match="needs a file"):
        load_battles()


def test_battles_of_captioners_are_drawn_without_repetition(tmp_path: Path) -> None:
    images = range(1, 6)
    coco = {
        "images": [{"id": i, "file_name": f"{i:012d}.jpg"} for i in images],
        "annotations": [{"id": i, "image_id": i, "caption": f"reference {i}"} for i in images],
    }
    (tmp_path / "captions.json").write_text(json.dumps(coco))
    for name in "xyz":
        rows = [{"image_id": i, "caption": f"{name} {i}"} for i in images if (name, i) != ("z", 5)]
        (tmp_path / f"{name}.json").write_text(json.dumps(rows))
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
    assert battles.winner is not None
    assert np.isnan(battles.winner).all()
    assert drawn(0).first == battles.first
    assert drawn(1).first != battles.first
    with pytest.raises(ConfigError, match="a battle needs two"):
        load_captioner_battles(files[:1], 5, 0, tmp_path / "captions.json")
