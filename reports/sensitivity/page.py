"""The page of a profile: the usual blocks, and agreement with people from runs that one names."""

from collections.abc import Iterable
from pathlib import Path

from metaeval.reports.blocks.tables import extra_table
from metaeval.reports.blocks.texts import Block
from metaeval.reports.measured import PageOptions, default_blocks
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.files import read_result
from metaeval.results.measured import Extra
from metaeval.results.sentences import with_interval
from metaeval.runs import files


def blocks(run: LoadedRun, options: PageOptions) -> list[Block]:
    """The blocks of any result; after the table, with `report.judgments`, people's agreement."""
    listed = default_blocks(run, options)
    if options.judgments:
        listed.insert(3, extra_table(run.result, agreement(options.judgments)))
    return listed


def agreement(folders: Iterable[Path | str]) -> Extra:
    """Metric × run and measure: how well each metric agrees with people.

    Raises InputError for a folder that holds no run of experiment=judgments.
    """
    rows: dict[str, dict[str, str]] = {}
    for folder in map(Path, folders):
        result = read_result(folder / files.STATISTICS, "judgments")
        for metric in result.metrics:
            for measure, estimate in result.measures(metric):
                if measure.shown:
                    column = f"{result.dataset}, {measure.title}"
                    row = rows.setdefault(metric.name, {"metric": metric.name})
                    row[column] = with_interval(measure, estimate)
    return Extra.of("people", "Agreement with people", rows.values())
