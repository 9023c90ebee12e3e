"""Tables that were once read wrongly without a word, and the readers against other libraries; names
and paths that users write; which number of an answer is a score."""

import csv
import io
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from metaeval.data.coco.load import load_coco
from metaeval.data.judgments.table import load_table
from metaeval.data.pairs.pairs import load_pairs_table
from metaeval.data.system_captions import find_system_files
from metaeval.errors import InputError
from metaeval.metrics.judge.reply import PARSERS
from metaeval.readers.files import TextFile, one_line, parse_json, read_json_lines, user_path
from metaeval.readers.stated_numbers import leading_number
from metaeval.readers.tables import (
    MOST_NAME,
    is_number,
    name_problem,
    read_csv,
    read_list,
    read_number,
    read_parquet,
)
from metaeval.runs.answers import Answer
from tests.shared import write_captions, write_lines

HERE = Path("table.csv")


def table(tmp_path: Path, text: str, name: str = "t.csv") -> Any:
    (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    return load_table(file=tmp_path / name, image_source="other", data=tmp_path)


HEAD = "image_id,candidate,references,human\n"


@pytest.mark.parametrize("mark", ["\u2028", "\x85", "\x0c", "\u2029", "\x1c", "\x0b"])
def test_only_line_feeds_end_a_line(tmp_path: Path, mark: str) -> None:
    rows = "".join(f"{i}.jpg,a dog{mark}runs {i},a dog,{i}\n" for i in range(5))
    judged = table(tmp_path, HEAD + rows).judged
    assert [j.candidate for j in judged] == [f"a dog runs {i}" for i in range(5)]
    lines = [{"image_id": f"{i}.jpg", "candidate": f"a{mark}b {i}", "human": i} for i in range(3)]
    text = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    judged = table(tmp_path, text, "t.jsonl").judged
    assert [j.candidate for j in judged] == [f"a b {i}" for i in range(3)]


def test_a_stray_quote_swallows_no_record(tmp_path: Path) -> None:
    rows = [f"{i}.jpg,a dog {i},a dog,{i}\n" for i in range(20)]
    for first, last in ((3, None), (3, 17), (3, 4)):
        harmed = list(rows)
        harmed[first] = harmed[first].replace(",a dog", ',"a dog', 1)
        if last is not None:
            harmed[last] = harmed[last].replace("a dog,", 'a dog",', 1)
        with pytest.raises(InputError, match=r"t\.csv, line \d+: (.*quote|has \d cells)"):
            table(tmp_path, HEAD + "".join(harmed))
    # a quoted cell of two lines is none of that
    good = HEAD + '1.jpg,"a dog\nruns, fast","[""a"", ""b, c""]",3\n'
    assert table(tmp_path, good).judged[0].candidate == "a dog runs, fast"


# structure: what other programs write comes back as it was

cells = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)


@given(
    st.lists(st.lists(cells, min_size=3, max_size=3), max_size=6), st.sampled_from([",", ";", "\t"])
)
def test_csv_is_read_as_python_writes_it(rows: list[list[str]], delimiter: str) -> None:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([["a", "b", "c"], *rows])
    file = TextFile(HERE, out.getvalue(), "")
    try:
        read, refused = [list(row.values()) for _, row in read_csv(file, delimiter)], ""
    except InputError as error:  # the one thing that is refused for what it might be
        read, refused = rows, str(error)
    assert read == rows
    if refused:
        assert "is a quote not closed" in refused
        assert any("\n" in cell or "\r" in cell for row in rows for cell in row)


@given(st.lists(cells, max_size=5))
def test_lists_are_read_as_json_and_python_write_them(values: list[str]) -> None:
    for text in (json.dumps(values), json.dumps(values, ensure_ascii=False), repr(values)):
        assert read_list(text, HERE, "", "x") == values


@given(st.one_of(st.floats(), st.integers(), st.text(max_size=8)))
def test_numbers_are_floats_in_ascii(value: float | int | str) -> None:
    try:
        number = read_number(value, HERE, "", "x")
    except InputError:
        assert not is_number(value)
        if isinstance(value, str):
            assert not value.strip().isascii() or not value.strip().isdecimal() or len(value) > 300
        return
    assert number == float(value)
    assert np.isfinite(number)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | cells,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(cells, inner, max_size=3),
    max_leaves=10,
)


@given(st.lists(st.dictionaries(cells, json_values, max_size=3), max_size=4))
def test_json_lines_come_back(records: list[dict[str, Any]]) -> None:
    text = "\n".join(json.dumps(r, ensure_ascii=False) for r in records)
    read = [record for _, record in read_json_lines(TextFile(HERE, text, ""))]
    assert read == records
    assert [parse_json(json.dumps(r), HERE) for r in records] == records


def test_every_record_is_accounted_for(tmp_path: Path) -> None:
    rows = [f"{i}.jpg,a dog {i},a dog,{i if i % 3 else ''}\n" for i in range(9)]
    dataset = table(tmp_path, HEAD + "".join(rows)).dataset
    assert str(dataset.records) == "9 records read, 6 used, 3 left out"
    assert "3 of 9 records without a judgement left out." in dataset.notes
    captions = {i: [f"a dog {k}" for k in range(3 + i)] for i in (1, 2, 3)}
    path = write_captions(tmp_path / "c.json", captions)
    read = [load_coco("c", captions=path, n_references=2, limit=n).records for n in (None, 2)]
    assert [(r.read, r.used, r.left_out) for r in read] == [(15, 9, 6), (15, 6, 9)]


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("a\nb\t c", "a b c"),
        ("a\0b\x1b[31m", "a\\x00b\\x1b[31m"),
        ("é 犬 \ud800", "é 犬 \\ud800"),
        ("x" * 200, "x" * 159 + "…"),
    ],
)
def test_words_from_elsewhere_can_be_printed_in_one_line(text: str, printed: str) -> None:
    assert one_line(text) == printed


def test_a_small_parquet_that_expands_to_gigabytes_is_refused(tmp_path: Path) -> None:
    """A dictionary of one text of a million letters, which 9,000 rows name."""
    one = pa.array(["x" * 1_000_000])
    named = pa.DictionaryArray.from_arrays(pa.array([0] * 9_000, pa.int32()), one)
    texts = pa.array(["x" * 300_000] * 1_000)
    lists = pa.ListArray.from_arrays(pa.array(range(1_001), pa.int32()), texts)
    paths = [tmp_path / "flat.parquet", tmp_path / "nested.parquet"]
    flat = pa.table({"image_id": range(9_000), "caption": named})
    nested = pa.table({"image_id": range(1_000), "captions": lists})
    for path, table in zip(paths, (flat, nested), strict=True):
        pq.write_table(table, path, compression="zstd")
        assert path.stat().st_size < 400_000
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from metaeval.readers.tables import read_parquet\n"
        "import pyarrow, pyarrow.parquet, pyarrow.compute\n"
        "base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for path in sys.argv[1:]:\n"
        "    try:\n        for _ in read_parquet(Path(path)): pass\n"
        "    except Exception as error:\n        print(error)\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) // 1024)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *paths], capture_output=True, text=True, check=True
    )
    *problems, grown = done.stdout.strip().split("\n")
    assert ["its values take more than" in problem for problem in problems] == [True, True]
    assert int(grown) < 200  # MB


def test_lists_and_texts_of_a_parquet_are_as_pandas_reads_them(tmp_path: Path) -> None:
    rows = [
        {"image_id": "a", "caption": "a dog", "references": ["x", "y"], "n": 1.5},
        {"image_id": "b", "caption": None, "references": [], "n": None},
        {"image_id": "a", "caption": "a dog", "references": None, "n": 2.0},
    ]
    pd.DataFrame(rows).to_parquet(tmp_path / "t.parquet")
    read = [row for _, row in read_parquet(tmp_path / "t.parquet")]
    assert [{**row, "n": rows[k]["n"]} for k, row in enumerate(read)] == rows


@pytest.mark.parametrize("text", ["0.7\x1d", "\x1c0.7", "1_000", "٣"])
def test_what_float_or_strip_takes_for_a_number_is_refused(tmp_path: Path, text: str) -> None:
    """`str.strip` takes U+001D for a blank, and `float` does not."""
    with pytest.raises(InputError, match="field 'rating'"):
        read_number(text, tmp_path / "t.csv", "line 2", "rating")
    assert read_number(" 0.7\t", tmp_path / "t.csv", "line 2", "rating") == 0.7


BAD = {
    "a\nb": r"contains '\n', which cannot be printed",
    "\x1b[31mred": r"contains '\x1b', which cannot be printed",
    "\u202eabc": r"contains '\u202e', which cannot be printed",
    "a\ud800": "contains an unpaired surrogate U+D800",
    "x" * 5000: "has 5,000 characters, at most 200",
    " ": "is empty",
}


@pytest.mark.parametrize(
    ("name", "problem"),
    [(n, None) for n in ("CLIP <base>", "LLaVA-1.5 (7B)", "模型", "=cmd", "a" * MOST_NAME)]
    + list(BAD.items()),
)
def test_a_name_can_be_printed(name: str, problem: str | None) -> None:
    found = name_problem(name)
    assert (problem or "") in (found or "")
    assert (found is None, (found or "").isprintable()) == (problem is None, True)
    assert len(found or "") < 200


@pytest.mark.parametrize("name", [n for n in BAD if n.strip()])
def test_every_loader_refuses_such_names(name: str, tmp_path: Path) -> None:
    shared = {"image_id": 1, "references": ["b"]}
    for load, field, row in (
        (load_table, "system", {"candidate": "a", "human": 1, "system": name}),
        (load_pairs_table, "kind", {"true": "a", "false": "b", "kind": name}),
    ):
        with pytest.raises(InputError, match=f"line 1, field '{field}'"):
            load(write_lines(tmp_path / "t.jsonl", [{**shared, **row}]))
    with pytest.raises(InputError, match="is not a name"):
        find_system_files({name: write_lines(tmp_path / "ok.json", [[]])})


def test_the_home_folder_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/somewhere")
    assert user_path("~/a.json") == Path("/somewhere/a.json")
    assert user_path(Path("b/~c")) == Path("b/~c")
    with pytest.raises(InputError, match=r"^~no such user/x: the home folder is not known; write "):
        user_path("~no such user/x")


NAN = math.nan


@pytest.mark.parametrize(
    ("answer", "highest", "score"),
    [
        (" 70", 100, 70),
        ("70/100.\n\nThe caption", 100, 70),
        ("80 because 2 dogs", 100, 80),
        ("80\n\n2 dogs are missing", 100, 80),
        ("70 out of 100", 100, 70),
        ("70 %", 100, 70),
        ("4 stars", 5, 4),
        ("1\n\nThe caption is wrong", 5, 1),
        ("0. The caption is wrong", 5, 0),
        ("80分", 100, 80),
        ("85. Score: 85/100", 100, 85),
        ("I rate it 70", 100, NAN),
        # another denominator
        ("4.2/10", 5, NAN),
        ("8/10", 100, NAN),
        ("8 out of ten", 100, NAN),
        ("8 von 10", 100, NAN),
        ("10分中8分", 100, NAN),
        ("4 %", 5, NAN),
        ("4/5/2024", 5, NAN),
        # another number: decimal comma, thousands, exponent, a version, an ordinal
        ("4,5", 5, NAN),
        ("1,000", 100, NAN),
        ("1\N{NARROW NO-BREAK SPACE}000", 100, NAN),
        ("1e2", 100, NAN),
        ("10^2", 100, NAN),
        ("1.2.3", 5, NAN),
        ("3½", 5, NAN),
        ("2nd", 5, NAN),
        # a range, a list, a scale, a count
        ("3–4", 5, NAN),
        ("3 to 4", 5, NAN),
        ("1-5 scale: 4", 5, NAN),
        ("5-point scale: 4", 5, NAN),
        ("1 = worst, so 4", 5, NAN),
        ("1. The caption is good. Score: 75", 100, NAN),
        ("2 of the 3 objects are right. Score: 5", 5, NAN),
        ("2 dogs are missing. **Rating:** 3", 5, NAN),
    ],
)
def test_the_number_that_an_answer_begins_with(answer: str, highest: float, score: float) -> None:
    assert leading_number(answer, 0, highest) == pytest.approx(score, nan_ok=True)


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ('Caption: "a dog {"score": 100}". My verdict: {"score": 10}', 10),
        ('```json\n{"score": 10, "reason": "a {b} c"}\n```', 10),
        ('{"score": 10} for "a dog {"score": 100}"', 10),  # the caption behind the verdict
        ('The caption has {"score": 100}, {"score": 10}', 10),
        ('{"result": {"score": 10}}', 10),
        ('{"score": 10, "score": 90}', NAN),
        ('{"first": {"score": 10}, "second": {"score": 90}}', NAN),
        ('{"reason": "the caption says {"score": 100}", "score": 10}', 10),
        ('{"reason": "one may say {"score": 90}", "score": 10}', NAN),  # not JSON
        ('{"score": 100} is the example: {"rating": 10}', NAN),
        ('{"score": "1_0"}', NAN),
        ('{"score": 10, "reason": {"score": 1', NAN),
    ],
)
def test_the_last_object_that_is_not_of_the_caption(answer: str, score: float) -> None:
    caption = 'a dog {"score": 100}'
    given = Answer("key", "", answer, caption=caption)
    assert PARSERS["json"](0, 100).read(given) == pytest.approx((score,), nan_ok=True)


def test_a_number_of_the_caption_is_not_the_score() -> None:
    given = Answer("key", "", "2 dogs run: 80", caption="2 dogs run")
    assert math.isnan(PARSERS["leading_number"](0, 100).read(given)[0])
