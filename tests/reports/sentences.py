"""The sentences of the reports, and the tests with data for which each of them is false.

    python -m tests.reports.sentences            # every function that writes sentences, its tests
    python -m tests.reports.sentences --missing  # those without a test

A test names the function that writes the sentence:

    @pytest.mark.falsifies("reports.graded.summary.leaders")
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
_WORDS = 5  # a string of fewer words is a label
_SENTENCE = re.compile(r"[a-z]{2,} .*[a-z]{2,}")


class Writer(NamedTuple):
    """A function that writes sentences: its name, and its longest template."""

    name: str
    template: str


def writers() -> list[Writer]:
    """The functions of reports/, of the printouts and of the result of experiment=trust that
    contain sentences."""
    files = [*sorted((ROOT / "reports").rglob("*.py"))]
    files += sorted((ROOT / "experiments").rglob("printout.py"))
    files.append(ROOT / "metaeval" / "results" / "trust.py")
    found = []
    for path in files:
        for name, node in _definitions(path):
            templates = [text for text in _templates(node) if _is_sentence(text)]
            if templates:
                found.append(Writer(name, max(templates, key=len)))
    return found


def functions() -> set[str]:
    """All functions of reports/, experiments/ and results, by name: a mark may name the one that
    decides."""
    folders = (ROOT / "reports", ROOT / "experiments", ROOT / "metaeval" / "results")
    return {
        name
        for folder in folders
        for path in folder.rglob("*.py")
        for name, _ in _definitions(path)
    }


def _definitions(path: Path) -> Iterator[tuple[str, ast.FunctionDef]]:
    """The functions of a module, and the methods of its classes as "module.Class.method"."""
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removeprefix("metaeval.")
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            yield f"{module}.{node.name}", node
        elif isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    yield f"{module}.{node.name}.{method.name}", method


def falsifiers() -> dict[str, list[str]]:
    """Name of a writer → the tests that are marked to falsify its sentences."""
    tests: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                for target in _marks(node):
                    name = target.removeprefix("metaeval.")
                    tests[name].append(f"{path.relative_to(ROOT).as_posix()}::{node.name}")
    return dict(tests)


def _marks(node: ast.FunctionDef) -> Iterator[str]:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith(".falsifies"):
            for argument in decorator.args:
                if isinstance(argument, ast.Constant):
                    yield str(argument.value)


def _templates(function: ast.FunctionDef) -> Iterator[str]:
    """The strings of a function, with {} for what is filled in; its docstring is left out."""
    docstring = ast.get_docstring(function, clean=False)
    inside = {
        id(part)
        for node in ast.walk(function)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node
    }
    for node in ast.walk(function):
        if id(node) in inside:
            continue
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(p.value) if isinstance(p, ast.Constant) else "{}" for p in node.values
            )
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value != docstring
        ):
            yield node.value


def _is_sentence(text: str) -> bool:
    return len(text.split()) >= _WORDS and _SENTENCE.search(text) is not None and "<" not in text


def main() -> int:
    """The command: print a line for each writer."""
    parser = argparse.ArgumentParser(prog="python -m tests.reports.sentences")
    parser.add_argument("--missing", action="store_true", help="only those without a test")
    missing = parser.parse_args().missing
    tests = falsifiers()
    every = writers()
    for writer in every:
        known = tests.get(writer.name, [])
        if known and missing:
            continue
        print(f"{writer.name}\n    {' '.join(writer.template.split())[:110]}")
        print("\n".join(f"    falsified by {test}" for test in known) or "    no test is marked")
    n = sum(writer.name in tests for writer in every)
    print(f"{n} of {len(every)} functions that write sentences have a marked test")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
