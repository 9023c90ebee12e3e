"""The tables of the captioners' report: what each cell shows, sorts by and explains."""

from __future__ import annotations

from typing import NamedTuple

from metaeval.reports.captioners.run import CaptionersRun, SystemsScore
from metaeval.reports.shared.formatting import DASH, count, interval, number, p_value, with_interval
from metaeval.reports.shared.print_tables import (
    PrintCell,
    PrintTable,
    chosen_columns,
    scaled,
    signed,
)
from metaeval.results.base import Test
from metaeval.results.captioners import CORPUS, AgainstHuman, AgreementMatrix
from metaeval.results.comparison import Comparison
from metaeval.runs.print_style import style


class ShadedCell(NamedTuple):
    """A cell: its text, what it sorts by, its tooltip, its class, and a share in [0, 1]."""

    text: str
    value: float | None = None
    title: str = ""
    kind: str = ""
    share: float = 0.0


class SystemsColumn(NamedTuple):
    """A column of the table of systems; `kind` is "corpus" or "mean" where a metric has both."""

    name: str
    short: str
    tip: str
    kind: str


class RankingPlace(NamedTuple):
    """A system in a ranking; `sign` parts it from the one before ("", ">", "≈")."""

    system: str
    colour: str
    score: str
    sign: str
    title: str


def columns(run: CaptionersRun) -> list[SystemsColumn]:
    """One per score of systems."""
    scores = run.scores_of_systems
    both = {m.family for m in scores if m.numbers.aggregate == CORPUS}
    columns = []
    for m in scores:
        corpus = m.numbers.aggregate == CORPUS
        kind = "" if m.family not in both else "corpus" if corpus else "mean"
        tip = f"{m.name}: {_WHAT[kind]} {_DIRECTION[m.column.higher_is_better]}"
        columns.append(SystemsColumn(m.name, m.numbers.sentence_column, tip, kind))
    return columns


_WHAT = {
    "": "the mean over the system's captions.",
    "corpus": "one score from the counts of all captions added up, as papers report it.",
    "mean": "the mean of the scores of single captions; not the corpus score.",
}
_DIRECTION = {True: "Higher is better.", False: "Lower is better."}


def systems(run: CaptionersRun) -> list[tuple[str, list[ShadedCell]]]:
    """One row per system, the best mean rank first: mean rank, then a cell per score."""
    ranks = {s.name: s.mean_rank for s in run.result.systems}
    rows = []
    for name in run.systems:
        rank = ranks[name]
        cells = [ShadedCell(number(rank, 1), rank, f"over {len(run.headlines)} scores")]
        for m in run.scores_of_systems:
            score, place = m.numbers.systems[name], m.numbers.rank(name)
            title = f"{_percent(run)} interval {interval(score.interval, 4)}; "
            title += f"{count(score.n or 0)} captions" + (f"; rank {place}" if place else "")
            kind = "best" if place == 1 else ""
            cells.append(ShadedCell(number(score.value, 4), score.value, title, kind))
        rows.append((name, cells))
    return rows


def means_of_sentences(run: CaptionersRun) -> set[str]:
    """The scores that are means of sentences where the metric has one of the corpus."""
    return {c.name for c in columns(run) if c.kind == "mean"}


def systems_for_print(run: CaptionersRun) -> PrintTable:
    """The same for a paper: systems best first, scores with their intervals, the best bold."""
    means = means_of_sentences(run)
    scores = [m for m in run.scores_of_systems if m.name not in means or style().columns]
    estimates = {name: [m.numbers.systems[name] for m in scores] for name in run.systems}
    heads = ["System", *(m.name for m in scores)]
    rows = [
        [name, *(scaled(with_interval(e.value, e.interval)) for e in of_system)]
        for name, of_system in estimates.items()
    ]
    best = [frozenset[str](), *(_best_group(m) for m in scores)]
    n = max((e.n or 0 for of_system in estimates.values() for e in of_system), default=0)
    caption = (
        f"{run.title} on {count(n)} images of {run.result.dataset}: scores with {_percent(run)} "
        "intervals. Bold: the best system, and those after it without a significant difference."
    )
    cells = [
        [PrintCell(text, row[0] in group) for text, group in zip(row, best, strict=True)]
        for row in rows
    ]
    (table,) = signed([PrintTable("systems", caption, heads, [cells])], run.result)
    return chosen_columns(table)


def _best_group(metric: SystemsScore) -> frozenset[str]:
    """The systems from the best one down to the first significant difference of neighbours."""
    ranking = metric.numbers.ranking
    ahead = [k for k in range(1, len(ranking)) if metric.numbers.is_ahead(k - 1)]
    return frozenset(ranking[: ahead[0] if ahead else len(ranking)])


def rankings(run: CaptionersRun) -> list[tuple[SystemsScore, list[RankingPlace]]]:
    """Per score its ranking, with what lies between neighbours: a difference, or none shown."""
    return [(m, _places(run, m)) for m in run.scores_of_systems]


def _places(run: CaptionersRun, metric: SystemsScore) -> list[RankingPlace]:
    numbers = metric.numbers
    places = []
    for k, name in enumerate(numbers.ranking):
        sign, title = "", ""
        if k:
            pair = numbers.neighbours.pairs[k - 1]
            sign = ">" if numbers.is_ahead(k - 1) else "≈"
            tests = [
                f"{t.method} p {p_value(t.p, 3)}, Holm {p_value(t.p_adjusted, 3)}"
                for t in pair.tests
            ]
            title = (
                f"{pair.a} − {pair.b}: {number(pair.difference.value, 4)} "
                f"({interval(pair.difference.interval, 4)}), {count(pair.n or 0)} images; "
                f"{'; '.join(tests)}"
            )
        score = number(numbers.systems[name].value, 4)
        places.append(RankingPlace(name, run.colour(name), score, sign, title))
    return places


def tests(run: CaptionersRun) -> list[tuple[str, list[list[str]]]]:
    """Per score, a line for each pair of neighbours, as in statistics.json."""
    return [
        (m.name, [_test_row(pair) for pair in m.numbers.neighbours.pairs])
        for m in run.scores_of_systems
    ]


def _test_row(pair: Comparison) -> list[str]:
    return [
        pair.a,
        pair.b,
        count(pair.n or 0),
        number(pair.difference.value, 4),
        interval(pair.difference.interval, 4),
        *(cell for test in pair.tests for cell in _p_values(test)),
    ]


def _p_values(test: Test) -> tuple[str, str]:
    return p_value(test.p, 3), p_value(test.p_adjusted, 3)


def against_human(run: CaptionersRun) -> list[tuple[str, list[ShadedCell]]]:
    """Per sentence score, each system's rank-order ρ against Human."""
    return [
        (m.name, [_duel(run, m.numbers.systems[name], name) for name in run.systems])
        for m in run.result.human_scores
    ]


def _duel(run: CaptionersRun, system: AgainstHuman, name: str) -> ShadedCell:
    rho, ends = system.rank_order_rho.value, system.rank_order_rho.interval
    if rho is None:
        return ShadedCell(number(rho))
    open_ = ends is None or ends[0] <= 0 <= ends[1]
    kind = "open" if open_ else "human" if rho > 0 else "machine"
    title = (
        f"{name}: ρ {number(rho, 4)}, {_percent(run)} interval {interval(ends, 4)}; mean "
        f"{number(system.mean, 4)}, Human {number(system.human_mean, 4)}; Human's caption "
        f"scores higher on {_hundred(system.pairwise_accuracy.value)}% of "
        f"{count(system.n)} images, lower on {_hundred(system.inversion_rate.value)}%"
    )
    return ShadedCell(number(rho, 2), rho, title, kind, min(1.0, abs(rho)))


def _hundred(share: float | None) -> str:
    return number(None if share is None else 100 * share, 1)


class AgreementTable(NamedTuple):
    """A matrix of τ-b: its key, what stands above it, and a row of cells for each metric."""

    key: str
    label: str
    lead: str
    names: tuple[str, ...]
    rows: list[tuple[str, list[ShadedCell]]]


def agreement(run: CaptionersRun) -> list[AgreementTable]:
    """The three matrices of τ-b: systems, captions of one image, all captions."""
    agreed = run.result.agreement
    if agreed is None:
        return []
    matrices = (agreed.systems, agreed.within_image, agreed.captions)
    return [
        AgreementTable(key, label, lead, matrix.metrics, _agreement_rows(run, matrix))
        for (key, (label, lead)), matrix in zip(_LEVELS.items(), matrices, strict=True)
    ]


def _agreement_rows(
    run: CaptionersRun, matrix: AgreementMatrix
) -> list[tuple[str, list[ShadedCell]]]:
    rows = []
    for i, name in enumerate(matrix.metrics):
        cells = []
        for j, other in enumerate(matrix.metrics):
            estimate = matrix.tau_b[i][j]
            tau, ends = estimate.value, estimate.interval
            title = f"{name} and {other}: τ-b {number(tau, 3)}"
            if ends is not None:
                title += f"; {_percent(run)} interval {interval(ends, 2)}"
            kind = "self" if i == j else "machine" if tau is not None and tau < 0 else "human"
            cells.append(ShadedCell(_short(tau), tau, title, kind, abs(tau or 0.0)))
        rows.append((name, cells))
    return rows


_LEVELS = {
    "systems": (
        "Systems",
        "Do two metrics rank the systems alike? 1: the same ranking, −1: the opposite. With few "
        "systems, single swaps weigh much; intervals come from resampling the images.",
    ),
    "within_image": (
        "Captions of one image",
        "Given two systems' captions of the same image, do two metrics prefer the same one? "
        "Captions of different images are never compared.",
    ),
    "captions": (
        "All captions",
        "Do two metrics put all captions, of whichever image, in the same order? This also counts "
        "whether they find the same images hard.",
    ),
}


def _short(value: float | None) -> str:
    """Two digits, as they stand in a matrix: .83, −.12, 1."""
    if value is None:
        return DASH
    return "1" if value == 1 else number(value, 2).replace("0.", ".", 1)


def _percent(run: CaptionersRun) -> str:
    return f"{100 * (1 - run.alpha):g}%"
