"""Metrics that rank systems: `python -m metaeval experiment=systems dataset.file=FILE`.

Does a metric rank captioners as people do? The table has people's values and metrics' values of
each system; nothing is scored. See docs/systems.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress, product
from typing import Any, Literal

import numpy as np
from omegaconf import DictConfig

from metaeval.data.judgments.systems import SystemsTable
from metaeval.experiments import (
    ConfigError,
    Estimate,
    Extra,
    Floats,
    MeasuredResult,
    Metric,
    MetricScores,
    RunRecord,
    ScoreColumn,
    Streaming,
)
from metaeval.experiments.measure import (
    Outcomes,
    ResampledValue,
    Statistic,
    measure,
    of_stats,
)
from metaeval.options import Draws, checked
from metaeval.results.run import DatasetInfo, Measure
from metaeval.stats.agreement.systems import pairwise_accuracies, permutation_p
from metaeval.stats.correlation.correlations import WeightedCorrelations
from metaeval.stats.resampling.bootstrap import Counts, bootstrap_counts
from metaeval.stats.significance.comparison import PairTest
from metaeval.stats.significance.paired_differences import fisher_interval, williams_interval

R, ACCURACY, WILLIAMS = "pearson", "accuracy", "Williams"
SYMBOLS = {R: "r", "spearman": "ρ", "kendall_tau_b": "τ-b", ACCURACY: "Pairs"}
NOTES = (
    "r is Pearson's, ρ Spearman's, τ-b Kendall's; Pairs: the share of pairs of systems that metric "
    "and people order alike. Intervals of r are by Fisher's z, others resample systems.",
    "p: of 'r is 0', by giving people's values to other systems at random, two-sided, uncorrected. "
    "Tests between two r are Williams', between other statistics Student's t of the bootstrap.",
)

Row = dict[str, Any]


class SystemAgreement(Statistic):
    """A statistic of a column of metrics' values [n] with people's values [n], over systems.

    Pearson's r has the interval of Fisher's z, and two of them are compared by Williams' test,
    which suit few systems; the other statistics are resampled.
    """

    def __init__(self, statistic: str, human: Floats, counts: Counts) -> None:
        self.statistic, self.human, self.counts = statistic, human, counts
        self.span = 1.0 if statistic == ACCURACY else 2.0
        self.test = WILLIAMS if statistic == R else "bootstrap"

    def weighted(self, column: Floats, weights: Counts) -> Floats:
        """The statistic for weights [r, n]."""
        known = ~np.isnan(column + self.human)
        x, y, w = column[known], self.human[known], weights[:, known]
        if self.statistic == ACCURACY:
            return pairwise_accuracies(x, y, w)
        made = WeightedCorrelations(x, y, np.arange(len(x)), len(x), (self.statistic,)).of(w)
        return np.asarray(getattr(made, self.statistic))

    def of(self, column: Floats) -> ResampledValue:
        n = int((~np.isnan(column + self.human)).sum())
        (value,) = self.weighted(column, np.ones_like(self.counts[:1]))
        return ResampledValue(float(value), self.weighted(column, self.counts), n, n)

    def estimate(self, column: Floats, confidence: float) -> Estimate:
        made = super().estimate(column, confidence)
        if self.statistic != R or made.value is None or made.interval is None:
            return made
        low, high = fisher_interval(made.value, made.n or 0, confidence)
        return made.model_copy(update={"low": low, "high": high})

    def difference(self, a: Floats, b: Floats, confidence: float) -> PairTest:
        made = super().difference(a, b, confidence)
        if self.statistic != R:
            return made
        low, high, p = williams_interval(a, b, self.human, confidence)
        low, high = max(low, -self.span), min(high, self.span)
        return made._replace(low=low, high=high, p=p, smallest_p=0.0)

    def p(self, column: Floats, permutations: int, seed: int) -> float:
        """The p-value of a column's r, by permutation."""
        known = ~np.isnan(column + self.human)
        return permutation_p(column[known], self.human[known], arrangements=permutations, seed=seed)

    def influence(self, column: Floats, systems: Sequence[str]) -> Row:
        """The lowest and the highest value of a column with one system left out, and which."""
        each = self.weighted(column, 1 - np.eye(len(systems), dtype=np.int64))
        row: Row = {"value": self.known(column).value}
        for end, place in (("lowest", np.argmin), ("highest", np.argmax)):
            k = int(place(np.nan_to_num(each)))
            row |= {end: float(each[k]), f"{end}_without": systems[k]}
        return row


def statistics(table: SystemsTable, stats: DictConfig, permutations: int) -> MeasuredResult:
    """Every metric against every column of people, in every set of systems."""
    made = list(_outcomes(table, stats))
    outcomes = [each for each, _, _ in made]
    columns = {
        name: ScoreColumn(
            name,
            bounds=(-np.inf, np.inf),
            higher_is_better=name not in table.lower_is_better,
            control=name in table.controls,
        )
        for name in table.metrics
    }
    measured = measure(outcomes, columns.values(), stats.confidence)
    influence = []
    declared = []
    for each, statistic, systems in made:
        m = each.measure
        declared.append(m)
        if each.family:
            p = Measure(f"p_{m.group}", "p", unit="p", best="neither", group=m.group)
            declared.append(p)
            for name, column in each.columns.items():
                value = statistic.p(column, permutations, stats.seed)
                measured.values[name][p.key] = Estimate(value=value)
        if statistic.statistic == R:
            influence += [
                {
                    "people": m.group,
                    "statistic": m.title,
                    "metric": name,
                    **statistic.influence(column, systems),
                }
                for name, column in each.columns.items()
            ]
    of_table = MetricScores("systems", tuple(columns.values()), (None,) * len(columns), "ok")
    return measured.result(
        [of_table],
        experiment="systems",
        dataset=table.name,
        title=table.title,
        facts={"Systems": len(table.systems)},
        settings={**of_stats(stats), "permutations": permutations},
        declared=tuple(declared),
        extras=(
            Extra.of("influence", "Correlations without one system", influence, folded=True),
            Extra.of("systems", "The systems", _rows(table), folded=True),
        ),
        notes=(*table.notes, *NOTES),
    )


def _outcomes(
    table: SystemsTable, stats: DictConfig
) -> Iterator[tuple[Outcomes, SystemAgreement, list[str]]]:
    """All statistics in the first set of systems, and r in the others; with the set's systems."""
    for (people, human), (k, name) in product(table.human.items(), enumerate(table.sets)):
        chosen = table.sets[name]
        n = int(chosen.sum())
        counts = bootstrap_counts(n, stats.replicates, stats.seed)
        columns = {
            metric: (-1 if metric in table.lower_is_better else 1) * column[chosen]
            for metric, column in table.metrics.items()
        }
        for statistic in (R,) if k else SYMBOLS:
            key = f"{statistic}_{people}" + (f"_{name}" if k else "")
            title = SYMBOLS[statistic] + (f", {name} ({n})" if k else "")
            unit: Literal["share", "score"] = "share" if statistic == ACCURACY else "score"
            agreement = SystemAgreement(statistic, human[chosen], counts)
            family = people if key == f"{R}_{people}" else ""
            measure = Measure(key, title, unit=unit, group=people)
            outcomes = Outcomes(measure, columns, agreement, family=family)
            yield outcomes, agreement, list(compress(table.systems, chosen))


def _rows(table: SystemsTable) -> Iterator[Row]:
    """A row for each system: the sets that it is in, and all its values."""
    for k, system in enumerate(table.systems):
        sets = ", ".join(name for name, chosen in table.sets.items() if chosen[k])
        columns = {**table.human, **table.metrics}
        yield {"system": system, "sets": sets} | {name: v[k] for name, v in columns.items()}


class Systems(
    Streaming,
    name="systems",
    title="Metrics against people: systems",
    question="Which metric ranks systems as people do?",
    data=SystemsTable,
    needs="experiment=systems needs a table of systems: dataset=coco2015 or systems",
):
    """How every metric of a table ranks its systems, against people.

    Parameters
    ----------
    permutations
        Arrangements of the permutation test of a correlation; all of them where they are fewer.
    """

    @checked
    def __init__(self, permutations: Draws = 50_000) -> None:
        self.permutations = permutations

    def check(self, config: DictConfig) -> None:
        if config.metrics != "all":
            raise ConfigError("metrics: the table has the metrics; choose them by dataset.metrics")

    def also_named(self, config: DictConfig) -> None:
        """The table, which is not read yet, has the metrics."""

    def stream(self, metrics: Mapping[str, Metric], record: RunRecord) -> MeasuredResult:
        table: SystemsTable = self.load(record.config)
        print(f"{self.name} on {table.title}: {len(table.systems)} systems", flush=True)
        record.begin()
        record.update(
            dataset=DatasetInfo(name=table.name, sources=table.sources, notes=table.notes)
        )
        with record.stage("statistics"):
            return statistics(table, record.config.stats, self.permutations)
