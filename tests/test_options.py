"""Every option of every experiment has a type and a range, and a wrong value is refused in a line
before anything is read."""

import math
from collections.abc import Iterator
from inspect import signature
from typing import Any

import pytest
import yaml
from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf, open_dict

from metaeval import choices
from metaeval.config import (
    build_all,
    complete_metrics,
    component,
    compose_config,
    selected,
    with_controls,
)
from metaeval.errors import ConfigError
from metaeval.experiments.base import MetricExperiment
from metaeval.metrics.judge.requests import Budget, Price
from metaeval.options import (
    TARGET,
    Device,
    Elsewhere,
    OptionsOf,
    PositiveInt,
    Rate,
    Share,
    described,
    did_you_mean,
    options_of,
    problems,
)
from metaeval.schema import check_config

NONSENSE: Any = {"no": ["such", "thing"]}  # no option is anything like it

# where every metric would be composed and built once more
ONE_METRIC = ("metric=[rouge_l]", "metrics=[rouge_l]", "controls=[]")
# so that every file in conf/ is in one of them; those of an experiment or a dataset that needs no
# further option are added below
CONFIGURATIONS = {
    "replace": ("experiment=replace", "dataset=coco_val2017"),
    "shuffle": ("experiment=shuffle", "dataset=scenes", "regions=detector", "vectors=glove"),
    "insert": ("experiment=graded", "corruption=insert", "vectors=word2vec"),
    "truth": (
        "experiment=graded",
        "corruption=truth_replace_count",
        "dataset=coco_karpathy_test",
        *ONE_METRIC,
    ),
    "bottomup": ("experiment=captioners", "regions=bottomup", "regions.file=x.npy"),
    "boxes": ("experiment=replace", "regions=file", "regions.file=x.json"),
    "own pairs": ("experiment=pairs", "dataset=pairs", "dataset.file=x.csv", *ONE_METRIC),
    "own": ("experiment=replace", "dataset=own", "dataset.file=x.csv", *ONE_METRIC),
    "sensitivity": ("experiment=sensitivity", "dataset=scenes", "vectors=minilm"),
    "references": ("experiment=references", "dataset=scenes", *ONE_METRIC),
    "localisation": ("experiment=localisation", "dataset.file=x.json", *ONE_METRIC),
    "retrieval": ("experiment=retrieval", "dataset=scenes", *ONE_METRIC),
    "score": ("experiment=score", "captions=x.csv", *ONE_METRIC),
    "sample_size": ("experiment=sample_size", "dataset=scenes", *ONE_METRIC),
    "crowd": ("experiment=judgments", "dataset=flickr8k_cf", "vectors=file", "vectors.path=x"),
    "fense": (
        "experiment=forced_choice",
        "dataset=fense_pairs",
        "dataset.file=x.json",
        *ONE_METRIC,
    ),
    "battles": ("experiment=arena", "dataset=battles", "dataset.file=x.csv", *ONE_METRIC),
    "caparena": ("experiment=arena", "dataset=caparena", "dataset.file=x.json", *ONE_METRIC),
    "captioner battles": (
        "experiment=arena",
        "dataset=captioner_battles",
        "dataset.captions=x",
        "task.winner=CIDEr",
    ),
    "attack": ("experiment=attack", "dataset=scenes", *ONE_METRIC),
    "combine": ("experiment=combine", "task.runs=[x]"),
    "trust": ("experiment=trust", "trust.battery=quick"),  # the fewest items, each composed
    "systems": ("experiment=systems", "dataset=systems", "dataset.file=x.csv"),
    "table": ("experiment=judgments", "dataset=table", "dataset.file=x.csv", *ONE_METRIC),
    "coco": ("experiment=captioners", "dataset=coco", "dataset.captions=x.json", *ONE_METRIC),
}

# what the function of a dataset returns → the experiment that reads it
READER = {
    "CaptionDataset": "replace",
    "Judgments": "judgments",
    "ForcedChoice": "forced_choice",
    "ClipPairs": "forced_choice",
    "Battles": "arena",
    "CaptionPairs": "pairs",
    "SystemsTable": "systems",
}
_CHOSEN = {part for given in CONFIGURATIONS.values() for part in given}
for _file in sorted((choices.conf() / "experiment").glob("*.yaml")):
    if f"experiment={_file.stem}" not in _CHOSEN:
        CONFIGURATIONS[_file.stem] = (f"experiment={_file.stem}",)
for _file in sorted((choices.conf() / "dataset").glob("*.yaml")):
    if f"dataset={_file.stem}" not in _CHOSEN:
        _node = yaml.safe_load(_file.read_text(encoding="utf-8"))
        if TARGET not in _node:  # it is in a file that this one builds on
            _node = compose_config([f"dataset={_file.stem}"]).dataset
        _load = get_object(_node[TARGET])
        _kind = signature(_load).return_annotation
        if _experiment := READER.get(getattr(_kind, "__name__", _kind)):
            CONFIGURATIONS[_file.stem] = (
                f"experiment={_experiment}",
                f"dataset={_file.stem}",
                *(() if _experiment == "systems" else ONE_METRIC),  # its table has the metrics
            )

# false, or a file
PATH_TOO = {"metric.bertscore.rescale"}
# a list of numbers, or one
ONE_TOO = {"dataset.n_references", "task.vision.layers"}
# numbers that may be below 0
SIGNED = {"task.losses.anchor"}
# `null` means something there, though it is not the default
NULLABLE = {
    "paths.data",
    "task.preset",
    "metric.cider.data",
    "metric.cider.cache",
    "regions.cache",
    "dataset.split",
    "corruption.reseeded",
    "metric.vifidel.noise",
    "metric.gold_labels.noise",
    "dataset.n",
    "dataset.file",
    "dataset.captions",
    "dataset.title",
    "dataset.layout",
    "dataset.image_source",
    "dataset.protocol",
    "dataset.statistic",
    "metric.faier.references",
    "variant",
    "vectors.path",
    "vectors.md5",
    "vectors.url",
}


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Every key and its value, except those that only refer to another key."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from leaves(each, f"{key}.{name}" if key else name)
    elif not (isinstance(value, str) and value.startswith("${") and ":" not in value):
        yield key, value


def wrong_values(value: Any, key: str) -> Iterator[Any]:
    """Values of the wrong type."""
    yield NONSENSE
    if key == "offline":  # whatever the environment holds
        return
    if isinstance(value, bool):
        yield from (5, *(() if key in PATH_TOO else ("maybe",)))
    elif isinstance(value, int | float):
        yield from ("abc", math.nan, math.inf, True, [[0.5]])
        if key not in SIGNED:
            yield -1
    elif isinstance(value, str) and ":" not in value:
        yield from (5, True, [[0.5]], "half a \udc80 character")
    elif isinstance(value, list):
        yield from ([[]], [None], *(() if key in ONE_TOO else (5,)))
    if value is not None and key not in NULLABLE and "." in key:
        yield None


def refused(config: DictConfig) -> str:
    """The line with which a configuration is refused; empty where it is not."""
    try:
        complete_metrics(config)
        check_config(config)
        experiment = component(config.task, "task")
        if isinstance(experiment, MetricExperiment):
            build_all(selected(config), config)
        experiment.check(config)
    except ConfigError as error:
        return str(error)
    return ""


def with_values(config: DictConfig, values: dict[str, Any]) -> DictConfig:
    """The configuration with these values, whatever they are."""
    copy = config.copy()
    with open_dict(copy):
        for key, value in values.items():
            OmegaConf.update(copy, key, value, merge=False)
    return copy


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_every_option_refuses_what_it_cannot_be(name: str) -> None:
    """All options at once, one kind of wrong value after another: each is named, in one line."""
    config = compose_config(CONFIGURATIONS[name])
    if name not in ("bottomup", "boxes", "coco"):  # where a file is still to be given
        assert refused(config) == ""
    own = dict(leaves(OmegaConf.to_container(config, resolve=False)))
    if name != "replace":  # what is the same there need not be asked again
        first = compose_config(CONFIGURATIONS["replace"])
        shared = dict(leaves(OmegaConf.to_container(first, resolve=False)))
        own = {k: v for k, v in own.items() if k.startswith("dataset.") or k not in shared}
    wrong = {
        key: list(wrong_values(value, key))
        for key, value in own.items()
        if not key.endswith("_target_") and key != "captions"
    }
    for turn in range(max(map(len, wrong.values()), default=0)):
        given = {key: values[turn] for key, values in wrong.items() if turn < len(values)}
        line = refused(with_values(config, given))
        assert "\n" not in line
        # what a class refuses itself is not asked before the rest is right
        for key in [key for key in given if key not in line]:
            alone = refused(with_values(config, {key: given[key]}))
            assert key.rpartition(".")[2] in alone, f"{key}={given[key]!r} is accepted"


def branches(value: Any, key: str = "") -> Iterator[str]:
    """The dotted key of every node that has nodes below it, the root aside."""
    for name, each in value.items():
        if isinstance(each, dict):
            yield (inner := f"{key}.{name}".lstrip("."))
            yield from branches(each, inner)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["replace", "pairs", "trust"])
def test_any_value_at_any_node_is_taken_or_refused_in_a_line(name: str) -> None:
    """Null, a number, a list and a text in the place of every subtree, and of all leaves at once;
    whatever else is raised than ConfigError fails the test."""
    config = compose_config(CONFIGURATIONS.get(name, (f"experiment={name}",)))
    tree: Any = OmegaConf.to_container(config, resolve=False)
    first: Any = OmegaConf.to_container(compose_config(CONFIGURATIONS["replace"]), resolve=False)
    known = set(branches(first)) if name != "replace" else set()
    for value in (None, 5, [5], "text"):
        for key in [key for key in branches(tree) if key not in known]:
            line = refused(with_values(config, {key: value}))
            assert "\n" not in line
            if key in ("metric", "metric.bleu", "dataset", "stats", "cache", "task"):
                assert key in line, f"{key}={value!r}: {line}"
        refused(with_values(config, dict.fromkeys((key for key, _ in leaves(tree)), value)))


def test_every_file_of_the_configuration_is_held_against_the_schema() -> None:
    asked = [part for given in CONFIGURATIONS.values() for part in given]
    for group in ("dataset", "regions", "vectors"):
        files = {path.stem for path in (choices.conf() / group).glob("*.yaml")}
        chosen = {p.split("=")[1] for p in asked if p.startswith(f"{group}=")}
        # regions that are there without being asked for; the references of a file of captions
        assert files - chosen <= {"gold", "references"}


@pytest.mark.parametrize(
    ("override", "line"),
    [
        ("seed=abc", "seed: 'abc' is not a whole number in [0, 4294967295]"),
        ("seed=1.5", "seed: 1.5 is not a whole number in [0, 4294967295]"),
        ("seed=null", "seed: null is not a value; give seed=VALUE"),
        ("stats.confidence=1", "stats.confidence: 1 is not in (0, 1)"),
        ("report.max_bytes=abc", "report.max_bytes: 'abc' is not a whole number from 1"),
        ("metric.bleu=null", "metric.bleu: null is not a component (a node with a _target_)"),
        ("corruption.rates=[[0.5]]", "corruption.rates[0]: [0.5] is not a number in (0, 1]"),
        ("cache.batch_size=-1", "cache.batch_size: -1 is not a whole number from 1 or null"),
        ("+corruption.rat=1", "corruption.rat: unknown option; did you mean 'rate' or 'rates'?"),
        ("+speed=0", "speed: unknown option; did you mean 'seed' or 'sweep'?"),
        ("seed=${sed}", "seed: Interpolation key 'sed' not found"),
        ("device=gpu", "device: 'gpu' is not auto, cpu, cuda or cuda:1"),
        ("regions._target_=no.such", "regions._target_: 'no.such' cannot be imported: No module"),
        ("metrics=[bleu,cidr]", "unknown metric 'cidr'; did you mean 'cider' or 'cider_r'? "),
        # in any case
        ("metrics=[CIDEr]", "unknown metric 'CIDEr'; did you mean 'cider'"),
        ("metrics=[ROUGE-L]", "unknown metric 'ROUGE-L'; did you mean 'rouge_l'"),
        ("metrics=[METEOR]", "unknown metric 'METEOR'; did you mean 'meteor'"),
        ("report._partial_=5", "report._partial_: 5 is not true or false"),
        ("stats.replicates=999999999999", "stats.replicates: 999999999999 is not in [0, 100000]"),
        ("stats.tie_seeds=1000000", "stats.tie_seeds: 1000000 is not in [1, 10000]"),
        ("device=cuda:9", "device 'cuda:9': this machine has "),
    ],
)
def test_the_line_says_what_is_wrong(override: str, line: str) -> None:
    key, _, value = override.lstrip("+").partition("=")
    config = compose_config(["experiment=replace", "dataset=scenes"])
    assert refused(with_values(config, {key: yaml.safe_load(value)})).startswith(line)


@pytest.mark.parametrize(
    ("overrides", "line"),
    [
        (["experiment=replacement"], "unknown experiment 'replacement'; did you mean "),
        (["experiment=replace", "dataset=scene"], "unknown dataset 'scene'; did you "),
        (["experiment=replace", "dataset=null"], "dataset=null chooses nothing; choose from "),
        (["experiment=replace", "sed=1"], "sed: unknown option; did you mean 'seed'"),
        (["experiment=replace", "stats.replicate=1"], "stats.replicate: unknown option; "),
        (
            ["experiment=judgments", "task.permutations=9"],
            "task.permutations: unknown option; known are task.fitted",
        ),
        (
            ["experiment=replace", "seed=[0"],
            r"Hydra cannot read 'seed=\[0' \(no viable alternative ",
        ),
        # what was meant is looked for among the same choices
        (["dataset=coco", "dataset.captoins=x"], ".*mean 'dataset.captions'"),
        (["metric.chair.trth=[objects]"], ".*mean 'metric.chair.truth'"),
        (["dataset=own", "dataset.captions=x"], "(?!.*mean 'dataset.captions')"),
        (["limit=20"], r"limit: unknown option; did you mean 'dataset\.limit'"),
        (["metric.wmd.p=2"], r".*known only with metric=\[wmd\]"),
        (["vectors=glove", "metric=[rouge_l]"], "vectors: nothing that was chosen has this "),
        (["metric=[vifidel,wmd]"], r"vectors .*: two metrics choose it; write metrics=\["),
        # outside of Hydra's grammar too
        (
            ["dataset=battles", "dataset.winers={A>B: first}"],
            r"dataset\.winers: unknown option; did y",
        ),
        (["dataset=battles", "dataset.winners={A>B:first}"], "Hydra cannot read"),
        *(
            (["dataset=table", key], "dataset.fields.candidat: .*mean 'dataset.fields.candidate'")
            for key in ("dataset.fields.candidat=mt", "dataset.fields={candidat: mt}")
        ),
    ],
)
def test_what_cannot_be_composed_is_a_line_too(overrides: list[str], line: str) -> None:
    with pytest.raises(ConfigError, match=f"^{line}") as refusal:
        compose_config(overrides)
    assert "\n" not in str(refusal.value)


def test_a_group_is_all_its_metrics_whatever_is_listed() -> None:
    """With metric=[chair] the run went on without its controls, or with one of them."""
    words = ["experiment=graded", "dataset=scenes", "metrics=[chair,controls]"]
    controls = ["length", "random_score", "bigram_model", "longest_copy", "gold_labels"]
    for listed in ("[chair]", "[chair,length]"):
        assert selected(compose_config([*words, f"metric={listed}"])) == ["chair", *controls]
    pairs = compose_config(["experiment=pairs", "metric=[chair]", "metrics=[chair,controls]"])
    assert sorted(selected(pairs)) == sorted(["brevity", "chair", *controls])


GROUP = ["length", "random_score", "bigram_model", "longest_copy", "gold_labels"]


@pytest.mark.parametrize(
    ("words", "metrics", "added"),
    [
        (["metrics=[cider]"], ["cider", *GROUP], GROUP),
        (["metric=[cider,rouge_l]"], ["cider", "rouge_l", *GROUP], GROUP),
        (["metrics=[cider]", "controls=[brevity]"], ["cider", "brevity"], ["brevity"]),
        (["metrics=[cider]", "controls=[]"], ["cider"], []),
        (["metrics=[cider]", "controls=null"], ["cider"], []),
        (["metrics=[cider,length]"], ["cider", "length"], []),  # it names one itself
        (["metrics=[cider,length]", "controls=[]"], ["cider", "length"], []),
        (["metric=[cider,length]", "controls=[]"], ["cider"], []),
        (["metrics=[]"], [], []),
    ],
)  # fmt: skip
def test_controls_run_unless_they_are_switched_off(
    words: list[str], metrics: list[str], added: list[str]
) -> None:
    config = compose_config(["experiment=shuffle", "dataset=scenes", *words])
    complete_metrics(config)
    built, named = with_controls(config)
    assert ([m.name for m in built.values()], named) == (metrics, added)
    again = with_controls(config)  # of config.yaml
    assert (list(again[0]), again[1]) == (list(built), [])


def test_an_unknown_control_is_refused() -> None:
    config = compose_config(["experiment=shuffle", "metrics=[cider]", "controls=[lenght]"])
    with pytest.raises(ConfigError, match="unknown metric 'lenght'; did you mean 'length'"):
        with_controls(config)


def test_an_option_of_the_experiment_does_not_add_its_metric() -> None:
    """experiment=trust sets an option of SPICE."""
    config = compose_config(["experiment=trust", "metric=[bleu]"])
    complete_metrics(config)
    assert selected(config) == ["bleu", "brevity"]
    named = compose_config(["experiment=trust", "metric=[bleu]", "metrics=[spice]"])
    complete_metrics(named)
    assert selected(named) == ["spice"]
    assert named.metric.spice.parser == "perceptron"


def test_all_that_is_wrong_is_named_at_once() -> None:
    wrong = ("seed=-1", "stats.replicates=x", "strict=5", "~stats.seed")
    line = refused(compose_config(["experiment=replace", *wrong]))
    assert line.startswith("4 problems: ")
    said = ("seed: -1 is", "stats.replicates: 'x' is", "strict: 5 is", "stats.seed: a value is")
    for key in said:
        assert key in line


def test_metrics_that_a_run_leaves_out_are_checked_where_an_override_names_them() -> None:
    words = ["experiment=replace", "metrics=[bleu]", "controls=[]", "regions=gold"]
    wrong = {"metric.meteor.threads": "x", "vectors.device": 5, "metric.faier.parser": 5}
    config = with_values(compose_config(words), wrong)
    check_config(config, words)
    for key, value in wrong.items():
        with pytest.raises(ConfigError, match=f"^{key}: "):
            check_config(config, [*words, f"{key}={value}"])
    with pytest.raises(ConfigError, match=r"^metric\.bleu\.max_n: "):  # of a file, but it is used
        check_config(with_values(config, {"metric.bleu.max_n": 0}), words)
    for used in (["faier"], ["vifidel"], "grounded"):
        with pytest.raises(ConfigError, match=r"metric\.faier\.parser|vectors\.device"):
            check_config(with_values(config, {"metrics": used}), words)
    with pytest.raises(ConfigError, match=r"^3 problems: "):
        check_config(with_values(config, {"metrics": "all"}), words)


class Own:
    """A user's metric, as far as the configuration can see."""

    def __init__(self, function: str, scale: float = 1.0, plain=None) -> None:  # type: ignore[no-untyped-def]
        self.function, self.scale, self.plain = function, scale, plain


def test_a_users_metric_is_checked_by_its_annotations() -> None:
    target = f"{Own.__module__}.Own"
    node = [f"+metric.own._target_={target}", "+metric.own.function=a.b"]
    base = ["experiment=replace", "dataset=scenes", *node]
    check_config(compose_config([*base, "+metric.own.plain={anything: [1]}"]))
    line = refused(compose_config([*base, "+metric.own.scale=much", "+metric.own.scal=1"]))
    assert "metric.own.scale: 'much' is not a number" in line
    assert "metric.own.scal: unknown option; did you mean 'scale'?" in line


@pytest.mark.parametrize(
    ("value", "annotation", "said"),
    [
        (3, PositiveInt | None, []),
        (None, PositiveInt | None, []),
        (0, PositiveInt | None, ["k: 0 is not a whole number from 1 or null"]),
        ([0.5, 2], list[Rate], ["k[1]: 2 is not in (0, 1]"]),
        (True, int, ["k: true is not a whole number"]),
        ({"no": 5}, str | list[str], ["k: {'no': 5} is not text or a list of text"]),
        ([0, 1], str | list[str], ["k[0]: 0 is not text", "k[1]: 1 is not text"]),
        (
            {"calls": 0, "cals": 1},
            Budget | None,
            [
                "k.calls: 0 is not a whole number from 1 or null",
                "k.cals: unknown option; did you mean 'calls'?",
            ],
        ),
        ({"input": 1.0}, Price, ["k.output: a value is missing"]),
        (10**400, float, ["k: " + "1" + "0" * 58 + "… is not a number"]),
        (1, Share, []),
        ("cuda:1", Device, []),
        (Elsewhere(), Own, []),
        ("x", Own, ["k: 'x' is not a component (a node with a _target_)"]),
    ],
)
def test_annotations_and_values(value: Any, annotation: Any, said: list[str]) -> None:
    assert list(problems(value, annotation, "k")) == said


def test_what_is_known_of_annotations() -> None:
    assert described(dict[str, int]) == "a mapping"
    known = OptionsOf("metaeval.metrics.faier.network.FaierShape", without=("d_u",)).known()
    assert ("d_u" in known, "width" in known) == (False, True)
    assert did_you_mean("zzz", ["seed"]) == ""
    assert options_of(Elsewhere) == ({}, False)  # a class: in a configuration its value is a node
