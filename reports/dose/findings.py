"""Findings on dose and response; every sentence follows from the numbers."""

from __future__ import annotations

from metaeval.reports.dose.curves import Panel
from metaeval.reports.shared.elements import Finding
from metaeval.reports.shared.formatting import amount, listed, number
from metaeval.results.graded import DoseCurve, HalfDose

# reasons for a missing half-effect dose; see `metaeval.stats.dose`
NOT_REACHED, NO_FALL = "not reached", "no fall"


def finding(panel: Panel) -> Finding:
    """What holds of the panel: where scores fall and rise, the half-effect doses, the seeds."""
    texts = [_monotone(panel), _half(panel), _controls(panel), _seeds(panel)]
    return Finding(f"{panel.title}.", " ".join(text for text in texts if text))


def _monotone(panel: Panel) -> str:
    """Which metrics get worse at every step, and which get better somewhere.

    "Worse" and "better" hold in both directions: curves of scores of which lower is better are
    negated. Without intervals nothing is known.
    """
    curves = {m: c for m, c in panel.results.items() if c.change[-1].interval is not None}
    falling = [m for m, c in curves.items() if c.falls_throughout]
    steps = len(panel.doses) - 1
    sentences = []
    if falling:
        sentences.append(
            f"At {'each of the ' + str(steps) + ' steps' if steps > 1 else 'the one step'} the "
            f"scores of {listed(falling)} get worse (the interval of every step lies below 0)."
        )
    for metric, curve in curves.items():
        if curve.rises:
            where = listed([f"from {_rate(panel, k)} to {_rate(panel, k + 1)}"
                            for k in curve.rises])  # fmt: skip
            sentences.append(f"{metric} gets better {where}.")
    unsure = [m for m, c in curves.items() if not c.falls_throughout and not c.rises]
    if unsure:
        sentences.append(
            f"Of {listed(unsure)} at least one step is not significant, and none is better."
        )
    return " ".join(sentences)


def _half(panel: Panel) -> str:
    """Which metrics reach half of their effect, at which doses, and which never.

    The first and the last are named only where their intervals do not overlap.
    """
    halves = {m: c.half_effect for m, c in panel.results.items()}
    reached = {m: h.dose for m, h in halves.items() if h.dose is not None}
    aim = f"the fall to {panel.floor}" if panel.floor else f"the fall to {_rate(panel, -1)}"
    sentences = []
    if reached:
        order = sorted(reached, key=lambda m: reached[m])
        named = [f"{m} at {half_text(halves[m], panel)}" for m in order]
        if len(order) == 1:
            sentences.append(f"Half of {aim} is reached by {named[0]}.")
        elif _apart(halves[order[0]], halves[order[-1]]):
            sentences.append(f"Half of {aim} is reached first by {named[0]}, last by {named[-1]}.")
        else:
            sentences.append(
                f"Half of {aim} is reached between {named[0]} and {named[-1]}; the intervals of "
                "the two overlap."
            )
    beyond = [m for m, h in halves.items() if h.why == NOT_REACHED]
    if beyond:
        sentences.append(
            f"{listed(beyond)} {'does' if len(beyond) == 1 else 'do'} not reach half of {aim} up "
            f"to {_rate(panel, -1)}."
        )
    flat = [m for m, h in halves.items() if h.why == NO_FALL]
    if flat:
        sentences.append(
            f"{listed(flat)} {'does' if len(flat) == 1 else 'do'} not significantly "
            f"fall to {panel.floor or _rate(panel, -1)}, so that half of the fall is not defined."
        )
    return " ".join(sentences)


def _apart(first: HalfDose, last: HalfDose) -> bool:
    """Whether the interval of the lower dose ends below that of the higher one."""
    end = first.ci[1] if first.ci is not None else None
    start = last.ci[0] if last.ci is not None else None
    return end is not None and (start is None or end < start) and last.ci is not None


def _controls(panel: Panel) -> str:
    """Controls that fall as a metric would: what falls may be what they measure."""
    falling = [
        m for m in panel.curves
        if m in panel.controls and panel.curves[m].n and panel.curves[m].falls_throughout
    ]  # fmt: skip
    if not falling:
        return ""
    return (
        f"The scores of the {'control' if len(falling) == 1 else 'controls'} {listed(falling)} "
        "get worse at each step, too: that alone does not show that a metric looks at the image."
    )


def _seeds(panel: Panel) -> str:
    """The most that other seeds of the corruption move a curve."""
    moves = [
        (sd, metric, dose)
        for metric, curve in panel.results.items()
        if curve.seed_sd
        for dose, sd in zip(panel.doses, curve.seed_sd, strict=True)
        if sd is not None
    ]
    if not moves:
        return ""
    sd, metric, dose = max(moves)
    return (
        f"Over {amount(panel.n_seeds, 'seed')} of the corruption the change has a standard "
        f"deviation of at most {number(sd)} ({metric} at {100 * dose:g}%)."
    )


def half_text(half: HalfDose, panel: Panel) -> str:
    """35.2% [34.1%, 36.0%]; an end beyond the largest dose is "more than 100%"."""
    if half.dose is None:
        return str(half.why)
    ends = half.ci or (None, None)
    low, high = (f">{_rate(panel, -1)}" if end is None else f"{100 * end:.1f}%" for end in ends)
    return f"{100 * half.dose:.1f}% [{low}, {high}]"


def _rate(panel: Panel, k: int) -> str:
    return f"{100 * panel.doses[k]:g}%"


def steps_text(curve: DoseCurve, panel: Panel) -> str:
    """ "worse" (at every step), "better 40–50%", or "unsure"."""
    if curve.falls_throughout:
        return "worse"
    if curve.rises:
        return "better " + ", ".join(
            f"{100 * panel.doses[k]:g}–{_rate(panel, k + 1)}" for k in curve.rises
        )
    return "unsure" if curve.n else "–"
