"""Metrics that rank systems: `python -m metaeval experiment=systems dataset.file=FILE`.

Does a metric rank captioners as people do? The table has people's values and metrics' values of
each system; nothing is scored. See docs/systems.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from omegaconf import DictConfig

from metaeval.config import load_data
from metaeval.data.judgments.systems import SystemsTable
from metaeval.errors import ConfigError
from metaeval.experiments.base import Streaming
from metaeval.experiments.record import RunRecord
from metaeval.experiments.systems.statistics import statistics
from metaeval.metrics.base import Metric
from metaeval.options import Draws, OpenShare, checked
from metaeval.results.measured import MeasuredResult
from metaeval.results.run import DatasetInfo


class Systems(
    Streaming,
    name="systems",
    title="Metrics against people: systems",
    question="Which metric ranks systems as people do?",
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

    def stream(self, metrics: Mapping[str, Metric], record: RunRecord) -> MeasuredResult:
        needed = "experiment=systems needs a table of systems: dataset=coco2015 or systems"
        table = load_data(record.config, SystemsTable, needed)
        print(f"{self.name} on {table.title}: {len(table.systems)} systems", flush=True)
        record.begin()
        record.update(
            dataset=DatasetInfo(name=table.name, sources=table.sources, notes=table.notes)
        )
        with record.stage("statistics"):
            return statistics(table, record.config.stats, self.permutations, self.alpha)
