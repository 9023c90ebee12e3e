"""What is missing, left out or different from what a reader of the captioners' report assumes."""

from __future__ import annotations

from collections.abc import Iterator

from metaeval.reports.captioners.length import length_alerts
from metaeval.reports.captioners.run import CaptionersRun
from metaeval.reports.shared.elements import Alert
from metaeval.reports.shared.formatting import amount, capital, count, percent
from metaeval.results.captioners import CORPUS


def alerts(run: CaptionersRun) -> list[Alert]:
    """All alerts, in the order of the page."""
    return [
        *_of_metrics(run),
        *_of_systems(run),
        *length_alerts(run.result.length),
        *_of_scores(run),
        *_of_run(run),
    ]


def _of_metrics(run: CaptionersRun) -> Iterator[Alert]:
    if fallback := run.dataset.fallback:
        yield Alert("error", "Dataset", capital(fallback) + ".")
    for r in run.absent:
        level = "error" if r.status == "failed" else "warn"
        text = f"{capital(r.status)}: {(r.reason or 'no reason given').rstrip('.')}."
        yield Alert(level, r.name, text, r.remedy or "")
    for name, text in run.result.counted():
        yield Alert("note", name, f"{text}.")


def _of_systems(run: CaptionersRun) -> Iterator[Alert]:
    for s in run.result.systems:
        if s.n_missing:
            text = f"No caption of {amount(s.n_missing, 'image')} of the run."
            yield Alert("warn", s.name, text)
        if s.n_empty:
            verb = "is" if s.n_empty == 1 else "are"
            text = f"{capital(amount(s.n_empty, 'caption'))} {verb} empty."
            yield Alert("warn", s.name, text)
        if s.n_other_images:
            n = amount(s.n_other_images, "caption")
            yield Alert("note", s.name, f"{capital(n)} of images outside this run left aside.")


def _of_scores(run: CaptionersRun) -> Iterator[Alert]:
    for metric in run.scores_of_systems:
        r = metric.numbers
        if r.n_nan and r.aggregate != CORPUS:
            share = percent(r.n_nan / r.n)
            verb = "has" if r.n_nan == 1 else "have"
            text = f"{count(r.n_nan)} of {amount(r.n, 'caption')} ({share}) {verb} no score."
            yield Alert("note", r.sentence_column, text)


def _of_run(run: CaptionersRun) -> Iterator[Alert]:
    if run.info.git is not None and run.info.git.dirty:
        text = "The working tree had changes, so the commit alone does not identify the code."
        yield Alert("warn", "Code", text)
    for note in run.dataset.notes:
        yield Alert("note", "Data", note)
