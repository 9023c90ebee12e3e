"""What a profile shows, in sentences that hold for this run."""

from __future__ import annotations

from collections.abc import Iterator

from reports.sensitivity.profile import misses, shown
from reports.shared.elements import Finding
from reports.shared.formatting import count, known, listed, number, percent
from reports.shared.run import FinishedRun

_NAMED = 5


def findings(run: FinishedRun) -> list[Finding]:
    """Blind spots, hard positives, what the language model sees alone, which pair sees most."""
    return [*_size(run), *_blind(run), *_nobody(run), *_positives(run), *_together(run)]


def _size(run: FinishedRun) -> Iterator[Finding]:
    sets = run.statistics["sets"]
    harmful = sum(entry["expected"] == "lower" for entry in sets)
    yield Finding(
        "",
        f"{count(run.statistics['n_images'])} human captions, {harmful} sets of changes that harm "
        f"and {len(sets) - harmful} that do not. The AUC of a set is how often the human caption "
        "scores above the changed one, equal scores counting one half; 0.5 is not told apart.",
    )


def _blind(run: FinishedRun) -> Iterator[Finding]:
    for record in shown(run):
        if record["control"]:
            continue
        blind = misses(record, run)
        if not blind:
            yield Finding(f"{record['metric']}", "surely sees every change that harms.")
            continue
        named = listed([f"{name} ({number(auc)})" for name, auc in blind[:_NAMED]])
        more = f" and {len(blind) - _NAMED} more" if len(blind) > _NAMED else ""
        yield Finding(f"{record['metric']}", f"does not surely see {named}{more}.")


def _nobody(run: FinishedRun) -> Iterator[Finding]:
    """Harmful sets that no metric surely sees."""
    metrics = [r for r in shown(run) if not r["control"]]
    if len(metrics) < 2:
        return
    common = set.intersection(*({name for name, _ in misses(r, run)} for r in metrics))
    if common:
        order = [entry["set"] for entry in run.statistics["sets"]]
        yield Finding("No metric", f"surely sees {listed(sorted(common, key=order.index))}.")


def _positives(run: FinishedRun) -> Iterator[Finding]:
    shares = [
        (r["hard_positives"]["all"], r["metric"])
        for r in shown(run)
        if not r["control"] and known(r["hard_positives"]["all"])
    ]
    if len(shares) > 1:
        best, worst = max(shares), min(shares)
        yield Finding(
            "Hard positives.",
            f"A harmless rewrite scores above a harmful near-copy of the same image most often by "
            f"{best[1]} ({percent(best[0])}) and least often by {worst[1]} ({percent(worst[0])}); "
            "50% is chance.",
        )


def _together(run: FinishedRun) -> Iterator[Finding]:
    if pairs := run.statistics["together"]:
        best = pairs[0]
        yield Finding(
            "Together",
            f"{best['a']} and {best['b']} see most: taking the better of the two on each set that "
            f"harms, their mean AUC is {number(best['mean_auc'])}.",
        )
