"""What metrics that are none get: the controls, the ceiling, and what only Random isolates."""

from __future__ import annotations

from collections.abc import Sequence

from reports.graded.ranking import ranked
from reports.graded.run import GradedRun
from reports.shared.elements import Finding
from reports.shared.formatting import (
    amount,
    capital,
    count,
    known,
    listed,
    number,
    percent,
    spelled,
)
from reports.shared.row_kind import Record, row_kind

CEILING = "ceiling"  # the family of the control that no metric can beat
# what the families of controls are, to a reader who meets them for the first time
WHAT_IT_IS = {
    "bigram_model": "a bigram language model of other images' captions, which sees neither image "
    "nor reference",
    "length": "the number of words alone",
    "random_score": "a random number",
    "longest_copy": "the longest run of words copied from a reference",
}


def controls_of(records: Sequence[Record]) -> list[Record]:
    """The controls to beat: all but the ceiling."""
    return [r for r in records if row_kind(r) == "control" and r["family"] != CEILING]


def ceiling_of(records: Sequence[Record]) -> Record | None:
    """What a perfect metric gets, if the run has it."""
    return next((r for r in records if row_kind(r) == "control" and r["family"] == CEILING), None)


def against_controls(run: GradedRun) -> Finding | None:
    """How many metrics beat the best control, pooled and within an image."""
    rows = [r for r in ranked(run.metrics) if r.get("against_control")]
    if not rows:
        return None
    sentences: list[str] = []
    told: set[str] = set()
    for measure, where in (
        ("rank_order_rho", "pooled"),
        ("rank_order_rho_within", "within an image"),
    ):
        name = rows[0]["against_control"][measure]["control"]
        best = next(r for r in run.metrics if r["metric"] == name)
        winners = [r["metric"] for r in rows if r["against_control"][measure]["beats"]]
        what = WHAT_IT_IS.get(best["family"]) if best["family"] not in told else None
        told.add(best["family"])
        text = f"{where}, the best control is {name}{f' ({what})' if what else ''} with ρ "
        text += f"{number(best[measure])}: "
        if not winners:
            text += "no metric beats it"
        elif len(winners) == len(rows):
            text += "every metric beats it"
        else:
            text += f"{spelled(len(winners))} of {amount(len(rows), 'metric')} "
            text += f"{'beats' if len(winners) == 1 else 'beat'} it ({listed(winners)})"
        sentences.append(text)
    said = f"{capital(sentences[0])}; {sentences[1]}. Controls see no meaning, so a value that "
    said += "does not beat them is no evidence of any."
    return Finding("Controls.", said + _limit(run))


def _limit(run: GradedRun) -> str:
    top = ceiling_of(run.metrics)
    if top is None or not known(top.get("rank_order_rho")) or top["rank_order_rho"] > 1 - 1e-9:
        return ""
    return (
        f" A perfect metric would get {number(top['rank_order_rho'])} pooled and "
        f"{number(top['rank_order_rho_within'])} within an image, as some versions are equal."
    )


def floor_isolates(run: GradedRun) -> Finding | None:
    """Where a control keeps the order of the degrees but loses it with other images' captions."""
    rows = [r for r in run.metrics if r["status"] == "ok" and r.get("without_floor")]
    metrics = [r for r in rows if row_kind(r) == "result"]
    controls = [r for r in controls_of(rows) if known(r["without_floor"]["rank_order_rho_within"])]
    if not metrics or not controls:
        return None
    best = max(controls, key=lambda r: r["without_floor"]["rank_order_rho_within"])
    degrees, low = best["without_floor"], _low(best, "rank_order_rho_within")
    beaten = [
        r["metric"]
        for r in metrics
        if known(high := r["without_floor"]["rank_order_rho_within_ci"][1]) and high < low
    ]
    lost = degrees["rank_order_rho_within"] - best["rank_order_rho_within"]
    if not beaten or lost < 0.5 * degrees["rank_order_rho_within"]:
        return None
    floor = run.names[0]
    return Finding(
        f"Without {floor}.",
        f"On the degrees alone {best['metric']} gets ρ {number(degrees['rank_order_rho'])} pooled "
        f"and {number(degrees['rank_order_rho_within'])} within an image, more than "
        f"{listed(beaten)}; with {floor} {number(best['rank_order_rho'])} and "
        f"{number(best['rank_order_rho_within'])}. So the degrees can be told by fluency; only "
        f"{floor} asks what the caption says.",
    )


def _low(record: Record, measure: str) -> float:
    """The lower end of the interval of a measure without the floor."""
    low = record["without_floor"][f"{measure}_ci"][0]
    return float(low) if known(low) else float("-inf")


def selection(run: GradedRun, rows: Sequence[Record]) -> str:
    """What the images say in which every level was applied; empty where all were."""
    there = [r for r in rows if r.get("every_level_applied")]
    there = [r for r in there if known(r["every_level_applied"]["rank_order_rho_within"])]
    if not there:
        return ""
    n, total = there[0]["every_level_applied"]["n_images"], len(run.image_ids)
    best = max(there, key=lambda r: r["every_level_applied"]["rank_order_rho_within"])
    kept = best["every_level_applied"]
    return (
        f" In {count(n)} of {amount(total, 'image')} every version was changed "
        f"({percent(n / total)}). There {best['metric']} is best within an image (ρ "
        f"{number(kept['rank_order_rho_within'])}, {number(best['rank_order_rho_within'])} on all)."
    )
