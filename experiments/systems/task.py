"""Metrics that rank systems: `python -m metaeval experiment=systems dataset.file=FILE`.

Does a metric rank captioners as people do? The table has people's values and metrics' values of
each system; nothing is scored. See docs/systems.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress, product
from typing import Any

import numpy as np
from omegaconf import DictConfig

from metaeval.data.judgments.systems import SystemsTable
from metaeval.errors import ConfigError
from metaeval.experiments.base import Streaming
from metaeval.experiments.means import Resampled, ResampledValue
from metaeval.experiments.record import RunRecord
from metaeval.metrics.base import Metric
from metaeval.options import Draws, OpenShare, checked
from metaeval.results.base import Estimate, Measured, MetricResult
from metaeval.results.measured import Extra, MeasuredResult
from metaeval.results.run import DatasetInfo, Measure
from metaeval.runs.records import ScoreColumn
from metaeval.stats.agreement.systems import pairwise_accuracies, permutation_p
from metaeval.stats.correlation.correlations import WeightedCorrelations
from metaeval.stats.resampling.bootstrap import Counts, bootstrap_counts
from metaeval.stats.resampling.items import Floats
from metaeval.stats.significance.comparison import PairTest, on_common_items
from metaeval.stats.significance.paired_differences import williams_test

R, ACCURACY = "pearson", "accuracy"
SYMBOLS = {R: "r", "spearman": "ρ", "kendall_tau_b": "τ-b", ACCURACY: "Pairs"}
INFLUENCE = "One system changes r of {1} from {2:.2f} to {3:.2f}: {4} left out."
NOTES = (
    "r is Pearson's, ρ Spearman's, τ-b Kendall's; Pairs: the share of pairs of systems that metric "
    "and people order alike. Intervals resample systems.",
    "p: of 'r is 0', by giving people's values to other systems at random, two-sided, uncorrected. "
    "Tests between two r are Williams', between other statistics the paired bootstrap.",
    "Systems are few: an interval says what other systems like these would have given.",
)

Row = dict[str, Any]


class SystemAgreement(Resampled):
    """A statistic of columns of metrics [n] with people's values [n], over resampled systems.

    Pearson's r of two metrics is compared by Williams' test, which suits few systems; the other
    statistics by the paired bootstrap.
    """

    def __init__(
        self, statistic: str, systems: Sequence[str], human: Floats, counts: Counts, **options: Any
    ) -> None:
        super().__init__(statistic, **options)
        self.systems, self.human, self.counts = systems, human, counts

    def weighted(self, column: Floats, weights: Counts) -> Floats:
        """The statistic for weights [r, n]."""
        known = ~np.isnan(column + self.human)
        x, y, w = column[known], self.human[known], weights[:, known]
        if self.measure == ACCURACY:
            return pairwise_accuracies(x, y, w)
        made = WeightedCorrelations(x, y, np.arange(len(x)), len(x), (self.measure,)).of(w)
        return np.asarray(getattr(made, self.measure))

    def resampled(self, column: Floats) -> ResampledValue:
        n = int((~np.isnan(column + self.human)).sum())
        (value,) = self.weighted(column, np.ones_like(self.counts[:1]))
        return ResampledValue(float(value), self.weighted(column, self.counts), n, n)

    def difference(self, a: str, b: str) -> PairTest:
        made = super().difference(a, b)
        if self.measure != R:
            return made
        x, y = on_common_items(self.columns[a], self.columns[b])
        p = williams_test(x, y, self.human).p_two_sided
        return made._replace(p=p, method="Williams", smallest_p=0.0)

    def p(self, name: str, permutations: int, seed: int) -> float:
        """The p-value of a column's r, by permutation."""
        x = self.columns[name]
        known = ~np.isnan(x + self.human)
        return permutation_p(x[known], self.human[known], arrangements=permutations, seed=seed)

    def influence(self, name: str) -> Row:
        """The lowest and the highest value of a column with one system left out, and which."""
        each = self.weighted(self.columns[name], 1 - np.eye(len(self.systems), dtype=np.int64))
        row: Row = {"value": self.of(self.columns[name]).value}
        for end, place in (("lowest", np.argmin), ("highest", np.argmax)):
            k = int(place(np.nan_to_num(each)))
            row |= {end: float(each[k]), f"{end}_without": self.systems[k]}
        return row


def statistics(
    table: SystemsTable, stats: DictConfig, permutations: int, alpha: float
) -> MeasuredResult:
    """Every metric against every column of people, in every set of systems."""
    made = dict(_agreements(table, stats, alpha))
    main = {m: each for m, each in made.items() if m.key == f"{R}_{m.group}"}
    p_values = {
        m: Measure(f"p_{m.group}", "p", unit="p", best="neither", group=m.group) for m in main
    }
    ranked = [name for name in table.metrics if name not in table.controls]
    values = {
        name: {measure.key: each.estimate(name) for measure, each in made.items()}
        | {
            p_values[measure].key: Estimate(value=each.p(name, permutations, stats.seed))
            for measure, each in main.items()
        }
        for name in table.metrics
    }
    influence = [
        {
            "people": measure.group,
            "statistic": measure.title,
            "metric": name,
            **each.influence(name),
        }
        for measure, each in made.items()
        if each.measure == R
        for name in table.metrics
    ]
    against = {m.key: each.against_control(ranked, table.controls) for m, each in main.items()}
    settings = {"replicates": stats.replicates, "seed": stats.seed, "confidence": stats.confidence}
    return MeasuredResult(
        experiment="systems",
        dataset=table.name,
        title=table.title,
        facts={"Systems": len(table.systems)},
        settings={**settings, "permutations": permutations, "alpha": alpha},
        metrics=tuple(
            MetricResult(
                column=ScoreColumn(
                    name,
                    bounds=(-np.inf, np.inf),
                    higher_is_better=name not in table.lower_is_better,
                    control=name in table.controls,
                ),
                family="systems",
                statistics=Measured(values=of_metric),
            )
            for name, of_metric in values.items()
        ),
        declared=tuple(m for each in made for m in (each, p_values.get(each)) if m is not None),
        comparisons={measure.key: each.comparisons(ranked) for measure, each in made.items()},
        controls={key: each for key, each in against.items() if each is not None},
        extras=(
            Extra.of("influence", "Correlations without one system", influence, folded=True),
            Extra.of("systems", "The systems", _rows(table), folded=True),
        ),
        notes=(*table.notes, *NOTES),
        caveat=_caveat([row for row in influence[: len(values)] if row["metric"] in ranked]),
    )


def _agreements(
    table: SystemsTable, stats: DictConfig, alpha: float
) -> Iterator[tuple[Measure, SystemAgreement]]:
    """All statistics in the first set of systems, and r in the others."""
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
            yield (
                Measure(
                    key, title, unit="share" if statistic == ACCURACY else "score", group=people
                ),
                SystemAgreement(
                    statistic,
                    list(compress(table.systems, chosen)),
                    human[chosen],
                    counts,
                    columns=columns,
                    confidence=stats.confidence,
                    alpha=alpha,
                ),
            )


def _rows(table: SystemsTable) -> Iterator[Row]:
    """A row for each system: the sets that it is in, and all its values."""
    for k, system in enumerate(table.systems):
        sets = ", ".join(name for name, chosen in table.sets.items() if chosen[k])
        columns = {**table.human, **table.metrics}
        yield {"system": system, "sets": sets} | {name: v[k] for name, v in columns.items()}


def _caveat(influence: Sequence[Row]) -> str:
    """The metric whose correlation a single system changes most."""
    changes = [
        (abs(row[end] - row["value"]), row["metric"], row["value"], row[end], row[f"{end}_without"])
        for row in influence
        for end in ("lowest", "highest")
    ]
    known = [change for change in changes if change[0] == change[0]]
    return INFLUENCE.format(*max(known)) if known else ""


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
    alpha
        The level at which the printout and the report call a difference significant.
    """

    @checked
    def __init__(self, permutations: Draws = 50_000, alpha: OpenShare = 0.05) -> None:
        self.permutations, self.alpha = permutations, float(alpha)

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
            return statistics(table, record.config.stats, self.permutations, self.alpha)
