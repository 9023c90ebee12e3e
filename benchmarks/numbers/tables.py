"""A table of README.md or docs/: its place, its commands, and how it is written.

To add one, add a `Table` to the list of a file next to this one (`graded.py` is the model), and put
its marks in the document:

    <!-- numbers: NAME -->
    <!-- end of NAME -->

`make numbers` writes the table and its commands between them, and never anything else.
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from metaeval.errors import InputError
from metaeval.results.files import read_result
from metaeval.results.measured import MeasuredResult
from metaeval.runs import files

_MARKED = re.compile(
    r"^<!-- numbers: (?P<name>\S+) -->\n(?P<body>.*?)^<!-- end of (?P<end>\S+) -->$",
    re.MULTILINE | re.DOTALL,
)
_OPENED = re.compile(r"^<!-- numbers: (\S+) -->$", re.MULTILINE)


class Result(NamedTuple):
    """What a command left: the folder of its run, and what it printed."""

    folder: Path
    printed: str

    def read(self) -> MeasuredResult:
        """The result of its run."""
        return read_result(self.folder / files.STATISTICS)


@dataclass(frozen=True, slots=True)
class Command:
    """A command as the documents show it, without the word `python`.

    Of `-m metaeval …` the folder of the run is read. Tables may share a command: it runs once.
    """

    line: str

    @property
    def is_run(self) -> bool:
        return self.line.startswith("-m metaeval ")

    def run(self, out: Path, root: Path) -> Result:
        """Run it in `root`; a run writes into `out`. CommandFailed with what it printed."""
        argv = [sys.executable, *_split(self.line)]
        if self.is_run:
            argv += ["report=none", f"hydra.run.dir={out}"]
        done = subprocess.run(argv, cwd=root, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CommandFailed(f"python {self.line}\n{done.stdout}{done.stderr}")
        return Result(out, done.stdout)


class CommandFailed(Exception):
    """A command that ended with another exit code than 0."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a document.

    Attributes
    ----------
    name
        What its marks call it.
    commands
        What has to run for it.
    write
        The Markdown of the results, one a command, in order.
    quick
        Whether `--quick` makes it. All quick tables together take under three minutes with an
        empty cache, so that continuous integration can check them.
    show
        Whether the commands are shown below it.
    """

    name: str
    commands: tuple[Command, ...]
    write: Callable[[Sequence[Result]], str]
    quick: bool = False
    show: bool = True

    def body(self, results: Mapping[Command, Result]) -> str:
        """The text between the marks."""
        text = self.write([results[command] for command in self.commands]).strip()
        if self.show and self.commands:
            lines = "\n".join(f"python {command.line}" for command in self.commands)
            text += f"\n\n```\n{lines}\n```"
        return f"\n{text}\n\n"


def marked(text: str, file: Path) -> dict[str, str]:
    """Name → the text between its marks. InputError for marks that do not match."""
    bodies = {}
    for match in _MARKED.finditer(text):
        if match["name"] != match["end"]:
            raise InputError(f"the end of the table '{match['name']}' is missing", file=file)
        if match["name"] in bodies:
            raise InputError(f"the table '{match['name']}' occurs twice", file=file)
        bodies[match["name"]] = match["body"]
    if len(_OPENED.findall(text)) != len(bodies):
        unclosed = [name for name in _OPENED.findall(text) if name not in bodies]
        raise InputError(f"the end of the table '{unclosed[0]}' is missing", file=file)
    return bodies


def rewritten(text: str, bodies: Mapping[str, str]) -> str:
    """The text with other bodies between the marks; tables without a body stay as they are."""

    def body(match: re.Match[str]) -> str:
        name = match["name"]
        return f"<!-- numbers: {name} -->\n{bodies.get(name, match['body'])}<!-- end of {name} -->"

    return _MARKED.sub(body, text)


def difference(old: str, new: str, file: Path) -> str:
    """A unified diff of a document, empty where nothing changes."""
    lines = (text.splitlines(keepends=True) for text in (old, new))
    return "".join(difflib.unified_diff(*lines, f"{file} as it is", f"{file} as commands have it"))


def run_all(commands: Iterable[Command], out: Path, root: Path) -> dict[Command, Result]:
    """Run each command once, in order, and print it on stderr; one that fails has no result."""
    results: dict[Command, Result] = {}
    distinct = list(dict.fromkeys(commands))
    for number, command in enumerate(distinct, 1):
        print(f"{number} of {len(distinct)}: python {command.line}", file=sys.stderr, flush=True)
        try:
            results[command] = command.run(out / f"{number:02d}", root)
        except CommandFailed as error:
            print(f"metaeval: failed: {error}", file=sys.stderr, flush=True)
    return results


def _split(line: str) -> list[str]:
    """The words of a command line, `${NAME}` of the environment put in as a shell would."""
    return shlex.split(os.path.expandvars(line))
