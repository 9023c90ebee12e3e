"""What a run on true and false captions found, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metaeval.stats.significance.holm import least_draws
from reports.pairs.table import MEAN
from reports.shared.elements import Finding
from reports.shared.formatting import capital, count, known, listed, percent, spelled
from reports.shared.matrix import DifferenceRow, beats_the_others, control_sentences
from reports.shared.table import MetricsTable

MUCH = 0.1  # of the accuracy, from where an easier comparison is remarked upon


def findings(
    statistics: Mapping[str, Any], table: MetricsTable, matrices: Sequence[Sequence[DifferenceRow]]
) -> list[Finding]:
    """The first sentence is the one that is set large; the others follow."""
    sentences: list[str] = []
    for (comparison, rows), differences in zip(table.bodies, matrices, strict=True):
        best = next((row for row in rows if row.kind == "result"), None)
        if best is None:
            continue
        value = next(c.value for c in best.cells if c.key == "rho")
        shown = percent(value if isinstance(value, float) else None)
        where = f"By “{comparison}”, " if len(table.bodies) > 1 else ""
        sentences.append(
            capital(f"{where}{best.metric} prefers the truth most often: {shown} of the pairs, "
                    "averaged over the kinds.")
        )  # fmt: skip
        sentences += beats_the_others(best.metric, differences, "both tests")
        if told := statistics["controls"][comparison]:
            sentences += control_sentences(told, where)
    sentences += _paraphrases(statistics)
    sentences += _refinement(statistics)
    sentences += _near_copies(statistics)
    sentences += too_few(statistics)
    return [Finding("", sentence) for sentence in sentences or ["No metric ran."]]


def _paraphrases(statistics: Mapping[str, Any]) -> list[str]:
    """How much of the preference was likeness of wording: what is left for a paraphrase."""
    comparisons = statistics["comparisons"]
    if len(comparisons) < 2:
        return []
    first, second = comparisons[:2]
    falls = []
    for r in statistics["metrics"]:
        if r["status"] != "ok" or r["part_of"] or r["untrained"] or r["control"]:
            continue
        easy, hard = (r["accuracy"][c][MEAN]["value"] for c in (first, second))
        if known(easy) and known(hard):
            falls.append((easy - hard, r["metric"], easy, hard))
    if not falls:
        return []
    gap, metric, easy, hard = max(falls)
    if gap < MUCH:
        return []
    below = [m for _, m, _, h in falls if h < 0.5]
    sentence = (
        f"A true paraphrase is much harder to prefer to the false near-copy than the true caption "
        f"itself: {metric} falls from {percent(easy)} to {percent(hard)}"
    )
    if below:
        verb = "prefers" if len(below) == 1 else "prefer"
        sentence += (
            f"; {spelled(len(below))} of {spelled(len(falls))} metrics {verb} the paraphrase in "
            "less than half of the triplets"
        )
    return [f"{sentence}."]


def _refinement(statistics: Mapping[str, Any]) -> list[str]:
    refinement = statistics["refinement"]
    if refinement is None:
        return []
    before, after = sum(statistics["kinds"].values()), sum(refinement["kinds"].values())
    sentences = [
        f"Of {count(before)} pairs {count(after)} are left when {refinement['control']} is right "
        "as often as wrong in each bin of its gap."
    ]
    few = [kind for kind, n in refinement["kinds"].items() if n < FEW]
    if few:
        sentences.append(f"On {listed(few)} fewer than {FEW} are left: hardly anything to go by.")
    return sentences


FEW = 100  # pairs, below which a kind is hardly anything to go by


def _near_copies(statistics: Mapping[str, Any]) -> list[str]:
    facts = statistics["facts"]
    sentences = []
    if n := facts["near_copies"]:
        sentences.append(
            f"In {percent(n / facts['pairs'])} of the pairs a reference is nearly the true "
            "caption, which helps every metric that compares with references."
        )
    if n := facts["false_among_references"]:
        sentences.append(f"{count(n)} captions that are called false stand among the references.")
    return sentences


def too_few(statistics: Mapping[str, Any]) -> list[str]:
    """A permutation test that drew too little to call anything significant."""
    settings = statistics["settings"]
    pairs = max((len(d["pairs"]) for d in statistics["differences"].values()), default=0)
    drawn = settings["permutations"]
    if not pairs or drawn >= (needed := least_draws(pairs, 1, settings["alpha"])):
        return []
    return [
        f"{count(drawn)} draws are too few for the permutation test to call any of {count(pairs)} "
        f"differences significant: set task.permutations to {count(needed)} or more."
    ]
