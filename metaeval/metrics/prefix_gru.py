"""A GRU that reads many texts both ways and no beginning twice.

A GRU's state after a word depends on the words before it alone, captions begin alike ("a man …"),
and corrupted copies of a caption keep parts of it. So the forward GRU runs over distinct
beginnings, the backward GRU over distinct endings, step by step for all texts; and what the inputs
add to the gates is computed once a word. Every product has one shape whatever is read, so that a
text gets the same numbers, to the last bit, whatever else is in the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from metaeval.compute.device import run_on

Ints = npt.NDArray[np.int64]

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
        parents, words, levels = [last[:0]], [last[:0]], [1]
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


def read_both_ways(
    embedding: nn.Embedding, gru: nn.GRU, parts: Sequence[tuple[Ints, Ints]]
) -> list[tuple[torch.Tensor, Ints]]:
    """What a GRU of one layer and two directions says of the texts of each part.

    A part is n texts, word numbers [n, longest] and lengths [n], each at least 1; there are two
    jobs for each, as the directions do not need each other.

    Returns, per part, states [k, d] of both directions, zeros first, and which two of them are each
    word's: int64 [n, longest, 2], 0 behind a text's end.
    """
    device = embedding.weight.device
    shared = run_on(
        device,
        [
            partial(PrefixTrie.of, read, lengths)
            for tokens, lengths in parts
            for read in (tokens, _reverse_rows(tokens, lengths))
        ],
    )
    read_parts, jobs = [], []
    for (_, lengths), ahead, behind in zip(parts, shared[::2], shared[1::2], strict=True):
        first = ahead.levels[-1]
        states = embedding.weight.new_empty(first + behind.levels[-1], gru.hidden_size)
        jobs += [
            partial(_read, embedding, gru, _FORWARD, ahead, states[:first]),
            partial(_read, embedding, gru, _BACKWARD, behind, states[first:]),
        ]
        # the backward GRU's states stand in the order in which it reads: turn them again
        second = _reverse_rows(np.where(behind.place > 0, behind.place + first, 0), lengths)
        read_parts.append((states, np.stack([ahead.place, second], axis=2)))
    run_on(device, jobs)
    return read_parts


def _reverse_rows(rows: Ints, lengths: Ints) -> Ints:
    """Each row's first numbers, as many as its length says, in reverse; 0 behind them."""
    back = lengths[:, None] - 1 - np.arange(rows.shape[1])[None, :]
    return np.where(back >= 0, np.take_along_axis(rows, np.maximum(back, 0), axis=1), 0)


def _read(
    embedding: nn.Embedding,
    gru: nn.GRU,
    direction: str,
    shared: PrefixTrie,
    states: torch.Tensor,
) -> None:
    """Fill in the states [k + 1, d] of one of the GRU's directions after each of k beginnings."""
    d, device = gru.hidden_size, states.device
    weight, bias = (getattr(gru, f"{kind}_hh_l0{direction}") for kind in ("weight", "bias"))
    block, transposed = max(1, _BLOCK[device.type] // d), weight.T.contiguous()
    table, number = _projected(embedding, gru, direction, shared.word)
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
            advance(inputs, hidden[:n], old[:n], states[first:last])


def advance(
    gates: torch.Tensor, hidden: torch.Tensor, before: torch.Tensor, after: torch.Tensor
) -> None:
    """Device section: one step of a GRU for n sequences; fill in the states after it [n, d].

    `gates` and `hidden` [n, 3d] are the parts that the step's input and the state before it [n, d]
    have in the gates; `gates` is overwritten.
    """
    d = after.shape[1]
    rz, n = gates[:, : 2 * d], gates[:, 2 * d :]
    torch.add(rz, hidden[:, : 2 * d], out=rz).sigmoid_()
    torch.addcmul(n, rz[:, :d], hidden[:, 2 * d :], out=n)
    n.mul_(2).sigmoid_().mul_(2).sub_(1)  # tanh, which torch computes more slowly
    torch.addcmul(n, rz[:, d:], before - n, out=after)


def _projected(
    embedding: nn.Embedding, gru: nn.GRU, direction: str, words: Ints
) -> tuple[torch.Tensor, Ints]:
    """What each distinct word adds to the gates, [w, 3d], and the row of each of the words."""
    distinct, number = np.unique(words, return_inverse=True)
    lacking = -len(distinct) % _WORDS
    filled = np.concatenate([distinct, np.zeros(lacking, dtype=np.int64)])
    vectors = embedding(torch.from_numpy(filled).to(embedding.weight.device))
    weight, bias = (getattr(gru, f"{kind}_ih_l0{direction}") for kind in ("weight", "bias"))
    parts = [torch.nn.functional.linear(some, weight, bias) for some in vectors.split(_WORDS)]
    return torch.cat(parts), number.astype(np.int64)
