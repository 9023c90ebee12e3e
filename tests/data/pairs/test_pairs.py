"""True and false captions: files of the official layouts, written here, and the official ones."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from metaeval.data.content_words import kind_of_edit
from metaeval.data.dataset import Absent
from metaeval.data.pairs.benchmarks import (
    SUGARCREPE,
    load_discourse_foil,
    load_foil,
    load_reformulations,
    load_rococo,
    load_sugarcrepe,
    load_sugarcrepe_pp,
    load_valse,
)
from metaeval.data.pairs.pairs import is_near_copy, load_pairs_table
from tests.data.pairs.pair_files import (
    CAPTIONS,
    SAID,
    coco,
    discourse_foil,
    reformulations,
    rococo,
    sugarcrepe,
    sugarcrepe_pp,
    write,
)
from tests.shared import in_data, write_lines


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return sugarcrepe_pp(sugarcrepe(coco(tmp_path)))


def test_the_true_caption_is_taken_out_of_the_references(data: Path) -> None:
    pairs = load_sugarcrepe(data=data, kinds=["replace_obj"], near_copies="keep")
    assert [(p.true, p.false) for p in pairs.pairs] == [said[1:3] for said in SAID]
    first, second, bear, *_ = pairs.pairs
    assert first.references == CAPTIONS[139][1:]
    assert second.references == (CAPTIONS[139][0], *CAPTIONS[139][2:])
    # "A bear sits in the wood" is one letter from the true caption: counted, and dropped by default
    assert bear.references[-1] == "A bear sits in the wood"
    assert (pairs.facts["near_copies"], pairs.facts["true_among_references"]) == (1, 5)
    notes = " ".join(pairs.dataset.notes)
    assert "In 1 pairs a reference is nearly the true caption" in notes
    left = load_sugarcrepe(data=data, kinds=["replace_obj"])
    assert left.pairs[2].references == CAPTIONS[285][1:4]
    assert left.facts["near_copies"] == left.facts["near_copies_dropped"] == 1
    # by letters and digits
    path = data / "annotations" / "captions_val2017.json"
    path.write_text(path.read_text().replace("A red stop sign.", "a red STOP-sign ."))
    assert len(load_sugarcrepe(data=data, kinds=["replace_obj"]).pairs[4].references) == 4


def test_two_equal_captions_are_no_pair(tmp_path: Path) -> None:
    record = {"image_id": 1, "true": "a dog", "references": ["one dog"]}
    lines = [{**record, "false": text} for text in ("a cat", "a  dog ", "A dog")]
    pairs = load_pairs_table(write_lines(tmp_path / "pairs.jsonl", lines))
    assert [p.false for p in pairs.pairs] == ["a cat", "A dog"]
    assert "1 pairs of two equal captions were left out." in pairs.dataset.notes


def test_items_objects_and_photographs(data: Path) -> None:
    """An image keeps its id with every set of references, and is one document."""
    pairs = load_sugarcrepe(data=data)
    dataset, name = pairs.dataset, "000000000139.jpg"
    assert (dataset.image_ids[:2], dataset.image_source[:2]) == ((name,) * 2, ("coco:139",) * 2)
    assert len(dataset) == 5
    assert dataset.n_images == pairs.facts["documents"] == len({p.image for p in pairs.pairs})
    assert set(dataset.corpus()[0]) == {r for p in pairs.pairs[:2] for r in p.references or ()}
    for pair, item in zip(pairs.pairs, pairs.image_index, strict=True):
        assert (dataset.references[item], dataset.image_ids[item]) == (pair.references, pair.image)
    assert dataset.part("objects")[name].labels == ("dog",)
    assert isinstance(dataset.part("images"), Absent)
    sources = {"captions_val2017.json", "instances_val2017.json", "swap_obj.json"}
    assert sources <= {*dataset.sources}
    assert pairs.kinds == SUGARCREPE
    limited = {p.image for p in load_sugarcrepe(data=data, limit=2).pairs}
    assert limited == {name, "000000000285.jpg"}


def test_paraphrases(data: Path) -> None:
    """A paraphrase that is a human caption goes out of the references, too."""
    path = data / "sugarcrepe_pp" / "swap_obj.json"
    records = json.loads(path.read_text())
    records[0]["caption2"] = "dog on grass"
    write(path, records)
    pairs = load_sugarcrepe_pp(data=data, kinds=["swap_obj"])
    assert (pairs.triplets, load_sugarcrepe(data=data).triplets) == (True, False)
    assert pairs.pairs[0].references == (*CAPTIONS[139][1:3], CAPTIONS[139][4])
    assert pairs.pairs[1].paraphrase == "A dog that is brown runs."


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ("a b c d e", "A, b c d x.", True),
        ("a b c d", "a b c x", False),
        ("a b c d e f g h i j", "b c d e f g h i j k", True),
        ("a b c d e f g h i", "b c d e f g h i j", False),
        ("a b c d e", "e d c b a", False),
    ],
)
def test_near_copies(one: str, other: str, near: bool) -> None:
    """At most one word in five of the longer: 1 of 5, not 1 of 4, not 2 of 9."""
    assert is_near_copy(one, other) == near


def test_valse(data: Path) -> None:
    def record(name: str, votes: int, **more: str) -> dict[str, object]:
        return {
            "image_file": name,
            "caption": "A dog runs on exactly one grass.",
            "foil": "A dog runs on a number of grasses.",
            "mturk": {"caption": votes},
            **more,
        }

    original = {"orig_caption": "A dog runs on the grass"}
    pieces = {
        "plurals": {
            "a": record("000000000139.jpg", 3, **original),
            "b": record("000000000139.jpg", 1, **original),
            "c": record("COCO_val2014_000000000285.jpg", 2),
            "d": record("COCO_val2014_000000000999.jpg", 3),
        },
        "relations": {},
        "foil-it": {},
    }
    for kind, content in pieces.items():
        write(data / "valse" / f"{kind}.json", content)
    pairs = load_valse(data=data)
    assert [p.source for p in pairs.pairs] == ["coco:139", "coco:285"]
    assert pairs.pairs[0].references == CAPTIONS[139][1:]  # what it was made from is out
    notes = " ".join(pairs.dataset.notes)
    assert "1 pairs were left out: fewer than 2 of 3 people chose the caption." in notes
    assert "1 pairs were left out: the captions files do not have their images." in notes
    assert str(pairs.dataset.records) == "4 records read, 2 used, 2 left out"
    assert len(load_valse(data=data, validated=False)) == 3


def foil(folder: Path, **changes: object) -> Path:
    listed = [
        {
            "id": key,
            "image_id": image,
            "caption": caption,
            "foil": word != "ORIG",
            "foil_id": key,
            "target_word": "ORIG" if word == "ORIG" else "dog",
            "foil_word": word,
        }
        for key, image, caption, word in (
            (7, 139, CAPTIONS[139][0], "ORIG"),
            (7, 139, "A cat runs on the grass.", "cat"),
            (7, 139, "A horse runs on the grass.", "horse"),
            (8, 285, "A dog in the woods.", "dog"),
        )
    ]
    listed[1] |= changes
    write(folder / "foil" / "foilv1.0_test_2017.json", {"annotations": listed})
    return folder


def test_foil(data: Path) -> None:
    pairs = load_foil(data=foil(data))
    assert [(p.true, p.false, p.source) for p in pairs.pairs] == [
        (CAPTIONS[139][0], "A cat runs on the grass.", "coco:139"),
        (CAPTIONS[139][0], "A horse runs on the grass.", "coco:139"),
    ]
    assert len(pairs.dataset) == 1
    assert "1 caption called foils were left out" in " ".join(pairs.dataset.notes)
    assert str(pairs.dataset.records) == "3 records read, 2 used, 1 left out"


def test_a_reference_that_differs_from_the_true_caption_in_marks_stays(tmp_path: Path) -> None:
    """ "a boy runs", "a girl runs": their Hindi differs in two vowel signs."""
    boy, girl = "एक लड़का दौड़ता है", "एक लड़की दौड़ती है"
    pair = {"image_id": 1, "true": boy, "false": girl, "references": [f"{girl}।", f"{boy}।", "घास"]}
    path = write_lines(tmp_path / "p.jsonl", [pair])
    dataset = load_pairs_table(path, image_source="other").dataset
    assert dataset.references == ((f"{girl}।", "घास"),)


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_a_users_table(data: Path, ending: str) -> None:
    """Several false captions make several pairs; without references, COCO's captions serve."""
    path = data / f"mine.{ending}"
    if ending == "jsonl":
        records = [
            {"image_id": 139, "true": "A dog.", "false": ["A cat.", "A cow."], "kind": "noun"},
            {"image_id": 285, "true": "A bear.", "false": "A dog.", "references": ["Bears !"]},
        ]
        write_lines(path, records)
    else:
        path.write_text(
            "image_id,true,false,kind,references\n"
            '139,A dog.,"[""A cat."", ""A cow.""]",noun,"[""A dog here.""]"\n'
            '285,A bear.,A dog.,,"[""Bears !""]"\n'
        )
    pairs = load_pairs_table(path, data=data)
    false = ["A cat.", "A cow.", "A dog."]
    assert ([p.false for p in pairs.pairs], pairs.kinds) == (false, ("noun", "all"))
    assert pairs.pairs[0].source == "coco:139"  # all ids are annotated images of COCO
    expected = CAPTIONS[139] if ending == "jsonl" else ("A dog here.",)
    assert [pairs.pairs[k].references for k in (0, 2)] == [expected, ("Bears !",)]
    # images declared as not COCO's get none of its captions
    other = load_pairs_table(path, data=data, image_source="other")
    assert [p.false for p in other.pairs] == (false[2:] if ending == "jsonl" else false)


@pytest.mark.coco
def test_the_official_files(coco_root: Path) -> None:
    """Counted beforehand: every true caption of SugarCrepe is a caption of val2017; 851 and 535
    valid pairs of VALSE's lie there."""
    in_data(coco_root, "sugarcrepe")
    pairs = load_sugarcrepe(data=coco_root)

    def kinds(pairs: Any) -> dict[str, int]:
        return dict(Counter(p.kind for p in pairs.pairs))

    assert len(pairs) == pairs.facts["true_among_references"] == 7511
    assert pairs.facts["images"] == 1560
    assert kinds(pairs) == {
        "replace_obj": 1652,
        "replace_att": 788,
        "replace_rel": 1406,
        "swap_obj": 245,
        "swap_att": 666,
        "add_obj": 2062,
        "add_att": 692,
    }
    val2017 = next(coco_root.rglob("captions_val2017.json"))
    valse = load_valse(data=coco_root, captions=val2017)
    assert kinds(valse) == {"plurals": 851, "relations": 535, "foil-it": 106}


def test_an_altered_caption_is_paired_with_the_one_it_was_made_from(tmp_path: Path) -> None:
    pairs = load_rococo(data=coco(rococo(tmp_path)))
    assert pairs.kinds == ("same_concept", "rand_voca")  # those whose files are there
    made = [(p.true, p.false) for p in pairs.pairs if p.kind == "same_concept" and "139" in p.image]
    assert made == [
        ("a dog runs on the grass", "a cat runs on the grass"),
        ("the brown dog runs", "the brown horse runs"),
        ("a dog in a park", "a dog in a garden"),
        ("dog on grass", "cat on grass"),
        # five words for four: still the same true caption
        ("a running animal outside", "a running animal out there"),
    ]
    references = {p.references for p in pairs.pairs if p.true == "a dog in a park"}
    assert all("A dog in a park." not in r for r in references)


def test_six_true_captions_and_equal_ones(tmp_path: Path) -> None:
    """Eleven captions are six true and five altered ones; an altered one that equals a true one is
    left out and counted."""
    read = load_rococo(data=coco(rococo(tmp_path)), kinds=["rand_voca"])
    of_image = [p.true != p.false for p in read.pairs if "285" in p.image]
    assert of_image == [True] * 4
    assert "1 altered captions equal a true one" in " ".join(read.dataset.notes)


def test_the_corrected_caption_is_the_true_one(tmp_path: Path) -> None:
    data = load_discourse_foil(data=discourse_foil(tmp_path))
    assert [(p.true, p.false) for p in data.pairs] == [said[1:3] for said in SAID]
    assert data.pairs[0].references == ("1. On the grass a dog runs. 2. A dog runs on the grass.",)
    assert data.pairs[0].source == "coco:139"
    assert "2 records were left out" in " ".join(data.dataset.notes)


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("A dog runs", "The dog runs on grass.", "added"),
        ("a dog and a dog", "a dog", "removed"),  # each time that it occurs counts
        ("a dog sits", "a dog is sitting", "replaced"),
        ("On the grass a DOG runs", "A dog runs in the grass.", "wording"),
    ],
)
def test_the_kind_of_an_edit(before: str, after: str, kind: str) -> None:
    assert kind_of_edit(before, after) == kind


def test_reformulations_are_sorted_by_what_the_person_did(tmp_path: Path) -> None:
    data = coco(reformulations(tmp_path))
    kinds = ["replaced", "replaced", "wording", "replaced", "removed"]
    assert [p.kind for p in load_reformulations(data=data, by_edit=True).pairs] == kinds
    assert load_reformulations(data=data).kinds == ("reformulation",)
