"""What is missing, left out or different from what a reader of the captioners' report assumes."""

from __future__ import annotations

from collections.abc import Iterator

from reports.captioners.run import CaptionersRun
from reports.shared.elements import Alert
from reports.shared.formatting import amount, capital, count, percent


def alerts(run: CaptionersRun) -> list[Alert]:
    """All alerts, in the order of the page."""
    return [*_of_metrics(run), *_of_systems(run), *_of_scores(run), *_of_run(run)]


def _of_metrics(run: CaptionersRun) -> Iterator[Alert]:
    if fallback := run.dataset.get("fallback"):
        yield Alert("error", "Dataset", capital(fallback) + ".")
    for r in run.absent:
        level = "error" if r["status"] == "failed" else "warn"
        text = f"{capital(r['status'])}: {(r['reason'] or 'no reason given').rstrip('.')}."
        yield Alert(level, r["column"], text, r["remedy"] or "")


def _of_systems(run: CaptionersRun) -> Iterator[Alert]:
    for s in run.statistics["systems"]:
        if s["n_missing"]:
            text = f"No caption of {amount(s['n_missing'], 'image')} of the run."
            yield Alert("warn", s["name"], text)
        if s["n_empty"]:
            yield Alert("warn", s["name"], f"{count(s['n_empty'])} captions are empty.")
        if s["n_other_images"]:
            n = amount(s["n_other_images"], "caption")
            yield Alert("note", s["name"], f"{capital(n)} of images outside this run left aside.")


def _of_scores(run: CaptionersRun) -> Iterator[Alert]:
    for r in run.score_records:
        if r["n_nan"] and r["aggregate"] != "corpus":
            share = percent(r["n_nan"] / r["n"])
            text = f"{count(r['n_nan'])} of {count(r['n'])} captions ({share}) have no score."
            yield Alert("note", r["column"], text)


def _of_run(run: CaptionersRun) -> Iterator[Alert]:
    git = run.info.get("git")
    if git and git.get("dirty"):
        text = "The working tree had changes, so the commit alone does not identify the code."
        yield Alert("warn", "Code", text)
    for note in run.dataset.get("notes") or ():
        yield Alert("note", "Data", note)
