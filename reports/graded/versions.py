"""The sets of a run in words: how much of their captions was asked for, changed and spoiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.graded.run import GradedRun
from reports.shared.formatting import amount, count, percent


def headline(run: GradedRun) -> str:
    """One line on the size of the run."""
    return (
        f"{amount(len(run.image_ids), 'image')} × {amount(len(run.sets), 'version')} = "
        f"{count(sum(s['n'] for s in run.sets))} captions"
    )


def version_row(s: Mapping[str, Any]) -> tuple[str, str, str, str, str]:
    """Name, level, captions, unchanged ones, words of one set."""
    requested, realised, harm = (
        s.get(key) for key in ("requested_rate", "mean_realised_rate", "mean_harm")
    )
    words = [f"{percent(requested, 0)} asked"] if requested is not None else []
    if realised or requested is not None:
        words.append(f"{percent(realised)} changed")
    if harm is not None:
        words.append(f"{percent(harm)} of the statements false or lost")
    n, unapplied = s["n"], s["n_unapplied"]
    return (
        s["name"],
        str(s["level"]),
        count(n),
        f"{count(unapplied)} ({percent(unapplied / n)})" if n else "0",
        ", ".join(words),
    )
