"""CHAIR (Rohrbach et al., 2018): which objects of a caption the image does not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.metrics.base import Scores, reference_digests
from metaeval.metrics.hallucination.ontology import COCO, Ontology
from metaeval.metrics.summable import Statistics, SummableMetric, SummableScorer
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store, content_digest

TRUTH = OBJECTS, REFERENCES = "objects", "references"


class Chair(SummableMetric):
    """CHAIR-i and CHAIR-s, in [0, 1]; *lower is better*.

    CHAIR-i is the share of a caption's mentions of objects that are of no object of the image, 0
    where it mentions none; CHAIR-s is 1 where there is any such mention, else 0. An image has the
    objects that are annotated and those that its references mention. Over a corpus, CHAIR-i is
    the share of all mentions, and CHAIR-s that of the captions with any.

    A caption that says nothing is never wrong: look at a metric of what is left out beside it. Not
    a number where the image has neither annotated objects nor references.

    Parameters
    ----------
    ontology
        The file of categories and words (see `ontology.py`); `None`: COCO's 80, made from WordNet.
        Labels of objects that are no category or word of it do not count.
    truth
        What an image has: "objects", "references" or both.
    """

    name = "chair"
    columns = (
        ScoreColumn("CHAIR-s", higher_is_better=False, headline=False),
        ScoreColumn("CHAIR-i", higher_is_better=False),
    )
    statistics_names = ("captions with a wrong object", "captions", "wrong mentions", "mentions")

    def __init__(
        self, ontology: str | Path | None = None, truth: Sequence[str] = (OBJECTS, REFERENCES)
    ) -> None:
        self.ontology = COCO if ontology is None else Path(ontology).expanduser()
        self.truth = tuple(map(str, truth))
        if not self.truth or not set(self.truth) <= set(TRUTH):
            raise ConfigError(f"metric.chair.truth must be a list of {', '.join(TRUTH)}")
        self.needs = frozenset(self.truth)  # type: ignore[misc]

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> ChairScorer | Absent:
        if (absent := self.lacks(dataset)) is not None:
            return absent
        if not self.ontology.is_file():
            return Absent("ontology", f"there is no ontology at {self.ontology}", "give its file")
        ontology = Ontology(self.ontology)
        settings = {"ontology": ontology.identity, "truth": "+".join(sorted(self.truth)), "v": 1}
        return ChairScorer(self, settings, dataset, ontology)

    def of_statistics(self, statistics: Statistics, *, corpus: bool = False) -> Scores:
        shares = statistics[:, [0, 2]] / np.maximum(statistics[:, [1, 3]], 1)
        shares[np.isnan(statistics).any(axis=1)] = np.nan
        return shares


class ChairScorer(SummableScorer):
    """CHAIR against the objects and references of a dataset."""

    metric: Chair
    batch_size = 50_000

    def __init__(
        self, metric: Chair, settings: Mapping[str, Any], dataset: CaptionDataset, words: Ontology
    ) -> None:
        super().__init__(metric, settings, dataset)
        self.ontology = words

    def context(self, index: int) -> bytes:
        parts = []
        if REFERENCES in self.metric.truth:
            parts.append(reference_digests(self.dataset)[index].hex())
        if OBJECTS in self.metric.truth:
            parts += sorted(self._labels(index))
        return content_digest(parts)

    def prepare(self) -> None:
        self._truth: dict[int, frozenset[str]] = {}

    def statistics(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Statistics:
        rows = np.full((len(captions), 4), np.nan)
        for row, (caption, image) in enumerate(zip(captions, image_index.tolist(), strict=True)):
            truth = self.objects_of(image)
            if truth is None:
                continue
            mentions = self.ontology.mentions(caption)
            wrong = sum(category not in truth for _, category in mentions)
            rows[row] = wrong > 0, 1, wrong, len(mentions)
        return rows

    def objects_of(self, image: int) -> frozenset[str] | None:
        """The categories that an image has; `None` where nothing is known of it."""
        references = self.dataset.references[image] if REFERENCES in self.metric.truth else ()
        labels = self._labels(image)
        if not references and not labels:
            return None
        if image not in self._truth:
            texts = [*labels, *references]
            mentioned = {category for text in texts for _, category in self.ontology.mentions(text)}
            self._truth[image] = frozenset(mentioned | (labels & set(self.ontology.categories)))
        return self._truth[image]

    def _labels(self, image: int) -> set[str]:
        """The distinct labels of an image's annotated objects."""
        if OBJECTS not in self.metric.truth:
            return set()
        annotated: Any = self.dataset.part("objects")
        objects = annotated.get(self.dataset.image_ids[image])
        return set() if objects is None else set(objects.labels)
