"""Options of metrics outside of the default list, small things of the command, and values that
Hydra's own parser reads back."""

import re
import sys
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

import metaeval
from metaeval import choices
from metaeval.cli.main import VERBS, import_from_here, run_verb
from metaeval.cli.run import _with_experiment
from metaeval.config import complete_metrics, compose_config, metric_names, selected
from metaeval.errors import ConfigError, InputError
from metaeval.overrides import hydra_arguments, metric_overrides, override_texts, require_listed
from tests.forked import run_command


def test_the_options_of_every_metric_are_known() -> None:
    config = compose_config(["metrics=[chair]", "metric.chair.truth=[references]"])
    assert (selected(config), list(config.metric.chair.truth)) == (["chair"], ["references"])
    both = compose_config(["metric=[bleu]", "metric.judge.model=x", "metric.bleu.max_n=2"])
    assert list(both.metric) == ["bleu", "judge"]
    assert compose_config(["metric=[chair]", "metric.chair.ontology=x"]).metric.chair.truth
    assert compose_config(["metric=[wmd]", "metric.wmd.p=2"]).metric.wmd.p == 2


def test_every_metric_can_be_added_by_an_option() -> None:
    names = [name for name in metric_names() if name not in ("wmd", "mean")]
    config = compose_config([f"metric.{name}._target_=a.b" for name in names])
    assert {name: config.metric[name]._target_ for name in names} == dict.fromkeys(names, "a.b")


def test_a_configuration_is_composed_again_where_a_file_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choices, "_added", [tmp_path])
    (tmp_path / "metric").mkdir()
    for k in range(2):
        text = f"# @package metric.mine\n_target_: a.b\nk: {k}\n"
        (tmp_path / "metric" / "mine.yaml").write_text(text)
        for _ in range(2):
            config = compose_config(["metric=[mine]"])
            assert config.metric.mine.k == k
            config.metric.mine.k = 7  # the caller's own


def test_overrides_are_added_once() -> None:
    assert metric_overrides(["metric.chair.truth=[]"]) == ["+metric@metric.chair=chair"]
    assert not metric_overrides(["+metric@metric.chair=chair", "metric.chair.truth=[]"])
    assert not metric_overrides(["metric.cider.tokenizer=ptb", "metric.x.y=1"])


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        (["dataset.file=a=b.csv"], {"dataset.file": "a=b.csv"}),
        (["dataset.file=a#b.csv"], {"dataset.file": "a#b.csv"}),
        (["dataset.file=a'b.csv"], {"dataset.file": "a'b.csv"}),
        (["dataset.file=图片.csv"], {"dataset.file": "图片.csv"}),
        (["dataset.file=mine (1).csv"], {"dataset.file": "mine (1).csv"}),
        (["hydra.run.dir=out#1"], {"hydra.run.dir": "out#1"}),
        (["captions=[a=b.json,c (1),d]"], {"captions": ["a=b.json", "c (1)", "d"]}),
        (["metric.callable.on_error=nan"], {"metric.callable.on_error": "nan"}),
        (["seed=1", "metrics=[bleu,cider]"], {"seed": 1, "metrics": ["bleu", "cider"]}),
        (["dataset.file='a=b.csv'"], {"dataset.file": "a=b.csv"}),
    ],
)
def test_what_hydras_grammar_cannot_read_is_quoted(
    arguments: list[str], read: dict[str, object]
) -> None:
    parsed = OverridesParser.create().parse_overrides(hydra_arguments(arguments))
    assert {each.key_or_group: each.value() for each in parsed} == read


def test_flags_may_be_anywhere_and_each_value_of_a_sweep_is_quoted() -> None:
    given = ["experiment=x", "--config-dir", "a b", "seed=1,2", "-m", "dataset.file=a=1.csv,b.csv"]
    flags, overrides = ["--config-dir", "a b", "-m"], ["experiment=x", "seed=1,2"]
    expected = [*flags, *overrides, "dataset.file='a=1.csv',b.csv"]
    assert hydra_arguments(given) == expected
    assert hydra_arguments(expected) == expected


@pytest.mark.parametrize("override", ["captions={a:b=c.json}", "captions=[a, b", "bleu"])
def test_what_cannot_be_quoted_says_how(override: str) -> None:
    assert hydra_arguments([override]) == [override]
    with pytest.raises(ConfigError) as refused:
        compose_config([override])
    assert str(refused.value).startswith(f"Hydra cannot read {override!r}")
    assert "KEY=['TEXT','TEXT']" in str(refused.value)


@pytest.mark.parametrize("arguments", [("--version",), ("experiment=replace", "--version")])
def test_the_version_is_metaevals(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = run_command("metaeval", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"metaeval {metaeval.__version__}\n")


def test_the_help_has_thirty_lines_and_examples_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = run_command("metaeval", "--help", cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert len(lines) <= 30
    assert lines[2].split()[:2] == ["metaeval", "replace"]
    assert len(VERBS) <= 10
    for name, verb in VERBS.items():
        assert f"  {name}" in done.stdout
        with pytest.raises(SystemExit) as ended:
            run_verb([name, "--help"])
        assert ended.value.code == 0
        assert f"usage: metaeval {name}" in capsys.readouterr().out
        module, _, function = verb.function.partition(":")
        assert callable(getattr(import_module(module), function))


def test_the_script_finds_modules_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`metaeval` in bin/, unlike `python -m metaeval`, did not have it in sys.path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["/usr/bin"])
    import_from_here()
    assert sys.path == [str(tmp_path), "/usr/bin"]


@pytest.mark.parametrize(
    ("words", "read"),
    [
        (["replace", "seed=1"], ["experiment=replace", "seed=1"]),
        (["-m", "seed=1,2", "shuffle"], ["-m", "seed=1,2", "experiment=shuffle"]),
        (["~stats.seed", "+a.b=1"], ["~stats.seed", "+a.b=1"]),
    ],
)
def test_an_experiment_is_a_word(words: list[str], read: list[str]) -> None:
    assert _with_experiment(words, VERBS) == read


@pytest.mark.parametrize(("word", "meant"), [("docter", "doctor"), ("replaces", "replace")])
def test_an_unknown_word_gets_a_suggestion(word: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"^unknown command '{word}'; did you mean '{meant}'"):
        _with_experiment([word], VERBS)


@pytest.mark.parametrize(
    ("override", "problem"),
    [
        ("dataset=../../evil", "unknown dataset '../../evil'"),
        ("dataset=${oc.env:HOME}", "unknown dataset"),
        ("dataset=scenes,valse", "unknown dataset"),
        ("metric=[bleu,../evil]", "unknown metric '../evil'"),
        ("report=../x", "unknown report '../x'"),
        ("dataset._target_=os.system", "could run code"),
        ("dataset.x={_target_: os.system}", "could run code"),
        ("dataset.file=${oc.decode:x}", "could run code"),
        ("corruption.function=os.system", "could run code"),
        ("metric.command.preset=capevalkit:polos", "could run code"),
        ("metric={command: {preset: capevalkit:polos}}", "could run code"),
        ("metric={callable: {function: os.system}}", "could run code"),
        ("metric@metric.y=../x", "could run code"),
        ("+dataset=scenes", "could run code"),
        ("~dataset", "could run code"),
        ("hydra.searchpath=[file:///x]", "could run code"),
        ("hydra/launcher=x", "could run code"),
        ("/dataset=x", "is not KEY=VALUE"),
        ("x", "is not KEY=VALUE"),
        ("dataset=scenes", ""),
        ("metric=[bleu,cider]", ""),
        ("task.corruptions=[objects,people]", ""),
        ("dataset.file=${paths.data}/x", ""),
    ],
)
def test_overrides_of_a_file_name_listed_choices_and_no_code(override: str, problem: str) -> None:
    refused = pytest.raises(InputError, match=re.escape(problem)) if problem else nullcontext()
    with refused:
        require_listed([override], Path("battery.yaml"), "items.x")


@pytest.mark.parametrize(
    "value",
    [
        "plain", "a b", "5", "1e5", "null", "True", "nan", "-inf", "/data/a-b.json", "it's", "",
        "${paths.data}/coco/x.json", "x:y", "a,b", "[a]", "é", "日本", "a=b", "$HOME", "-5",
        "back\\slash", "end\\", "\\'", "two\\\\'",
        5, 0.25, True, None, ["a", "1", 2], {"M2": "${paths.data}/m.json", "x": [1, "true"]},
    ],
)  # fmt: skip
def test_values_come_back_from_hydras_grammar_as_they_are(value: object) -> None:
    (text,) = override_texts({"some__option": value})
    read = OverridesParser.create().parse_override(text)
    assert read.key_or_group == "some.option"
    assert read.value() == value
    assert type(read.value()) is type(value)


@pytest.mark.parametrize(
    "value",
    [
        {"LLaVA 1.5": "a.json", "BLIP-2 (v2)": "b=c.json", "图": "d.json", "1": "e", "[[A]]": "f"},
        {"A>B": "first", "A=B": "tie", "null": "tie", "😀 \x85": None, 'it"s': ["x", {"y z": 1.5}]},
        [{"a b": True}, "c"],
    ],
)
def test_any_text_is_a_key_of_a_mapping(value: object) -> None:
    (text,) = override_texts({"captions": value})
    config = compose_config(["experiment=captioners", text])
    assert OmegaConf.to_container(config)["captions"] == value  # type: ignore[call-overload, index]


@pytest.mark.parametrize(
    ("override", "key", "value"),
    [
        ("dataset.winners={A>B: first, B>A: second}", "winners", {"A>B": "first", "B>A": "second"}),
        ("dataset.fields={winner: it's}", "fields", {"winner": "it's"}),
    ],
)
def test_the_command_has_a_way_for_any_key(override: str, key: str, value: dict[str, str]) -> None:
    config = compose_config(["dataset=battles", "dataset.file=x", override])
    assert {k: v for k, v in config.dataset[key].items() if v is not None} == value


def test_a_function_is_its_name_and_one_of_a_prompt_is_refused() -> None:
    assert override_texts({"f": OmegaConf.create}) == ["f=omegaconf.omegaconf.OmegaConf.create"]
    with pytest.raises(ConfigError, match="cannot import"):
        override_texts({"f": lambda captions: 1})


def test_values_of_numpy_are_those_of_python() -> None:
    given = {"a": np.int64(5), "b": np.float64(0.25), "c": np.bool_(True), "d": np.arange(2)}
    assert override_texts(given) == ["a=5", "b=0.25", "c=true", "d=[0,1]"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("function=[a.f,b.g]", [("callable", "a.f", None), ("callable_2", "b.g", None)]),
        (
            "function={Mine: a.f, Other: b.f}",
            [("callable", "a.f", "Mine"), ("callable_2", "b.f", "Other")],
        ),
        ("function=a.f", [("callable", "a.f", None)]),
    ],
)
def test_several_functions_are_a_metric_each(
    given: str, expected: list[tuple[str, str, str | None]]
) -> None:
    config = compose_config([f"metric.callable.{given}", "metrics=[bleu,callable]"])
    complete_metrics(config)
    nodes = [(k, v.function, v.name) for k, v in config.metric.items() if "callable" in str(k)]
    assert nodes == expected
    assert list(config.metrics) == ["bleu", *(key for key, *_ in expected)]


def test_several_files_of_scores_have_a_name_each() -> None:
    config = compose_config(["metric.scores.file={Mine: x.csv, Other: [y.csv,z.csv]}"])
    complete_metrics(config)
    assert (config.metric.scores.file, config.metric.scores.label) == ("x.csv", "Mine")
    other = config.metric.scores_2
    assert (list(other.file), other.label) == (["y.csv", "z.csv"], "Other")
    config = compose_config(["metric.scores.file=[x.csv,y.csv]"])
    complete_metrics(config)  # parts of one table
    assert list(config.metric.scores.file) == ["x.csv", "y.csv"]
    config = compose_config(["metric.scores.file=[x.csv,y.csv]", "metric.scores.label=[Mine]"])
    with pytest.raises(ConfigError, match=r"metric\.scores\.label: give a list of 2 names"):
        complete_metrics(config)
