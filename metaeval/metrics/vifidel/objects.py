"""Where VIFIDEL's objects come from: the dataset's annotations, files of labels, a detector.

A labels file is JSON, image id → list of labels, one per object: {"139": ["person", "tv"], …}. An
image that it does not name has no objects there. Several sources are united as multisets: a label
counts as often as in the source that has it most often.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.data.json_records import kind, read_json
from metaeval.errors import ConfigError, InputError
from metaeval.metrics.vifidel.detector import Detector
from metaeval.runs.store import Store

GOLD, DETECTOR = "gold", "detector"
Labels = Counter[str]


class ObjectSources:
    """The objects of a dataset's images, from one source or several.

    Parameters
    ----------
    sources
        Each "gold" (the dataset's part "objects"), "detector" or the path of a labels file.
    detector
        Who looks at the images for "detector".
    """

    def __init__(self, sources: Sequence[str], detector: Detector | None = None) -> None:
        if isinstance(sources, str) or not sources:
            raise ConfigError("metric.vifidel.sources must be a list: [gold], [gold,FILE], …")
        self.sources = [str(source) for source in sources]
        self.digests: list[str] = []
        self._detector = detector or Detector()

    def missing(self, dataset: CaptionDataset) -> Absent | None:
        """The first source that is not there."""
        for source in self.sources:
            if source == GOLD:
                if isinstance(part := dataset.part("objects"), Absent):
                    return part
            elif source == DETECTOR:
                if (absent := self._detector.missing(dataset)) is not None:
                    return absent
            elif not Path(source).expanduser().is_file():
                remedy = "metric.vifidel.sources=[gold] uses the dataset's own objects"
                return Absent("objects", f"there is no file of labels at {source}", remedy)
        return None

    def labels(self, dataset: CaptionDataset, store: Store | None = None) -> list[Labels]:
        """Per image of the dataset, its labels and how often each; sets `digests` too.

        Raises InputError for a labels file that is not as it should be.
        """
        united: list[Labels] = [Counter() for _ in dataset.image_ids]
        self.digests = []
        for source in self.sources:
            if source == GOLD:
                objects: Any = dataset.part("objects")
                labels = ((objects[i].labels if i in objects else ()) for i in dataset.image_ids)
                found = [Labels(each) for each in labels]
                self.digests.append(GOLD)
            elif source == DETECTOR:
                found, who = self._detector.labels(dataset, store)
                self.digests.append(who)
            else:
                listed, digest = read_labels(Path(source).expanduser())
                found = [Counter(listed.get(str(i), ())) for i in dataset.image_ids]
                self.digests.append(digest[:12])
            united = [one | other for one, other in zip(united, found, strict=True)]
        return united


def read_labels(path: Path) -> tuple[dict[str, list[str]], str]:
    """A labels file and its SHA-256; InputError, naming the record, for anything else."""
    value, digest = read_json(path)
    if not isinstance(value, dict):
        raise InputError(f"should hold image id → labels, not {kind(value)}", file=path)
    for image_id, labels in value.items():
        if not isinstance(labels, list) or not all(isinstance(x, str) for x in labels):
            problem = f"should be a list of labels: {json.dumps(labels)[:60]}"
            raise InputError(problem, file=path, record=f"image id {image_id}")
    return value, digest
