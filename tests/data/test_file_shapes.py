"""Files of other people, as they are: a small one of each shape, and what is said of it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metaeval.corruptions.own.function import read_corruptions
from metaeval.data.judgments.audiocaps import load_clip_pairs
from metaeval.data.judgments.systems import load_systems
from metaeval.metrics.adapters.own import ScoresFileMetric
from tests.corruptions.own.test_own import ROWS as VERSIONS
from tests.data.judgments.test_audiocaps import RECORDS as CLIP_RECORDS
from tests.data.judgments.test_battles import ROWS as BATTLES, ROWS as BATTLE_ROWS, caparena
from tests.data.judgments.test_systems import ROWS as SYSTEM_ROWS
from tests.data.judgments.test_table_fields import FIELDS, ROWS
from tests.data.read_files import File, battles, captions, check, own, pairs, rated, systems
from tests.data.table_files import as_json, write
from tests.metrics.adapters.test_scores_file import RECORDS

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


def columns_of_scores(path: Path) -> Any:
    """With a name where the file has a column of it, and no column without a name."""
    named = "Mine" in (head := path.read_text().partition("\n")[0].split(",")) and "" not in head
    return ScoresFileMetric(path, columns=["Mine"] if named else None).columns


OWN = [
    ("c.csv", "no,caption\n1,x\n", "field 'image_id': is missing; the columns are: 'no', 'ca"),
    ("c.csv", "image_id,caption\n1,\n", "line 2, field 'caption': is empty"),
    ("c.csv", "image_id,caption\n,x\n", "line 2, field 'image_id': must be a whole"),
    ("c.csv", "image_id,caption\na\x0cb,x\n", "printable string, not 'a\\x0cb'"),
    ("c.jsonl", '{"image_id": 1, "caption": "x"}\n{"image_id": 2}\n', "'caption': is missing"),
    ("c.csv", "image_id,captions\n1,\"['a' 'b']\"\n", "is a list without commas"),
    ("c.token", "a\x0cb.jpg#0\tA dog\n", "line 1, field 'FILE': must be a whole number"),
    (
        "c.json",
        '{"images": [{"filename": "1.jpg", "cocoid": true, "sentences": [{"raw": "x"}]}]}',
        "images[0], field 'cocoid': must be a whole number of 64 bits",
    ),
    (
        "c.jsonl",
        '{"image_id": 1, "caption": 3}\n',
        "field 'caption': is a number, not a string",
    ),
    ("c.jsonl", '{"image_id": 1.5, "caption": "x"}\n', "string, not 1.5"),
    (
        "c.jsonl",
        '{"image_id": 1, "caption": "x"}\n{"image_id": "b", "caption": "y"}\n',
        "all n",
    ),
    ("c.token", "1.jpg A dog\n", "line 1: is not FILE#NUMBER, a tab and a caption"),
    ("c.json", '{"images": [{"id": 1}]}', "images[0], field 'sentences': has no list"),
    ("c.doc", "", "is none of .csv"),
    (
        "c.csv",
        "image_id,caption\n007,A dog.\n7,A cat.\n",
        "c.csv, line 3, field 'image_id': '7' and '007' (line 2) become the same image 7",
    ),
    (
        "c.token",
        "a/1.jpg#0\tA dog.\nb/1.jpg#0\tA cat.\n",
        "c.token, line 2, field 'FILE': 'b/1.jpg' and 'a/1.jpg' (line 1) become the same image",
    ),
    (
        "c.token",
        "1.jpg#0\tA dog.\n1.png#1\tA cat.\n",
        "c.token, line 2, field 'FILE': '1.png' and '1.jpg' (line 1) become the same image 1",
    ),
    (
        "c.token",
        "1.jpg#0\tA dog.\n1.jpg#0\tA cat.\n",
        "line 2, field 'FILE#NUMBER': '1.jpg#0' occurs twice: line 1 has it too",
    ),
]
NO_TABLE = [
    {"caption": "a dog", "image_id": "3"},  # one record, whose keys are not ids
    {"train": [{"caption": "a dog"}], "test": [{"caption": "a cat"}]},
    {"a": 1},
    {"7": [{"caption": "a dog"}], "8": []},
    {"a": [{"image_id": 7, "caption": "a dog"}], "b": [{"image_id": 7, "caption": "a cat"}]},
]
TWO_READINGS = [
    (
        "image_id,a;caption,b\n1,x;a dog,y\n",
        "c.csv, line 1: comma and semicolon may both be its delimiter; give it: "
        "dataset.delimiter=comma or dataset.delimiter=semicolon",
    ),
    ("image_id;caption\n1;a dog;x\n", "c.csv, line 2: has 3 cells where the header has 2"),
    ("image_id;caption\n1;a dog\n2\n", "c.csv, line 3: has 1 cells where the header has 2"),
    ("Image,image,caption\n1,2,a dog\n", "'Image' and 'image' may both be image_id; give"),
]
SYSTEM = [
    ({"images": []}, r"x\.json: holds no record"),
    ({"a": 1}, r"x\.json: holds an object where a list of records is expected"),
    (
        {"annotations": [{"image_id": 1, "caption": text} for text in "ab"]},
        "twice: .* is this a captions file instead of a system's results",
    ),
    ([], "holds no record"),
    (["a dog"], r"x\.json, \[0\]: is a string, not an object"),
    ([{"caption": "a", "x": 1}], r"\[0\], field 'image_id': is missing; .*'caption', 'x'"),
    ([{"image_id": 1, "x": 1}], r"\[0\], field 'caption': is missing"),
    ([{"image_id": 1, "caption": None}], r"\[0\], field 'caption': is null, not a string"),
    ([{"image_id": 9, "caption": "a"}], "no image with the id 9; .*=coco_karpathy_test"),
    ([{"image_id": "x", "caption": "a"}], "'x' is a string where the dataset's ids are num"),
    (
        [{"image_id": "1", "caption": "a"}, {"image_id": "01", "caption": "a"}],
        r"\[1\], .*'01' and '1' \(\[0\]\) become the same image 1",
    ),
    ([{"image_id": True, "caption": "a"}], "must be a whole number of 64 bits .* not True"),
    ([{"image_id": 1.0, "caption": "a"}], r"must be a whole number of 64 bits .* not 1\.0"),
    (
        [
            {"image_id": 1, "caption": "a"},
            {"image_id": 2, "caption": "b"},
            {"image_id": 1, "caption": "a"},
        ],
        r"\[2\], field 'image_id': 1 occurs twice: \[0\] has it too",
    ),
    ([{"image_id": 1, "caption": "\ud800"}], "unpaired surrogate"),
]
WRONG_BATTLES = [
    ({"winner": "me"}, r"b.jsonl, line 1, field 'winner': 'me' is neither"),
    ({"first_system": "x", "second_system": "x"}, "'x' is both systems"),
    ({"first": 7}, "field 'first'"),
    # "B" is the second caption, and the system b wrote the first one
    (
        {"first_system": "b", "second_system": "a", "winner": "B"},
        "'B' can be the system 'b' or the other caption; use",
    ),
]
HEAD = "image_id,candidate,references,human\n"
TABLE = [
    (HEAD + "1.jpg,a dog,a\n", "line 2: has 3 cells where the header has 4"),
    (HEAD + "1.jpg,a, dog,a,3\n", "line 2: has 5 cells where the header has 4"),
    ("image_id,candidate,human,human\n1.jpg,a,3,4\n", "'human': the column occurs twice"),
    (HEAD + '1.jpg,"a" dog,a,3\n', r"line 2: is not CSV"),
    (HEAD + "1.jpg,a dog,['a dog' 'a cat'],3\n", "line 2, field 'references'.*without commas"),
    (HEAD + "1.jpg,a dog,\"array(['a', 'b'])\",3\n", "'references': .*several values"),
    (HEAD + "1.jpg,a dog,\"('a', 'b')\",3\n", "'references': .*several values"),
    (HEAD + "1.jpg,a dog,a,1_000\n", "line 2, field 'human': '1_000' is not a number"),
    (HEAD + '1.jpg,a dog,a,"3,5"\n', "'human': '3,5' is not a number; write 1234 or 1.234, w"),
    (HEAD + "1.jpg,a dog,a,٣\n", "line 2, field 'human': '٣' is not a number"),
    (HEAD + "1.jpg,a dog,a,1e999\n", "line 2, field 'human': '1e999' is not a number"),
    (HEAD + "1.jpg,a dog,a,inf\n", "line 2, field 'human': 'inf' is not a number"),
]
JUDGED = {"image_id": 7, "candidate": "a dog", "good": [3, 4], "fluent": 5}
DIMENSIONS = [
    ({"candidate": 3}, "field 'candidate': is not a string"),
    ({"good": "fine"}, "field 'good': 'fine' is not a number"),
    ({"references": [1]}, "field 'references': is not a list of strings"),
    ({"image_id": None}, "printable string, not None"),
]
RECORD = '{"image_id": "0", "candidate": "a", "human": 1}\n'
LINES = [
    '{"image_id": "1", "candidate": "a", "human": 1' + "0" * 400 + "}",
    '{"image_id": "1", "candidate": "a", "human": ' + "[" * 10_000,
    '{"image_id": "1", "candidate": "a", "human": 1, "human": 5}',
]
SCORES = [
    (
        [{**RECORDS[0], "system": "A"}, {**RECORDS[0], "Mine": 0.3, "system": "A"}],
        "line 3, field 'Mine': 0.3 is another score of 'Mine' for the same image and caption "
        "of 'A' than 0.25 in s.csv, line 2",
    ),
    ([{**RECORDS[0]}, {**RECORDS[1], "Mine": "high"}], "line 3, field 'Mine': 'high' is not"),
    ([{**RECORDS[0], "Mine": "inf"}], "line 2, field 'Mine': 'inf' is not a score"),
    ([{**RECORDS[0], "Mine": "1_000"}], "line 2, field 'Mine': '1_000' is not a score"),
    # the first of a column does not decide alone what the column is
    ([{**RECORDS[0], "Mine": "x"}, {**RECORDS[1]}], "line 2, field 'Mine': 'x' is not a score"),
    ([{**RECORDS[0], "image_id": "a\x0cb"}], "line 2, field 'image_id': must be a whole"),
    ([{**RECORDS[0], "references": "['a' 'b']"}], "'references': ['a' 'b'] is a list without"),
    (
        [{"no": 1, "caption": "x", "S": 1}],
        "'image_id': is missing; the columns are: 'no', 'capt",
    ),
    ([{"image_id": 1, "caption": "x"}], "has no column of scores"),
    ([{**RECORDS[0], "": 0.5}], "a column of numbers has no name"),
    # a column of numbers in another form is not left out
    *(
        ([{"image_id": 0, "caption": "a", "CIDEr": x, "SPICE": 1}], f"'{x}' is not a score")
        for x in ("50%", "0,5", "1_000")
    ),
]
CORRUPTED = [
    ([VERSIONS[0], VERSIONS[0]], "line 3: 'mild' has another caption of the image '3'"),
    ([{**VERSIONS[0], "level": "low"}], "line 2, field 'level': 'low' is not a number"),
    ([{**VERSIONS[0], "expected": "up"}], "line 2, field 'expected': 'up' is not lower or same"),
    ([VERSIONS[1], {**VERSIONS[2], "level": 2}], "line 3, field 'level': 'hard' has two levels"),
    (
        [VERSIONS[1], {**VERSIONS[0], "level": None}],
        "field 'level': the set 'mild' has none, 'hard' has; number every set",
    ),
    (
        [{"picture": 3, "caption": "x"}],
        "'image_id': is missing; the columns are: 'picture', 'ca",
    ),
    (
        [VERSIONS[1], {**VERSIONS[0], "level": VERSIONS[1]["level"]}],
        "field 'level': the sets 'hard' and 'mild' both have level 0; number them",
    ),
    ([{**VERSIONS[0], "set": "Human"}], "'Human' is the name of the uncorrupted captions"),
    ([{**VERSIONS[0], "set": "a\x1b[31m"}], "'a\\x1b[31m' is not a name: it contains '\\x1b'"),
    ([{**VERSIONS[0], "set": "x" * 5000}], "it has 5,000 characters, at most 200"),
    (
        [{**VERSIONS[0], "image_id": "007"}, {**VERSIONS[1], "image_id": "7"}],
        "line 3, field 'image_id': '7' and '007' (line 2) become the same image 7",
    ),
]
CLIPS = [
    ({"HC": ["a", "b", "g", "g"]}, r"\[0\], field 'HC'"),
    ({"HC": ["a", "b", "g", "g", [2]]}, "votes 1, 0 or -1"),
    ({"HC": ["a", 3, "g", "g", [1]]}, "not a string"),
    ({"references": ["a"]}, "two references"),
    ({"audio_id": True}, "not an id"),
    ({"references": ["a dog barks"] * 3}, "no reference is left"),
]
SYSTEMS = [
    ([*SYSTEM_ROWS, SYSTEM_ROWS[0]], "'two' occurs twice"),
    ([{**SYSTEM_ROWS[0], "": 1}], "empty"),
    ([{**SYSTEM_ROWS[0], "CIDEr": "50 %"}, SYSTEM_ROWS[1]], "'50 %' is not a score"),
]
BROWN_DOG = {"image_id": 1, "caption": "A dog.", "references": ["A brown dog."]}
SIGN = {"image_id": "b5", "caption_str": "a sign", "reference_strs": ["a sign", "a red sign"]}
CONTRADICTIONS = [
    (
        [BROWN_DOG, {**BROWN_DOG, "caption": "A cat."}],
        r"\[1\].*references.*image 1 has references in an earlier",
    ),
    (
        [{**BROWN_DOG, "references": ["A dog.", 3]}],
        r"\[0\], field 'references': is not a list of st",
    ),
    # unlike in TextCaps it is not known which belong together
    *(
        ([SIGN, {**SIGN, **other}], r"\[1\], field 'references': image 'b5' has references")
        for other in (
            {"caption_str": "a red sign", "reference_strs": ["a sign"]},
            {"caption_str": "a post"},
        )
    ),
]
KARPATHY = {"cocoid": 42, "split": "test", "sentences": [{"raw": "A fish."}]}
IN_2014 = {**KARPATHY, "filename": "COCO_val2014_000000000042.jpg"}
FLICKR = {"filename": "x.jpg", "split": "test", "sentences": [{"raw": "A fish."}]}
SPLITS = [{**FLICKR, "filename": f"{split}.jpg", "split": split} for split in ("test", "train")]
TWICE = [
    ([IN_2014, {**KARPATHY, "filename": "x.jpg"}], r"images\[1\]: .* become the same image 42"),
    ([IN_2014, {**IN_2014, "filepath": "train2014"}], r"images\[1\]: .* become the same image 42"),
    (
        [{**FLICKR, "filepath": folder} for folder in "ab"],
        r"images\[1\]: .*'b/.* and 'a/.* become the same image",
    ),
]
REFUSED = [
    *(File("mine.json", records, own, {}, line) for records, line in CONTRADICTIONS),
    *(
        File("dataset_coco.json", {"images": images}, own, {"split": "all"}, line)
        for images, line in TWICE
    ),
    *(
        File("dataset_coco.json", {"images": SPLITS}, own, options, line)
        for options, line in (
            ({}, "has the splits test, train, all; choose one: dataset"),
            ({"split": "tset"}, "has no split 'tset'; choose from test, train, all"),
        )
    ),
    *(File(name, text, own, {}, re.escape(line)) for name, text, line in OWN),
    *(
        File("t.json", value, own, {}, "holds an object where a list of records is expected")
        for value in NO_TABLE
    ),
    *(File("c.csv", text, own, {}, re.escape(line)) for text, line in TWO_READINGS),
    *(
        File("x.json", json.dumps(value), captions, {"known": (1, 2, 3)}, line)
        for value, line in SYSTEM
    ),
    *(File("b.jsonl", [{**BATTLE_ROWS[0], **of}], battles, {}, line) for of, line in WRONG_BATTLES),
    *(File("t.csv", text, rated, {}, line) for text, line in TABLE),
    *(
        File("t.jsonl", [JUDGED | of], rated, {"human": ["good", "fluent"]}, line)
        for of, line in DIMENSIONS
    ),
    File(
        "t.jsonl",
        [JUDGED],
        rated,
        {"human": ["worth", "good", "human"]},
        "line 1, field 'worth', 'human': is missing; the columns are: 'image_id', ",
    ),
    *(File("t.jsonl", RECORD + line, rated, {}, r"t\.jsonl, line 2.*: ") for line in LINES),
    *(File("s.csv", records, columns_of_scores, {}, re.escape(line)) for records, line in SCORES),
    *(File("t.json", rows, load_systems, {}, line) for rows, line in SYSTEMS),
    *(File("c.csv", rows, read_corruptions, {}, re.escape(line)) for rows, line in CORRUPTED),
    *(
        File("p.json", [CLIP_RECORDS[0] | change, *CLIP_RECORDS[1:]], load_clip_pairs, {}, line)
        for change, line in CLIPS
    ),
]


@pytest.mark.parametrize(
    "file", [*SHAPES, *REFUSED], ids=lambda file: f"{file.name} {file.read}"[:80]
)
def test_each_shape_is_read_or_refused(
    file: File, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    message = check(file, tmp_path, caplog)
    assert file not in REFUSED or file.name in str(message)
    assert file != SHAPES[0] or not caplog.text  # a file of commas: nothing is guessed
