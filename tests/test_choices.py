"""Options of metrics outside of the default list, and small things of the command."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import metaeval
from metaeval import choices
from metaeval.config import compose_config, metric_names, selected
from metaeval.errors import ConfigError
from metaeval.weights import shipped


def test_the_options_of_every_metric_are_known() -> None:
    config = compose_config(["metrics=[chair]", "metric.chair.truth=[references]"])
    assert selected(config) == ["chair"]
    assert list(config.metric.chair.truth) == ["references"]
    both = compose_config(["metric=[bleu]", "metric.judge.model=x", "metric.bleu.max_n=2"])
    assert list(both.metric) == ["bleu", "judge"]
    assert compose_config(["metric=[chair]", "metric.chair.ontology=x"]).metric.chair.truth


def test_every_metric_can_be_added_by_an_option() -> None:
    names = [name for name in metric_names() if name not in ("wmd", "mean")]
    config = compose_config([f"metric.{name}._target_=a.b" for name in names])
    for name in names:
        assert config.metric[name]._target_ == "a.b"


def test_an_option_of_another_list_is_explained() -> None:
    with pytest.raises(ConfigError, match=r"known only with metric=\[wmd\]"):
        compose_config(["metric.wmd.p=2"])
    assert compose_config(["metric=[wmd]", "metric.wmd.p=2"]).metric.wmd.p == 2


@pytest.mark.parametrize(
    ("overrides", "meant"),
    [
        (["dataset=coco", "dataset.captoins=x"], "'dataset.captions'"),
        (["metric.chair.trth=[objects]"], "'metric.chair.truth'"),
    ],
)
def test_what_was_meant_is_looked_for_among_the_same_choices(
    overrides: list[str], meant: str
) -> None:
    with pytest.raises(ConfigError, match=f"did you mean {meant}"):
        compose_config(overrides)


def test_nothing_suggests_the_option_that_was_given() -> None:
    with pytest.raises(ConfigError) as error:
        compose_config(["dataset=own", "dataset.captions=x"])
    assert "mean 'dataset.captions'" not in str(error.value)


def test_overrides_are_added_once() -> None:
    assert choices.metric_overrides(["metric.chair.truth=[]"]) == ["+metric@metric.chair=chair"]
    assert not choices.metric_overrides(["+metric@metric.chair=chair", "metric.chair.truth=[]"])
    assert not choices.metric_overrides(["metric.cider.tokenizer=ptb", "metric.x.y=1"])


def test_the_version_is_metaevals() -> None:
    command = [sys.executable, "-m", "metaeval", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"metaeval {metaeval.__version__}\n"


def test_caches_of_python_are_not_weights(tmp_path: Path) -> None:
    (tmp_path / "__pycache__").mkdir()
    assert shipped.lines(tmp_path) == []


def test_usage_lines_name_modules_that_a_user_can_run() -> None:
    """`python -m reports` was one; the folder is called metaeval.reports from outside."""
    root = Path(metaeval.__file__).parent
    folders = (root, *(root / name for name in ("corruptions", "experiments", "reports")))
    sources = [p.read_text(encoding="utf-8") for folder in folders for p in folder.rglob("*.py")]
    named = {m for text in sources for m in re.findall(r'prog="python -m ([\w.]+)', text)}
    assert {"metaeval.doctor", "metaeval.report"} <= named
    for module in named:
        assert module.partition(".")[0] == "metaeval"
        assert find_spec(module) is not None
