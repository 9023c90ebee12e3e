"""Sentences as BERTScore compares them: each distinct one encoded once, its vectors kept."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Container, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.metrics.bertscore.match import BankedSentences, Floats, Ints, Singles, pair_scores
from metaeval.metrics.bertscore.token_bank import TokenBank
from metaeval.text.transformers.encoder import TextEncoder

log = logging.getLogger(__name__)


class EncodedSentences:
    """Distinct sentences, numbered as they come, with the vectors and weights of their tokens.

    So many bytes of vectors (`memory`) stay in memory, those beyond in temporary files. `documents`
    are the texts over which the idf of a token is counted; `None`: every token has the weight 1,
    except for those at a sentence's edges, which have 0.
    """

    def __init__(
        self, encoder: TextEncoder, memory: float, documents: Sequence[str] | None = None
    ) -> None:
        self._encoder, self._memory = encoder, memory
        self._bank = TokenBank(encoder.device, memory)
        self._index: dict[str, int] = {}
        self._length: list[int] = []  # per sentence: its tokens, …
        self._slot: list[int] = []  # … and its place in the bank among those of this length
        self._weights: dict[int, list[Floats]] = {}  # length → of sentences in the bank's order
        self._tokens: dict[str, tuple[list[str], Floats, Singles]] = {}
        self._weight_of_token = _token_weights(encoder, documents)

    def add(self, texts: Sequence[str], *, alone: bool = False) -> None:
        """Encode those of the texts that are new; `alone` as in `TextEncoder.encode`."""
        new = [text for text in dict.fromkeys(texts) if text not in self._index]
        ids, cut = self._encoder.tokenize(new)
        if n_cut := sum(cut):
            log.warning("bertscore: %d captions cut at %d tokens", n_cut, self._encoder.max_tokens)
        first = len(self._index)
        self._index.update({text: first + j for j, text in enumerate(new)})
        self._length += [len(tokens) for tokens in ids]
        self._slot += [0] * len(new)

        def keep(positions: list[int], vectors: Any) -> None:
            for position, slot in zip(positions, self._bank.add(vectors), strict=True):
                self._slot[first + position] = slot
            rows = self._weight_of_token[np.array([ids[p] for p in positions])]
            self._weights.setdefault(vectors.shape[1], []).append(rows)

        self._encoder.encode(ids, keep, alone=alone)

    def forget(self, first: int, but: Container[str]) -> None:
        """Drop the sentences from number `first` on, except these texts."""
        late = list(self._index)[first:]
        remaining = [text for text in late if text in but]
        slots: dict[int, list[int]] = {length: [] for length in set(self._length[first:])}
        start = dict.fromkeys(slots, len(self._index))
        for length, slot in zip(self._length[first:], self._slot[first:], strict=True):
            start[length] = min(start[length], slot)
        numbers = [self._index[text] for text in remaining]
        for number in numbers:
            slots[self._length[number]].append(self._slot[number])
        lengths, self._length = self._length, self._length[:first]
        self._slot = self._slot[:first]
        for text in late:
            del self._index[text]
        for length, old in slots.items():
            chosen = np.array(old, dtype=np.intp)
            self._bank.forget(length, start[length], chosen)
            weights = np.concatenate(self._weights[length])
            self._weights[length] = [weights[: start[length]], weights[chosen]]
        places = dict(start)
        for text, number in zip(remaining, numbers, strict=True):
            length = lengths[number]
            self._index[text] = len(self._index)
            self._length.append(length)
            self._slot.append(places[length])
            places[length] += 1

    @property
    def is_nearly_full(self) -> bool:
        """Whether less than a quarter of the memory is free."""
        return self._bank.is_nearly_full

    def clear(self) -> None:
        """Drop all sentences, and release their vectors and temporary files."""
        self._bank.close()
        self._bank = TokenBank(self._encoder.device, self._memory)
        for known in (self._index, self._length, self._slot, self._weights, self._tokens):
            known.clear()

    def __len__(self) -> int:
        return len(self._index)

    def numbers(self, texts: Sequence[str]) -> Ints:
        """The number [n] of each text; all of them must have been added."""
        return np.array([self._index[text] for text in texts], dtype=np.intp)

    def scores(self, candidates: Ints, references: Ints) -> Floats:
        """Precision, recall and F1 [n, 3] of n pairs of sentences, by their numbers."""
        length = np.array(self._length, dtype=np.intp)
        sentences = BankedSentences(
            length, np.array(self._slot, dtype=np.intp), length <= self._encoder.n_special
        )
        weights = {size: np.concatenate(rows) for size, rows in self._weights.items()}
        device = self._encoder.device.type
        return pair_scores(self._bank, weights, sentences, candidates, references, device)

    def tokens(self, text: str) -> tuple[list[str], Floats, Singles]:
        """A text's k tokens as words, their weights [k] and vectors [k, width]."""
        if (known := self._tokens.get(text)) is not None:
            return known
        (ids,), _ = self._encoder.tokenize([text])
        number = self._index[text]
        vectors = self._bank.get(self._length[number], np.array([self._slot[number]]))[0]
        words = [self._encoder.tokenizer.decode([token]).strip() for token in ids]
        tokens = words, self._weight_of_token[np.array(ids)], vectors.cpu().numpy()
        self._tokens[text] = tokens  # a reference is needed with each caption of its image
        return tokens

    def close(self) -> None:
        """Release the vectors and their temporary files."""
        self._bank.close()


def count_cut(
    encoder: TextEncoder, captions: Sequence[str], has_score: Sequence[bool]
) -> npt.NDArray[np.int64]:
    """For `Scorer.tally`: 1 for a caption with a score that the model's length cut [n, 1]."""
    distinct = list(dict.fromkeys(captions))
    cut = dict(zip(distinct, encoder.tokenize(distinct)[1], strict=True))
    counts = [cut[text] and scored for text, scored in zip(captions, has_score, strict=True)]
    return np.array(counts, dtype=np.int64).reshape(-1, 1)


def _token_weights(encoder: TextEncoder, documents: Sequence[str] | None) -> Floats:
    """The weight of every token of the vocabulary."""
    tokenizer = encoder.tokenizer
    n = 1 + max(tokenizer.get_vocab().values())
    if documents is None:
        weights = np.ones(n)
        weights[[t for t in (tokenizer.cls_token_id, tokenizer.sep_token_id) if t is not None]] = 0
        return weights
    counts = Counter(t for tokens in encoder.tokenize(documents)[0] for t in set(tokens))
    df = np.zeros(n)  # in how many of the N documents; idf is log((N + 1) / (df + 1))
    df[list(counts)] = list(counts.values())
    return np.asarray(np.log((len(documents) + 1) / (df + 1)))
