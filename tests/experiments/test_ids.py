"""Every image keeps the id of its dataset, in whatever a run gives to others or writes.

For each configuration of a dataset, on small files of the official layout: what a user's function
is given as `image_ids`, the captions to score elsewhere, the run's tables and, once for each
experiment, its page.
"""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from metaeval import choices
from metaeval.config import compose_config
from metaeval.experiments.run import run_configured
from tests.data.judgments import test_judgments as judged
from tests.data.judgments.test_audiocaps import RECORDS
from tests.data.pairs import pair_files, test_iiw
from tests.data.pairs.pair_files import IMAGES, SAID
from tests.fuzz import loaders, pairs_and_own

JPG = {f"{i:012d}.jpg" for i in IMAGES}
JUDGED = "experiment=judgments", "task.fitted=false"
CHOICE = ("experiment=forced_choice",)
PAIRS = "experiment=pairs", "task.fitted=false"
ARENA = ("experiment=arena",)
GRADED = ("experiment=shuffle",)

TWO_SETS = [["a dog runs", "dogs play"], ["a dog runs", "it snows"], ["a dog runs", "dogs play"]]


def _records(path: str, records: object) -> Callable[[Path], None]:
    return lambda folder: pair_files.write(folder / path, records)


def _coco(make: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda folder: make(pair_files.coco(folder))


def _karpathy(folder: Path) -> None:
    pair_files.coco(folder)
    annotations = folder / "annotations"
    for what in ("captions", "instances"):
        (annotations / f"{what}_val2017.json").rename(annotations / f"{what}_karpathy_test.json")


# dataset → what makes its files, the options, and the ids of its images in these files
CASES: dict[str, tuple[Callable[[Path], object], Sequence[str], set[Any]]] = {
    "flickr8k_expert": (
        judged.flickr8k_files, (*JUDGED, "dataset.root={}", "dataset.own_captions=keep"),
        {"a.jpg", "b.jpg"},
    ),
    "flickr8k_cf": (
        judged.flickr8k_files, (*JUDGED, "dataset.root={}", "dataset.own_captions=leave_out"),
        {"a.jpg", "b.jpg"},
    ),
    "composite": (
        judged.composite, (*JUDGED, "dataset.root={}", "dataset.subsets=[8k]"), {"8k/a.jpg"},
    ),
    "thumb": (
        judged.thumb, (*JUDGED, "dataset.root={}", "dataset.dimensions=[total]"), {"974", "2453"},
    ),
    "table": (
        _records("t.json", [
            {"image_id": "dog 1.jpg", "candidate": f"{k} dogs", "human": k, "references": r}
            for k, r in enumerate(TWO_SETS)
        ]),
        (*JUDGED, "dataset.file={}/t.json"), {"dog 1.jpg"},
    ),
    "table localisation": (
        _records("t.json", [
            {"image_id": "dog 1.jpg", "candidate": "a red dog", "references": r,
             "words": [["a", False], ["red", k == 1], ["dog", k != 1]]}
            for k, r in enumerate(TWO_SETS)
        ]),
        ("experiment=localisation", "dataset.file={}/t.json"), {"dog 1.jpg"},
    ),
    "pascal50s": (
        judged.pascal50s, (*CHOICE, "dataset.root={}", "dataset.draws=2"),
        {"2008_000.jpg", "2008_001.jpg"},
    ),
    "audiocaps_eval": (
        _records("a.json", RECORDS[:1]), (*CHOICE, "dataset.file={}/a.json"), {"x1"},
    ),
    "fense_pairs": (
        _records("a.json", RECORDS[:1]), (*CHOICE, "dataset.file={}/a.json"), {"x1"},
    ),
    "battles": (
        _records("b.json", pairs_and_own.BATTLES), (*ARENA, "dataset.file={}/b.json"),
        {f"{i}.jpg" for i in IMAGES},
    ),
    "caparena": (
        _records("b.json", [
            {"img": "a/1.jpg", "caption1": f"{k} dogs", "caption2": "a cat", "winner": "tie",
             "source1": "one", "source2": "two", "ref": r} for k, r in enumerate(TWO_SETS)
        ]),
        (*ARENA, "dataset.file={}/b.json"), {"a/1.jpg"},
    ),
    "captioner_battles": (
        pairs_and_own.make_captioner_battles,
        (*ARENA, "dataset.captions=[{}/one.json,{}/two.json]", "task.winner=Length"),
        {str(i) for i in IMAGES},
    ),
    "iiw": (test_iiw.make, ARENA, {"test_2", "aar_1"}),
    "pairs": (
        _records("p.json", [
            {"image_id": "dog.jpg", "true": true, "false": "a cat", "references": TWO_SETS[0]}
            for true in TWO_SETS[0]
        ]),
        (*PAIRS, "dataset.file={}/p.json"), {"dog.jpg"},
    ),
    "sugarcrepe": (_coco(pair_files.sugarcrepe), PAIRS, JPG),
    "sugarcrepe_pp": (_coco(pair_files.sugarcrepe_pp), PAIRS, JPG),
    "rococo": (
        _coco(pair_files.rococo), PAIRS, {f"COCO_val2014_{i:012d}.jpg" for i in (139, 285)},
    ),
    "valse": (_coco(pairs_and_own.make_valse), PAIRS, {f"{i:012d}.jpg" for i in (139, 632)}),
    "discourse_foil": (_coco(pair_files.discourse_foil), PAIRS, JPG),
    "reformulations": (_coco(pair_files.reformulations), PAIRS, JPG),
    "foil": (_coco(pairs_and_own.make_foil), PAIRS, {str(i) for i, *_ in SAID}),
    "coco_val2017": (pair_files.coco, GRADED, set(IMAGES)),
    "coco_karpathy_test": (_karpathy, GRADED, set(IMAGES)),
    "coco": (
        pair_files.coco, (*GRADED, "dataset.captions={}/annotations/captions_val2017.json"),
        set(IMAGES),
    ),
    "auto": (pair_files.coco, GRADED, set(IMAGES)),
    "own": (
        _records("o.json", loaders.OWN), (*GRADED, "dataset.file={}/o.json"), {"1.jpg", "2.jpg"},
    ),
    "scenes": (lambda folder: None, (*GRADED, "dataset.limit=3"), set()),
}  # fmt: skip

# one of each experiment; where there is one, with several sets of references of an image
WITH_PAGE = ("table", "table localisation", "pascal50s", "caparena", "pairs", "coco_val2017")


def note_ids(captions: list[str], image_ids: list[Any], log: str) -> list[float]:
    """A user's metric, which writes down what it is given."""
    with Path(log).open("a", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(image_id)}\n" for image_id in image_ids)
    return [float(len(caption)) for caption in captions]


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("name", CASES)
def test_an_image_keeps_its_id(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make, options, ids = CASES[name]
    data, log = tmp_path / "data", tmp_path / "ids"
    data.mkdir()
    make(data)
    monkeypatch.setenv("METAEVAL_DATA", str(data))
    shared = [
        f"dataset={name.split()[0]}", *(option.replace("{}", str(data)) for option in options),
        "cache.enabled=false", f"paths.data={data}", "stats.replicates=5",
        "report.figures=false" if name in WITH_PAGE else "report=none",
    ]  # fmt: skip
    own = [
        "metric=[callable,length]", f"metric.callable.function={__name__}.note_ids",
        f"metric.callable.options={{log: {log}}}",
    ]  # fmt: skip
    config = compose_config([*shared, *own])
    run_configured(config.copy(), tmp_path / "run")
    seen = set(_lines(log))
    ids = ids or seen  # of scenes
    assert (seen, len(seen)) == (ids, 3 if name == "scenes" else len(ids))
    for table in (tmp_path / "run").glob("*.parquet"):
        columns = pd.read_parquet(table)
        if "image_id" in columns:
            assert set(columns["image_id"]) == ids, table.name
    if name in WITH_PAGE:
        page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
        page = re.sub(r"<svg.*?</svg>", "", page, flags=re.S)  # places of a drawing look like ids
        derived = rf"(?:\d+[ \t](?:{'|'.join(map(re.escape, map(str, ids)))})|\.jpg\t\d)\b"
        assert not re.search(rf"(?<!\w){derived}", page)
    config.metrics = []
    run_configured(config, tmp_path / "export")
    exported = _lines(tmp_path / "export" / "captions_to_score.jsonl")
    assert {record["image_id"] for record in exported} == ids


def test_one_file_serves_every_set_of_references(tmp_path: Path) -> None:
    """Two pairs of one image, each compared with the other's true caption: a table of scores and
    one of a judge's answers, by image and caption, have all of them."""
    texts = {"a dog runs": 90, "a cat runs": 10, "dogs play": 80, "cats play": 20}
    true, false = list(texts)[::2], list(texts)[1::2]
    pair_files.write(tmp_path / "p.json", [
        {"image_id": "dog.jpg", "true": t, "false": f, "references": true}
        for t, f in zip(true, false, strict=True)
    ])  # fmt: skip
    pair_files.write(tmp_path / "s.json", [
        {"image_id": "dog.jpg", "caption": text, "CLIPScore": score, "answer": str(score)}
        for text, score in texts.items()
    ])  # fmt: skip
    options = [
        *PAIRS, "dataset=pairs", f"dataset.file={tmp_path}/p.json", "metric=[scores,judge]",
        f"metric.scores.file={tmp_path}/s.json", "metric.scores.columns=[CLIPScore]",
        f"metric.judge.replay={tmp_path}/s.json",
        "report=none", "cache.enabled=false",
    ]  # fmt: skip
    run_configured(compose_config(options), tmp_path / "run")
    scores = pd.read_parquet(tmp_path / "run" / "scores.parquet")  # of both metrics
    assert scores[["true", "false"]].to_numpy().tolist()[:4] == [[90, 10], [80, 20]] * 2


def test_no_configuration_of_a_dataset_is_forgotten() -> None:
    """`references` is the dataset of tables of experiment=score, whose ids are the rows'; tables of
    systems have no images."""
    there = {path.stem for path in (choices.conf() / "dataset").glob("*.yaml")}
    assert there - {name.split()[0] for name in CASES} == {"references", "systems", "coco2015"}
