"""A metric sentence by sentence: for captions that are longer than what it was made for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Literal

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.metrics.base import Metric, Scorer, Scores, round_scores
from metaeval.options import checked
from metaeval.runs.records import ScoreColumn, with_notes
from metaeval.runs.store import Store
from metaeval.text.sentences import split_sentences

Take = Literal["mean", "worst"]
_NOTES: dict[Take, str] = {"mean": "by sentence", "worst": "worst sentence"}


class BySentence(Metric):
    """The mean, or the worst, of a metric's scores of a caption's sentences.

    Each sentence is scored for itself with the image and the whole references. A sentence without a
    score is left out; a caption has none only if all of its sentences have none. A caption of one
    sentence has the metric's own score.

    Parameters
    ----------
    of
        The metric, by its name in the configuration, with its options there: `[bertscore]`.
    take
        "mean" over the sentences, or the "worst" of them.
    name
        The metric's name.
    parts
        The metric itself, given by the reader of the configuration.
    """

    @checked
    def __init__(
        self,
        of: Sequence[str],
        take: Take = "mean",
        name: str = "by_sentence",
        parts: Sequence[Metric] = (),
    ) -> None:
        self.name = name  # type: ignore[misc]  # of this object: there may be several in a run
        if len(of) != 1 or len(parts) != 1:
            raise ConfigError(f"metric.{name}.of must name one metric: [bertscore]")
        self.take: Take = take
        (self.part,) = parts
        self.needs = self.part.needs  # type: ignore[misc]
        self.languages = self.part.languages
        self.runs_network = self.part.runs_network

    @property
    def pairwise(self) -> bool:
        return self.part.pairwise

    @property
    def reads(self) -> frozenset[str]:
        return self.part.reads

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        return self.columns_of(self.part.columns)

    def columns_of(self, columns: Sequence[ScoreColumn]) -> tuple[ScoreColumn, ...]:
        """The columns by sentence, from those of the metric."""
        note = _NOTES[self.take]

        def named(column: ScoreColumn) -> str:
            published = column.variant_of or column.name
            return with_notes(published, column.sees, column.model, note)

        names = {column.name: named(column) for column in columns}
        return tuple(
            replace(
                column,
                name=names[column.name],
                part_of=names.get(column.part_of or ""),
                variant_of=column.variant_of or column.name,
                model=", ".join(part for part in (column.model, note) if part),
                signature_name=with_notes(column.signature_name or column.name, note),
            )
            for column in columns
        )

    def fetch(self, dataset: CaptionDataset) -> None:
        self.part.fetch(dataset)

    def bind(
        self, dataset: CaptionDataset, store: Store | None = None
    ) -> BySentenceScorer | Absent:
        scorer = self.part.scorer(dataset, store)
        return scorer if isinstance(scorer, Absent) else BySentenceScorer(self, scorer)


class BySentenceScorer(Scorer):
    """A metric's scorer, called with the sentences of captions."""

    def __init__(self, metric: BySentence, scorer: Scorer) -> None:
        settings = {"of": scorer.signatures[0].replace("|", ";"), "take": metric.take, "v": 1}
        super().__init__(metric.columns_of(scorer.columns), settings)
        self.metric, self._scorer = metric, scorer
        self.batch_size, self.foreign = scorer.batch_size, scorer.foreign
        self.usual_ms = scorer.usual_ms  # type: ignore[misc]
        self.cacheable, self.training = scorer.cacheable, scorer.training
        self.counted = MappingProxyType(dict(scorer.counted))

    def context(self, index: int) -> bytes:
        return self._scorer.context(index)

    def prepare(self) -> None:
        self._scorer.prepare()

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        sentences, image, caption = _sentences(captions, image_index)
        inner = self._scorer.columns
        scores = round_scores(inner, self._scorer.score(sentences, image))
        found = np.full((len(captions), len(inner)), np.nan)
        for k, column in enumerate(inner):
            known = ~np.isnan(scores[:, k])
            values, of = scores[known, k], caption[known]
            counts = np.bincount(of, minlength=len(captions))
            if self.metric.take == "mean":
                sums = np.bincount(of, values, minlength=len(captions))
                found[counts > 0, k] = sums[counts > 0] / counts[counts > 0]
            else:
                worst = np.minimum if column.higher_is_better else np.maximum
                extreme = np.full(len(captions), np.inf if column.higher_is_better else -np.inf)
                worst.at(extreme, of, values)
                found[counts > 0, k] = extreme[counts > 0]
        return found

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        sentences, image, caption = _sentences(captions, image_index)
        of_sentences = self._scorer.tally(sentences, image)
        counts = np.zeros((len(captions), len(self.counted)), dtype=np.int64)
        np.add.at(counts, caption, of_sentences)
        once = [unit == "captions" for unit in self.counted.values()]
        counts[:, once] = counts[:, once] > 0
        return counts

    def close(self) -> None:
        self._scorer.close()


def _sentences(
    captions: Sequence[str], image_index: npt.NDArray[np.intp]
) -> tuple[list[str], npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """All sentences, the image of each, and the caption that it is of."""
    split = [split_sentences(caption) for caption in captions]
    sizes = [len(sentences) for sentences in split]
    caption = np.repeat(np.arange(len(captions)), sizes)
    return [s for sentences in split for s in sentences], np.asarray(image_index)[caption], caption
