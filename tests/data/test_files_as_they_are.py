"""Files as they are: of each row of the table in docs/own.md the bytes of a small file, the
options, and what is read, written by hand; and one table in six formats.
"""

import io
import json
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from omegaconf import OmegaConf

from metaeval.config import compose_config
from metaeval.data.dataset import Absent
from metaeval.data.own.captions import load_own
from metaeval.errors import ends_with_status
from metaeval.overrides import hydra_arguments, override_texts
from tests.data.read_files import (
    File,
    battles,
    captions,
    check,
    coco,
    own,
    pairs,
    rated,
    scores,
    systems,
)

ROOT = Path(__file__).parents[2]
NFC, NFD = (unicodedata.normalize(form, "café") for form in ("NFC", "NFD"))


def book(path: Path) -> None:
    """A workbook of two sheets with texts that pandas takes for missing values."""
    rows = [["image_id", "caption", "human"], [7, "NA", "3,5"], [None] * 3, [8, "None", 4]]
    with pd.ExcelWriter(path) as made:
        pd.DataFrame([["x"]]).to_excel(made, sheet_name="notes", header=False, index=False)
        pd.DataFrame(rows, dtype=object).to_excel(
            made, sheet_name="rated", header=False, index=False
        )


def references(name: str, content: str, of_file: str) -> Callable[[Path], object]:
    """Writes a file, and one with references next to it."""

    def write(path: Path) -> None:
        path.write_text(content, "utf-8")
        (path.parent / name).write_text(of_file, "utf-8")

    return write


LINES = '{"image_id": 7, "caption": "a dog"}\n{"image_id": 8, "caption": "a cat"}\n'
TWO = {7: ["a dog"], 8: ["a cat"]}
# first cell of the row in docs/own.md → its files
FILES: dict[str, list[File]] = {
    "a quoted cell with line breaks": [
        File(
            "c.csv",
            'image_id,caption\n7,"A dog.\nIt runs, fast.\n\nIt is ""brown""."\n8,a cat\n',
            own,
            {},
            {7: ['A dog. It runs, fast. It is "brown".'], 8: ["a cat"]},
        ),
        File(
            "c.csv",
            'image_id,caption\n7.jpg,"A dog.\nOverall, calm."\n8.jpg,"a\ncat"\n',
            own,
            {},
            {"7.jpg": ["A dog. Overall, calm."], "8.jpg": ["a cat"]},
        ),
        File(
            "c.csv",
            'image_id,caption\ndog,"A dog.\nOverall, calm."\n',
            own,
            {},
            "a quoted cell that begins here holds whole rows.*dataset.quoting",
        ),
        File(
            "c.csv",
            'image_id,caption\ndog,"A dog.\nOverall, calm."\n',
            own,
            {"quoting": "csv"},
            {"dog": ["A dog. Overall, calm."]},
        ),
    ],
    "quotes that are text, in a file with tabs": [
        File(
            "c.tsv",
            'image_id\tcaption\n1\t"Stop" sign\n2\t"Hello, says\n3\tgo"\n4\tA 12" pizza\n',
            own,
            {},
            {1: ['"Stop" sign'], 2: ['"Hello, says'], 3: ['go"'], 4: ['A 12" pizza']},
            "quotes are text",
        ),
        File(
            "c.csv",
            'image_id,caption\n1,"Stop" sign\n',
            own,
            {},
            r"not CSV .*; if quotes are text: dataset\.quoting=none",
        ),
        File(
            "c.csv",
            'image_id,caption\n1,"Stop" sign\n',
            own,
            {"quoting": "none"},
            {1: ['"Stop" sign']},
        ),
    ],
    "JSON Lines named `.json`": [
        File("c.json", LINES, own, {}, TWO, "JSON Lines"),
        File("c.json", LINES, captions, {}, {7: "a dog", 8: "a cat"}, "JSON Lines"),
        File("c.json", LINES + "{", own, {}, "invalid JSON"),
    ],
    "UTF-16 with a byte-order mark": [
        File("c.csv", "image_id,caption\n7,café\n".encode("utf-16"), own, {}, {7: ["café"]}),
        File("c.jsonl", LINES.encode("utf-16"), own, {}, TWO),
    ],
    "another encoding": [
        File(
            "c.csv",
            "image_id,caption\n7,café\n".encode("cp1252"),
            own,
            {"encoding": "cp1252"},
            {7: ["café"]},
        ),
        File(
            "c.csv",
            "image_id,caption\n7,café\n".encode("cp1252"),
            own,
            {},
            r"not UTF-8: byte 0xe9 at offset 22; .*dataset\.encoding=cp1252",
        ),
        File("c.csv", "image_id,caption\n7,a\n", own, {"encoding": "x/y"}, "'x/y' is not an enc"),
        File("c.xlsx", book, own, {"encoding": "cp1252"}, "encoding: c.xlsx is not a text"),
    ],
    "`.xlsx`": [
        File(
            "c.xlsx",
            book,
            rated,
            {"sheet": "rated"},
            [("7", "NA", 3.5), ("8", "None", 4.0)],
            "decimal commas in 'human'",
        ),
        File("c.xlsx", book, rated, {}, r"holds notes, rated instead of one.*dataset\.sheet=NAME"),
        File("c.xlsx", book, rated, {"sheet": "x"}, "has no sheet 'x', but notes, rated"),
    ],
    "several columns of references of any name": [
        File(
            "c.csv",
            "image_id,candidate,A,B,human\n7,a dog,one,two,3\n8,a cat,,three,4\n",
            rated,
            {"fields": {"references": ["A", "B"]}},
            [("7", "a dog", "one", "two", 3.0), ("8", "a cat", "three", 4.0)],
        ),
        File(
            "c.csv",
            "image_id,candidate,A,human\n7,a dog,one,3\n",
            rated,
            {"fields": {"references": ["A", "B"]}},
            r"'B': is missing \(dataset\.fields\.references\); the columns are",
        ),
    ],
    '`[{"391895": "a dog"}, {"60623": "a cat"}]`': [
        File("c.json", '[{"7": "a dog"}, {"8": "a cat"}]', own, {}, TWO, "only key is image_id"),
        File("c.json", '[{"7": "a dog"}]', captions, {}, {7: "a dog"}),
    ],
    "`NaN`, `null` or an empty cell for a rating or a list": [
        File(
            "c.json",
            '[{"image_id": 7, "candidate": "a", "human": NaN, "references": NaN, "system": NaN},'
            '{"image_id": 8, "candidate": "b", "human": [3, NaN], "references": null}]',
            rated,
            {},
            [("8", "b", 3.0)],
        ),
        File("c.csv", "image_id,candidate,human\n7,a,NaN\n8,b,3\n", rated, {}, [("8", "b", 3.0)]),
    ],
    "an object with `annotations` and other lists": [
        File(
            "c.json",
            json.dumps({"instances": [{"x": 1}], "annotations": [{"image_id": 7, "caption": "a"}]}),
            own,
            {},
            {7: ["a"]},
        ),
        File(
            "c.csv",
            references(
                "r.json",
                "image_id,candidate,human\n7,a dog,3\n",
                json.dumps({"instances": [], "annotations": [{"image_id": 7, "caption": "a"}]}),
            ),
            rated,
            {"references": "r.json"},
            [("7", "a dog", "a", 3.0)],
        ),
    ],
    "columns that only blanks separate": [
        File("c.csv", "image_id caption\n7 dog\n", own, {}, "line 1: blanks do not separate col"),
        File("c.txt", "image_id caption\n7 dog\n", own, {}, "line 1: blanks do not separate col"),
    ],
    "a column that is missing": [
        File(
            "c.json",
            '[{"image_id": 7, "candidate": "a", "scores": {"informativeness": 3}}]',
            rated,
            {},
            r"'human': is missing; .*'candidate', 'scores\.informativeness'.*human=scores\.inform",
        ),
        File("c.csv", "image_id,x\n7,a\n", own, {}, r"'caption': is missing; .*: 'image_id', 'x';"),
    ],
    "a file of references with the names of the other file": [
        File(
            "c.csv",
            references(
                "r.jsonl",
                "key,candidate,human\n7,a dog,3\n",
                '{"key": "7.jpg", "texts": {"all": ["one", "two"]}}\n',
            ),
            rated,
            {"references": "r.jsonl", "fields": {"image_id": "key", "references": "texts.all"}},
            r"'texts\.all': is missing \(dataset\.fields\.references\)",
        ),
        File(
            "c.csv",
            references(
                "r.jsonl",
                "key,candidate,human\n7,a dog,3\n",
                '{"key": "7.jpg", "captions": ["one", "two"]}\n',
            ),
            rated,
            {"references": "r.jsonl", "fields": {"image_id": "key"}},
            [("7", "a dog", "one", "two", 3.0)],
        ),
    ],
    "files of scores with other names": [
        File(
            "s.jsonl",
            references(
                "other.csv",
                '{"key": 7, "caption": "a dog", "scores": {"mine": 0.5}}\n',
                "key,hyp,scores.mine\n8,a cat,0.25\n",
            ),
            scores,
            {"columns": ["scores.mine"], "fields": {"image_id": "key"}},
            {("7", "a dog"): (0.5,), ("8", "a cat"): (0.25,)},
        ),
        File(
            "s.csv",
            "image_id,caption,x\n7,a,1\n",
            scores,
            {"fields": {"caption": "text"}},
            r"'text': is missing \(metric\.scores\.fields\.caption\)",
        ),
    ],
    "`dataset.fields={true: baseline, false: foil}`": [
        File(
            "p.csv",
            "image_id,baseline,foil,references\n7,a dog,a cat,x\n",
            pairs,
            {"fields": {True: "baseline"}},
            [("a dog", "a cat")],
        )
    ],
    "`id`, `seg_id`, `item_id` for images; `system_id`, `model_name` for systems": [
        *(
            File("c.csv", f"{name},caption\n7,a dog\n", own, {}, {7: ["a dog"]}, f"is '{name}'")
            for name in ("id", "seg_id", "item_id")
        ),
        *(
            File("s.csv", f"{name},h,m\nA,1,2\nB,2,3\n", systems, {}, {"A": [1], "B": [2]}, name)
            for name in ("system_id", "model_name")
        ),
        File("c.csv", "id,img,caption\n1,7,a dog\n", own, {}, {7: ["a dog"]}, "is 'img'"),
    ],
    "names of image files as ids in `captions=`": [
        File(
            "s.json",
            '[{"image_id": "COCO_val2014_000000000007.jpg", "caption": "a dog"}]',
            captions,
            {},
            {7: "a dog"},
            "'COCO_val2014_000000000007.jpg' is 7",
        ),
        File(
            "s.json",
            '[{"image_id": 7, "caption": "a dog"}]',
            captions,
            {"known": ("imgs/7.jpg", "8.jpg")},
            {"imgs/7.jpg": "a dog"},
            "7 is 'imgs/7.jpg'",
        ),
    ],
    "`000000391895.jpg` as an id": [
        File(
            "c.csv", "image_id,candidate,human\n000000391895.jpg,a,1\n", coco, {}, ["coco:391895"]
        ),
        File("c.csv", "image_id,candidate,human\nx/dog.jpg,a,1\n", coco, {}, [None]),
    ],
    "Unicode in two forms": [
        File(
            "s.csv",
            f"image_id,caption,CIDEr\n{NFD}.jpg,a {NFD},0.5\n",
            scores,
            {},
            {(f"{NFC}.jpg", f"a {NFC}"): (0.5,)},
        ),
        File(
            "s.csv",
            f"image_id,caption\n{NFD},x {NFD}\n",
            captions,
            {"known": [NFC]},
            {NFC: f"x {NFC}"},
        ),
    ],
    "two forms of one id in a file": [
        File(
            f"{loader.__name__}.json",
            json.dumps(
                [
                    {"image_id": i, "candidate": "a", "caption": "a", "human": 1, "true": "a"}
                    | {"false": "b", "first": "a", "second": "b", "winner": "first"}
                    for i in ids
                ]
            ),
            loader,
            {},
            r"\[1\], field 'image_id': .* become the same image",
        )
        for loader in (own, rated, pairs, battles)
        for ids in (("007", "7"), ("a/1.jpg", "b/1.jpg"), (NFC, NFD))
    ],
    "ids of sentences (`COCO_val2014:sentid:5240`)": [
        File(
            "c.csv",
            "caption,image\nCOCO_val2014:sentid:5240,7.jpg\n",
            own,
            {},
            "'COCO_val2014:sentid:5240' is the id of a sentence, not a caption",
        ),
        File(
            "c.csv",
            "caption,image,human\nCOCO_val2014:sentid:5240,7.jpg,1\n",
            rated,
            {},
            "'candidate': is missing",
        ),
    ],
    "values within objects and lists": [
        File(
            "c.json",
            json.dumps([{"m": {"i": {"id": 7}}, "c": "a", "people": [{"r": {"fl": 3}}]}]),
            rated,
            {"fields": {"image_id": "m.i.id", "candidate": "c", "human": "people.r.fl"}},
            [("7", "a", 3.0)],
        )
    ],
}
CASES = [
    pytest.param(file, id=f"{row}-{k}")
    for row, files in FILES.items()
    for k, file in enumerate(files)
]


@pytest.mark.parametrize("file", CASES)
def test_a_file_as_it_is(
    file: File, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("METAEVAL_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    check(file, tmp_path, caplog)


def test_each_row_of_the_documentation_has_a_file() -> None:
    page = (ROOT / "docs/own.md").read_text("utf-8").partition("<!-- files -->")[2]
    rows = re.findall(r"^\| (.+?) \| ", page.partition("<!-- end of files -->")[0], re.MULTILINE)
    assert rows[1:] == list(FILES)


def test_images_of_a_folder_are_found_in_either_form(tmp_path: Path) -> None:
    (tmp_path / f"{NFD}.jpg").write_bytes(b"")
    (tmp_path / "t.csv").write_text(f"image_id,caption,image_path\n1,a dog,{NFC}.jpg\n")
    images = load_own(tmp_path / "t.csv", images=tmp_path).part("images")
    assert not isinstance(images, Absent)
    assert images.count([1]) == 1


@pytest.mark.parametrize(
    "options",
    [
        "dataset=battles dataset.file=f.json dataset.fields.image_id=question_id",
        "dataset=systems dataset.file=f.csv dataset.fields.system=team",
        "dataset=caparena dataset.fields.rater=who",
        "metric=[scores] metric.scores.file=s.csv metric.scores.fields.image_id=key",
        "experiment=captioners captions=s.json task.fields.caption=text",
        "dataset=table dataset.file=f.csv dataset.fields.references=[A,B] dataset.quoting=none",
        "dataset=own dataset.file=f.csv dataset.encoding=cp1252 dataset.fields.caption=a.b",
        "dataset=pairs dataset.file=f.xlsx dataset.sheet=x dataset.fields={true: a, false: b}",
    ],
)
def test_fields_and_readings_are_options_of_every_loader(options: str) -> None:
    words = re.findall(r"[\w.]+=(?:\{.*?\}|\S+)", options)
    assert OmegaConf.select(compose_config(words), words[-1].partition("=")[0]) is not None


def test_a_files_name_is_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the command line and from Python; of a file that is not there `${…}` is another key."""
    monkeypatch.chdir(tmp_path)
    Path("a${seed}.csv").touch()
    words = ["dataset=table", "dataset.file=a${seed}.csv"]
    given = {"dataset": "table", "dataset__file": "a${seed}.csv"}
    for overrides in (hydra_arguments(words), override_texts(given)):
        assert compose_config(overrides).dataset.file == "a${seed}.csv"
    Path("a${seed}.csv").unlink()
    assert compose_config([*words, "seed=3"]).dataset.file == "a3.csv"


def test_what_a_terminal_has_no_character_for_is_spelled_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, "ascii"))

    @ends_with_status()
    def command() -> None:
        print("кот, τ-b", flush=True)

    assert command() == 0
    assert written.getvalue() == b"???, tau-b\n"
