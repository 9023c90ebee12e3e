"""The summary of the captioners' report: every sentence is computed from the run's numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from metaeval.reports.captioners.length import length_finding
from metaeval.reports.captioners.run import CaptionersRun, SystemsScore
from metaeval.reports.shared.elements import Finding
from metaeval.reports.shared.formatting import (
    amount,
    count,
    interval,
    known,
    listed,
    number,
    percent,
    spelled,
)
from metaeval.results.base import Estimate
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
    """The systems that are first by the most scores, and by how many of them significantly."""
    heads = [m for m in run.headlines if m.numbers.ranking]
    if not heads:
        return Finding("First.", "No metric gave the systems a score.")
    firsts = Counter(m.numbers.ranking[0] for m in heads).most_common()
    n = firsts[0][1]
    best = [name for name, k in firsts if k == n]
    ahead = sum(m.numbers.ranking[0] in best and m.numbers.is_ahead(0) for m in heads)
    each = " each" if len(best) > 1 else ""
    text = f"{listed(best)} {_is(best)}{each} first by {_of(n, len(heads))}"
    if len(run.systems) > 1:
        text += f", separated from the second by {_share(ahead, n * len(best))}"
    text += "."
    for name, _ in firsts[len(best) :]:
        by = [m.name for m in heads if m.numbers.ranking[0] == name]
        text += f" {name} is first by {listed(by)}."
    ranks = {s.name: s.mean_rank for s in run.result.systems}
    means = [f"{name} {number(ranks[name], 1)}" for name in run.systems if known(ranks[name])]
    return Finding("First.", f"{text} Mean ranks: {listed(means)}.")


def _last(run: CaptionersRun) -> Finding | None:
    """The systems that are last by the most scores, and by which of them not significantly."""
    heads = [m for m in run.headlines if len(m.numbers.ranking) > 1]
    if len(run.systems) < 3 or not heads:
        return None
    lasts = Counter(m.numbers.ranking[-1] for m in heads).most_common()
    n = lasts[0][1]
    worst = [name for name, k in lasts if k == n]
    mine = [m for m in heads if m.numbers.ranking[-1] in worst]
    unsure = [m.name for m in mine if not m.numbers.is_ahead(len(m.numbers.ranking) - 2)]
    each = " each" if len(worst) > 1 else ""
    text = f"{listed(worst)} {_is(worst)}{each} last by {_of(n, len(heads))}"
    text += f", not separated from the last but one by {listed(unsure)}." if unsure else "."
    for m in heads:
        last, (name, *others) = m.numbers.ranking[-1], worst
        if not others and last != name and (place := m.numbers.rank(name)) is not None:
            text += f" By {m.name} it is {_ordinal(place)}, and {last} is last."
    return Finding("Last.", text)


def _human(run: CaptionersRun) -> Finding | None:
    """The systems whose captions are ranked above people's: the interval of ρ lies below 0."""
    columns = _head_columns(run)
    above: dict[str, list[str]] = {}
    below = []
    for m in run.result.human_scores:
        ends = {name: m.numbers.systems[name].rank_order_rho.interval for name in run.systems}
        if m.name not in columns or None in ends.values():
            continue  # without an interval nothing is known
        names = [name for name, pair in ends.items() if pair is not None and pair[1] < 0]
        if names:
            above[m.name] = names
        else:
            below.append(m.name)
    if not above and not below:
        return None
    if not above:
        text = f"By {listed(below)} no system's interval of ρ against people lies below 0."
        return Finding("Human.", text)
    groups: dict[tuple[str, ...], list[str]] = {}
    for metric, names in above.items():
        groups.setdefault(tuple(names), []).append(metric)
    parts = [f"{listed(list(names))} by {listed(by)}" for names, by in groups.items()]
    text = (
        "Against the same other references, machines' captions are ranked above people's (the "
        f"interval of ρ lies below 0): {'; '.join(parts)}."
    )
    if below:
        text += f" By {listed(below)} no system is."
    return Finding("Human.", text)


def _undecided(run: CaptionersRun) -> Finding | None:
    """The neighbours in rankings that no test separates."""
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
        return Finding("Neighbours.", "All neighbours of every ranking are separated.")
    parts = [f"{a} and {b} by {listed(by)}" for (a, b), by in pairs.items()]
    n = sum(map(len, pairs.values()))
    return Finding(
        "Neighbours.",
        f"Of {amount(total, 'pair')} of neighbours in rankings {spelled(n)} "
        f"{'is' if n == 1 else 'are'} not separated, so claim no order there: {'; '.join(parts)}.",
    )


def _aggregates(run: CaptionersRun) -> Finding | None:
    """Whether corpus scores and means of sentences order the systems alike."""
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
    one, other = (number(m.numbers.systems[name].value) for m in (corpus, mean))
    if one != other:
        text += f" {name}'s {_column(corpus)} is {one} as a corpus and {other} as a mean."
    return Finding("Corpus and mean.", text)


def _between(corpus: SystemsScore, mean: SystemsScore, name: str) -> float:
    one, other = corpus.numbers.systems[name].value, mean.numbers.systems[name].value
    return -1.0 if one is None or other is None else abs(one - other)


def _column(score: SystemsScore) -> str:
    return score.numbers.sentence_column


def _agreement(run: CaptionersRun) -> Finding | None:
    """The pairs of metrics that agree most and least, where their intervals do not overlap."""
    if run.result.agreement is None:
        return None
    matrix = run.result.agreement.within_image
    heads = _head_columns(run)
    places = [i for i, name in enumerate(matrix.metrics) if name in heads]
    pairs = [
        (tau, matrix.metrics[i], matrix.metrics[j])
        for i, j in combinations(places, 2)
        if (tau := matrix.tau_b[i][j]).value is not None
    ]
    if len(pairs) < 2:
        return None
    (low, *least), *_, (high, *most) = sorted(pairs, key=lambda pair: pair[0].value or 0.0)
    if high.low is not None and low.high is not None and low.high < high.low:
        between = f"lies between {_tau(low)} ({listed(least)}) and {_tau(high)} ({listed(most)})"
    else:
        between = (
            f"lies between {number(low.value, 2)} and {number(high.value, 2)}, and the intervals "
            "of the highest and the lowest are not apart"
        )
    return Finding("Agreement.", f"On captions of one image the τ-b of two metrics {between}.")


def _tau(estimate: Estimate) -> str:
    """0.52, interval 0.48 to 0.56."""
    return f"{number(estimate.value, 2)}, interval {interval(estimate.interval, 2)}"


def _disagreement(run: CaptionersRun) -> Finding | None:
    """How often two metrics prefer different captions of an image."""
    disagreement = run.result.disagreement
    if disagreement.mean is None or len(disagreement.votes) < 2:
        return None
    return Finding(
        "Contradictions.",
        "Two metrics that both prefer one of two captions of an image contradict each other in "
        f"{percent(disagreement.mean)} of cases, averaged over "
        f"{amount(disagreement.n_images, 'image')}.",
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


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _share(n: int, total: int) -> str:
    """ "each of them", "none of them", "two of four"; with one score "it" or "no score"."""
    if total == 1:
        return "it" if n else "no score"
    if n in (0, total):
        return "each of them" if n else "none of them"
    return f"{spelled(n)} of {spelled(total)}"


def _head_columns(run: CaptionersRun) -> set[str]:
    return {_column(m) for m in run.headlines}


def _of(n: int, total: int) -> str:
    if n == total:
        return f"all {amount(total, 'score')}" if total > 1 else "the one score"
    return f"{spelled(n)} of {amount(total, 'score')}"


def _ordinal(n: int) -> str:
    words = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
    return words[n - 1] if n <= len(words) else f"number {n}"
