"""The summary of the captioners' report: every sentence is computed from the run's numbers."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from reports.captioners.run import CaptionersRun
from reports.captioners.tables import apart
from reports.shared.elements import Finding
from reports.shared.formatting import (
    amount,
    capital,
    count,
    known,
    listed,
    number,
    percent,
    spelled,
)
from reports.shared.row_kind import Record


def summary(run: CaptionersRun) -> list[Finding]:
    """The findings that apply, in the order in which a reader asks for them."""
    findings = [
        _first(run),
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
    n = sum(s["n"] for s in run.statistics["systems"])
    systems = amount(len(run.systems), "system")
    return f"{amount(len(run.image_ids), 'image')}, {systems}, {count(n)} captions"


def _first(run: CaptionersRun) -> Finding:
    heads = [r for r in run.headlines if r["ranking"]]
    if not heads:
        return Finding("First.", "No metric gave the systems a score.")
    firsts = Counter(r["ranking"][0] for r in heads).most_common()
    best, n = firsts[0]
    sure = [r for r in heads if r["ranking"][0] == best and _ahead(run, r, 0)]
    text = f"{best} is first by {_of(n, len(heads))}"
    if len(run.systems) > 1 and len(sure) == n:
        text += ", each time further ahead of the second than chance explains"
    elif len(run.systems) > 1:
        share = spelled(len(sure)) if sure else "none"
        text += f", by {share} of them further ahead of the second than chance explains"
    text += "."
    for name, _ in firsts[1:]:
        by = [r["metric"] for r in heads if r["ranking"][0] == name]
        text += f" {name} is first by {listed(by)}."
    ranks = {s["name"]: s["mean_rank"] for s in run.statistics["systems"]}
    means = [f"{name} {number(ranks[name], 1)}" for name in run.systems if known(ranks[name])]
    return Finding("First.", f"{text} Mean ranks: {listed(means)}.")


def _last(run: CaptionersRun) -> Finding | None:
    heads = [r for r in run.headlines if len(r["ranking"]) > 1]
    if len(run.systems) < 3 or not heads:
        return None
    (worst, n), *_ = Counter(r["ranking"][-1] for r in heads).most_common()
    mine = [r for r in heads if r["ranking"][-1] == worst]
    unsure = [r["metric"] for r in mine if not _ahead(run, r, len(r["ranking"]) - 2)]
    text = f"{worst} is last by {_of(n, len(heads))}"
    if not unsure:
        text += ", each time further behind the last but one than chance explains."
    else:
        text += f"; by {listed(unsure)} no further behind the last but one than chance explains."
    for r in heads:
        if r not in mine and worst in r["ranking"]:
            place = 1 + r["ranking"].index(worst)
            text += f" By {r['metric']} it is {_ordinal(place)}, and {r['ranking'][-1]} is last."
    return Finding("Last.", text)


def _human(run: CaptionersRun) -> Finding | None:
    columns = _head_columns(run)
    records = [r for r in run.human_records if r["column"] in columns]
    if not records:
        return None
    above: dict[str, list[str]] = {}
    below = []
    for r in records:
        names = [
            name
            for name in run.systems
            if (ci := r["systems"][name]["rank_order_rho_ci"]) and None not in ci and ci[1] < 0
        ]
        if names:
            above[r["metric"]] = names
        else:
            below.append(r["metric"])
    if not above:
        scores = amount(len(records), "score")
        return Finding("Human.", f"No system is ranked above people by any of {scores}.")
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
    for r in run.headlines:
        for test in r["neighbours"]:
            total += 1
            if not apart(test, run.alpha):
                one, other = sorted((test["better"], test["worse"]), key=run.systems.index)
                pairs.setdefault((one, other), []).append(r["metric"])
    if not total:
        return None
    if not pairs:
        return Finding("Neighbours.", "Every ranking tells all its neighbours apart.")
    parts = [f"{a} and {b} by {listed(by)}" for (a, b), by in pairs.items()]
    n = sum(map(len, pairs.values()))
    return Finding(
        "Neighbours.",
        f"{capital(spelled(n))} of {spelled(total)} pairs of neighbours in rankings are not told "
        f"apart, so claim no order there: {'; '.join(parts)}.",
    )


def _aggregates(run: CaptionersRun) -> Finding | None:
    means = {r["column"]: r for r in run.score_records if r["aggregate"] != "corpus"}
    both = [(r, means[r["column"]]) for r in run.score_records if r["aggregate"] == "corpus"]
    if not both:
        return None
    differ = [corpus["column"] for corpus, mean in both if corpus["ranking"] != mean["ranking"]]
    text = (
        "A corpus score adds up the counts of all captions, a mean of sentences averages scores. "
    )
    if differ:
        text += f"The two put the systems in different orders for {listed(differ)}."
    else:
        text += (
            f"Both put the systems in the same order for {listed([c['column'] for c, _ in both])}."
        )
    gaps = [(_between(*pair, s), pair, s) for pair in both for s in run.systems]
    _, (corpus, mean), name = max(gaps, key=lambda gap: gap[0])
    text += (
        f" They are different numbers all the same: {name}'s {corpus['column']} is "
        f"{number(corpus['systems'][name]['score'])} as a corpus and "
        f"{number(mean['systems'][name]['score'])} as a mean."
    )
    return Finding("Corpus and mean.", text)


def _between(corpus: Record, mean: Record, name: str) -> float:
    one, other = corpus["systems"][name]["score"], mean["systems"][name]["score"]
    return abs(one - other) if known(one) and known(other) else -1.0


def _agreement(run: CaptionersRun) -> Finding | None:
    matrix = run.statistics["agreement"].get("within_image")
    if not matrix:
        return None
    heads = _head_columns(run)
    places = [i for i, name in enumerate(matrix["metrics"]) if name in heads]
    pairs = [
        (matrix["tau_b"][i][j], matrix["metrics"][i], matrix["metrics"][j])
        for i, j in combinations(places, 2)
        if known(matrix["tau_b"][i][j])
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
    disagreement = run.statistics["disagreement"]
    if not known(disagreement["mean"]) or len(disagreement["votes"]) < 2:
        return None
    return Finding(
        "Contradictions.",
        f"Two metrics that both prefer one of two captions of an image contradict each other in "
        f"{percent(disagreement['mean'])} of cases, on the average image; the images with the most "
        f"come first among the captions below.",
    )


def _missing(run: CaptionersRun) -> Finding | None:
    parts = [
        f"{s['name']} has no caption of {amount(s['n_missing'], 'image')}; its scores are those of "
        f"the others, and comparisons use the images that both systems have."
        for s in run.statistics["systems"]
        if s["n_missing"]
    ]
    for status, words in (("skipped", "could not run"), ("failed", "failed")):
        names = [r["column"] for r in run.absent if r["status"] == status]
        if names:
            parts.append(f"{listed(names)} {words}; see the alerts for the remedy.")
    return Finding("Missing.", " ".join(parts)) if parts else None


def _head_columns(run: CaptionersRun) -> set[str]:
    return {r["column"] for r in run.headlines}


def _ahead(run: CaptionersRun, record: Record, place: int) -> bool:
    """Whether the system at this place of a ranking is told apart from the next."""
    return place < len(record["neighbours"]) and apart(record["neighbours"][place], run.alpha)


def _of(n: int, total: int) -> str:
    if n == total:
        return f"all {amount(total, 'score')}" if total > 1 else "the one score"
    return f"{spelled(n)} of {amount(total, 'score')}"


def _ordinal(n: int) -> str:
    words = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
    return words[n - 1] if n <= len(words) else f"number {n}"
