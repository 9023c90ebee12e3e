"""Tables with other people's columns: names, raters, labels, and references of another file."""

import re
from pathlib import Path
from typing import Any

import pytest

from metaeval.config import compose_config
from metaeval.data.judgments.table import load_table
from metaeval.data.pairs.pairs import load_pairs_table
from metaeval.errors import ConfigError, InputError
from tests.data.table_files import write as written

ROWS: list[dict[str, Any]] = [
    {"imgid": "a.jpg", "mt": "a dog", "refs": ["one dog", "the dog"], "stars": 4},
    {"imgid": "b.jpg", "mt": "a cat", "refs": ["one cat"], "stars": 1.5},
]
FIELDS = {"image_id": "imgid", "candidate": "mt", "references": "refs", "human": "stars"}


def test_columns_that_are_numbered_may_be_raters(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [{**row, "rater1": 1, "rater_2": 2, "fluency": 3} for row in ROWS]
    fields = {name: FIELDS[name] for name in ("image_id", "candidate", "references")}
    path = written(tmp_path / "t.csv", rows)
    data = load_table(path, human=["rater1", "rater_2"], fields=fields)
    (line,) = caplog.messages
    assert data.dimensions == ("rater1", "rater_2")
    assert line.endswith("dataset.raters=[rater1,rater_2].")
    assert line in data.dataset.notes
    load_table(path, human=["rater1", "fluency"], fields=fields)
    assert load_table(path, raters=["rater1", "rater_2"], fields=fields).dimensions == ("human",)
    assert caplog.messages == [line]


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".csv", ".tsv", ".parquet"])
def test_fields_name_the_columns_in_every_form(suffix: str, tmp_path: Path) -> None:
    data = load_table(written(tmp_path / f"t{suffix}", ROWS), fields=FIELDS)
    assert [(j.image, j.candidate, j.references, j.human) for j in data.judged] == [
        ("a.jpg", "a dog", ("one dog", "the dog"), {"human": (4.0,)}),
        ("b.jpg", "a cat", ("one cat",), {"human": (1.5,)}),
    ]


def test_several_records_of_one_rater_count_once(tmp_path: Path) -> None:
    rows = [
        {**ROWS[0], "who": who, "stars": stars}
        for who, stars in (("x", 1), ("y", 4), ("x", 1), ("x", 4), (None, 5), (None, 5))
    ]
    data = load_table(written(tmp_path / "t.json", rows), fields={**FIELDS, "rater": "who"})
    (caption,) = data.judged
    assert caption.human["human"] == (2.0, 4.0, 5.0, 5.0)  # x: (1 + 1 + 4) / 3
    assert "2 records rate a caption again by the same rater: averaged." in data.dataset.notes
    once = load_table(written(tmp_path / "t.json", rows[:2]), fields={**FIELDS, "rater": "who"})
    assert [j.human["human"] for j in once.judged] == [(1.0, 4.0)]
    assert not any("again" in note for note in once.dataset.notes)


def test_marks_of_several_raters_do_not_depend_on_the_order_of_the_records(tmp_path: Path) -> None:
    """A word is wrong where at least half marked it; only the first record's marks counted."""
    marks = {"x": [0, 1, 0], "y": [0, 0, 1], "z": [0, 1, 0]}
    rows = [
        {
            **ROWS[0],
            "mt": "a dog runs",
            "who": who,
            "stars": 3,
            "words": [bool(m) for m in of],
            "refs": ["one dog"] if who == "x" else ["one dog", "the dog"],
        }
        for who, of in marks.items()
    ]
    read = []
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        path = written(tmp_path / "t.json", [rows[k] for k in order])
        data = load_table(path, fields={**FIELDS, "rater": "who"})
        (caption,) = data.judged
        read.append((caption.wrong, set(caption.references)))
        for note in (
            "Raters mark different words of 1 captions: a word is wrong where at least half of "
            "them marked it.",
            "References of 1 captions differ between records: all are used.",
        ):
            assert note in data.dataset.notes
    assert read == [((False, True, False), {"one dog", "the dog"})] * 3
    two = load_table(written(tmp_path / "t.json", rows[:2]), fields={**FIELDS, "rater": "who"})
    assert two.judged[0].wrong == (False, True, True)


@pytest.mark.parametrize("labels", [(True, False), ("true", "False"), (1, 0)])
def test_binary_labels_of_which_lower_is_better(labels: tuple[Any, Any], tmp_path: Path) -> None:
    rows = [{**row, "stars": label} for row, label in zip(ROWS, labels, strict=True)]
    data = load_table(written(tmp_path / "t.json", rows), fields=FIELDS, higher_is_better=False)
    assert data.means("human").tolist() == [-1.0, 0.0]


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        ((2.5, True), "is True, earlier ratings are numbers"),
        (("false", "3"), "is '3', earlier ratings are true or false"),
    ],
)
def test_ratings_are_numbers_or_labels_not_both(
    labels: tuple[Any, Any], problem: str, tmp_path: Path
) -> None:
    rows = [{**row, "stars": label} for row, label in zip(ROWS, labels, strict=True)]
    path = written(tmp_path / "t.json", rows)
    with pytest.raises(InputError, match=rf"t\.json.*'human'.*{re.escape(problem)}"):
        load_table(path, fields=FIELDS)


IMAGES = ((7, "test", "seven"), (42, "val", "forty-two"))
REFERENCES = {
    "annotations.json": {
        "images": [{"id": i} for i, _, _ in IMAGES],
        "annotations": [{"id": i, "image_id": i, "caption": t} for i, _, t in IMAGES],
    },
    "karpathy.json": {
        "images": [
            {"filename": f"{i}.jpg", "cocoid": i, "split": s, "sentences": [{"raw": t}]}
            for i, s, t in IMAGES
        ]
    },
    "r.csv": [{"image_id": i, "caption": t} for i, _, t in IMAGES],
}


@pytest.mark.parametrize("name", REFERENCES)
def test_references_of_another_file_are_joined_by_image(name: str, tmp_path: Path) -> None:
    rows = [{"image_id": i, "candidate": "a dog", "human": 1} for i in ("7.jpg", "000042")]
    path = written(tmp_path / name, REFERENCES[name])
    data = load_table(written(tmp_path / "t.jsonl", rows), references=path)
    assert [j.references for j in data.judged] == [("seven",), ("forty-two",)]


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".csv", ".tsv", ".parquet"])
def test_pairs_like_those_of_foil(suffix: str, tmp_path: Path) -> None:
    rows = [{"image": "a.jpg", "caption": "a dog", "foil": "a cat", "refs": ["one dog"]}]
    path = written(tmp_path / f"p{suffix}", rows)
    named = {"image_id": "image", "true": "caption", "false": "foil", "references": "refs"}
    for fields in (named, {"references": "refs"}):  # the others are recognised
        (pair,) = load_pairs_table(path, fields=fields).pairs
        assert (pair.image, pair.true, pair.false) == ("a.jpg", "a dog", "a cat")


@pytest.mark.coco
def test_hat_loads_without_conversion(coco_root: Path) -> None:
    path = coco_root / "hat/hat-trainval.json"
    if not path.is_file():
        pytest.skip("HAT is not in the data folder")
    fields = {"image_id": "image_path", "candidate": "caption", "human": "contains_hallucination"}
    data = load_table(path, fields=fields, higher_is_better=False, name="hat")
    assert (len(data), {len(j.references) for j in data.judged}) == (400, {5, 6})
    # published base rate, 33.8 %
    assert -data.means("human").mean() == pytest.approx(0.338, abs=0.001)


def test_references_raters_and_parts_are_recognised_too(tmp_path: Path) -> None:
    """References may be "refs" and raters "annotator"; ratings of a caption are put together."""
    rows = [
        {**row, "annotator": who, "kind": kind, "stars": stars}
        for row, kind in zip(ROWS, ("short", "long"), strict=True)
        for who, stars in (("w1", 4), ("w2", 2))
    ]
    data = load_table(written(tmp_path / "t.json", rows))
    assert [(j.references, j.human, j.subset) for j in data.judged] == [
        (("one dog", "the dog"), {"human": (4.0, 2.0)}, "short"),
        (("one cat",), {"human": (4.0, 2.0)}, "long"),
    ]
    assert "4 ratings are of 2 captions (dataset.fields.rater)." in data.dataset.notes
    assert (data.dataset.records.read, data.dataset.records.used) == (2, 2)


def test_an_own_caption_is_left_out_of_its_own_references_only(tmp_path: Path) -> None:
    rows = [
        {"imgid": "a", "mt": "One dog.", "refs": ["one dog", "the dog"], "stars": 4},
        {"imgid": "a", "mt": "a red bus", "refs": ["one dog", "the dog"], "stars": 1},
    ]
    path = written(tmp_path / "t.json", rows)
    data = load_table(path, own_captions="leave_out")
    assert [j.references for j in data.judged] == [("the dog",), ("one dog", "the dog")]
    others = load_table(path, own_captions="unreference")
    assert [j.references for j in others.judged] == [("the dog",), ("the dog",)]


def test_a_wrong_key_of_fields_is_named_in_both_forms() -> None:
    for override in ("dataset.fields.candidat=mt", "dataset.fields={candidat: mt}"):
        problem = "dataset.fields.candidat: unknown option; did you mean 'dataset.fields.candidate'"
        with pytest.raises(ConfigError, match=problem):
            compose_config(["experiment=judgments", "dataset=table", override])
    compose_config(["experiment=judgments", "dataset=table", "dataset.fields={candidate: mt}"])
    compose_config(["experiment=pairs", "dataset=pairs", "dataset.fields.true=caption"])
