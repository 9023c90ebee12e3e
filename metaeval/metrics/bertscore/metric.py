"""BERTScore (Zhang et al., 2020), with every distinct sentence encoded once.

The numbers are bert-score's (`BERTScorer`, version 0.3.13, to 1e-5); how they are computed is not:
references, Human and Random captions of a run share most sentences, so token vectors are computed
once per distinct sentence and kept (`metaeval.metrics.bertscore.token_bank`).

BERTScore with another model is another metric. Only with roberta-large, bert-score's default for
English and the one of the papers, is the column called "BERTScore"; with any other model the
model's name is part of it: "BERTScore (MiniLM)".
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.compute.device import check_dtype, check_name
from metaeval.compute.requirements import missing_packages, offline, truthy
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError, InputError
from metaeval.metrics.base import Metric, Scores, content_digest
from metaeval.metrics.bertscore.alignment import explanation
from metaeval.metrics.bertscore.baseline import baseline_f1
from metaeval.metrics.bertscore.match import Floats, Sentences, pair_scores
from metaeval.metrics.bertscore.token_bank import TokenBank
from metaeval.text.transformers import hub, locate
from metaeval.text.transformers.encoder import TextEncoder
from metaeval.text.transformers.locate import TextModel
from metaeval.weights import tensors

log = logging.getLogger(__name__)


class BertScore(Metric):
    """BERTScore's F1 of each caption, the highest over the references of its image.

    An empty caption is 0, and so is any caption against an empty reference (before rescaling), as
    in bert-score. Not a number only where the image has no reference.

    Parameters
    ----------
    model
        "auto", the id of a Hugging Face model, or a folder: see `text_models.locate`.
    layer
        The layer whose vectors are compared; `None`: bert-score's choice for the model.
    idf
        Weight tokens by their inverse document frequency in all references of the dataset.
    rescale
        Rescale with bert-score's baseline for the model, or with that of the given TSV file.
    device, dtype
        "auto", "cpu", "cuda", "cuda:1"; "float32", "bfloat16", "float16".
    memory_gib
        Token vectors kept in memory; those beyond are kept in temporary files.
    download, offline
        Whether a model that is not on this machine may be fetched from the Hugging Face hub;
        `offline` (and HF_HUB_OFFLINE=1) forbids it.
    cache
        The cache folder, where `doctor --install bertscore` puts roberta-large.
    """

    name = "bertscore"
    columns: tuple[str, ...] = ("BERTScore",)
    bounds = (-1.0, 1.0)

    def __init__(
        self,
        model: str = "auto",
        layer: int | None = None,
        idf: bool = False,
        rescale: bool | str = False,
        device: str = "auto",
        dtype: str = "float32",
        memory_gib: float = 2.0,
        download: bool = False,
        offline: bool | str | int = False,
        cache: str | Path | None = None,
    ) -> None:
        if layer is not None and (isinstance(layer, bool) or layer < 1):
            raise ConfigError(f"metric.bertscore.layer must be a whole number from 1: {layer!r}")
        if memory_gib <= 0:
            raise ConfigError(f"metric.bertscore.memory_gib must be positive: {memory_gib!r}")
        self._asked, self._layer, self._idf, self._rescale = model, layer, idf, rescale
        self._device, self._dtype = check_name(device), check_dtype(dtype)
        self._memory = memory_gib * 2**30
        self._download, self._offline = download, truthy(offline)
        self._cache = Path(cache).expanduser() if cache is not None else None
        self._found = locate.locate(model, self._cache)
        self.columns = (column_name(self._found, model),)
        if rescale:
            self.bounds = (-np.inf, 1.0)
        self._encoder: TextEncoder | None = None
        self._bank: TokenBank | None = None

    def missing(self, dataset: CaptionDataset) -> Absent | None:
        absent = super().missing(dataset) or missing_packages(
            "bertscore", "torch", "transformers", "bert_score"
        )
        if absent is not None:
            return absent
        if isinstance(self._found, Absent):
            if not self._download:
                return self._found
            if self._offline or offline():
                reason = f"{self._found.reason}, and nothing is downloaded while offline"
                return Absent("bertscore", reason, "set offline=false and unset HF_HUB_OFFLINE")
        return None

    def identify(self, dataset: CaptionDataset) -> None:
        if isinstance(self._found, Absent):
            hub.fetch(self._asked)
            self._found = locate.locate(self._asked, self._cache)
            if isinstance(self._found, Absent):
                raise InputError(self._found.reason)
        self._weights = tensors.sha256(self._found.weights, self.store)
        packaged = locate.is_packaged(self._found)
        if packaged and self._weights != locate.MINILM_SHA256:
            raise InputError(
                f"these are not the weights of {locate.MINILM}: SHA-256 {self._weights}",
                file=self._found.weights,
            )
        self._at = self._layer or locate.layer_of(self._found.name)
        self._baseline = (
            baseline_f1(self._rescale, self._found.name, self._at) if self._rescale else None
        )
        every = [text for texts in dataset.references for text in texts]
        self._idf_digest = content_digest(every).hex()[:12] if self._idf else "none"

    def settings(self) -> Mapping[str, Any]:
        assert isinstance(self._found, TextModel)
        baseline = "none" if self._baseline is None else f"{self._baseline:.6g}"
        return {
            "model": self._found.name,
            "weights": self._weights[:12],
            "layer": self._at,
            "idf": self._idf_digest,
            "baseline": baseline,
            "f": "max-over-refs",
            "dtype": self._dtype,
            "transformers": version("transformers"),
            "v": 2,
        }

    def prepare(self, dataset: CaptionDataset, encoder: TextEncoder | None = None) -> None:
        """Encode all references; a network that is loaded already may be given."""
        assert isinstance(self._found, TextModel)
        self._encoder = encoder or TextEncoder(self._found, self._at, self._device, self._dtype)
        self._bank = TokenBank(self._encoder.device, self._memory)
        self._index: dict[str, int] = {}
        self._length: list[int] = []
        self._number: list[int] = []
        self._token_weights: dict[int, list[Floats]] = {}
        self._references = dataset.references
        every = [text for texts in dataset.references for text in texts]
        self._weight_of = self._weights_by_token(every)
        self._encode(every)

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        assert self._encoder is not None
        assert self._bank is not None
        self._encode(captions)
        groups = [self._references[i] for i in image_index.tolist()]
        counts = np.array([len(group) for group in groups], dtype=np.intp)
        cand = np.repeat([self._index[caption] for caption in captions], counts).astype(np.intp)
        ref = np.array([self._index[r] for group in groups for r in group], dtype=np.intp)
        # the same two sentences are compared once
        distinct, inverse = np.unique(cand * len(self._index) + ref, return_inverse=True)
        f1 = self._pairs(*np.divmod(distinct, len(self._index)))[:, 2][inverse]
        scores = np.full((len(captions), 1), np.nan)
        has = counts > 0
        if has.any():
            starts = (np.cumsum(counts) - counts)[has]
            scores[has, 0] = np.maximum.reduceat(f1, starts)
        if self._baseline is not None:
            scores = (scores - self._baseline) / (1 - self._baseline)
        return scores

    def explain(self, caption: str, image_index: int) -> Mapping[str, Any] | None:
        """Which token of the caption met which token of each reference, and how alike they are."""
        if not (references := self._references[image_index]):
            return None
        assert self._encoder is not None
        assert self._bank is not None
        value = float(self.score([caption], np.array([image_index]))[0, 0])
        mine = self._index[caption]
        theirs = np.array([self._index[text] for text in references], dtype=np.intp)
        found = self._pairs(np.full(len(theirs), mine), theirs)
        ids, _ = self._encoder.tokenize([caption, *references])
        vectors = [
            self._bank.get(self._length[k], np.array([self._number[k]]))[0].cpu().numpy()
            for k in (mine, *theirs.tolist())
        ]
        decode = self._encoder.tokenizer.decode
        words = [[decode([token]).strip() for token in tokens] for tokens in ids]
        weights = [self._weight_of[np.array(tokens)] for tokens in ids]
        return {**explanation(words, weights, vectors, found), "values": {self.columns[0]: value}}

    def close(self) -> None:
        if self._bank is not None:
            self._bank.close()
        self._encoder = self._bank = None

    def _pairs(self, first: npt.NDArray[np.intp], second: npt.NDArray[np.intp]) -> Floats:
        """Precision, recall and F1 [n, 3] of pairs of sentences, by their places in the index."""
        assert self._encoder is not None
        assert self._bank is not None
        length = np.array(self._length, dtype=np.intp)
        sentences = Sentences(
            length, np.array(self._number, dtype=np.intp), length <= self._encoder.n_special
        )
        weights = {size: np.concatenate(rows) for size, rows in self._token_weights.items()}
        device = self._encoder.device.type
        return pair_scores(self._bank, weights, sentences, first, second, device)

    def _encode(self, texts: Sequence[str]) -> None:
        """Bring the vectors of those sentences into the bank that are not there yet."""
        assert self._encoder is not None
        assert self._bank is not None
        bank, new = self._bank, list(dict.fromkeys(t for t in texts if t not in self._index))
        ids, n_cut = self._encoder.tokenize(new)
        if n_cut:
            log.warning("bertscore: %d captions cut at %d tokens", n_cut, self._encoder.max_tokens)
        base = len(self._index)
        self._index.update({text: base + j for j, text in enumerate(new)})
        self._length += [len(tokens) for tokens in ids]
        self._number += [0] * len(new)

        def keep(positions: list[int], vectors: Any) -> None:
            for position, number in zip(positions, bank.add(vectors), strict=True):
                self._number[base + position] = number
            rows = self._weight_of[np.array([ids[p] for p in positions])]
            self._token_weights.setdefault(vectors.shape[1], []).append(rows)

        self._encoder.encode(ids, keep)

    def _weights_by_token(self, references: Sequence[str]) -> Floats:
        """The weight of each token: its idf, or 1 but for those at a sentence's edges."""
        assert self._encoder is not None
        tokenizer = self._encoder.tokenizer
        n = 1 + max(tokenizer.get_vocab().values())
        if self._idf:
            return document_frequencies(self._encoder.tokenize(references)[0], n)
        weights = np.ones(n)
        weights[[t for t in (tokenizer.cls_token_id, tokenizer.sep_token_id) if t is not None]] = 0
        return weights


def document_frequencies(documents: Sequence[Sequence[int]], n_tokens: int) -> Floats:
    """log((N + 1) / (df + 1)) of each token over N documents; a token in none has df 0."""
    df = Counter(token for document in documents for token in set(document))
    found = np.zeros(n_tokens)
    found[list(df)] = list(df.values())
    idf: Floats = np.log((len(documents) + 1) / (found + 1))
    return idf


def column_name(model: TextModel | Absent, asked: str) -> str:
    """ "BERTScore" for roberta-large, and "BERTScore (NAME)" for any other model."""
    name = model.name if isinstance(model, TextModel) else asked
    short = name.rstrip("/").split("/")[-1]
    if short in ("auto", locate.ROBERTA):
        return "BERTScore"
    return f"BERTScore ({'MiniLM' if short == locate.MINILM else short})"
