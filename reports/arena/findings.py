"""The findings of a run of battles, in sentences."""

from __future__ import annotations

from metaeval.reports.judgments.findings import leader, too_few
from metaeval.reports.shared.elements import Finding
from metaeval.reports.shared.formatting import (
    amount,
    capital,
    count,
    listed,
    number,
    percent,
    spelled,
)
from metaeval.reports.shared.matrix import against_control_sentences
from metaeval.reports.shared.row_kind import kind_of
from metaeval.reports.shared.table import MetricsTable
from metaeval.results.arena import ALL, ArenaResult

LENGTH = "length"  # the family of the control that prefers the longer caption


def findings(result: ArenaResult, table: MetricsTable) -> list[Finding]:
    """The first sentence is set large; the others follow."""
    sentences: list[str] = []
    ranked = [row.metric for row in table.bodies[0][1] if row.kind == "result"]
    if ranked:
        best = result.metric(ranked[0])
        value = f"it prefers the winner in {percent(best.numbers.agreement[ALL].value)}"
        sentences.append(leader(best, value, ranked, result.differences))
    if result.settings.winner != "people":
        sentences.append(f"The winners are those that {result.settings.winner} prefers.")
    sentences += against_control_sentences(result.controls, "")
    sentences += length_alone(result)
    sentences += raters(result)
    sentences += systems(result)
    sentences += length_of_systems(result)
    settings = result.settings
    sentences += too_few(
        [result.differences], settings.permutations, settings.replicates, settings.alpha
    )
    return [Finding("", sentence) for sentence in sentences or ["No metric ran."]]


def length_alone(result: ArenaResult) -> list[str]:
    """How often the longer caption wins, where that is significantly not one half."""
    for metric in result.metrics:
        if metric.ok and metric.family == LENGTH and metric.column.part_of is None:
            share = metric.numbers.decided
            if share.value is None or share.interval is None:
                return []
            low, high = share.interval
            if low <= 0.5 <= high:
                return []
            side = "longer" if share.value > 0.5 else "shorter"
            value = max(share.value, 1 - share.value)
            return [
                f"Of the battles that are not ties, the {side} caption wins {percent(value)} "
                f"(captions of equal length one half)."
            ]
    return []


def raters(result: ArenaResult) -> list[str]:
    """Agreement of two ratings of one battle."""
    people = result.people
    if people is None:
        return []
    return [
        f"Two ratings of one battle agree in {percent(people.value)} "
        f"({amount(people.battles, 'battle')} with several ratings)."
    ]


def systems(result: ArenaResult) -> list[str]:
    """The strongest systems, and which metrics rank the systems alike."""
    ranking = result.ranking
    if ranking is None:
        return []
    first = [system.name for system in ranking.systems if system.rank == 1]
    if len(first) == len(ranking.systems):
        lead = "No system is significantly stronger than another."
    elif len(first) == 1:
        lead = f"{first[0]} is stronger than every other system."
    else:
        lead = f"{listed(first)} form the first group: no test separates them."
    values = {
        m.name: (agreement.spearman.value, kind_of(m))
        for m in result.metrics
        if m.ok and (agreement := m.numbers.systems) is not None
    }
    ranked = {name: v for name, (v, kind) in values.items() if kind == "result" and v is not None}
    if not ranked:
        return [lead]
    highest = max(ranked.values())
    best = [name for name, value in ranked.items() if value == highest]
    below = sum(value < 0 for value in ranked.values())
    who = listed(best) if len(best) < 4 else f"{spelled(len(best))} metrics"
    follow = (
        f"{capital(who)} {'ranks' if len(best) == 1 else 'rank'} the {count(len(ranking.systems))} "
        f"systems most like the winners do (Spearman {number(highest, 2)})"
    )
    if below:
        follow += (
            f"; {spelled(below)} of {amount(len(ranked), 'metric')} "
            f"{'ranks' if below == 1 else 'rank'} them the other way round"
        )
    return [lead, f"{follow}."]


def length_of_systems(result: ArenaResult) -> list[str]:
    """Whether longer captions win at equal systems, where the interval excludes 0."""
    ranking = result.ranking
    if ranking is None or ranking.length.interval is None or ranking.length.value is None:
        return []
    low, high = ranking.length.interval
    if low <= 0 <= high:
        return []
    word = "more" if ranking.length.value > 0 else "less"
    return [
        f"Between equally strong systems a word {word} raises the log-odds of winning by "
        f"{number(abs(ranking.length.value))}; at equal length the systems' order correlates with "
        f"the plain one by Spearman {number(ranking.equal_length_spearman, 2)}."
    ]
