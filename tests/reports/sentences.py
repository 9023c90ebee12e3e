"""The sentences of the reports and printouts, and the tests with data for which each is false.

    python -m tests.reports.sentences            # every function that writes sentences, its tests
    python -m tests.reports.sentences --missing  # those without a test

A test names the function that writes the sentence:

    @pytest.mark.falsifies("reports.graded.summary.leaders")

A sentence is a string of two words or more that ends with a full stop or contains a finite verb
or a word of a test (`CLAIMS`). By their place these strings are no sentences about data:
docstrings, error and log messages, texts of a command's options, captions of tables, headings, and
keys of dictionaries. Of templates and scripts, what they state about a run
(`template_sentences.py`).
`DEFINITIONS` names the functions whose sentences define terms or columns, whatever the data.
A constant of a module belongs to every function of the module that reads it.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.reports.template_sentences import statements, strings

ROOT = Path(__file__).parents[2]
FOLDERS = ("reports", "metaeval/results", "experiments")
NO_REPORT = ("experiments.training.",)  # they write weights and their card
_WORDS = 2  # a string of fewer words is a label
# Finite verbs, and words of tests, without which a string of the reports names something.
CLAIMS = re.compile(
    r"""\b(
    is|are|was|were|be|has|have|had|does|do|did|can|cannot|could|would|will|may|must|
    agrees?|allows?|beats?|chooses?|chose|contains?|contradicts?|decides?|depends?|differs?|disagree|explains?|
    falls?|finished|follows?|gains?|gets?|gives?|goes|knows?|lies?|loses?|makes?|miss|misses|
    overlaps?|overstates|prefers?|punishes|puts?|raises?|reach|reaches|reached|rises?|saw|says?|
    sees|seen|separates?|shows?|shown|stays?|tells?|tested|uses?|wins?|
    separated|significant|significantly|undecided|decided
    )\b""",
    re.VERBOSE,
)
_WORD = re.compile(r"[^\W\d_]+")
_NO_SENTENCES = {  # calls whose strings are no statements about data
    "ArgumentParser", "add_argument", "add_parser", "InputError", "ValueError", "Header",
    "PrintTable", "plain_table", "saved_table", "ColumnHead", "debug", "info", "warning", "error",
}  # fmt: skip
_CAPTIONS = {"caption", "table_caption", "alt", "lead", "tip", "axis"}  # variables and arguments
_HEADED = {"Finding": 1, "Alert": 2}  # calls whose first arguments are headings
# Reason → functions whose strings state nothing about the data of a run.
DEFINITIONS: Mapping[str, Sequence[str]] = {
    "heads and legends, which define what is shown": (
        "reports.arena.page.render", "reports.attack.figures.write_figures",
        "reports.captioners.tables.agreement", "reports.forced_choice.examples.examples",
        "reports.forced_choice.page.render", "reports.forced_choice.table.choice_table",
        "reports.judgments.examples.examples", "reports.judgments.page.render",
        "reports.judgments.table.ratings_table", "reports.pairs.paper.tables",
        "reports.sample_size.page._draw",
        "reports.reproduction.page.render", "reports.trust.card.card",
        "experiments.pairs.files._lines",
    ),
    "methods and labels in a part of a template that not every page has": (
        "reports.graded.templates.graded: Who beats whom",
        "reports.judgments.templates.judgments: How often people prefer the",
        "reports.sensitivity.templates.sensitivity: Joined at the distance of",
        "reports.trust.templates.trust: Verdicts of two metrics are",
        "reports.trust.templates.trust: On the captions that both",
    ),
    "legends of drawings, errors of a script": (
        "reports.graded.script.3-drill-alignment: Rows are the caption’s tokens,",
        "reports.graded.script.3-drill-grounding: How much of each region",
        "reports.graded.script.3-drill-matches: Rows are words and relations,",
        "reports.graded.script.3-drill-objects: Objects that are both in",
        "reports.graded.script.3-drill-tuples: Tuples of the scene graphs;",
        "reports.graded.script.3-drill: The explanation could not be",
        "reports.graded.script.3-drill: This report cannot draw what",
        "reports.shared.script.2-search: The {} could not be",
        "reports.shared.script.0-page: use strict",
    ),
    "a style sheet, BibTeX, LaTeX, captions that an attack tries": (
        "reports.shared.page._levels", "reports.paper.citations.software",
        "reports.paper.latex_layout.tables", "reports.paper.latex_layout.signature_note",
        "experiments.attack.searches.generic_captions",
    ),
    "why input is refused, with tests of their own": (
        "experiments.score.cluster.score_blocks", "experiments.score.rows._row",
        "experiments.score.rows._references", "experiments.score.worker.bound_to",
        "experiments.scores.score_all", "experiments.retrieval.matrix.score_every_pair",
    ),
}  # fmt: skip


class Writer(NamedTuple):
    """A function that writes sentences: its name, and its templates."""

    name: str
    templates: tuple[str, ...]


def writers() -> list[Writer]:
    """The functions that contain sentences, by file, and the sentences of templates and scripts,
    except those of `DEFINITIONS`."""
    defined = {name for names in DEFINITIONS.values() for name in names}
    written = [
        Writer(f"{module}.{name}", tuple(templates))
        for module, source in _modules()
        for name, templates in templates_of(source).items()
        if templates
    ]
    written += [Writer(name, (text,)) for name, text in in_templates().items()]
    return [writer for writer in written if writer.name not in defined]


def in_templates() -> dict[str, str]:
    """The sentences of templates and scripts by name: the file, and the first five words."""
    named: dict[str, str] = {}
    files = [(path, statements, ".html.j2") for path in (ROOT / "reports").rglob("*.html.j2")]
    files += [(path, strings, ".js") for path in (ROOT / "reports").rglob("*.js")]
    for path, texts_of, suffix in sorted(files, key=lambda file: file[0]):
        file = ".".join(path.relative_to(ROOT).parts).removesuffix(suffix)
        for text in filter(is_sentence, texts_of(path.read_text(encoding="utf-8"))):
            name = f"{file}: {' '.join(text.split()[:5])}"
            if name in named:
                raise ValueError(f"two sentences begin like '{name}'")
            named[name] = text
    return named


def templates_of(source: str) -> dict[str, list[str]]:
    """Function of a module → its sentences, with {} for what is filled in."""
    tree = ast.parse(source)
    constants = dict(_constants(tree))
    made = {}
    for name, node in _functions(tree):
        templates = _templates(node)
        read = dict.fromkeys(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
        templates += [t for constant in read if constant in constants for t in constants[constant]]
        made[name] = [t for t in dict.fromkeys(templates) if is_sentence(t)]
    return made


def functions() -> set[str]:
    """All functions and methods by name (a mark may name the one that decides), and the sentences
    of templates and scripts."""
    names = {
        f"{module}.{name}"
        for module, source in _modules()
        for name, _ in _functions(ast.parse(source))
    }
    return names | in_templates().keys()


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


def _modules() -> Iterator[tuple[str, str]]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            if not name.startswith(NO_REPORT):
                yield name.removeprefix("metaeval."), path.read_text(encoding="utf-8")


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Functions by name, methods as Class.method."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef):
                    yield f"{node.name}.{part.name}", part


def _constants(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    yield target.id, _templates(node.value)


def _marks(node: ast.FunctionDef) -> Iterator[str]:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith(".falsifies"):
            for argument in decorator.args:
                if isinstance(argument, ast.Constant):
                    yield str(argument.value)


class _Templates(ast.NodeVisitor):
    """Collects strings, with {} for what is filled in."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def visit_Raise(self, node: ast.Raise) -> None:
        """Error messages have tests of their own."""

    def visit_Expr(self, node: ast.Expr) -> None:
        """Docstrings are left out."""
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.found.append(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        parts = (str(p.value) if isinstance(p, ast.Constant) else "{}" for p in node.values)
        self.found.append("".join(parts))
        for part in node.values:  # a choice of words inside the braces is a template of its own
            if isinstance(part, ast.FormattedValue):
                self.visit(part.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not any(isinstance(t, ast.Name) and t.id in _CAPTIONS for t in node.targets):
            self.visit(node.value)

    def visit_Dict(self, node: ast.Dict) -> None:
        for value in node.values:
            self.visit(value)

    def visit_Call(self, node: ast.Call) -> None:
        called = ast.unparse(node.func).split(".")[-1]
        if called in _NO_SENTENCES:
            return
        for part in node.args[_HEADED.get(called, 0) :]:
            self.visit(part)
        for keyword in node.keywords:
            if keyword.arg not in _CAPTIONS:
                self.visit(keyword.value)
        self.visit(node.func)  # the separator of "; ".join(…)


def _templates(node: ast.AST) -> list[str]:
    """The strings below a node; its own docstring is left out."""
    visitor = _Templates()
    visitor.visit(node)
    return visitor.found


def is_sentence(text: str) -> bool:
    """Whether a string states something, rather than names it."""
    text = text.strip()
    if len(text.split()) < _WORDS or not _WORD.search(text) or text[-1] == "?" or "<" in text:
        return False
    return text.endswith(".") or CLAIMS.search(text.lower()) is not None


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
        print(writer.name)
        for template in writer.templates:
            print(f"    {' '.join(template.split())[:110]}")
        print("\n".join(f"    falsified by {test}" for test in known) or "    no test is marked")
    n = sum(writer.name in tests for writer in every)
    print(f"{n} of {len(every)} functions that write sentences have a marked test")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
