"""The summary of the captioners' report: every sentence is computed from the run's numbers."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from metaeval.reports.captioners.length import length_finding
from metaeval.reports.captioners.run import CaptionersRun, SystemsScore
from metaeval.reports.shared.elements import Finding
from metaeval.reports.shared.formatting import (
    amount,
    capital,
    count,
    known,
    listed,
    number,
    percent,
    spelled,
)
from metaeval.results.captioners import CORPUS


def summary(run: CaptionersRun) -> list[Finding]:
    """The findings that apply, in the order of a reader's questions."""
    findings = [
        _first(run),
        _length(run),
        _last(run),
        _human(run),
        _undecided(run),
        _aggregates(run),
        _agreement(run),
        _disagreement(run),
        _missing(run),
    ]
    return [finding for finding in findings if finding is not None]


def headline(run: CaptionersRun) -> str:
    """One line on the size of the run."""
    n = sum(s.n for s in run.result.systems)
    systems = amount(len(run.systems), "system")
    return f"{amount(len(run.image_ids), 'image')}, {systems}, {count(n)} captions"


def _length(run: CaptionersRun) -> Finding | None:
    names = [m.numbers.sentence_column for m in run.headlines]
    return length_finding(run.result.length, names)


def _first(run: CaptionersRun) -> Finding:
    heads = [m for m in run.headlines if m.numbers.ranking]
    if not heads:
        return Finding("First.", "No metric gave the systems a score.")
    firsts = Counter(m.numbers.ranking[0] for m in heads).most_common()
    best, n = firsts[0]
    sure = [m for m in heads if m.numbers.ranking[0] == best and m.numbers.is_ahead(0)]
    text = f"{best} is first by {_of(n, len(heads))}"
    if len(run.systems) > 1 and len(sure) == n:
        text += ", each time further ahead of the second than chance explains"
    elif len(run.systems) > 1:
        share = spelled(len(sure)) if sure else "none"
        text += f", by {share} of them further ahead of the second than chance explains"
    text += "."
    for name, _ in firsts[1:]:
        by = [m.name for m in heads if m.numbers.ranking[0] == name]
        text += f" {name} is first by {listed(by)}."
    ranks = {s.name: s.mean_rank for s in run.result.systems}
    means = [f"{name} {number(ranks[name], 1)}" for name in run.systems if known(ranks[name])]
    return Finding("First.", f"{text} Mean ranks: {listed(means)}.")


def _last(run: CaptionersRun) -> Finding | None:
    heads = [m for m in run.headlines if len(m.numbers.ranking) > 1]
    if len(run.systems) < 3 or not heads:
        return None
    (worst, n), *_ = Counter(m.numbers.ranking[-1] for m in heads).most_common()
    mine = [m for m in heads if m.numbers.ranking[-1] == worst]
    unsure = [m.name for m in mine if not m.numbers.is_ahead(len(m.numbers.ranking) - 2)]
    text = f"{worst} is last by {_of(n, len(heads))}"
    if not unsure:
        text += ", each time further behind the last but one than chance explains."
    else:
        text += f"; by {listed(unsure)} no further behind the last but one than chance explains."
    for m in heads:
        last = m.numbers.ranking[-1]
        place = m.numbers.rank(worst)
        if last != worst and place is not None:
            text += f" By {m.name} it is {_ordinal(place)}, and {last} is last."
    return Finding("Last.", text)


def _human(run: CaptionersRun) -> Finding | None:
    columns = _head_columns(run)
    scores = [m for m in run.result.human_scores if m.name in columns]
    if not scores:
        return None
    above: dict[str, list[str]] = {}
    below = []
    for m in scores:
        names = [
            name
            for name in run.systems
            if (ends := m.numbers.systems[name].rank_order_rho.interval) and ends[1] < 0
        ]
        if names:
            above[m.name] = names
        else:
            below.append(m.name)
    if not above:
        n = amount(len(scores), "score")
        return Finding("Human.", f"No system is ranked above people by any of {n}.")
    groups: dict[tuple[str, ...], list[str]] = {}
    for metric, names in above.items():
        groups.setdefault(tuple(names), []).append(metric)
    parts = [f"{listed(list(names))} by {listed(by)}" for names, by in groups.items()]
    text = (
        f"Against the same other references, machines' captions are ranked above people's: "
        f"{'; '.join(parts)}."
    )
    if below:
        text += f" By {listed(below)} no system is."
    return Finding("Human.", text)


def _undecided(run: CaptionersRun) -> Finding | None:
    pairs: dict[tuple[str, str], list[str]] = {}
    total = 0
    for m in run.headlines:
        for k, neighbours in enumerate(m.numbers.neighbours.pairs):
            total += 1
            if not m.numbers.is_ahead(k):
                one, other = sorted((neighbours.a, neighbours.b), key=run.systems.index)
                pairs.setdefault((one, other), []).append(m.name)
    if not total:
        return None
    if not pairs:
        return Finding("Neighbours.", "Every ranking separates all its neighbours.")
    parts = [f"{a} and {b} by {listed(by)}" for (a, b), by in pairs.items()]
    n = sum(map(len, pairs.values()))
    return Finding(
        "Neighbours.",
        f"{capital(spelled(n))} of {spelled(total)} pairs of neighbours in rankings are not "
        f"separated, so claim no order there: {'; '.join(parts)}.",
    )


def _aggregates(run: CaptionersRun) -> Finding | None:
    scores = run.scores_of_systems
    means = {_column(m): m for m in scores if m.numbers.aggregate != CORPUS}
    both = [(m, means[_column(m)]) for m in scores if m.numbers.aggregate == CORPUS]
    if not both:
        return None
    differ = [
        _column(corpus) for corpus, mean in both if corpus.numbers.ranking != mean.numbers.ranking
    ]
    text = (
        "A corpus score adds up the counts of all captions, a mean of sentences averages scores. "
    )
    if differ:
        text += f"The two put the systems in different orders for {listed(differ)}."
    else:
        text += (
            f"Both put the systems in the same order for {listed([_column(c) for c, _ in both])}."
        )
    gaps = [(_between(*pair, s), pair, s) for pair in both for s in run.systems]
    _, (corpus, mean), name = max(gaps, key=lambda gap: gap[0])
    text += (
        f" They are different numbers all the same: {name}'s {_column(corpus)} is "
        f"{number(corpus.numbers.systems[name].value)} as a corpus and "
        f"{number(mean.numbers.systems[name].value)} as a mean."
    )
    return Finding("Corpus and mean.", text)


def _between(corpus: SystemsScore, mean: SystemsScore, name: str) -> float:
    one, other = corpus.numbers.systems[name].value, mean.numbers.systems[name].value
    return -1.0 if one is None or other is None else abs(one - other)


def _column(score: SystemsScore) -> str:
    return score.numbers.sentence_column


def _agreement(run: CaptionersRun) -> Finding | None:
    if run.result.agreement is None:
        return None
    matrix = run.result.agreement.within_image
    heads = _head_columns(run)
    places = [i for i, name in enumerate(matrix.metrics) if name in heads]
    pairs = [
        (tau, matrix.metrics[i], matrix.metrics[j])
        for i, j in combinations(places, 2)
        if (tau := matrix.tau_b[i][j].value) is not None
    ]
    if len(pairs) < 2:
        return None
    low, high = min(pairs), max(pairs)
    return Finding(
        "Agreement.",
        f"On captions of one image, {high[1]} and {high[2]} agree most (τ-b {number(high[0], 2)}), "
        f"{low[1]} and {low[2]} least ({number(low[0], 2)}).",
    )


def _disagreement(run: CaptionersRun) -> Finding | None:
    disagreement = run.result.disagreement
    if disagreement.mean is None or len(disagreement.votes) < 2:
        return None
    return Finding(
        "Contradictions.",
        f"Two metrics that both prefer one of two captions of an image contradict each other in "
        f"{percent(disagreement.mean)} of cases, on the average image; the images with the most "
        f"come first among the captions below.",
    )


def _missing(run: CaptionersRun) -> Finding | None:
    parts = [
        f"{s.name} has no caption of {amount(s.n_missing, 'image')}; its scores are those of "
        f"the others, and comparisons use the images that both systems have."
        for s in run.result.systems
        if s.n_missing
    ]
    for status, words in (("skipped", "could not run"), ("failed", "failed")):
        names = [m.name for m in run.absent if m.status == status]
        if names:
            parts.append(f"{listed(names)} {words}; see the alerts for the remedy.")
    return Finding("Missing.", " ".join(parts)) if parts else None


def _head_columns(run: CaptionersRun) -> set[str]:
    return {_column(m) for m in run.headlines}


def _of(n: int, total: int) -> str:
    if n == total:
        return f"all {amount(total, 'score')}" if total > 1 else "the one score"
    return f"{spelled(n)} of {amount(total, 'score')}"


def _ordinal(n: int) -> str:
    words = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
    return words[n - 1] if n <= len(words) else f"number {n}"
