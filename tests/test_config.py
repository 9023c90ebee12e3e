"""Values as Hydra's overrides: its own parser reads them back."""

from __future__ import annotations

import numpy as np
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from metaeval.config import override_texts


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


def test_values_of_numpy_are_those_of_python() -> None:
    given = {"a": np.int64(5), "b": np.float64(0.25), "c": np.bool_(True), "d": np.arange(2)}
    assert override_texts(given) == ["a=5", "b=0.25", "c=true", "d=[0,1]"]
