"""The metrics of the score bank, as columns of a run: `metrics=[bank]`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.data.download import data_folder
from metaeval.data.own.bank import FOLDER, BankEntry, bank_files, description_of
from metaeval.errors import ConfigError, InputError
from metaeval.metrics.adapters.own import FileScorer, ScoresFileMetric
from metaeval.metrics.base import Metric, Scorer, Scores
from metaeval.options import checked
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store, content_digest


def scores_metric(file: Path, entry: BankEntry, data: str | Path | None = None) -> ScoresFileMetric:
    """A file of the bank, read as its description says."""
    top = data_folder(data)
    return ScoresFileMetric(
        file,
        [entry.column],
        entry.fields,
        top / entry.captions if top and entry.captions else None,
        higher_is_better=entry.higher_is_better,
        answers=entry.scale if entry.answers else None,
    )


class BankMetric(Metric):
    """The scores of all metrics of the bank that have some of the dataset's images.

    Where files of several benchmarks have a caption, that of the run's dataset comes first, then
    the first by name. A caption that none has scores NaN.

    Parameters
    ----------
    folder
        The folder of the bank; by default `scores` in the data folder.
    only
        Only these metrics, as the descriptions call them.
    data
        The data folder.
    """

    name = "bank"
    needs = frozenset()

    @checked
    def __init__(
        self,
        folder: str | Path | None = None,
        only: tuple[str, ...] | list[str] | None = None,
        data: str | Path | None = None,
    ) -> None:
        entries = bank_files(folder, data)
        known = list(dict.fromkeys(entry.metric for _, entry in entries))
        if unknown := [name for name in only or () if name not in known]:
            raise ConfigError(f"metric.bank.only: '{unknown[0]}' not among {', '.join(known)}")
        self.entries = {
            scores_metric(file, entry, data): entry
            for file, entry in entries
            if only is None or entry.metric in only
        }
        for file, entry in entries:
            first = next(e for _, e in entries if e.metric == entry.metric)
            if first.higher_is_better != entry.higher_is_better:
                raise InputError(
                    f"higher_is_better is {str(entry.higher_is_better).lower()}, and another file "
                    f"of '{entry.metric}' says the opposite; correct one, or rename the metric",
                    file=description_of(file) or file,
                )
        cited = (key for entry in self.entries.values() for key in entry.citation)
        self.citation = tuple(dict.fromkeys(cited))

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        made = {entry.metric: _column(entry) for entry in self.entries.values()}
        return tuple(made.values()) or (ScoreColumn("Score bank"),)

    @property
    def reads_systems(self) -> bool:
        return any(metric.reads_systems for metric in self.entries)

    @property
    def reads(self) -> frozenset[str]:
        return frozenset(part for entry in self.entries.values() for part in entry.reads)

    def contents(self) -> list[list[str]]:
        """What the scores of a dataset follow from: each file's description and its content."""
        return [[e.model_dump_json(), *metric.contents()] for metric, e in self.entries.items()]

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> Scorer | Absent:
        files: dict[str, list[FileScorer]] = {}
        of_dataset = sorted(self.entries.items(), key=lambda e: e[1].benchmark != dataset.name)
        for metric, entry in of_dataset:
            scorer = FileScorer(metric, dataset)
            if scorer.knows_images:
                files.setdefault(entry.metric, []).append(scorer)
        if not files:
            reason = f"the score bank has no scores of the {len(dataset):,} images"
            return Absent(
                "scores", reason, f"put NAME.csv and NAME.yaml into {FOLDER} (docs/bank.md)"
            )
        return BankScorer([c for c in self.columns if c.name in files], files)


def _column(entry: BankEntry) -> ScoreColumn:
    unbounded = float("-inf"), float("inf")
    return ScoreColumn(entry.metric, bounds=unbounded, higher_is_better=entry.higher_is_better)


class BankScorer(Scorer):
    """The scores of a dataset's captions: a column for each metric, each from its files in turn."""

    batch_size = FileScorer.batch_size

    def __init__(self, columns: Sequence[ScoreColumn], files: dict[str, list[FileScorer]]) -> None:
        self.files = [files[column.name] for column in columns]
        settings = (scorer.settings for scorers in self.files for scorer in scorers)
        read = "+".join(f"{each['file']}-{each['read']}" for each in settings)
        super().__init__(columns, {"files": read, "v": 2})

    def context(self, index: int) -> bytes:
        contexts = (s.context(index) for scorers in self.files for s in scorers)
        return content_digest([context.hex() for context in contexts])

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        columns = []
        for scorers in self.files:
            tables = [scorer.score(captions, image_index)[:, 0] for scorer in scorers]
            column = tables[0]
            for other in tables[1:]:
                column = np.where(np.isnan(column), other, column)
            columns.append(column)
        return np.stack(columns, axis=1)
