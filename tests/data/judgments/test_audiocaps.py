"""AudioCaps-Eval: the protocol by hand on a small file, and published values on the real one."""

from pathlib import Path

import pytest

from metaeval.data.judgments.audiocaps import load_clip_pairs
from tests.fuzz.base import one_file
from tests.shared import run_here, write_json

REFERENCES = ["a dog barks", "a dog is barking loudly", "barking", "a hound barks", "dog barks"]
RECORDS = [
    {
        "audio_id": "x1",
        "references": REFERENCES,
        "HC": ["a dog barks", "barking", "g1", "g2", [1, 1, -1, 1]],
        "HI": ["a dog barks", "a cat", "g1", "g9", [1, 1, 1, 1]],
        "HM": ["barking", "a dog", "g2", "m1", [1, -1, 1, -1]],
        "MM_1": ["a dog", "a cat barks", "m1", "m2", 0, [0, -1, -1, 1]],
        "MM_2": None,
    },
    {
        "audio_id": "x2",
        "references": ["rain", "rain", "heavy rain"],
        "HC": ["rain", "heavy rain", "g1", "g2", [-1, 0, 0, 0]],
    },
]


FUZZED = [one_file("AudioCaps-Eval", "pairs.json", RECORDS, load_clip_pairs)]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write_json(tmp_path / "pairs.json", RECORDS)


def test_references_of_each_category(small: Path) -> None:
    pairs = load_clip_pairs(small)
    assert pairs.category == ("HC", "HI", "MM", "HC")  # HM: two votes against two
    assert pairs.votes.tolist() == [[3, 1], [4, 0], [1, 2], [0, 1]]
    hc, hi, mm, repeated = pairs.sets
    a, b, c, d, e = REFERENCES
    # each leaves what it is compared with
    assert hc == (((b, c, d, e), (a, b, d, e)),)
    assert hi == (((b, c, d, e), (b, c, d, e)),)
    assert (len(mm), mm[1]) == (5, ((a, c, d, e), (a, c, d, e)))
    # one reference repeated four times, and two of the same words repeated from the start
    assert repeated == ((("heavy rain",) * 4, ("rain",) * 4),)
    assert (pairs.records.read, pairs.records.used) == (5, 4)


def test_tables_hold_every_caption_with_every_reference_set(small: Path) -> None:
    pairs = load_clip_pairs(small)
    tables = pairs.tables()
    # people and machines, first and second captions
    assert [len(t.captions) for t in tables] == [3, 3, 5, 5]
    # the pair that people are divided on is a document, and is not scored
    assert [len(t.documents.corpus()) for t in tables] == [4, 4, 5, 5]
    for table in tables:
        for place, caption, pair, side in zip(*table[1:], strict=True):
            assert caption == (pairs.first, pairs.second)[side][pair]
            assert table.documents.image_ids[place] == pairs.image[pair]
            assert table.documents.references[place] in [s[side] for s in pairs.sets[pair]]


def test_the_page_speaks_of_clips(small: Path, tmp_path: Path) -> None:
    run_here(
        tmp_path,
        "experiment=forced_choice",
        "dataset=audiocaps_eval",
        f"dataset.file={small}",
        "metrics=[rouge_l,random_score]",
        "stats.replicates=20",
    )
    page = (tmp_path / "OUT" / "report.html").read_text(encoding="utf-8")
    assert ("<dt>Clips</dt>" in page, "<dt>Images</dt>" in page) == (True, False)
