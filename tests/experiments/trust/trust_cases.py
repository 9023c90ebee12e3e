"""Evidence and results of experiment=trust, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scipy import stats

from metaeval.experiments.trust.verdicts import UnjudgedEvidence, cells, effect_of, robustness
from metaeval.results.base import Estimate
from metaeval.results.metric import MetricResult
from metaeval.results.trust import (
    BatteryItem,
    CaptionExample,
    Evidence,
    MetricCost,
    Rules,
    TrustResult,
    TrustStatistics,
    Use,
)
from metaeval.runs.records import ScoreColumn

RULES = Rules(minimal_effect=0.1, alpha=0.05, least_room=0.1)
USES = (
    Use(id="pairs", title="choose the better of two captions", shows="prefers what people prefer"),
    Use(id="long", title="compare long captions", shows="prefers the better long caption"),
)


def evidence(
    value: float, control: float = 0.5, sd: float = 0.01, item: str = "a", **more: object
) -> Evidence:
    """Evidence of a metric with this value, tested by the normal distribution."""
    difference = value - control
    width = 1.96 * sd
    change = Estimate(value=difference, low=difference - width, high=difference + width)
    p = float(2 * stats.norm.sf(abs(difference) / sd)) if sd else None
    fields: dict[str, object] = {
        "item": item, "part": "", "measure": "accuracy", "control": "Length",
        "value": Estimate(value=value, low=value - width, high=value + width, n=100),
        "control_value": control, "ceiling": 1.0, "ceiling_is": "always right",
        "effect": effect_of(change, control, 1.0), "p": p, "test": "normal",
        "outcome": "undecided", **more,
    }  # fmt: skip
    return Evidence.model_validate(fields)


def found(metric: str, one: Evidence, why_not: str | None = None) -> UnjudgedEvidence:
    return UnjudgedEvidence(metric, one, why_not)


def trust_result(
    rows: Mapping[str, Sequence[Evidence]],
    uncounted: Mapping[str, str] | None = None,
    reads: Mapping[str, tuple[str, ...]] | None = None,
) -> TrustResult:
    """A result on two uses: evidence of each metric for the first; nothing for the second."""
    of = [
        UnjudgedEvidence(name, one, (uncounted or {}).get(name)) for name, several in rows.items()
        for one in several
    ]  # fmt: skip

    def judge(rules: Rules, without: str | None):  # type: ignore[no-untyped-def]
        kept = [f for f in of if f.evidence.item != without]
        return {"pairs": cells(kept, list(rows), rules), "long": cells([], list(rows), rules)}

    matrix = judge(RULES, None)
    items = sorted({one.item for several in rows.values() for one in several})
    battery = [
        BatteryItem(id=item, experiment="pairs", title=item, overrides=("experiment=pairs",),
                    status="found", command="python -m metaeval experiment=pairs",
                    directory=f"items/{item}", dataset="sugarcrepe", n_images=100)
        for item in items
    ]  # fmt: skip
    missing = BatteryItem(
        id="caparena", experiment="arena", title="caparena", status="missing",
        reason="its file is not on this machine", overrides=("experiment=arena",),
        command="python -m metaeval experiment=arena dataset=caparena",
    )  # fmt: skip
    metrics = tuple(
        MetricResult[TrustStatistics](
            column=ScoreColumn(name), family=name.lower(), signature=f"{name}|v:1",
            statistics=TrustStatistics(
                cells={use: row[name] for use, row in matrix.items()},
                cost=MetricCost(seconds_per_1000=1.5, n_scored=1000),
                reads=(reads or {}).get(name), runs_network=name in (reads or {}),
            ),
        )
        for name in rows
    )  # fmt: skip
    return TrustResult(
        dataset="sugarcrepe", battery="quick", rules=RULES, uses=USES,
        items=(*battery, missing), robustness=robustness(judge, RULES, items), metrics=metrics,
    )  # fmt: skip


def example(image: int = 1) -> CaptionExample:
    return CaptionExample(
        image_id=image, better="a <dog> runs", worse="a cat runs", scores=(0.5, 0.7)
    )
