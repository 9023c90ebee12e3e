"""Options of metrics outside of the default list, and small things of the command."""

import re
import sys
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

import metaeval
from metaeval import installation
from metaeval.cli.main import VERBS, import_from_here, run_verb
from metaeval.cli.run import _with_experiment
from metaeval.config import compose_config, metric_names, selected
from metaeval.errors import ConfigError, InputError
from metaeval.overrides import hydra_arguments, metric_overrides, require_listed
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
    monkeypatch.setattr(installation, "_added", [tmp_path])
    (tmp_path / "metric").mkdir()
    for k in range(2):
        text = f"# @package metric.mine\n_target_: a.b\nk: {k}\n"
        (tmp_path / "metric" / "mine.yaml").write_text(text)
        for _ in range(2):
            config = compose_config(["metric=[mine]"])
            assert config.metric.mine.k == k
            config.metric.mine.k = 7  # the caller's own


@pytest.mark.parametrize(
    ("overrides", "meant"),
    [
        (["dataset=coco", "dataset.captoins=x"], "mean 'dataset.captions'"),
        (["metric.chair.trth=[objects]"], "mean 'metric.chair.truth'"),
        (["dataset=own", "dataset.captions=x"], "^(?!.*mean 'dataset.captions')"),
        (["limit=20"], r"^limit: unknown option; did you mean 'dataset\.limit'"),
        (["metric.wmd.p=2"], r"known only with metric=\[wmd\]"),
    ],
)
def test_what_was_meant_is_looked_for_among_the_same_choices(
    overrides: list[str], meant: str
) -> None:
    with pytest.raises(ConfigError, match=meant):
        compose_config(overrides)


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
