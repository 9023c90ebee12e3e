"""The page of a measured result: its sentences, its marks, its files."""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from metaeval.errors import ConfigError
from metaeval.reports.blocks import charts
from metaeval.reports.measured import write_report
from metaeval.results.base import Estimate, MetricResult
from metaeval.results.files import write_info, write_result
from metaeval.results.measured import Extra, MeasuredResult, PublishedValues
from metaeval.results.run import DatasetInfo, RunInfo
from metaeval.runs import files
from metaeval.runs.print_style import PrintStyle, print_style
from metaeval.runs.records import ScoreColumn
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


def test_the_answer_is_at_most_three_sentences_and_marks_are_tests(tmp_path: Path) -> None:
    html = page_of(tmp_path, result_of())
    answer = re.findall(r"<p[^>]*>(.*?)</p>", html[html.index('class="answer"') :])[:3]
    assert answer == [
        "A leads (90.0), not separated from B.",
        "Significantly above the best control, Length (40.0): A.",
        "Few images.",
    ]
    table = html[html.index('id="metrics"') : html.index("</table>")]
    assert re.findall(r"<b>(.*?)</b>", table) == ["90.0", "80.0"]
    assert re.findall(r">(?:<b>)?([\d.]+)(?:</b>)?†", table) == ["80.0", "50.0"]
    latex = (tmp_path / files.TABLES / "measures.tex").read_text(encoding="utf-8")
    assert re.findall(r"\\textbf\{(.*?)\}", latex) == ["90.0", "80.0"]
    text = (tmp_path / files.TABLES / "measures.md").read_text(encoding="utf-8")
    assert "Holm over 3 pairs" in text
    assert "† not significantly above the best control" in text
    rows = pd.read_csv(tmp_path / files.TABLES / "measures.csv")
    assert rows["Metric"].tolist() == ["A", "B", "C", "Length"]


def test_figures_are_written_unless_turned_off(tmp_path: Path) -> None:
    page_of(tmp_path, result_of())
    assert sorted(f.name for f in (tmp_path / files.FIGURES).iterdir()) == [
        "ranking.pdf",
        "ranking.svg",
    ]
    first = (tmp_path / files.REPORT).read_bytes()
    page_of(tmp_path, result_of())
    assert (tmp_path / files.REPORT).read_bytes() == first
    (tmp_path / "other").mkdir()
    page_of(tmp_path / "other", result_of(), figures=False)
    assert not (tmp_path / "other" / files.FIGURES).exists()


def test_what_did_not_run_and_what_papers_print_is_on_the_page(tmp_path: Path) -> None:
    result = result_of(
        published=(
            PublishedValues(source="Paper", values={"A": {"accuracy": 0.88}}),
            PublishedValues(source="Other", why_not="other images"),
        )
    )
    absent: MetricResult = MetricResult(
        column=ScoreColumn("SPICE"),
        family="spice",
        status="skipped",
        reason="no Java",
        remedy="apt install java",
    )
    html = page_of(tmp_path, result.model_copy(update={"metrics": (*result.metrics, absent)}))
    assert "skipped: no Java <code>apt install java</code>" in html
    assert "Other: not comparable: other images" in html
    assert "a note of the data" in html
    rows = pd.read_csv(tmp_path / files.TABLES / "measures.csv", dtype=str)
    assert rows["accuracy, published"].tolist() == ["88.0", "–", "–", "–"]


@pytest.mark.parametrize(
    ("kind", "records", "shown"),
    [
        ("table", [{"name": "x", "share": Estimate(value=0.5, low=0.4, high=0.6)}], "0.500 [0.400"),
        ("matrix", [{"metric": "A", "swap": 0.25, "drop": 1.0}], "--s:100%"),
        ("examples", [{"image_id": 7, "caption": "<b>a dog</b>"}], "&lt;b&gt;a dog"),
        ("curves", [{"line": "A", "x": 1, "y": 0.5}, {"line": "A", "x": 2, "y": 0.6}], "<svg"),
    ],
)
def test_extras_are_blocks(
    tmp_path: Path, kind: Any, records: list[dict[str, Any]], shown: str
) -> None:
    extra = Extra.of("more", "More of it", records, kind=kind, folded=True)
    html = page_of(tmp_path, result_of(extras=(extra,)))
    block = html[html.index('id="extra-more"') :]
    assert "More of it" in block
    assert shown in block[: block.index("</section>")]
    hidden = Extra.of("data", "Data", records, kind="data")
    assert "extra-data" not in page_of(tmp_path, result_of(extras=(hidden,)))


def test_a_histogram_has_a_panel_for_each_metric() -> None:
    table = pd.DataFrame(
        {"metric": ["A"] * 4 + ["B"] * 4, "set": ["x", "y"] * 4, "score": range(8)}
    )
    block = charts.histograms("scores", "Scores", table, {"x": "#1f4f8f", "y": "#a8322a"})
    axes = [a for a in block.figures["scores"].axes if a.get_visible()]
    assert [a.get_title() for a in axes] == ["A", "B"]
    assert [text.get_text() for text in block.figures["scores"].legends[0].texts] == ["x", "y"]
    assert all(len(a.lines) + len(a.collections) == 2 for a in axes)
    (stem,) = charts.histograms("scores-x/../../PWN", "S", table, {"x": "#1f4f8f"}).figures
    assert Path(stem).name == stem


def test_highlighted_metrics_stand_out_on_the_page_and_in_print(tmp_path: Path) -> None:
    with print_style(PrintStyle(highlight=["B"])):
        html = page_of(tmp_path, result_of())
    rows = re.findall(r'<tr class="([^"]*)" data-metric="(\w+)"', html)
    assert [name for kinds, name in rows if "highlight" in kinds] == ["B"]
    assert "Highlighted (▸)" in html
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


def test_controls_are_behind_the_metrics_of_the_user() -> None:
    """Though the user's are scored last."""
    result = result_of()
    *metrics, control = result.metrics
    shown = result.model_copy(update={"metrics": (control, *metrics)}).visible
    assert [m.name for m in shown] == ["A", "B", "C", "Length"]


def _table(folder: Path, form: str) -> str:
    return (folder / files.TABLES / f"measures.{form}").read_text(encoding="utf-8")
