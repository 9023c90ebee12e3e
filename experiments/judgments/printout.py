"""What a run against human judgements prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

SYMBOL = {
    "pearson": "r", "spearman": "ρ", "kendall_tau_b": "τ-b", "kendall_tau_c": "τ-c",
}  # fmt: skip


def printout(summary: Mapping[str, Any], file: Path) -> str:
    """A line a metric, best first by the protocol's statistic; where to look next."""
    rows = _choice(summary) if summary["kind"] == "forced_choice" else _ratings(summary)
    return "\n".join([*rows, *_lacking(summary), f"{file.stem}: {file}"])


def _ratings(summary: Mapping[str, Any]) -> Iterator[str]:
    statistic = summary["protocol"]["statistic"]
    others = [name for name in SYMBOL if name != statistic]
    done = [r for r in summary["metrics"] if r["status"] == "ok" and r["part_of"] is None]
    width = max((len(r["metric"]) for r in done), default=0)
    for dimension in summary["dimensions"]:
        told = summary["published"]
        published = told["values"] if told["dimension"] == dimension else {}
        confidence = f"{round(100 * summary['settings']['confidence'], 6):g}% interval"
        head = f"{dimension:<{width}}  {SYMBOL[statistic]:>8}  {confidence:<18}"
        head += "".join(f" {SYMBOL[name]:>7}" for name in others) + "  accuracy"
        yield head + ("  published" if published else "")

        def by(record: Mapping[str, Any], dimension: str = dimension) -> float:
            value = record["human"][dimension][statistic]
            return -value if value == value else 2.0

        for r in sorted(done, key=by):
            found = r["human"][dimension]
            low, high = found[f"{statistic}_ci"]
            interval = f"{100 * low:.2f} {100 * high:.2f}" if low == low else ""
            line = f"{r['metric']:<{width}}  {100 * found[statistic]:>8.3f}  {interval:<18}"
            line += "".join(f" {100 * found[name]:>7.2f}" for name in others)
            line += f"  {100 * found['accuracy']['value']:>8.2f}"
            value = published.get(r["metric"])
            yield line if value is None else f"{line}  {100 * value:>9.1f}"
        yield _beaten(summary["differences"][dimension], summary["settings"]["alpha"])


def _beaten(differences: Mapping[str, Any], alpha: float) -> str:
    pairs = differences["pairs"]
    told = ", ".join(
        f"{sum(p[test]['p_holm'] is not None and p[test]['p_holm'] <= alpha for p in pairs)} by "
        f"{test}"
        for test in ("permutation", "bootstrap", "williams")
        if pairs and test in pairs[0]
    )
    return f"{len(pairs)} pairs of metrics, significant at {alpha:g} after Holm: {told or 'none'}"


def _choice(summary: Mapping[str, Any]) -> Iterator[str]:
    done = [r for r in summary["metrics"] if r["status"] == "ok" and r["part_of"] is None]
    width = max((len(r["metric"]) for r in done), default=0)
    groups = summary["groups"]
    for place, n in enumerate(summary["n_references"]):
        name = f"{n} reference{'' if n == 1 else 's'}"
        head = f"{name:<{max(width, 13)}}"
        yield head + "".join(f" {group:>7}" for group in groups)
        rows = [(r, r["choice"][place]["accuracy"]) for r in done]
        for r, accuracy in sorted(rows, key=lambda row: -row[1][groups[-1]]["value"]):
            values = "".join(f" {100 * accuracy[g]['value']:>7.2f}" for g in groups)
            yield f"{r['metric']:<{max(width, 13)}}{values}"


def _lacking(summary: Mapping[str, Any]) -> Iterator[str]:
    found = {r["family"]: r["status"] for r in summary["metrics"] if r["status"] != "ok"}
    if found:  # the reasons went to stderr, and are in the report
        yield "not run: " + ", ".join(f"{name} ({status})" for name, status in found.items())
