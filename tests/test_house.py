"""The house stays one that can be walked: rooms of a size to read, and one name for one thing.

Which room may import which is held by import-linter (`[tool.importlinter]` in pyproject.toml).
"""

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("metaeval", "corruptions", "experiments", "reports")
MOST_MODULES = 15
# what scenes show and say: one file per kind of thing; results: one module per experiment
CONTENT = (ROOT / "metaeval/data/scenes", ROOT / "metaeval/results")


def modules(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def test_no_folder_holds_more_modules_than_one_reads() -> None:
    folders = Counter(
        path.parent
        for path in modules(*PACKAGES, "benchmarks")
        if path.name != "__init__.py" and not any(path.is_relative_to(c) for c in CONTENT)
    )
    crowded = {str(f.relative_to(ROOT)): n for f, n in folders.items() if n > MOST_MODULES}
    assert not crowded


def test_no_two_public_classes_share_a_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in modules(*PACKAGES):
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(ROOT)))
    assert not {name: files for name, files in places.items() if len(files) > 1}


def test_files_that_the_code_names_are_there() -> None:
    """As `metaeval/stats/…/x.py` or conf/…/x.yaml, from the root or from `metaeval/`."""
    path = re.compile(r"\b((?:[a-z_]+/)+[a-z_0-9]+\.(?:py|yaml|bib))\b")
    wrong = {
        f"{module.relative_to(ROOT)}: {named}"
        for module in modules(*PACKAGES, "benchmarks")
        for named in path.findall(module.read_text(encoding="utf-8"))
        if not any((base / named).is_file() for base in (ROOT, ROOT / "metaeval", module.parent))
    }
    assert not wrong - {  # in the authors' repository
        "metaeval/metrics/clipscore/metric.py: evaluation/pac_score/pac_score.py"
    }


def test_no_folder_exceeds_its_budget() -> None:
    """A folder that must grow gets a larger budget in pyproject.toml, in the same commit."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    budgets = tomllib.loads(text)["tool"]["metaeval"]["budgets"]
    links = tuple(ROOT / "metaeval" / package for package in PACKAGES[1:])
    sizes = {
        top: sum(
            isinstance(node, ast.stmt)
            for path in modules(top)
            if not any(path.is_relative_to(link) for link in links)
            for node in ast.walk(tree_of(path))
        )
        for top in budgets
    }
    assert set(budgets) == {*PACKAGES, "benchmarks", "tests"}
    assert sizes["metaeval"] > 10_000
    assert {top: n for top, n in sizes.items() if n > budgets[top]} == {}


SLOW = ["matplotlib", "nltk", "pandas", "scipy", "scipy.stats", "seaborn", "torch"]


@pytest.mark.parametrize(
    ("command", "needed"),
    [
        (["-m", "metaeval", "--help"], []),
        # options of all metrics are checked
        (
            [
                "-c",
                "import metaeval.config as c, metaeval.schema as s; "
                "s.check_config(c.compose_config(['experiment=judgments']))",
            ],
            SLOW[:-1],
        ),
        (
            [
                "-c",
                "import metaeval.config as c, metaeval.schema as s; "
                "s.check_config(c.compose_config(['experiment=replace', 'metrics=[bleu]']), [])",
            ],
            SLOW[2:4],
        ),
        # of a run in which all is known: it neither draws nor loads a network
        (["-c", "import metaeval.experiments.run, metaeval.reports.graded.page"], SLOW[2:4]),
    ],
)
def test_what_is_slow_to_import_is_imported_where_it_is_used(
    command: list[str], needed: list[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *command],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "metaeval" in imported
    assert [name for name in SLOW if name in imported and name not in needed] == []
