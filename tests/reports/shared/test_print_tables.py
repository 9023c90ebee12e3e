"""Tables for papers: LaTeX that compiles, Markdown, CSV, with the best in bold."""

from __future__ import annotations

import csv
import shutil
import subprocess
from pathlib import Path

import pytest

from reports.shared.elements import Cell, ColumnHead, Row
from reports.shared.print_tables import (
    bold_best,
    latex,
    print_tables,
    to_csv,
    to_latex,
    to_markdown,
    write_tables,
)
from reports.shared.table import MetricsTable

HEADS = [
    ColumnHead("metric", "Metric", ""),
    ColumnHead("rho", "Rank-order ρ", ""),
    ColumnHead("ties", "Ties", ""),
]


def row(name: str, kind: str, rho: float | None, ties: float, note: str = "") -> Row:
    cells = (
        Cell("metric", name, name.lower()),
        Cell("rho", f"<svg>{rho}</svg>", rho, note=note, printed=f"{rho} [0.1, 0.9]"),
        Cell("ties", f"{ties}%", ties),
    )
    return Row(name, kind, None, "", cells)


TABLE = MetricsTable(
    HEADS,
    [
        (
            "all",
            [
                row("A & B_1", "result", 0.6, 50.0),
                row("CIDEr", "result", 0.7, 10.0, "below control"),
                row("A-part", "part", 0.8, 10.0),
                row("length", "control", 0.9, 10.0),
                Row("SPICE", "absent", None, "", (Cell("metric", "SPICE"),), "skipped: no Java"),
            ],
        ),
        ("applied", [row("CIDEr", "result", 0.5, 1.0)]),
    ],
)


def test_the_best_result_is_bold_and_nothing_else() -> None:
    whole, applied = print_tables(TABLE, "metrics", "Agreement.")
    assert (whole.name, applied.name) == ("metrics", "metrics-applied")
    text = to_markdown(whole)
    assert text.splitlines() == [
        "**Agreement (all).**",
        "",
        "| Metric | Rank-order ρ | Ties |",
        "| --- | ---: | ---: |",
        "| A & B_1 | 0.6 [0.1, 0.9] | 50.0% |",
        "| CIDEr | **0.7 [0.1, 0.9]**† | 10.0% |",  # not the part, not the control, not the ties
        "| – A-part | 0.8 [0.1, 0.9] | 10.0% |",
        "| length | 0.9 [0.1, 0.9] | 10.0% |",
        "",
        "† below control",
    ]
    assert list(csv.reader(to_csv(applied).splitlines())) == [
        ["Metric", "Rank-order ρ", "Ties"],
        ["CIDEr", "0.5 [0.1, 0.9]", "1.0%"],
    ]


def test_latex_has_rules_between_groups_and_escapes() -> None:
    whole, _ = print_tables(TABLE, "metrics", "Agreement.")
    lines = to_latex(whole).splitlines()
    assert lines.count(r"\midrule") == 2  # below the heads, and above the controls
    assert r"A \& B\_1 & 0.6 [0.1, 0.9] & 50.0\% \\" in lines
    assert r"CIDEr & \textbf{0.7 [0.1, 0.9]}$^\dagger$ & 10.0\% \\" in lines
    assert r"Metric & Rank-order $\rho$ & Ties \\" in lines
    assert latex("−0.5 → a_b") == r"$-$0.5 $\rightarrow$ a\_b"


def test_the_best_of_a_column_may_be_the_lowest() -> None:
    cells = bold_best(
        [["a", "1", "2"], ["b", "3", "4"]], [[None, 1, 2], [None, 3, 4]], [True, False, True]
    )
    assert [[c.best for c in row] for row in cells] == [[False, True, False], [False, False, True]]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not on this machine")
def test_it_compiles(tmp_path: Path) -> None:
    write_tables(tmp_path, print_tables(TABLE, "metrics", "Agreement: 100% of x_y & ρ ≈ −1."))
    (tmp_path / "paper.tex").write_text(
        "\\documentclass{article}\\usepackage[T1]{fontenc}\\usepackage{booktabs}\n"
        "\\begin{document}\\input{tables/metrics.tex}\\end{document}\n"
    )
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "paper.pdf").stat().st_size > 1000
