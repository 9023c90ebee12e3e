"""What a reader sees: cells, bold, colours, signs and letters of a page, against the numbers of
`statistics.json`. The right texts are worked out here from these numbers."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from lxml.html import fragment_fromstring
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from metaeval.reports.blocks import charts, tables, texts
from metaeval.reports.measured import write_report
from metaeval.reports.paper.figures import BLUE, GREY, INK, RED, SOFT
from metaeval.reports.shared.run import LoadedRun, load_run_files
from metaeval.results.base import Estimate, Measured, MetricResult, Test
from metaeval.results.comparison import AgainstControl, Comparison, Comparisons, Power
from metaeval.results.files import write_info, write_result
from metaeval.results.measured import Extra, MeasuredResult, PublishedValues
from metaeval.results.run import DatasetInfo, Measure, RunInfo
from metaeval.runs import files
from metaeval.runs.print_style import PrintStyle, print_style
from metaeval.runs.records import BATCH_DEPENDENT, ScoreColumn, Tally, TrainingFacts
from tests.results.measured_results import measured_result

ACCURACY = Measure("accuracy", "accuracy", unit="share")
ERRORS = Measure("errors", "errors", unit="count", best="lowest")
R = Measure("r", "r × 100", unit="percent")
TIES = Measure("ties", "ties", best="neither")
P = Measure("p", "trend", False, unit="p", group="Further, folded")
ALPHA = 0.05

# metric → accuracy with its interval, errors, r, ties, p; "–" on the page where there is None
NUMBERS: Mapping[str, tuple[Any, ...]] = {
    "C": ((0.30, 0.21, 0.39), 1200, None, 0.25, 0.5),
    "A": ((0.62, 0.55, 0.70), 40, -12.34, -0.0004, 0.0004),
    "A-part": ((0.10, 0.05, 0.15), None, 1.0, 0.5, None),
    "B": ((0.60, 0.52, 0.66), 2, 55.55, 0.125, 0.03),
    "L": ((0.90, 0.85, 0.93), 1, 60.0, 0.0, 0.2),
    "Random": ((0.20, 0.10, 0.30), 99, 0.0, 0.0, 0.9),
    "Length": ((0.45, 0.40, 0.50), 30, 10.0, 0.0, 0.8),
    "U": ((0.05, None, None), 7, 5.0, 0.0, 0.7),
}
COLUMNS: Mapping[str, dict[str, Any]] = {
    "A-part": {"part_of": "A"}, "Random": {"control": True}, "Length": {"control": True},
    "U": {"untrained": True}, "B": {"batch_dependent": True},
}  # fmt: skip
# what is highlighted, then each group best first
ROWS = ["B", "A", "A-part", "C", "L", "Length", "Random", "U"]
# difference a − b with its interval, p-values after Holm of the bootstrap and of the permutation
PAIRS = {
    ("A", "B"): (0.02, -0.03, 0.07, 0.08, 0.01),
    ("C", "A"): (-0.32, -0.40, -0.20, 0.01, 0.02),
    ("B", "C"): (0.20, 0.10, 0.40, 0.04, 0.6),
}
COUNTS = {("A", "B"): (38, 0.001), ("A", "C"): (-1160, 0.2), ("B", "C"): (-1198, 0.002)}


def _estimate(value: Any) -> Estimate:
    low, high = value[1:] if isinstance(value, tuple) else (None, None)
    return Estimate(value=value[0] if isinstance(value, tuple) else value, low=low, high=high)


def _test(p: float, method: str = "bootstrap") -> Test:
    return Test(p=p / 2, p_adjusted=p, method=method)


def _comparisons() -> dict[str, Comparisons]:
    powers = {
        ("A", "B"): Power(effect=0.25, detectable=0.061, images_needed=1234.2),
        ("C", "A"): Power(effect=-1.5, detectable=0.05, images_needed=12.3),
        ("B", "C"): Power(effect=0.9, detectable=0.04, images_needed=55.0),
    }
    by_accuracy = [
        Comparison(
            a=a, b=b, measure="accuracy", difference=Estimate(value=d, low=low, high=high),
            tests=(_test(p), _test(other, "permutation")), n=1500, power=powers[a, b],
        )
        for (a, b), (d, low, high, p, other) in PAIRS.items()
    ]  # fmt: skip
    by_errors = [
        Comparison(a=a, b=b, measure="errors", difference=Estimate(value=d), tests=(_test(p),))
        for (a, b), (d, p) in COUNTS.items()
    ]
    return {
        key: Comparisons(measure=key, alpha=ALPHA, pairs=tuple(pairs))
        for key, pairs in (("accuracy", by_accuracy), ("errors", by_errors))
    }


EXTRAS = (
    Extra.of("more", "More of it", [
        {"metric_name": "A", "share": Estimate(value=0.5, low=0.4, high=0.6), "is_so": True,
         "n": 12345, "text": "x", "none": None},
        {"metric_name": "B", "share": Estimate(value=-0.25), "is_so": False, "n": 1, "text": "y",
         "none": None},
    ]),
    Extra.of("grid", "The grid", [
        {"metric": "A", "low_one": -1.0, "high_one": 0.0},
        {"metric": "B", "low_one": 3.0, "high_one": None},
    ], kind="matrix"),
    Extra.of("cards", "The cards", [
        {"image_id": 7, "a_caption": "a <b>dog</b>", "score": 0.12345, "is_so": True, "none": None},
        {"image_id": 8, "a_caption": "x" * 3000, "score": -1.0, "is_so": False, "none": 3},
    ], kind="examples", folded=True),
)  # fmt: skip


def result_of() -> MeasuredResult:
    """Every kind of metric, in an order that is not that of the page."""
    keys = [measure.key for measure in (ACCURACY, ERRORS, R, TIES, P)]
    metrics = [
        MetricResult(
            column=ScoreColumn(name, **COLUMNS.get(name, {})),
            family=name.lower(),
            signature=f"{name}|v:1",
            training=TrainingFacts(chosen_on=("retrieval",)) if name == "L" else None,
            counts=(Tally("captions cut", "captions", 3, 10),) if name == "A" else (),
            statistics=Measured(
                values={
                    key: _estimate(value)
                    for key, value in zip(keys, values, strict=True)
                    if value is not None
                }
            ),
        )
        for name, values in NUMBERS.items()
    ]
    absent: MetricResult = MetricResult(
        column=ScoreColumn("S"), family="s", status="skipped", reason="no <Java>", remedy="get it"
    )
    control = AgainstControl(
        control="Length", control_value=0.45, best="A", best_value=0.62, shows="something",
        comparisons=tuple(
            Comparison(
                a=name, b="Length", measure="accuracy", difference=Estimate(value=gap),
                tests=(_test(p),),
            )
            for name, gap, p in (("A", 0.17, 0.01), ("B", 0.15, 0.2), ("C", -0.15, 0.01))
        ),
    )  # fmt: skip
    return MeasuredResult(
        experiment="retrieval", dataset="own", title="Own & data",
        metrics=(absent, *metrics), declared=(ACCURACY, ERRORS, R, TIES, P),
        settings={"confidence": 0.9}, comparisons=_comparisons(), controls={"accuracy": control},
        people={"accuracy": Estimate(value=0.95, low=0.9, high=0.99)},
        published=(
            PublishedValues(source="Paper", values={"A": {"accuracy": 0.611}, "L": {"r": 61.0}}),
            PublishedValues(source="Other", values={"B": {"accuracy": 0.1}}, why_not="other data"),
        ),
        extras=EXTRAS, notes=tuple(f"Note {k}." for k in range(9)),
    )  # fmt: skip


class Cell(NamedTuple):
    text: str
    is_bold: bool
    attributes: Mapping[str, str]


class Row(NamedTuple):
    attributes: Mapping[str, str]
    cells: list[Cell]


def section_of(html: str, key: str) -> str:
    (section,) = re.findall(rf'<section id="{key}".*?</section>', html, flags=re.S)
    return str(section)


def rows_of(html: str, table: int = 0) -> list[Row]:
    """The rows of a table in a part of a page; `<small>` and `<sup>` are part of the text."""
    return [
        Row(
            dict(row.attrib),
            [
                Cell(
                    "".join(map(str.strip, cell.itertext())), bool(cell.xpath(".//b")), cell.attrib
                )
                for cell in row.xpath("td|th")
            ],
        )
        for row in fragment_fromstring(html).xpath("//table")[table].iter("tr")
    ]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoadedRun]:
    """The run, whose page is written."""
    folder = tmp_path_factory.mktemp("cells")
    write_result(folder / files.STATISTICS, result_of())
    info = RunInfo(status="finished", dataset=DatasetInfo(name="own", notes=("of the data",)))
    write_info(folder / files.RUN, info)
    with print_style(PrintStyle(highlight=["B"])):
        write_report(folder)
        yield load_run_files(folder)


@pytest.fixture(scope="module")
def html(run: LoadedRun) -> str:
    return (run.directory / files.REPORT).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def statistics(run: LoadedRun) -> dict[str, dict[str, Any]]:
    """Metric → measure → its estimate, from the file."""
    data = json.loads((run.directory / files.STATISTICS).read_text())
    return {
        m["column"]["name"]: m["statistics"]["values"] for m in data["metrics"] if m["statistics"]
    }


def minus(text: str) -> str:
    """A number as pages print it: with a minus sign, and none before zeros."""
    return text.lstrip("-") if not text.strip("-0.") else text.replace("-", "−")


def shown(estimate: Mapping[str, Any] | None, unit: str) -> str:
    if estimate is None:
        return "–"
    forms = {
        "share": lambda v: f"{100 * v:.1f}", "percent": lambda v: f"{v:.1f}",
        "count": lambda v: f"{v:,.0f}", "score": lambda v: f"{v:.3f}",
        "p": lambda v: "<0.001" if v < 0.001 else f"{v:.3f}",
    }  # fmt: skip
    value, low, high = (
        None if (v := estimate[k]) is None else minus(forms[unit](v))
        for k in ("value", "low", "high")
    )
    return f"{value}" if low is None else f"{value} [{low}, {high}]"


def test_cells_are_the_numbers_of_the_statistics(
    html: str, statistics: dict[str, dict[str, Any]]
) -> None:
    heads, *rows = rows_of(section_of(html, "table"))
    assert [cell.text for cell in heads.cells] == [
        "Metric", "accuracy", "accuracy, published", "errors", "r × 100", "r × 100, published",
        "ties",
    ]  # fmt: skip
    assert [row.attributes.get("data-metric") for row in rows] == [*ROWS, "People", "S"]
    for row in rows[:-2]:
        of = statistics[row.attributes["data-metric"]]
        places = {
            1: ("accuracy", "share"),
            3: ("errors", "count"),
            4: ("r", "percent"),
            6: ("ties", "score"),
        }
        for place, (key, unit) in places.items():
            cell, estimate = row.cells[place], of.get(key)
            assert cell.text.rstrip("†") == shown(estimate, unit)
            assert cell.attributes.get("data-v") == (estimate and str(float(estimate["value"])))
    printed = {
        row.attributes["data-metric"]: (row.cells[2].text, row.cells[5].text) for row in rows[:-1]
    }
    assert printed == dict.fromkeys([*ROWS, "People"], ("–", "–")) | {
        "A": ("61.1", "–"), "L": ("–", "61.0"),
    }  # fmt: skip
    assert [cell.text for cell in rows[-2].cells] == [
        "People", "95.0 [90.0, 99.0]", "–", "–", "–", "–", "–"
    ]  # fmt: skip


def test_rows_say_what_they_are(html: str) -> None:
    rows = {row.attributes["data-metric"]: row for row in rows_of(section_of(html, "table"))[1:]}
    classes = {name: row.attributes["class"].split() for name, row in rows.items()}
    assert classes == {
        "A": ["result"], "A-part": ["part"], "B": ["result", "highlight"], "C": ["result"],
        "L": ["result"], "Length": ["control"], "Random": ["control"], "U": ["random"],
        "People": [], "S": ["absent"],
    }  # fmt: skip
    assert {name: row.cells[0].text for name, row in rows.items()} == {
        **{name: name for name in rows},
        "A-part": "– A-part",
        "B": f"B{BATCH_DEPENDENT}",
        "L": "La",  # the footnote on its training
        "Length": "Lengthcontrol: not a metric",
        "Random": "Randomcontrol: not a metric",
        "U": "Urandom weights: not a result",
    }
    assert rows["A"].cells[0].attributes["title"] == "A|v:1"
    _, reason = rows["S"].cells
    assert (reason.text, reason.attributes["colspan"]) == ("skipped: no <Java>get it", "6")
    assert "Chosen on this experiment" in section_of(html, "table")


def test_bold_and_daggers_are_tests_of_the_column(html: str) -> None:
    """By accuracy A leads, and B is not separated (p .08); errors are better when low: B leads, and
    both others are significantly higher or not (C: p .002, A: p .001). Ties have no best value."""
    heads, *rows = rows_of(section_of(html, "table"))
    bold = {
        head.text: [
            row.attributes["data-metric"]
            for row in rows
            if len(row.cells) > k and row.cells[k].is_bold
        ]
        for k, head in enumerate(heads.cells)
    }
    assert {head: names for head, names in bold.items() if names} == {
        "accuracy": ["B", "A"], "errors": ["B"],
    }  # fmt: skip
    daggers = [
        row.attributes["data-metric"] for row in rows if "†" in "".join(c.text for c in row.cells)
    ]
    assert daggers == ["B", "C"]  # B: p .2; C is below the control; L is not compared
    section = section_of(html, "table")
    assert "<b>†</b> not significantly above the best control" in section
    (caption,) = re.findall(r'<p class="counts">(Own.*?)</p>', section)
    assert caption == (
        "Own &amp; data: accuracy per cent; r × 100 times 100; 90% intervals in brackets; bold: "
        "the best, and those not separated from it at 0.05 (paired bootstrap, Holm over 3 pairs)."
    )


def test_a_folded_group_is_a_table_of_its_own(
    html: str, statistics: dict[str, dict[str, Any]]
) -> None:
    (section,) = re.findall(r'<section id="table-further[^"]*".*?</section>', html, flags=re.S)
    assert "<details><summary><h2" in section
    assert ">Further</h2>" in section
    heads, *rows = rows_of(section)
    assert [cell.text for cell in heads.cells] == ["Metric", "trend"]
    cells = {row.attributes["data-metric"]: row.cells[1].text for row in rows}
    assert cells == {name: shown(of.get("p"), "p") for name, of in statistics.items()}
    assert (cells["A"], cells["A-part"]) == ("<0.001", "–")


def test_columns_are_chosen_of_shown_measures_and_a_part_needs_no_whole() -> None:
    metrics = tuple(metric for metric in result_of().metrics if metric.name != "A")
    result = result_of().model_copy(update={"metrics": metrics})
    with print_style(PrintStyle(columns=["errors"])):
        shown, hidden = (tables.print_table(result, m, "x") for m in ([ACCURACY, ERRORS], [P]))
    assert (shown.heads, hidden.heads) == (["Metric", "errors"], ["Metric", "trend"])
    names = [[cells[0].text for cells in group] for group in hidden.groups]
    assert names == [["C", "B", "– A-part"], ["L"], ["Random", "Length"], ["U"]]
    with print_style(PrintStyle(scale=100)):  # of scores, not of shares
        scaled = tables.print_table(result_of(), [ACCURACY, TIES], "x").groups[0]
    texts = {cells[0].text: [cell.text for cell in cells[1::2]] for cells in scaled}
    assert texts["B"] == ["60.0 [52.0, 66.0]", "12.5"]


def test_who_beats_whom(html: str) -> None:
    """Row minus column, times 100; the first test decides, letters are all significant tests."""
    section = section_of(html, "differences")
    heads, *rows = rows_of(section)
    assert [cell.text for cell in heads.cells] == ["", "A", "B", "C", "beats"]
    cells = [[(c.text, c.attributes["class"]) for c in row.cells[1:]] for row in rows]
    assert [row.cells[0].text for row in rows] == ["A", "B", "C"]  # best first
    # A–B: bootstrap p .08, permutation p .01; A–C: .01 and .02; B–C: .04 and .6
    assert cells == [
        [("", "self"), ("+2.0P", "mixed"), ("+32.0BP", "better"), ("1", "n")],
        [("−2.0P", "mixed"), ("", "self"), ("+20.0B", "better"), ("1", "n")],
        [("−32.0BP", "worse"), ("−20.0B", "worse"), ("", "self"), ("0", "n")],
    ]
    assert rows[0].cells[2].attributes["title"] == (
        "A − B: +2.00; interval −3.00 to 7.00; bootstrap p 0.0400, after Holm 0.0800; permutation "
        "p 0.0050, after Holm 0.0100; n = 1,500; effect +0.25 sd of an image; detectable 6.10"
    )
    assert "effect −0.25" in rows[1].cells[1].attributes["title"]
    assert [c.attributes.get("class") for c in heads.cells] == [
        "self",
        "n",
        "n highlight",
        "n",
        "n",
    ]
    assert "times 100; p-values after Holm over 3 pairs" in section
    table = rows_of(section, 1)
    assert [[cell.text for cell in row.cells] for row in table] == [
        [
            *("A", "B", "A − B", "p after Holm, bootstrap", "p after Holm, permutation", "n"),
            *("effect, sd", "detectable", "images needed"),
        ],
        ["A", "B", "2.0 [−3.0, 7.0]", "0.0800", "0.0100", "1,500", "0.250", "0.061", "–"],
        [
            *("C", "A", "−32.0 [−40.0, −20.0]", "0.0100", "0.0200", "1,500"),
            *("−1.500", "0.050", "13"),
        ],
        ["B", "C", "20.0 [10.0, 40.0]", "0.0400", "0.6000", "1,500", "0.900", "0.040", "55"],
    ]


@pytest.mark.parametrize(
    ("tests", "cells"),
    [
        ([_test(0.00001)], {"p after Holm": "<0.0001"}),
        ([], {"p after Holm": "–"}),
        (
            [_test(0.0595), _test(0.008, "williams")],
            {"p after Holm, bootstrap": "0.0595", "p after Holm, williams": "0.0080"},
        ),
    ],
)
def test_a_table_of_differences_has_a_column_for_each_p_value(
    tests: list[Test], cells: dict[str, str]
) -> None:
    """Of a pair without power, where another has it, the cells are empty."""
    first = Comparison(
        a="A", b="B", measure="m", difference=Estimate(value=0.5), tests=tuple(tests)
    )
    power = Power(effect=0.5, detectable=0.1, images_needed=99.2)
    second = first.model_copy(update={"b": "C", "power": power})
    pairs = pair_of(first, second)
    result = measured_result({"A": 0.9, "B": 0.4, "C": 0.4}, comparisons=pairs)
    run = LoadedRun(Path(), result, RunInfo(status="finished"), "")
    (table,) = tables.difference_tables(run).tables
    (rows,) = table.groups
    shown = [dict(zip(table.heads, (cell.text for cell in row), strict=True)) for row in rows]
    assert {head: text for head, text in shown[0].items() if head.startswith("p ")} == cells
    assert [row["effect, sd"] for row in shown] == ["–", "0.500"]


def test_undefined_and_untested_differences() -> None:
    """Images needed are known only where the interval leaves out 0."""
    power = Power(effect=0.5, detectable=0.1, images_needed=99.2)
    pairs = [
        Comparison(a=a, b=b, measure="m", difference=difference, tests=tests, power=power)
        for a, b, difference, tests in (
            ("A", "B", Estimate(value=None), (_test(0.01),)),
            ("A", "C", Estimate(value=0.5), ()),
            ("B", "C", Estimate(value=0.2, low=0.1, high=0.3), (_test(0.2),)),
        )
    ]
    rows = tables.comparison_matrix(pair_of(*pairs), ["A", "D", "B", "C"])
    assert {row.metric: [(c.text, c.kind) for c in row.cells] for row in rows} == {
        "A": [("", "self"), ("–", "even"), ("+50.0", "even")],
        "B": [("–", "even"), ("", "self"), ("+20.0", "even")],
        "C": [("−50.0", "even"), ("−20.0", "even"), ("", "self")],
    }  # D was not compared
    assert rows[1].cells[0].title == "not defined"
    assert rows[1].cells[2].title.endswith("images needed 99")


def pair_of(*pairs: Comparison) -> Comparisons:
    return Comparisons(measure="m", alpha=ALPHA, pairs=pairs)


def test_cells_of_extras(html: str) -> None:
    table = rows_of(section_of(html, "extra-more"))
    assert [[cell.text for cell in row.cells] for row in table] == [
        ["Metric name", "Share", "Is so", "N", "Text", "None"],
        ["B", "−0.250", "no", "1", "y", "–"],
        ["A", "0.500 [0.400, 0.600]", "yes", "12,345", "x", "–"],
    ]
    assert [row.attributes.get("class") for row in table] == [None, "highlight", None]
    heads, *rows = rows_of(section_of(html, "extra-grid"))
    assert [cell.text for cell in heads.cells] == ["Metric", "low_one", "high_one"]
    # from −1 to 3: a quarter of the way to 0; what is not a number has no colour
    assert [[(c.text, c.attributes["style"]) for c in row.cells[1:]] for row in rows] == [
        [("−1.000", "--s:0%"), ("0.000", "--s:25%")],
        [("3.000", "--s:100%"), ("–", "--s:0%")],
    ]


def test_cards_and_notes(html: str, run: LoadedRun) -> None:
    cards = re.findall(
        r'<article class="card">(.*?)</article>', section_of(html, "extra-cards"), re.S
    )
    assert '<p class="id">7</p>' in cards[0]
    cut = "x" * 2000 + " … (cut: 3,000 characters)"
    assert [re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", card) for card in cards] == [
        [("a caption", "a &lt;b&gt;dog&lt;/b&gt;"), ("score", "0.123"), ("is so", "yes")],
        [("a caption", cut), ("score", "−1.000"), ("is so", "no"), ("none", "3")],
    ]
    assert '<details><summary><h2 id="extra-cards-h">' in html
    block = texts.examples(EXTRAS[2], {"7": "data:x"}, "Cards", shown=1, names=["a_caption"])
    parts = ('data-shown="1"', "<dt>a_caption</dt>", '<img src="data:x"')
    assert [block.html.count(part) for part in parts] == [1, 2, 1]
    notes = re.findall(r"<li>(.*?)</li>", section_of(html, "notes"))
    assert notes == [f"Note {k}." for k in range(8)]
    few = run.result.model_copy(update={"notes": ("Note.",)})
    made = texts.notes(LoadedRun(run.directory, few, run.info, ""))
    assert re.findall(r"<li>(.*?)</li>", made.html) == [
        "Note.", "A: 3 of 10 captions cut (30.0%)", "Other: not comparable: other data",
        "of the data",
    ]  # fmt: skip
    assert (made.folded, made.title) == (True, "Notes")


def _lines(axes: Axes, marker: str) -> list[Any]:
    return [line for line in axes.lines if line.get_marker() == marker]


def test_the_ranking_is_drawn_from_the_same_numbers(
    run: LoadedRun, statistics: dict[str, dict[str, Any]]
) -> None:
    block = charts.ranking(run)
    (axes,) = block.figures["ranking"].figure.axes
    labels = axes.get_yticklabels()
    names = ["L", "A", "B", "C", "Length"]  # best first, then the control
    of = [statistics[name]["accuracy"] for name in names]
    spans = [
        line for line in axes.lines if len(line.get_xdata()) == 2 and line.get_linewidth() == 3
    ]
    (diamond,), (band,) = _lines(axes, "D"), axes.patches
    (people,) = [line for line in axes.lines if line.get_linestyle() == ":"]
    assert {
        "names": [label.get_text() for label in labels],
        "points": [line.get_xdata()[0] for line in _lines(axes, "o")],
        "intervals": [sorted(line.get_xdata()) for line in spans],
        "rows": [list(line.get_ydata()) for line in spans],
        "colours": [to_hex(line.get_color()) for line in spans],
        "printed": (diamond.get_xdata()[0], diamond.get_ydata()[0]),
        "band": list(np.ravel(band.get_extents().get_points()[:, 0])),
        "control": [x.get_xdata()[0] for x in axes.lines if to_hex(x.get_color()) == SOFT],
        "people": (people.get_xdata()[0], to_hex(people.get_color())),
        "bold": [t.get_text() for t in labels if t.get_fontweight() == "bold"],
        "red": to_hex(labels[2].get_color()),
        "axis": axes.get_xlabel(),
        "best on top": axes.yaxis_inverted(),
    } == {
        "names": names,
        "points": pytest.approx([100 * each["value"] for each in of]),
        "intervals": [pytest.approx([100 * each["low"], 100 * each["high"]]) for each in of],
        "rows": [[k, k] for k in range(5)],
        "colours": [GREY, BLUE, BLUE, BLUE, GREY],  # what has learned, and the control
        "printed": (pytest.approx(61.1), 1),
        "band": pytest.approx(axes.transData.transform([(40, 0), (50, 0)])[:, 0]),
        "control": [45],
        "people": (95, INK),
        "bold": ["B"],
        "red": RED,
        "axis": "accuracy, per cent",
        "best on top": True,
    }
    assert (
        "Interval of each metric; band: the best control, Length; grey: not ranked, chosen on this "
        "experiment; diamond: the printed value; dotted: people."
    ) in block.html
    against = run.result.controls["accuracy"].model_copy(update={"control": "Random"})
    other = run.result.model_copy(update={"controls": {"accuracy": against}})
    made = charts.ranking(LoadedRun(run.directory, other, run.info, ""))
    assert made.figures["ranking"].figure.axes[0].get_yticklabels()[-1].get_text() == "Random"
    by_errors = charts.ranking(run, ERRORS).figures["ranking"].figure.axes[0]
    shown = [by_errors.get_xlabel(), *(t.get_text() for t in by_errors.get_yticklabels())]
    assert shown == ["errors", "L", "B", "A", "C", "Length"]


def curves_of(records: Sequence[Mapping[str, Any]]) -> list[Axes]:
    block = charts.curves(Extra.of("c", "Curves", records, kind="curves"))
    return [axes for axes in block.figures["c"].figure.axes if axes.get_visible()]


def test_curves_are_drawn_from_their_rows() -> None:
    rows = [
        {"panel": panel, "line": line, "x": x, "y": y, "low": y - 1, "high": y + 2, "sd": 0.5,
         "control": line == "c", "printed": y + 5, "x_title": "rate"}
        for panel in ("one", "two", "three")
        for line, ys in (("A", (3.0, 4.0)), ("B", (6.0, 7.0)), ("c", (1.0, 0.0)))
        for x, y in zip((10, 20), ys, strict=True)
    ]  # fmt: skip
    with print_style(PrintStyle(highlight=["B"])):
        one, *others = curves_of(rows)
    lines = {line.get_label(): line for line in one.lines if not line.get_label().startswith("_")}
    bands = [
        c.get_paths()[0].vertices[:, 1]
        for c in one.collections
        if type(c).__name__ in ("PolyCollection", "FillBetweenPolyCollection")
    ]
    bars = [c for c in one.collections if type(c).__name__ == "LineCollection"]
    assert {
        "titles": [axes.get_title() for axes in (one, *others)],
        "axis": one.get_xlabel(),
        "ticks": [t.get_text() for t in one.get_xticklabels()],
        "lines": {name: list(line.get_ydata()) for name, line in lines.items()},
        "places": list(lines["B"].get_xdata()),
        "styles": [line.get_linestyle() for line in lines.values()],
        "thickest": max(lines, key=lambda name: lines[name].get_linewidth()),
        "colours": len({to_hex(line.get_color()) for line in lines.values()}),
        "colour of the control": to_hex(lines["c"].get_color()),
        "crosses": [list(line.get_ydata()) for line in _lines(one, "x")],
        "bands": [(ends.min(), ends.max()) for ends in bands],
        "bars": [s[:, 1].tolist() for s in bars[0].get_segments()],
    } == {
        "titles": ["one", "two", "three"],
        "axis": "rate",
        "ticks": ["10", "20"],
        "lines": {"A": [3, 4], "B": [6, 7], "c": [1, 0]},
        "places": [10, 20],
        "styles": ["-", "-", "--"],
        "thickest": "B",
        "colours": 3,
        "colour of the control": GREY,
        "crosses": [[8, 9], [11, 12], [6, 5]],
        "bands": [(2, 6), (5, 9), (-1, 3)],
        "bars": [[2.5, 3.5], [3.5, 4.5]],
    }


def test_categories_are_points_side_by_side_with_thin_lines() -> None:
    """Of both signs, with a line at 0."""
    rows = [
        {"line": line, "x": x, "y": y, "low": y - 0.5, "high": high}
        for line, y in (("A", 1.0), ("B", -1.0))
        for x, high in (("p", 2.0), ("q", 3.0))
    ]
    (axes,) = curves_of(rows)
    *points, zero = axes.lines
    assert [line.get_linestyle() for line in points] == ["None", "None"]
    # 60 % of the way to the next category are divided among the lines
    np.testing.assert_allclose([line.get_xdata() for line in points], [[-0.15, 0.85], [0.15, 1.15]])
    assert list(zero.get_ydata()) == [0, 0]
    thin = [s[:, 1].tolist() for c in axes.collections for s in c.get_segments()]
    assert thin == [[0.5, 2], [0.5, 3], [-1.5, 2], [-1.5, 3]]
    (without,) = curves_of([{**rows[0], "low": None}, *rows[1:]])
    assert len(without.collections) == 1  # of B: an interval of every point, or none
