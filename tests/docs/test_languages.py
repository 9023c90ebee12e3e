"""docs/languages.md says of every metric which languages it reads."""

import re
from pathlib import Path

import pytest
from hydra.utils import get_class

from metaeval.readers.yaml_text import read_yaml

pytestmark = pytest.mark.docs
ROOT = Path(__file__).parents[2]


def test_every_metric_is_named_with_its_languages() -> None:
    text = (ROOT / "docs/languages.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*) \| (.*) \|$", text, re.MULTILINE)
    named = {name: languages for names, languages in rows for name in re.findall(r"`(\w+)`", names)}
    files = {path.stem: path for path in (ROOT / "conf/metric").glob("*.yaml")}
    assert named.keys() == files.keys()
    for name, path in files.items():
        target = read_yaml(path).get("_target_")
        languages = get_class(target).languages if target else None
        if languages is not None:
            assert languages == {"en"}
            assert named[name] == "English"
