"""Values from the environment: written as they are in the configuration, digests in signatures; the
digest of a user's code: its module and what that imports, whatever else lies there."""

import hashlib
import importlib
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from metaeval.config import build, compose_config
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import StrictError
from metaeval.experiments.run import run_configured
from metaeval.results.base import Estimate, Measured
from metaeval.runs.environment import as_written, from_environment, hidden, hidden_in
from metaeval.runs.source import source_digest
from metaeval.runs.store import MemoryStore
from tests.shared import write_texts

SECRET = 'sk-"SÜPER"-SECRET-123'
WRITTEN = "${oc.env:MY_KEY}"
ROW = '{"image_id": %d, "caption": "a %s dog runs over the green grass in a park"}\n'


def scored(captions: list[str], references: list[list[str]], key: str = "") -> list[float]:
    assert key == SECRET  # the function gets the value
    return [float(len(text)) for text in captions]


def failing(captions: list[str], key: str = "") -> list[float]:
    raise ValueError(f"401 for {key}")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", SECRET)
    monkeypatch.setenv("METAEVAL_DATA", "/my/data")


def test_what_refers_to_the_environment_stays_as_it_is_written() -> None:
    node: Any = OmegaConf.create(
        {
            "a": WRITTEN,
            "b": "${a}",
            "c": "key=${oc.env:MY_KEY}!",
            "d": "${oc.env:NOT_SET,null}",
            "e": "${oc.env:METAEVAL_DATA}",
            "f": [1, "${e}/x"],
        }
    )
    assert as_written(node) == {
        "a": WRITTEN, "b": WRITTEN, "c": f"key={WRITTEN}!", "d": "${oc.env:NOT_SET,null}",
        "e": "/my/data", "f": [1, "/my/data/x"],
    }  # fmt: skip
    assert from_environment(node) == {SECRET: WRITTEN, f"key={SECRET}!": f"key={WRITTEN}!"}
    assert OmegaConf.to_container(node, resolve=True)["a"] == SECRET


def test_every_form_of_a_value_is_hidden() -> None:
    values = {SECRET: WRITTEN, "e": "${oc.env:E}"}
    escaped = 'sk-\\"S\\u00dcPER\\"-SECRET-123'
    assert hidden(f"[{SECRET}] [{escaped}]", values) == f"[{WRITTEN}] [{WRITTEN}]"
    digest = hashlib.sha256(SECRET.encode()).hexdigest()[:12]
    assert hidden(SECRET, values, digests=True) == f"{WRITTEN}#{digest}"
    assert hidden("x", {}) == "x"


def test_a_signature_has_a_digest_of_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = CaptionDataset("d", (0,), ("a",), (("a",),), (0,), ("a",))
    options = ["metric=[callable]", "metric.callable.function=tests.runs.test_environment.scored"]
    options.append("metric.callable.options={key: '${oc.env:MY_KEY}'}")
    made = []
    for value in (SECRET, "sk-another"):
        monkeypatch.setenv("MY_KEY", value)
        metric = build("callable", compose_config(options))
        scorer: Any = metric.scorer(dataset, MemoryStore())
        made += scorer.signatures
        assert value not in made[-1]
        assert WRITTEN in made[-1]
    assert made[0] != made[1]


def test_short_values_and_numbers_of_a_result_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    node: Any = OmegaConf.create({"a": WRITTEN, "b": "${oc.env:SHORT}", "c": "${oc.env:LONG}"})
    monkeypatch.setenv("SHORT", "on")
    monkeypatch.setenv("LONG", "12345678")
    values = {"number": Estimate(value=0.12345678)}
    found = hidden_in(Measured(values=values, facts={f"of {SECRET}": "on 12345678"}), node)
    assert found.facts == {f"of {WRITTEN}": "on ${oc.env:LONG}"}
    assert found.values == values


@pytest.mark.slow
@pytest.mark.parametrize("function", ["scored", "failing"])
def test_no_file_of_a_run_or_of_the_cache_has_the_value(
    function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("small", "brown", "green")
    Path("own.jsonl").write_text("".join(ROW % (k, word) for k in range(12) for word in words))
    config = compose_config(
        [
            "experiment=replace", "dataset=own", "dataset.file=own.jsonl",
            "metric=[callable,length]",
            f"metric.callable.function=tests.runs.test_environment.{function}",
            "metric.callable.options={key: '${oc.env:MY_KEY}'}", "report.signatures=true",
            "stats.replicates=20", f"paths.cache={tmp_path / 'cache'}",
        ]
    )  # fmt: skip
    with suppress(StrictError):  # no metric has scores
        run_configured(config, tmp_path / "out")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"config.yaml", "statistics.json", "report.html", "content.sqlite"} <= {
        path.name for path in files
    }
    forms = [SECRET.encode(), b"SECRET-123"]
    assert [path.name for path in files if any(f in path.read_bytes() for f in forms)] == []
    assert WRITTEN in (tmp_path / "out" / "config.yaml").read_text()


FILES = {
    "mine.py": "import json, numpy\nfrom parts import shared\nfrom loose import leaf\n\n"
    "def score(captions):\n"
    "    import late\n    return [late.X + shared.X for _ in captions]\n",
    "late.py": "X = 1\n",
    "loose/leaf.py": "X = 1\n",  # of a package without __init__.py
    "parts/__init__.py": "A = 1\n",
    "parts/shared.py": "from . import deep as d\nfrom .inner.leaf import X\n",
    "parts/deep.py": "D = 1\n",
    "parts/inner/__init__.py": "",
    "parts/inner/leaf.py": "from ...... import nothing  # beyond the package\nX = 1\n",
    "parts/unused.py": "U = 1\n",
}
NAMES = {name.partition("/")[0].partition(".")[0] for name in FILES}


def digest(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """The digest of `mine.score` as a new process finds it; only `mine` itself is run."""
    for name in [n for n in sys.modules if n.partition(".")[0] in NAMES]:
        del sys.modules[name]
    importlib.invalidate_caches()
    module = type(sys)("mine")
    module.__file__, module.__package__ = str(folder / "mine.py"), ""
    monkeypatch.setitem(sys.modules, "mine", module)
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(folder))
        exec("def score(captions): ...", module.__dict__)
        return source_digest(module.score)


def test_a_file_that_is_not_imported_has_no_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_texts(tmp_path / "a", FILES)
    first = digest(folder, monkeypatch)
    (folder / "unrelated.py").write_text("import mine\n")
    (folder / "parts" / "unused.py").write_text("U = 2\n")
    assert digest(folder, monkeypatch) == first
    for place in ("moved/b", "site-packages/mine"):  # also where a folder has Python's name
        assert digest(write_texts(tmp_path / place, FILES), monkeypatch) == first


@pytest.mark.parametrize(
    "name", [n for n in FILES if n not in ("parts/unused.py", "parts/inner/__init__.py")]
)
def test_an_edit_of_what_is_imported_changes_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_texts(tmp_path, FILES)
    first = digest(folder, monkeypatch)
    (folder / name).write_text(FILES[name] + "MORE = 1\n")
    assert digest(folder, monkeypatch) != first
    (folder / name).write_text(FILES[name])
    assert digest(folder, monkeypatch) == first
