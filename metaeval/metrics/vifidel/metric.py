"""VIFIDEL: does a caption mention the objects of the image? (Madhyastha, Wang, Specia, ACL 2019)

The image is the bag of its objects' labels, the caption the bag of its content words; the score is
exp(-d), d being the least cost of turning the one into the other, word by word, at the price of the
distance between word vectors (word mover's distance). No reference is needed; where there are any,
they say which words matter (`ImportanceWeights`).

WMD: the word mover's distance to the references, the baseline of VIFIDEL's tables.

Words, bags, vectors and transport are VIFIDEL's; the bag on the other side is a reference's content
words instead of the image's objects (Kusner et al., 2015).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from annotated_types import Interval

from metaeval.compute import transport
from metaeval.compute.device import missing_packages
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.data.records import json_type
from metaeval.errors import ConfigError, InputError
from metaeval.metrics.base import Metric, ReferenceScorer, Scorer, Scores, reference_digests
from metaeval.metrics.vifidel.distance import (
    BagDistance,
    Bags,
    ImportanceWeights,
    Lexicon,
    stop_words_identity,
)
from metaeval.options import Device, OptionsOf, Share, checked
from metaeval.readers.files import read_json, user_path
from metaeval.readers.images import READING
from metaeval.runs.files import file_sha256
from metaeval.runs.records import (
    DETECTED_OBJECTS,
    GOLD_OBJECTS,
    NETWORK_PRECISION,
    ScoreColumn,
    TrainingFacts,
    with_notes,
)
from metaeval.runs.store import Store, content_digest
from metaeval.text.word_vectors.base import WordVectors
from metaeval.vision.regions.detector import (
    NOTHING,
    FasterRcnn,
    look_at_images,
    warn_of_images,
)
from metaeval.vision.regions.gold import BoxNoise


@dataclass(frozen=True, slots=True)
class Detector:
    """Labels that torchvision's Faster R-CNN (ResNet-50 FPN, trained on COCO) finds in the images.

    A source of objects where an image has no annotations: the labels of all boxes that it gives a
    score of at least `threshold`. Each image is looked at by itself and once: labels are kept in
    the score cache, under the weights' checksum and the threshold, by the file's content.

    Parameters
    ----------
    weights
        The file of the weights; `None`: where torchvision puts them when it downloads them;
        "random": none, for trying things out.
    threshold
        The least score of a box that counts, in [0, 1].
    """

    weights: str | None = None
    threshold: Share = 0.5
    device: Device = "auto"

    def network(self) -> FasterRcnn:
        """The network, not loaded yet."""
        return FasterRcnn(self.weights, self.threshold, self.device)

    def missing(self, dataset: CaptionDataset) -> Absent | None:
        """What keeps the detector from looking at these images."""
        if isinstance(images := dataset.part("images"), Absent):
            return images
        return self.network().missing("objects", "metric.vifidel.detector.weights")

    def identity(self, store: Store | None = None) -> str:
        """The weights' checksum and the threshold: what labels depend on besides the image."""
        network = self.network()
        sha256 = "random" if network.random else file_sha256(network.weights, store)[:12]
        return f"fasterrcnn-{sha256}-{self.threshold:g}-{READING}"

    def labels(self, dataset: CaptionDataset, store: Store | None) -> list[Counter[str]]:
        """Per image its labels and how often each; empty without an image file."""
        network = self.network()

        def look(path: Path) -> bytes:
            return json.dumps(network.labels(path)).encode()

        namespace = f"labels of {self.identity(store)}|v:1"
        found = look_at_images(dataset, store, namespace, look, "detecting objects")
        warn_of_images(dataset, [raw is None for raw in found], "have no image file: no objects")
        warn_of_images(dataset, [raw == b"[]" for raw in found], NOTHING.format(self.threshold))
        return [Counter(json.loads(raw or "[]")) for raw in found]


GOLD, DETECTOR = "gold", "detector"
Labels = Counter[str]


def explain_transport(
    distance: BagDistance, bags: tuple[Bags, Bags], image: int, columns: Sequence[str]
) -> dict[str, object]:
    """Column → its transport plan between two bags; a column that has no score, or 0 for want of
    words, has none.

    A plan holds `objects` and `words` (each with its share of the mass), `flows` (object, word,
    share moved, price per unit, and the cost: share times price), dearest first, `distance`, the
    sum of the costs, and `score`.
    """
    plans: dict[str, object] = {}
    if not all(len(bag.words) for bag in bags):
        return plans
    for column, images in zip(columns, (None, np.array([image])), strict=True):
        for problem in distance.problems(*bags, images):
            flow = transport.flows(problem.prices, problem.supply, problem.demand)
            total = float(transport.costs(problem.prices, flow)[0])
            share = flow[..., 0] / problem.supply.sum()
            objects, words = (
                [distance.lexicon.words[number] for number in side[:, 0]]
                for side in (problem.objects, problem.words)
            )
            moves = [
                {
                    "object": objects[i],
                    "word": words[j],
                    "mass": float(share[i, j]),
                    "price": float(problem.prices[i, j, 0]),
                    "cost": float(share[i, j] * problem.prices[i, j, 0]),
                }
                for i, j in np.argwhere(share > 0)
            ]
            plans[column] = {
                "objects": _shares(objects, share.sum(axis=1)),
                "words": _shares(words, share.sum(axis=0)),
                "flows": sorted(moves, key=lambda m: (-m["cost"], m["object"], m["word"])),
                "distance": total,
                "score": float(np.exp(-total)),
            }
    return plans


def _shares(names: Sequence[str], masses: Any) -> list[dict[str, object]]:
    return [
        {"word": name, "mass": float(mass)}
        for name, mass in zip(names, masses, strict=True)
        if mass > 0
    ]


class ObjectSources:
    """The objects of a dataset's images, from one source or several.

    Each is "gold" (the dataset's part "objects"), "detector" or the path of a labels file: JSON,
    image id → list of labels, one per object: {"139": ["person", "tv"], …}. An image that it does
    not name has no objects there. Several sources are united as multisets: a label counts as often
    as in the source that has it most often.
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
        raise InputError(f"should hold image id → labels, not {json_type(value)}", file=path)
    for image_id, labels in value.items():
        if not isinstance(labels, list) or not all(isinstance(x, str) for x in labels):
            problem = f"should be a list of labels: {json.dumps(labels)[:60]}"
            raise InputError(problem, file=path, record=f"image id {image_id}")
    return value, digest


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
    frequency
        Whether a label counts as often as there are such objects, as in the paper (Sections 3.2
        and 4.1). `False` (the ablation of its Table 3): each label of the united sources counts
        once.
    sources
        Where the objects come from: "gold" (the dataset's annotations), "detector" (see
        `detector.py`), files of labels (see `ObjectSources`); united.
    detector
        The detector's options: weights, threshold, device.
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
        frequency: bool = True,
        sources: Sequence[str] = ("gold",),
        detector: Annotated[
            Mapping[str, Any], OptionsOf("metaeval.metrics.vifidel.metric.Detector")
        ]
        | None = None,
        noise: Annotated[Mapping[str, Any], OptionsOf("metaeval.vision.regions.gold.BoxNoise")]
        | None = None,
    ) -> None:
        self.vectors, self.p, self.frequency = vectors, p, frequency
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
        )
        return absent or VifidelScorer(self, dataset, store)


class VifidelScorer(Scorer):
    """VIFIDEL of captions of the images of a dataset."""

    usual_ms = 0.2
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
            "freq": "yes" if metric.frequency else "no",
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
        """Per image its objects' labels and how often each counts."""
        labels = self.metric.sources.labels(self.dataset, self._store)
        return labels if self.metric.frequency else [Labels(counts.keys()) for counts in labels]

    def context(self, index: int) -> bytes:
        labels = [f"{n} {label}" for label, n in sorted(self.labels[index].items())]
        return reference_digests(self.dataset)[index] + content_digest(labels)

    def prepare(self) -> None:
        self.lexicon = lexicon = Lexicon(self.metric.vectors, self._store)
        self._objects = [" ".join(labels.elements()) for labels in self.labels]
        self._object_bags = lexicon.bags(self._objects)
        references, first = reference_bags(lexicon, self.dataset)
        self._n_references = np.diff(first)
        weights = ImportanceWeights(lexicon, references, first)
        self.distance = BagDistance(lexicon, weights, self.metric.p)

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        bags, rows = self.lexicon.bags(captions)
        object_bags, objects = self._object_bags[0], self._object_bags[1][image_index]
        has_objects = object_bags.sizes[objects] > 0
        scores = np.full((len(captions), 2), np.nan)
        whole = np.flatnonzero(has_objects & (bags.sizes[rows] > 0))
        pairs = (object_bags, objects[whole]), (bags, rows[whole])
        scores[whole, 0] = np.exp(-self.distance.of_pairs(*pairs))
        scores[whole, 1] = np.exp(-self.distance.of_pairs(*pairs, image_index[whole]))
        silent = has_objects & (bags.tokens[rows] == 0)
        scores[silent, 0] = 0.0
        scores[silent & (self._n_references[image_index] > 0), 1] = 0.0
        return scores

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        bags, rows = self.lexicon.bags(captions)
        object_bags, objects = self._object_bags[0], self._object_bags[1][image_index]
        tokens, unknown = bags.tokens[rows], bags.unknown[rows]
        n_objects = object_bags.tokens[objects]
        return np.stack(
            [
                unknown,
                tokens == 0,
                (tokens > 0) & (unknown == tokens),
                n_objects == 0,
                (n_objects > 0) & (object_bags.unknown[objects] == n_objects),
            ],
            axis=1,
        ).astype(np.int64)

    def explain(self, caption: str, image_index: int) -> Mapping[str, Any] | None:
        object_bags, objects = self._object_bags
        bags = object_bags.take(objects[[image_index]]), self.lexicon.bags([caption])[0]
        names = [column.name for column in self.columns]
        return {
            "kind": "transport",
            "p": self.metric.p,
            "unknown_objects": self.lexicon.unknown(self._objects[image_index]),
            "unknown_words": self.lexicon.unknown(caption),
            "plans": explain_transport(self.distance, bags, image_index, names),
        }


def reference_bags(lexicon: Lexicon, dataset: CaptionDataset) -> tuple[Bags, npt.NDArray[np.intp]]:
    """The bags of the references that have a word with a vector, one image's after another's, and
    where each image's begin: [images + 1]."""
    groups = dataset.references
    bags, rows = lexicon.bags([text for group in groups for text in group])
    usable = bags.sizes[rows] > 0
    images = np.repeat(np.arange(len(groups)), [len(group) for group in groups])[usable]
    return bags.take(rows[usable]), np.searchsorted(images, np.arange(len(groups) + 1))


class Wmd(Metric):
    """exp(-d) of the word mover's distance d between caption and reference, in [0, 1].

    WMD-best is that of the nearest reference, WMD-worst that of the farthest, WMD-mean the mean
    over the references. Vectors have length 1, so d is at most 2 (p = 1) or 4 (p = 2).

    A caption without any content word scores 0. Not a number: a caption none of
    whose content words has a vector; an image none of whose references has such a word. References
    without one are left out.

    Parameters
    ----------
    vectors
        Where the words' vectors come from; scaled to length 1.
    p
        The price of moving a word: the distance (1, Kusner et al.) or its square (2).
    """

    name = "wmd"
    languages = frozenset({"en"})
    columns = (
        ScoreColumn("WMD-worst", headline=False, precision=NETWORK_PRECISION),
        ScoreColumn("WMD-mean", headline=False, precision=NETWORK_PRECISION),
        ScoreColumn("WMD-best", precision=NETWORK_PRECISION),
    )

    @checked
    def __init__(self, vectors: WordVectors, p: Annotated[int, Interval(ge=1, le=2)] = 1) -> None:
        self.vectors, self.p = vectors, p

    def fetch(self, dataset: CaptionDataset) -> None:
        self.vectors.fetch()

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> WmdScorer | Absent:
        absent = (
            self.missing_part(dataset)
            or missing_packages("vifidel", "sklearn")  # whose stop words it leaves out
            or self.vectors.missing()
        )
        return absent or WmdScorer(self, dataset, store)


class WmdScorer(ReferenceScorer):
    """WMD against the references of a dataset."""

    metric: Wmd
    usual_ms = 0.8
    batch_size = 10_000
    counted = MappingProxyType(
        {
            "content words of captions without a vector": "words",
            "captions without content words": "captions",
        }
    )

    def __init__(self, metric: Wmd, dataset: CaptionDataset, store: Store | None) -> None:
        settings = {
            "vec": metric.vectors.identity(store),
            "p": metric.p,
            "stop": stop_words_identity(),
            "v": 1,  # raised when this comes to give another number for the same caption
        }
        super().__init__(metric, settings, dataset)
        self._store = store
        if models := metric.vectors.caption_models:
            self.training = TrainingFacts(models)

    def prepare(self) -> None:
        self._lexicon = Lexicon(self.metric.vectors, self._store)
        self._references, self._first = reference_bags(self._lexicon, self.dataset)
        # no word weighs more than another: WMD has no importance weights
        self._distance = BagDistance(self._lexicon, None, self.metric.p)

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        bags, rows = self._lexicon.bags(captions)
        first, counts = self._first[image_index], np.diff(self._first)[image_index]
        scores = np.full((len(captions), 3), np.nan)
        scores[(bags.tokens[rows] == 0) & (counts > 0)] = 0.0
        whole = np.flatnonzero((bags.sizes[rows] > 0) & (counts > 0))
        counts = counts[whole]
        starts = np.cumsum(counts) - counts
        references = np.repeat(first[whole] - starts, counts) + np.arange(counts.sum())
        pairs = (self._references, references), (bags, np.repeat(rows[whole], counts))
        similar = np.exp(-self._distance.of_pairs(*pairs))
        scores[whole, 0] = np.minimum.reduceat(similar, starts)
        scores[whole, 1] = np.add.reduceat(similar, starts) / counts
        scores[whole, 2] = np.maximum.reduceat(similar, starts)
        return scores

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        bags, rows = self._lexicon.bags(captions)
        return np.stack([bags.unknown[rows], bags.tokens[rows] == 0], axis=1).astype(np.int64)
