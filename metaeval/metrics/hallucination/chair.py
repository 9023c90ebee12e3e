"""CHAIR (Rohrbach et al., 2018): which objects of a caption the image does not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.metrics.base import Scores, reference_digests
from metaeval.metrics.hallucination.ontology import COCO, Ontology
from metaeval.metrics.summable import Statistics, SummableMetric, SummableScorer
from metaeval.readers.files import user_path
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store, content_digest

TRUTH = OBJECTS, REFERENCES = "objects", "references"


class Chair(SummableMetric):
    """CHAIR-i and CHAIR-s, in [0, 1]; *lower is better*.

    CHAIR-i is the share of a caption's mentions of objects that are of no object of the image, 0
    where it mentions none; CHAIR-s is 1 where there is any such mention, else 0. An image has the
    objects that are annotated and those that its references mention. Over a corpus, CHAIR-i is
    the share of all mentions, and CHAIR-s that of the captions with any.

    A run has one truth for all images, and the column names it where it is not the paper's:
    "CHAIR-s" has annotated objects and references of every image, "CHAIR-s (references)" has
    references only. Where some images have no annotated objects, references are the truth of all.

    A caption without objects is never wrong: use CHAIR together with a metric of completeness.
    Not a number where nothing is known of the image.

    Parameters
    ----------
    ontology
        The file of categories and words (see `ontology.py`); `None`: COCO's 80, made from WordNet.
        Labels of objects that are neither a category nor a word of it do not count.
    truth
        What an image has: "objects", "references", or both where every image has annotated objects
        (and references otherwise).
    """

    name = "chair"
    languages = frozenset({"en"})
    columns: tuple[ScoreColumn, ...] = (
        ScoreColumn("CHAIR-s", higher_is_better=False, headline=False),
        ScoreColumn("CHAIR-i", higher_is_better=False),
    )
    statistics_names = ("captions with a wrong object", "captions", "wrong mentions", "mentions")

    def __init__(
        self, ontology: str | Path | None = None, truth: Sequence[str] = (OBJECTS, REFERENCES)
    ) -> None:
        self.ontology = COCO if ontology is None else user_path(ontology)
        self.truth = tuple(map(str, truth))
        if not self.truth or not set(self.truth) <= set(TRUTH):
            raise ConfigError(f"metric.chair.truth must be a list of {', '.join(TRUTH)}")
        self.needs = frozenset(self.truth)  # type: ignore[misc]
        self.columns = named_columns(self.truth)

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> ChairScorer | Absent:
        truth = self.truth_of(dataset)
        if isinstance(truth, Absent):
            return truth
        if not self.ontology.is_file():
            return Absent(
                "ontology", f"ontology {self.ontology} not found", "correct metric.chair.ontology"
            )
        ontology = Ontology(self.ontology)
        settings = {"ontology": ontology.identity, "truth": "+".join(sorted(truth)), "v": 1}
        return ChairScorer(self, settings, dataset, ontology, truth)

    def truth_of(self, dataset: CaptionDataset) -> tuple[str, ...] | Absent:
        """The truth of every image of a dataset: one for all of them."""
        if set(self.truth) != set(TRUTH):
            return self.missing_part(dataset) or self.truth
        objects = dataset.part(OBJECTS)
        complete = not isinstance(objects, Absent) and all(i in objects for i in dataset.image_ids)
        if any(dataset.references):
            return TRUTH if complete else (REFERENCES,)
        return (OBJECTS,) if complete else Absent(REFERENCES, "none of the images has a reference")

    def of_statistics(self, statistics: Statistics, *, corpus: bool = False) -> Scores:
        shares = statistics[:, [0, 2]] / np.maximum(statistics[:, [1, 3]], 1)
        shares[np.isnan(statistics).any(axis=1)] = np.nan
        return shares


def named_columns(truth: Sequence[str]) -> tuple[ScoreColumn, ...]:
    """The columns of CHAIR, with the truth in brackets where it is not the paper's."""
    if set(truth) == set(TRUTH):
        return Chair.columns
    return tuple(
        replace(column, name=f"{column.name} ({truth[0]})", variant_of=column.name)
        for column in Chair.columns
    )


class ChairScorer(SummableScorer):
    """CHAIR against the objects and references of a dataset."""

    metric: Chair
    batch_size = 50_000

    def __init__(
        self,
        metric: Chair,
        settings: Mapping[str, object],
        dataset: CaptionDataset,
        words: Ontology,
        truth: Sequence[str],
    ) -> None:
        super().__init__(metric, settings, dataset, named_columns(truth))
        self.ontology, self.truth = words, tuple(truth)

    def context(self, index: int) -> bytes:
        parts = []
        if REFERENCES in self.truth:
            parts.append(reference_digests(self.dataset)[index].hex())
        if OBJECTS in self.truth:
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

    def explain(self, caption: str, image_index: int) -> Mapping[str, object] | None:
        """Which objects the caption mentions, and which of them the image has."""
        truth = self.objects_of(image_index)
        if truth is None:
            return None
        mentions = self.ontology.mentions(caption)
        scores = self.score([caption], np.array([image_index]))[0].tolist()
        return {
            "kind": "objects",
            "candidate": [
                {"words": phrase, "object": category, "matched": category in truth}
                for phrase, category in mentions
            ],
            "image": sorted(truth),
            "values": {c.name: score for c, score in zip(self.columns, scores, strict=True)},
        }

    def objects_of(self, image: int) -> frozenset[str] | None:
        """The categories that an image has; `None` where nothing is known of it."""
        references = self.dataset.references[image] if REFERENCES in self.truth else ()
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
        if OBJECTS not in self.truth:
            return set()
        annotated: Any = self.dataset.part("objects")
        objects = annotated.get(self.dataset.image_ids[image])
        return set() if objects is None else set(objects.labels)
