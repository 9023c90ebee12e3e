"""Scores computed elsewhere: joined by image and caption, in every file format; the score bank:
described files as columns of a run, and the command that checks them."""

from __future__ import annotations

import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from metaeval.cli.main import run_verb
from metaeval.data.dataset import CaptionDataset
from metaeval.data.judgments.benchmarks import load_composite, load_expert, load_thumb
from metaeval.data.own.bank import read_entry
from metaeval.data.own.score_files import read_scores
from metaeval.errors import ConfigError, InputError
from metaeval.metrics.adapters.bank import BankMetric
from metaeval.metrics.adapters.own import ScoresFileMetric
from metaeval.runs.store import MemoryStore
from metaeval.scoring import complete, look_up, score_captions
from tests.data.pairs import pair_files
from tests.data.table_files import write as written
from tests.metrics.adapters.adapter_cases import (
    DESCRIBED,
    REFERENCES,
    bank_file,
    scored,
    scores_of,
    small,
)
from tests.shared import write_texts

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


def test_scores_for_just_these_references(tmp_path: Path) -> None:
    records = [
        {"image_id": 0, "caption": "a man", "references": list(REFERENCES[0]), "S": 1.0},
        {"image_id": 0, "caption": "a man", "references": ["another"], "S": 2.0},
    ]
    metric = ScoresFileMetric(written(tmp_path / "s.jsonl", records), columns=["S"])
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
    records = [
        {"image_id": 0, "caption": "a man", "CIDEr": 0.5},
        {"image_id": 1, "caption": "a dog", "CIDEr": 0.6, "CLIPScore (ViT-B/32)": 0.7},
    ]
    metric = ScoresFileMetric(written(tmp_path / "s.jsonl", records))
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


@pytest.mark.parametrize(
    ("name", "columns", "problem"),
    [
        (None, None, r"give the file of scores: metric\.scores\.file=FILE"),
        ("none.csv", None, r"file not found; correct metric\.scores\.file"),
        ("s.doc", None, r"is none of \.csv"),
        ("s.csv", ["Others"], r"'Others' is not in .*s\.csv; it has: .*Mine, Other"),
    ],
)
def test_columns_that_are_not_known_are_refused(
    tmp_path: Path, name: str | None, columns: list[str] | None, problem: str
) -> None:
    written(tmp_path / "s.csv", RECORDS)
    (tmp_path / "s.doc").write_text("")
    with pytest.raises((ConfigError, InputError), match=problem):
        _ = ScoresFileMetric(name and tmp_path / name, columns=columns).columns


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


IMAGES = ("1.jpg", "2.jpg")
HUMAN = ("a dog", "a cat")
DATASET = CaptionDataset("table", IMAGES, HUMAN, (HUMAN, HUMAN), IMAGES, HUMAN)


def scores(bank: BankMetric, captions: list[str], index: list[int]) -> Any:
    return score_captions(bank, DATASET, captions, np.array(index), MemoryStore())


def test_files_of_one_metric_are_one_column(tmp_path: Path) -> None:
    """Its scores on this dataset come before those on others, which fill what it does not have."""
    bank_file(tmp_path, "a_other", [("1", "a dog", 9), ("1", "a fox", 3)], benchmark="thumb")
    bank_file(tmp_path, "b_this", [("1.jpg", "a dog", 1), ("2.jpg", "a cat", 2)])
    bank_file(tmp_path, "c", [("2.jpg", "a cat", 7)], metric="TER", higher_is_better=False)
    bank_file(tmp_path, "d", [("77.jpg", "a cat", 7)], metric="Of other images")
    (tmp_path / "not_described.csv").write_text("image_id,caption,score\n1.jpg,a dog,5\n")
    bank = BankMetric(tmp_path)
    assert [c.name for c in bank.columns] == ["CLAIR", "TER", "Of other images"]
    assert bank.citation == tuple(DESCRIBED["citation"])
    assert bank.reads == {"references"}
    done = scores(bank, ["a dog", "a fox", "a cat", "a bird"], [0, 0, 1, 1])
    assert [(c.name, c.higher_is_better) for c in done.columns] == [("CLAIR", True), ("TER", False)]
    nan = np.nan
    np.testing.assert_array_equal(done.scores, [[1, nan], [3, nan], [2, 7], [nan, nan]])
    assert [c.name for c in BankMetric(tmp_path, only=["TER"]).columns] == ["TER"]
    with pytest.raises(ConfigError, match=r"metric\.bank\.only: 'BLEU' not among CLAIR, TER"):
        BankMetric(tmp_path, only=["BLEU"])


def test_a_bank_without_scores_of_the_images_is_skipped_with_the_reason(tmp_path: Path) -> None:
    bank_file(tmp_path, "d", [("77.jpg", "a cat", 7)])
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert "no scores of the 2 images" in BankMetric(folder).bind(DATASET).reason


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"licence": ""}, r"a\.yaml, field 'licence'"),
        ({"reads": ["audio"]}, r"field 'reads.0': 'audio'"),
        ({"citation": []}, r"field 'citation'"),
        ({"page": 3}, r"field 'page'"),
        ({"captions": "../x.csv"}, r"field 'captions': '../x.csv': is not below the data folder"),
        ({"file": "/etc/x.csv"}, r"field 'file': '/etc/x.csv': is not below the data folder"),
        (None, r"a\.yaml, which describes it, is not next to it"),
    ],
)
def test_what_a_description_must_say(tmp_path: Path, change: Any, problem: str) -> None:
    file = bank_file(tmp_path, "a", [("1.jpg", "a dog", 1)], **(change or {}))
    if change is None:
        file.with_suffix(".yaml").unlink()
    with pytest.raises(InputError, match=problem):
        read_entry(file)


def test_a_description_names_a_listed_benchmark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A path there would be a configuration, and what it names would be called."""
    (tmp_path / "evil.yaml").write_text("_target_: pathlib.Path.touch\n_args_: [PWNED]\n")
    for benchmark in (f"../../../../../../../../../../..{tmp_path}/evil", "thmub", "a b"):
        file = bank_file(tmp_path, "a", [("1.jpg", "a dog", 1)], benchmark=benchmark)
        assert run_verb(["check", str(file)]) == 2
        assert "a.yaml, field 'benchmark': " in capsys.readouterr().err


@pytest.mark.parametrize(
    "change", [{"column": "B"}, {"higher_is_better": False}, {"answers": True}]
)
def test_a_corrected_description_gives_new_scores(change: dict[str, Any], tmp_path: Path) -> None:
    file = bank_file(tmp_path, "a", [("1.jpg", "a dog", 1)])
    file.write_text("image_id,caption,score,B\n1.jpg,a dog,1,2\n")
    store = MemoryStore()
    made = []
    for changes in ({}, change):
        file.with_suffix(".yaml").write_text(json.dumps({**DESCRIBED, **changes}))
        done = score_captions(BankMetric(tmp_path), DATASET, ["a dog"], np.array([0]), store)
        made.append(done.signatures)
        assert done.n_cached == 0
        assert done.scores[0, 0] == (2 if "column" in changes else 1)
    assert made[0] != made[1]


def test_two_descriptions_agree_which_direction_is_better(tmp_path: Path) -> None:
    bank_file(tmp_path, "a", [("1.jpg", "a dog", 1)])
    bank_file(tmp_path, "b", [("2.jpg", "a cat", 2)], higher_is_better=False)
    with pytest.raises(InputError, match=r"b\.yaml: higher_is_better is false, and another file"):
        BankMetric(tmp_path)
    bank_file(tmp_path, "b", [("2.jpg", "a cat", 2)], higher_is_better=False, metric="Other")
    assert len(BankMetric(tmp_path).columns) == 2


def test_the_command_counts_what_a_file_covers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pair_files.coco(tmp_path)
    annotations = [
        {"id": 7, "image_id": 139, "caption": caption, "foil": caption != "a dog"}
        for caption in ("a dog", "a cat", "a cow")
    ]
    content = json.dumps({"annotations": annotations})
    write_texts(tmp_path, {"foil/foilv1.0_test_2017.json": content})
    monkeypatch.setenv("METAEVAL_DATA", str(tmp_path))
    rows = [("000139.jpg", "a dog", 0.5), ("000139.jpg", "a cat", ""), ("9.jpg", "a cow", 1)]
    file, printed = tmp_path / "scores" / "clair_foil.csv", []
    for of, change, code in (
        (rows, {}, 0),
        (rows[2:], {}, 1),
        (rows, {"benchmark": "valse"}, 0),
        *((rows, c, 2) for c in ({"benchmark": "nothing"}, {"benchmark": "scenes"})),
        (rows, {"column": "CLAIR"}, 2),
    ):
        bank_file(file.parent, file.stem, of, **{"benchmark": "foil", **change})
        assert run_verb(["check", str(file.with_suffix(".yaml"))]) == code
        printed.append("".join(capsys.readouterr()))
    assert "clair_foil.csv: CLAIR, 2 captions with a score; reads references" in printed[0]
    assert "licence: CC BY 4.0" in printed[0]
    assert "foil: 1 of 3 captions have a score" in printed[0]
    assert "valse: not compared" in printed[2]
    assert not any("Traceback" in text for text in printed)


def test_a_file_is_checked_as_its_description_says_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other names of columns, and answers that begin with a score."""
    monkeypatch.setenv("METAEVAL_DATA", str(tmp_path))
    described = {"fields": {"caption": "hyp"}, "column": "said", "answers": True}
    file = bank_file(tmp_path / "bank", "judge", [], benchmark="valse", **described)
    rows = [("1.jpg", "a dog", " 80 because"), ("2.jpg", "a cat", "none"), ("2.jpg", "a dog", "5")]
    pd.DataFrame(rows, columns=["image_id", "hyp", "said"]).to_csv(file, index=False)
    assert run_verb(["check", str(file)]) == 0
    assert "judge.csv: CLAIR, 2 captions with a score" in capsys.readouterr().out
    done = scores(BankMetric(tmp_path / "bank"), ["a dog", "a cat", "a dog"], [0, 1, 1])
    np.testing.assert_array_equal(done.scores[:, 0], [80, np.nan, 5])
