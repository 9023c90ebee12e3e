"""A two-column paper of our own that prints exported tables, to see whether they fit."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest

# the measures of an ACL paper: text of 455 pt, 17 pt between columns, 11 pt letters
_HEAD = r"""\documentclass[11pt,a4paper,twocolumn]{article}
\usepackage[T1]{fontenc}\usepackage[utf8]{inputenc}\usepackage{times}
\usepackage{booktabs,graphicx}
\setlength{\textwidth}{455pt}\setlength{\columnsep}{17pt}
\setlength{\oddsidemargin}{0pt}\setlength{\textheight}{703pt}\setlength{\topmargin}{-40pt}
\begin{document}
Text.
"""


def missing_latex() -> str:
    """Why a paper cannot be compiled here; empty where it can."""
    if shutil.which("pdflatex") is None:
        return "pdflatex is not on this machine"
    with tempfile.TemporaryDirectory() as folder:
        done = _compile(f"{_HEAD}\\end{{document}}\n", Path(folder))
    if done.returncode == 0:
        return ""
    failure = re.search(r"^!.*", done.stdout, re.MULTILINE)
    return failure.group() if failure else f"pdflatex ended with {done.returncode}"


def _compile(paper: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "paper.tex").write_text(paper, encoding="utf-8")
    return subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=folder,
        capture_output=True,
        encoding="latin-1",
    )


_REASON = missing_latex()
needs_latex = pytest.mark.skipif(_REASON != "", reason=f"LaTeX: {_REASON}")


def compile_tables(tables: Iterable[Path], folder: Path, before: str = "") -> list[str]:
    """What LaTeX complains of: overfull boxes and tables that no page holds, and nothing else.

    The paper is `folder/paper.pdf`. Raises AssertionError where it does not compile.
    """
    inputs = "\\clearpage\n".join(f"\\input{{{path.as_posix()}}}\n" for path in tables)
    done = _compile(f"{_HEAD}{before}\n{inputs}\\end{{document}}\n", folder)
    assert done.returncode == 0, done.stdout[-2000:]
    return re.findall(r"(?:Overfull .*|.*Float too large.*)", done.stdout)
