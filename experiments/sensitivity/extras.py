"""The tables of a profile: what the page shows, and every number of every set."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from metaeval.experiments.sensitivity.combinations import Sets, severities
from metaeval.experiments.sensitivity.profile import SensitivityCell
from metaeval.results.base import Cell, Estimate, Measured
from metaeval.results.measured import EXAMPLES, SETS, Extra
from metaeval.results.sentences import join_names
from metaeval.runs.records import ScoreColumn

WORST = 3  # sets that a metric misses, with captions

PROFILE_CELLS = "profile"  # the extra with a row for each metric and change
MEAN_AUC, POSITIVES = "mean_auc", "hard_positives"  # keys of measures
KIND, OF_SEVERITY = "kind_", "severity_"  # and the kind, the severity: the key of its measure


class NumbersOfMetric(NamedTuple):
    """All that is known of one score column.

    Attributes
    ----------
    cells
        Set → what the metric sees of it.
    """

    measured: Measured
    cells: Mapping[str, SensitivityCell]


def missed(cells: Mapping[str, SensitivityCell]) -> list[str]:
    """Harmful sets that the metric is blind to or whose changed captions it prefers, the least
    seen first."""
    return _with_verdict(cells, "blind", "prefers")


def _with_verdict(cells: Mapping[str, SensitivityCell], *verdicts: str) -> list[str]:
    """The sets with these verdicts, the lowest AUC first."""
    chosen = [(c.auc.value or 0.0, name) for name, c in cells.items() if c.verdict in verdicts]
    return [name for _, name in sorted(chosen)]


def sensitivity_extras(
    every: Sequence[ScoreColumn],
    of_metrics: Mapping[str, NumbersOfMetric],
    sets: Sets,
    kinds: Sequence[str],
) -> Iterator[Extra]:
    """The metrics that see most first, controls last."""
    columns = [c for c in every if c.part_of is None]
    columns.sort(key=lambda c: (c.control, -(of_metrics[c.name].measured.value(MEAN_AUC) or 0.0)))
    order = {column.name: of_metrics[column.name] for column in columns}
    yield Extra.of(
        "kinds",
        "AUC by kind of change",
        (
            {"metric": name, **{kind: of.measured.value(KIND + kind) for kind in kinds}}
            for name, of in order.items()
        ),
        kind="matrix",
    )
    yield Extra.of(
        "verdicts",
        "What each metric misses and punishes",
        ({"metric": name, **_verdicts(of)} for name, of in order.items()),
    )
    yield Extra.of(
        "severity",
        "AUC by severity, and of no-ops above near-copies",
        (
            {"metric": name}
            | {s: of.measured[OF_SEVERITY + s] for s in severities(sets)}
            | {"no-ops": of.measured["no_ops"]}
            for name, of in order.items()
        ),
    )
    changes = [entry.set for entry in sets if entry.n_applied]
    yield Extra.of(
        "auc",
        "AUC by change",
        (
            {"change": s, **{name: of.cells[s].auc.value for name, of in order.items()}}
            for s in changes
        ),
        kind="matrix",
        folded=True,
    )
    yield _sets(sets)
    yield _misses(order, {column.name for column in columns if column.control})
    yield from _data(of_metrics)


def _verdicts(of: NumbersOfMetric) -> dict[str, Cell]:
    return {
        "misses": join_names(missed(of.cells)),
        "punishes": join_names(_with_verdict(of.cells, "punishes")[::-1]),
        "undecided, harm": of.measured.facts["undecided_harm"],
        "undecided, harmless": of.measured.facts["undecided_harmless"],
    }


def _sets(sets: Sets) -> Extra:
    records = [
        {
            **entry.model_dump(),
            "reasons": "; ".join(f"{why}: {n:,}" for why, n in entry.reasons.items()),
        }
        for entry in sets
    ]
    return Extra.of(SETS, "The changes", records, folded=True)


def _misses(order: Mapping[str, NumbersOfMetric], controls: set[str]) -> Extra:
    """The captions that a metric errs on most, of the sets that it sees least."""
    records = [
        {"image_id": None, "metric": name, "set": set_name, **of.cells[set_name].examples[0]}
        for name, of in order.items()
        if name not in controls
        for set_name in missed(of.cells)[:WORST]
        if of.cells[set_name].examples
    ]
    return Extra.of("misses", "What metrics miss", records, kind="examples", folded=True)


DATA = {
    PROFILE_CELLS: "Every metric and change",
    EXAMPLES: "Captions on which metrics err most",
}


def _data(of_metrics: Mapping[str, NumbersOfMetric]) -> list[Extra]:
    """Every number of every column: of each set, and what is measured of corruptions."""
    cells = []
    for name, of in of_metrics.items():
        for set_name, cell in of.cells.items():
            numbers = cell._asdict()
            del numbers["examples"]
            beyond = numbers.pop("beyond_fluency") or Estimate(value=None)
            numbers |= {"beyond_fluency": beyond, "beyond_fluency_n": beyond.n}
            cells.append({"metric": name, "set": set_name, **numbers})
    records = {
        PROFILE_CELLS: cells,
        EXAMPLES: [
            {"image_id": None, "metric": name, "set": set_name, **example}
            for name, of in of_metrics.items()
            for set_name, cell in of.cells.items()
            for example in cell.examples
        ],
    }
    return [Extra.of(name, title, records[name], kind="data") for name, title in DATA.items()]
