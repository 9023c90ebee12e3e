"""The findings of a run of forced choice, in sentences."""

from __future__ import annotations

from metaeval.reports.judgments.findings import leader, too_few
from metaeval.reports.shared.elements import Finding
from metaeval.reports.shared.formatting import amount, capital, number, percent
from metaeval.reports.shared.matrix import against_control_sentences
from metaeval.reports.shared.table import MetricsTable
from metaeval.results.forced_choice import MEAN, ForcedChoiceResult


def findings(result: ForcedChoiceResult, table: MetricsTable) -> list[Finding]:
    """The first sentence is set large; the others follow."""
    sentences: list[str] = []
    for place, (n, (name, rows)) in enumerate(zip(result.n_references, table.bodies, strict=True)):
        ranked = [row.metric for row in rows if row.kind == "result"]
        if not ranked:
            continue
        where = f"with {name}, " if len(table.bodies) > 1 else ""
        best = result.metric(ranked[0])
        value = f"mean accuracy {percent(best.numbers.choice[place].mean.value)}"
        first = [capital(where + leader(best, value, ranked, result.differences[n]))]
        controls = against_control_sentences(result.controls[n] or {}, where)
        # on audio clips a control can be the best choice, and then it leads the page
        sentences += [*controls, *first] if result.unit == "clip" else [*first, *controls]
    sentences += _label_agreement(result)
    sentences += _people(result)
    sentences += _published(result)
    settings = result.settings
    sentences += too_few(
        result.differences.values(), settings.permutations, settings.replicates, settings.alpha
    )
    return [Finding("", sentence) for sentence in sentences or ["No metric ran."]]


def _people(result: ForcedChoiceResult) -> list[str]:
    """How often one person votes as the majority of the others."""
    if result.people is None:
        return []
    over = "averaged over the categories" if result.average == "categories" else "over all pairs"
    return [
        "One person's vote is the majority's of the others in "
        f"{percent(result.people[MEAN])} of the pairs, {over}."
    ]


def _published(result: ForcedChoiceResult) -> list[str]:
    published = result.published
    if published.n_references not in result.n_references:
        return []
    place = result.n_references.index(published.n_references)
    gaps: dict[tuple[str, str], float] = {}
    for m in result.metrics:
        for category, value in published.values.get(m.name, {}).items() if m.ok else ():
            ours = m.numbers.choice[place].categories[category].value
            if ours is not None:
                gaps[m.name, category] = ours - value
    if not gaps:
        return []
    (metric, category), gap = max(gaps.items(), key=lambda item: abs(item[1]))
    return [
        f"Of {amount(len(gaps), 'value')} that {published.source} printed, the one farthest "
        f"from ours is {metric}'s on {category}: ours is {number(abs(100 * gap), 1)} points "
        f"{'higher' if gap > 0 else 'lower'}."
    ]


def _label_agreement(result: ForcedChoiceResult) -> list[str]:
    agreement = result.label_agreement or {}
    shares = {name: share for name, share in agreement.items() if name != "all"}
    if not shares:
        return []
    least = min(shares, key=lambda name: shares[name])
    lowest = f", least often on {least} ({percent(shares[least])})" if len(shares) > 1 else ""
    return [
        "People who saw the image and people who compared the captions with references prefer the "
        f"same caption in {percent(agreement['all'])} of the pairs{lowest}."
    ]
