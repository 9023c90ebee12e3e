"""Evidence and results of experiment=trust, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from metaeval.experiments.trust.findings import Finding
from metaeval.experiments.trust.result import ItemRun, gathered
from metaeval.experiments.trust.verdicts import Rules, Use
from metaeval.results.base import Estimate, Measured, MetricResult, TrainingRecord
from metaeval.results.comparison import AgainstControl, Comparison, Comparisons
from metaeval.results.measured import Extra, MeasuredResult
from metaeval.runs.records import ScoreColumn

RULES = Rules(minimal_skill=0.1, least_room=0.1, confidence=0.95, power=0.8)
USES = (
    Use(
        id="pairs",
        title="choose the better of two captions",
        shows="prefers what people prefer",
        evidence={"arena.agreement": None},
    ),
    Use(id="long", title="compare long captions", shows="prefers the longer one", evidence={}),
)


def finding(
    value: float,
    control: float = 0.5,
    sd: float = 0.01,
    item: str = "a",
    metric: str = "M",
    **more: Any,
) -> Finding:
    """Evidence of a metric with this value, with a normal interval; the control is certain."""
    width = 1.96 * sd
    difference = value - control
    fields: dict[str, Any] = {
        "source": "arena.agreement",
        "part": "",
        "metric": metric,
        "measure": "accuracy",
        "value": Estimate(value=value, low=value - width, high=value + width, n=100),
        "control": "Length",
        "control_value": control,
        "difference": Estimate(value=difference, low=difference - width, high=difference + width),
        "judged": "people",
        "of_control": Estimate(value=control, low=control, high=control, n=100),
        "item": item,
        **more,
    }
    return Finding(**fields)


def item_run(item: str, found: Sequence[Finding], **fields: Any) -> ItemRun:
    """A run of battles in which each metric has its finding."""
    comparisons = tuple(
        Comparison(
            a=f.metric,
            b=f.control,
            measure="agreement",
            difference=f.difference,
        )
        for f in found
    )
    best = max(found, key=lambda f: f.value.value or 0.0)
    against = AgainstControl(
        control="Length",
        control_value=best.control_value,
        best=best.metric,
        best_value=best.value.value,
        comparisons=comparisons,
        shows="unsure",
    )
    metrics = tuple(
        MetricResult(
            column=ScoreColumn(f.metric),
            family=f.metric.lower(),
            signature=f"{f.metric}|v:1",
            statistics=Measured(values={"agreement": f.value}),
            training=None if f.why_not is None else TrainingRecord(chosen_on=("arena",)),
        )
        for f in found
    )
    length = MetricResult(
        column=ScoreColumn("Length", control=True),
        family="length",
        statistics=Measured(values={"agreement": found[0].of_control}),
    )
    fields = {"comparisons": {"agreement": Comparisons(measure="", alpha=0.05, pairs=())}} | fields
    result = MeasuredResult(
        experiment="arena",
        dataset="battles",
        declared=(),
        controls={"agreement": against},
        metrics=(*metrics, length),
        **fields,
    )
    command = "python -m metaeval experiment=arena"
    return ItemRun(item, "arena", command, result, directory=f"items/{item}")


MISSING = ItemRun(
    "caparena",
    "arena",
    "python -m metaeval experiment=arena dataset=caparena",
    reason="its file is not on this machine",
)


def trust_result(
    *found: Finding,
    own: Sequence[str] = (),
    reads: Mapping[str, tuple[str, ...]] | None = None,
    known: Mapping[str, Sequence[Comparison]] | None = None,
) -> MeasuredResult:
    """A result on two uses: the findings are evidence for the first; nothing is for the second.

    A finding with a reason why it does not count has it because its metric was chosen there.
    `reads` is metric → what it reads, `known` is item → its tests between metrics.
    """
    runs = []
    for item in sorted({f.item for f in found}):
        pairs = tuple((known or {}).get(item, ()))
        tested = Comparisons(measure="agreement", alpha=0.05, pairs=pairs)
        of_item = [f for f in found if f.item == item]
        runs.append(item_run(item, of_item, comparisons={"agreement": tested}))
    metrics: dict[str, Any] = {
        name.lower(): SimpleNamespace(reads=of_metric, runs_network=True)
        for name, of_metric in (reads or {}).items()
    }
    families = [name.lower() for name in own]
    return gathered("quick", USES, RULES, [*runs, MISSING], families, metrics)


def rows(result: MeasuredResult, extra: str, **where: object) -> list[dict[str, Any]]:
    """The rows of an extra with these values."""
    records = result.extra(extra).records
    return [r for r in records if all(r[key] == value for key, value in where.items())]


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
