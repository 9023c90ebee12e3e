"""The contract of every configured metric: picklable, stable, named by what it reads."""

import pickle
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metaeval.compute.device import keep_networks, release
from metaeval.config import add_metric, build, compose_config, metric_names
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.doctor import metric_state
from metaeval.errors import ConfigError
from metaeval.java.process import shared_java_services
from metaeval.metrics.base import Metric
from metaeval.metrics.bertscore.metric import BertScore
from metaeval.metrics.faier.metric import Faier
from metaeval.metrics.hallucination.chair import Chair
from metaeval.metrics.meteor.metric import Meteor
from metaeval.metrics.meteor.nltk_metric import MeteorNltk
from metaeval.metrics.ngram.bleu import Bleu
from metaeval.metrics.ngram.cider import Cider
from metaeval.metrics.ngram.rouge import RougeL
from metaeval.metrics.ngram.sacrebleu import SacreBleu
from metaeval.metrics.scan.metric import Tiger
from metaeval.metrics.spice.metric import Spice
from metaeval.metrics.vifidel.metric import Vifidel, Wmd
from metaeval.runs.records import NETWORK_PRECISION
from metaeval.runs.store import MemoryStore
from metaeval.scoring import bind, score_captions
from metaeval.text.word_vectors.base import MiniLmVectors
from metaeval.vision.regions.gold import GoldRegions
from tests.metrics.metric_cases import USERS
from tests.precision import assert_same_scores

NAMES = [name for name in metric_names() if name not in USERS]  # those: tests/metrics/adapters
OFFLINE = ("offline=true", "device=cpu")
# How names begin of metrics whose scores pass through a network, or word vectors that one made.
NETWORKS = (
    "aier",
    "bertscore",
    "by_sentence",
    "clipscore",
    "faier",
    "fier",
    "language_model",
    "learn_to_eval",
    "lm",
    "mean",
    "moverscore",
    "pacscore",
    "refclipscore",
    "refpacscore",
    "scan",
    "sentence_similarity",
    "tiger",
    "vifidel",
    "wmd",
)

PRECISIONS = {"language_model": {1e-4, 1e-3}}  # means and sums of logarithms, not about 1


@pytest.fixture(scope="module", autouse=True)
def _loaded_once() -> Iterator[None]:
    with keep_networks(), shared_java_services():
        yield


@cache
def offline(name: str) -> Metric:
    """The metric as it is configured, on the processor."""
    config = compose_config(OFFLINE)
    add_metric(config, name)
    return build(name, config)


# a caption of an image without references has a score where other things are enough for one
WITHOUT_REFERENCES = {
    "bigram_model": "it reads the references of the other images",
    "chair": "annotated objects are truth, too",
    "language_model": "it counts the words of the other images' references",
    "faier": 'the paper puts "." in the place of a reference',
    "faier_corruptions": "likewise",
    "faier_1": "likewise",
    "faier_4": "likewise",
    "faier_rel": "likewise",
    "aier": "likewise",
    "fier_aier": "likewise",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_travels_and_no_score_depends_on_the_others(
    name: str, scenes: CaptionDataset, photographs: CaptionDataset
) -> None:
    """All captions in one call; or some of them backwards and one alone, by a copy. Without the
    references of the first image its caption has no score, rather than 0."""
    metric = offline(name)
    before = pickle.dumps(metric)
    copy = pickle.loads(before)
    assert copy.columns == metric.columns
    data = photographs if isinstance(metric.bind(scenes), Absent) else scenes
    one, other = (each.bind(data, MemoryStore()) for each in (metric, copy))
    if isinstance(one, Absent):  # its parser, weights or Java are not installed
        assert one == other
        pytest.skip(str(one))
    captions = [*scenes.human, *scenes.human[::-1], "", "a quux on a quux", "dog", *scenes.human]
    index = np.array([0, 1, 2, 3] * 2 + [0, 1, 2] + [1, 2, 3, 0])
    few = np.arange(len(captions))[::-2]
    with closing(one), closing(other):
        one.prepare()
        together = one.score(captions, index)
        release("encoded sentences")
        other.prepare()
        alone = other.score(captions[5:6], index[5:6])
        backwards = other.score([captions[k] for k in few], index[few])
    assert pickle.dumps(metric) == before
    assert one.signatures == other.signatures
    for k, column in enumerate(one.columns):
        assert_same_scores(backwards[:, k], together[few, k], column.precision)
        assert_same_scores(alone[:, k], together[5:6, k], column.precision)
    if name in WITHOUT_REFERENCES:
        return
    bare = replace(data, references=((), *data.references[1:]))
    done = score_captions(metric, bare, scenes.human, np.arange(4), MemoryStore())
    assert done.status == "ok", done.reason
    for k, column in enumerate(done.columns):
        reads_none = np.allclose(done.scores[:, k], together[:4, k], atol=1e-4, equal_nan=True)
        assert reads_none or np.isnan(done.scores[0, k]), column.name


@pytest.mark.parametrize("name", NAMES)
def test_columns_say_what_they_are(name: str, scenes: CaptionDataset) -> None:
    bound = bind(offline(name), scenes, MemoryStore())
    if bound.scorer is not None:
        bound.scorer.close()  # also of one that was never prepared
    names = [column.name for column in bound.columns]
    assert len(set(names)) == len(names)
    for column in bound.columns:
        assert column.bounds[0] < column.bounds[1]
        assert column.part_of in (None, *names)
        assert column.part_of != column.name
        if column.model is not None:
            assert column.name == f"{column.variant_of} ({column.model})"
    assert any(column.headline and column.part_of is None for column in bound.columns)


@pytest.mark.parametrize("name", NAMES)
def test_networks_and_they_alone_declare_a_precision(name: str) -> None:
    expected = {NETWORK_PRECISION if name.startswith(NETWORKS) else None}
    expected = PRECISIONS.get(name, expected)
    assert {column.precision for column in offline(name).columns} == expected


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
    said = metric_state(metric, config, scenes)
    done = score_captions(
        build(metric, config), scenes, scenes.human, np.arange(len(scenes)), MemoryStore()
    )
    assert done.status == "skipped", done.reason
    assert said.startswith(f"{done.status}: {done.reason}")


def test_doctor_names_the_columns_of_the_run(scenes: CaptionDataset) -> None:
    config = compose_config(OFFLINE)
    assert metric_state("clipscore", config, scenes) == "can run (CLIPScore (scenes))"
    assert metric_state("bleu", config, scenes) == "can run (BLEU-1, BLEU-2, BLEU-3, BLEU-4)"


SEEN = {
    "regions=gold": "gold objects",
    "regions=detector": "detected objects",
    "regions=bottomup": "bottom-up features",
}
OF_REGIONS = ("faier", "faier_noref", "tiger", "scan", "learn_to_eval")


@pytest.mark.parametrize(("regions", "seen"), SEEN.items())
def test_regions_are_named(regions: str, seen: str) -> None:
    more = ["regions.file=x.npy"] if regions == "regions=bottomup" else []
    config = compose_config([f"metric=[{','.join(OF_REGIONS)}]", regions, *more])
    for column in [column for name in OF_REGIONS for column in build(name, config).columns]:
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


OBJECTS, VECTORS = {"regions": GoldRegions()}, {"vectors": MiniLmVectors()}


@pytest.mark.parametrize(
    ("metric", "options", "message"),
    [
        (Bleu, {"max_n": 0}, "max_n"),
        (Bleu, {"tokenizer": "moses"}, "unknown tokenizer 'moses'"),
        (SacreBleu, {"smooth": "coco"}, r"SacreBleu\.smooth: 'coco' is not one of exp"),
        (SacreBleu, {"tokenizer": "ptb"}, "tokenizer: 'ptb' is not one of 13a"),
        (RougeL, {"beta": 0}, "beta"),
        (Cider, {"sigma": 0}, "sigma"),
        (Meteor, {"language": "sv"}, "'sv' is not one of en, de, es, fr, ru"),
        (Meteor, {"tokenizer": "nltk"}, "unknown tokenizer"),
        (Meteor, {"heap_mib": 0}, "heap_mib: 0 is not a whole number from 1"),
        (MeteorNltk, {"references": "first"}, "references: 'first' is not one of best, mean"),
        (Spice, {"parser": "best"}, "parser"),
        (Chair, {"truth": ["boxes"]}, "truth"),
        (BertScore, {"layer": 0}, "layer"),
        (BertScore, {"dtype": "int8"}, "dtype"),
        (BertScore, {"memory_gib": 0}, "memory_gib"),
        (Vifidel, {**VECTORS, "p": 3}, r"p: 3 is not in \[1, 2\]"),
        (Vifidel, {**VECTORS, "frequency": "some"}, "frequency: 'some' is not true or false"),
        (Vifidel, {**VECTORS, "sources": "gold"}, "'gold' is not a list of text"),
        (Vifidel, {**VECTORS, "sources": []}, "must be a list"),
        (Wmd, {**VECTORS, "p": 3}, r"Wmd\.p: 3 is not"),
        (Tiger, {**OBJECTS, "tau": 0}, "tau"),
        (Tiger, {**OBJECTS, "gains": "cubic"}, "gains"),
        (Tiger, {**OBJECTS, "smooth": 0}, "smooth"),
        (Tiger, {**OBJECTS, "variant": "x"}, "variant"),
        (Tiger, {**OBJECTS, "device": "gpu"}, "device: 'gpu' is not auto, cpu"),
        (Tiger, {**OBJECTS, "rectifier": "elu"}, "rectifier: 'elu' is not one of leaky, relu"),
        (Faier, {**OBJECTS, "variant": "x"}, "unknown metric.faier.variant 'x'"),
        (Faier, {**OBJECTS, "references": -1}, "Faier.references: "),
        (Faier, {**OBJECTS, "references": True}, "Faier.references: "),
        (Faier, {**OBJECTS, "calibrate": True, "references": 0}, "calibrate needs references"),
        (Faier, {**OBJECTS, "variant": "aier", "references": 0}, "variant=aier needs references"),
        (
            Faier,
            {**OBJECTS, "parser": "magic"},
            "parser: 'magic' is not one of auto, corenlp, perceptron",
        ),
        (Faier, {**OBJECTS, "device": "gpu"}, "device: 'gpu' is not auto, cpu"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    metric: Callable[..., Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        metric(**options)
