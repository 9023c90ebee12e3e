"""Values that are functions of runs, by hand; items of the papers; rules of found protocols."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metaeval.compute.device import keep_networks
from metaeval.config import build, compose_config
from metaeval.data.dataset import Objects
from metaeval.data.scenes import load_scenes
from metaeval.experiments.run import run_configured
from metaeval.java.process import shared_java_services
from metaeval.overrides import override_texts
from metaeval.papers.expected import PaperItem, item_of, papers
from metaeval.reproduce import functions
from metaeval.reproduce.chance import chance_of_match
from metaeval.reproduce.functions import (
    _mislabelled,
    by_number_of_objects,
    components,
    human_above_machine,
    thumb_scores,
)
from metaeval.reproduce.items import Reproduction
from metaeval.results.files import read_result
from metaeval.runs import files
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions
from tests.data.table_files import write


def run(out: Path, **options: object) -> Path:
    """A run on scenes with a cache of its own."""
    given = {
        "dataset": "scenes",
        "report": "none",
        "stats__replicates": 20,
        "paths__cache": out.parent / "cache",
        **options,
    }
    run_configured(compose_config(override_texts(given)), out)
    return out


def test_people_above_machines_are_counted_over_the_drawn_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenes = load_scenes(n=40, cache=tmp_path)
    captions = tmp_path / "captions"
    for shift in (1, 2):
        texts = scenes.human[shift:] + scenes.human[:shift]
        records = [
            {"image_id": i, "caption": c} for i, c in zip(scenes.image_ids, texts, strict=True)
        ]
        write(captions / f"shift{shift}.json", records)
    out = run(
        tmp_path / "OUT",
        experiment="captioners",
        captions=captions,
        dataset__limit=40,
        metrics=["rouge_l", "length"],
    )
    found = human_above_machine(out)
    scores = pd.read_parquet(out / files.AGAINST_HUMAN / files.SCORES)
    for name in ("ROUGE-L", "Length"):
        table = scores[scores["metric"] == name].pivot(
            index="image_id", columns="set", values="score"
        )
        pairs = [
            (table["Human"][i], table[s][i]) for s in ("shift1", "shift2") for i in table.index
        ]
        human, machine = np.transpose(pairs)
        expected = {"accuracy": human > machine, "human": human, "machine": machine}
        assert found[name] == pytest.approx({k: np.mean(v) for k, v in expected.items()})
    monkeypatch.setattr(functions, "PAIRS", 7)  # a draw without replacement, the same each time
    seven = human_above_machine(out)["ROUGE-L"]["accuracy"]
    assert seven == human_above_machine(out)["ROUGE-L"]["accuracy"]
    assert (7 * (seven or 0.0)) == pytest.approx(round(7 * (seven or 0.0)))


def test_components_weigh_corruptions_by_their_captions(tmp_path: Path) -> None:
    out = run(
        tmp_path / "OUT",
        experiment="sensitivity",
        task__images=60,
        dataset__limit=60,
        task__corruptions=["random", "wrong_colour", "wrong_size", "other_object"],
        metrics=["rouge_l", "length", "bigram_model"],
    )
    found = components(out)["ROUGE-L"]
    result = read_result(out / files.STATISTICS)
    profile = result.extra("profile").records
    cells = {cell["set"]: cell for cell in profile if cell["metric"] == "ROUGE-L"}
    of_name = {s["name"]: cells[s["set"]] for s in result.extra("sets").records}
    both = [of_name[name] for name in ("wrong_colour", "wrong_size") if name in of_name]
    expected = sum(c["auc"] * c["n"] for c in both) / sum(c["n"] for c in both)
    assert found["property"] == pytest.approx(expected)
    assert found["colour"] == pytest.approx(of_name["wrong_colour"]["auc"])
    assert found["counting"] is None  # that corruption is not part of the run


def test_published_scores_correlate_with_the_ratings_of_their_captions(tmp_path: Path) -> None:
    scores = tmp_path / "thumb" / "metric_scores"
    scores.mkdir(parents=True)
    pd.DataFrame(
        {
            "SYS": ["a", "a", "b"],
            "seg_id": [1, 2, 1],
            "set_id": 0,
            "metric": "X",
            "score": [1.0, 2.0, 4.0],
        }
    ).to_csv(scores / "a__X.csv", index=False)
    pd.DataFrame(
        {
            "image_id": ["1", "2", "1", "1"],
            "system": ["a", "a", "b", "Human"],
            "human_total": [[1.0], [3.0, 4.0], [5.0], [9.0]],
        }
    ).to_parquet(tmp_path / files.JUDGMENTS)
    (tmp_path / files.CONFIG).write_text(
        f"dataset: {{root: null}}\npaths: {{data: {tmp_path.as_posix()}}}\n"
    )
    expected = np.corrcoef([1, 2, 4], [1, 3.5, 5])[0, 1]
    assert thumb_scores(tmp_path) == {"X": {"total": pytest.approx(expected)}}


def test_more_objects_are_nested_and_all_of_them_are_vifidel_itself(tmp_path: Path) -> None:
    scenes = load_scenes(n=60, cache=tmp_path)
    objects = scenes.part("objects")
    n = [len(objects[i].labels) for i in scenes.image_ids]
    most = int(np.median(n))
    found = by_number_of_objects(scenes, most=most)
    assert set(found) == {"VIFIDEL (gold objects)", "VIFIDEL-ref (gold objects)"}
    assert list(found["VIFIDEL (gold objects)"]) == [str(k) for k in range(1, most + 1)]
    # of the images with exactly `most` objects the last value is VIFIDEL with all of them
    exact = scenes.subset([k for k, count in enumerate(n) if count == most])
    last = by_number_of_objects(exact, most=most)
    metric = build("vifidel", compose_config(["metrics=[vifidel]"]))
    index = np.arange(len(exact))
    scored = score_captions(metric, exact, exact.human, index, MemoryStore())
    assert scored.scores is not None
    assert last["VIFIDEL (gold objects)"][str(most)] == pytest.approx(
        np.nanmean(scored.scores[:, 0])
    )


def test_wrong_objects_are_the_same_in_all_documents_and_nested() -> None:
    pool = [f"wrong{k}" for k in range(50)]
    right = Objects(tuple(f"right{k}" for k in range(200)), np.zeros((200, 4)))
    few, again, many, other = (
        _mislabelled(right, pool, share, 0, image)
        for share, image in ((0.2, "coco:1"), (0.2, "coco:1"), (0.6, "coco:1"), (0.2, "coco:2"))
    )
    assert few.labels == again.labels != other.labels
    wrong = [{k for k, label in enumerate(o.labels) if label in pool} for o in (few, many)]
    assert wrong[0] < wrong[1]
    # 200 draws with .2: outside of 20 to 60 with a probability below 1e-3
    assert 20 < len(wrong[0]) < 60
    assert _mislabelled(right, pool, 0.0, 0, "coco:1").labels == right.labels


IMAGES = 8
FEW = {"stats.replicates": 10}  # values alone are compared
ITEMS = [
    pytest.param(paper.paper, item, id=f"{paper.paper}/{item.item}")
    for paper in papers().values()
    for item in paper.items
    if item.run
]


# They take most of the time: of them the values of one paper alone.
JAVA, WITH_JAVA = ("meteor", "spice"), "gonzalez2022metrics"


def small(paper: str, item: PaperItem) -> PaperItem:
    """The item with a run of few images, and one draw."""
    run = {**item.run, **FEW, "dataset.limit": IMAGES}
    if "task.images" in run:
        run["task.images"] = IMAGES
    cells = item.cells
    if paper != WITH_JAVA:
        run["metrics"] = [name for name in run["metrics"] if name not in JAVA]
        cells = {k: v for k, v in cells.items() if k.partition(" ")[0].lower() not in JAVA}
    return item.model_copy(update={"run": run, "cells": cells, "draws": 1})


@pytest.fixture(scope="module")
def computed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reproduction]:
    folder = tmp_path_factory.mktemp("reproduce")
    with keep_networks(), shared_java_services():
        yield Reproduction(folder / "runs", shared={"paths.cache": str(folder / "cache")})


@pytest.mark.coco
@pytest.mark.slow
@pytest.mark.parametrize(("paper", "item"), ITEMS)
def test_an_item_has_its_values_or_says_what_is_missing(
    paper: str, item: PaperItem, computed: Reproduction, coco_root: Path
) -> None:
    few = small(paper, item)
    rows = computed.values(paper, few)
    assert len(rows) == len(list(few.printed()))
    for row in rows:
        if row.verdict == "not run":  # data or weights: not a wrong name in the paper's file
            assert "the run has no" not in row.reason, (row.metric, row.cell)
            assert "Error" not in row.reason
        elif row.verdict in ("within", "other model", "other data"):
            assert row.reason


FULL = (
    "kasai2022thumb/machines",
    "kasai2022thumb/everyone",
    "kasai2022thumb/authors-scores",
    "zhou2022fense/audiocaps",
    "madhyastha2019vifidel/tables5-6",
    "hessel2021clipscore/composite",
    "jiang2019tiger/table2",
    "wang2021faier/pascal50s",
)
PROTOCOLS = (
    "wang2021faier/table1-composite",
    "wang2021faier/table1-flickr8k",
    "jiang2019tiger/table1-flickr8k",
)
DIFFER = {  # 56.4 for 58.2, 53.1 for 51.5, 79.1 for 78.7: see their causes
    ("jiang2019tiger/table2", "BLEU-1", "MM"),
    ("jiang2019tiger/table2", "ROUGE-L", "HC"),
    ("zhou2022fense/audiocaps", "BLEU-4", "HM"),
}


@pytest.mark.coco
@pytest.mark.slow
@pytest.mark.parametrize("name", FULL)
def test_printed_values_come_out_on_all_data(
    name: str, computed: Reproduction, coco_root: Path
) -> None:
    """Those of the metrics of n-grams; of a table without them, all."""
    paper, _, short = name.partition("/")
    item = item_of(paper, short)
    if cells := {k: v for k, v in item.cells.items() if re.match("BLEU-|ROUGE-L$|CIDEr$", k)}:
        run = {**item.run, **FEW, "metrics": ["bleu", "rouge_l", "cider"]}
        item = item.model_copy(update={"item": f"{short}-n-grams", "run": run, "cells": cells})
    rows = computed.values(paper, item)
    differing = {(name, r.metric, r.cell) for r in rows if r.verdict == "differs"}
    assert differing == {entry for entry in DIFFER if entry[0] == name}


@pytest.mark.coco
@pytest.mark.slow
@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_protocol_of_a_paper_gives_its_values_of_rouge_l(
    name: str, computed: Reproduction, coco_root: Path
) -> None:
    paper, _, short = name.partition("/")
    item = item_of(paper, short)
    run = {**item.run, **FEW, "metrics": ["rouge_l"]}
    cells = {"ROUGE-L": item.cells["ROUGE-L"]}
    one = item.model_copy(update={"item": f"{short}-rouge", "run": run, "cells": cells})
    assert {row.verdict for row in computed.values(paper, one)} <= {"equal", "within"}


@pytest.mark.parametrize(
    ("cells", "step", "expected"),
    [
        # half of the draws lie between 0 and .4, where all round to 0; the others between .4 and
        # 10, where those below .5 and above 9.5 round to a cell
        ([0, 0.4, 10], 1.0, 0.5 + 0.5 * 0.6 / 9.6),
        ([0, 10], 1.0, 0.1),  # .5 of 10 at either end
        ([0, 10, 10, 10], 1.0, 0.1),  # equal protocols count once
        ([0, 10, np.nan], 1.0, 0.1),  # one that gives no value matches none
        ([0, 100], 1.0, 0.01),
        ([0, 1, 2, 3], 1.0, 1.0),  # everything in the range is matched
    ],
)
def test_chance_of_one_value_is_the_covered_part(
    cells: list[float], step: float, expected: float
) -> None:
    changes = np.zeros(len(cells), dtype=np.int64)
    table = np.array(cells)[:, None]
    chance = chance_of_match(table, np.array([step]), changes, (1, 0), draws=40_000)
    assert chance == pytest.approx(expected, abs=0.006)


def test_chance_of_several_values_is_of_one_protocol() -> None:
    cells, steps = np.array([[0.0, 10.0], [10.0, 0.0]]), np.array([1.0, 1.0])
    changes = np.array([0, 1])
    both, any_one, first, both_first = (
        chance_of_match(cells, steps, changes, best, draws=40_000)
        for best in ((2, 1), (1, 1), (1, 0), (2, 0))
    )
    # of the four pairs of ends two are protocols; a value is at either end with .05
    assert both == pytest.approx(2 * 0.05**2, abs=0.002)
    assert both_first == pytest.approx(0.05**2, abs=0.002)
    assert any_one == pytest.approx(1 - 0.9**2, abs=0.008)
    # one value of the protocol without changes, or both of the other one
    assert first == pytest.approx(1 - 0.95**2 + 0.05**2, abs=0.008)
