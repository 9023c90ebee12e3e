"""Where VIFIDEL's objects come from: the dataset's annotations, files of labels, a detector.

A labels file is JSON, image id → list of labels, one per object: {"139": ["person", "tv"], …}. An
image that it does not name has no objects there. Several sources are united as multisets: a label
counts as often as in the source that has it most often.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.data.json_records import kind
from metaeval.errors import ConfigError, InputError
from metaeval.metrics.vifidel.detector import Detector
from metaeval.readers.files import user_path
from metaeval.readers.json_text import read_json
from metaeval.runs.records import DETECTED_OBJECTS, GOLD_OBJECTS
from metaeval.runs.store import Store
from metaeval.vision.regions.noise import BoxNoise

GOLD, DETECTOR = "gold", "detector"
Labels = Counter[str]


class ObjectSources:
    """The objects of a dataset's images, from one source or several.

    Each is "gold" (the dataset's part "objects"), "detector" or the path of a labels file.
    """

    def __init__(
        self,
        sources: Sequence[str],
        detector: Detector | None = None,
        noise: BoxNoise | None = None,
    ) -> None:
        if not sources:
            raise ConfigError("metric.vifidel.sources must be a list: [gold], [gold,FILE], …")
        self.sources = tuple(str(source) for source in sources)
        self.detector, self.noise = detector or Detector(), noise or BoxNoise()

    @property
    def title(self) -> str:
        """What is seen of an image, as columns say in brackets: "gold objects"."""
        gold = ", ".join(filter(None, (GOLD_OBJECTS, self.noise.title)))
        names = {GOLD: gold, DETECTOR: DETECTED_OBJECTS}
        titles = [names.get(source, "labels of a file") for source in self.sources]
        return " and ".join(dict.fromkeys(titles))

    def missing(self, dataset: CaptionDataset) -> Absent | None:
        """The first source that is not there."""
        for source in self.sources:
            if source == GOLD:
                if isinstance(part := dataset.part("objects"), Absent):
                    return part
            elif source == DETECTOR:
                if (absent := self.detector.missing(dataset)) is not None:
                    return absent
            elif not user_path(source).is_file():
                remedy = "metric.vifidel.sources=[gold] uses the dataset's own objects"
                return Absent("objects", f"file of labels {source} not found", remedy)
        return None

    def identity(self, store: Store | None = None) -> str:
        """Which sources these are, for signatures: "gold+0a1b2c3d4e5f".

        Raises InputError for a labels file that is not as it should be.
        """
        names = []
        for source in self.sources:
            if source == GOLD:
                names.append(GOLD + self.noise.identity)
            elif source == DETECTOR:
                names.append(self.detector.identity(store))
            else:
                names.append(read_labels(source)[1][:12])
        return "+".join(names)

    def labels(self, dataset: CaptionDataset, store: Store | None = None) -> list[Labels]:
        """Per image of the dataset, its labels and how often each; raises as `identity` does."""
        united: list[Labels] = [Counter() for _ in dataset.image_ids]
        for source in self.sources:
            if source == GOLD:
                objects: Any = dataset.part("objects")
                labels = [
                    Labels(self.noise.apply(objects[i], i).labels if i in objects else ())
                    for i in dataset.image_ids
                ]
            elif source == DETECTOR:
                labels = self.detector.labels(dataset, store)
            else:
                by_image, _ = read_labels(source)
                labels = [Labels(by_image.get(str(i), ())) for i in dataset.image_ids]
            united = [one | other for one, other in zip(united, labels, strict=True)]
        return united


def read_labels(source: str) -> tuple[dict[str, list[str]], str]:
    """A labels file and its SHA-256; InputError, naming the record, for anything else."""
    path = user_path(source)
    value, digest = read_json(path)
    if not isinstance(value, dict):
        raise InputError(f"should hold image id → labels, not {kind(value)}", file=path)
    for image_id, labels in value.items():
        if not isinstance(labels, list) or not all(isinstance(x, str) for x in labels):
            problem = f"should be a list of labels: {json.dumps(labels)[:60]}"
            raise InputError(problem, file=path, record=f"image id {image_id}")
    return value, digest
