"""The part of the summary that looks beyond the ranking: corruptions, papers, absent metrics."""

from __future__ import annotations

from math import fsum
from typing import NamedTuple

from metaeval.runs.files import paper_value
from reports.graded.row_kind import Record, against_paper, ranked, rho, standing
from reports.graded.run import Run
from reports.shared.formatting import amount, capital, known, listed, number, percent, spelled

CLOSE = 0.02  # a difference in ρ that we call agreement with a published value


class Finding(NamedTuple):
    """A lead-in of a word or two, and the sentences it leads in."""

    lead: str
    text: str


def mean(values: list[float]) -> float:
    return fsum(values) / len(values)


def unapplied(run: Run, rows: list[Record]) -> Finding | None:
    left = [s for s in run.sets if s.get("n_unapplied")]
    if not left:
        return Finding("Corruptions.", "Every corruption changed every caption it was given.")
    parts = [f"{percent(s['n_unapplied'] / s['n'])} of {s['name']}" for s in left]
    text = f"{capital(listed(parts))} came out unchanged, and an unchanged caption cannot be told "
    text += "from the original by any metric."
    both = [
        (r, r["applied_only"]["rank_order_rho"] - r["rank_order_rho"])
        for r in rows
        if r.get("applied_only") and known(r["applied_only"].get("rank_order_rho"))
    ]
    if both:
        record, _ = max(both, key=lambda pair: abs(pair[1]))
        best = max(both, key=lambda pair: pair[0]["applied_only"]["rank_order_rho"])[0]
        text += (
            f" Without them ρ changes by {number(mean([c for _, c in both]), 3, sign=True)} on "
            f"average, most for {record['metric']} ({number(rho(record))} to "
            f"{number(record['applied_only']['rank_order_rho'])}); the best is then "
            f"{best['metric']} ({number(best['applied_only']['rank_order_rho'])})."
        )
    return Finding("Corruptions.", text)


def paper(run: Run) -> Finding | None:
    published = run.info.get("published")
    if not published or not published.get("rank_order_rho"):
        return None
    known = {
        r["metric"]: (r, value)
        for r in ranked(run.metrics)
        if (value := paper_value(published["rank_order_rho"], r["metric"])) is not None
    }
    rows = [r for r, value in known.values() if value.same_model]
    others = [name for name, (_, value) in known.items() if not value.same_model]
    if not known:
        return None
    if not published.get("comparable", True):
        return Finding(
            "Published.",
            f"The published values ({published['source'].rstrip('.')}) stand beside ours, but are "
            f"not comparable: {published.get('why_not') or 'other data'}.",
        )
    apart = (
        f"{listed(others)} {'uses another model' if len(others) == 1 else 'use other models'} than "
        "the paper, whose value for the metric stands in the table and is not compared."
    )
    if not rows:
        return Finding("Published.", apart)

    def off(record: Record) -> float:
        return abs(float(record["rank_order_rho"]) - known[record["metric"]][1].value)

    near = [r for r in rows if off(r) <= CLOSE]
    text = (
        f"{capital(spelled(len(near))) if near else 'None'} of {amount(len(rows), 'value')} "
        f"{'lies' if len(near) < 2 else 'lie'} within {CLOSE} of those published "
        f"({published['source'].rstrip('.')})."
    )
    far = sorted((r for r in rows if r not in near), key=lambda r: -off(r))
    if far:
        parts = []
        for record in far:
            there = known[record["metric"]][1].value
            why = " (ties can explain it)" if against_paper(record, there)[0] == "ties" else ""
            parts.append(f"{record['metric']} {number(rho(record))} against {number(there)}{why}")
        text += f" Further off: {listed(parts)}."
    return Finding("Published.", f"{text} {apart}" if others else text)


def absent(run: Run) -> Finding | None:
    parts = []
    for status, words in (("skipped", "could not run"), ("failed", "failed")):
        names = [r["metric"] for r in run.metrics if r["status"] == status]
        if names:
            parts.append(f"{listed(names)} {words}; see the alerts for the remedy.")
    noise = [r["metric"] for r in run.metrics if standing(r, run.metrics) == "random"]
    if noise:
        parts.append(
            f"{listed(noise)} ran on random weights and {'is' if len(noise) == 1 else 'are'}"
            f" not ranked."
        )
    return Finding("Not in the ranking.", " ".join(capital(p) for p in parts)) if parts else None
