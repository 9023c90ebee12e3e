"""The findings of a profile, in sentences that hold for this run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metaeval.reports.sensitivity.profile import of_verdict, shown
from metaeval.reports.shared.elements import Finding
from metaeval.reports.shared.formatting import (
    amount,
    capital,
    count,
    listed,
    number,
    spelled,
    with_interval,
)
from metaeval.results.base import Estimate
from metaeval.results.sensitivity import Combination, SensitivityResult

_NAMED = 5


def findings(result: SensitivityResult) -> list[Finding]:
    """What is noticed, punished and missed; hard positives; fluency alone; the best combination."""
    return [
        *_size(result),
        *_missed_by_all(result),
        *_fluency(result),
        *_severity(result),
        *_positives(result),
        *_together(result),
        *_by_metric(result),
    ]


def _size(result: SensitivityResult) -> Iterator[Finding]:
    sets = [entry for entry in result.sets if entry.n_applied]
    none = len(result.sets) - len(sets)
    rest = f" {capital(amount(none, 'more set'))} changed no caption." if none else ""
    harmful = sum(entry.expected == "lower" for entry in sets)
    experimental = sum(entry.experimental for entry in sets)
    left_out = (
        f" {capital(amount(experimental, 'experimental set'))} "
        f"{'is' if experimental == 1 else 'are'} left out of all means."
        if experimental
        else ""
    )
    yield Finding(
        "",
        f"{count(result.n_images)} human captions, {amount(harmful, 'set')} of changes that "
        f"{'harms' if harmful == 1 else 'harm'} and {spelled(len(sets) - harmful)} that "
        f"{'does' if len(sets) - harmful == 1 else 'do'} not.{rest} The AUC of a set is how often "
        "the human caption scores above the changed one, equal scores counting one half; 0.5 is "
        "chance. In means every kind of change has the same weight, however many sets it has."
        f"{left_out} A metric misses a set if it significantly prefers the changed captions, or if "
        "the difference is not significant and the AUC's interval ends at 0.6 or below (twenty "
        "images or more).",
    )


def _by_metric(result: SensitivityResult) -> Iterator[Finding]:
    """What each metric misses, what it punishes, and what is not decided, in both directions."""
    for metric in shown(result):
        if metric.column.control:
            continue
        blind = of_verdict(metric, result, "prefers", "blind")
        punished = of_verdict(metric, result, "punishes")
        undecided = of_verdict(metric, result, "unsure")
        harmful = sum(entry.expected == "lower" for entry, _ in undecided)
        parts = ["misses no set that harms"]
        if blind:
            named = listed([f"{e.set} ({number(cell.auc.value)})" for e, cell in blind[:_NAMED]])
            more = f" and {spelled(len(blind) - _NAMED)} more" if len(blind) > _NAMED else ""
            verb = "harms" if len(blind) == 1 else "harm"
            parts = [f"misses {amount(len(blind), 'set')} that {verb}: {named}{more}"]
        parts.append(f"punishes {amount(len(punished), 'harmless set')}")
        parts.append(
            f"not decided by this many images: {harmful} that harm, "
            f"{len(undecided) - harmful} harmless"
        )
        yield Finding(metric.name, f"{'; '.join(parts)}.")


def _missed_by_all(result: SensitivityResult) -> Iterator[Finding]:
    """Harmful sets that every metric misses."""
    metrics = [m for m in shown(result) if not m.column.control]
    if len(metrics) < 2:
        return
    blind = [{e.set for e, _ in of_verdict(m, result, "prefers", "blind")} for m in metrics]
    if common := set.intersection(*blind):
        order = [entry.set for entry in result.sets]
        yield Finding("All metrics", f"miss {listed(sorted(common, key=order.index))}.")


def _fluency(result: SensitivityResult) -> Iterator[Finding]:
    """What the language model notices, which sees neither image nor references."""
    for metric in shown(result):
        if metric.family != "bigram_model" or metric.column.part_of:
            continue
        seen = of_verdict(metric, result, "sees")
        harmful = [e for e in result.sets if e.n_applied and e.expected == "lower"]
        yield Finding(
            "Fluency alone.",
            f"{metric.name}, a language model that sees neither image nor references, "
            f"significantly prefers the human caption in {len(seen)} of the {len(harmful)} sets "
            "that harm.",
        )
        break


def _severity(result: SensitivityResult) -> Iterator[Finding]:
    """Which metrics order severities best and worst."""
    values = [(m.name, m.numbers.severity_order) for m in shown(result) if not m.column.control]
    if text := _extremes(values):
        yield Finding(
            "Severity.",
            f"Of two changes of one caption the milder scores above the severer one {text}.",
        )


def _positives(result: SensitivityResult) -> Iterator[Finding]:
    """Real rewrites against near-copies; no-ops are counted apart."""
    values = [
        (m.name, m.numbers.hard_positives.rewrites) for m in shown(result) if not m.column.control
    ]
    counts = result.harmless
    made = counts.rewrites + counts.no_ops + counts.references
    if text := _extremes(values):
        yield Finding(
            "Hard positives.",
            f"A harmless rewrite scores above a harmful near-copy of the same image {text}; one "
            f"half is chance. Of {count(made)} harmless changes {count(counts.rewrites)} are "
            "rewrites (two content words or more, or their order) and are counted here; "
            f"{count(counts.no_ops)} change less, and verbatim references are "
            f"{count(counts.references)}.",
        )


def _extremes(values: Sequence[tuple[str, Estimate]]) -> str:
    """ "most often by A (0.8 [0.7, 0.9]; not separated: B) and least often by …": each end with the
    metrics whose intervals overlap with its own; empty with fewer than two values."""
    known = [(v.value, name, v) for name, v in values if v.value is not None]
    if len(known) < 2:
        return ""
    ordered = sorted(known, key=lambda entry: -entry[0])

    def end(place: int) -> str:
        _, name, share = ordered[place]
        tied = [n for _, n, v in ordered if n != name and _overlap(v, share)]
        rest = f"; not separated: {listed(tied)}" if tied else ""
        return f"{name} ({_interval(share)}{rest})"

    return f"most often by {end(0)} and least often by {end(-1)}"


def _overlap(a: Estimate, b: Estimate) -> bool:
    """Whether two intervals overlap; True where one is missing."""
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return True
    return a.low <= b.high and b.low <= a.high


def _together(result: SensitivityResult) -> Iterator[Finding]:
    """The combination that was chosen on one half of the images, measured on the other."""
    if (together := result.together) is None:
        return
    parts = [f"{_against(together.over_single)} {combination(together.single)} alone"]
    if together.with_control is not None and together.over_control is not None:
        parts.append(f"{_against(together.over_control)} {combination(together.with_control)}")
    yield Finding(
        "Together",
        f"{combination(together.metrics)}, chosen on half of the images, has mean AUC "
        f"{_interval(together.metrics.held_out)} on the other half: {', and '.join(parts)}.",
    )


def combination(made: Combination) -> str:
    """ "CIDEr + METEOR (sum of z-scores)", or the name of a metric alone."""
    if len(made.columns) == 1:
        return made.columns[0]
    return f"{' + '.join(made.columns)} ({made.rule})"


def _against(difference: Estimate) -> str:
    """ "0.038 [0.030, 0.046] above", "… below", or "not separated (0.001 [−0.002, 0.004]) from"."""
    value, ends = difference.value, difference.interval
    if value is None or ends is None or ends[0] <= 0 <= ends[1]:
        shown = f"{number(value, sign=True)} {_ends(difference)}".strip()
        return f"not separated ({shown}) from"
    return f"{number(abs(value))} {_ends(difference)} {'above' if value > 0 else 'below'}"


def _ends(estimate: Estimate) -> str:
    text = with_interval(estimate.value, (estimate.low, estimate.high))
    return text.partition(" ")[2]


def _interval(estimate: Estimate) -> str:
    return with_interval(estimate.value, (estimate.low, estimate.high))
