"""The contract of every configured metric: picklable, stable, named by what it reads."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from metaeval.config import add_metric, build, component, compose_config, metric_names
from metaeval.data.dataset import CaptionDataset
from metaeval.doctor import verdict
from metaeval.runs.store import MemoryStore
from metaeval.scoring import bind, score_captions
from tests.precision import assert_same_scores

# users' metrics have their own tests: tests/metrics/adapters
OWN = {"callable", "coco", "torchmetrics", "evaluate", "scores", "judge"}
NAMES = [name for name in metric_names() if name not in OWN]
OFFLINE = ("offline=true", "device=cpu")


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> CaptionDataset:
    cache = tmp_path_factory.mktemp("cache")
    config = compose_config(["dataset=scenes", "dataset.limit=4", f"paths.cache={cache}"])
    dataset: CaptionDataset = component(config.dataset, "dataset")
    return dataset


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_travels_and_scoring_does_not_change_it(name: str, scenes: CaptionDataset) -> None:
    config = compose_config(OFFLINE)
    add_metric(config, name)
    metric = build(name, config)
    before = pickle.dumps(metric)
    copy = pickle.loads(before)
    assert copy.columns == metric.columns
    index = np.arange(len(scenes))
    ours, theirs = (
        score_captions(m, scenes, scenes.human, index, MemoryStore()) for m in (metric, copy)
    )
    assert pickle.dumps(metric) == before
    assert (ours.status, ours.reason) == (theirs.status, theirs.reason)
    assert ours.signatures == theirs.signatures
    if ours.status != "skipped":  # skipped: its parser, weights or Java are not installed
        assert ours.status == "ok", ours.reason
        for k, column in enumerate(ours.columns):
            assert_same_scores(ours.scores[:, k], theirs.scores[:, k], column.precision)


# a caption of an image without references has a score where other things are enough for one
WITHOUT_REFERENCES = {
    "bigram_model": "it reads the references of the other images",
    "chair": "annotated objects are truth, too",
    "faier": 'the paper puts "." in the place of a reference',
    "faier_corruptions": "likewise",
    "faier_1": "likewise",
    "faier_4": "likewise",
    "faier_rel": "likewise",
    "aier": "likewise",
    "fier_aier": "likewise",
}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in WITHOUT_REFERENCES])
def test_without_references_there_is_no_score_rather_than_0(
    name: str, scenes: CaptionDataset
) -> None:
    """SPICE was 0 there, its parts not a number."""
    config = compose_config(OFFLINE)
    add_metric(config, name)
    metric = build(name, config)
    bare = replace(scenes, references=((), *scenes.references[1:]))
    index = np.arange(len(scenes))
    done, whole = (
        score_captions(metric, data, scenes.human, index, MemoryStore()) for data in (bare, scenes)
    )
    if done.scores is None or whole.scores is None:
        pytest.skip(str(done.reason))  # its weights are not here
    for k, column in enumerate(done.columns):
        reads_none = np.array_equal(done.scores[:, k], whole.scores[:, k], equal_nan=True)
        assert reads_none or np.isnan(done.scores[0, k]), column.name


@pytest.mark.parametrize("name", NAMES)
def test_columns_say_what_they_are(name: str, scenes: CaptionDataset) -> None:
    config = compose_config(OFFLINE)
    add_metric(config, name)
    bound = bind(build(name, config), scenes, MemoryStore())
    names = [column.name for column in bound.columns]
    assert len(set(names)) == len(names)
    for column in bound.columns:
        assert column.bounds[0] < column.bounds[1]
        assert column.part_of in (None, *names)
        assert column.part_of != column.name
        if column.model is not None:
            assert column.name == f"{column.variant_of} ({column.model})"
    assert any(column.headline and column.part_of is None for column in bound.columns)


@pytest.mark.parametrize(
    ("override", "metric"),
    [
        ("metric.tiger.weights=typo", "tiger"),
        ("metric.faier.weights=typo", "faier"),
        ("metric.scan.weights=faier_scenes_r", "scan"),
        ("metric.bertscore.model=/no/such/folder", "bertscore"),
        ("regions=bottomup", "faier"),
        ("regions=bottomup", "scan"),
    ],
)
def test_doctor_says_of_a_metric_what_a_run_does(
    override: str, metric: str, scenes: CaptionDataset, tmp_path: Path
) -> None:
    overrides = [*OFFLINE, override]
    if override == "regions=bottomup":
        overrides.append(f"regions.file={tmp_path / 'none.npz'}")
    config = compose_config(overrides)
    said = verdict(metric, config, scenes)
    done = score_captions(
        build(metric, config), scenes, scenes.human, np.arange(len(scenes)), MemoryStore()
    )
    assert done.status == "skipped", done.reason
    assert said.startswith(f"{done.status}: {done.reason}")


def test_doctor_names_the_columns_of_the_run(scenes: CaptionDataset) -> None:
    config = compose_config(OFFLINE)
    assert verdict("clipscore", config, scenes) == "can run (CLIPScore (scenes))"
    assert verdict("bleu", config, scenes) == "can run (BLEU-1, BLEU-2, BLEU-3, BLEU-4)"


SEEN = {
    "regions=gold": "gold objects",
    "regions=detector": "detected objects",
    "regions=bottomup": "bottom-up features",
}
OF_REGIONS = ("faier", "faier_noref", "tiger", "scan", "learn_to_eval")


@pytest.mark.parametrize(("regions", "seen"), SEEN.items())
@pytest.mark.parametrize("name", OF_REGIONS)
def test_regions_are_named(name: str, regions: str, seen: str) -> None:
    more = ["regions.file=x.npy"] if regions == "regions=bottomup" else []
    config = compose_config([f"metric=[{name}]", regions, *more])
    for column in build(name, config).columns:
        assert f"({seen}" in column.name
        assert column.sees == seen
        assert column.part_of is None or f"({seen}" in column.part_of
        assert column.variant_of == column.name.partition(" (")[0]
        assert seen not in str(column.signature_name)


@pytest.mark.parametrize(
    ("sources", "seen"),
    [
        ("[gold]", "gold objects"),
        ("[detector]", "detected objects"),
        ("[gold,detector]", "gold objects and detected objects"),
        ("[labels.json]", "labels of a file"),
    ],
)
def test_vifidel_names_its_sources(sources: str, seen: str) -> None:
    config = compose_config(["metric=[vifidel]", f"metric.vifidel.sources={sources}"])
    names = [c.name for c in build("vifidel", config).columns]
    assert names == [f"VIFIDEL ({seen})", f"VIFIDEL-ref ({seen})"]


@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("faier", ["FAIEr", "FAIEr-object", "FAIEr-relation"]),
        ("faier_noref", [f"FAIEr{p} (no references)" for p in ("", "-object", "-relation")]),
        ("tiger", ["TIGEr", "TIGEr-RRS", "TIGEr-WDS"]),
        ("scan", ["SCAN-i2t", "SCAN-t2i", "SCAN-sum"]),
        ("vifidel", ["VIFIDEL", "VIFIDEL-ref"]),
        ("learn_to_eval", ["LearnToEval"]),
    ],
)
def test_signatures_keep_the_names_of_before(name: str, before: Sequence[str]) -> None:
    """Scores that were cached before columns said what they see stay valid."""
    config = compose_config([f"metric=[{name}]"])
    columns = build(name, config).columns
    assert [column.signature_name for column in columns] == before
