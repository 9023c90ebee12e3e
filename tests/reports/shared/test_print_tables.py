"""What is printed: tables for papers in LaTeX, Markdown and CSV, numbers, lists, colours."""

import csv
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.font_manager import FontProperties, findfont

from metaeval.errors import ConfigError
from metaeval.reports.blocks.texts import command_line
from metaeval.reports.paper.figures import STYLE, level_colours
from metaeval.reports.shared import formatting
from metaeval.reports.shared.print_tables import (
    PrintCell,
    PrintTable,
    chosen_columns,
    latex,
    plain_table,
    scale_numbers,
    to_csv,
    to_latex,
    to_markdown,
    with_scores_of,
    write_tables,
)
from metaeval.runs.print_style import PrintStyle, print_style
from metaeval.runs.records import ScoreColumn
from tests.reports.paper.skeleton import compile_tables, needs_latex
from tests.results.measured_results import measured_result

TABLE = PrintTable(
    "metrics",
    "Agreement.",
    ["Metric", "Rank-order ρ", "Ties"],
    [
        [
            [PrintCell("A & B_1"), PrintCell("0.6 [0.1, 0.9]"), PrintCell("50.0%")],
            [PrintCell("CIDEr"), PrintCell("0.7 [0.1, 0.9]", True, "†"), PrintCell("10.0%")],
        ],
        [[PrintCell("length"), PrintCell("0.9 [0.1, 0.9]"), PrintCell("10.0%")]],
    ],
    [("†", "below control"), ("‡", "of nothing here")],
)


def test_markdown_and_csv_have_marks_and_their_notes() -> None:
    assert to_markdown(TABLE).splitlines() == [
        "**Agreement.**",
        "",
        "| Metric | Rank-order ρ | Ties |",
        "| --- | ---: | ---: |",
        "| A & B_1 | 0.6 [0.1, 0.9] | 50.0% |",
        "| CIDEr | **0.7 [0.1, 0.9]**† | 10.0% |",
        "| length | 0.9 [0.1, 0.9] | 10.0% |",
        "",
        "† below control",
    ]
    assert list(csv.reader(to_csv(TABLE).splitlines()))[2] == ["CIDEr", "0.7 [0.1, 0.9]†", "10.0%"]


def test_latex_has_rules_between_groups_and_escapes() -> None:
    lines = to_latex(TABLE).splitlines()
    assert lines.count(r"\midrule") == 2  # below the heads, and above the controls
    assert {
        r"Metric & Rank-order $\rho$ & Ties \\",
        r"A \& B\_1 & 0.6 [0.1, 0.9] & 50.0\% \\",
        r"CIDEr & \textbf{0.7 [0.1, 0.9]}$^\dagger$ & 10.0\% \\",
    } <= set(lines)
    assert latex("−0.5 → a_b") == r"$-$0.5 $\rightarrow$ a\_b"


def test_names_with_angle_brackets_stay_whole_in_every_file() -> None:
    names = ("CLIP <base>", "CLIP <large>", "=cmd()|A0", "<script>alert(1)</script>")
    table = plain_table("metrics", "Scores.", ["Metric", "ρ"], [[name, "0.5"] for name in names])
    read = list(csv.reader(to_csv(table).splitlines()))
    assert [r[0] for r in read[1:]] == [*names[:2], "'=cmd()|A0", names[3]]
    assert r"CLIP $<$base$>$" in to_latex(table)
    assert "<" not in to_markdown(table)
    assert "CLIP &lt;large&gt;" in to_markdown(table)


def test_columns_for_the_full_table_stay_in_csv() -> None:
    table = plain_table("m", "All.", ["Metric", "ρ", "τ", "Paper"], [["A", "0.6", "0.5", "–"]])
    table = table._replace(in_full=[2])
    assert to_csv(table).splitlines()[0] == "Metric,ρ,τ,Paper"
    assert to_markdown(table).splitlines()[2] == "| Metric | ρ |"  # Paper is empty


def test_the_style_chooses_columns_and_scales_scores() -> None:
    with print_style(PrintStyle(columns=["ties", "rank-order rho"], scale=100)):
        lines = to_markdown(chosen_columns(TABLE)).splitlines()
        assert lines[0] == "**Agreement. Scores and correlations times 100.**"
        assert lines[2] == "| Metric | Ties | Rank-order ρ |"
        assert scale_numbers("0.7 [0.1, 0.9]") == "70.0 [10.0, 90.0]"
    with (
        print_style(PrintStyle(columns=["tau"])),
        pytest.raises(ConfigError, match="unknown column 'tau'; choose from Rank-order ρ, Ties"),
    ):
        chosen_columns(TABLE)


WIDE = plain_table(
    "wide", "Wide.", ["Score", *[f"S{k} (all)" for k in range(7)]],
    [["M", *["0.5 [0.4, 0.6]"] * 7]],
)  # fmt: skip


@pytest.mark.parametrize(
    ("table", "style", "lines"),
    [
        # words to the left
        (plain_table("n", "N.", ["Score", "S"], [["M", "word"], ["N", "word"]]), {},
         [r"\begin{table}[t]", r"\begin{tabular}{@{}ll@{}}"]),
        (WIDE, {}, [r"\begin{table*}[t]", r"\begin{tabular}{@{}lrrrrrrr@{}}"]),
        (WIDE, {"width": "column"}, [r"\begin{table}[t]"]),
        (plain_table("n", "N.", ["Score"], [["M"]]), {"width": "page"}, [r"\begin{table*}[t]"]),
    ],
)  # fmt: skip
def test_a_table_is_as_wide_as_it_must_be(
    table: PrintTable, style: dict[str, Any], lines: list[str]
) -> None:
    with print_style(PrintStyle(**style)):
        made = [line for line in to_latex(table).splitlines() if line.startswith(r"\begin{tab")]
    assert made[: len(lines)] == lines


def test_a_table_that_is_longer_than_a_page_is_divided() -> None:
    text = to_latex(plain_table("long", "Long.", ["A", "B"], [[f"m{k}", "1"] for k in range(90)]))
    assert (text.count(r"\begin{table}"), text.count(r"\caption{Long, continued.}")) == (3, 2)
    assert [text.count(f"m{k} &") for k in range(90)] == [1] * 90


def test_signatures_have_a_file_and_are_below_a_table_by_option(tmp_path: Path) -> None:
    signatures = [("CIDEr", "cider|tok:a_b"), ("Mine", "mine|weights:/home/me/w.pt|url:http://h/x")]
    table = plain_table("n", "Some.", ["Metric", "S"], [["CIDEr", "1"]])
    table = table._replace(signatures=signatures)
    written = (
        "Signatures.\\newline\n"
        "CIDEr: cider\\textbar{}\\allowbreak tok:a\\_b\\newline\n"
        "Mine: mine\\textbar{}\\allowbreak weights:w.pt\\textbar{}\\allowbreak url:http://h/x"
    )
    assert "Signatures" not in to_latex(table)
    with print_style(PrintStyle(signatures=True)):
        assert written in to_latex(table)
    write_tables(tmp_path, [table, table._replace(name="m", signatures=[("BLEU", "bleu")])])
    text = (tmp_path / "tables/signatures.tex").read_text(encoding="utf-8")
    assert f"{written}\\newline\nBLEU: bleu" in text


@pytest.mark.parametrize(
    ("table", "main"),
    [
        (
            [["Metric", "ρ"], ["BLEU-1", "1"], ["BLEU-4", "2"], ["SPICE", "3"],
             ["– SPICE-object", "4"], ["Length", "5"], ["People", "6"]],
            [["Metric", "ρ"], ["BLEU-4", "2"], ["SPICE", "3"], ["People", "6"]],
        ),
        (
            [["A", "B", "n"], ["BLEU-4", "SPICE", "1"], ["SPICE", "BLEU-1", "2"]],
            [["A", "B", "n"], ["BLEU-4", "SPICE", "1"]],
        ),
        (
            [["System", "BLEU-1", "BLEU-4", "Length"], ["One", "1", "2", "3"]],
            [["System", "BLEU-4"], ["One", "2"]],
        ),
        ([["Metric", "best control"], ["SPICE", "Length"]],) * 2,
    ],
)  # fmt: skip
def test_the_main_table_has_one_row_a_metric(table: list[list[str]], main: list[list[str]]) -> None:
    """Rows, pairs and columns of parts, controls and scores that do not stand for their metric."""
    columns: dict[str, dict[str, Any]] = {
        "BLEU-1": {"headline": False}, "BLEU-4": {}, "SPICE": {},
        "SPICE-object": {"part_of": "SPICE", "headline": False}, "Length": {"control": True},
    }  # fmt: skip
    result = measured_result(dict.fromkeys(columns, 0.5))
    metrics = [
        m.model_copy(update={"column": ScoreColumn(m.name, **columns[m.name])})
        for m in result.metrics
    ]
    result = result.model_copy(update={"metrics": tuple(metrics)})
    heads, *rows = table
    pairs = 2 if heads[0] == "A" else 1
    made = plain_table("t", "T.", heads, rows)._replace(n_names=pairs)
    made = with_scores_of(made, result)
    assert list(csv.reader(to_csv(made).splitlines())) == table
    with print_style(PrintStyle(main=True)):
        assert list(csv.reader(to_csv(made).splitlines())) == main
        for row in main:
            assert f"| {' | '.join(row)} |" in to_markdown(made).splitlines()
        assert to_latex(made).count(r" \\") == len(main)
        assert not {"BLEU-1", "SPICE-object"} & dict(made.exported().signatures).keys()


@needs_latex
@pytest.mark.parametrize("width", ["auto", "column", "page"])
def test_tables_of_every_shape_fit_a_two_column_paper(
    width: Literal["auto", "column", "page"], tmp_path: Path
) -> None:
    """Numbers with intervals, words, long captions, many columns, many rows, long heads."""
    number = "−0.512 [−0.604, −0.413]"
    text = "A man in a red shirt rides a brown horse along the beach while two dogs run behind. "
    tables = [
        plain_table("narrow", "Narrow.", ["Metric", "ρ"], [["CIDEr", "0.5"]]),
        plain_table("wide", "Wide.", ["Metric", *[f"kind_{k} (1,024)" for k in range(13)]],
                    [["Bigram model per word", *["100.0%"] * 13]] * 12),
        plain_table("intervals", "I & J: 100%.", ["Metric", *[f"System{k}" for k in range(9)]],
                    [["FAIEr (gold objects)", *[number] * 9]] * 20),
        plain_table("long", "Long.", ["Metric", "against", "Difference"],
                    [["SPICE (rules)", "METEOR (nltk, mean)", number]] * 130),
        plain_table("texts", "Captions.", ["Image", "Higher", "Lower", "Human", "CIDEr"],
                    [["397133", text * 2, text, "4.5", "0.312"]] * 30),
        plain_table("heads", "Heads.", ["Metric", *["Unpronounceably-so (mean of sentences)"] * 6],
                    [["M", *["1.000"] * 6]]),
    ]  # fmt: skip
    tables[0] = tables[0]._replace(signatures=[("CIDEr", "cider|" + "tok:ptb-3.4.1|" * 30)] * 4)
    with print_style(PrintStyle(width=width, signatures=True)):
        write_tables(tmp_path, tables)
    files = sorted((tmp_path / "tables").glob("*.tex"))
    assert len(files) == len(tables) + 1  # and the signatures
    assert compile_tables(files, tmp_path) == []


@needs_latex
def test_an_overfull_table_is_found(tmp_path: Path) -> None:
    path = tmp_path / "t.tex"
    rule = r"\rule{500pt}{1pt}"
    path.write_text(rf"\begin{{table}}\begin{{tabular}}{{l}}{rule}\end{{tabular}}\end{{table}}")
    assert len(compile_tables([path], tmp_path)) == 1


@needs_latex
def test_signs_and_names_compile(tmp_path: Path) -> None:
    caption = "Agreement: 100% of x_y & ρ ≈ −1, Δ > 0 < 1 ± 2 × 3 σ ~ ^ # $ {} \\ | †‡§¶‖."
    write_tables(tmp_path, [TABLE._replace(caption=caption)])
    assert compile_tables(sorted((tmp_path / "tables").glob("*.tex")), tmp_path) == []
    assert (tmp_path / "paper.pdf").stat().st_size > 1000


def test_numbers_in_print() -> None:
    assert (formatting.number(-0.1234), formatting.number(-0.0001)) == ("−0.123", "0.000")
    assert formatting.number(0.0161, sign=True) == "+0.016"
    assert formatting.number(None) == formatting.number(float("nan")) == "–"
    assert [formatting.percent(x) for x in (0, 0.0001, 0.386, 0.99999, 1)] == [
        "0.0%", "<0.1%", "38.6%", ">99.9%", "100.0%",
    ]  # fmt: skip
    assert [formatting.seconds(x) for x in (0.04, 12.4, 83)] == ["0.0 s", "12 s", "1 min 23 s"]


def test_names_of_files_are_unique() -> None:
    """Where letters are left out a digest follows; other scripts stay as they are."""
    names = ["X/Y", "X Y", "X_Y", "X:Y", "मीट", "मीठ", "e\u0301", "\u00e9", "a" * 300, "a" * 301]
    names += ["ü" * 190, "😀" * 190, ".", "..", "/", "X_Y-944415", "x/../../../../PWN", ".hidden"]
    stems = [formatting.file_stem(name) for name in names]
    assert len(set(stems)) == len(names)
    assert stems[2] == "X_Y"
    assert all(len(stem.encode()) < 70 and not set(stem) & set("/: ") for stem in stems)
    assert not any(stem.startswith(".") for stem in stems)
    assert [formatting.file_stem(name) for name in ("质量", "流畅")] == ["质量", "流畅"]
    assert formatting.file_stem("a/b c:../x").startswith("a_b_c_.._x-")


def test_commands_can_be_typed_again() -> None:
    assert command_line(["-m", "metaeval", "a=b c"]) == "python -m metaeval 'a=b c'"
    assert (command_line(["/somewhere/bin/metaeval", "x=1"]), command_line([])) == (
        "metaeval x=1",
        "",
    )


# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB
DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
)
PROTANOPIA = np.array(
    [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ]
)


def luminance(colour: str, vision: np.ndarray) -> float:
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(np.clip(vision @ linear, 0, 1) @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("n", [2, 3, 4, 7])
@pytest.mark.parametrize("vision", [np.eye(3), DEUTERANOPIA, PROTANOPIA])
def test_lightness_orders_the_levels(n: int, vision: np.ndarray) -> None:
    light = [luminance(c, vision) for c in level_colours(n)]
    dark = [luminance(c, vision) for c in level_colours(n, dark=True)]
    assert light == sorted(light, reverse=True)
    assert dark == sorted(dark)
    for ramp in (light, dark):  # neighbours differ visibly: contrast ratio of at least 1.1 at n = 7
        steps = [(max(a, b) + 0.05) / (min(a, b) + 0.05) for a, b in pairwise(ramp)]
        assert min(steps) > 1.1


@pytest.mark.parametrize("weight", ["normal", "bold"])
@pytest.mark.parametrize("slant", ["normal", "italic"])
def test_figures_use_the_font_that_matplotlib_ships(weight: str, slant: str) -> None:
    """So texts have the same sizes on every machine, whatever fonts it has."""
    with mpl.rc_context(STYLE):
        file = Path(findfont(FontProperties(weight=weight, style=slant)))
    assert file.parent == Path(mpl.get_data_path()) / "fonts" / "ttf"
