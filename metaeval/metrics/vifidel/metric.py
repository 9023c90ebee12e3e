"""VIFIDEL: does a caption mention the objects of the image? (Madhyastha, Wang, Specia, ACL 2019)

The image is the bag of its objects' labels, the caption the bag of its content words; the score is
exp(-d), d being the least cost of turning the one into the other, word by word, at the price of the
distance between word vectors (word mover's distance). No reference is needed; where there are any,
they say which words matter (`importance.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Interval

from metaeval.compute import device as devices
from metaeval.compute.requirements import missing_packages
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Metric, Scorer, Scores, reference_digests
from metaeval.metrics.vifidel.detector import Detector
from metaeval.metrics.vifidel.distance import BagDistance
from metaeval.metrics.vifidel.importance import ImportanceWeights
from metaeval.metrics.vifidel.objects import Labels, ObjectSources
from metaeval.metrics.vifidel.plan import explain_transport
from metaeval.metrics.vifidel.words import Bag, Lexicon, stop_words_identity
from metaeval.options import Device, OptionsOf, checked
from metaeval.runs.records import NETWORK_PRECISION, ScoreColumn, TrainingFacts, with_notes
from metaeval.runs.store import Store, content_digest
from metaeval.text.word_vectors.base import WordVectors
from metaeval.vision.regions.noise import BoxNoise


class Vifidel(Metric):
    """VIFIDEL of each caption, without references and with, both in [0, 1]; 1 is best.

    A caption without any content word scores 0, the limit of exp(-d) for a
    distance without end. Not a number, because nothing can be compared: an image without objects
    (or with none whose label has a vector); a caption none of whose content words has a vector;
    in VIFIDEL-ref, an image none of whose references has such a word. Words without a vector are
    left out of their bags, and counted.

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
        `detector.py`), files of labels (see `objects.py`); united.
    detector
        The detector's options: weights, threshold, device.
    device
        "auto", "cpu", "cuda", "cuda:1": where transport is computed.
    noise
        What is made worse of the objects of "gold": the options of `BoxNoise`.
    """

    name = "vifidel"
    languages = frozenset({"en"})
    needs = frozenset({"objects"})  # of "gold"; other sources say themselves what they lack

    @checked
    def __init__(
        self,
        vectors: WordVectors,
        p: Annotated[int, Interval(ge=1, le=2)] = 2,
        objects: Literal["counts", "presence"] = "counts",
        sources: Sequence[str] = ("gold",),
        detector: Annotated[
            Mapping[str, Any], OptionsOf("metaeval.metrics.vifidel.detector.Detector")
        ]
        | None = None,
        device: Device = "auto",
        noise: Annotated[Mapping[str, Any], OptionsOf("metaeval.vision.regions.noise.BoxNoise")]
        | None = None,
    ) -> None:
        self.vectors, self.p, self.objects = vectors, p, objects
        self.device = device
        self.sources = ObjectSources(sources, Detector(**(detector or {})), BoxNoise.of(noise))

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        sees = self.sources.title
        return tuple(
            ScoreColumn(
                with_notes(name, sees),
                variant_of=name,
                precision=NETWORK_PRECISION,
                sees=sees,
                signature_name=name,  # `src` is in the signature
            )
            for name in ("VIFIDEL", "VIFIDEL-ref")
        )

    def fetch(self, dataset: CaptionDataset) -> None:
        self.vectors.fetch()

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> VifidelScorer | Absent:
        absent = (
            self.sources.missing(dataset)
            or missing_packages("vifidel", "sklearn")  # whose stop words it leaves out
            or self.vectors.missing()
            or devices.missing(self.device)
        )
        return absent or VifidelScorer(self, dataset, store)


class VifidelScorer(Scorer):
    """VIFIDEL of captions of the images of a dataset."""

    usual_ms = 0.4
    explanation_version = 2  # its plans are named by columns, which say what is seen since
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

    def __init__(self, metric: Vifidel, dataset: CaptionDataset, store: Store | None) -> None:
        settings = {
            "vec": metric.vectors.identity(store),
            "p": metric.p,
            "obj": metric.objects,
            "src": metric.sources.identity(store),
            "stop": stop_words_identity(),
            "v": 1,  # raised when this comes to give another number for the same caption
        }
        super().__init__(metric.columns, settings)
        self.metric, self.dataset, self._store = metric, dataset, store
        if models := metric.vectors.caption_models:
            self.training = TrainingFacts(models)

    @cached_property
    def labels(self) -> list[Labels]:
        """Per image its objects' labels and how often each."""
        return self.metric.sources.labels(self.dataset, self._store)

    def context(self, index: int) -> bytes:
        labels = [f"{n} {label}" for label, n in sorted(self.labels[index].items())]
        return reference_digests(self.dataset)[index] + content_digest(labels)

    def prepare(self) -> None:
        references = self.dataset.references
        self.lexicon = lexicon = Lexicon(self.metric.vectors, self._store)
        lexicon.learn(label for labels in self.labels for label in labels)
        lexicon.learn(text for group in references for text in group)
        self._object_words = [lexicon.count_labels(labels) for labels in self.labels]
        if self.metric.objects == "presence":
            self._object_words = [dict.fromkeys(words, 1) for words in self._object_words]
        self.object_bags = [lexicon.bag(words) for words in self._object_words]
        bags = [[lexicon.bag(lexicon.count(text)) for text in group] for group in references]
        device = devices.transport_device(self.metric.device)
        self._weights = ImportanceWeights(lexicon, bags, device)
        self.distance = BagDistance(lexicon, self._weights, self.metric.p, device)

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        self.lexicon.learn(captions)
        words = [self.lexicon.count(caption) for caption in captions]
        bags = [self.lexicon.bag(counts) for counts in words]
        objects = [self.object_bags[i] for i in image_index]
        silent = np.array([not counts for counts in words], dtype=np.bool_)
        scores = np.full((len(captions), 2), np.nan)
        whole = np.flatnonzero([bool(o and b) for o, b in zip(objects, bags, strict=True)])
        pairs: list[tuple[Bag, Bag]] = [(objects[k], bags[k]) for k in whole]
        images = np.asarray(image_index)[whole]
        scores[whole, 0] = np.exp(-self.distance.of_pairs(pairs))
        scores[whole, 1] = np.exp(-self.distance.of_pairs(pairs, images))
        has_objects = np.array([bool(o) for o in objects], dtype=np.bool_)
        scores[silent & has_objects, 0] = 0.0
        referenced = np.array([self._weights.usable(i) for i in image_index.tolist()], dtype=bool)
        scores[silent & has_objects & referenced, 1] = 0.0
        return scores

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        counts = np.zeros((len(captions), len(self.counted)), dtype=np.int64)
        for row, (caption, image) in enumerate(zip(captions, image_index.tolist(), strict=True)):
            words, objects = self.lexicon.count(caption), self._object_words[image]
            unknown = self.lexicon.unknown(words)
            counts[row] = (
                sum(words[word] for word in unknown),
                not words,
                bool(words) and len(unknown) == len(words),
                not objects,
                bool(objects) and not self.object_bags[image],
            )
        return counts

    def explain(self, caption: str, image_index: int) -> Mapping[str, Any] | None:
        lexicon = self.lexicon
        lexicon.learn([caption])
        words = lexicon.count(caption)
        bags = self.object_bags[image_index], lexicon.bag(words)
        names = [column.name for column in self.columns]
        return {
            "kind": "transport",
            "p": self.metric.p,
            "unknown_objects": lexicon.unknown(self._object_words[image_index]),
            "unknown_words": lexicon.unknown(words),
            "plans": explain_transport(lexicon, self.distance, bags, image_index, names),
        }
