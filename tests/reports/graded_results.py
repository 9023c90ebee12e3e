"""Results of graded runs from flat records, for tests: `record` has "x" and "x_ci" as entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from metaeval.reports.graded.run import GradedRun
from metaeval.results.base import Estimate, Test
from metaeval.results.comparison import Comparison, Comparisons, Power
from metaeval.results.graded import (
    MEASURES,
    CaptionSet,
    CorruptionSeeds,
    GradedResult,
    GradedStatistics,
    Measure,
    SelectedStatistics,
    SetScores,
    StatisticsSettings,
    Step,
    StepAuc,
    VarianceShares,
)
from metaeval.results.metric import MetricResult, TrainingRecord, TrainingSpread
from metaeval.results.run import DatasetInfo, RunInfo
from metaeval.runs.records import ScoreColumn, Tally

COLUMN = tuple(f for f in ScoreColumn.__dataclass_fields__ if f != "name")
NOTHING = {"mean": None, "sd": None}


def estimate(record: Mapping[str, Any], name: str) -> Estimate:
    low, high = record.get(f"{name}_ci") or (None, None)
    return Estimate(value=record.get(name), low=low, high=high)


def selected(record: Mapping[str, Any] | None) -> SelectedStatistics | None:
    if record is None:
        return None
    names = ("rank_order_rho", "rank_order_rho_within", "pairwise_accuracy", "monotone_rate")
    fields = {name: estimate(record, name) for name in names}
    return SelectedStatistics(n_images=record.get("n_images", 0), **fields)


def numbers_of(record: Mapping[str, Any]) -> GradedStatistics:
    """The statistics of a flat record; what it leaves out is undefined."""
    seeds = record.get("seeds")
    estimates = (
        "rank_order_rho", "rank_order_rho_within", "spearman_rho", "kendall_tau_b",
        "pairwise_accuracy", "monotone_rate", "inversion_rate",
    )  # fmt: skip
    parts = record.get("variance") or dict.fromkeys(("image", "level", "rest"))
    return GradedStatistics(
        n=record.get("n", 0),
        n_nan=record.get("n_nan", 0),
        sets={k: SetScores(**v) for k, v in (record.get("sets") or {}).items()},
        **{name: estimate(record, name) for name in estimates},
        rank_order_rho_tie_mean=record.get("rank_order_rho_tie_mean"),
        rank_order_rho_tie_std=record.get("rank_order_rho_tie_std"),
        rank_order_rho_bounds=tuple(record.get("rank_order_rho_bounds") or (None, None)),
        tie_fraction=record.get("tie_fraction"),
        pairwise_ties=record.get("pairwise_ties"),
        adjacent_auc=tuple(_auc(step) for step in record.get("adjacent_auc") or ()),
        variance=VarianceShares(**parts),
        least_seen_step=_step(record.get("least_seen_step")),
        clearest_step=_step(record.get("clearest_step")),
        every_level_applied=selected(record.get("every_level_applied")),
        without_floor=selected(record.get("without_floor")),
        seeds=seeds
        and CorruptionSeeds(**{
            "rank_order_rho_within": NOTHING, "pairwise_accuracy": NOTHING,
            "components": {"image": None, "seed": None, "ties": None}, **seeds,
        }),
        worst_images=tuple(record.get("worst_images") or ()),
    )  # fmt: skip


def _auc(step: Mapping[str, Any]) -> StepAuc:
    low, high = step["ci"]
    auc = Estimate(value=step["auc"], low=low, high=high)
    return StepAuc(lower=step["lower"], upper=step["upper"], auc=auc)


def _step(step: Mapping[str, str] | None) -> Step | None:
    return None if step is None else Step(**step)


def graded_metric(record: Mapping[str, Any]) -> MetricResult[GradedStatistics]:
    """The metric of a flat record."""
    training, seeds = record.get("training"), record.get("training_seeds")
    if training is not None or seeds is not None or record.get("versions_in_training"):
        training = TrainingRecord(
            **(training or {}),
            versions=record.get("versions_in_training"),
            seeds=None if seeds is None else TrainingSpread(**seeds),
        )
    status = record.get("status", "ok")
    return MetricResult[GradedStatistics](
        column=ScoreColumn(record["metric"], **{k: record[k] for k in COLUMN if k in record}),
        family=record.get("family", record["metric"].lower()),
        signature=record.get("signature"),
        status=status,
        reason=record.get("reason"),
        remedy=record.get("remedy"),
        counts=tuple(Tally(**count) for count in record.get("counts") or ()),
        training=training,
        statistics=numbers_of(record) if status == "ok" else None,
    )


def compared(
    measure: str, pairs: Mapping[tuple[str, str], float | None], *, alpha: float = 0.05
) -> Comparisons:
    """Comparisons with these adjusted p-values; each difference is 0.1, detectable 0.02."""
    return Comparisons(
        measure=measure,
        alpha=alpha,
        pairs=tuple(
            Comparison(
                a=a, b=b, measure=measure, difference=Estimate(value=0.1, low=0.05, high=0.15),
                tests=(Test(p=p, p_adjusted=p, method="bootstrap, normal"),),
                power=Power(effect=0.5, detectable=0.02, images_needed=100.0),
            )
            for (a, b), p in pairs.items()
        ),
    )  # fmt: skip


def all_compared(
    metrics: Sequence[MetricResult[GradedStatistics]],
    p: Mapping[tuple[str, str], float] | None = None,
) -> dict[Measure, Comparisons]:
    """All pairs by each measure, the higher first, separated where `p` has no p-value for them."""
    open_pairs = {frozenset(pair): value for pair, value in (p or {}).items()}
    tested = {}
    for measure in MEASURES:
        values = {m.name: m.numbers.estimate(measure).value for m in metrics if m.ok}
        order = sorted(values, key=lambda name: -(values[name] or 0.0))
        pairs = {pair: open_pairs.get(frozenset(pair), 0.001) for pair in combinations(order, 2)}
        tested[measure] = compared(measure, pairs)
    return tested


def graded_result(metrics: Sequence[MetricResult[GradedStatistics]], **fields: Any) -> GradedResult:
    """A result with these metrics."""
    defaults: dict[str, Any] = {
        "experiment": "replace", "dataset": "hand-written", "n_images": 5,
        "settings": StatisticsSettings(seed=0, replicates=40, confidence=0.95),
        "sets": (CaptionSet(name="Random", level=0, n=5, n_applied=5, n_unapplied=0),
                 CaptionSet(name="Human", level=1, n=5, n_applied=0, n_unapplied=0)),
        "leading_column": None, "differences": {},
    }  # fmt: skip
    return GradedResult(metrics=tuple(metrics), **{**defaults, **fields})


def graded_run(
    *metrics: MetricResult[GradedStatistics],
    info: Mapping[str, Any] | None = None,
    images: int = 5,
    **fields: Any,
) -> GradedRun:
    """A run with these metrics as its report reads it; without captions and scores."""
    result = graded_result(metrics, n_images=images, **fields)
    facts = {"status": "finished", "dataset": DatasetInfo(name="hand-written"), **(info or {})}
    columns = tuple(m.name for m in metrics if m.ok)
    return GradedRun(
        directory=Path(), result=result, info=RunInfo(**facts), config="", sets=result.sets,
        image_ids=tuple(range(images)), image_paths=(None,) * images, sources=("",) * images,
        references=((),) * images, captions=((None,) * images,) * len(result.sets),
        applied=np.ones((len(result.sets), images), dtype=bool), columns=columns,
        scores=np.zeros((len(columns), len(result.sets), images)), explanations={},
    )  # fmt: skip
