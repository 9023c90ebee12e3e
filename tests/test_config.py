"""Values as Hydra's overrides: its own parser reads them back."""

import numpy as np
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from metaeval.config import complete_metrics, compose_config
from metaeval.errors import ConfigError
from metaeval.overrides import override_texts


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


def test_a_key_that_no_option_has_is_refused_outside_the_grammar_too() -> None:
    with pytest.raises(ConfigError, match=r"^dataset\.winers: unknown option; did you mean"):
        compose_config(["dataset=battles", "dataset.winers={A>B: first}"])
    with pytest.raises(ConfigError, match=r"^Hydra cannot read"):
        compose_config(["dataset=battles", "dataset.winners={A>B:first}"])


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
