"""Scores computed elsewhere: joined by image and caption, in every file format."""

import json
import math
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from metaeval.data.dataset import CaptionDataset
from metaeval.data.judgments.benchmarks import load_composite, load_expert, load_thumb
from metaeval.data.judgments.pascal50s import load_pascal50s
from metaeval.data.own.score_files import read_scores
from metaeval.errors import ConfigError, InputError
from metaeval.metrics.adapters.own import ScoresFileMetric
from metaeval.runs.store import MemoryStore
from metaeval.scoring import complete, look_up
from tests.data.table_files import write as written
from tests.metrics.adapters.adapter_cases import REFERENCES, scored, scores_of, small

RECORDS = [
    {"image_id": 0, "caption": "a man", "Mine": 0.25, "Other": 3},
    {"image_id": 1, "caption": "two  dogs", "Mine": 0.5, "Other": None},
    {"image_id": 2, "caption": "two dogs", "Mine": 0.75, "Other": 1},
]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".json", ".parquet"])
def test_every_form_gives_the_same_scores_joined_by_image_and_caption(
    suffix: str, tmp_path: Path
) -> None:
    metric = ScoresFileMetric(written(tmp_path / f"s{suffix}", RECORDS), columns=["Mine", "Other"])
    assert [column.name for column in metric.columns] == ["Mine", "Other"]
    captions = ["two dogs", "two dogs", "a man", "a man"]
    done = scored(metric, small(), captions, [2, 1, 0, 1])
    nan = np.nan
    np.testing.assert_array_equal(done.scores, [[0.75, 1], [0.5, nan], [0.25, 3], [nan, nan]])
    counts = [(count.what, count.n, count.of) for count in done.counts]
    assert counts == [
        ("captions without a score in the file", 1, 4),
        ("captions whose image has another id in the file", 0, 4),
        ("captions with the mean of several scores in the file", 0, 4),
    ]


def test_columns_and_label(tmp_path: Path) -> None:
    path = written(tmp_path / "s.csv", RECORDS)
    metric = ScoresFileMetric(path, columns=["Other"], label="published")
    assert [column.name for column in metric.columns] == ["Other (published)"]
    assert scores_of(metric, small(), ["a man"], [0]).tolist() == [[3]]
    assert pickle.loads(pickle.dumps(metric)).columns == metric.columns
    with pytest.raises(ConfigError, match=r"'Others' is not in .*s\.csv; it has: .*Mine, Other"):
        _ = ScoresFileMetric(path, columns=["Others"]).columns
    with pytest.raises(ConfigError, match=r"give the file of scores: metric\.scores\.file=FILE"):
        ScoresFileMetric()


def test_scores_for_just_these_references(tmp_path: Path) -> None:
    records = [
        {"image_id": 0, "caption": "a man", "references": list(REFERENCES[0]), "S": 1.0},
        {"image_id": 0, "caption": "a man", "references": ["another"], "S": 2.0},
    ]
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    metric = ScoresFileMetric(path, columns=["S"])
    assert scores_of(metric, small(), ["a man"], [0]).tolist() == [[1]]
    assert scores_of(metric, small((("another",),)), ["a man"], [0]).tolist() == [[2]]
    other = scored(metric, small((("a third",),)), ["a man"], [0])
    assert (other.status, other.reason) == (
        "failed",
        "s.jsonl: no record is of 1 caption (1 by references), for example references "
        "['a third'] in the dataset, ['another'] in the file",
    )


def test_an_image_is_found_by_a_unique_last_part_and_counted(tmp_path: Path) -> None:
    """`a.jpg` is `8k/a.jpg`; `b.jpg` may be either of two images, and an equal id comes first."""
    ids, words = ("30k/b.jpg", "8k/a.jpg", "8k/b.jpg", "c.jpg"), ("a man",) * 4
    data = CaptionDataset("d", ids, words, (("x",),) * 4, ids, words)
    rows = [
        {"image_id": i, "caption": "a man", "S": s}
        for i, s in (("a.jpg", 1), ("b.jpg", 2), ("c.jpg", 3), ("other/c.jpg", 4))
    ]
    metric = ScoresFileMetric(written(tmp_path / "s.csv", rows), columns=["S"])
    done = scored(metric, data, list(words), [0, 1, 2, 3])
    np.testing.assert_array_equal(done.scores, [[np.nan], [1], [np.nan], [3]])
    assert [(count.n, count.of) for count in done.counts] == [(2, 4), (1, 4), (0, 4)]


@pytest.mark.parametrize(
    ("captions", "problem"),
    [
        (
            ["a man", "a bus"],
            "no record is of 2 captions (1 by image_id, 1 by caption), for example"
            " image_id 'd.jpg' in the dataset, 'c.jpg' in the file",
        ),
        (["a man", None], "no record is of 1 caption (1 by image_id), for example image_id"),
        (
            [None, "a bus"],
            "no record is of 1 caption (1 by caption), for example caption 'a bus' "
            "in the dataset, 'a man' in the file",
        ),
    ],
)
def test_what_does_not_match_is_shown_with_both_sides(
    captions: list[str | None], problem: str, tmp_path: Path
) -> None:
    path = written(tmp_path / "s.csv", [{"image_id": "c.jpg", "caption": "a man", "S": 3}])
    ids, words = ("d.jpg", "x/c.jpg"), ("a man", "a bus")
    data = CaptionDataset("d", ids, words, (("x",),) * 2, ids, words)
    texts, index = zip(*((c, k) for k, c in enumerate(captions) if c), strict=True)
    metric = ScoresFileMetric(path, columns=["S"])
    done = scored(metric, data, list(texts), list(index))
    assert (done.status, f"s.csv: {problem}" in str(done.reason)) == ("failed", True)
    assert done.remedy == "write image_id and caption as the run with metrics=[] exports them"
    both = scored(metric, data, [*texts, "a man"], [*index, 1])
    assert (both.status, problem in both.unscored[0]) == ("ok", True)  # one of them has a score


def test_two_systems_that_wrote_one_caption(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each has its own score; the mean where no system is known, or another one."""
    rows = [
        {"image_id": 0, "caption": "a man", "system": s, "S": v} for s, v in (("A", 1), ("B", 2))
    ]
    rows.append({"image_id": 1, "caption": "two dogs", "system": "A", "S": 4})
    metric = ScoresFileMetric(written(tmp_path / "s.csv", rows), columns=["S"])
    captions, index, store = ["a man"] * 3 + ["two dogs"], np.array([0, 0, 0, 1]), MemoryStore()
    known = look_up(metric, small(), captions, index, store, systems=["A", "B", "C", "A"])
    done = complete(known, index, store)
    assert done.scores[:, 0].tolist() == [1, 2, 1.5, 4]
    assert (done.counts[2].n, done.counts[2].of) == (1, 4)
    assert "s.csv: different scores of 1 caption; that of the caption's system" in caplog.text
    alone = scored(metric, small(), ["a man", "two dogs"], [0, 1])
    assert (alone.scores.tolist(), alone.counts[2].n) == ([[1.5], [4]], 1)
    unnamed = pd.DataFrame(rows).drop(columns="system").to_dict("records")
    metric = ScoresFileMetric(written(tmp_path / "s.csv", unnamed), columns=["S"])
    assert scores_of(metric, small(), ["a man"], [0]).tolist() == [[1.5]]


def test_a_column_that_the_first_record_does_not_have_is_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(
        '{"image_id": 0, "caption": "a man", "CIDEr": 0.5}\n'
        '{"image_id": 1, "caption": "a dog", "CIDEr": 0.6, "CLIPScore (ViT-B/32)": 0.7}\n'
    )
    metric = ScoresFileMetric(path)
    assert [c.name for c in metric.columns] == ["CIDEr", "CLIPScore (ViT-B/32)"]
    np.testing.assert_array_equal(
        scores_of(metric, small(), ["a man", "a dog"], [0, 1]), [[0.5, np.nan], [0.6, 0.7]]
    )


def test_numbers_that_are_not_known_metrics_must_be_named(tmp_path: Path) -> None:
    record = {"image_id": 0, "caption": "a", "row": 7, "tokens": 30, "cost": 0.1, "CIDEr": 0.5}
    known = ScoresFileMetric(written(tmp_path / "known.csv", [record]))
    path = written(tmp_path / "s.csv", [{**record, "Mine": 0.2}])
    assert [
        c.name for c in (*known.columns, *ScoresFileMetric(path, columns=["Mine"]).columns)
    ] == [
        "CIDEr",
        "Mine",
    ]
    with pytest.raises(InputError, match=r"'Mine'; .*'metric\.scores\.columns=\[CIDEr,Mine\]'"):
        _ = ScoresFileMetric(path).columns


def test_a_folder_declares_its_scores_in_its_manifest(tmp_path: Path) -> None:
    written(tmp_path / "part-00000.parquet", [{**RECORDS[0], "row": 0}])
    manifest = {"parts": [{"part": "part-00000.parquet", "columns": {"Mine": {}, "Other": {}}}]}
    (tmp_path / "_manifest.json").write_text(json.dumps(manifest))
    assert [c.name for c in ScoresFileMetric(tmp_path).columns] == ["Mine", "Other"]
    assert len(pd.read_parquet(tmp_path)) == 1


def test_two_captions_of_one_system_are_refused(tmp_path: Path) -> None:
    scores = written(tmp_path / "s.csv", [{"image_id": 0, "system": "A", "S": 1}])
    rows = [{"image_id": 0, "system": "A", "caption": c} for c in ("a dog", "a cat")]
    captions = written(tmp_path / "c.csv", rows)
    with pytest.raises(InputError, match=r"c\.csv, line 3.*'A' has another caption of the image"):
        _ = ScoresFileMetric(scores, columns=["S"], captions=captions).columns


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("none.csv", r"file not found; correct metric\.scores\.file"),
        ("s.doc", r"is none of \.csv"),
    ],
)
def test_a_file_that_is_not_there(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "s.doc").write_text("")
    with pytest.raises(InputError, match=problem):
        _ = ScoresFileMetric(tmp_path / name).columns


@pytest.mark.coco
def test_the_scores_that_thumb_published_load_as_they_are(coco_root: Path) -> None:
    folder = coco_root / "thumb"
    if not (folder / "metric_scores").is_dir():
        pytest.skip("THumB's metric_scores are not in the data folder")
    metric = ScoresFileMetric(
        folder / "metric_scores",
        columns=["CIDEr", "CLIPS"],
        fields={"image_id": "seg_id", "system": "SYS", "caption": "hyp"},
        captions=folder / "mscoco_THumB-1.0.jsonl",
        label="published",
    )
    judged = load_thumb(data=coco_root, dimensions=["total"])
    keys = [judged.judged[k] for k in range(len(judged))]
    done = scored(metric, judged.dataset, [j.candidate for j in keys], list(judged.image_index))
    machine = np.array([j.system != "Human" for j in keys])
    assert not np.isnan(done.scores[machine]).any()  # every caption of the four captioners
    first = next(k for k, j in enumerate(keys) if (j.image, j.system) == ("974", "Unified-VLP"))
    # the first lines of Unified-VLP__CIDEr.csv and Unified-VLP__CLIPS.csv
    np.testing.assert_allclose(done.scores[first], [143.14519495323876, 0.754])
    # and all of them, joined by system and image without metaeval's code
    tables = [
        pd.read_csv(f, dtype={"seg_id": str}) for f in (folder / "metric_scores").glob("*CIDEr.csv")
    ]
    published = pd.concat(tables).set_index(["SYS", "seg_id"])["score"]
    expected = [published[str(j.system), j.image] for j, m in zip(keys, machine, strict=True) if m]
    np.testing.assert_array_equal(done.scores[machine, 0], expected)


@pytest.mark.coco
@pytest.mark.parametrize(
    ("name", "load", "captions", "expected"),
    [
        ("flickr8k_expert", load_expert, 5_664, (53.03, 34.9)),
        pytest.param("composite", load_composite, 11_985, (63.45, None), marks=pytest.mark.slow),
    ],
)
def test_the_scores_that_fleur_published_join_whole(
    name, load, captions, expected, coco_root: Path
) -> None:
    """Lee et al. (2024), as published: τ-c 53.0 and 63.5; with scipy's τ-c, to half of a digit."""
    path = coco_root / "scores" / f"fleur_{name}.csv"
    if not path.is_file():
        pytest.skip(f"METAEVAL_DATA has no scores/{path.name}")
    data = load(data=coco_root)
    texts = [j.candidate for j in data.judged]
    done = scored(ScoresFileMetric(path), data.dataset, texts, list(data.image_index))
    assert (len(texts), done.counts[0].n) == (captions, 0)
    assert done.counts[1].n == (captions if name == "composite" else 0)  # X.jpg for 8k/X.jpg
    rows, ratings = data.rows(data.dimensions[0])
    for scores, value in zip(done.scores.T, expected, strict=True):
        tau = kendalltau(scores[rows], ratings, variant="c").statistic
        assert value is None or 100 * tau == pytest.approx(value, abs=0.05)


@pytest.mark.slow
@pytest.mark.coco
def test_fleurs_scores_of_pascal50s_join_whole(coco_root: Path) -> None:
    """8,000 captions, for any references that are drawn; HC and HI as the authors count them."""
    path = coco_root / "scores" / "fleur_pascal50s.csv"
    if not path.is_file():
        pytest.skip("METAEVAL_DATA has no scores/fleur_pascal50s.csv")
    pairs = load_pascal50s(data=coco_root)
    (table,) = pairs.tables(n_references=5)
    metric = ScoresFileMetric(path, columns=["FLEUR"])
    done = scored(metric, table.documents, table.captions, list(table.items))
    assert (len(table.captions), done.counts[0].n) == (8_000, 0)
    first, second = done.scores[:, 0].reshape(2, -1)
    right = np.sign(first - second) == np.sign(pairs.votes[:, 0] - pairs.votes[:, 1])
    of_category = {c: int(right[np.array(pairs.category) == c].sum()) for c in ("HC", "HI")}
    assert of_category == {"HC": 613, "HI": 997}


def test_answers_are_read_on_their_scale(tmp_path: Path) -> None:
    """As a judge reads them: another denominator is not a score, a caption's number neither."""
    path = tmp_path / "answers.csv"
    path.write_text(
        "image_id,caption,answer\n1,a dog,4/5\n2,a dog,8/10\n3,2 dogs run,2 dogs run: 4\n"
    )
    read = read_scores(path, ["answer"], answers=(0, 5))
    assert [value for (value,) in read.scores.values()] == pytest.approx(
        [4, math.nan, math.nan], nan_ok=True
    )
