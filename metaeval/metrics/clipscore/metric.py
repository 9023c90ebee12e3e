"""CLIPScore (Hessel et al., 2021): how well a caption fits its image, without any reference.

2.5 · max(cos, 0) between CLIP's vectors of the image and of "A photo depicts " + caption. Images
are found by id, never by position; their vectors, and those of the captions, are kept in the cache
by content, so that RefCLIPScore and later runs find them there.

Only with OpenAI's ViT-B/32, the model of the paper, is the column called "CLIPScore"; any other
model's name is part of it: "CLIPScore (scenes)".
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from metaeval.compute.device import check_dtype, check_name
from metaeval.compute.embedding_cache import Embeddings, text_key
from metaeval.compute.requirements import missing_packages, offline, truthy
from metaeval.data import image_files
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.metrics.base import Metric, Scores
from metaeval.metrics.clipscore import weights
from metaeval.metrics.clipscore.network import Clip, Vectors, tokenizer_of, too_long
from metaeval.metrics.clipscore.weights import ClipWeights
from metaeval.weights import tensors

log = logging.getLogger(__name__)

_NO_IMAGE = b"no image"


class ClipScore(Metric):
    """CLIPScore of each caption with its image, in [0, weight].

    Not a number where the image is not there or cannot be read. A caption longer than the model's
    77 tokens is cut before its end token. How many of each is counted (`counted`).

    Parameters
    ----------
    model, pretrained
        See `clip_weights.locate`. With "random" weights the signature says `weights:random`, and
        no report presents the scores as a result.
    prefix
        Put before every caption, and before every reference of RefCLIPScore.
    weight
        The factor of the cosine.
    device, dtype
        "auto", "cpu", "cuda", "cuda:1"; "float32", "bfloat16", "float16".
    download, offline
        Whether weights that are not on this machine may be fetched from the Hugging Face hub;
        `offline` (and HF_HUB_OFFLINE=1) forbids it.
    cache
        The cache folder, where `doctor --install clip` puts OpenAI's weights.
    """

    name = "clipscore"
    title: ClassVar[str] = "CLIPScore"
    needs = frozenset({"images"})
    counted = MappingProxyType(
        {
            "captions cut to the model's length": "captions",
            "images not there or not readable": "images",
        }
    )

    def __init__(
        self,
        model: str = "ViT-B-32",
        pretrained: str = "auto",
        prefix: str = "A photo depicts ",
        weight: float = 2.5,
        device: str = "auto",
        dtype: str = "float32",
        download: bool = False,
        offline: bool | str | int = False,
        cache: str | Path | None = None,
    ) -> None:
        if not weight > 0:
            raise ConfigError(f"metric.{self.name}.weight must be positive: {weight!r}")
        self._model, self._pretrained = model, pretrained
        self._prefix, self._weight = prefix, float(weight)
        self._device, self._dtype = check_name(device), check_dtype(dtype)
        self._download, self._offline = download, truthy(offline)
        self._cache = Path(cache).expanduser() if cache is not None else None
        self.columns = (self.title,)
        self.bounds = (0.0, self._weight)
        self._clip: Clip | None = None
        self._tokenizer: Any = None

    def missing(self, dataset: CaptionDataset) -> Absent | None:
        absent = super().missing(dataset) or missing_packages(
            "clip", "torch", "open_clip", "safetensors"
        )
        if absent is not None:
            return absent
        found = weights.locate(self._model, self._pretrained, dataset, self._cache)
        if isinstance(found, ClipWeights):
            self.columns = (f"{self.title} ({found.label})" if found.label else self.title,)
            images = dataset.part("images")
            if not isinstance(images, Absent) and not images.count(dataset.image_ids):
                reason = f"none of the {len(dataset):,} images is there ({images})"
                remedy = (
                    "set dataset.images=FOLDER, or python -m metaeval.doctor --install coco-images"
                )
                return Absent("images", reason, remedy)
            return None
        if self._download and found.part == "clip" and "not on this machine" in found.reason:
            if not (self._offline or offline()):
                return None
            reason = f"{found.reason}, and nothing is downloaded while offline"
            return Absent("clip", reason, "set offline=false and unset HF_HUB_OFFLINE")
        return found

    def identify(self, dataset: CaptionDataset) -> None:
        found = weights.locate(self._model, self._pretrained, dataset, self._cache)
        if isinstance(found, Absent):
            weights.download(self._model, self._pretrained)
            found = weights.locate(self._model, self._pretrained, dataset, self._cache)
            if isinstance(found, Absent):
                raise ConfigError(str(found))
            self.columns = (f"{self.title} ({found.label})" if found.label else self.title,)
        self._found = found
        path = found.path
        self._sha = "random" if path is None else tensors.sha256(path, self.store)[:12]
        self._paths = image_files.paths_of(dataset)
        self._digests = image_files.digests(self._paths, self.store)
        gone = sum(digest is None for digest in self._digests)
        if gone:
            log.warning(
                "%s: %s of %s images are not there; their captions have no score (NaN)",
                *(self.name, f"{gone:,}", f"{len(dataset):,}"),
            )

    def settings(self) -> Mapping[str, Any]:
        return {**self._network(), "prefix": repr(self._prefix), "w": self._weight, "v": 1}

    def context(self, dataset: CaptionDataset, index: int) -> bytes:
        return self._digests[index] or _NO_IMAGE

    def prepare(self, dataset: CaptionDataset) -> None:
        identity = "|".join(f"{key}:{value}" for key, value in self._network().items())
        self._texts = Embeddings(self.store, f"clip texts|{identity}|v:1")
        positions = [j for j, digest in enumerate(self._digests) if digest is not None]
        keys = [digest for digest in self._digests if digest is not None]
        images = Embeddings(self.store, f"clip images|{identity}|v:1")

        def compute(mine: Sequence[int]) -> Vectors:
            paths = [self._paths[positions[j]] for j in mine]
            return self._encode_images([path for path in paths if path is not None])

        vectors = images.get(keys, compute, "encoding images")
        self._images = np.full((len(dataset), vectors.shape[1]), np.nan, np.float32)
        self._images[positions] = vectors

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        scores = np.full((len(captions), 1), np.nan)
        # nothing is encoded for captions whose image is not there
        there = np.flatnonzero(np.isfinite(self._images[image_index, 0]))
        if len(there):
            mine = [captions[j] for j in there.tolist()]
            scores[there, 0] = self._score_with_image(mine, image_index[there])
        return scores

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        if self._tokenizer is None:  # not the network's: with all vectors cached, none is loaded
            self._tokenizer = tokenizer_of(self._found)
        there = np.isfinite(self._images[image_index, 0])
        cut = [
            bool(scored) and too_long(self._tokenizer, self._prefix + caption)
            for caption, scored in zip(captions, there, strict=True)
        ]
        return np.stack([np.array(cut, dtype=np.int64), (~there).astype(np.int64)], axis=1)

    def close(self) -> None:
        self._clip = None

    def _score_with_image(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> Scores:
        """CLIPScore [n] of captions whose image is there."""
        cosine = dots(self._text_vectors(captions), self._images[image_index])
        scores: Scores = self._weight * np.maximum(cosine, 0.0)
        return scores

    def _text_vectors(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors [n, d] of captions, the prefix put before each."""
        full = [self._prefix + text for text in texts]

        def compute(mine: Sequence[int]) -> Vectors:
            return self._network_now().texts([full[j] for j in mine])[0]

        return self._texts.get([text_key(text) for text in full], compute, "encoding captions")

    def _encode_images(self, paths: Sequence[Path]) -> Vectors:
        clip = self._network_now()
        out: Vectors | None = None
        for positions, pixels in image_files.decoded(paths, clip.preprocess, clip.n_images):
            if pixels is None:
                continue
            vectors = clip.images(pixels)
            if out is None:
                out = np.full((len(paths), vectors.shape[1]), np.nan, np.float32)
            out[positions] = vectors
        # nothing readable: the width is then learned from a text
        return out if out is not None else np.full(
            (len(paths), clip.texts([self._prefix])[0].shape[1]), np.nan, np.float32
        )  # fmt: skip

    def _network_now(self) -> Clip:
        """The network, loaded when the first vector is missing in the cache."""
        if self._clip is None:
            self._clip = Clip(self._found, self._device, self._dtype)
        return self._clip

    def _network(self) -> Mapping[str, Any]:
        """Whatever would change a vector."""
        return {
            "model": self._found.model,
            "weights": self._sha if self._found.path is None else f"{self._found.tag}-{self._sha}",
            "dtype": self._dtype,
            "open_clip": version("open_clip_torch"),
            "pillow": version("pillow"),
        }


def dots(a: Vectors, b: Vectors) -> Scores:
    """Inner products [n] of the rows of two matrices, in float64, each row on its own."""
    # added up from left to right, so that no product depends on how many rows there are
    found: Scores = np.cumsum(a.astype(np.float64) * b, axis=1)[:, -1]
    return found
