"""Judged captions: files of the official layouts, written here, and the protocols' arithmetic."""

import io
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from metaeval.data.dataset import Absent
from metaeval.data.judgments.benchmarks import load_composite, load_crowd, load_expert, load_thumb
from metaeval.data.judgments.pascal50s import load_pascal50s
from metaeval.data.judgments.table import load_table
from metaeval.errors import InputError
from metaeval.readers import matlab
from metaeval.runs.store import MemoryStore, remembering
from tests.data.table_files import write
from tests.shared import write_json, write_lines

TOKENS = "\n".join(
    f"{image}.jpg#{k}\t{text} {k} ."
    for image, text in (("a", "A dog runs"), ("b", "A cat  sleeps"), ("c", "Two men talk"))
    for k in range(5)
)


def flickr8k_files(folder: Path) -> Path:
    (folder / "Flickr8k.token.txt").write_text(TOKENS + "\n", encoding="utf-8")
    (folder / "ExpertAnnotations.txt").write_text(
        "a.jpg\tb.jpg#2\t1\t1\t2\na.jpg\ta.jpg#1\t4\t4\t3\nb.jpg\ta.jpg#0\t1\t2\t2\n"
    )
    (folder / "CrowdFlowerAnnotations.txt").write_text(
        "a.jpg\ta.jpg#2\t1\t3\t0\na.jpg\tb.jpg#2\t0.333333333333333\t1\t2\nb.jpg\ta.jpg#0\t0\t0\t4\n"
    )
    return folder


@pytest.fixture
def flickr8k(tmp_path: Path) -> Path:
    return flickr8k_files(tmp_path)


def test_expert_under_the_protocol_of_clipscore(flickr8k: Path) -> None:
    judgments = load_expert(root=flickr8k)
    data, (first, second) = judgments.dataset, judgments.judged
    of_a = tuple(f"A dog runs {k} ." for k in range(5))
    read = (first.candidate, second.candidate, first.references, data.references[1])
    assert read == ("A cat sleeps 2 .", "A dog runs 0 .", of_a, second.references)
    rows = [column.tolist() for column in judgments.rows("rating")]
    assert rows == [[0, 0, 0, 1, 1, 1], [1, 1, 2, 1, 2, 2]]
    # every rating is a document of CIDEr's, and both images keep their ids
    assert (data.image_ids, judgments.image_index.tolist()) == (("a.jpg", "b.jpg"), [0, 1])
    assert data.corpus() == [first.references] * 3 + [second.references] * 3
    assert (judgments.facts["own_captions"], judgments.facts["judged"]) == (1, 2)
    assert (data.notes[0][:14], type(data.part("images"))) == ("White space in", Absent)


def test_single_choices_replace_those_of_a_protocol(flickr8k: Path) -> None:
    averaged = load_expert(root=flickr8k, protocol="averaged")
    assert averaged.rows("rating")[1].tolist() == pytest.approx([4 / 3, 5 / 3])
    kept = load_expert(root=flickr8k, own_captions="keep", documents="image")
    name = "clipscore2021 with own_captions=keep, documents=image"
    assert (len(averaged.dataset.corpus()), kept.protocol.name) == (2, name)
    assert (kept.dataset.image_ids, kept.image_index.tolist()) == (("a.jpg", "b.jpg"), [0, 0, 1])
    assert kept.judged[1].candidate in kept.judged[1].references


def test_references_are_drawn_per_image_and_fewer_are_the_first_of_more(flickr8k: Path) -> None:
    everything = load_expert(root=flickr8k, own_captions="keep")
    drawn = {
        (n, draw): load_expert(root=flickr8k, own_captions="keep", n_references=n, draw=draw)
        for n in (1, 3)
        for draw in range(8)
    }
    for (n, draw), data in drawn.items():
        whole = [set(full.references) for full in everything.judged]
        sizes = [len(set(j.references) & s) for j, s in zip(data.judged, whole, strict=True)]
        assert (sizes, [len(j.references) for j in data.judged]) == ([n] * 3, [n] * 3)
        assert len({j.references for j in data.judged if j.image == "b.jpg"}) == 1
        assert data.judged[0].references[:1] == drawn[1, draw].judged[0].references
    assert len({drawn[1, draw].judged[0].references for draw in range(8)}) > 1
    assert drawn[1, 2].protocol.name == (
        "clipscore2021 with own_captions=keep, n_references=1, draw=2"
    )


def test_crowd_takes_own_captions_out_of_the_references_of_their_image(flickr8k: Path) -> None:
    judgments = load_crowd(root=flickr8k)
    assert [j.human["yes"] for j in judgments.judged] == [(1.0,), (0.333333333333333,), (0.0,)]
    # of image a, caption 2 was judged: it is not a reference of any caption judged with a
    own = [f"A dog runs {k} ." for k in (0, 1, 3, 4)]
    assert [list(j.references) for j in judgments.judged[:2]] == [own, own]
    assert (len(judgments.judged[2].references), len(judgments.dataset.corpus())) == (5, 3)
    assert judgments.protocol.statistic == "kendall_tau_b"


def test_images_limit_and_documents_by_image(flickr8k: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "pictures/a.jpg", b"")
    judgments = load_crowd(root=flickr8k, images=file.parent, limit=1)
    assert {j.image for j in judgments.judged} == {"a.jpg"}
    assert set(map(judgments.dataset.part("images").path, judgments.dataset.image_ids)) == {file}


def test_missing_files_say_where_to_get_them(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("METAEVAL_DATA", raising=False)
    with pytest.raises(
        InputError,
        match=r"^Flickr8k.token.txt, ExpertAnnotations.txt: not there; looked in METAEVAL_DATA "
        r"\(which is not set\)\. Get them from Flickr8k",
    ):
        load_expert()


def composite(folder: Path) -> None:
    """The three exports with the columns of the official ones among others, `;` between them."""
    head = "HITId;HITTypeId;Input.image_url"
    for subset, url, n in (
        ("8k", "http://x.org/8k/a.jpg", 3),
        ("30k", "http://x.org/30k/77.jpg", 4),
        ("coco", "http://x.org/coco/COCO_val2014_000000000042.jpg", 4),
    ):
        texts = ";".join(f"Input.text{k}" for k in range(1, n + 1))
        answers = ";".join(f"Answer.Q{k}Answer" for k in range(1, n + 1))
        first = {"8k": "a dog  runs 0.", "30k": "a boat.", "coco": "a DOG runs 0"}[subset]
        captions = [first] + [f"machine {k}" for k in range(2, n + 1)]
        for word, add in (("correctness", 0), ("throughness", 1)):
            ratings = ";".join(str(1 + (k + add) % 5) for k in range(n))
            lines = [
                f"{head};{texts};{answers}",
                f"1;2;{url};{';'.join(captions)};{ratings}",
                ";" * (2 + 2 * n),  # the exports end with records that hold nothing
            ]
            (folder / f"{subset}_{word}.csv").write_text("\n".join(lines) + "\n")
    (folder / "Flickr8k.token.txt").write_text(TOKENS + "\n")
    (folder / "results_20130124.token").write_text("77.jpg#0\tA boat .\n77.jpg#1\tA ship .\n")
    coco = {
        "images": [{"id": 42, "file_name": "COCO_val2014_000000000042.jpg"}],
        "annotations": [{"image_id": 42, "id": 1, "caption": "A dog runs 0 ."}],
    }
    write_json(folder / "captions_val2014.json", coco)


def test_composite(tmp_path: Path) -> None:
    composite(tmp_path)
    judgments = load_composite(root=tmp_path)
    # its own caption is out, though it is spelled and spaced otherwise
    references = tuple(f"A dog runs {k} ." for k in range(1, 5))
    assert [(j.candidate, j.references, j.system, j.human) for j in judgments.judged[:3]] == [
        ("a dog runs 0.", references, "Human", {"correctness": (1.0,)}),
        ("machine 2", references, "Karpathy", {"correctness": (2.0,)}),
        ("machine 3", references, "SDG", {"correctness": (3.0,)}),
    ]
    # COCO's only caption was its own
    facts = (len(judgments), judgments.facts["own_captions"], judgments.facts["without_references"])
    assert facts == (9, 3, 3)
    assert [(j.subset, j.image.split("/")[0], j.source) for j in judgments.judged[::3]] == [
        ("8k", "8k", "flickr8k:a"),
        ("30k", "30k", "flickr30k:77"),
        ("coco", "coco", "coco:42"),
    ]
    assert "3 records without an image were left out." in judgments.dataset.notes
    both = load_composite(
        root=tmp_path, subsets=["30k"], dimensions=["correctness", "thoroughness"], candidates=4
    )
    last = both.judged[3]
    assert (len(both), last.references, last.system) == (4, ("A ship .",), "caption 4")
    assert last.human == {"correctness": (4.0,), "thoroughness": (5.0,)}
    assert len(load_composite(root=tmp_path, systems=["SDG", "Karpathy"])) == 6


def thumb(folder: Path) -> None:
    rows = [
        {
            "SYS": system,
            "seg_id": seg,
            "set_id": 5,
            "hyp": f"A {system} caption.",
            "image": f"COCO_val2014_{int(seg):012d}.jpg",
            "P": p,
            "R": 3.0,
            "Fl": -0.0,
            "Inc": -0.0,
            "Con": -0.1,
            "human_score": (p + 3) / 2 - 0.1,
        }
        for seg in ("974", "2453")
        for system, p in (("Up-Down", 4.0), ("Human", 5.0), ("VinVL-base", 4.5))
    ]
    write_lines(folder / "mscoco_THumB-1.0.jsonl", rows)
    references = [
        {"seg_id": s, "set_id": 5, "refs": ["A dog.", "Some dog."]} for s in ("974", "2453")
    ]
    write_lines(folder / "mscoco_references.json", references)


def test_thumb(tmp_path: Path) -> None:
    thumb(tmp_path)
    judgments = load_thumb(root=tmp_path)
    assert judgments.dimensions == ("total", "precision", "recall")
    assert judgments.means("total").tolist() == pytest.approx([3.4, 3.9, 3.65] * 2)
    assert judgments.protocol.statistic == "pearson"
    index = judgments.image_index.tolist()
    assert (judgments.dataset.image_ids, index) == (("2453", "974"), [1, 1, 1, 0, 0, 0])
    systems = ["Up-Down", "Human", "VinVL-base"]
    assert [(j.system, j.source) for j in judgments.judged] == [
        (system, source) for source in ("coco:974", "coco:2453") for system in systems
    ]
    assert len(load_thumb(root=tmp_path, systems=["Up-Down"])) == 2
    five = load_thumb(root=tmp_path, human_reference=True)
    # the person's own is not one of its references
    assert [j.references[2:] for j in five.judged[:2]] == [("A Human caption.",), ()]
    assert {j.references[:2] for j in five.judged} == {("A dog.", "Some dog.")}


def test_a_table_with_several_columns_and_raters(tmp_path: Path) -> None:
    record = {"image_id": 7, "candidate": "a dog", "good": [3, 4], "fluent": 5}
    path = write_lines(tmp_path / "judged.jsonl", [record])
    judgments = load_table(file=path, human=["good", "fluent"], ratings="each")
    assert (judgments.rows("good")[1].tolist(), judgments.means("fluent").tolist()) == ([3, 4], [5])
    assert judgments.facts["without_references"] == 1


def test_an_empty_list_of_ratings_is_not_a_judgement(tmp_path: Path) -> None:
    text = "image_id,candidate,human\n1,a dog,[]\n2,a cat,3\n"
    judgments = load_table(write(tmp_path / "t.csv", text))
    assert [j.candidate for j in judgments.judged] == ["a cat"]
    assert "1 of 2 records without a judgement left out." in judgments.dataset.notes


def pascal50s(folder: Path) -> None:
    """Two pairs, of which the second swaps B and C in places; the same bytes each time."""
    for name, content in pascal50s_files().items():
        (folder / name).write_bytes(content)


@cache
def pascal50s_files() -> dict[str, bytes]:
    pairs = [("2008_000.jpg", "a dog runs ", "a cat"), ("2008_001.jpg", "two men", "one man")]
    # 36 of 48 people prefer B of the first pair; of the second one exactly half
    triplets = []
    for k, (_, b, c) in enumerate(pairs):
        for j in range(48):
            left, right = (c, b) if k == 1 and j % 2 else (b, c)
            prefers_b = j < 36 if k == 0 else j < 24
            winner = 1 if prefers_b == (left == b) else -1
            triplets.append((f"reference {k} {j}", left, right, winner))
    votes = [(np.array([[-1] * 7 + [1] * 4]),), (np.array([[1] * 10]),)]
    new_input, result, consensus = (
        np.array([rows], dtype=[(name, object) for name in names.split()])
        for rows, names in (
            (pairs, "name sent1 sent2"),
            (votes, "result"),
            (triplets, "A B C winner"),
        )
    )
    files = {
        "pair_pascal.mat": {"new_input": new_input, "category": [[1, 4]], "result": result},
        "consensus_pascal.mat": {"triplets": consensus},
    }
    made = {name: io.BytesIO() for name in files}
    for name, variables in files.items():
        savemat(made[name], variables)
    return {name: file.getvalue() for name, file in made.items()}


def test_pascal50s(tmp_path: Path) -> None:
    pascal50s(tmp_path)
    pairs = load_pascal50s(root=tmp_path, n_references=[1, 48])
    texts = (pairs.image, pairs.first, pairs.second, pairs.category)
    assert list(zip(*texts, strict=True)) == [
        ("2008_000.jpg", "a dog runs", "a cat", "HC"),
        ("2008_001.jpg", "two men", "one man", "MM"),
    ]
    read = pairs.votes.tolist(), pairs.references[1], str(pairs.records)
    of_second = tuple(f"reference 1 {j}" for j in range(48))
    assert read == ([[36, 12], [24, 24]], of_second, "2 records read, 2 used, 0 left out")
    direct = load_pascal50s(root=tmp_path, labels="direct", ties="wrong", limit=1)
    assert pairs.other_votes.tolist() == direct.votes.tolist() == [[4, 7], [10, 0]]
    few, many = pairs.documents(3, 0, 0).references, pairs.documents(48, 0, 0).references
    assert (few[0], set(many[0])) == (many[0][:3], set(pairs.references[0]))
    assert few != pairs.documents(3, 1, 0).references


def test_what_scipy_reads_of_pascal50s_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    references = []
    with remembering(MemoryStore()):
        for folder in (tmp_path / "a", tmp_path / "b"):
            folder.mkdir()
            pascal50s(folder)
            references.append(load_pascal50s(root=folder).references)
            monkeypatch.setattr(matlab, "_READER", tmp_path / "none.py")
    assert references[0] == references[1]
    (tmp_path / "c").mkdir()
    pascal50s(tmp_path / "c")
    with pytest.raises(InputError, match="SciPy's reader crashed"):
        load_pascal50s(root=tmp_path / "c")
