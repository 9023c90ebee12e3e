"""CLIPScore (Hessel et al., 2021): how well a caption fits its image, without any reference.

2.5 · max(cos, 0) between CLIP's vectors of the image and of "A photo depicts " + caption. Images
are found by id, never by position; their vectors, and those of the captions, are kept in the cache
by content, so that RefCLIPScore and later runs find them there.

Only with OpenAI's ViT-B/32, the model of the paper, is the column called "CLIPScore"; any other
model's name is part of it: "CLIPScore (scenes)".

RefCLIPScore, and PAC-S and RefPAC-S: the metrics that are made of CLIPScore.

RefCLIPScore (Hessel et al., 2021) says also how well a caption fits the references: the harmonic
mean of CLIPScore (its factor of 2.5 included) and the highest cosine, if positive, between CLIP's
vectors of the caption and of a reference.

PAC-S and RefPAC-S (Sarto et al., 2023) are CLIPScore's formula over a CLIP of their own: OpenAI's
ViT-B/32 (or open_clip's ViT-L/14), its projections fine-tuned on captions and images that were
generated in addition to the real ones; the factor is 2 instead of 2.5, the prefix the same
(`evaluation/pac_score/pac_score.py` of aimagelab/pacscore).
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from metaeval.compute.device import find, missing_packages, precision_of, truthy
from metaeval.compute.stored import compute_missing
from metaeval.data import annotated_images
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import CUT, Metric, Scorer, Scores, best_of_groups
from metaeval.metrics.clipscore import weights
from metaeval.metrics.clipscore.network import TEXT_CHUNK, Clip, Vectors, tokenizer_of, too_long
from metaeval.metrics.clipscore.weights import SCENES, SCENES_CLIP, ClipWeights
from metaeval.options import DataType, Device, Positive, checked
from metaeval.readers.files import user_path
from metaeval.readers.images import READING
from metaeval.runs.files import file_sha256
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import MemoryStore, Store, content_digest
from metaeval.text.transformers import hub
from metaeval.weights import pretrained
from metaeval.weights.pretrained import training_facts

log = logging.getLogger(__name__)

_NO_IMAGE = b"no image"
SMALL_MS = 0.6  # of a caption, by the small network of the scenes
_CHUNK = 2048  # vectors computed between two writes: what a killed run may lose


class ClipScorer(Scorer):
    """CLIPScore with the images of a dataset; vectors are kept in the store."""

    metric: ClipScore
    usual_ms = 3.0
    counted = MappingProxyType(
        {
            CUT: "captions",
            "images not there or not readable": "images",
        }
    )

    def __init__(
        self, metric: ClipScore, dataset: CaptionDataset, store: Store | None, weights: ClipWeights
    ) -> None:
        label = weights.tag
        if weights.path is not None:
            label += f"-{file_sha256(weights.path, store)[:12]}"
        network = {
            "model": weights.model,
            "weights": label,
            "dtype": metric.dtype,
            "open_clip": version("open_clip_torch"),
            "pillow": version("pillow"),
        }
        settings = {
            **network,
            "images": READING,
            "prefix": repr(metric.prefix),
            "w": metric.weight,
            "v": 1,
        }
        super().__init__([metric.column_of(weights)], settings)
        if weights.tag == SCENES:
            self.training = training_facts(pretrained.read_card(SCENES_CLIP))
            self.usual_ms = SMALL_MS  # type: ignore[misc]
        self.metric, self.dataset = metric, dataset
        self._store, self._weights = store or MemoryStore(), weights
        identity = "|".join(f"{key}:{value}" for key, value in network.items())
        self._of_texts = f"clip texts|{identity}|v:1"
        self._of_images = f"clip images|{identity}|{READING}|v:1"

    @cached_property
    def network(self) -> Clip:
        """The network, loaded when the first vector is missing in the cache."""
        return Clip(self._weights, self.metric.device, self.metric.dtype)

    @cached_property
    def _tokenizer(self) -> Any:
        """Not the network's own: with all vectors cached, no network is loaded."""
        return tokenizer_of(self._weights)

    @cached_property
    def _paths(self) -> list[Path | None]:
        return annotated_images.paths_of(self.dataset)

    @cached_property
    def _digests(self) -> list[bytes | None]:
        """16 bytes of each image's content, `None` where it is not there."""
        digests = annotated_images.digests(self._paths, self._store)
        if n_missing := sum(digest is None for digest in digests):
            log.warning(
                "%s: %s of %s image files are missing; their captions have no score (NaN)",
                *(self.metric.name, f"{n_missing:,}", f"{len(digests):,}"),
            )
        return digests

    def context(self, index: int) -> bytes:
        return self._digests[index] or _NO_IMAGE

    def prepare(self) -> None:
        keys = [digest for digest in self._digests if digest is not None]
        files = {
            j: path
            for j, (path, digest) in enumerate(zip(self._paths, self._digests, strict=True))
            if path is not None and digest is not None
        }
        paths = list(files.values())

        def encode(positions: list[int]) -> Vectors:
            return self._encode_images([paths[j] for j in positions])

        vectors = self._cached(self._of_images, keys, encode, "encoding images", _CHUNK)
        self._images = np.full((len(self.dataset), vectors.shape[1]), np.nan, np.float32)
        self._images[list(files)] = vectors

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        scores = np.full((len(captions), 1), np.nan)
        # nothing is encoded for captions whose image is not there
        rows = np.flatnonzero(np.isfinite(self._images[image_index, 0]))
        if len(rows):
            texts = [captions[j] for j in rows.tolist()]
            scores[rows, 0] = self.score_with_image(texts, image_index[rows])
        return scores

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        scored = np.isfinite(self._images[image_index, 0])
        cut = [
            bool(has_score) and too_long(self._tokenizer, self.metric.prefix + caption)
            for caption, has_score in zip(captions, scored, strict=True)
        ]
        return np.stack([np.array(cut, dtype=np.int64), (~scored).astype(np.int64)], axis=1)

    def close(self) -> None:
        self.__dict__.pop("network", None)

    def score_with_image(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> Scores:
        """CLIPScore [n] of captions whose image is there."""
        cosine = dot_rows(self.encode_texts(captions), self._images[image_index])
        return self.metric.weight * np.maximum(cosine, 0.0)

    def encode_texts(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors [n, d] of captions, the prefix put before each."""
        prefixed = [self.metric.prefix + text for text in texts]

        def encode(positions: list[int]) -> Vectors:
            return self.network.texts([prefixed[j] for j in positions])

        keys = [hashlib.sha256(text.encode()).digest()[:16] for text in prefixed]
        chunk = TEXT_CHUNK[find(self.metric.device).type]
        return self._cached(self._of_texts, keys, encode, "encoding captions", chunk)

    def _cached(
        self,
        namespace: str,
        keys: Sequence[bytes],
        encode: Callable[[list[int]], Vectors],
        what: str,
        chunk: int,
    ) -> Vectors:
        """Vectors [n, d] for n keys, from the store; see `compute_missing`.

        A vector of NaN, for something that could not be computed, is kept too.
        """

        def compute(positions: list[int]) -> list[bytes]:
            return [vector.tobytes() for vector in encode(positions)]

        known = compute_missing(self._store, namespace, keys, compute, chunk=chunk, desc=what)
        if not keys:
            return np.empty((0, 0), np.float32)
        return np.stack([np.frombuffer(known[key], dtype=np.float32) for key in keys])

    def _encode_images(self, paths: Sequence[Path]) -> Vectors:
        """Unit vectors [n, d] of image files, NaN for one that cannot be read."""
        vectors: Vectors | None = None
        batches = annotated_images.decoded(paths, self.network.preprocess, self.network.n_images)
        for positions, pixels in batches:
            if pixels is None:
                continue
            batch = self.network.images(pixels)
            if vectors is None:
                vectors = np.full((len(paths), batch.shape[1]), np.nan, np.float32)
            vectors[positions] = batch
        if vectors is None:  # nothing is readable: the width is then learned from a text
            width = self.network.texts([self.metric.prefix]).shape[1]
            vectors = np.full((len(paths), width), np.nan, np.float32)
        return vectors


class ClipScore(Metric):
    """CLIPScore of each caption with its image, in [0, weight].

    Not a number where the image is not there or cannot be read. A caption longer than the model's
    77 tokens is cut before its end token. How many of each is counted (`counted`).

    Parameters
    ----------
    model, pretrained
        See `weights.locate_weights`. With "random" weights the column is declared untrained.
    prefix
        Put before every caption, and before every reference of RefCLIPScore.
    weight
        The factor of the cosine.
    device, dtype
        "auto", "cpu", "cuda", "cuda:1"; "float32", "bfloat16", "float16".
    download, offline
        Whether the weights of a tag that are not on this machine (OpenAI's for "auto") may be
        fetched from the Hugging Face hub; `offline` (and HF_HUB_OFFLINE=1) forbids it.
    cache
        The cache folder, where `doctor --install clip` puts OpenAI's weights.
    """

    name = "clipscore"
    title: ClassVar[str] = "CLIPScore"
    needs = frozenset({"images"})
    runs_network = True
    scorer_class: ClassVar[type[ClipScorer]] = ClipScorer

    @checked
    def __init__(
        self,
        model: str = "ViT-B-32",
        pretrained: str = "auto",
        prefix: str = "A photo depicts ",
        weight: Positive = 2.5,
        device: Device = "auto",
        dtype: DataType = "float32",
        download: bool = False,
        offline: bool | str | int = False,
        cache: str | Path | None = None,
    ) -> None:
        self.model, self.pretrained = model, pretrained
        if model == "ViT-B-32":  # whose weights have learned from English captions
            self.languages = frozenset({"en"})
        self.prefix, self.weight = prefix, float(weight)
        self.device, self.dtype = device, dtype
        self.download, self.offline = download, truthy(offline)
        self.cache = user_path(cache) if cache is not None else None

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        return (self.column_of(weights.asked_for(self.model, self.pretrained)),)

    @property
    def highest(self) -> float:
        """The score of a caption whose vectors could not be more alike."""
        return self.weight

    def fetch(self, dataset: CaptionDataset) -> None:
        if hub.may_download(self.download, self.offline) and self._missing_packages() is None:
            weights.fetch_weights(self.model, self.pretrained, dataset, self.cache)

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> ClipScorer | Absent:
        if (absent := self.missing_part(dataset) or self._missing_packages()) is not None:
            return absent
        located = weights.locate_weights(self.model, self.pretrained, dataset, self.cache)
        if isinstance(located, Absent):
            wanted = self.download and weights.tag_of(self.pretrained) is not None
            return hub.explain_absence(located, wanted, self.offline)
        images: Any = dataset.part("images")
        if not images.count(dataset.image_ids):
            reason = f"none of the {dataset.n_images:,} images is there ({images})"
            remedy = "set dataset.images=FOLDER, or python -m metaeval doctor --install coco-images"
            return Absent("images", reason, remedy)
        return self.scorer_class(self, dataset, store, located)

    def column_of(self, located: ClipWeights) -> ScoreColumn:
        """ "CLIPScore" with the weights of the paper, and "CLIPScore (NAME)" with any other."""
        label = located.label
        return ScoreColumn(
            f"{self.title} ({label})" if label else self.title,
            bounds=(0.0, self.highest),
            variant_of=self.title if label else None,
            model=label or None,
            untrained=located.tag == weights.RANDOM,
            precision=precision_of(self.dtype),
        )

    @staticmethod
    def _missing_packages() -> Absent | None:
        return missing_packages("clip", "torch", "open_clip", "safetensors")


def dot_rows(a: Vectors, b: Vectors) -> Scores:
    """Inner products [n] of the rows of two matrices, in float64, each row on its own."""
    # added up from left to right, so that no product depends on how many rows there are
    return np.cumsum(a.astype(np.float64) * b, axis=1)[:, -1]


class RefClipScorer(ClipScorer):
    """RefCLIPScore with the images and references of a dataset."""

    def context(self, index: int) -> bytes:
        return super().context(index) + content_digest(self.dataset.references[index])

    def score_with_image(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> Scores:
        by_image = super().score_with_image(captions, image_index)
        groups = [self.dataset.references[i] for i in image_index.tolist()]
        counts = np.array([len(group) for group in groups], dtype=np.intp)
        distinct = {text: k for k, text in enumerate(dict.fromkeys(r for g in groups for r in g))}
        by_text = np.full(len(captions), np.nan)
        if distinct:
            references = self.encode_texts(list(distinct))
            candidates = np.repeat(self.encode_texts(captions), counts, axis=0)
            of_captions = references[[distinct[r] for group in groups for r in group]]
            by_text = best_of_groups(dot_rows(candidates, of_captions), counts)
        return harmonic_mean(by_image, np.maximum(by_text, 0.0))


class RefClipScore(ClipScore):
    """RefCLIPScore of each caption, in [0, 2·weight/(weight + 1)].

    0 where either part is 0 (the limit of the harmonic mean). NaN without an image or
    without references. The parameters are those of `ClipScore`.
    """

    name = "refclipscore"
    title: ClassVar[str] = "RefCLIPScore"
    needs = frozenset({"images", "references"})
    scorer_class = RefClipScorer

    @property
    def highest(self) -> float:
        return 2 * self.weight / (self.weight + 1)


def harmonic_mean(a: Scores, b: Scores) -> Scores:
    """2ab/(a + b) of non-negative numbers, 0 where both are 0; NaN where one is NaN."""
    total = a + b
    return np.where(total == 0, 0.0, 2 * a * b / np.where(total == 0, 1.0, total))


_REASON = "PAC-S needs the weights of its authors, which come with no package"
_REMEDY = "metric.pacscore.checkpoint=clip_ViT-B-32.pth (address in aimagelab/pacscore's README)"


class PacScore(ClipScore):
    """PAC-S of each caption with its image, in [0, weight].

    Not a number where CLIPScore is not. The column is PAC-S for any file that is given: what it
    holds, the signature's checksum says.

    Parameters beyond those of `ClipScore`
    --------------------------------------
    checkpoint
        The file of the authors' weights, instead of `pretrained`; `None`: the metric is skipped.
    model
        open_clip's name of the architecture. OpenAI's networks were trained with "quickgelu", and a
        file does not say so: the name has to.
    """

    name = "pacscore"
    title: ClassVar[str] = "PAC-S"

    def __init__(
        self,
        checkpoint: str | None = None,
        model: str = "ViT-B-32-quickgelu",
        weight: float = 2.0,
        **options: Any,
    ) -> None:
        super().__init__(model=model, pretrained=checkpoint or "none", weight=weight, **options)
        self.checkpoint = checkpoint

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> ClipScorer | Absent:
        if self.checkpoint is None:
            return Absent("clip", _REASON, _REMEDY)
        return super().bind(dataset, store)

    def column_of(self, located: ClipWeights) -> ScoreColumn:
        return ScoreColumn(
            self.title, bounds=(0.0, self.highest), precision=precision_of(self.dtype)
        )


class RefPacScore(PacScore, RefClipScore):
    """RefPAC-S: the harmonic mean of PAC-S and the best cosine with a reference."""

    name = "refpacscore"
    title: ClassVar[str] = "RefPAC-S"
