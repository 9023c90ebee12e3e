"""What a profile shows, in sentences that hold for this run."""

from __future__ import annotations

from collections.abc import Iterator

from reports.sensitivity.profile import of_verdict, shown
from reports.shared.elements import Finding
from reports.shared.formatting import (
    amount,
    capital,
    count,
    known,
    listed,
    number,
    spelled,
    with_interval,
)
from reports.shared.run import FinishedRun

_NAMED = 5


def findings(run: FinishedRun) -> list[Finding]:
    """Blind spots, hard positives, what the language model sees alone, which pair sees most."""
    return [
        *_size(run),
        *_nobody(run),
        *_fluency(run),
        *_positives(run),
        *_together(run),
        *_blind(run),
    ]


def _size(run: FinishedRun) -> Iterator[Finding]:
    every = run.statistics["sets"]
    sets = [entry for entry in every if entry["n_applied"]]
    none = len(every) - len(sets)
    rest = f" {capital(amount(none, 'more set'))} changed no caption." if none else ""
    harmful = sum(entry["expected"] == "lower" for entry in sets)
    yield Finding(
        "",
        f"{count(run.statistics['n_images'])} human captions, {harmful} sets of changes that harm "
        f"and {len(sets) - harmful} that do not.{rest} The AUC of a set is how often the human "
        "caption scores above the changed one, equal scores counting one half; 0.5 is not told "
        "apart. A metric misses a set of twenty images or more if even the upper end of the AUC's "
        "interval is no more than 0.6, and any set of which it surely prefers the changed "
        "captions.",
    )


def _blind(run: FinishedRun) -> Iterator[Finding]:
    for record in shown(run):
        if record["control"]:
            continue
        blind = of_verdict(record, run, "prefers", "blind")
        unsure = len(of_verdict(record, run, "unsure"))
        if not blind:
            yield Finding(record["metric"], f"misses no set that harms; {_open(unsure)}.")
            continue
        named = listed([f"{name} ({number(cell['auc'])})" for name, cell in blind[:_NAMED]])
        more = f" and {spelled(len(blind) - _NAMED)} more" if len(blind) > _NAMED else ""
        yield Finding(
            record["metric"],
            f"misses {amount(len(blind), 'set')} that {'harms' if len(blind) == 1 else 'harm'}"
            f": {named}{more}; {_open(unsure)}.",
        )


def _open(n: int) -> str:
    return f"{amount(n, 'set')} {'is' if n == 1 else 'are'} not decided by this many images"


def _nobody(run: FinishedRun) -> Iterator[Finding]:
    """Harmful sets that every metric misses."""
    metrics = [r for r in shown(run) if not r["control"]]
    if len(metrics) < 2:
        return
    blind = [{name for name, _ in of_verdict(r, run, "prefers", "blind")} for r in metrics]
    if common := set.intersection(*blind):
        order = [entry["set"] for entry in run.statistics["sets"]]
        yield Finding("All metrics", f"miss {listed(sorted(common, key=order.index))}.")


def _fluency(run: FinishedRun) -> Iterator[Finding]:
    """What most metrics see, and hardly any where the language model does not."""
    for record in shown(run):
        if record["family"] != "bigram_model" or record["part_of"]:
            continue
        seen = of_verdict(record, run, "sees")
        made = [e for e in run.statistics["sets"] if e["n_applied"]]
        harmful = [e for e in made if e["expected"] == "lower"]
        yield Finding(
            "Fluency alone.",
            f"{record['metric']}, a language model that sees neither image nor references, surely "
            f"sees {len(seen)} of the {len(harmful)} sets that harm.",
        )
        break


def _positives(run: FinishedRun) -> Iterator[Finding]:
    shares = [
        (r["hard_positives"]["all"]["mean"], r)
        for r in shown(run)
        if not r["control"] and known(r["hard_positives"]["all"]["mean"])
    ]
    if len(shares) > 1:
        shares.sort(key=lambda pair: pair[0])
        (low, worst), (high, best) = shares[0], shares[-1]
        low_ci, high_ci = worst["hard_positives"]["all"]["ci"], best["hard_positives"]["all"]["ci"]
        yield Finding(
            "Hard positives.",
            f"A harmless rewrite scores above a harmful near-copy of the same image most often by "
            f"{best['metric']} ({with_interval(high, high_ci)} of the pairs) and least often by "
            f"{worst['metric']} ({with_interval(low, low_ci)}); one half is chance.",
        )


def _together(run: FinishedRun) -> Iterator[Finding]:
    if pairs := run.statistics["together"]:
        best = pairs[0]
        yield Finding(
            "Together",
            f"{best['a']} and {best['b']} see most: taking the better of the two on each set that "
            f"harms, their mean AUC is {number(best['mean_auc'])}, {number(best['gain'])} above "
            "the better one alone.",
        )
