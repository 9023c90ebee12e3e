"""VIFIDEL: does a caption speak of what is in the image? (Madhyastha, Wang, Specia, ACL 2019)

The image is the bag of its objects' labels, the caption the bag of its content words; the score is
exp(-d), d being the least cost of turning the one into the other, word by word, at the price of the
distance between word vectors (word mover's distance). No reference is needed; where there are any,
they say which words matter (`vifidel_weights.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.metrics.base import Metric, Scores
from metaeval.metrics.vifidel import words as vifidel_words
from metaeval.metrics.vifidel.detector import Detector
from metaeval.metrics.vifidel.objects import Labels, ObjectSources
from metaeval.metrics.vifidel.plan import explanation
from metaeval.metrics.vifidel.transport import Transport
from metaeval.metrics.vifidel.weights import Weights
from metaeval.metrics.vifidel.words import Bag, Lexicon
from metaeval.runs.store import content_digest
from metaeval.text.word_vectors.base import WordVectors

OBJECTS = ("counts", "presence")


class Vifidel(Metric):
    """VIFIDEL of each caption, without references and with, both in [0, 1]; 1 is best.

    A caption without any content word says nothing and scores 0, the limit of exp(-d) for a
    distance without end. Not a number, because nothing can be compared: an image without objects
    (or with none whose label has a vector); a caption none of whose content words has a vector;
    in VIFIDEL-ref, an image none of whose references has such a word. Words without a vector are
    left out of their bags, and counted (`counted`).

    Parameters
    ----------
    vectors
        Where the words' vectors come from; scaled to length 1.
    p
        The price of moving a word: the distance (1, the authors' code) or its square (2, the
        paper).
    objects
        "counts": a label counts as often as there are such objects. "presence": once each.
    sources
        Where the objects come from: "gold" (the dataset's annotations), "detector" (see
        `vifidel_detector.py`), files of labels (see `vifidel_objects.py`); united.
    detector
        The detector's options: weights, threshold, device.
    device
        `None` or "cpu": transport by NumPy. "cuda": on a GPU by torch; the same scores to the bit.
    """

    name = "vifidel"
    columns = ("VIFIDEL", "VIFIDEL-ref")
    needs = frozenset({"objects"})  # of "gold"; other sources say themselves what they lack
    batch_size = 50_000
    counted = MappingProxyType(
        {
            "content words of captions without a vector": "words",
            "captions without content words": "captions",
            "captions none of whose content words has a vector": "captions",
            "images without objects": "images",
            "images none of whose objects has a vector": "images",
        }
    )

    def __init__(
        self,
        vectors: WordVectors,
        p: int = 2,
        objects: str = "counts",
        sources: Sequence[str] = ("gold",),
        detector: Mapping[str, Any] | None = None,
        device: str | None = None,
    ) -> None:
        if p not in (1, 2):
            raise ConfigError(f"metric.vifidel.p must be 1 or 2, not {p}")
        if objects not in OBJECTS:
            known = ", ".join(OBJECTS)
            raise ConfigError(f"unknown metric.vifidel.objects '{objects}': choose from {known}")
        self.p, self.objects = p, objects
        self._vectors = vectors
        self._sources = ObjectSources(sources, Detector(**(detector or {})))
        self._device = None if device == "cpu" else device
        self._labels: list[Labels] = []
        self._lexicon: Lexicon | None = None

    def missing(self, dataset: CaptionDataset) -> Absent | None:
        return (
            self._sources.missing(dataset)
            or vifidel_words.missing()
            or self._vectors.missing()
            or self._device_missing()
        )

    def identify(self, dataset: CaptionDataset) -> None:
        self._labels = self._sources.labels(dataset, self.store)

    def settings(self) -> Mapping[str, Any]:
        return {
            "vec": self._vectors.identity(),
            "p": self.p,
            "obj": self.objects,
            "src": "+".join(self._sources.digests),
            "stop": vifidel_words.stop_words_identity(),
            "v": 1,  # raised when this comes to give another number for the same caption
        }

    def context(self, dataset: CaptionDataset, index: int) -> bytes:
        labels = [f"{n} {label}" for label, n in sorted(self._labels[index].items())]
        return content_digest(dataset.references[index]) + content_digest(labels)

    def prepare(self, dataset: CaptionDataset) -> None:
        lexicon = self._lexicon = Lexicon(self._vectors, self.store)
        lexicon.learn(label for labels in self._labels for label in labels)
        lexicon.learn(text for group in dataset.references for text in group)
        self._object_words = [lexicon.of_labels(labels) for labels in self._labels]
        if self.objects == "presence":
            self._object_words = [dict.fromkeys(words, 1) for words in self._object_words]
        self._object_bags = [lexicon.bag(words) for words in self._object_words]
        references = [
            [lexicon.bag(lexicon.count(text)) for text in group] for group in dataset.references
        ]
        self._weights = Weights(lexicon, references)
        self._transport = Transport(lexicon, self._weights, self.p, self._device)

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        lexicon = self._ready()
        lexicon.learn(captions)
        words = [lexicon.count(caption) for caption in captions]
        bags = [lexicon.bag(counts) for counts in words]
        objects = [self._object_bags[i] for i in image_index]
        silent = np.array([not counts for counts in words], dtype=np.bool_)
        scores = np.full((len(captions), 2), np.nan)
        whole = np.flatnonzero([bool(o and b) for o, b in zip(objects, bags, strict=True)])
        pairs: list[tuple[Bag, Bag]] = [(objects[k], bags[k]) for k in whole]
        images = np.asarray(image_index)[whole]
        scores[whole, 0] = np.exp(-self._transport.distances(pairs))
        scores[whole, 1] = np.exp(-self._transport.distances(pairs, images))
        has_objects = np.array([bool(o) for o in objects], dtype=np.bool_)
        scores[silent & has_objects, 0] = 0.0
        referenced = np.array([self._weights.usable(i) for i in image_index.tolist()], dtype=bool)
        scores[silent & has_objects & referenced, 1] = 0.0
        return scores

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        lexicon = self._ready()
        found = np.zeros((len(captions), len(self.counted)), dtype=np.int64)
        for row, (caption, image) in enumerate(zip(captions, image_index.tolist(), strict=True)):
            words, objects = lexicon.count(caption), self._object_words[image]
            unknown = lexicon.unknown(words)
            found[row] = (
                sum(words[word] for word in unknown),
                not words,
                bool(words) and len(unknown) == len(words),
                not objects,
                bool(objects) and not self._object_bags[image],
            )
        return found

    def explain(self, caption: str, image_index: int) -> Mapping[str, Any] | None:
        lexicon = self._ready()
        lexicon.learn([caption])
        counts = lexicon.count(caption)
        bags = self._object_bags[image_index], lexicon.bag(counts)
        unknown = [self._object_words[image_index], counts]
        return {
            "kind": "transport",
            "p": self.p,
            "unknown_objects": lexicon.unknown(unknown[0]),
            "unknown_words": lexicon.unknown(unknown[1]),
            "plans": explanation(lexicon, self._transport, bags, image_index, self.columns),
        }

    def _ready(self) -> Lexicon:
        if self._lexicon is None:
            raise RuntimeError("prepare() comes before score() and explain()")
        return self._lexicon

    def _device_missing(self) -> Absent | None:
        if self._device is None:
            return None
        from metaeval.compute import device
        from metaeval.compute import requirements as needs

        if (absent := needs.missing_packages("device", "torch")) is not None:
            return absent
        device.resolve(self._device)
        return None
