"""Scores computed elsewhere as a metric: `metric=[scores] metric.scores.file=FILE`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import CaptionDataset
from metaeval.data.own.score_files import ScoreFiles, read_scores
from metaeval.data.tidy import count_captions
from metaeval.errors import ConfigError
from metaeval.metrics.adapters.own import OwnMetric
from metaeval.metrics.base import Scorer, Scores
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store, content_digest


class ScoresFileMetric(OwnMetric):
    """Looks scores up that were computed elsewhere: by a large model, on another machine.

    A score belongs to an image and the text of a caption, so that one file serves any experiment
    that has these captions (`metaeval.data.own.score_files` has the form of the files). Captions
    that the file does not have score NaN and are counted. An image that the file has with another
    folder or suffix is found where only one is meant, and its captions are counted, too.

    If the file contains the references, its scores are for exactly these. Otherwise they are for
    any references: the same caption always has the same score.

    Parameters
    ----------
    file
        A .csv, .tsv, .jsonl, .json or .parquet file, several, or a folder of them.
    columns
        Which scores; by default all.
    fields
        What the file calls `image_id`, `caption`, `references`, `system`, `metric`, `score`.
    captions
        A table from `image_id` and `system` to `caption`, where the file has no captions.
    label
        Stands behind the names of the scores in brackets, for those that metaeval computes too.
    bounds, higher_is_better
        See `OwnMetric`.
    """

    def __init__(
        self,
        file: str | Path | Sequence[str | Path] | None = None,
        columns: Sequence[str] | None = None,
        fields: Mapping[str, str] | None = None,
        captions: str | Path | None = None,
        label: str | None = None,
        bounds: Sequence[float] | None = None,
        higher_is_better: bool = True,
    ) -> None:
        if not file:
            raise ConfigError("give the file of scores: metric.scores.file=FILE")
        super().__init__("scores", columns, bounds, higher_is_better)
        self.file: Any = file if isinstance(file, str | Path) else tuple(file)
        self.asked = tuple(columns) if columns is not None else None
        self.fields, self.captions, self.label = dict(fields or {}), captions, label

    @cached_property
    def scores(self) -> ScoreFiles:
        """The contents of the files, read on first use."""
        return read_scores(self.file, self.asked, self.fields, self.captions)

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        behind = f" ({self.label})" if self.label else ""
        return tuple(
            ScoreColumn(name + behind, bounds=self.bounds, higher_is_better=self.higher_is_better)
            for name in self.scores.columns
        )

    def __getstate__(self) -> dict[str, object]:
        """Without what was read: another process reads it itself."""
        return {key: value for key, value in vars(self).items() if key != "scores"}

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> FileScorer:
        return FileScorer(self, dataset)


class FileScorer(Scorer):
    """The scores of a dataset's captions that a file has."""

    batch_size = 50_000

    def __init__(self, metric: ScoresFileMetric, dataset: CaptionDataset) -> None:
        super().__init__(metric.columns, {"file": metric.scores.sha256[:12], "v": 2})
        self.dataset, self.files = dataset, metric.scores
        self._ids = self.files.ids_of([str(image_id) for image_id in dataset.image_ids])
        self.counted = {
            "captions without a score in the file": "captions",
            "captions whose image has another id in the file": "captions",
        }

    def context(self, index: int) -> bytes:
        return content_digest([self._ids[index] or "", *self.dataset.references[index]])

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        nothing = (np.nan,) * len(self.columns)
        rows = [self._known(c, i) or nothing for c, i in zip(captions, image_index, strict=True)]
        return np.array(rows, dtype=np.float64).reshape(len(captions), len(self.columns))

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        counts = [
            (known is None, known is not None and self._ids[i] != str(self.dataset.image_ids[i]))
            for c, i in zip(captions, image_index, strict=True)
            for known in [self._known(c, i)]
        ]
        return np.array(counts, dtype=np.int64).reshape(len(captions), len(self.counted))

    def why_unscored(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> tuple[str, str]:
        """Which half does not match (image, caption or references), with both sides of one."""
        by_image: dict[str, dict[str, tuple[str, ...] | None]] = {}
        for image, caption, references in self.files.scores:
            by_image.setdefault(image, {})[caption] = references
        examples: dict[str, list[tuple[object, object]]] = {
            "image_id": [],
            "caption": [],
            "references": [],
        }
        for caption, i in zip(captions, image_index.tolist(), strict=True):
            image = self._ids[i]
            if image is None:
                examples["image_id"].append((self.dataset.image_ids[i], next(iter(by_image))))
            elif caption not in by_image[image]:
                examples["caption"].append((caption, next(iter(by_image[image]))))
            elif self._known(caption, i) is None:
                sides = list(self.dataset.references[i]), list(by_image[image][caption] or ())
                examples["references"].append(sides)
        if not (unmatched := {half: found for half, found in examples.items() if found}):
            return "", ""
        counts = ", ".join(f"{len(found):,} by {half}" for half, found in unmatched.items())
        n = sum(map(len, unmatched.values()))
        half, found = next(iter(unmatched.items()))
        ours, theirs = found[0]
        return (
            f"{self.files.name}: no record is of {count_captions(n)} ({counts}), for example "
            f"{half} {ours!r:.80} in the dataset, {theirs!r:.80} in the file",
            "write image_id and caption as the run with metrics=[] exports them",
        )

    def _known(self, caption: str, index: int) -> tuple[float, ...] | None:
        image = self._ids[index]
        if image is None:
            return None
        return self.files.of(image, caption, self.dataset.references[index])
