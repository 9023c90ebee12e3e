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
    sentences = _controls_of_clips(result)
    for place, (n, (name, rows)) in enumerate(zip(result.n_references, table.bodies, strict=True)):
        ranked = [row.metric for row in rows if row.kind == "result"]
        if not ranked:
            continue
        where = f"with {name}, " if len(table.bodies) > 1 else ""
        best = result.metric(ranked[0])
        value = f"mean accuracy {percent(best.numbers.choice[place].mean.value)}"
        sentences.append(capital(where + leader(best, value, ranked, result.differences[n])))
        sentences += against_control_sentences(result.controls[n] or {}, where)
    sentences += _label_agreement(result)
    if result.people is not None:
        sentences.append(
            "One person's vote is the majority's of the others in "
            f"{percent(result.people[MEAN])} of the pairs, averaged over the categories."
        )
    sentences += _published(result)
    settings = result.settings
    sentences += too_few(
        result.differences.values(), settings.permutations, settings.replicates, settings.alpha
    )
    return [Finding("", sentence) for sentence in sentences or ["No metric ran."]]


def _controls_of_clips(result: ForcedChoiceResult) -> list[str]:
    """On audio clips, the category where a control chooses at least as well as every metric."""
    for n in result.n_references if result.unit == "clip" else ():
        for group, compared in (result.controls[n] or {}).items():
            if compared.shows == "nothing" and group != MEAN:
                return [
                    f"On {group}, {compared.control} alone chooses as people do in "
                    f"{percent(compared.control_value)} of the pairs, the best metric "
                    f"({compared.best}) in {percent(compared.best_value)}."
                ]
    return []


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
    return [
        "People who saw the image and people who compared the captions with references prefer the "
        f"same caption in {percent(agreement['all'])} of the pairs, on {least} in "
        f"{percent(shares[least])}."
    ]
