"""Gold labels: does a caption name the objects that people annotated in the image?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Metric, Scorer, Scores
from metaeval.metrics.hallucination.ontology import COCO, Ontology
from metaeval.options import OptionsOf
from metaeval.readers.files import user_path
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store, content_digest
from metaeval.vision.regions.noise import BoxNoise


class GoldLabels(Metric):
    """F1 and recall of the categories that a caption names, against those of the image's objects.

    A control for metrics that read gold objects: it reads the labels alone, no place and no
    reference. Categories count once, and are recognised as in CHAIR. In [0, 1]; 0 for a caption
    that names none; not a number where the image has no object of the ontology.

    Parameters
    ----------
    ontology
        The file of categories and words (see `ontology.py`); `None`: COCO's 80.
    noise
        What is made worse of the objects: the options of `BoxNoise`.
    """

    name = "gold_labels"
    needs = frozenset({"objects"})

    def __init__(
        self,
        ontology: str | Path | None = None,
        noise: Annotated[Mapping[str, Any], OptionsOf("metaeval.vision.regions.noise.BoxNoise")]
        | None = None,
    ) -> None:
        self.ontology = COCO if ontology is None else user_path(ontology)
        self.noise = BoxNoise.of(noise)

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        sees = ", ".join(filter(None, ("gold objects", self.noise.title)))
        behind = f" ({self.noise.title})" if self.noise.title else ""
        return tuple(
            ScoreColumn(f"{name}{behind}", control=True, sees=sees)
            for name in ("Gold label F1", "Gold label recall")
        )

    def bind(
        self, dataset: CaptionDataset, store: Store | None = None
    ) -> GoldLabelsScorer | Absent:
        if (absent := self.missing_part(dataset)) is not None:
            return absent
        if not self.ontology.is_file():
            return Absent("ontology", f"there is no ontology at {self.ontology}", "give its file")
        return GoldLabelsScorer(self, dataset)


class GoldLabelsScorer(Scorer):
    """The categories of a dataset's objects, and those that captions name."""

    batch_size = 50_000

    def __init__(self, metric: GoldLabels, dataset: CaptionDataset) -> None:
        self._words = Ontology(metric.ontology)
        settings = {"ontology": self._words.identity, "src": f"gold{metric.noise.identity}", "v": 1}
        super().__init__(metric.columns, settings)
        objects: Any = dataset.part("objects")
        known = set(self._words.categories)
        self._gold: list[frozenset[str]] = []
        for image_id in dataset.image_ids:
            given = objects.get(image_id)
            labels = () if given is None else metric.noise.apply(given, image_id).labels
            named = {c for label in set(labels) for _, c in self._words.mentions(label)}
            self._gold.append(frozenset(named | (set(labels) & known)))

    def context(self, index: int) -> bytes:
        return content_digest(sorted(self._gold[index]))

    def prepare(self) -> None:
        """Nothing: the labels were read when it was made."""

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        scores = np.full((len(captions), 2), np.nan)
        for row, (caption, image) in enumerate(zip(captions, image_index.tolist(), strict=True)):
            if gold := self._gold[image]:
                named = {category for _, category in self._words.mentions(caption)}
                right = len(named & gold)
                scores[row] = 2 * right / (len(named) + len(gold)), right / len(gold)
        return scores
