"""Values that are functions of runs, against counting by hand."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metaeval.config import build, compose_config
from metaeval.data.dataset import Objects
from metaeval.data.scenes import load_scenes
from metaeval.experiments.run import run_configured
from metaeval.overrides import override_texts
from metaeval.reproduce import functions
from metaeval.reproduce.functions import (
    _mislabelled,
    by_number_of_objects,
    components,
    human_above_machine,
    thumb_scores,
)
from metaeval.results.files import read_result
from metaeval.runs import files
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions


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
    captions.mkdir()
    for shift in (1, 2):
        texts = scenes.human[shift:] + scenes.human[:shift]
        records = [
            {"image_id": i, "caption": c} for i, c in zip(scenes.image_ids, texts, strict=True)
        ]
        (captions / f"shift{shift}.json").write_text(json.dumps(records))
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
