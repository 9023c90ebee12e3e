"""How captions are compared, and how several of them are read from one cell."""

import unicodedata
from pathlib import Path

import pandas as pd
import pytest

from metaeval.data.judgments.battles import load_battles
from metaeval.data.judgments.table import load_table
from metaeval.data.own.captions import load_own
from metaeval.data.own.given import given_captions
from metaeval.data.own.score_files import read_scores
from metaeval.data.pairs.pairs import load_pairs_table
from metaeval.data.system_captions import read_system_captions
from metaeval.data.tidy import Tidy, letters_and_digits
from metaeval.errors import InputError
from metaeval.experiments.score.worker import read_rows
from tests.data.table_files import write


@pytest.mark.parametrize(
    ("boy", "girl"),
    [("एक लड़का दौड़ता है", "एक लड़की दौड़ती है"), ("ছেলেটি", "ছেলেটা"), ("பையன்", "பெயன்"), ("מֶלֶךְ", "מֹלֶךְ")],
)
def test_captions_that_differ_in_marks_alone_are_different(boy: str, girl: str) -> None:
    """Vowels of Hindi, Bengali and Tamil and the points of Hebrew are combining marks."""
    assert any(unicodedata.category(c).startswith("M") for c in boy + girl)
    assert letters_and_digits(boy) != letters_and_digits(girl)
    assert letters_and_digits(f"«{boy}».") == letters_and_digits(boy)


def test_normal_forms_and_cases_of_one_caption_are_equal() -> None:
    composed, decomposed = (unicodedata.normalize(form, "Café Ångström") for form in ("NFC", "NFD"))
    assert composed != decomposed
    assert letters_and_digits(composed) == letters_and_digits(decomposed) == "caféångström"
    assert letters_and_digits("résumé") != letters_and_digits("resume")
    # as Unicode folds case
    assert letters_and_digits("STRASSE Σ") == letters_and_digits("straße ς")
    assert letters_and_digits("A man's 2 red-hot_grills .") == "amans2redhotgrills"


@pytest.mark.parametrize(
    ("cell", "captions"),
    [
        ('["a dog", "a  cat"]', ("a dog", "a cat")),
        ("['a dog', \"it's\"]", ("a dog", "it's")),
        (["a dog", "a ||| cat"], ("a dog", "a ||| cat")),
        ("a dog ||| a cat|||", ("a dog", "a cat")),
        ("a dog; a cat", ("a dog; a cat",)),
        ("a dog\na cat", ("a dog a cat",)),
        ("a dog", ("a dog",)),
        ("", ()),
        (None, ()),
        ("[]", ()),
    ],
)
def test_several_captions_in_a_cell(cell: object, captions: tuple[str, ...]) -> None:
    read = Tidy().read_several(cell, file=Path("t.csv"), record="line 2", field="references")
    assert read == captions


def test_cells_that_are_split_or_may_need_it_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    tidy = Tidy()
    for cell in ("a ||| b", "a ||| b ||| c", "a; b", "a\nb", "a;", "\na\n", "a", ["a; b"]):
        tidy.read_several(cell, file=None, record="image 1", field="references")
    split, unsplit, *_ = tidy.notes()
    assert caplog.messages == [split, unsplit]
    assert split == "2 cells split at '|||' into captions."
    assert unsplit.startswith("2 cells with a ';' or a line break read as one caption each; ")
    with pytest.raises(InputError, match="image 1, field 'references': is not a list of"):
        tidy.read_several([1], file=None, record="image 1", field="references")


CELLS = {"list": '["a dog runs", "the dog"]', "joined": "a dog runs ||| the dog"}


@pytest.mark.parametrize("form", list(CELLS))
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".json", ".parquet", ".xlsx"])
def test_every_reader_of_references_reads_a_cell_alike(
    form: str, suffix: str, tmp_path: Path
) -> None:
    row = {
        "image_id": "i1",
        "candidate": "a dog",
        "human": 1,
        "caption": "a dog",
        "true": "a dog",
        "false": "a cat",
        "first": "a dog",
        "second": "a cat",
        "winner": "first",
        "CIDEr": 0.5,
        "references": CELLS[form],
    }
    path = write(tmp_path / f"t{suffix}", [row])
    assert read_system_captions(path, "s", ["i1"]).captions == {"i1": "a dog"}
    read = {
        "judgments": load_table(path).judged[0].references,
        "battles": load_battles(path, image_source="other").references[0],
        "pairs": load_pairs_table(path, image_source="other").dataset.references[0],
        "own captions": load_own(path).references[0],
        "scores": next(iter(read_scores(path, ["CIDEr"]).scores))[2],
        "experiment=score": next(read_rows([path], None, Tidy())).references,
        "metaeval.score": given_captions(pd.DataFrame([row])).dataset.references[0],
    }
    assert read == dict.fromkeys(read, ("a dog runs", "the dog"))
