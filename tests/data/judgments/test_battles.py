"""Battles: files of every form, what a winner may be, references, and battles of captioners."""

from pathlib import Path

import numpy as np
import pytest

from metaeval.data.judgments.battles import Battles, load_battles, load_captioner_battles
from tests.data.table_files import write
from tests.shared import write_json, write_lines

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


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv", ".tsv", ".parquet"])
def test_every_form_of_a_table_gives_the_same_battles(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"battles{suffix}", ROWS)
    battles = load_battles(path, image_source="other")
    assert battles.winner.tolist() == [1.0, 0.0, 0.5]
    assert battles.votes.tolist() == [[1, 0], [0, 1], [0, 0]]
    assert (battles.image, battles.systems) == (("a.jpg", "a.jpg", "b.jpg"), ())
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
    assert battles.winner[:2].tolist() == [1.0, 0.0]
    assert np.isnan(battles.winner[2])
    assert battles.raters == ("ann", "bob", "ann")


def test_the_layout_of_caparena(tmp_path: Path) -> None:
    battles = load_battles(caparena(tmp_path), layout="caparena", image_source="other")
    assert battles.winner.tolist() == [1.0, 0.5, 0.0, 1.0]
    assert battles.systems == (("x", "y"), ("y", "z"), ("z", "x"), ("human", "x"))
    assert battles.category == ("level 1", "level 2", "level 1", "level 2")
    assert battles.references[0] == ("this is 0",)


@pytest.mark.parametrize(
    ("systems", "winner", "expected"),
    [("ba", "b", 1.0), ("ba", "a", 0.0), ("ba", "second", 0.0), ("ab", "B", 0.0)],
)
def test_a_winner_is_a_system_or_a_side(
    systems: str, winner: str, expected: float, tmp_path: Path
) -> None:
    row = {**ROWS[0], "first_system": systems[0], "second_system": systems[1], "winner": winner}
    data = load_battles(write_lines(tmp_path / "b.jsonl", [row]), image_source="other")
    assert data.winner.tolist() == [expected]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("A>B A>>B B<A [[A]] [[A>B]] [[A>>B]]", 1.0),
        ("B>A B>>A A<B [[B]] [[B>>A]]", 0.0),
        ("A=B [[A=B]] [[C]] tie", 0.5),
    ],
)
def test_verdicts_of_judges_are_known(words: str, expected: float, tmp_path: Path) -> None:
    """MT-Bench's and Arena-Hard's words: the better side first, [[C]] a tie."""
    rows = [{**ROWS[0], "image_id": k, "winner": w} for k, w in enumerate(words.split())]
    data = load_battles(write_lines(tmp_path / "b.jsonl", rows), image_source="other")
    assert set(data.winner.tolist()) == {expected}


def test_battles_of_captioners_are_drawn_without_repetition(tmp_path: Path) -> None:
    images = range(1, 6)
    coco = {
        "images": [{"id": i, "file_name": f"{i:012d}.jpg"} for i in images],
        "annotations": [{"id": i, "image_id": i, "caption": f"reference {i}"} for i in images],
    }
    write_json(tmp_path / "captions.json", coco)
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
