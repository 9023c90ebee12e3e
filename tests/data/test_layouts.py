"""Files of other projects in their own layout: how `python -m metaeval check` reads each.

Of each layout a small file is written here; `metaeval check` gives it to the loader of its
experiment. docs/own.md has the same commands.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest

from metaeval.check import files as check_files
from metaeval.cli.main import run_verb
from metaeval.config import compose_config, load_dataset
from metaeval.errors import InputError
from tests.data.table_files import write
from tests.shared import write_json

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
DATA = "dataset=own dataset.file=refs.json"
REFS = {"60623": ["a woman at a table", "a cake"], "386164": ["some knives", "a board"]}


class Layout(NamedTuple):
    """A file and the arguments of its command; what of it is read, or why it is refused."""

    file: str
    content: Any
    options: str
    experiment: str
    read: tuple[str, ...] = ()
    refused: str = ""


def lines(*rows: str) -> str:
    return "".join(f"{row}\n" for row in rows)


def workbook(path: Path) -> None:
    pd.DataFrame({"img": ["7.jpg"], "text": ["a dog"], "refs": ["the dog"]}).to_excel(
        path, index=False
    )


ACCR = [[4, 3, 4, 5, 4.0], [4, 3, 4, 4, 3.75]]
QUALITY = [{"coherence": 2, "fluency": 5}, {"coherence": 1, "fluency": 5}]
TEXTCAPS = [
    {"image_id": "b5", "caption_str": text, "reference_strs": ["a sign", "a red sign"], "set": 1}
    for text in ("a sign", "a red sign")
]
LAYOUTS = {
    "COCO results": Layout(
        "results.json",
        [{"image_id": 60623, "caption": "a cake"}, {"image_id": 386164, "caption": "knives"}],
        DATA,
        "captioners",
        ("results: 60623: 'a cake'",),
    ),
    "Karpathy": Layout(
        "dataset_coco.json",
        {
            "images": [
                {
                    "filename": "COCO_val2014_000000060623.jpg",
                    "cocoid": 60623,
                    "split": "test",
                    "sentences": [{"raw": "a cake"}, {"raw": "a woman"}],
                }
            ],
            "dataset": "coco",
        },
        "",
        "replace",
        ("60623: 'a cake'; references ('a woman',)",),
    ),
    "Flickr token": Layout(
        "results_20130124.token",
        lines("36979.jpg#0\ttwo friends .", "36979.jpg#1\ttwo men ."),
        "",
        "replace",
        ("36979: 'two friends .'; references ('two men .',)",),
    ),
    "COCO evalImgs": Layout(
        "evalImgs.json",
        [
            {"image_id": 60623, "CIDEr": 0.5, "Bleu_1": 0.25, "SPICE": {"All": {"f": 0.1}}},
            {"image_id": 386164, "CIDEr": 1.5, "Bleu_1": 0.75, "SPICE": {"All": {"f": 0.2}}},
        ],
        "metric.scores.captions=results.json",
        "NAME",
        ("metric=[scores]: CIDEr, Bleu_1 of 2 captions",),
    ),
    "UniEval": Layout(
        "sfhot.json",
        [
            {
                "doc_id": 0,
                "source": "confirm(area='cathedral hill')",
                "reference": "Confirms the area .",
                "system_output": "You want a hotel ?",
                "scores": {"informativeness": 4.5, "naturalness": 3.5},
            }
        ],
        "dataset.fields.human=scores.informativeness",
        "judgments",
        ("0: 'You want a hotel ?', human (4.5,); references ('Confirms the area .',)",),
    ),
    "MSVD-Eval": Layout(
        "MSVD-Eval.json",
        {
            "vid1301": {
                "vname": "eyhzdC936uk_15_27.avi",
                "ref": ["a boy playing with dog", "a small dog"],
                "candidate": "a dog plays",
                "human_score": ACCR,
            }
        },
        "dataset.fields.human=human_score.4",
        "judgments",
        (
            "vid1301: 'a dog plays', human (4.0, 3.75); references ('a boy playing with dog', ",
            "not used: 'vname'",
        ),
    ),
    "BRACE-Main": Layout(
        "AudioCaps_Main.json",
        [
            {
                "file_name": "rattle.wav",
                "references": ["bottles rattle"],
                "Human-Machine_1": ["a cat", "cats", "human", "LTU", [-1, 1, 1]],
            }
        ],
        "",
        "forced_choice",
        (
            "3 pairs of captions",
            "rattle.wav: 'a cat' or 'cats', votes [0, 1]",
            "rattle.wav: 'a cat' or 'cats', votes [1, 0]",
        ),
    ),
    "WMT": Layout(
        "wmt-da.csv",
        lines("lp,src,mt,ref,score,year", "de-en,Ein Hund.,A dog.,One dog.,0.5,2020"),
        "dataset.fields.image_id=src",
        "judgments",
        ("Ein Hund.: 'A dog.', human (0.5,); references ('One dog.',)", "used: 'lp', 'year'"),
    ),
    "CxC": Layout(
        "sits_val.csv",
        lines(
            "caption,image,agg_score,sampling_method",
            "COCO_val2014:sentid:648388,COCO_val2014_000000431431.jpg,1.8,c2i_intrasim",
        ),
        "",
        "judgments",
        refused="judgments: line 2, field 'candidate', 'human': is missing",
    ),
    "SummEval": Layout(
        "model_annotations.aligned.jsonl",
        json.dumps(
            {
                "id": "dm-test-8764",
                "decoded": "paul merson was brought on .",
                "expert_annotations": QUALITY,
                "references": ["merson and townsend .", "a row ."],
                "model_id": "M11",
            }
        ),
        "dataset.fields.image_id=id "
        "dataset.human=[expert_annotations.coherence,expert_annotations.fluency]",
        "judgments",
        (
            "dm-test-8764: 'paul merson was brought on .', expert_annotations.coherence (2.0, 1.0)"
            ", expert_annotations.fluency (5.0, 5.0)",
        ),
    ),
    "TextCaps": Layout(
        "TextCaps_0.1_val.json",
        {"dataset_type": "val", "data": TEXTCAPS},
        "",
        "replace",
        ("b5: 'a sign'; references ('a red sign',)", "2 records read, 2 used"),
    ),
    "Flickr captions.txt": Layout(
        "captions.txt",
        lines("image,caption", "1000.jpg,A child .", "1000.jpg,A girl ."),
        "",
        "replace",
        ("1000.jpg: 'A child .'; references ('A girl .',)", "the delimiter is comma."),
    ),
    "Flickr30k results.csv": Layout(
        "results.csv",
        lines("image_name| comment_number| comment", "1.jpg| 0| Two men , a", "1.jpg| 1| Two"),
        "",
        "replace",
        ("1.jpg: 'Two men , a'; references ('Two',)", "pipe; blanks around cells are left out."),
    ),
    "SMURF candidates": Layout(
        "karpathy_cand.json",
        [
            {"image_id": "COCO_val2014_000000391895.jpg", "caption": "A man with a helmet. "},
            {"image_id": "COCO_val2014_000000391895.jpg", "caption": "a man riding"},
        ],
        "dataset=own dataset.file=one.json",
        "captioners",
        refused="captioners: [1], field 'image_id': 'COCO_val2014_000000391895.jpg' occurs twice",
    ),
    "UMIC sample": Layout(
        "sample.json",
        [
            {"caption": "a woman with a cake", "imgid": "000000060623"},
            {"caption": "a bunch of knives", "imgid": "000000386164"},
        ],
        DATA,
        "captioners",
        ("sample: 60623: 'a woman with a cake'", "'000000060623' is 60623"),
    ),
    "wide ratings": Layout(
        "wide.csv",
        lines("img,caption,refs,rater1,rater2", "7.jpg,a dog,the dog,4,5"),
        "",
        "judgments",
        (
            "7.jpg: 'a dog', human (4.0, 5.0); references ('the dog',)",
            "dataset.raters=[rater1,rater2]",
        ),
    ),
    "long ratings": Layout(
        "long.csv",
        lines(
            "img,caption,refs,worker,rating", "7.jpg,a dog,the dog,x,4", "7.jpg,a dog,the dog,y,2"
        ),
        "",
        "judgments",
        (
            "2 ratings are of 1 captions",
            "7.jpg: 'a dog', human (4.0, 2.0); references ('the dog',)",
        ),
    ),
    "battles": Layout(
        "battles.jsonl",
        json.dumps(
            {
                "image": "7.jpg",
                "response_a": "a dog",
                "response_b": "a cat",
                "model_a": "x",
                "model_b": "y",
                "vote": "model_b",
            }
        ),
        "dataset.ties=half dataset.own_captions=drop",
        "forced_choice",
        ("7.jpg: 'a dog' or 'a cat', votes [0, 1]",),
    ),
    "workbook": Layout(
        "captions.xlsx", workbook, "", "replace", ("7.jpg: 'a dog'; references ('the dog',)",)
    ),
    "semicolon": Layout(
        "ratings.csv",
        lines("img;hyp;refs;score", "7;a dog, fast;the dog;3,5", "8;a cat;the cat;4"),
        "",
        "judgments",
        (
            "7: 'a dog, fast', human (3.5,); references ('the dog',)",
            "the delimiter is semicolon; decimal commas in 'score'.",
        ),
    ),
}
OPTION = {
    "judgments": "dataset=table dataset.file",
    "forced_choice": "dataset=battles dataset.file",
    "replace": "dataset=own dataset.file",
    "captioners": "captions",
    "NAME": "metric=[scores] metric.scores.file",
}


def command(layout: Layout, file: str) -> str:
    """The command that uses a file of this layout."""
    words = f"experiment={layout.experiment} {OPTION[layout.experiment]}={file} {layout.options}"
    return f"python -m metaeval {words}".strip()


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_file_of_each_layout_is_read_or_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("METAEVAL_DATA", str(tmp_path))
    layout = LAYOUTS[name]
    uses = [use for use in check_files.USES if use[0] == layout.experiment]
    monkeypatch.setattr(check_files, "USES", uses)
    write(Path("refs.json"), REFS)
    write(Path("one.json"), {"COCO_val2014_000000391895.jpg": ["a man", "a road"]})
    write(Path("results.json"), LAYOUTS["COCO results"].content)
    write(Path(layout.file), layout.content)
    run_verb(["check", layout.file, *layout.options.split()])
    printed = capsys.readouterr().out
    used, _, reasons = printed.partition("\nNot for:")
    if layout.refused:
        assert layout.refused in reasons
        assert f"experiment={layout.experiment}" not in used
        return
    for part in layout.read:
        assert part in used, printed
    assert command(layout, layout.file) in used.replace("'", "")
    documented = command(layout, "FILE").replace(DATA, "dataset=NAME").partition("metaeval ")[2]
    assert f"`{documented}`" in (ROOT / "docs/own.md").read_text("utf-8")


def test_a_reason_is_what_a_run_says_with_its_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Everything after the columns was cut off: "give dataset.fields.candidate=COLUMN"."""
    file = write_json(tmp_path / "t.json", [{"a": 7, "b": "a dog", "c": 2}])
    with pytest.raises(InputError) as refused:
        load_dataset(compose_config(["dataset=table", f"dataset.file={file}"]))
    assert run_verb(["check", str(file)]) == 2
    reason = str(refused.value).removeprefix(f"{file}, ").removeprefix(f"{file}: ")
    assert reason in capsys.readouterr().out


def test_options_of_check_are_those_of_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "t.csv", "a;b;c\n7.jpg;a dog;2\n")
    assert run_verb(["check", str(tmp_path / "t.csv")]) == 2
    assert "t.csv: 1 records with the columns 'a', 'b', 'c'" in capsys.readouterr().out
    fields = "dataset.fields={image_id: a, candidate: b, human: c}"
    assert run_verb(["check", str(tmp_path / "t.csv"), fields]) == 0
    assert "7.jpg: 'a dog', human (2.0,)" in capsys.readouterr().out
    assert run_verb(["check", str(tmp_path / "none.csv")]) == 2
