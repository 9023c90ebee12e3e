"""What is read from results of `experiment=graded`, `replace` and `shuffle`: measures and extras.

Their result is a `MeasuredResult`. Its extras are "sets" (the versions, worst first),
"steps", "applied" (images in which every corruption changed the caption), "degrees" (without other
images' captions), "seeds", "dose", "dose_points" and "worst_images" (a column a metric, the worst
inversion first).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from metaeval.results.base import Cell, Estimate, MetricResult, undefined_as_none
from metaeval.results.measured import MeasuredResult, ranked
from metaeval.results.run import Measure
from metaeval.stats.dose import DoseRecord
from metaeval.stats.resampling.bootstrap import IntervalEstimate

MEASURES = ("rank_order_rho", "rank_order_rho_within", "pairwise_accuracy")  # that are compared
CEILING = "ceiling"  # the family of the control whose scores are the levels

FURTHER = "Further"  # measures that are folded on the page

SWEEP_MEASURES = (
    Measure("rank_order_rho", "rank-order ρ", primary=True),
    Measure("rank_order_rho_within", "rank-order ρ within an image", primary=True),
    Measure("pairwise_accuracy", "pairwise accuracy", unit="share", primary=True),
    Measure("spearman_rho", "Spearman's ρ", False, group=FURTHER),
    Measure("kendall_tau_b", "Kendall's τ-b", False, group=FURTHER),
    Measure("tie_fraction", "share of ties", False, "share", "neither", group=FURTHER),
    Measure("monotone_rate", "share of images in order", False, "share", group=FURTHER),
    Measure("inversion_rate", "share of inverted pairs", False, "share", "lowest", group=FURTHER),
)


def record_cells(record: NamedTuple, names: Iterable[str]) -> dict[str, Estimate | Cell]:
    """These fields of a record of statistics, those with an interval as estimates."""
    values = {name: getattr(record, name) for name in names}
    return {
        name: Estimate.of(value) if isinstance(value, IntervalEstimate) else value
        for name, value in values.items()
    }


def rows_by_metric(result: MeasuredResult, name: str) -> dict[str, dict[str, Any]]:
    """Metric → its row of an extra; empty where the result has no such extra."""
    extras = [extra for extra in result.extras if extra.name == name]
    return {str(row["metric"]): row for extra in extras for row in extra.records}


def leading_column(metrics: Sequence[MetricResult]) -> str | None:
    """The column with the best rank-order ρ, whose images a page shows first.

    Parts, untrained networks and controls are chosen only where nothing else ran; `None` where no
    metric ran. Of equal ones the first.
    """
    ran = [metric for metric in metrics if metric.ok]
    chosen = [metric for metric in ran if metric.column.is_ranked] or ran
    best = [*ranked(chosen, SWEEP_MEASURES[0]), *chosen]
    return best[0].name if best else None


def paper_distance(spread: Mapping[str, Any], published: float) -> float | None:
    """How many standard deviations of corruption seeds and tie breaking a published value lies
    above the mean over seeds; `None` without any spread.

    `spread` is a row of the extra "seeds". The published value is one draw of seed and ties, the
    mean one of n seeds: the variance is seed² (1 + 1/n) + ties². The spread over images has no part
    in it: the images are the same.
    """
    names = ("sd_seed", "sd_ties", "rank_order_rho_mean")
    seed, ties, mean = (undefined_as_none(spread[name]) for name in names)
    if seed is None or mean is None:
        return None
    sd = math.sqrt(seed**2 * (1 + 1 / spread["n"]) + (ties or 0.0) ** 2)
    return float((published - mean) / sd) if sd >= 1e-9 else None


def dose_rows(
    record: DoseRecord, doses: Sequence[float], realised: Sequence[float | None]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The curve of a metric as a row of the extra "dose", and as rows of "dose_points".

    The row has the change at the greatest dose and of the floor, the dose of half of the effect (or
    why there is none), the p-value of Page's trend test, and at which steps the scores get worse. A
    point is a dose: the change from dose 0 in standard deviations within an image, and the
    rank-order ρ of that dose against dose 0, pooled and within an image.
    """
    response = record.response
    none = Estimate(value=None)
    points = [
        {
            "dose": dose,
            "realised": realised[k],
            "n_images": response.n,
            "n_seeds": response.n_seeds,
            "change": _with_ends(response.change[k], response.change_ci[k]),
            "change_seed_sd": response.seed_sd[k] if response.n_seeds > 1 else None,
            "rho": Estimate.of(record.rho[k - 1]) if k else none,
            "rho_seed_sd": record.rho_seed_sd[k - 1] if k else None,
            "within": Estimate.of(record.within[k - 1]) if k else none,
        }
        for k, dose in enumerate(doses)
    ]
    row = {
        "change": points[-1]["change"],
        "change_to_floor": _with_ends(response.floor, response.floor_ci),
        "half_effect": _with_ends(response.half.dose, response.half.ci),
        "no_half_effect": response.half.why,
        "steps": steps_text(response.falls_throughout, response.rises, doses, response.n),
        "trend_p": response.trend_p,
        "rho": Estimate.of(record.rho[-1]),
        "within": Estimate.of(record.within[-1]),
        "images": response.n,
        "seeds": response.n_seeds,
    }
    return row, points


def _with_ends(value: float | None, ends: Iterable[float | None] | None) -> Estimate:
    low, high = (None, None) if ends is None else ends
    return Estimate(value=value, low=low, high=high)


def steps_text(falls_throughout: bool, rises: Sequence[int], doses: Sequence[float], n: int) -> str:
    """ "worse" (at every step), "better 40–50%", or "unsure"; empty without images."""
    if falls_throughout:
        return "worse"
    if rises:
        steps = [f"{100 * doses[k]:g}–{100 * doses[k + 1]:g}%" for k in rises]
        return f"better {', '.join(steps)}"
    return "unsure" if n else ""
