"""A relation of every option of every metric: changed, it changes a signature.

Or it is listed, with the reason, as one that cannot change a number. A score is kept under its
signature for ever, so an option that is in neither place gives the numbers of an earlier run.
"""

import inspect
import json
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
import yaml
from omegaconf import OmegaConf

from metaeval.config import build, compose_config, metric_names
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.options import options_of, schema_of
from metaeval.runs.store import MemoryStore
from metaeval.schema import located
from tests.shared import write_texts

ELSEWHERE = "where files are looked for or kept; their content is in the signature"
ROUNDING = "it moves a score by rounding alone, which the column's precision declares"
CALLS = "how calls are made; a caption whose call failed has no score, and is not kept"
LIMITS = "what a run may cost: it ends the run, or leaves captions without a score"
ESTIMATES = "for the estimate that is printed"
CANNOT_CHANGE_A_NUMBER = {
    **dict.fromkeys(("cache", "data", "download", "offline"), ELSEWHERE),
    **dict.fromkeys(("device", "memory_gib", "threads", "heap_mib"), ROUNDING),
    **dict.fromkeys(("on_error", "retries", "timeout", "workers"), CALLS),
    "control": "whether other metrics are compared with it",
    "bounds": "a score outside fails the metric; no score is changed",
    "parts": "set by `of`",
    "aier.regions": "it sees no image",
    "fier.references": "it reads none",
    **{
        f"{name}.name": "what the configuration calls it; tables have the title"
        for name in ("by_sentence", "mean", "fier_aier", "spider", "vifidel_cider", "vifidel_lm")
    },
    "spice.sentence_seconds": "a sentence that takes longer has no score, and is not kept",
    "bank.only": "which columns there are",
    "judge.api_key_env": "which key pays",
    **{f"judge.{name}": CALLS for name in ("concurrency", "max_failures", "dry_run", "mode")},
    **{f"judge.{name}": LIMITS for name in ("requests_per_minute", "tokens_per_minute", "budget")},
    **{f"judge.{name}": ESTIMATES for name in ("price", "chars_per_token", "image_tokens")},
    **{f"judge.{name}": ELSEWHERE for name in ("batch_export", "batch_import", "replay")},
}

# an option of which only one value can be tried on any machine → its part of the signature
NAMED = {"weights": "weights", "model": "model", "vocabulary": "words"}

# what a metric, or the option of a metric, needs; a text in <…> is a file of `files`
CONTEXT: dict[str, dict[str, Any]] = {
    "callable": {"function": "tests.metrics.test_metamorphic.two", "columns": ["A", "B"]},
    "coco": {"scorer": "tests.metrics.test_metamorphic.Two", "columns": ["A", "B"]},
    "torchmetrics": {"metric": "torchmetrics.text.CHRFScore"},
    "evaluate": {"module": "<module>"},
    "scores": {"file": "<scores>", "columns": ["A", "B"]},
    "bank": {"folder": "<bank>"},
    "judge": {"base_url": "http://localhost:1/v1", "model": "m"},
    "mean": {"of": ["cider", "rouge_l"]},
    "combined": {"file": "<weights>"},
    "command": {"run": f"{sys.executable} -c print(1)"},
    "command.name": {"columns": None},
    "command.preset": {"run": None, "preset": "capevalkit:polos"},
    "by_sentence": {"of": ["rouge_l"]},
    "bertscore": {"model": "all-MiniLM-L6-v2"},
    "judge.fields": {"parser": "json", "prompt": "aspects"},
    "judge.pattern": {"parser": "regex", "pattern": "Score: (\\d+)"},
    "callable.name": {"function": "tests.metrics.test_metamorphic.one", "columns": None},
    "coco.name": {"columns": None},
    "faier_noref.calibrate": {"references": 2},
    "vifidel.detector": {"sources": ["detector"]},
    "judge.choices": {"parser": "choice", "choices": {"good": 1, "bad": 0}},
    "callable.batch_size": {"batched": True},
    "spice.parser": {"parser": "perceptron"},
}
# another value, where the annotation does not give one
OTHER: dict[str, Any] = {
    "tokenizer": "char",
    "columns": ["B", "A"],
    "of": ["rouge_l", "chrf"],
    "by_sentence.of": ["chrf"],
    "name": "other",
    "title": "Other",
    "label": "other",
    "options": {"more": 1},
    "files": ["<vectors>"],
    "function": "tests.metrics.test_metamorphic.one",
    "scorer": "tests.metrics.test_metamorphic.TwoOthers",
    "metric": "torchmetrics.text.TranslationEditRate",
    "module": "<module2>",
    "scores.file": "<scores2>",
    "combined.file": "<weights2>",
    "command.run": f"{sys.executable} -c print(2)",
    "command.version": "--version",
    "command.preset": "capevalkit:pacscore",
    "command.references": False,
    "fields": {"score": "B"},
    "scores.captions": "<captions>",
    "bank.folder": "<bank2>",
    "references": 2,
    "meteor_nltk.references": "mean",
    "torchmetrics.references": "each",
    "evaluate.references": "each",
    "torchmetrics.columns": ["chrf"],
    "torchmetrics.higher_is_better": False,
    "idf": "<coco>",
    "bertscore.idf": True,
    "bertscore.rescale": "<baseline>",
    "ontology": "<ontology>",
    "truth": ["references"],
    "noise": {"dropped": 0.5, "confused": 0.0, "jittered": 0.0, "seed": 0},
    "regions": {"_target_": "metaeval.vision.regions.gold.GoldRegions", "most": 5},
    "vectors": {
        "_target_": "metaeval.text.word_vectors.base.VectorFile",
        "path": "<vectors>", "format": "text",
    },
    "parser": "perceptron",
    "spice.parser": "corenlp",
    "faier_rel.variant": "r",
    "p": 1,
    "wmd.p": 2,
    "detector": {"weights": None, "threshold": 0.7, "device": "cpu"},
    "answers": [0, 10],
    "smooth": 5.0,
    "sacrebleu.smooth": "floor",
    "random_score.seed": 7,
    "layer": 3,
    "prefix": "A photo of ",
    "pretrained": "random",
    "meteor.language": "de",
    "sources": ["<labels>"],
    "variant": "rel",
    "scan.variant": "corruptions",
    "tiger.variant": "corruptions",
    "learn_to_eval.variant": "text",
    "judge.base_url": "http://localhost:2/v1",
    "judge.endpoint": "there",
    "judge.model": "n",
    "judge.prompt": "aspects",
    "judge.system": "Be strict.",
    "judge.image": 512,
    "judge.parser": "number",
    "judge.fields": ["fidelity"],
    "judge.pattern": "(\\d+) points",
    "judge.choices": {"good": 2, "bad": 0},
    "judge.bounds": [0, 10],
    "judge.seed": 3,
    "judge.stop": ["."],
    "judge.parameters": {"top_p": 0.5},
}  # fmt: skip


def two(captions: list[str], references: list[list[str]], more: int = 0) -> dict[str, list[float]]:
    return {"A": [1.0] * len(captions), "B": [2.0] * len(captions)}


def one(captions: list[str], more: int = 0) -> list[float]:
    return [1.0] * len(captions)


class Two:
    """A scorer with the scores of two columns by their places."""

    def __init__(self, more: int = 0) -> None:
        self.more = more

    def compute_score(self, gts: Any, res: Any) -> Any:
        return [0.0, 0.0], [[1.0] * len(gts), [2.0] * len(gts)]


class TwoOthers(Two):
    pass


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, scenes: CaptionDataset) -> dict[str, str]:
    """Name → a small file or folder."""
    described = {
        "metric": "M", "benchmark": "thumb", "citation": ["lin2014microsoft"],
        "source": "s", "licence": "l", "reads": ["image"],
    }  # fmt: skip
    image = scenes.image_ids[0]
    caption = {"id": 1, "image_id": 1, "caption": "a dog"}
    texts = {
        "scores.csv": f"image_id,caption,A,B,system\n{image},a dog,1,2,s\n",
        "scores2.csv": f"image_id,caption,A,B,system\n{image},a dog,2,1,s\n",
        "captions.csv": f"image_id,system,caption\n{image},s,a dog\n",
        "bank/m.csv": f"image_id,caption,score,B\n{image},a dog,1,2\n",
        "bank/m.yaml": yaml.safe_dump(described),
        "bank2/m.yaml": yaml.safe_dump(described),
        "bank2/m.csv": f"image_id,caption,score,B\n{image},a dog,2,1\n",
        "vectors.txt": "dog 1 0\ncat 0 1\n",
        "labels.json": json.dumps({str(k): ["dog"] for k in range(4)}),
        "ontology.json": json.dumps({"words": {"dog": ["puppy"]}}),
        "baseline.tsv": "LAYER,P,R,F\n" + "".join(f"{k},0.1,0.1,0.1\n" for k in range(7)),
        "coco.json": json.dumps({"images": [{"id": 1}], "annotations": [caption]}),
        **{
            f"{name}.json": json.dumps(
                {"title": "M", "method": "-", "parts": [{"of": each, "weight": w} for each in of]}
            )
            for name, w in (("weights", 1), ("weights2", 2))
            for of in [("cider", "rouge_l")]
        },
        "module/module.py": "A = 1\n",
        "module2/module2.py": "A = 2\n",
    }
    top = write_texts(tmp_path_factory.mktemp("files"), texts)
    return {path.stem: str(path) for path in top.iterdir()}


def filled(value: Any, files: dict[str, str]) -> Any:
    """A value with the files that it names in <…>."""
    if isinstance(value, str) and value[:1] == "<":
        return files[value[1:-1]]
    if isinstance(value, dict):
        return {key: filled(each, files) for key, each in value.items()}
    return [filled(each, files) for each in value] if isinstance(value, list) else value


Signatures = Callable[[str, str, dict[str, Any]], tuple[str, ...] | str]


@pytest.fixture(scope="module")
def signatures(
    scenes: CaptionDataset, photographs: CaptionDataset, files: dict[str, str]
) -> Signatures:
    """A metric, an option and the values that are given in addition to those of `CONTEXT` → the
    metric's signatures with these options, or why it cannot run here."""

    def of(name: str, option: str, given: dict[str, Any]) -> tuple[str, ...] | str:
        config = compose_config(configured(name))
        for key, value in {**context_of(name, option), **given}.items():
            filled_in = filled(value, files)
            OmegaConf.update(config, f"metric.{name}.{key}", filled_in, merge=False, force_add=True)
        absent = ""
        for dataset in (scenes, photographs):
            bound = build(name, config).scorer(dataset, MemoryStore())
            if not isinstance(bound, Absent):
                made = tuple(bound.signatures)
                bound.close()
                return made
            absent = absent or str(bound.reason)
        return absent

    @cache
    def as_configured(name: str, option: str) -> tuple[str, ...] | str:
        return of(name, option, {})

    def either(name: str, option: str, given: dict[str, Any]) -> tuple[str, ...] | str:
        if given:
            return of(name, option, given)
        return as_configured(name, option if f"{name}.{option}" in CONTEXT else "")

    return either


def configured(name: str) -> list[str]:
    return [f"metric=[{name}]", "offline=true", "device=cpu"]


def context_of(name: str, option: str) -> dict[str, Any]:
    return {**CONTEXT.get(name, {}), **CONTEXT.get(f"{name}.{option}", {})}


def other_values(name: str, option: str, kind: Any, default: Any) -> Iterator[Any]:
    """Values of an option that are not the default."""
    for key in (f"{name}.{option}", option):
        if key in OTHER:
            yield OTHER[key]
            return
    schema = schema_of(kind)
    kinds = schema.get("anyOf", [schema])
    if choices := [value for each in kinds for value in each.get("enum", ()) if value != default]:
        yield choices[0]
    elif isinstance(default, bool):
        yield not default
    elif isinstance(default, int | float):
        yield default + (1 if isinstance(default, int) else default / 2 + 0.25)


def default_of(maker: Any, option: str) -> Any:
    """The default of an argument of a class or of one that it inherits from."""
    for owner in maker.__mro__:
        parameters = inspect.signature(vars(owner).get("__init__", owner)).parameters
        if option in parameters:
            return parameters[option].default
    return None


@pytest.mark.parametrize("name", metric_names())
def test_an_option_that_is_changed_changes_a_signature(name: str, signatures: Signatures) -> None:
    node: Any = OmegaConf.to_container(compose_config(configured(name)).metric[name])
    maker = located(node["_target_"])
    kinds = options_of(maker).known
    options = {*kinds, *node} - {"_target_", "citation"}
    absent = []
    for option in sorted(options):
        if CANNOT_CHANGE_A_NUMBER.keys() & {option, f"{name}.{option}"}:
            continue
        before = signatures(name, option, {})
        if isinstance(before, str):
            absent.append(before)
            continue
        if option in NAMED and f"{name}.{option}" not in OTHER:
            assert all(f"|{NAMED[option]}:" in signature for signature in before)
            continue
        known = {option: default_of(maker, option), **node, **context_of(name, option)}
        values = list(other_values(name, option, kinds.get(option, Any), known[option]))
        assert values, f"{name}.{option}: give another value in OTHER"
        after = signatures(name, option, {option: values[0]})
        assert after != before, f"{name}.{option}={values[0]!r}"
        if isinstance(after, str):
            absent.append(after)
    if absent:
        pytest.skip("; ".join(dict.fromkeys(absent)))
