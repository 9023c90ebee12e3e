"""Tables in documents: what a table is, where it stands, and the commands behind it.

To add one, add a `Table` to `tables.py`, and put its marks in a document:

    <!-- numbers: NAME -->
    <!-- end of NAME -->

`make numbers` writes the table and its commands between them, and never anything else.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
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


def printed(results: Sequence[Result]) -> str:
    """The Markdown that the first command prints."""
    return results[0].printed


def printed_as_text(results: Sequence[Result]) -> str:
    """What the first command prints, line by line."""
    return f"```\n{results[0].printed.strip()}\n```"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a document.

    Attributes
    ----------
    name
        What its marks call it.
    commands
        What has to run for it, as the documents show it, without the word `python`. Tables may
        share a command: it runs once. Of `-m metaeval …` the folder of the run is read.
    write
        The Markdown of the results, one a command, in order.
    quick
        Whether `--quick` makes it. All quick tables together take under three minutes with an
        empty cache, so that continuous integration can check them.
    show
        Whether the commands are shown below it.
    figure
        Draws the same results into a PNG, `docs/NAME.png`.
    """

    name: str
    commands: tuple[str, ...]
    write: Callable[[Sequence[Result]], str] = printed
    quick: bool = False
    show: bool = True
    figure: Callable[[Sequence[Result], Path], None] | None = None

    def body(self, results: Mapping[str, Result]) -> str:
        """The text between the marks."""
        text = self.write([results[command] for command in self.commands]).strip()
        if self.show:
            lines = "\n".join(f"python {command}" for command in self.commands)
            text += f"\n\n```\n{lines}\n```"
        return f"\n{text}\n\n"


def texts_of(root: Path) -> dict[Path, str]:
    """The documents that may contain tables."""
    files = (root / "README.md", *sorted((root / "docs").rglob("*.md")))
    return {file: file.read_text(encoding="utf-8") for file in files if file.is_file()}


def marked(text: str, file: Path) -> dict[str, str]:
    """Name → the text between its marks. InputError for marks that do not match."""
    bodies = {}
    for match in _MARKED.finditer(text):
        if match["name"] != match["end"]:
            raise InputError(f"the end of the table '{match['name']}' is missing", file=file)
        if match["name"] in bodies:
            raise InputError(f"the table '{match['name']}' occurs twice", file=file)
        bodies[match["name"]] = match["body"]
    for name in _OPENED.findall(text):
        if name not in bodies:
            raise InputError(f"the end of the table '{name}' is missing", file=file)
    return bodies


def rewritten(text: str, bodies: Mapping[str, str]) -> str:
    """The text with other bodies between the marks; tables without a body stay as they are."""

    def body(match: re.Match[str]) -> str:
        name = match["name"]
        return f"<!-- numbers: {name} -->\n{bodies.get(name, match['body'])}<!-- end of {name} -->"

    return _MARKED.sub(body, text)


def run_all(commands: Iterable[str], out: Path, root: Path) -> dict[str, Result]:
    """Run each command once, in order, and print it on stderr; one that fails has no result."""
    results: dict[str, Result] = {}
    distinct = list(dict.fromkeys(commands))
    for number, command in enumerate(distinct, 1):
        print(f"{number} of {len(distinct)}: python {command}", file=sys.stderr, flush=True)
        folder = out / sha256(command.encode()).hexdigest()[:12]  # another run is never replaced
        argv = [sys.executable, *shlex.split(os.path.expandvars(command))]
        if command.startswith("-m metaeval experiment="):
            argv += ["report=none", f"hydra.run.dir={folder}"]
        done = subprocess.run(argv, cwd=root, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            results[command] = Result(folder, done.stdout)
        else:
            print(f"metaeval: failed: {done.stdout}{done.stderr}", file=sys.stderr, flush=True)
    return results
