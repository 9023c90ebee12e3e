"""A two-column paper of our own that prints exported tables, to see whether they fit."""

import re
import shutil
import subprocess
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


needs_latex = pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="pdflatex is not on this machine"
)


def compile_tables(tables: Iterable[Path], folder: Path, before: str = "") -> list[str]:
    """What LaTeX complains of: overfull boxes and tables that no page holds, and nothing else.

    The paper is `folder/paper.pdf`. Raises AssertionError where it does not compile.
    """
    inputs = "\\clearpage\n".join(f"\\input{{{path.as_posix()}}}\n" for path in tables)
    text = f"{_HEAD}{before}\n{inputs}\\end{{document}}\n"
    (folder / "paper.tex").write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=folder,
        capture_output=True,
        encoding="latin-1",
    )
    assert done.returncode == 0, done.stdout[-2000:]
    return re.findall(r"(?:Overfull .*|.*Float too large.*)", done.stdout)
