"""The findings of a run on true and false captions, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.reports.pairs.table import shown_by
from metaeval.reports.shared.elements import Finding
from metaeval.reports.shared.formatting import (
    amount,
    capital,
    count,
    known,
    listed,
    percent,
    spelled,
)
from metaeval.reports.shared.matrix import against_control_sentences
from metaeval.reports.shared.row_kind import kind_of
from metaeval.reports.shared.table import MetricsTable
from metaeval.results.comparison import hypotheses
from metaeval.results.pairs import PairsResult
from metaeval.stats.significance.comparison import replicates_needed

MUCH = 0.1  # of the accuracy: an easier comparison is mentioned from this difference on
FEW = 100  # pairs: a kind with fewer shows little


def findings(result: PairsResult, table: MetricsTable) -> list[Finding]:
    """The first sentence is set large; the others follow."""
    sentences: list[str] = []
    for comparison, rows in table.bodies:
        order = [row.metric for row in rows if row.kind == "result"]
        if not order:
            continue
        where = f"By “{comparison}”, " if len(table.bodies) > 1 else ""
        sentences += [capital(f"{where}{s}") for s in _best(result, comparison, order)]
        if controls := result.controls[comparison]:
            sentences += against_control_sentences(controls, where)
    sentences += _paraphrases(result)
    sentences += _refinement(result)
    sentences += _near_copies(result)
    sentences += undecidable(result)
    return [Finding("", sentence) for sentence in sentences or ["No metric ran."]]


def _best(result: PairsResult, comparison: str, order: Sequence[str]) -> list[str]:
    """The best metric, or the group that no test separates from it, and its accuracy.

    Where controls were scored the mean is over the kinds on which some metric is above them.
    """
    accuracies = {m.name: m.statistics.accuracy[comparison] for m in result.metrics if m.statistics}
    best = order[0]
    accuracy = accuracies[best]
    family = result.differences[comparison]
    tied = family.not_below(best, order)
    others = f" ({listed(tied)} not separated from it)" if tied else ""
    sentences = [
        f"{best} prefers the true caption most often{others}: in {percent(accuracy.mean.value)} of "
        f"the pairs, averaged over {amount(len(result.kinds), 'kind')}."
    ]
    shown = shown_by(result, comparison)
    mean = accuracy.mean_of_shown
    if shown and mean is not None and len(shown) < len(result.kinds):
        sentences.append(
            f"averaged over the kinds on which a metric is above the controls ({listed(shown)}), "
            f"the accuracy of {best} is {percent(mean.value)}."
        )
    return sentences


def _paraphrases(result: PairsResult) -> list[str]:
    """How much lower the accuracy is for a paraphrase than for the true caption itself."""
    if len(result.comparisons) < 2:
        return []
    first, second = result.comparisons[:2]
    falls = []
    for metric in result.metrics:
        if kind_of(metric) != "result":
            continue
        numbers = metric.numbers.accuracy
        easy, hard = numbers[first].mean.value, numbers[second].mean.value
        if easy is not None and hard is not None and known(easy) and known(hard):
            falls.append((easy - hard, metric.name, easy, hard))
    if not falls:
        return []
    gap, name, easy, hard = max(falls)
    if gap < MUCH:
        return []
    below = [m for _, m, _, h in falls if h < 0.5]
    sentence = (
        f"A true paraphrase is preferred to the false near-copy much less often than the true "
        f"caption itself: {name} falls from {percent(easy)} to {percent(hard)}"
    )
    if below:
        verb = "prefers" if len(below) == 1 else "prefer"
        sentence += (
            f"; {spelled(len(below))} of {spelled(len(falls))} metrics {verb} the paraphrase in "
            "less than half of the triplets"
        )
    return [f"{sentence}."]


def _refinement(result: PairsResult) -> list[str]:
    refinement = result.refinement
    if refinement is None:
        return []
    before, after = sum(result.kinds.values()), sum(refinement.kinds.values())
    sentences = [
        f"Of {count(before)} pairs {count(after)} are left when {refinement.control} is right "
        "as often as wrong in each bin of its gap."
    ]
    few = [kind for kind, n in refinement.kinds.items() if n < FEW]
    if few:
        sentences.append(f"On {listed(few)} fewer than {FEW} are left, which shows little.")
    return sentences


def _near_copies(result: PairsResult) -> list[str]:
    facts = result.facts
    sentences = []
    if (n := facts.near_copies) and not facts.near_copies_dropped:
        sentences.append(
            f"In {percent(n / facts.pairs)} of the pairs a reference is nearly the true "
            "caption, which helps every metric that compares with references "
            "(dataset.near_copies=drop takes it out)."
        )
    if n := facts.false_among_references:
        captions = "caption that is" if n == 1 else "captions that are"
        sentences.append(f"{count(n)} {captions} called false are among the references.")
    return sentences


def undecidable(result: PairsResult) -> list[str]:
    """The families of hypotheses that the permutation test cannot decide: too few arrangements."""
    drawn, alpha = result.settings.permutations, result.settings.alpha
    pairs = max((len(d.pairs) for d in result.differences.values()), default=0)
    against = max((hypotheses(c) for c in result.controls.values()), default=0)
    return [
        f"{capital(what)} cannot be decided with {count(drawn)} permutations: {count(n)} "
        f"hypotheses are corrected together. Set task.permutations to {count(needed)} or more."
        for n, what in ((pairs, "differences between metrics"), (against, "metrics × kinds"))
        if n and drawn < (needed := replicates_needed(n, 1, alpha))
    ]
