"""What a reader must know before believing the numbers."""

from __future__ import annotations

from typing import NamedTuple

from reports.graded.row_kind import TIES_DECIDE, standing, tie_width
from reports.graded.run import Run, commonest
from reports.shared.formatting import amount, capital, count, interval, listed, percent, plainly


class Alert(NamedTuple):
    """`level`: "error" (a number is missing or no result), "warn" (read with care), "note"."""

    level: str
    subject: str
    text: str
    remedy: str = ""


def alerts(run: Run) -> list[Alert]:
    """All alerts, the gravest first, in the order of the table within each level."""
    found = [*_run(run), *_sets(run), *_metrics(run)]
    return sorted(found, key=lambda a: ("error", "warn", "note").index(a.level))


def _run(run: Run) -> list[Alert]:
    found = []
    dataset = run.info.get("dataset") or {}
    if dataset.get("fallback"):
        found.append(Alert("error", "Dataset", capital(f"{dataset['fallback'].rstrip('.')}.")))
    git = run.info.get("git")
    if git and git.get("dirty"):
        found.append(
            Alert(
                "warn",
                "Code",
                "The working tree had changes that no commit records: "
                f"commit {git['commit'][:10]} alone does not reproduce this run.",
            )
        )
    published = run.info.get("published")
    if published and not published.get("comparable", True):
        found.append(
            Alert(
                "note",
                "Published values",
                f"Not comparable: {published.get('why_not') or 'other data'}.",
            )
        )
    found += [
        Alert("note", "Dataset", f"{capital(n.rstrip('.'))}.") for n in dataset.get("notes", ())
    ]
    return found


def _sets(run: Run) -> list[Alert]:
    found = []
    for s in run.sets:
        if s.get("n_unapplied"):
            share = s["n_unapplied"] / s["n"]
            found.append(
                Alert(
                    "warn" if share >= 0.05 else "note",
                    s["name"],
                    f"{count(s['n_unapplied'])} of {count(s['n'])} captions ({percent(share)}) "
                    "came out unchanged; the table can omit them (“only applied corruptions”).",
                )
            )
    sizes = {s["n"] for s in run.sets}
    if len(sizes) > 1:
        sized = [f"{s['name']} {count(s['n'])}" for s in run.sets]
        found.append(Alert("warn", "Sets", f"The sets differ in size: {listed(sized)}."))
    return found


def _metrics(run: Run) -> list[Alert]:
    found = []
    for r in run.metrics:
        name, kind = r["metric"], standing(r, run.metrics)
        if kind == "absent":
            found.append(
                Alert(
                    "error" if r["status"] == "failed" else "warn",
                    name,
                    f"{capital(r['status'])}: {(r['reason'] or '').rstrip('.')}.",
                    r.get("remedy") or "",
                )
            )
            continue
        if kind == "random":
            found.append(
                Alert(
                    "error",
                    name,
                    "Its weights are random: the numbers say nothing "
                    "about the metric. They are shown apart and never ranked.",
                )
            )
        if r.get("n_nan"):
            found.append(
                Alert(
                    "warn",
                    name,
                    f"{capital(amount(r['n_nan'], 'caption'))} of "
                    f"{count(r['n'])} could not be scored and "
                    f"{'is' if r['n_nan'] == 1 else 'are'} left out.",
                )
            )
        if tie_width(r) >= TIES_DECIDE and kind != "random":
            value, share = commonest(run, name)
            found.append(
                Alert(
                    "warn",
                    name,
                    f"Ties decide: ρ lies anywhere from "
                    f"{interval(r['rank_order_rho_bounds'])} by tie-breaking alone; "
                    f"{percent(share)} of its scores are {plainly(value)}.",
                )
            )
    return found
