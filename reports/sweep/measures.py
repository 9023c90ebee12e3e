"""What each experiment measures of a metric: the numbers that a sweep compares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from reports.shared.formatting import known
from reports.shared.row_kind import Record, row_kind


class Measure(NamedTuple):
    """A number of a metric: its key in sweep.csv, its name, and whether the page shows it."""

    key: str
    title: str
    shown: bool = True


class Value(NamedTuple):
    """A value and its interval over images (`None` without one)."""

    value: float
    ci: tuple[float, float] | None = None


GRADED = (
    Measure("rank_order_rho", "rank-order ρ"),
    Measure("rank_order_rho_within", "rank-order ρ within an image"),
    Measure("pairwise_accuracy", "pairwise accuracy"),
    Measure("spearman_rho", "Spearman's ρ", False),
    Measure("kendall_tau_b", "Kendall's τ-b", False),
    Measure("tie_fraction", "share of ties", False),
    Measure("monotone_rate", "share of images in order", False),
    Measure("inversion_rate", "share of inverted pairs", False),
)
_CORRELATIONS = {
    "kendall_tau_b": "Kendall's τ-b", "kendall_tau_c": "Kendall's τ-c", "pearson": "Pearson's r",
    "spearman": "Spearman's ρ",
}  # fmt: skip


def values_of(statistics: Mapping[str, Any]) -> dict[Measure, dict[str, Value]]:
    """Measure → metric → value of one job; metrics that did not run, parts and random weights
    are left out, controls are not."""
    table: dict[Measure, dict[str, Value]] = {}
    agreement = _agreement(statistics)
    for record in statistics["metrics"]:
        if row_kind(record) not in ("result", "control"):
            continue
        for measure, value in _of_record(record, statistics, agreement):
            if known(value.value):
                table.setdefault(measure, {})[record["metric"]] = value
    return table


def _of_record(
    record: Record, statistics: Mapping[str, Any], agreement: Mapping[str, float]
) -> Iterator[tuple[Measure, Value]]:
    """The measures that a record has."""
    if "human" in record:
        yield from _of_ratings(record, statistics)
    elif "choice" in record:
        for choice in record["choice"]:
            n = choice["n_references"]
            title = f"agreement with people, {n} reference{'' if n == 1 else 's'}"
            mean = choice["accuracy"]["mean"]
            yield Measure(f"agreement_{n}", title), _value(mean["value"], mean["ci"])
    elif "accuracy" in record:
        for comparison, kinds in record["accuracy"].items():
            key = "accuracy_" + "".join(c if c.isalnum() else "_" for c in comparison)
            mean = kinds["mean"]
            yield Measure(key, f"accuracy, {comparison}"), _value(mean["value"], mean.get("ci"))
    elif "profile" in record:
        yield from _of_profile(record, statistics)
    elif record["metric"] in agreement:
        title = "mean τ-b with the other metrics, over systems"
        yield Measure("mean_tau_b", title), Value(agreement[record["metric"]])
    else:
        for measure in GRADED:
            if record.get(measure.key) is not None:
                yield measure, _value(record[measure.key], record.get(f"{measure.key}_ci"))


def _of_ratings(record: Record, statistics: Mapping[str, Any]) -> Iterator[tuple[Measure, Value]]:
    """The protocol's correlation with people and the accuracy on pairs, in each dimension."""
    name = statistics["protocol"]["statistic"]
    several = len(record["human"]) > 1
    for dimension, told in record["human"].items():
        of = f" ({dimension})" if several else ""
        key = f"_{dimension}" if several else ""
        title = f"{_CORRELATIONS.get(name, name)} with people{of}"
        yield Measure(f"{name}{key}", title), _value(told[name], told[f"{name}_ci"])
        pairs = told["accuracy"]
        yield (
            Measure(f"accuracy{key}", f"accuracy on pairs of an image{of}"),
            _value(pairs["value"], pairs["ci"]),
        )


def _of_profile(record: Record, statistics: Mapping[str, Any]) -> Iterator[tuple[Measure, Value]]:
    """How well harm is seen on average, and how often a harmless rewrite scores above harm."""
    harmful = {s["set"] for s in statistics["sets"] if s["expected"] == "lower"}
    aucs = [
        told["auc"] for name, told in record["profile"].items()
        if name in harmful and known(told["auc"])
    ]  # fmt: skip
    if aucs:
        yield Measure("mean_auc", "mean AUC over harmful corruptions"), Value(sum(aucs) / len(aucs))
    if known(record["hard_positives"]["all"]):
        title = "harmless rewrites above harmful near-copies"
        yield Measure("hard_positives", title), Value(record["hard_positives"]["all"])


def _agreement(statistics: Mapping[str, Any]) -> dict[str, float]:
    """Of captioners: each metric's mean τ-b with the others over systems."""
    told = statistics.get("agreement")
    if not isinstance(told, Mapping) or "systems" not in told or not told["systems"]:
        return {}
    names, table = told["systems"]["metrics"], told["systems"]["tau_b"]
    means = {}
    for k, name in enumerate(names):
        others = [t for j, t in enumerate(table[k]) if j != k and known(t)]
        if others:
            means[name] = sum(others) / len(others)
    return means


def _value(value: float, ci: Any) -> Value:
    ends = ci if ci and all(known(end) for end in ci) else None
    return Value(value, None if ends is None else (float(ends[0]), float(ends[1])))
