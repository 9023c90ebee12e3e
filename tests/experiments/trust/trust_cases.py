"""Runs and results of experiment=trust, for tests: battles of which each outcome is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from metaeval.experiments.measure import Items, MeanOutcome, Outcomes, measure
from metaeval.experiments.trust.result import ItemRun, gathered
from metaeval.experiments.trust.verdicts import Rules, Use, Uses
from metaeval.results.base import MetricResult
from metaeval.results.measured import Extra, MeasuredResult
from metaeval.results.run import Measure
from metaeval.runs.records import ScoreColumn, TrainingFacts
from metaeval.stats.resampling.bootstrap import bootstrap_counts
from metaeval.stats.resampling.items import Floats

RULES = Rules(
    minimal_skill=0.1,
    least_room=0.1,
    least_images=100,
    least_systems=20,
    most_missing=0.02,
    confidence=0.95,
)
USES = Uses(
    rules=RULES,
    blind=("length",),
    baselines=("copy",),
    uses=(
        Use(
            id="pairs",
            title="choose the better of two captions",
            shows="prefers what people prefer",
            evidence={"arena.agreement": None},
        ),
        Use(id="long", title="compare long captions", shows="prefers the longer one", evidence={}),
    ),
)
KEY = "agreement"
COMMAND = "python -m metaeval experiment=arena"
N = 400
CONTROLS = {"Length": 0.5, "Copy": 0.55}  # columns that are controls, with their usual values


def right(share: float, seed: int = 0, n: int = N) -> Floats:
    """1 for exactly this share of n battles, 0 for the others, in random order."""
    made = np.zeros(n)
    made[: round(share * n)] = 1.0
    return np.random.default_rng([seed, n]).permutation(made)


def item_run(
    item: str,
    columns: Mapping[str, Floats | float],
    *,
    trained: Sequence[str] = (),
    n: int = N,
    seed: int = 0,
    dataset: str = "battles",
    **fields: Any,
) -> ItemRun:
    """A run of n battles, each of its own image: column → its outcomes, or the share that is right;
    `trained` were chosen on battles."""
    given = {"Length": CONTROLS["Length"], **columns}
    outcomes = {
        name: right(of, k, n) if isinstance(of, float) else of
        for k, (name, of) in enumerate(given.items())
    }
    known = {name: ScoreColumn(name, control=name in CONTROLS) for name in outcomes}
    items = Items(np.arange(n))
    counts = bootstrap_counts(n, 500, seed).astype(np.float64)
    agreement = Measure(KEY, "agreement")
    of_battles = Outcomes(agreement, outcomes, MeanOutcome(items, counts), family="all")
    measured = measure([of_battles], known.values(), 0.95)
    metrics = tuple(
        MetricResult(
            column=column,
            family=name.lower(),
            signature=f"{name}|v:1",
            statistics=measured.of(name),
            training=TrainingFacts(chosen_on=("arena",)) if name in trained else None,
        )
        for name, column in known.items()
    )
    result = MeasuredResult(
        experiment="arena",
        dataset=dataset,
        declared=(agreement,),
        metrics=metrics,
        comparisons=measured.comparisons,
        controls=measured.controls,
        **fields,
    )
    resampled = tuple(measured.resampled)
    return ItemRun(item, "arena", COMMAND, result, directory=f"items/{item}", resampled=resampled)


MISSING = ItemRun(
    "caparena",
    "arena",
    f"{COMMAND} dataset=caparena",
    reason="its file is not on this machine",
)


def trust_result(
    *runs: ItemRun,
    own: Sequence[str] = (),
    reads: Mapping[str, tuple[str, ...]] | None = None,
    uses: Uses = USES,
) -> MeasuredResult:
    """A result on two uses: the runs are evidence for the first; nothing is for the second.
    `reads` is metric → what it reads."""
    metrics: dict[str, Any] = {
        name.lower(): SimpleNamespace(reads=of_metric, runs_network=True)
        for name, of_metric in (reads or {}).items()
    }
    families = [name.lower() for name in own]
    return gathered("quick", uses, [*runs, MISSING], families, metrics)


def rows(result: MeasuredResult, extra: str, **where: object) -> list[dict[str, Any]]:
    """The rows of an extra with these values."""
    records = result.extra(extra).records
    return [r for r in records if all(r[key] == value for key, value in where.items())]


def cell_of(result: MeasuredResult, metric: str) -> dict[str, Any]:
    """The cell of a metric for the first use."""
    (cell,) = rows(result, "cells", use="pairs", metric=metric)
    return cell


def with_example(result: MeasuredResult) -> MeasuredResult:
    """The result with a caption of metric A on item a."""
    example = {
        "item": "a",
        "part": "",
        "metric": "A",
        "image_id": 1,
        "better": "a <dog> runs",
        "worse": "a cat runs",
        "score_better": 0.5,
        "score_worse": 0.7,
    }
    others = tuple(extra for extra in result.extras if extra.name != "examples")
    examples = Extra.of("examples", "Captions", [example], kind="data")
    return result.model_copy(update={"extras": (*others, examples)})
