"""Tables for papers: LaTeX that compiles, Markdown, CSV, with the best in bold."""

from __future__ import annotations

import csv
import shutil
import subprocess
from pathlib import Path

import pytest
from markupsafe import Markup

from metaeval.reports.shared.elements import Cell, ColumnHead, Row
from metaeval.reports.shared.print_tables import (
    bold_best,
    latex,
    plain_table,
    print_tables,
    to_csv,
    to_latex,
    to_markdown,
    write_tables,
)
from metaeval.reports.shared.table import MetricsTable

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


def test_names_with_angle_brackets_stay_whole_in_every_file() -> None:
    names = ("CLIP <base>", "CLIP <large>", "=cmd()|A0", "<script>alert(1)</script>")
    heads = [ColumnHead("metric", "Metric", ""), ColumnHead("rho", "ρ", "")]
    rows = [row(name, "result", 0.5 + k / 10, 0.0) for k, name in enumerate(names)]
    rows = [r._replace(cells=r.cells[:2]) for r in rows]
    (table,) = print_tables(MetricsTable(heads, [("", rows)]), "metrics", "Scores.")
    read = list(csv.reader(to_csv(table).splitlines()))
    assert [r[0] for r in read[1:]] == [*names[:2], "'=cmd()|A0", names[3]]
    assert r"CLIP $<$base$>$" in to_latex(table)
    assert "<" not in to_markdown(table)
    assert "CLIP &lt;large&gt;" in to_markdown(table)
    marked = Cell("metric", Markup("<b>CLIP</b> &lt;base&gt;"))
    (table,) = print_tables(
        MetricsTable(heads, [("", [rows[0]._replace(cells=(marked, rows[0].cells[1]))])]), "m", "S."
    )
    assert table.groups[0][0][0].text == "CLIP <base>"


def test_the_best_of_a_column_may_be_the_lowest() -> None:
    cells = bold_best(
        [["a", "1", "2"], ["b", "3", "4"]], [[None, 1, 2], [None, 3, 4]], [True, False, True]
    )
    assert [[c.best for c in row] for row in cells] == [[False, True, False], [False, False, True]]


def test_a_note_has_one_mark_and_numbers_stand_in_their_cells() -> None:
    rows = [
        row("A", "result", 0.6, 50.0, "below control"),
        row("B", "result", 0.5, 10.0, "below control"),
        row("C", "result", 0.4, 10.0),
    ]
    inner = (*rows[2].cells[:2], Cell("ties", "10%", 10.0, note="3% in image"))
    table = MetricsTable(HEADS, [("all", [*rows[:2], rows[2]._replace(cells=inner)])])
    (printed,) = print_tables(table, "metrics", "Agreement.", {"all": {"B"}})
    lines = to_markdown(printed).splitlines()
    assert lines[4:7] == [
        "| A | **0.6 [0.1, 0.9]**† | 50.0% |",
        "| B | 0.5 [0.1, 0.9]†‡ | 10.0% |",
        "| C | 0.4 [0.1, 0.9] | 10% (3% in image) |",
    ]
    assert lines[-1] == "† below control; ‡ not separated from the best by every test"


def test_columns_for_the_full_table_stay_in_csv() -> None:
    table = MetricsTable(
        [ColumnHead("metric", "Metric", ""), ColumnHead("rho", "ρ", ""), ColumnHead("tau", "τ", ""),
         ColumnHead("inversions", "Inversions", ""), ColumnHead("paper", "Paper", "")],
        [("all", [
            Row(name, "result", None, "", (
                Cell("metric", name), Cell("rho", f"{v}", v, note="" if v > 0.5 else "low"),
                Cell("tau", f"{v}", v), Cell("inversions", f"{v}", v), Cell("paper", "–")))
            for name, v in (("A", 0.6), ("B", 0.4))
        ])],
    )  # fmt: skip
    (printed,) = print_tables(table, "metrics", "All.", in_full=("tau",))
    assert to_csv(printed).splitlines()[0] == "Metric,ρ,τ,Inversions,Paper"
    lines = to_markdown(printed).splitlines()
    assert lines[2] == "| Metric | ρ | Inversions |"  # Paper is empty
    assert lines[4:6] == ["| A | **0.6** | 0.6 |", "| B | 0.4† | **0.4** |"]  # fewer are better


def test_wide_tables_fit_the_line() -> None:
    cells = [["M", *["0.5 [0.4, 0.6]"] * 7]]
    wide = to_latex(
        plain_table("wide", "Wide.", ["Score", *[f"S{k} (all)" for k in range(7)]], cells)
    )
    assert r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%" in wide
    assert wide.count(r"{\tiny [0.4, 0.6]}") == 7
    assert r"\shortstack{S0\\(all)}" in wide
    narrow = to_latex(plain_table("n", "Narrow.", ["Score", "S"], [["M", "word"], ["N", "word"]]))
    assert "resizebox" not in narrow
    assert r"\begin{tabular}{ll}" in narrow  # words to the left
    assert r"\begin{tabular}{lrrrrrrr}" in wide


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not on this machine")
def test_it_compiles(tmp_path: Path) -> None:
    wide = plain_table("wide", "Wide.", ["S (a)"] * 9, [["M", *["0.5 [−0.4, 0.6]"] * 8]])
    metrics = print_tables(
        TABLE, "metrics", "Agreement: 100% of x_y & ρ ≈ −1.", {"all": {"A & B_1"}}
    )
    write_tables(tmp_path, [*metrics, wide])
    (tmp_path / "paper.tex").write_text(
        "\\documentclass{article}\\usepackage[T1]{fontenc}\\usepackage{booktabs,graphicx}\n"
        "\\begin{document}\\input{tables/metrics.tex}\\input{tables/wide.tex}\\end{document}\n"
    )
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
    assert (tmp_path / "paper.pdf").stat().st_size > 1000
