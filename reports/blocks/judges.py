"""The block of judges: what the answers of a run's judges show."""

from collections.abc import Callable, Mapping, Sequence

from metaeval.reports.blocks.texts import Block, rendered
from metaeval.reports.paper.citations import save_links
from metaeval.reports.shared.formatting import (
    DASH,
    count,
    known,
    number,
    percent,
    plainly,
)
from metaeval.reports.shared.print_tables import PrintCell, PrintTable
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.files import read_judges
from metaeval.results.judge import DOMINANT, EqualRatingEffects, JudgeDiagnostics
from metaeval.runs import files

DOMINATED = "†"
# judge's column → what people rated or chose → agreement; −1 to 1, or a share
Agreement = Callable[[str], Mapping[str, float | None]]
_Line = tuple[str, list[PrintCell]]


def judges(run: LoadedRun) -> Block:
    """Diagnostics of a run's judges, a column each. Raises InputError for a damaged file."""
    judges = read_judges(run.directory / files.JUDGES).judges
    first = [measures[0] for measures in run.result.groups().values()]
    known = {m.name: m.statistics for m in run.result.metrics if m.statistics is not None}

    def agreement(judge: str) -> dict[str, float | None]:
        if judge not in known:
            return {}
        values = {m.full_title: (known[judge].value(m.key), m.unit) for m in first}
        return {
            title: value if value is None or unit != "percent" else value / 100
            for title, (value, unit) in values.items()
        }

    table = judges_table(judges, agreement)
    html = rendered("extra_table.html.j2", table=table, links=save_links([table]))
    return Block("judges", "Judges", html, tables=(table,))


def judges_table(judges: Sequence[JudgeDiagnostics], agreement: Agreement) -> PrintTable:
    """A line a number that some judge has, a column a judge."""
    lines = [*_scores(judges), *_effects(judges), *_costs(judges, agreement)]
    return PrintTable(
        "judges",
        "Diagnostics of the judges.",
        ["", *(judge.judge for judge in judges)],
        [
            [
                [PrintCell(name), *cells]
                for name, cells in lines
                if any(cell.text != DASH for cell in cells)
            ]
        ],
        [(DOMINATED, f"more than {percent(DOMINANT, 0)} of the parsed answers")]
        if any(j.dominated for j in judges)
        else (),
    )


def _line(name: str, judges: Sequence[JudgeDiagnostics],
          text: Callable[[JudgeDiagnostics], str]) -> _Line:  # fmt: skip
    return name, [PrintCell(text(judge)) for judge in judges]


def _scores(judges: Sequence[JudgeDiagnostics]) -> list[_Line]:
    frequent = [PrintCell(_most_frequent(j), mark=DOMINATED if j.dominated else "") for j in judges]
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


def _most_frequent(judge: JudgeDiagnostics) -> str:
    if judge.most_frequent is None:
        return DASH
    return f"{percent(judge.most_frequent_share)} (score {plainly(judge.most_frequent)})"


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


COSTS: Mapping[str, Callable[[JudgeDiagnostics], str]] = {
    "Prompt tokens per 1,000 captions": lambda j: _whole(j.input_tokens),
    "Answer tokens per 1,000 captions": lambda j: _whole(j.output_tokens),
    "Seconds per 1,000 captions": lambda j: _whole(j.seconds),
    "Price per 1,000 captions (US dollars)": lambda j: _dollars(j.usd),
}


def _costs(judges: Sequence[JudgeDiagnostics], agreement: Agreement) -> list[_Line]:
    lines = [_line(title, judges, text) for title, text in COSTS.items()]
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
