"""Side-by-side judgements of ImageInWords: files of the official layout, and the official ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metaeval.data.dataset import Absent
from metaeval.data.pairs.iiw import ASPECTS, load_iiw
from metaeval.metrics.controls import BigramModel, LongestCopy
from metaeval.metrics.ngram.bleu import Bleu
from tests.data.table_files import write
from tests.fuzz.base import Loader
from tests.shared import in_data, write_lines

ORDER = ("comprehensiveness", "specificity", "hallucination", "first_lines", "human_like")
# what each point means: 1 is the first description, and a substantial preference weighs 2
POINTS = {
    "{0} is substantially better": (1.0, 2),
    "{0} is marginally better": (1.0, 1),
    "Neutral": (0.5, 1),
    "{1} is marginally better": (0.0, 1),
    "{1} is substantially better": (0.0, 2),
}


def judged(first: str, second: str) -> dict[str, str]:
    """Each aspect has another of the five points."""
    points = (point.format(first, second) for point in POINTS)
    return dict(zip(map(ASPECTS.__getitem__, ORDER), points, strict=True))


DOCCI = [
    {"image": "test_2", "DOCCI": "A dog runs.", "IIW": "A  dog runs on grass."}
    | judged("DOCCI", "IIW")
]
IIW400 = [
    {
        "image/key": "aar_1",
        "IIW": "A red cat sits.",
        "IIW-P5B": "A cat.",
        "iiw-human-sxs-iiw-p5b": judged("IIW-Human", "IIW-P5B"),
        "iiw-human-sxs-gpt4v": judged("IIW-Human", "GPT-4V"),
        "objects": [{"description": "a red cat", "label": "cat", "normalized_coords": ["1", "0"]}],
    },
    {"image/key": "aar_3", "IIW": "Nobody compared this one.", "objects": []},
]


def make(folder: Path) -> Path:
    write(folder / "iiw/docci_test.jsonl", DOCCI)
    write(folder / "iiw/iiw400.jsonl", IIW400)
    return folder


def read(folder: Path, **options: Any) -> Any:
    return load_iiw(root=folder / "iiw", data=folder, **options)


FUZZED = [Loader("ImageInWords", make, read)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make(tmp_path)


@pytest.mark.parametrize("strength", ["equal", "weighted"])
def test_a_judgement_of_an_aspect_is_a_battle(folder: Path, strength: str) -> None:
    battles = read(folder, strength=strength)
    times = [weight if strength == "weighted" else 1 for _, weight in POINTS.values()] * 2
    pairs = [
        ("test_2", "A dog runs.", "A dog runs on grass.", ("DOCCI", "IIW")),
        ("aar_1", "A red cat sits.", "A cat.", ("IIW", "IIW-P5B")),
    ]
    rows = [
        (*pair, aspect, winner)
        for pair in pairs
        for aspect, (winner, _) in zip(ORDER, POINTS.values(), strict=True)
    ]
    columns = (battles.image, battles.first, battles.second, battles.systems, battles.category)
    assert list(zip(*columns, battles.winner.tolist(), strict=True)) == [
        row for row, n in zip(rows, times, strict=True) for _ in range(n)
    ]
    assert str(battles.records) == "15 records read, 10 used, 5 left out"
    assert "5 judgements were left out" in " ".join(battles.notes)
    assert battles.references == ((),) * len(battles)


def test_parts_of_the_files_and_aspects_are_chosen(folder: Path) -> None:
    battles = read(folder, subsets=["docci_test"], aspects=["human_like", "specificity"])
    assert (battles.category, set(battles.image)) == (("specificity", "human_like"), {"test_2"})
    assert list(battles.sources) == ["docci_test.jsonl"]


def test_what_needs_references_is_absent_without_them(folder: Path) -> None:
    """With a file of references it runs; what an annotator wrote is never a reference."""
    metrics = (Bleu("whitespace"), LongestCopy("whitespace"), BigramModel(tokenizer="whitespace"))
    reasons = [str(metric.bind(read(folder).documents())) for metric in metrics]
    assert reasons[:2] == ["none of the images has a reference"] * 2
    assert "0 of the 2 images have any" in reasons[2]
    texts = [("test_2", "Dogs run."), ("test_2", "A dog runs."), ("aar_1", "The cat.")]
    given = [{"image_id": image, "caption": text} for image, text in texts]
    file = write_lines(folder / "references.jsonl", given)
    battles = read(folder, references=file)
    assert set(battles.references) == {("Dogs run.",), ("The cat.",)}  # the own caption is out
    assert not any(isinstance(m.bind(battles.documents()), Absent) for m in metrics)


@pytest.mark.coco
def test_the_longer_text_wins_on_the_official_files(coco_root: Path) -> None:
    """Counted beforehand: 47 of DOCCI's 62 decided votes on comprehensiveness, equal lengths half;
    and 1,500 judgements, of which 500 have no text."""
    in_data(coco_root, "iiw")
    battles = load_iiw(data=coco_root, subsets=["docci_test"], aspects=["comprehensiveness"])
    decided = battles.winner != 0.5
    words = [np.array([len(t.split()) for t in side]) for side in (battles.first, battles.second)]
    longer = (np.sign(words[0] - words[1]) + 1) / 2
    right = np.where(battles.winner == 1, longer, 1 - longer)[decided]
    assert (right.sum(), right.size, round(100 * right.mean(), 1)) == (47, 62, 75.8)
    every = load_iiw(data=coco_root)
    assert str(every.records) == "1,500 records read, 1,000 used, 500 left out"
