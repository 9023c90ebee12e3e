"""`experiment=score` as a user runs it: other runs' scores, resumed, refused, distributions."""

import contextlib
import io
import json
import random
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pycocoevalcap.cider import cider as coco_cider

import metaeval
from metaeval.data.scenes import load_scenes
from metaeval.data.tidy import Tidy
from metaeval.errors import InputError, MetaevalError
from metaeval.experiments.run import run_configured
from metaeval.experiments.score.parts import (
    BINS,
    Parts,
    describe,
    distribution,
    extremes,
    histogram,
)
from metaeval.experiments.score.worker import (
    BlockScores,
    CaptionRow,
    RowBlock,
    empty_caches,
    own_dataset,
    read_rows,
    split_rows,
)
from metaeval.metrics.ngram.cider import Cider, CiderR
from metaeval.reports.measured import write_report
from metaeval.results.files import read_result
from metaeval.results.measured import MeasuredResult
from metaeval.results.run import ColumnSum
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions
from metaeval.text.tokenizers import base as tokenizers
from tests.shared import composed, run_here, write_lines

ARGUMENTS = (
    "captions=tables", "dataset=scenes", "dataset.limit=30", "metrics=[bleu,rouge_l,cider]",
    "task.block=32", "report=none",
)  # fmt: skip


def score(*options: str, out: str, cwd: Path) -> str:
    """What the command prints with these options, run in this process in the folder `cwd`."""
    config = composed(cwd, "experiment=score", *options)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.chdir(cwd):
        run_configured(config, cwd / out)
    return printed.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables of 120 captions of scenes, and a finished run `one` over them."""
    path = tmp_path_factory.mktemp("score")
    scenes = load_scenes(limit=30)
    texts = [*scenes.human, *(group[k] for k in range(3) for group in scenes.references)]
    rows = pd.DataFrame({"image_id": [*scenes.image_ids] * 4, "caption": texts})
    rows.to_parquet(path / "captions.parquet")
    (path / "tables").mkdir()
    first = rows.iloc[:50].rename(columns={"caption": "candidate"})
    first.to_csv(path / "tables/a.csv", index=False)
    rows.iloc[50:].to_json(path / "tables/b.jsonl", orient="records", lines=True)
    score(*ARGUMENTS, out="one", cwd=path)
    return path


def result(run: Path) -> MeasuredResult:
    return read_result(run / "statistics.json")


def scores(run: Path) -> pd.DataFrame:
    return pd.concat([pd.read_parquet(p) for p in sorted((run / "scores").glob("*.parquet"))])


def parts(run: Path) -> dict[str, bytes]:
    """The files of scores, and the manifest."""
    return {path.name: path.read_bytes() for path in (run / "scores").iterdir()}


def test_a_killed_run_continues_and_ends_with_the_same_bytes(folder: Path) -> None:
    shutil.copytree(folder / "one", folder / "two")
    two, whole = folder / "two/scores", parts(folder / "one")
    assert set(whole) == {"_manifest.json", *(f"part-0000{k}.parquet" for k in range(4))}
    written = (two / "part-00001.parquet").stat().st_mtime_ns
    (two / "part-00002.parquet").unlink()
    (two / "part-00000.parquet").write_bytes(whole["part-00000.parquet"][:500])
    (two / ".part-00003.parquet.x").write_bytes(b"half")
    (two / "_manifest.json").unlink()
    score(*ARGUMENTS, out="two", cwd=folder)
    assert parts(folder / "two") == whole
    assert (two / "part-00001.parquet").stat().st_mtime_ns == written


def test_captions_of_a_block_are_not_retained(folder: Path) -> None:
    """A memory of every caption would grow with the table: it once was .8 kB per caption."""
    score(*ARGUMENTS, "cache.enabled=false", out="forgetful", cwd=folder)
    assert not tokenizers.get("ptb")._memory
    store = MemoryStore()
    store.put_many("parses", {b"key": b"value"})
    empty_caches(store)
    assert not store.get_many("parses", [b"key"])


def test_another_request_leaves_no_part_of_the_one_before(folder: Path) -> None:
    shutil.copytree(folder / "one", folder / "three")
    score(*ARGUMENTS, "task.block=100", "metric.cider.sigma=5", out="three", cwd=folder)
    assert sorted(parts(folder / "three")) == [
        "_manifest.json", "part-00000.parquet", "part-00001.parquet",
    ]  # fmt: skip
    assert not np.allclose(scores(folder / "three")["CIDEr"], scores(folder / "one")["CIDEr"])


def test_references_in_the_rows(folder: Path) -> None:
    """As in `metaeval.score`, for any blocks; a bigram model needs them all at once."""
    rows = [
        {"candidate": "two dogs run", "references": ["two dogs are running", "dogs run"]},
        {"candidate": "a red bus", "references": ["a bus on a road", "a red bus"]},
        {"candidate": "a bus", "references": ["a bus on a road", "a red bus"]},
        {"candidate": "", "references": ["a cat"]},
    ]
    write_lines(folder / "own.jsonl", rows)
    printed = score(
        "captions=own.jsonl", "metrics=[rouge_l,bigram_model,faier]", "task.block=3",
        "report=none", out="own", cwd=folder,
    )  # fmt: skip
    lines = (
        "bigram_model skipped: a score depends on all captions of a dataset", "faier skipped",
        "give dataset=NAME",
    )  # fmt: skip
    assert [line in printed for line in lines] == [True] * 3
    given = [[row[name] for row in rows] for name in ("candidate", "references")]
    expected = metaeval.score(*given, metrics=["rouge_l"]).table["ROUGE-L"]
    assert scores(folder / "own")["ROUGE-L"].tolist() == expected.tolist()
    run = result(folder / "own")
    assert (run.facts["Empty captions"], run.metric("Bigram model").statistics) == (1, None)


def test_ciders_idf_of_the_tables_themselves(folder: Path) -> None:
    """Whatever the blocks, the CIDEr of all rows at once, and pycocoevalcap's."""
    rows = _rows_of_images(16)
    write_lines(folder / "corpus.jsonl", rows)
    for block in (7, 1000):
        score(
            "captions=corpus.jsonl", "metrics=[cider,cider_r]", f"task.block={block}",
            "report=none", out=f"corpus{block}", cwd=folder,
        )  # fmt: skip
    few, many = (scores(folder / f"corpus{block}") for block in (7, 1000))
    whole, index = own_dataset(list(read_rows([folder / "corpus.jsonl"], None, Tidy())))
    for metric in (Cider(), CiderR()):
        expected = score_captions(metric, whole, few["caption"].tolist(), index, MemoryStore())
        name = metric.columns[0].name
        columns = np.array([few[name], many[name]])
        np.testing.assert_array_equal(columns, [expected.scores[:, 0]] * 2)
        assert result(folder / "corpus7").metric(name).signature == expected.signatures[0]
    # pycocoevalcap wants one caption an image: the first row of each; its idf is of all references
    first = {row["image_id"]: k for k, row in reversed(list(enumerate(rows)))}
    references, candidates = (
        {i: [" ".join(words) for words in Cider().words(of(rows[k]))] for i, k in first.items()}
        for of in (lambda row: row["references"], lambda row: [row["caption"]])
    )
    oracle = coco_cider.Cider().compute_score(references, candidates)[1]
    made = few["CIDEr"].to_numpy()[list(first.values())]
    np.testing.assert_allclose(made, oracle, atol=1e-12)  # sums in another order
    # the frequencies are a file that serves other tables
    (idf,) = (folder / "corpus7/scores").glob("_idf-*.npz")
    # it does not keep pandas from reading the folder
    assert len(pd.read_parquet(folder / "corpus7/scores")) == len(few)
    write_lines(folder / "two.jsonl", rows[:2])
    score(
        "captions=two.jsonl", "metrics=[cider]", f"metric.cider.idf={idf}", "report=none",
        out="idf", cwd=folder,
    )  # fmt: skip
    np.testing.assert_array_equal(scores(folder / "idf")["CIDEr"], few["CIDEr"][:2])


def _rows_of_images(n: int) -> list[dict[str, Any]]:
    """Two captions of each of n images with their references, of few words, so that n-grams are
    shared."""
    words = (
        *("a", "man", "rides", "the", "red", "horse", "on", "grass"),
        *("near", "two", "dogs", "and", "water"),
    )
    draw = random.Random(7)
    texts = [
        [" ".join(draw.choices(words, k=draw.randint(3, 9))) for _ in range(5)] for _ in range(n)
    ]
    made = [
        {"image_id": image, "caption": caption, "references": of_image[2:]}
        for image, of_image in enumerate(texts)
        for caption in of_image[:2]
    ]
    draw.shuffle(made)
    return made


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (
            {"image_id": 10**9, "caption": "a dog"},
            "the dataset has no image with the id 1000000000",
        ),
        ({"image_id": 1, "text": "a dog"}, "has no column 'caption'"),
        ({"image_id": 1, "caption": 7}, "is a number, not a string"),
        ([], "give the tables of captions"),
        (["captions=nowhere.csv"], "nowhere.csv: file not found"),
    ],
)
def test_a_wrong_row_is_refused_before_anything_is_scored(
    folder: Path, tmp_path: Path, row: dict[str, Any] | list[str], words: str
) -> None:
    first = json.loads((folder / "tables/b.jsonl").read_text().splitlines()[0])
    file = write_lines(tmp_path / "wrong.jsonl", [first, row])
    given = row if isinstance(row, list) else [f"captions={file}"]
    with pytest.raises(MetaevalError) as error:
        score(
            *given, "dataset=scenes", "dataset.limit=30", "metrics=[bleu]", "task.block=1",
            out=f"{tmp_path}/run", cwd=folder,
        )  # fmt: skip
    message = str(error.value)
    assert (error.value.exit_code, words in message) == (2, True), message
    named = isinstance(row, list) or "line 2" in message
    assert (named, (tmp_path / "run/scores").exists()) == (True, False)


HEAD = "image_id,caption,references\n1,a dog,"


@pytest.mark.parametrize(
    ("text", "ids", "expected"),
    [
        (f"{HEAD}\"['a .', 'b .']\"\n", None, CaptionRow("1", "a dog", ("a .", "b ."))),
        (f"{HEAD}\"['a .', 'b .']\"\n", {1}, CaptionRow(1, "a dog", None)),  # the dataset's
        (f"{HEAD}a cat ||| a dog\n", None, CaptionRow("1", "a dog", ("a cat", "a dog"))),
        # an image may have one written form twice
        ("image_id,caption\n" + "01,a dog\n" * 2, {1}, CaptionRow(1, "a dog", None)),
    ],
)
def test_rows_of_a_table_without_types(
    text: str, ids: set[int] | None, expected: CaptionRow, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text(text)
    assert set(read_rows([tmp_path / "t.csv"], ids, Tidy())) == {expected}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{HEAD}\n", "line 2, field 'references': holds no reference"),
        (
            "picture,caption\n1,a dog\n",
            "line 2: has no column 'image_id', but 'picture', 'caption'",
        ),
        (
            "image_id,caption\n42,a dog\n0042,a dog\n",
            "line 3, field 'image_id': '0042' and '42' .line 2. become the same",
        ),
        (
            "image_id,caption\n42,a dog\n٤٢,a dog\n",
            "line 3, field 'image_id': '٤٢' is a string where the dataset's ids are numbers",
        ),
    ],
)
def test_rows_that_are_wrong_are_refused(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError, match=problem):
        list(read_rows([tmp_path / "t.csv"], None if HEAD in text else {1, 42}, Tidy()))


def test_blocks_and_the_references_that_their_rows_share() -> None:
    rows = [CaptionRow(k // 2, "x", (f"r{k // 2}",)) for k in range(5)]
    blocks = [(b.number, b.first, len(b.rows)) for b in split_rows(rows, 2)]
    assert blocks == [(0, 0, 2), (1, 2, 2), (2, 4, 1)]
    dataset, index = own_dataset(rows)
    assert (dataset.references, index.tolist()) == ((("r0",), ("r1",), ("r2",)), [0, 0, 1, 1, 2])


def letters(captions: list[str]) -> list[float]:
    """The number of characters; an error for a block with the caption "fail"."""
    if "fail" in captions:
        raise RuntimeError("no score")
    return [float(len(caption)) for caption in captions]


def test_a_metric_that_fails_on_one_block_keeps_the_scores_of_the_others(tmp_path: Path) -> None:
    captions = ["a", "bbb", "fail", "cc", "ddddd"]
    rows = [{"caption": caption, "references": ["a dog"]} for caption in captions]
    write_lines(tmp_path / "rows.jsonl", rows)
    printed = score(
        "captions=rows.jsonl", "metrics=[callable,rouge_l]", "task.block=2",
        f"metric.callable.function={__name__}.letters", out="run", cwd=tmp_path,
    )  # fmt: skip
    failed, rouge = map(result(tmp_path / "run").metric, ("letters", "ROUGE-L"))
    assert (failed.status, rouge.status, failed.reason[:18], failed.reason in printed) == (
        "failed", "ok", "in 1 of 3 blocks: ", True,
    )  # fmt: skip
    # the captions of 1, 3 and 5 characters have scores; those of the second block do not
    keys = ("n", "n_nan", "mean", "min", "median", "max")
    assert [failed.numbers.value(key) for key in keys] == [3, 2, 3.0, 1.0, 3.0, 5.0]
    assert "failed: in 1 of 3 blocks: " in (tmp_path / "run/report.html").read_text()


def test_a_block_that_a_metric_broke_in_is_scored_again(tmp_path: Path) -> None:
    made, block = Parts(tmp_path, "request"), RowBlock(0, 0, [CaptionRow(1, "a", None)])
    broken = BlockScores(np.array([[np.nan]]), "RuntimeError: no")
    entry = made.write(block, {"m": ["M"]}, {"m": broken})
    assert (entry.columns, made.known(block)) == ({"M": ColumnSum(n=0, sum=0.0)}, None)
    entry = made.write(block, {"m": ["M"]}, {"m": BlockScores(np.array([[0.5]]))})
    other = RowBlock(0, 0, [CaptionRow(1, "b", None)])
    known = (made.known(block), Parts(tmp_path, "other").known(block), made.known(other))
    assert known == (entry, None, None)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed (the extra `ray`)")
def test_ray_writes_the_same_bytes(folder: Path) -> None:
    score(*ARGUMENTS, "task.scoring=ray", out="ray", cwd=folder)
    assert parts(folder / "ray") == parts(folder / "one")


def test_the_distribution_is_numpys() -> None:
    scores = np.random.default_rng(0).normal(size=1001)
    numbers, ordered = distribution(scores.copy(), 0.5, n_nan=2), np.sort(scores)
    # the quantile q of 1,001 scores without interpolation: the one in place 1,000 q
    places = {"min": 0, "p5": 50, "p25": 250, "median": 500, "p75": 750, "p95": 950, "max": 1000}
    expected = {key: ordered[k] for key, k in places.items()}
    expected |= {"n": 1001, "n_nan": 2, "mean": 0.5, "sd": scores.std(ddof=1)}
    assert {k: numbers.value(k) for k in expected} == pytest.approx(expected, rel=1e-13)
    bins = histogram("A", scores)
    assert (sum(row["count"] for row in bins), len(bins)) == (1001, BINS)
    assert (bins[0]["from"], bins[-1]["to"]) == (scores.min(), scores.max())


def test_the_distribution_of_equal_scores_and_of_none() -> None:
    for n, expected in ((3, [3, 2, 0, 0, [3]]), (1, [1, 2, None, 0, [1]]),
                        (0, [0, 2, None, None, []])):  # fmt: skip
        of = distribution(np.zeros(n), 0.0 if n else None, n_nan=2)
        counts = [row["count"] for row in histogram("A", np.zeros(n))]
        values = [of.value(key) for key in ("n", "n_nan", "sd", "median")]
        assert [*values, counts] == expected


def test_the_extremes_are_the_first_of_equals() -> None:
    assert extremes(np.array([2.0, np.nan, 1.0, 3.0, 1.0, 1.0]), 2) == [[2, 4], [3, 0]]
    assert extremes(np.array([np.nan]), 2) == [[], []]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scores")
    rows = [
        {"image_id": k, "caption": f"a dog {'runs ' * (k % 5)}{k}", "references": ["a dog runs"]}
        for k in range(900)
    ]
    rows[3]["caption"] = "<script>alert(1)</script>"
    rows[7]["caption"] = "a dog runs"
    table = write_lines(folder / "t.jsonl", rows)
    given = (f"captions={table}", "metrics=[bleu,rouge_l]", "task.block=400")
    run_here(folder, "experiment=score", *given)
    return folder / "OUT"


def test_the_page_shows_captions_of_all_parts_and_stays_the_same(run: Path) -> None:
    page = (run / "report.html").read_text()
    texts = ("<script>alert(1)", "&lt;script&gt;alert(1)", "highest BLEU-1")
    assert [text in page for text in texts] == [False, True, True]
    shown = read_result(run / "statistics.json").extra("shown").records
    assert sum(row["chosen"] == "at random" for row in shown) == 400
    highest = [r["row"] for r in shown if (r["metric"], r["chosen"]) == ("BLEU-1", "highest")]
    assert highest[0] == 7  # the reference itself
    rows = {row["row"] for row in shown}
    cards = page.count('<article class="card">')
    assert (cards, {row // 400 for row in rows}) == (len(rows), {0, 1, 2})
    # run.json now has the seconds of the report
    again = write_report(run, figures=False).read_text()
    assert write_report(run, figures=False).read_text() == again


def test_the_rows_are_drawn_by_the_seed(run: Path) -> None:
    parts = sorted((run / "scores").glob("*.parquet"))
    drawn = [
        [r["row"] for r in describe(parts, {"BLEU-1": 0.5}, seed)[1][1].records if not r["metric"]]
        for seed in (0, 0, 1)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
