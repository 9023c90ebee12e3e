"""What a reader must know before believing the numbers."""

from __future__ import annotations

from collections.abc import Iterator

from reports.graded.ranking import TIES_DECIDE, tie_width
from reports.graded.run import GradedRun
from reports.shared.elements import Alert
from reports.shared.formatting import amount, capital, count, interval, listed, percent, plainly
from reports.shared.row_kind import Record, row_kind


def alerts(run: GradedRun) -> list[Alert]:
    """All alerts, the gravest first, in the order of the table within each level."""
    every = [*_of_run(run), *_of_sets(run)]
    for record in run.metrics:
        every += _of_absent(record) if record["status"] != "ok" else _of_scores(run, record)
    return sorted(every, key=lambda a: ("error", "warn", "note").index(a.level))


def _of_run(run: GradedRun) -> Iterator[Alert]:
    git = run.info.get("git")
    if fallback := run.dataset.get("fallback"):
        yield Alert("error", "Dataset", capital(f"{fallback.rstrip('.')}."))
    if git and git.get("dirty"):
        yield Alert(
            "warn",
            "Code",
            "The working tree had changes that no commit records: "
            f"commit {git['commit'][:10]} alone does not reproduce this run.",
        )
    if not run.published.get("comparable", True):
        why_not = run.published.get("why_not") or "other data"
        yield Alert("note", "Published values", f"Not comparable: {why_not}.")
    for note in run.dataset.get("notes", ()):
        yield Alert("note", "Dataset", f"{capital(note.rstrip('.'))}.")


def _of_sets(run: GradedRun) -> Iterator[Alert]:
    for s in run.sets:
        if s.get("n_unapplied"):
            share = s["n_unapplied"] / s["n"]
            yield Alert(
                "warn" if share >= 0.05 else "note",
                s["name"],
                f"{count(s['n_unapplied'])} of {count(s['n'])} captions ({percent(share)}) "
                "came out unchanged; the table can omit them (“only applied corruptions”).",
            )
        if s.get("expected") == "same":
            yield Alert(
                "warn",
                s["name"],
                "These versions are as good as the original: a score should stay as it is. To "
                "put them below it, which the page calls the right order, is a fault.",
            )
    if len({s["n"] for s in run.sets}) > 1:
        sizes = [f"{s['name']} {count(s['n'])}" for s in run.sets]
        yield Alert("warn", "Sets", f"The sets differ in size: {listed(sizes)}.")


def _of_absent(record: Record) -> Iterator[Alert]:
    yield Alert(
        "error" if record["status"] == "failed" else "warn",
        record["metric"],
        f"{capital(record['status'])}: {(record['reason'] or '').rstrip('.')}.",
        record["remedy"] or "",
    )


def _of_scores(run: GradedRun, record: Record) -> Iterator[Alert]:
    name, kind = record["metric"], row_kind(record)
    if kind == "random":
        yield Alert(
            "error",
            name,
            "Its weights are random: the numbers say nothing "
            "about the metric. They are shown apart and never ranked.",
        )
    if n_nan := record.get("n_nan"):
        yield Alert(
            "warn",
            name,
            f"{capital(amount(n_nan, 'caption'))} of {count(record['n'])} could not be scored "
            f"and {'is' if n_nan == 1 else 'are'} left out.",
        )
    if tie_width(record) >= TIES_DECIDE and kind != "random":
        value, share = run.commonest(name)
        yield Alert(
            "warn",
            name,
            f"Ties decide: ρ lies anywhere from {interval(record['rank_order_rho_bounds'])} by "
            f"tie-breaking alone; {percent(share)} of its scores are {plainly(value)}.",
        )
