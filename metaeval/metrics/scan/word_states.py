"""The word states of many captions at once: what captions share is computed once.

A GRU's state after a word depends on the words before it alone. Captions begin alike ("a man …"),
corrupted copies of a caption keep parts of it, and reference and candidate may be one sentence. So
the forward GRU runs over distinct beginnings, the backward GRU over distinct endings, step by step
for all captions; and what the inputs add to the gates is computed once a word. Every matrix product
has a fixed shape (the last one is filled up), so a state is the same number, to the last bit,
whatever else is encoded along with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from metaeval.compute.device import inference
from metaeval.metrics.scan.attention import EPS
from metaeval.metrics.scan.network import WordEncoder
from metaeval.text.vocabulary import padded

Ints = npt.NDArray[np.int64]
Run = Callable[[Sequence[Callable[[], Any]]], Sequence[Any]]

_BLOCK = {"cpu": 1 << 15, "cuda": 1 << 20}  # numbers of states computed at a time
_WORDS = 256  # words projected at a time
_FORWARD, _BACKWARD = "", "_reverse"  # as torch's GRU names its weights


@dataclass(frozen=True, slots=True)
class PrefixTrie:
    """The distinct beginnings of n sequences, shorter ones first; number 0 is the empty one.

    Attributes
    ----------
    parent, word
        int64 [k]: of the beginnings 1 to k, the beginning that each extends, and by which word.
    levels
        The first numbers of the beginnings of 1, 2, … words, and k + 1.
    place
        int64 [n, longest]: the beginning that ends at each place of each sequence; 0 behind it.
    """

    parent: Ints
    word: Ints
    levels: tuple[int, ...]
    place: Ints

    @classmethod
    def of(cls, tokens: Ints, lengths: Ints) -> PrefixTrie:
        """Of sequences [n, longest] of these lengths, each at least 1."""
        place = np.zeros(tokens.shape, dtype=np.int64)
        rows = np.arange(len(tokens))
        last = np.zeros(len(tokens), dtype=np.int64)
        parents, words, levels = [], [], [1]
        for step in range(tokens.shape[1]):
            rows = rows[lengths[rows] > step]
            # texts that end in one word are adjacent: its contribution to the gates is then in
            # cache
            keys = tokens[rows, step] * levels[-1] + last[rows]
            distinct, number = np.unique(keys, return_inverse=True)
            words.append(distinct // levels[-1])
            parents.append(distinct % levels[-1])
            last[rows] = place[rows, step] = levels[-1] + number
            levels.append(levels[-1] + len(distinct))
        return cls(np.concatenate(parents), np.concatenate(words), tuple(levels), place)


class WordStates:
    """The word states of n captions, for any of them at a time; `encode_captions` makes them.

    `states` [k, d] are the GRU's in both directions, zeros first; `place` int64 [n, longest, 2]
    says which two are each word's (0 behind a caption's end), `lengths` int64 [n] how many words a
    caption has. With `unit_length` a word's state is put onto the unit sphere.
    """

    def __init__(self, states: torch.Tensor, place: Ints, lengths: Ints, unit_length: bool) -> None:
        self._states, self.lengths, self._unit_length = states, lengths, unit_length
        self._place = torch.from_numpy(place).to(states.device)

    def of(self, rows: npt.NDArray[np.intp], length: int) -> torch.Tensor:
        """[k, length, d] The states of these captions; zeros behind a caption's end."""
        index = torch.from_numpy(rows).to(self._place.device)
        place = self._place.index_select(0, index)[:, :length]
        place = torch.nn.functional.pad(place, (0, 0, 0, length - place.shape[1])).flatten(0, 1)
        # a bag of two: looks both up and adds them in one go
        states = torch.nn.functional.embedding_bag(place, self._states, mode="sum")
        if self._unit_length:
            # half of the sum, put onto the unit sphere
            states.div_(torch.linalg.vector_norm(states, dim=1, keepdim=True) + 2 * EPS)
        else:
            states.div_(2)
        return states.view(len(rows), length, -1)


def encode_captions(
    encoder: WordEncoder, parts: Sequence[Sequence[Sequence[int]]], run: Run
) -> list[WordStates]:
    """The word states of the captions of each part, by a `plain` encoder in eval mode.

    Every caption has at least one word. `run` does all jobs, in any order, and returns their
    results in order; there are two for each part, as the GRU's directions do not need each other.
    """
    sequences = [padded(ids) for ids in parts]
    shared = run([
        partial(PrefixTrie.of, read, lengths)
        for tokens, lengths in sequences
        for read in (tokens, _reverse_rows(tokens, lengths))
    ])  # fmt: skip
    weight = encoder.embed.weight
    states_of_parts, jobs = [], []
    for (_, lengths), ahead, behind in zip(sequences, shared[::2], shared[1::2], strict=True):
        first = ahead.levels[-1]
        states = weight.new_empty(first + behind.levels[-1], encoder.rnn.hidden_size)
        jobs += [
            partial(_read, encoder, _FORWARD, ahead, states[:first]),
            partial(_read, encoder, _BACKWARD, behind, states[first:]),
        ]
        # the backward GRU's states stand in the order in which it reads: turn them again
        second = _reverse_rows(np.where(behind.place > 0, behind.place + first, 0), lengths)
        place = np.stack([ahead.place, second], axis=2)
        states_of_parts.append(WordStates(states, place, lengths, encoder.unit_length))
    run(jobs)
    return states_of_parts


def _reverse_rows(rows: Ints, lengths: Ints) -> Ints:
    """Each row's first numbers, as many as its length says, in reverse; 0 behind them."""
    back = lengths[:, None] - 1 - np.arange(rows.shape[1])[None, :]
    return np.where(back >= 0, np.take_along_axis(rows, np.maximum(back, 0), axis=1), 0)


def _read(encoder: WordEncoder, direction: str, shared: PrefixTrie, states: torch.Tensor) -> None:
    """Fill in the states [k + 1, d] of one of the GRU's directions after each of k beginnings."""
    d, device = encoder.rnn.hidden_size, states.device
    weight, bias = (getattr(encoder.rnn, f"{kind}_hh_l0{direction}") for kind in ("weight", "bias"))
    block, transposed = max(1, _BLOCK[device.type] // d), weight.T.contiguous()
    table, number = _projected(encoder, shared.word, direction)
    parent, word = (torch.from_numpy(x).to(device) for x in (shared.parent, number))
    states[0] = 0.0
    old, hidden = states.new_zeros(block, d), states.new_zeros(block, 3 * d)
    for start, stop in zip(shared.levels[:-1], shared.levels[1:], strict=True):
        for first in range(start, stop, block):
            last = min(first + block, stop)
            n, rows = last - first, slice(first - 1, last - 1)
            torch.index_select(states, 0, parent[rows], out=old[:n])
            torch.addmm(bias, old, transposed, out=hidden)
            inputs = table.index_select(0, word[rows])
            _advance(inputs, hidden[:n], old[:n], states[first:last])


def _advance(
    gates: torch.Tensor, hidden: torch.Tensor, before: torch.Tensor, after: torch.Tensor
) -> None:
    """One step of a GRU for n sequences: fill in the states after it [n, d].

    `gates` and `hidden` [n, 3d] are the parts that the step's input and the state before it [n, d]
    have in the gates; `gates` is overwritten.
    """
    d = after.shape[1]
    rz, n = gates[:, : 2 * d], gates[:, 2 * d :]
    torch.add(rz, hidden[:, : 2 * d], out=rz).sigmoid_()
    torch.addcmul(n, rz[:, :d], hidden[:, 2 * d :], out=n).tanh_()
    torch.lerp(n, before, rz[:, d:], out=after)


def _projected(encoder: WordEncoder, words: Ints, direction: str) -> tuple[torch.Tensor, Ints]:
    """What each distinct word adds to the gates, [w, 3d], and the row of each of the words."""
    distinct, number = np.unique(words, return_inverse=True)
    lacking = -len(distinct) % _WORDS
    filled = np.concatenate([distinct, np.zeros(lacking, dtype=np.int64)])
    vectors = encoder.embed(torch.from_numpy(filled).to(encoder.embed.weight.device))
    weight, bias = (getattr(encoder.rnn, f"{kind}_ih_l0{direction}") for kind in ("weight", "bias"))
    parts = [torch.nn.functional.linear(some, weight, bias) for some in vectors.split(_WORDS)]
    return torch.cat(parts), number.astype(np.int64)


class PlainWordStates:
    """The same for text encoders of another shape (more layers, or one direction): one by one."""

    def __init__(self, encoder: WordEncoder, ids: Sequence[Sequence[int]]) -> None:
        self.lengths = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
        device = encoder.embed.weight.device
        self._known: dict[tuple[int, ...], torch.Tensor] = {}
        self._ids = [tuple(caption) for caption in ids]
        with inference(device):
            for caption in dict.fromkeys(self._ids):
                self._known[caption] = encoder(torch.tensor([caption], device=device))[0]

    def of(self, rows: npt.NDArray[np.intp], length: int) -> torch.Tensor:
        """[k, length, d] The states of these captions; zeros behind a caption's end."""
        known = [self._known[self._ids[row]] for row in rows.tolist()]
        return torch.stack([
            torch.nn.functional.pad(states, (0, 0, 0, length - len(states))) for states in known
        ])  # fmt: skip
