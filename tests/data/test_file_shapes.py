"""Files of other people, as they are: a small one of each shape, and what is said of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.data.judgments.test_battles import ROWS as BATTLES, caparena
from tests.data.judgments.test_table_fields import FIELDS, ROWS
from tests.data.read_files import File, battles, captions, check, own, pairs, rated, systems
from tests.data.table_files import as_json, write

TWO_DOGS = {"1": ["a dog, brown", "the dog"], "2": ["a cat", "the cat"]}
QUOTED = 'image_id,caption\n1,"a dog, brown"\n1,the dog\n2,a cat\n2,the cat\n'
SEMICOLON = "image_id;caption\n1;a dog, brown\n1;the dog\n2;a cat\n2;the cat\n"
PIPE = "image_name| comment_number| comment\n1| 0| a dog, brown\n1| 1| the dog\n"
PIPE += "2| 0| a cat\n2| 1| the cat\n"
COLUMNS = "image;caption_1;caption_2;caption_3\n1;a dog, brown;the dog;\n2;a cat;the cat;\n"

OWN_SHAPES: dict[str, tuple[str, str, list[str]]] = {
    "comma": ("c.csv", QUOTED, []),
    "semicolon": ("c.csv", SEMICOLON, ["the delimiter is semicolon."]),
    "semicolon in .txt": ("c.txt", SEMICOLON, ["the delimiter is semicolon."]),
    "semicolon in .tsv": ("c.tsv", SEMICOLON, ["the delimiter is semicolon."]),
    "byte-order mark": ("c.csv", "\ufeff" + SEMICOLON, ["the delimiter is semicolon."]),
    "tabs": ("c.csv", SEMICOLON.replace(";", "\t"), ["the delimiter is tab."]),
    "tabs, lines of Windows": ("c.txt", SEMICOLON.replace(";", "\t").replace("\n", "\r\n"), []),
    "pipe": (
        "c.csv",
        PIPE,
        [
            "the delimiter is pipe; blanks around cells are left out.",
            "image_id is 'image_name', caption is 'comment' (dataset.fields).",
            "Columns of c.csv that are not used: 'comment_number'.",
        ],
    ),
    "blanks": ("c.csv", QUOTED.replace(",", ", "), ["c.csv as it was recognised: blanks around"]),
    "comma in .txt": ("captions.txt", QUOTED, ["the delimiter is comma."]),
    "numbered columns": (
        "c.csv",
        COLUMNS,
        ["image_id is 'image', captions is 'caption_1', 'caption_2', 'caption_3'"],
    ),
    "object of lists": ("c.json", json.dumps(TWO_DOGS), ["an object whose keys are image_id."]),
    "object of records": (
        "c.json",
        json.dumps({k: {"refs": v, "split": "test"} for k, v in TWO_DOGS.items()}),
        ["keys are image_id.", "captions is 'refs'", "not used: 'split'."],
    ),
    "object of lists of records": (
        "c.json",
        json.dumps({k: [{"text": t} for t in v] for k, v in TWO_DOGS.items()}),
        ["keys are image_id.", "caption is 'text' (dataset.fields)."],
    ),
    "named records": (
        "c.json",
        json.dumps({f"pair{k}": {"img": k, "sentences": v} for k, v in TWO_DOGS.items()}),
        ["an object whose keys are records.", "image_id is 'img', captions is 'sentences'"],
    ),
    "nested": (
        "c.json",
        json.dumps([{"image": {"id": int(k)}, "text": {"all": v}} for k, v in TWO_DOGS.items()]),
        [],
    ),
}


RATED: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "names of other projects": (
        {"img": "a.jpg", "caption_str": "a dog", "reference_strs": ["one dog"], "score": 3},
        {},
    ),
    "names in capitals": (
        {"Image ID": "a.jpg", "Hypothesis": "a dog", "References": ["one dog"], "Rating": 3},
        {},
    ),
    "numbered references": (
        {"image_id": "a.jpg", "candidate": "a dog", "ref1": "one dog", "ref2": "", "human": 3},
        {},
    ),
    "a list of people's objects": (
        {"image_id": "a.jpg", "candidate": "a dog", "refs": ["one dog"], "people": [{"fl": 3}]},
        {"human": "people.fl"},
    ),
    "a list of people's lists": (
        {"image_id": "a.jpg", "candidate": "a dog", "refs": ["one dog"], "people": [[1, 3]]},
        {"human": "people.1"},
    ),
    "a place in a list": (
        {"image_id": "a.jpg", "hyp": ["a dog"], "refs": ["one dog"], "human": [3]},
        {"human": "human.0", "candidate": "hyp.0"},
    ),
    "captions in a list": (
        {"image": "a.jpg", "refs": ["one dog"], "hyps": [{"hyp": "a dog", "score": 3}]},
        {},
    ),
    "nested scores": (
        {"image_id": "a.jpg", "candidate": "a dog", "refs": ["one dog"], "scores": {"fl": 3}},
        {"human": "scores.fl"},
    ),
}


DECIMALS = [
    (("3,5", "4", "2,25"), [3.5, 4.0, 2.25]),
    (("0,125", "1,5e-05", "-0,5"), [0.125, 1.5e-05, -0.5]),
    (("1,234", "0,5", "3"), [1.234, 0.5, 3.0]),
    (("1,234", "2", "3"), "'1,234' is not a number; write 1234 or 1.234, without a comma"),
    (("3,5", "4.5", "3"), "'3,5' is not a number"),
    (("3,5", ",5", "3"), "'3,5' is not a number"),  # a digit may be missing
    (("3,5", "1,2,3", "3"), "'3,5' is not a number"),
]
NESTED_FIELDS = {"image_id": "image.id", "captions": "text.all"}
NO_LIST = "holds an object where a list of records is expected"
TWO_NAMES = "image_id,a;caption,b\n1,x;a dog,y\n"
NESTED = [{"image": 7, "out": {"text": "a dog"}, "caption": "a prompt"}]
BRACE = {
    "file_name": "rattle.wav",
    "references": ["bottles rattle", "a dog"],
    "Human-Human": ["a dog", "dogs", "human", "human", [1, 1, -1]],
    "Human-Machine_1": ["a cat", "cats", "human", "LTU", [-1, 0]],
}
FOILED = {
    "file_name": "rattle.wav",
    "caption_1": ["a dog", "a cat", "human", "GPT", {"references": ["bottles rattle"]}],
}
LISTED = [{"caption_a": "a dog", "caption_b": "a cat", "vote": "A"}]
WIDE = "image_id,candidate,rater1,rater2,rater3\na,a dog,1,2,3\nb,a cat,4,5,\n"
TWO_RATERS = "image_id,caption,r1,r2\n1.jpg,a dog,1,2\n"
OF_ANN = {"image_id": "1.jpg", "candidate": "a dog", "human": {"ann": 3}}
DOG, CAT = ("a.jpg", "a dog", "one dog", "the dog"), ("b.jpg", "a cat", "one cat")
RATERS = (("x", 1), ("y", 4), ("x", 1), ("x", 4), (None, 5), (None, 5))
BY = {"fields": {"rater": "who"}}
OF_RATERS = [{**ROWS[0], "who": who, "stars": stars} for who, stars in RATERS]
PARTS = [
    {**row, "annotator": who, "stars": stars}
    for row in ROWS
    for who, stars in (("w1", 4), ("w2", 2))
]
OWN_CAPTION = [
    {"imgid": "a", "mt": "One dog.", "refs": ["one dog", "the dog"], "stars": 4},
    {"imgid": "a", "mt": "a red bus", "refs": ["one dog", "the dog"], "stars": 1},
]
FOIL = [{"image": "a.jpg", "caption": "a dog", "foil": "a cat", "refs": ["one dog"]}]
IMAGES = ((7, "test", "seven"), (42, "val", "forty-two"))
REFERENCES: dict[str, Any] = {
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
    "r.csv": "image_id,caption\n7,seven\n42,forty-two\n",
}


def stars(*ratings: Any) -> list[dict[str, Any]]:
    return [{**row, "stars": rating} for row, rating in zip(ROWS, ratings, strict=True)]


def joined(name: str) -> Callable[[Path], object]:
    """Writes judged captions, and a file with the references of their images next to it."""
    rows = [{"image_id": i, "candidate": "a dog", "human": 1} for i in ("7.jpg", "000042")]
    return lambda path: (write(path.with_name(name), REFERENCES[name]), write(path, as_json(rows)))


COMMON = ("by their common names", "the delimiter is semicolon")
SHAPES = [
    *(
        File(
            name,
            text,
            own,
            {"fields": NESTED_FIELDS} if shape == "nested" else {},
            {int(image): texts for image, texts in TWO_DOGS.items()},
            tuple(said),
        )
        for shape, (name, text, said) in OWN_SHAPES.items()
    ),
    File(
        "c.csv",
        TWO_NAMES,
        own,
        {"delimiter": "semicolon", "fields": {"image_id": "image_id,a", "caption": "caption,b"}},
        {"1,x": ["a dog,y"]},
    ),
    File(
        "c.csv",
        TWO_NAMES,
        own,
        {"delimiter": "colon"},
        "delimiter: 'colon' is not one of comma, semicolon, t",
    ),
    File(
        "c.json",
        [{"image_id": 1, "caption": "a"}],
        own,
        {"delimiter": "comma"},
        r"dataset\.delimiter: c\.json is not a text with a delim",
    ),
    *(
        File(
            "t.csv",
            "image_id;candidate;human\n"
            + "".join(f"{i},5;a dog, brown;{cell}\n" for i, cell in enumerate(cells)),
            rated,
            {},
            # ids are not numbers
            numbers
            if isinstance(numbers, str)
            else [(f"{i},5", "a dog, brown", number) for i, number in enumerate(numbers)],
            "" if isinstance(numbers, str) else "semicolon; decimal commas in 'human'.",
        )
        for cells, numbers in DECIMALS
    ),
    *(
        File("t.json", [record], rated, {"fields": fields}, [("a.jpg", "a dog", "one dog", 3.0)])
        for record, fields in RATED.values()
    ),
    *(
        File("s.json", value, captions, {"known": [7]}, {7: "a dog"})
        for value in (
            {"7": "a dog"},
            {"7": ["a dog"]},
            {"7": [{"caption": "a dog"}]},
            {"7": {"caption": "a dog"}},
        )
    ),
    File("s.json", NESTED, captions, {"fields": {"caption": "out.text"}}, {7: "a dog"}),
    File(
        "s.json",
        NESTED,
        captions,
        {"fields": {"caption": "out.txt"}},
        r"'out\.txt': is missing \(task\.fields\.caption\)",
    ),
    # every loader recognises the same names
    File(
        "b.csv",
        "img;caption_1;caption_2;vote\n1.jpg;a dog;a cat;first\n",
        battles,
        {},
        [("1.jpg", "a dog", "a cat", 1.0, "all", (), None, ())],
        COMMON,
    ),
    File(
        "p.csv",
        "img;caption;foil;refs\n1.jpg;a dog;a cat;one dog\n",
        pairs,
        {},
        [("a dog", "a cat")],
        COMMON,
    ),
    File("s.csv", "img;hyp\n7;a dog\n", captions, {}, {7: "a dog"}, COMMON),
    File("m.csv", "model;h;m\na;1,5;2\nb;2,5;3\n", systems, {}, {"a": [1.5], "b": [2.5]}, COMMON),
    # a winner is a system, a side, a verdict or what the user says; a caption may be a reference
    File(
        "b.jsonl",
        BATTLES,
        battles,
        {},
        [
            ("a.jpg", "a dog runs", "a cat", 1.0, "all", (), None, ("a dog", "dog running")),
            ("a.jpg", "a cat", "a dog runs", 0.0, "all", (), None, ("a dog", "dog running")),
            ("b.jpg", "rain", "snow", 0.5, "all", (), None, ()),
        ],
        "in 1 of 3 battles; 1 have no reference left",
    ),
    File(
        "b.csv",
        "img,l,r,vote,who\n7,one,two,1,ann\n7,one,two,0,bob\n7,one,two,,ann\n",
        battles,
        {
            "winners": {"1": "first", "0": "second"},
            "fields": {"first": "l", "second": "r", "rater": "who"},
        },
        [
            ("7", "one", "two", winner, "all", (), rater, ())
            for winner, rater in ((1.0, "ann"), (0.0, "bob"), (None, "ann"))
        ],
    ),
    File(
        "b.json",
        lambda path: caparena(path.parent).rename(path),
        battles,
        {"layout": "caparena"},
        [
            (
                f"test_{k}.jpg",
                *(f"{a} sees {k}", f"{b} looks at {k}"),
                *(winner, f"level {1 + k % 2}", (a, b), None, (f"this is {k}",)),
            )
            for k, (a, b, winner) in enumerate(
                (("x", "y", 1.0), ("y", "z", 0.5), ("z", "x", 0.0), ("human", "x", 1.0))
            )
        ],
    ),
    *(
        File(
            "b.json",
            [
                {"image_id": "i", "first": "x", "second": "y", "winner": word, **systems}
                for word in words.split()
            ],
            battles,
            {},
            [("i", "x", "y", winner, "all", tuple(systems.values()), None, ())]
            * len(words.split()),
        )
        for systems, words, winner in (
            # MT-Bench's and Arena-Hard's words: the better side first, [[C]] a tie
            ({}, "A>B A>>B B<A [[A]] [[A>B]] [[A>>B]]", 1.0),
            ({}, "B>A B>>A A<B [[B]] [[B>>A]]", 0.0),
            ({}, "A=B [[A=B]] [[C]] tie", 0.5),
            ({"first_system": "b", "second_system": "a"}, "b", 1.0),
            ({"first_system": "b", "second_system": "a"}, "a second", 0.0),
            ({"first_system": "a", "second_system": "b"}, "B", 0.0),
        )
    ),
    # several pairs a record: BRACE-Main with a vote of each rater, BRACE-Hallucination, a list
    File(
        "b.json",
        [BRACE],
        battles,
        {},
        [
            ("rattle.wav", *texts, winner, category, (), f"rater {k}", references)
            for texts, category, winners, references in (
                (("a dog", "dogs"), "Human-Human", (1.0, 1.0, 0.0), ("bottles rattle",)),
                (("a cat", "cats"), "Human-Machine", (0.0, 0.5), ("bottles rattle", "a dog")),
            )
            for k, winner in enumerate(winners, 1)
        ],
        "several records each in 'Human-Human', 'Human-Machine_1'.",
    ),
    File(
        "b.json",
        [{**FOILED, "caption_2": ["no dogs", "two dogs", "GPT", "human", {"references": []}]}],
        pairs,
        {},
        [("a dog", "a cat"), ("two dogs", "no dogs")],
    ),
    File(
        "b.jsonl",
        [{"img": "7.jpg", "refs": ["one dog"], "pairs": [*LISTED, {**LISTED[0], "vote": "B"}]}],
        battles,
        {},
        [
            ("7.jpg", "a dog", "a cat", winner, "all", (), None, ("one dog",))
            for winner in (1.0, 0.0)
        ],
        "b.jsonl as it was recognised: several records each in 'pairs'.",
    ),
    File(
        "t.csv",
        "image_id,candidate,human\n7,a,1\n7,a,2\n",
        rated,
        {},
        [("7", "a", 1.0), ("7", "a", 2.0)],
        "1 of 2 records repeat a caption of the same image",
    ),
    # ratings in columns of numbers
    File(
        "t.csv",
        WIDE,
        rated,
        {},
        [("a", "a dog", 1.0, 2.0, 3.0), ("b", "a cat", 4.0, 5.0)],
        "raters=[rater1,rater2,rater3]); if they are dimensions: dataset.human=[rater1,rater2,",
    ),
    File("t.csv", TWO_RATERS, rated, {}, r"dataset\.raters=\[r1,r2\] where .*=\[r1,r2\] where"),
    File("t.csv", TWO_RATERS, rated, {"raters": ["r1", "r2"]}, [("1.jpg", "a dog", 1.0, 2.0)]),
    File("t.jsonl", [OF_ANN], rated, {}, r"an object: name what is in it, as COLUMN\.ann"),
    File("t.jsonl", [OF_ANN], rated, {"fields": {"human": "human.ann"}}, [("1.jpg", "a dog", 3.0)]),
    *(
        File("b.json", records, battles, {}, problem)
        for records, problem in (
            (
                [{**BRACE, "Human-Human": ["a", "b", "c", "d", [3]]}],
                r"\[0\], Human-Human, field 'winner': '3' is neither",
            ),
            (
                [{**BRACE, "Human-Human": ["a", "b", "c", "d", [[1]]]}],
                r"Human-Human, field 'winner': '\[1\]' is neither",
            ),
            (
                [BRACE, {**BRACE, "Human-Machine_1": ["a cat", "cats", "human", "LTU"]}],
                r"\[1\], field 'Human-Machine_1': is not a pair with its",
            ),
        )
    ),
    File(
        "b.json",
        [{**FOILED, "caption_2": ["no dogs", "two dogs", "GPT", "LTU", {}]}],
        pairs,
        {},
        r"'caption_2': is not a pair .* by 'human'",
    ),
    File(
        "b.jsonl",
        [{"img": 7, "pairs": LISTED}, {"img": 8, "pairs": "none"}],
        battles,
        {},
        r"line 2, field 'pairs': is not a list of objects",
    ),
    # other fields, and records within an object
    *(
        File(
            "t.json",
            content,
            rated,
            {},
            [
                ("a.jpg", "a dog", "one dog", "the dog", 4.0),
                ("b.jpg", "a cat", "one cat", 1.5),
            ],
        )
        for content in (
            {"annotations": ROWS, "images": [{"id": 1}]},
            {"data": ROWS, "version": 2},
        )
    ),
    *(
        File("t.json", content, rated, {"fields": fields}, problem)
        for content, fields, problem in (
            ({"a": ROWS, "b": ROWS}, {}, NO_LIST),
            ({"version": 2}, {}, NO_LIST),
            ({}, {}, NO_LIST),
            ({"annotations": [*ROWS, 3]}, {}, r"annotations\[2\]: is a number, not an obj"),
            (ROWS, {"cand": "mt"}, r"dataset\.fields: 'cand' is not one of image_id, cand"),
            (ROWS, {"candidate": "txt"}, r"'txt': is missing \(dataset\.fields\.candidate\);"),
            (
                [ROWS[0], {k: v for k, v in ROWS[1].items() if k != "mt"}],
                FIELDS,
                r"\[1\], field 'mt': is missing",
            ),
        )
    ),
    # several raters, labels, references of another file or next to the caption
    File(
        "t.json",
        OF_RATERS,
        rated,
        BY,
        [(*DOG, 2.0, 4.0, 5.0, 5.0)],  # x: (1 + 1 + 4) / 3
        "2 records rate a caption again by the same rater: averaged.",
    ),
    File("t.json", OF_RATERS[:2], rated, BY, [(*DOG, 1.0, 4.0)], "2 ratings are of 1 captions"),
    File("t.json", PARTS, rated, {}, [(*DOG, 4.0, 2.0), (*CAT, 4.0, 2.0)], "4 ratings are of 2"),
    *(
        File(
            "t.json",
            stars(*labels),
            rated,
            {"fields": FIELDS, "higher_is_better": False},
            [(*DOG, -1.0), (*CAT, 0.0)],
        )
        for labels in ((True, False), ("true", "False"), (1, 0))
    ),
    File("t.json", stars(2.5, True), rated, {}, r"t\.json.*'human': is True, earlier .* numbers"),
    File("t.json", stars("false", "3"), rated, {}, "'human': is '3', earlier .* true or false"),
    *(
        File("t.json", OWN_CAPTION, rated, {"own_captions": how}, [("a", "One dog.", *one), other])
        for how, one, other in (
            ("leave_out", ["the dog", 4.0], ("a", "a red bus", "one dog", "the dog", 1.0)),
            ("unreference", ["the dog", 4.0], ("a", "a red bus", "the dog", 1.0)),
        )
    ),
    *(
        File(
            "t.json",
            joined(name),
            rated,
            {"references": name},
            [("7.jpg", "a dog", "seven", 1.0), ("000042", "a dog", "forty-two", 1.0)],
        )
        for name in REFERENCES
    ),
    *(
        File("p.json", FOIL, pairs, {"fields": fields}, [("a dog", "a cat")])
        for fields in ({"image_id": "image", "true": "caption", "false": "foil"}, {})
    ),
    *(
        File(
            name,
            [
                {"image_id": 2, "caption": "A dog.", refs: ["A brown dog.", "Dogs  run."]},
                {"image_id": 1, "caption": "A cat.", refs: []},
            ],
            own,
            {},
            {1: ["A cat."], 2: ["A dog.", "A brown dog.", "Dogs run."]},
        )
        for name in ("c.jsonl", "c.csv")
        for refs in ("references", "refs")
    ),
    File("t.xlsx", b"PK no zip", own, {}, r"t\.xlsx: is not a workbook \(\.xlsx\)"),
]


@pytest.mark.parametrize("file", SHAPES, ids=lambda file: file.name)
def test_each_shape_is_read_or_refused(
    file: File, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    check(file, tmp_path, caplog)
    assert file != SHAPES[0] or not caplog.text  # a file of commas: nothing is guessed
