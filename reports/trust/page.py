"""The report of experiment=trust: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from metaeval.reports.shared import page
from metaeval.reports.shared.formatting import count, number, p_value
from metaeval.reports.shared.run import LoadedRun, load_run_files
from metaeval.reports.trust.card import card_files, write_cards
from metaeval.results.metric import MetricResult
from metaeval.results.trust import (
    SHOWN,
    BatteryItem,
    Evidence,
    KnownComparison,
    TrustCell,
    TrustResult,
    TrustStatistics,
    Use,
)
from metaeval.runs import files
from metaeval.runs.csv_text import spreadsheet_cell

CELLS = "cells.csv"  # every piece of evidence, in tables/


class EvidenceRow(NamedTuple):
    """A piece of evidence as the page shows it; `link` leads to the page of its run."""

    evidence: Evidence
    link: str
    value: str
    effect: str
    p: str


class ShownCell(NamedTuple):
    """A cell of the matrix; `anchor` is the id of its evidence, `takes` what its metric does."""

    metric: str
    cell: TrustCell
    text: str
    anchor: str
    takes: str
    more_data: str
    rows: tuple[EvidenceRow, ...]


class UseRow(NamedTuple):
    """A use, its sentence, and its cells in the order of the metrics."""

    use: Use
    sentence: str
    cells: tuple[ShownCell, ...]


class KnownRow(NamedTuple):
    """A metric of the user's against the best known one of an item."""

    compared: KnownComparison
    known: str
    difference: str
    p: str


def write_report(run_dir: Path | str, figures: bool = True) -> Path:
    """Write `report.html` and `tables/cells.csv` into a run's directory, from its files.

    With `figures`, each metric's card is also written for print (`card`).
    The same run files give the same bytes. Raises InputError for a missing or damaged file.
    """
    run = load_run_files(Path(run_dir), TrustResult)
    folder = run.directory / "tables"
    folder.mkdir(exist_ok=True)
    table = run.result.table().map(spreadsheet_cell)
    files.atomic(folder / CELLS, lambda p: table.to_csv(p, index=False, lineterminator="\n"))
    if figures:
        write_cards(run)
    return page.write_page(run.directory / files.REPORT, render(run, figures))


def render(run: LoadedRun[TrustResult], figures: bool) -> str:
    """The page as text."""
    result = run.result
    return page.render_run(
        "trust.html.j2",
        run,
        [
            ("Battery", result.battery),
            ("Experiments", count(sum(i.status == "found" for i in result.items))),
            ("Metrics", count(len(result.judged))),
        ],
        {"battery": result.battery, **result.rules.model_dump()},
        title="Which metric for what",
        room="trust",
        metrics={m.name: _takes(m) for m in result.judged},
        costs={m.name: _cost(m.numbers.cost.seconds_per_1000) for m in result.judged},
        uses=list(_uses(result)),
        rules=result.rules,
        robustness=result.robustness_sentence,
        across=result.across,
        across_sentence=result.across_sentence,
        own={name: result.standing(name).to_dict("records") for name in _own(result)},
        known={name: list(_known(result, name)) for name in _own(result)},
        known_sentences={name: result.known_sentence(name) for name in _own(result)},
        found=[item for item in result.items if item.status == "found"],
        missing=[item for item in result.items if item.status == "missing"],
        links={item.id: _link(item) for item in result.items},
        absent=[m for m in result.metrics if not m.ok],
        cards=card_files(result) if figures else [],
        cells_file=f"tables/{CELLS}",
        further_files=[f"tables/{CELLS}"],
    )


def _uses(result: TrustResult) -> Iterator[UseRow]:
    items = {item.id: item for item in result.items}
    for u, use in enumerate(result.uses):
        shown = []
        for k, metric in enumerate(result.judged):
            cell = metric.numbers.cells[use.id]
            more = "" if cell.more_data is None else f"{cell.more_data:,.1f} ×"
            rows = tuple(_row(e, items[e.item]) for e in cell.evidence)
            shown.append(
                ShownCell(
                    metric.name, cell, SHOWN[cell.verdict], f"c{u}-{k}", _takes(metric), more, rows
                )
            )
        yield UseRow(use, result.sentence(use), tuple(shown))


def _takes(metric: MetricResult[TrustStatistics]) -> str:
    """What the page's filters look at: "references image network"."""
    numbers = metric.numbers
    return " ".join([*(numbers.reads or ()), *(["network"] if numbers.runs_network else [])])


def _own(result: TrustResult) -> list[str]:
    """The user's metrics that ran."""
    return [m.name for m in result.judged if m.name in result.own]


def _known(result: TrustResult, metric: str) -> Iterator[KnownRow]:
    for one in result.against_known:
        compared, test = one.comparison, one.comparison.test
        if compared.a == metric:
            d = compared.difference
            yield KnownRow(
                one, compared.b, _with_interval(d.value, d.interval),
                _p(None if test is None else test.p_adjusted),
            )  # fmt: skip


def _p(p: float | None) -> str:
    return "" if p is None else p_value(p, 3)


def _row(evidence: Evidence, item: BatteryItem) -> EvidenceRow:
    value, effect = evidence.value, evidence.effect
    return EvidenceRow(
        evidence,
        _link(item),
        _with_interval(value.value, value.interval),
        _with_interval(effect.value, effect.interval),
        _p(evidence.p_adjusted),
    )


def _with_interval(value: float | None, interval: tuple[float, float] | None) -> str:
    text = "–" if value is None else number(value)
    return text if interval is None else f"{text} [{number(interval[0])}, {number(interval[1])}]"


def _cost(seconds: float | None) -> str:
    return "cached" if seconds is None else f"{seconds:.2g} s"


def _link(item: BatteryItem) -> str:
    """The page of an item's run, if it is inside this run's folder."""
    inside = item.directory is not None and item.directory.startswith("items/")
    return f"{quote(item.directory or '')}/{files.REPORT}" if inside else ""
