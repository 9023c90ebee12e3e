"""Sentences as BERTScore compares them: each distinct one encoded once, its vectors kept.

Greedy matching (Zhang et al., 2020, section 3) takes pairs by the lengths of their two sentences,
so that no padding takes part. On a processor each pair has a matrix product of its own, straight
from the bank: copying the vectors together would cost more than the product. On a GPU always as
many are multiplied at a time. Either way the shape of the product is the pair's own: its score is
the same, to the last bit, in whatever company.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import weakref
from collections import Counter, defaultdict
from collections.abc import Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.compute.batching import fill_rows, group_rows_by_keys
from metaeval.compute.device import inference
from metaeval.text.transformers.encoder import TextEncoder

if TYPE_CHECKING:
    import torch


_BLOCK_BYTES = 1 << 20


class TokenBank:
    """Vectors [n, length, width] for every length, growing block by block.

    Blocks are kept on the device up to `memory` bytes in all; those beyond are in a temporary file
    each and are read through the operating system's page cache.
    """

    def __init__(self, device: torch.device, memory: float) -> None:
        self.device, self._memory, self._free = device, memory, memory
        self._blocks: dict[int, list[torch.Tensor]] = defaultdict(list)
        self._counts: dict[int, int] = defaultdict(int)
        self._views: dict[int, list[torch.Tensor]] = defaultdict(list)
        self._folder: Path | None = None
        self.n_spilled = 0

    def add(self, vectors: torch.Tensor) -> range:
        """Keep float32 vectors [n, length, width]; their numbers among those of that length."""
        n, length, width = vectors.shape
        per_block = max(1, _BLOCK_BYTES // (4 * length * width))
        first, done = self._counts[length], 0
        blocks = self._blocks[length]
        while done < n:
            block, row = divmod(first + done, per_block)
            if block == len(blocks):
                blocks.append(self._allocate(per_block, length, width))
            take = min(n - done, per_block - row)
            blocks[block][row : row + take] = vectors[done : done + take]
            done += take
        self._counts[length] = first + n
        return range(first, first + n)

    @property
    def is_nearly_full(self) -> bool:
        """Whether less than a quarter of the memory is free, or files are in use already."""
        return self._free < self._memory / 4 or self.n_spilled > 0

    def forget(self, length: int, first: int, kept: npt.NDArray[np.intp]) -> None:
        """Drop the vectors of that length from number `first` on, except those with the numbers
        `kept`, which follow in this order; the room is used again."""
        import torch

        with torch.inference_mode():  # in which they were made
            vectors = self.get(length, kept)
            self._counts[length] = first
            self.add(vectors)

    def get(self, length: int, numbers: npt.NDArray[np.intp]) -> torch.Tensor:
        """The vectors [n, length, width] of the sentences with these numbers, on the device."""
        import torch

        blocks = self._blocks[length]
        which, rows = np.divmod(numbers, blocks[0].shape[0])
        out = torch.empty((len(numbers), *blocks[0].shape[1:]), device=self.device)
        for block in np.unique(which):
            asked = np.flatnonzero(which == block)
            source = blocks[block]
            picked = source[torch.from_numpy(rows[asked]).to(source.device)]
            out[torch.from_numpy(asked).to(self.device)] = picked.to(self.device)
        return out

    def sentences(self, length: int) -> list[torch.Tensor]:
        """Every sentence of that length [length, width], where it lies, by its number."""
        views, blocks = self._views[length], self._blocks[length]
        for block in blocks[len(views) // len(blocks[0]) :]:
            views.extend(block.unbind())
        return views

    def close(self) -> None:
        """Forget everything and delete the temporary files."""
        self._blocks.clear()
        self._views.clear()
        self._counts.clear()
        if self._folder is not None:
            self._delete()
            self._folder = None

    def _allocate(self, rows: int, length: int, width: int) -> torch.Tensor:
        import torch

        shape, size = (rows, length, width), 4 * rows * length * width
        if size <= self._free:
            self._free -= size
            block: torch.Tensor = torch.empty(shape, device=self.device)
            return block
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="metaeval-tokens-"))
            self._delete = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self.n_spilled += 1
        name = self._folder / f"{self.n_spilled}.bin"
        # a memory-mapped array writes to its own file; no process memory is held for it
        spilled: torch.Tensor = torch.from_numpy(
            np.memmap(name, dtype=np.float32, mode="w+", shape=shape)
        )
        return spilled


log = logging.getLogger(__name__)

Ints = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]

_PAIRS = 1024


class BankedSentences(NamedTuple):
    """Of n sentences in a bank: all their tokens, their places among those of that length, and
    whether they have special tokens only; [n] each."""

    length: Ints
    slot: Ints
    empty: npt.NDArray[np.bool_]


def pair_scores(
    bank: TokenBank,
    weights: dict[int, Floats],
    sentences: BankedSentences,
    candidate: Ints,
    reference: Ints,
    device: str,
) -> Floats:
    """Precision, recall and F1 [n, 3] of n pairs of sentences, by their places in `sentences`.

    `weights` is length → the weight of every token, 1 or its idf, and 0 for special ones: float64
    [sentences of that length, length], in the bank's order; `device` the kind that the bank is on.

    Every token is matched with the most similar token (special ones included) of the other
    sentence; precision is the weighted mean over the candidate's tokens, recall over the
    reference's. All three are 0 where either sentence is empty, F1 also where both others are 0.
    """
    out = np.zeros((len(candidate), 3))
    lengths = sentences.length[candidate], sentences.length[reference]
    best = _best_on_cpu if device == "cpu" else _best
    for rows in group_rows_by_keys(*lengths, most=_PAIRS):
        long_c, long_r = (int(length[rows[0]]) for length in lengths)
        cand, ref = sentences.slot[candidate[rows]], sentences.slot[reference[rows]]
        best_c, best_r = best(bank, long_c, cand, long_r, ref)
        out[rows, 0] = _mean(best_c, weights[long_c][cand])
        out[rows, 1] = _mean(best_r, weights[long_r][ref])
    out[sentences.empty[candidate] | sentences.empty[reference]] = 0.0
    total = out[:, 0] + out[:, 1]
    np.divide(2 * out[:, 0] * out[:, 1], total, out=out[:, 2], where=total != 0)
    return out


def _best_on_cpu(
    bank: TokenBank, long_c: int, cand: Ints, long_r: int, ref: Ints
) -> tuple[Singles, Singles]:
    """The highest cosine of each token of n pairs: [n, long_c] and [n, long_r]."""
    import torch

    with torch.inference_mode():
        similar = torch.empty(len(cand), long_c, long_r)
        rows, columns = bank.sentences(long_c), bank.sentences(long_r)
        for c, r, out in zip(cand.tolist(), ref.tolist(), similar.unbind(), strict=True):
            torch.mm(rows[c], columns[r].t(), out=out)
        return similar.amax(dim=2).numpy(), similar.amax(dim=1).numpy()


def _best(
    bank: TokenBank, long_c: int, cand: Ints, long_r: int, ref: Ints
) -> tuple[Singles, Singles]:
    """The same in one product of `_PAIRS` pairs, filled up with the first."""
    filled = fill_rows(np.arange(len(cand)), _PAIRS)
    with inference(bank.device):
        candidates, references = bank.get(long_c, cand[filled]), bank.get(long_r, ref[filled])
        best = best_cosines(candidates, references)[: len(cand)].cpu().numpy()
        return best[:, :long_c], best[:, long_c:]


def best_cosines(candidates: torch.Tensor, references: torch.Tensor) -> torch.Tensor:
    """Device section: of unit vectors [n, c, width] and [n, r, width], the highest cosine of each
    token, those of the candidates first: [n, c + r]."""
    import torch

    similar = torch.bmm(candidates, references.transpose(1, 2))
    return torch.cat([similar.amax(dim=2), similar.amax(dim=1)], dim=1)


def _mean(values: Singles, weights: Floats) -> Floats:
    """Weighted means of rows, 0 without weight; summed from left to right whatever the shape."""
    total = np.cumsum(values.astype(np.float64) * weights, axis=1)[:, -1]
    weight = np.cumsum(weights, axis=1)[:, -1]
    mean: Floats = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0)
    return mean


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
