"""Corruptions that users bring: a function, a file, a mixture."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from omegaconf import OmegaConf

from metaeval.corruptions.base import Corrupted, Corruption
from metaeval.corruptions.graded.random import Random
from metaeval.corruptions.graded.replace import Delete
from metaeval.corruptions.graded.shuffle import Reverse
from metaeval.corruptions.own.function import FunctionCorruption, Mixture, read_corruptions
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import ConfigError
from metaeval.experiments.graded.task import Graded, configured
from metaeval.runs.records import Edit
from tests.data.table_files import write
from tests.shared import write_lines

HUMAN = ("A dog and a cat sit on the mat.", "A cow runs on grass.")
DATA = CaptionDataset("test", (3, 4), HUMAN, ((), ()), (3, 4), HUMAN)


def shout(caption: str, rng: np.random.Generator) -> str:
    return caption.upper() if caption.startswith("A cow") else caption


def drop(caption: str, rng: np.random.Generator, rate: float) -> str:
    words = caption.split()
    keep = sorted(rng.permutation(len(words))[: len(words) - round(rate * len(words))])
    return " ".join(words[k] for k in keep)


def test_a_function_corrupts_and_reports_where_it_did_not() -> None:
    # word by word by hand: "A" stays, the other four are one stretch
    edits = (Edit(1, "cow runs on grass.", "COW RUNS ON GRASS."),)
    assert FunctionCorruption(shout).apply(DATA, 0) == [
        Corrupted(HUMAN[0], False, realised=0.0),
        Corrupted("A COW RUNS ON GRASS.", True, edits, realised=4 / 5),
    ]


def test_a_function_with_a_rate_has_its_levels_and_its_own_generator() -> None:
    half = FunctionCorruption(drop, rate=0.5)
    assert half.label == "drop 50%"
    made = half.apply(DATA, 0)
    # of 9 and of 5 words; Python rounds 4.5 to 4 and 2.5 to 2
    assert [len(c.text.split()) for c in made] == [5, 3]
    assert (half.apply(DATA, 0), half.apply(DATA.subset([1]), 0)) == (made, made[1:])
    assert half.apply(DATA, 1) != made


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "give the function: corruption.function=my_module.corrupt"),
        ({"function": "no_such_module.corrupt"}, "no module named 'no_such_module'"),
        ({"function": drop}, "drop has a rate: give corruption.rates"),
        ({"function": drop, "rate": 1.5}, "rate: 1.5 is not in (0, 1]"),
        ({"function": shout, "rate": 0.5}, "shout has no parameter 'rate'"),
        ({"function": shout, "expected": "up"}, "expected: 'up' is not one of lower, same"),
    ],
)
def test_a_function_that_cannot_be_is_refused(options: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(problem)):
        FunctionCorruption(**options)  # type: ignore[arg-type]


def test_a_function_must_return_a_text() -> None:
    with pytest.raises(ConfigError, match="returned int for 'A dog"):
        FunctionCorruption(lambda caption, rng: 3).apply(DATA, 0)  # type: ignore[arg-type, return-value]


def test_a_mixture_is_its_parts_one_after_another() -> None:
    mixed = Mixture([Delete(0.5), Reverse()], 0.5)
    assert mixed.label == "Delete + Reversed 50%"
    deleted = replace(DATA, human=tuple(c.text for c in Delete(0.5).apply(DATA, 7)))
    expected = [c.text for c in Reverse().apply(deleted, 7)]
    assert [(c.text, c.applied) for c in mixed.apply(DATA, 7)] == [(t, True) for t in expected]
    # a part that gives every image another one's caption
    assert [c.text for c in Mixture([Reverse(), Random()]).apply(DATA, 7)] == [*HUMAN[::-1]]


def _configured(**node: object) -> list[Corruption]:
    return configured(OmegaConf.create(node))


def test_mixtures_come_from_names_worst_first() -> None:
    target = "metaeval.experiments.graded.task.mixtures"
    for parts, labels in (
        (["delete", "reverse"], ["Delete + Reversed 50%", "Delete + Reversed 25%"]),
        (["reverse", "random"], ["Reversed + Random"]),
    ):
        made = _configured(_target_=target, parts=parts, rates=[0.25, 0.5])
        assert [c.label for c in made] == labels
    for parts, problem in (
        (["delete"], "two corruptions or more"),
        ("delete", "give the corruptions of the mixture"),
        (["delete", "../../evil"], "unknown corruption"),
    ):
        with pytest.raises(ConfigError, match=problem):
            _configured(_target_=target, parts=parts, rates=[0.5])


ROWS = [
    {"image_id": 3, "caption": "A dog.", "set": "mild", "level": 1, "expected": "lower"},
    {"image_id": 3, "caption": "A  mat.", "set": "hard", "level": 0, "expected": "lower"},
    {
        "image_id": 4,
        "caption": "A cow runs on grass.",
        "set": "hard",
        "level": 0,
        "expected": "lower",
    },
]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_file_has_its_sets_worst_first(suffix: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"c{suffix}", ROWS)
    hard, mild = _configured(
        _target_="metaeval.corruptions.own.function.read_corruptions", file=str(path)
    )
    assert (hard.label, mild.label) == ("hard", "mild")
    versions = [[(c.text, c.applied) for c in each.apply(DATA, 0)] for each in (hard, mild)]
    # an image without a version keeps its caption, and is counted
    assert versions == [[(text, True), (HUMAN[1], False)] for text in ("A mat.", "A dog.")]
    assert mild.facts() == {"images_without_a_caption_in_mild": 1}


def test_images_without_a_caption_in_a_set_are_left_out_of_a_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The set 'mild' of ROWS has no caption of image 4."""
    path = tmp_path / "c.csv"
    pd.DataFrame(ROWS).to_csv(path, index=False)
    node = {"_target_": "metaeval.corruptions.own.function.read_corruptions", "file": str(path)}
    config = OmegaConf.create({"corruption": node})
    data = Graded().corruptible(DATA, config)
    assert (data.image_ids, data.human, data.pool) == ((3,), HUMAN[:1], HUMAN)
    (line,) = caplog.messages
    assert line == (
        "1 of 2 images left out: a set of the corruption has no caption of them (mild: 1)."
    )
    assert data.notes == (*DATA.notes, line)
    assert Graded().corruptible(DATA.subset([0]), config).notes == DATA.notes
    with pytest.raises(ConfigError, match="'mild' has no caption of any image of test"):
        Graded().corruptible(DATA.subset([1]), config)


def test_a_set_called_0_keeps_its_name(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "c.jsonl", [{"image_id": 3, "caption": "A mat.", "set": 0}])
    assert [version.title for version in read_corruptions(path)] == ["0"]


def test_a_file_of_other_images_is_refused(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "c.jsonl", [{"image_id": "a1", "caption": "x"}])
    (only,) = read_corruptions(path)
    with pytest.raises(ConfigError, match="ids are like 'a1', the dataset's like '3'"):
        only.apply(DATA, 0)
    with pytest.raises(ConfigError, match=r"corruption\.file=FILE"):
        read_corruptions()
