"""What a run against human judgements prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.controls import is_ranked, verdicts
from experiments.text_table import text_table
from metaeval.stats.significance.holm import least_draws

NEARLY_ALL = 0.9  # of the pairs, from where a tie calibration is remarked upon

SYMBOL = {
    "pearson": "r", "spearman": "ρ", "kendall_tau_b": "τ-b", "kendall_tau_c": "τ-c",
}  # fmt: skip


def printout(summary: Mapping[str, Any], file: Path) -> str:
    """A line a metric, best first by the protocol's statistic; where to look next."""
    rows = _choice(summary) if summary["kind"] == "forced_choice" else _ratings(summary)
    closing = [*_impossible(summary), *_lacking(summary), f"{file.stem}: {file}"]
    return "\n".join([*rows, *closing])


def _ratings(summary: Mapping[str, Any]) -> Iterator[str]:
    statistic, published = summary["protocol"]["statistic"], summary["published"]
    done = _results(summary)
    for dimension in summary["dimensions"]:
        rows = sorted(done, key=lambda r: _badness(r, dimension, statistic))
        yield from text_table(
            [
                _rating_line(r, dimension, summary, published["values"].get(dimension, {}))
                for r in rows
            ],
            dimension,
        )
        people = summary["people"][dimension]
        if people is not None:
            yield (
                f"a person with the {people['raters'] - 1} others: {SYMBOL[statistic]} "
                f"{100 * people['value']:.3f}"
            )
        yield from _views(summary, rows, dimension)
        yield from _systems(summary, rows, dimension)
        yield _beaten(summary["differences"][dimension], summary["settings"]["alpha"])
        yield from _not_above(summary, dimension)
        yield from _nearly_all_tied(rows, dimension)
    yield from _unscored(done)


def _results(summary: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [r for r in summary["metrics"] if r["status"] == "ok" and r["part_of"] is None]


def _name(record: Mapping[str, Any]) -> str:
    """A metric's name; a control's in brackets."""
    return f"({record['metric']})" if record["control"] else str(record["metric"])


def _badness(record: Mapping[str, Any], dimension: str, statistic: str) -> tuple[bool, float]:
    """What rows are sorted by: controls last, and on the rows that all metrics share, where they do
    not share all."""
    agreement = record["human"][dimension]
    common = agreement.get("common")
    value = common["value"] if common else agreement[statistic]
    return record["control"], -value if value == value else 2.0


def _rating_line(
    record: Mapping[str, Any],
    dimension: str,
    summary: Mapping[str, Any],
    published: Mapping[str, float],
) -> dict[str, str]:
    statistic = summary["protocol"]["statistic"]
    agreement = record["human"][dimension]
    low, high = agreement[f"{statistic}_ci"]
    confidence = f"{round(100 * summary['settings']['confidence'], 6):g}% interval"
    common, value = agreement.get("common"), published.get(record["metric"])
    return {
        "metric": _name(record),
        SYMBOL[statistic]: f"{100 * agreement[statistic]:.3f}",
        confidence: f"{100 * low:.2f} {100 * high:.2f}" if low == low else "",
        **{
            symbol: f"{100 * agreement[name]:.2f}"
            for name, symbol in SYMBOL.items()
            if name != statistic
        },
        "accuracy": _percent(agreement["accuracy"]["value"]),
        "n": f"{agreement['n']:,}",
        "on common rows": f"{100 * common['value']:.3f} ({common['n']:,})" if common else "",
        "published": "" if value is None else f"{100 * value:.1f}",
    }


def _views(
    summary: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], dimension: str
) -> Iterator[str]:
    """The protocol's statistic on parts of the captions: without people's, by subset."""
    if not summary["views"]:
        return
    statistic, published = summary["protocol"]["statistic"], summary["published"]["views"]
    lines = []
    for r in rows:
        line = {"metric": _name(r)}
        for view, of_view in r["human"][dimension]["views"].items():
            shown = _percent(of_view[statistic], 3)
            line[f"{view} ({summary['views'][view]:,})"] = shown
            value = published.get(view, {}).get(dimension, {}).get(r["metric"])
            line[f"published {view}"] = "" if value is None else f"{100 * value:.1f}"
        lines.append(line)
    yield from text_table(lines, f"{dimension}, {SYMBOL[statistic]}")


def _systems(
    summary: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], dimension: str
) -> Iterator[str]:
    """Which metrics agree with people about the systems."""
    r = {
        m["metric"]: (m["human"][dimension].get("system") or {}).get("pearson")
        for m in rows
        if not m["control"]
    }
    defined = {name: value for name, value in r.items() if value is not None and value == value}
    if not defined:
        return
    positive = sorted((n for n in defined if defined[n] > 0), key=lambda n: -defined[n])
    shown = ", ".join(f"{name} {defined[name]:.2f}" for name in positive) or "none"
    yield (
        f"{len(summary['systems'])} systems: r above 0 for {len(positive)} of {len(defined)} "
        f"metrics: {shown}"
    )


def _not_above(summary: Mapping[str, Any], dimension: str) -> Iterator[str]:
    """The metrics that are not surely above the best control."""
    told = summary["controls"][dimension]
    if told is None:
        return
    ranked = [r["metric"] for r in _results(summary) if is_ranked(r)]
    if below := [name for name in ranked if name not in told["above"]]:
        yield (
            f"not surely above the best control ({told['control']}, {100 * told['value']:.3f}): "
            f"{', '.join(below)}"
        )


def _nearly_all_tied(rows: Sequence[Mapping[str, Any]], dimension: str) -> Iterator[str]:
    tied = {
        r["metric"]: r["human"][dimension]["accuracy"]["tied"] for r in rows if not r["control"]
    }
    names = [name for name, share in tied.items() if share >= NEARLY_ALL]
    if names:
        yield (
            f"tie calibration ties at least {NEARLY_ALL:.0%} of the pairs of {', '.join(names)}: "
            "such an accuracy says how often people tie captions, not what the metric sees"
        )


def _unscored(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for r in rows:
        if n := r["n_nan"]:
            bare = r["n_nan_without_references"]
            verb = "has" if bare == 1 else "have"
            why = f" ({bare:,} of them {verb} no references)" if bare else ""
            yield f"{r['metric']}: no score for {n:,} of {n + r['n']:,} captions{why}"


def _impossible(summary: Mapping[str, Any]) -> Iterator[str]:
    """The tests that drew too little to call anything significant."""
    settings = summary["settings"]
    pairs = max((len(d["pairs"]) for d in summary["differences"].values()), default=0)
    for test, sides, drawn, option in (
        ("permutation", 1, settings["permutations"], "task.permutations"),
        ("bootstrap", 2, settings["replicates"], "stats.replicates"),
    ):
        if pairs and drawn < (needed := least_draws(pairs, sides, settings["alpha"])):
            yield (
                f"no difference can be significant by {test}: {drawn:,} draws for {pairs:,} "
                f"pair{'' if pairs == 1 else 's'}; {option}={needed} or more"
            )


def _beaten(differences: Mapping[str, Any], alpha: float) -> str:
    pairs = differences["pairs"]
    told = ", ".join(
        f"{sum(p[test]['p_holm'] is not None and p[test]['p_holm'] <= alpha for p in pairs)} by "
        f"{test}"
        for test in ("permutation", "bootstrap", "williams")
        if pairs and test in pairs[0]
    )
    what = "1 pair" if len(pairs) == 1 else f"{len(pairs)} pairs"
    return f"{what} of metrics, significant at {alpha:g} after Holm: {told or 'none'}"


def _choice(summary: Mapping[str, Any]) -> Iterator[str]:
    done, groups, published = _results(summary), summary["groups"], summary["published"]
    if (agreement := summary["label_agreement"]) is not None:
        shares = ", ".join(f"{name} {100 * share:.1f}" for name, share in agreement.items())
        yield f"labels: {summary['labels']}; direct and consensus agree on {shares} % of the pairs"
    if (people := summary["people"]) is not None:
        shares = ", ".join(f"{name} {100 * share:.2f}" for name, share in people.items())
        yield f"one person with the majority of the others: {shares}"
    for place, n in enumerate(summary["n_references"]):
        rows = [(r, r["choice"][place]["accuracy"]) for r in done]
        lines = []
        in_order = sorted(rows, key=lambda row: (row[0]["control"], -row[1][groups[-1]]["value"]))
        for r, accuracy in in_order:
            line = {"metric": _name(r)}
            line |= {g: f"{100 * accuracy[g]['value']:.2f}" for g in groups}
            values = published["values"].get(r["metric"]) if published["n_references"] == n else {}
            line["published"] = " ".join(f"{100 * v:.1f}" for v in (values or {}).values())
            lines.append(line)
        yield from text_table(lines, f"with {n} reference{'' if n == 1 else 's'}")
        yield from verdicts(summary["controls"][str(n)])
        if str(n) in summary["differences"]:
            yield _beaten(summary["differences"][str(n)], summary["settings"]["alpha"])


def _lacking(summary: Mapping[str, Any]) -> Iterator[str]:
    missing = {r["family"]: r["status"] for r in summary["metrics"] if r["status"] != "ok"}
    if missing:  # the reasons went to stderr, and are in the report
        yield "not run: " + ", ".join(f"{name} ({status})" for name, status in missing.items())


def _percent(share: float, digits: int = 2) -> str:
    """Nothing where there is no share: no image has two captions to compare, or none of a part has
    a score."""
    return f"{100 * share:.{digits}f}" if share == share else ""
