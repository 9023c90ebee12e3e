"""The page of a measured result: its sentences, its marks, its files."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from metaeval.errors import ConfigError
from metaeval.experiments.score.parts import histogram
from metaeval.reports.blocks import charts
from metaeval.reports.blocks.texts import Block
from metaeval.reports.measured import write_report
from metaeval.results.files import write_info, write_result
from metaeval.results.measured import Extra, MeasuredResult, PublishedValues
from metaeval.results.run import DatasetInfo, RunInfo
from metaeval.runs import files
from metaeval.runs.print_style import PrintStyle, print_style
from tests.results.measured_results import against, measured_result, separated

VALUES = {"A": 0.9, "B": 0.8, "C": 0.5}


def result_of(**fields: Any) -> MeasuredResult:
    """Three metrics, of which A and B are not separated and A alone is above the control."""
    control = against("Length", 0.4, {"A": 0.01, "B": 0.3, "C": 0.5}, "something")
    comparisons = separated("ABC", [("A", "C"), ("B", "C")])
    fields = {"controls": {"accuracy": control}, "caveat": "Few images.", **fields}
    return measured_result(VALUES, {"Length": 0.4}, comparisons, **fields)


def page_of(folder: Path, result: MeasuredResult, **options: Any) -> str:
    write_result(folder / files.STATISTICS, result)
    info = RunInfo(
        status="finished", dataset=DatasetInfo(name="own", notes=("a note of the data",))
    )
    write_info(folder / files.RUN, info)
    return write_report(folder, **options).read_text(encoding="utf-8")


def test_the_answer_is_at_most_three_sentences_and_tables_have_marks(tmp_path: Path) -> None:
    """The marks of the page itself are in tests/reports/test_cells.py."""
    published = PublishedValues(source="Paper", values={"A": {"accuracy": 0.88}})
    hidden = Extra.of("data", "Data", [{"name": "x"}], kind="data")
    html = page_of(tmp_path, result_of(published=(published,), extras=(hidden,)))
    assert "extra-data" not in html
    answer = re.findall(r"<p[^>]*>(.*?)</p>", html[html.index('class="answer"') :])[:3]
    assert answer == [
        "A leads (90.0), not separated from B.",
        "Significantly above the best control, Length (40.0): A.",
        "Few images.",
    ]
    latex = (tmp_path / files.TABLES / "measures.tex").read_text(encoding="utf-8")
    assert re.findall(r"\\textbf\{(.*?)\}", latex) == ["90.0", "80.0"]
    text = (tmp_path / files.TABLES / "measures.md").read_text(encoding="utf-8")
    assert "Holm over 3 pairs" in text
    assert "† not significantly above the best control" in text
    rows = pd.read_csv(tmp_path / files.TABLES / "measures.csv", dtype=str)
    assert rows["Metric"].tolist() == ["A", "B", "C", "Length"]
    assert rows["accuracy, published"].tolist() == ["88.0", "–", "–", "–"]


def histograms(key: str, table: pd.DataFrame, colours: dict[str, str], **options: Any) -> Block:
    metrics = table["metric"].unique().tolist()
    return charts.histograms(key, "Scores", table.copy, metrics, "", colours, **options)


def test_a_histogram_has_a_panel_for_each_metric() -> None:
    table = pd.DataFrame(
        {"metric": ["A"] * 4 + ["B"] * 4, "set": ["x", "y"] * 4, "score": range(8)}
    )
    colours = {"x": "#1f4f8f", "y": "#a8322a"}
    block = histograms("scores", table, colours, lower={"B"})
    axes = [a for a in block.figures["scores"].figure.axes if a.get_visible()]
    assert [a.get_title() for a in axes] == ["A", "B\na lower score is better"]
    assert [text.get_text() for text in block.figures["scores"].figure.legends[0].texts] == [
        "x",
        "y",
    ]
    assert all(len(a.lines) + len(a.collections) == 2 for a in axes)
    (stem,) = histograms("scores-x/../../PWN", table, {"x": "#1f4f8f"}).figures
    assert Path(stem).name == stem


def test_histograms_count_in_the_colours_of_the_legend() -> None:
    """Rows that are bins have their counts as heights."""
    columns = {"metric": "A", "set": ["x", "x", "y"], "score": [0.0, 1, 1], "count": [3, 4, 5]}
    colours = {"x": "#1f4f8f", "y": "#a8322a"}
    block = histograms("scores", pd.DataFrame(columns), colours)
    figure = block.figures["scores"].figure
    heights = {to_hex(line.get_color()): max(line.get_ydata()) for line in figure.axes[0].lines}
    assert heights == {colours["x"]: 4, colours["y"]: 5}
    (legend,) = figure.legends
    shown = {
        t.get_text(): to_hex(line.get_color())
        for t, line in zip(legend.texts, legend.get_lines(), strict=True)
    }
    assert shown == colours


def test_panels_behind_the_twelfth_are_folded() -> None:
    names = [f"M{k}" for k in range(15)]
    table = pd.DataFrame({"metric": names * 2, "set": "x", "score": range(30)})
    values = {name: f"ρ {name}" for name in names}
    with print_style(PrintStyle(highlight=["M3"])):
        block = histograms("ranks", table, {"x": "#1f4f8f"}, values=values, ends=(0, 30))
        drawn = {stem: each.figure for stem, each in block.figures.items()}
    titles = {stem: [a.get_title() for a in figure.axes] for stem, figure in drawn.items()}
    assert titles == {
        "ranks": [f"{name}\nρ {name}" for name in names[:12]],
        "ranks-more": [f"M{k}\nρ M{k}" for k in (12, 13, 14)],
    }
    panels = drawn["ranks"].axes
    assert {axes.get_xlim() for axes in panels} == {(-1.5, 31.5)}  # 5 % more
    assert {axes.get_gridspec().get_geometry() for axes in panels} == {(3, 4)}
    assert [k for k, a in enumerate(panels) if a.title.get_fontweight() == "bold"] == [3]
    opened, folded = block.html.split("<details>")
    assert [text.count("<svg") for text in (opened, folded)] == [2, 1]  # wide and narrow
    assert folded.startswith("<summary>3 further</summary>")


def test_scores_that_differ_by_rounding_alone_are_drawn() -> None:
    """numpy cannot divide what lies between .3 and .1 + .2 into bins."""
    scores = np.array([0.1 + 0.2, 0.3] * 8)
    table = pd.DataFrame({"metric": "A", "set": "x", "score": scores})
    block = histograms("scores", table, {"x": "#1f4f8f"})
    assert [a.get_title() for a in block.figures["scores"].figure.axes] == ["A"]
    for levels in (2, 16):
        ratings = np.arange(16) % levels
        drawn = charts.by_rating(pd.DataFrame({"A": scores}), ratings.astype(float))
        assert "by-rating" in drawn.figures
    assert [row["count"] for row in histogram("A", scores)] == [16]


@pytest.mark.parametrize(
    ("levels", "ticks"),
    [
        ([1, 2, 3], {0: "1", 1: "2", 2: "3"}),
        ([1, 1.5, 2], {0: "1", 2: "2"}),  # whole numbers, where there are two
        ([0.25, 0.5, 1], {0: "0.25", 2: "1"}),
    ],
)
def test_few_ratings_are_violins(levels: list[float], ticks: dict[int, str]) -> None:
    scores = pd.DataFrame({"A": np.arange(30) / 30})
    (axes,) = charts.by_rating(scores, np.array(levels * 10)).figures["by-rating"].figure.axes
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert dict(zip(axes.get_xticks(), labels, strict=True)) == ticks
    ends = [c.get_paths()[0].vertices[:, 1] for c in axes.collections]
    expected = [(k / 30, (27 + k) / 30) for k in range(3)]  # every third score, from the k-th
    np.testing.assert_allclose([(y.min(), y.max()) for y in ends], expected)


def test_many_ratings_are_hexagons_of_the_captions_with_both() -> None:
    ratings, scores = np.arange(22.0) % 11, pd.DataFrame({"A": np.arange(22) / 22})
    ratings[0] = scores.loc[1, "A"] = np.nan
    (axes,) = charts.by_rating(scores, ratings).figures["by-rating"].figure.axes
    (hexagons,) = axes.collections
    assert hexagons.get_array().sum() == 20
    # ratings across, scores up, each to the centre of a hexagon
    assert hexagons.get_offsets().max(axis=0) == pytest.approx([10, 21 / 22], abs=0.3)


def test_highlighted_metrics_stand_out_in_print(tmp_path: Path) -> None:
    with print_style(PrintStyle(highlight=["B"])):
        assert "Highlighted (▸)" in page_of(tmp_path, result_of())
    names = [line.partition(" &")[0] for line in _table(tmp_path, "tex").splitlines()]
    assert [n for n in names if "triangleright" in n] == [
        r"$\triangleright$ B",
        r"\par\smallskip {\footnotesize $^\dagger$ not significantly above the best control; "
        r"$\triangleright$ highlighted\par}",
    ]
    assert "| ▸ B | " in _table(tmp_path, "md")
    assert "▸" not in _table(tmp_path, "csv")
    with (
        print_style(PrintStyle(highlight=["D"])),
        pytest.raises(ConfigError, match=r"report\.highlight: 'D' is not one of A, B, C, Length"),
    ):
        page_of(tmp_path, result_of())


def _table(folder: Path, form: str) -> str:
    return (folder / files.TABLES / f"measures.{form}").read_text(encoding="utf-8")
