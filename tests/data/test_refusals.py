"""Files that are refused: of each loader the content, and the line that says what is wrong."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from metaeval.corruptions.own.function import read_corruptions
from metaeval.data.judgments.audiocaps import load_clip_pairs
from metaeval.data.judgments.systems import load_systems
from metaeval.metrics.adapters.own import ScoresFileMetric
from tests.corruptions.own.test_own import ROWS
from tests.data.judgments.test_audiocaps import RECORDS as CLIP_RECORDS
from tests.data.judgments.test_battles import ROWS as BATTLE_ROWS
from tests.data.judgments.test_systems import ROWS as SYSTEM_ROWS
from tests.data.read_files import File, battles, captions, check, own, rated
from tests.metrics.adapters.test_scores_file import RECORDS


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
BATTLES = [
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
    ([ROWS[0], ROWS[0]], "line 3: 'mild' has another caption of the image '3'"),
    ([{**ROWS[0], "level": "low"}], "line 2, field 'level': 'low' is not a number"),
    ([{**ROWS[0], "expected": "up"}], "line 2, field 'expected': 'up' is not lower or same"),
    ([ROWS[1], {**ROWS[2], "level": 2}], "line 3, field 'level': 'hard' has two levels"),
    (
        [ROWS[1], {**ROWS[0], "level": None}],
        "field 'level': the set 'mild' has none, 'hard' has; number every set",
    ),
    (
        [{"picture": 3, "caption": "x"}],
        "'image_id': is missing; the columns are: 'picture', 'ca",
    ),
    (
        [ROWS[1], {**ROWS[0], "level": ROWS[1]["level"]}],
        "field 'level': the sets 'hard' and 'mild' both have level 0; number them",
    ),
    ([{**ROWS[0], "set": "Human"}], "'Human' is the name of the uncorrupted captions"),
    ([{**ROWS[0], "set": "a\x1b[31m"}], "'a\\x1b[31m' is not a name: it contains '\\x1b'"),
    ([{**ROWS[0], "set": "x" * 5000}], "it has 5,000 characters, at most 200"),
    (
        [{**ROWS[0], "image_id": "007"}, {**ROWS[1], "image_id": "7"}],
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
    *(File("b.jsonl", [{**BATTLE_ROWS[0], **of}], battles, {}, line) for of, line in BATTLES),
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


@pytest.mark.parametrize("file", REFUSED, ids=lambda file: f"{file.name} {file.read}"[:80])
def test_what_is_wrong_is_named_in_one_line(
    file: File, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    message = check(file, tmp_path, caplog)
    assert file.name in str(message)
