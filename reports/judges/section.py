"""The section "Judges" of a page: what the answers of a run's judges show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from metaeval.reports.paper.links import SaveLinks, save_links
from metaeval.reports.shared.formatting import (
    DASH,
    count,
    known,
    listed,
    number,
    percent,
    plainly,
)
from metaeval.reports.shared.print_tables import PrintCell, PrintTable
from metaeval.results.files import read_judges
from metaeval.results.judge import DOMINANT, EqualRatingEffects, JudgeDiagnostics
from metaeval.results.metric import MetricResult, Statistics
from metaeval.results.run import RunResult
from metaeval.runs import files

DOMINATED = "†"
# judge's column → what people rated or chose → agreement; −1 to 1, or a share
Agreement = Callable[[str], Mapping[str, float | None]]
_Line = tuple[str, list[PrintCell]]


class JudgesSection(NamedTuple):
    """The sentences, the table (a column for each judge), its links, and what is not recorded."""

    lead: str
    table: PrintTable
    links: list[SaveLinks]
    not_recorded: str


def judges_section(directory: Path, agreement: Agreement) -> JudgesSection | None:
    """The section from `judges.json` in a run's folder; `None` where the run has no judge.

    Raises InputError for a damaged file.
    """
    path = directory / files.JUDGES
    judges = read_judges(path).judges if path.is_file() else ()
    if not judges:
        return None
    effects_and_costs = [*_effects(judges), *_costs(judges, agreement)]
    shown = [line for line in (*_scores(judges), *effects_and_costs) if not _is_empty(line)]
    absent = [line[0] for line in effects_and_costs if _is_empty(line)]
    table = PrintTable(
        "judges",
        "Diagnostics of the judges.",
        ["", *(judge.judge for judge in judges)],
        [[[PrintCell(name), *cells] for name, cells in shown]],
        [(DOMINATED, _more_than())] if any(j.dominated for j in judges) else (),
    )
    return JudgesSection(lead(judges), table, save_links([table]), missing(absent))


def statistics_of(result: RunResult[Statistics], judge: str) -> MetricResult[Statistics] | None:
    """The entry of a judge's column; `None` where it has no statistics."""
    for entry in result.metrics:
        if entry.name == judge and entry.statistics is not None:
            return entry
    return None


def lead(judges: Sequence[JudgeDiagnostics]) -> str:
    """The sentences above the table: dominant answers, and answers that cannot be parsed."""
    dominated = [
        f"{j.judge} gives the score {plainly(j.most_frequent)} in "
        f"{percent(j.most_frequent_share)} of its parsed answers."
        for j in judges
        if j.dominated and j.most_frequent is not None
    ]
    sentences = dominated or [f"No judge gives one score in {_more_than()}."]
    for j in judges:
        if j.unparsed:
            sentences.append(
                f"{count(j.unparsed)} of {count(j.answers)} answers of {j.judge} cannot be parsed; "
                "they are NaN, not 0."
            )
    return " ".join(sentences)


def missing(names: Sequence[str]) -> str:
    """The sentence below the table about lines without a number; empty where there are none."""
    if not names:
        return ""
    lowered = [name[:1].lower() + name[1:] for name in names]
    return f"Not known in this run: {listed(lowered)}."


def _more_than() -> str:
    return f"more than {percent(DOMINANT, 0)} of the parsed answers"


def _line(name: str, judges: Sequence[JudgeDiagnostics],
          text: Callable[[JudgeDiagnostics], str]) -> _Line:  # fmt: skip
    return name, [PrintCell(text(judge)) for judge in judges]


def _scores(judges: Sequence[JudgeDiagnostics]) -> list[_Line]:
    frequent = [
        PrintCell(
            DASH
            if j.most_frequent is None
            else f"{percent(j.most_frequent_share)} (score {plainly(j.most_frequent)})",
            mark=DOMINATED if j.dominated else "",
        )
        for j in judges
    ]
    return [
        _line("Captions", judges, lambda j: count(j.captions)),
        _line("Answers", judges, lambda j: count(j.answers)),
        _line("Distinct scores", judges, lambda j: count(j.distinct)),
        ("Most frequent score, share", frequent),
        _line("Unparsed", judges, lambda j: _share(j.unparsed, j.answers)),
        _line("Truncated", judges, lambda j: _share(j.truncated, j.answers)),
        _line("Refused", judges, lambda j: _share(j.refused, j.answers)),
        _line("Ties between two captions", judges, lambda j: percent(j.ties)),
        _line("First caption preferred", judges, lambda j: percent(j.first_preferred)),
        _line("Same preference in both orders", judges, lambda j: percent(j.order_consistency)),
        _line("Standard deviation of samples", judges, lambda j: number(j.repeatability_sd)),
        _line("Captions with equal samples", judges, lambda j: percent(j.same_answers)),
    ]


def _is_empty(line: _Line) -> bool:
    return all(cell.text == DASH for cell in line[1])


def _share(n: int, total: int) -> str:
    return f"{count(n)} ({percent(n / total)})" if n else "0"


def _effects(judges: Sequence[JudgeDiagnostics]) -> list[_Line]:
    """The lines of what changes a score at equal rating, for each thing that people rated."""
    dimensions = list(dict.fromkeys(d for j in judges for d in j.at_equal_rating))
    lines: list[_Line] = []
    for dimension in dimensions:
        effects = [j.at_equal_rating.get(dimension) for j in judges]
        suffix = f", {dimension}" if len(dimensions) > 1 else ""
        slopes = [number(e.length_slope if e else None, sign=True) for e in effects]
        lines.append((f"Score per word at equal rating{suffix}", [PrintCell(s) for s in slopes]))
        preferences = [_self_preference(j, e) for j, e in zip(judges, effects, strict=True)]
        lines.append(
            (f"Self-preference at equal rating{suffix}", [PrintCell(s) for s in preferences])
        )
    return lines


def _self_preference(judge: JudgeDiagnostics, effects: EqualRatingEffects | None) -> str:
    if effects is None or not known(effects.self_preference):
        return DASH
    gap = number(effects.self_preference, sign=True)
    return f"{gap} ({judge.family}, {count(effects.same_family)} captions)"


def _costs(judges: Sequence[JudgeDiagnostics], agreement: Agreement) -> list[_Line]:
    lines = [
        _line("Prompt tokens per 1,000 captions", judges, lambda j: _whole(j.input_tokens)),
        _line("Answer tokens per 1,000 captions", judges, lambda j: _whole(j.output_tokens)),
        _line("Seconds per 1,000 captions", judges, lambda j: _whole(j.seconds)),
        _line("Price per 1,000 captions (US dollars)", judges, lambda j: _dollars(j.usd)),
    ]
    agreements = [agreement(j.judge) for j in judges]
    names = list(dict.fromkeys(name for values in agreements for name in values))
    for name in names or [""]:
        prices = [
            price_per_point(j.usd, values.get(name))
            for j, values in zip(judges, agreements, strict=True)
        ]
        label = f"Price per point of {name or 'agreement'} (US dollars)"
        lines.append((label, [PrintCell(_dollars(price)) for price in prices]))
    return lines


def price_per_point(usd: float | None, agreement: float | None) -> float | None:
    """The price of 1,000 captions divided by 100 times the agreement.

    `None` where one of them is unknown, or the agreement is not positive.
    """
    if usd is None or agreement is None or not known(usd) or not agreement > 0:
        return None
    return usd / (100 * agreement)


def _whole(value: float | None) -> str:
    return DASH if value is None or not known(value) else count(round(value))


def _dollars(value: float | None) -> str:
    """Two decimals from one dollar on, otherwise three significant digits."""
    if value is None or not known(value):
        return DASH
    return f"{value:,.2f}" if value >= 1 or value == 0 else f"{float(f'{value:.3g}'):f}".rstrip("0")
