"""The word states of many captions at once: what captions share is computed once.

A GRU's state after a word depends on the words before it alone. Captions begin alike ("a man …"),
spoiled copies of a caption keep parts of it, and reference and candidate may be one sentence. So
the forward GRU runs over distinct beginnings, the backward GRU over distinct endings, step by step
for all captions; and what the inputs add to the gates is computed once a word. Every matrix product
has a fixed shape (the last one is filled up), so a state is the same number, to the last bit,
whatever else is encoded along with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from metaeval.models.scan import TextEncoder
from metaeval.models.scan_attention import EPS

Ints = npt.NDArray[np.int64]

_BLOCK = {"cpu": 1 << 15, "cuda": 1 << 20}  # numbers of states computed at a time
_WORDS = 256  # words projected at a time


@dataclass(frozen=True, slots=True)
class Beginnings:
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
    def of(cls, tokens: Ints, lengths: Ints) -> Beginnings:
        """Of sequences [n, longest] of these lengths, each at least 1."""
        place = np.zeros(tokens.shape, dtype=np.int64)
        rows = np.arange(len(tokens))
        last = np.zeros(len(tokens), dtype=np.int64)
        parents, words, levels = [], [], [1]
        for step in range(tokens.shape[1]):
            rows = rows[lengths[rows] > step]
            # those that end in one word stand together: what it adds to the gates is then at hand
            keys = tokens[rows, step] * levels[-1] + last[rows]
            distinct, number = np.unique(keys, return_inverse=True)
            words.append(distinct // levels[-1])
            parents.append(distinct % levels[-1])
            last[rows] = place[rows, step] = levels[-1] + number
            levels.append(levels[-1] + len(distinct))
        return cls(np.concatenate(parents), np.concatenate(words), tuple(levels), place)


class WordStates:
    """The word states of n captions, for any of them at a time.

    Parameters
    ----------
    encoder
        A text encoder of one layer that reads both ways, in eval mode.
    ids
        Word numbers of each caption, at least one.
    """

    def __init__(self, encoder: TextEncoder, ids: Sequence[Sequence[int]]) -> None:
        self._encoder = encoder
        self._device = encoder.embed.weight.device
        self.lengths = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
        longest = int(self.lengths.max(initial=0))
        tokens = np.zeros((len(ids), longest), dtype=np.int64)
        inside = np.arange(tokens.shape[1])[None, :] < self.lengths[:, None]
        tokens[inside] = [number for own in ids for number in own]
        back = np.maximum(self.lengths[:, None] - 1 - np.arange(tokens.shape[1])[None, :], 0)
        turned = np.take_along_axis(tokens, back, axis=1)
        with torch.inference_mode():
            self._forward, ahead = self._run(tokens, "")
            self._backward, behind = self._run(turned, "_reverse")
        # the backward GRU's states stand in the order in which it reads: turn them again
        behind = np.where(inside, np.take_along_axis(behind, back, axis=1), 0)
        self._place = torch.from_numpy(np.stack([ahead, behind])).to(self._device)

    def of(self, rows: npt.NDArray[np.intp], length: int) -> torch.Tensor:
        """[k, length, d] The states of these captions; zeros behind a caption's end."""
        index = torch.from_numpy(rows).to(self._device)
        place = self._place.index_select(1, index)[:, :, :length]
        lacking = length - place.shape[2]
        ahead, behind = torch.nn.functional.pad(place, (0, max(0, lacking))).flatten(1)
        states = self._forward.index_select(0, ahead).add_(self._backward.index_select(0, behind))
        if self._encoder.unit_length:
            # half of the sum, put onto the unit sphere
            states.div_(torch.linalg.vector_norm(states, dim=1, keepdim=True) + 2 * EPS)
        else:
            states.div_(2)
        return states.view(len(rows), length, -1)

    def _run(self, tokens: Ints, direction: str) -> tuple[torch.Tensor, Ints]:
        """The states of one direction, [k, d], and where each caption's are: [n, longest]."""
        shared = Beginnings.of(tokens, self.lengths)
        gru = self._encoder.rnn
        d, device = gru.hidden_size, self._device
        names = (f"weight_hh_l0{direction}", f"bias_hh_l0{direction}")
        weight, bias = (getattr(gru, name) for name in names)
        block, transposed = max(1, _BLOCK[device.type] // d), weight.T.contiguous()
        table, number = self._projected(shared.word, direction)
        parent, word = (torch.from_numpy(x).to(device) for x in (shared.parent, number))
        states = weight.new_empty(len(word) + 1, d)
        states[0] = 0.0
        old, gates = states.new_zeros(block, d), states.new_zeros(block, 3 * d)
        for start, stop in zip(shared.levels[:-1], shared.levels[1:], strict=True):
            for first in range(start, stop, block):
                last = min(first + block, stop)
                n, mine = last - first, slice(first - 1, last - 1)
                torch.index_select(states, 0, parent[mine], out=old[:n])
                torch.addmm(bias, old, transposed, out=gates)
                given = table.index_select(0, word[mine])
                rz = given[:, : 2 * d].add_(gates[:n, : 2 * d]).sigmoid_()
                new = given[:, 2 * d :].addcmul_(rz[:, :d], gates[:n, 2 * d :]).tanh_()
                torch.lerp(new, old[:n], rz[:, d:], out=states[first:last])
        return states, shared.place

    def _projected(self, words: Ints, direction: str) -> tuple[torch.Tensor, Ints]:
        """What each distinct word adds to the gates, [w, 3d], and the row of each of the words."""
        distinct, number = np.unique(words, return_inverse=True)
        gru = self._encoder.rnn
        weight, bias = (getattr(gru, f"{x}_ih_l0{direction}") for x in ("weight", "bias"))
        lacking = -len(distinct) % _WORDS
        filled = np.concatenate([distinct, np.zeros(lacking, dtype=np.int64)])
        vectors = self._encoder.embed(torch.from_numpy(filled).to(self._device))
        parts = [torch.nn.functional.linear(own, weight, bias) for own in vectors.split(_WORDS)]
        return torch.cat(parts), number.astype(np.int64)


class PlainWordStates:
    """The same for text encoders of another shape (more layers, or one direction): one by one."""

    def __init__(self, encoder: TextEncoder, ids: Sequence[Sequence[int]]) -> None:
        self.lengths = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
        device = encoder.embed.weight.device
        self._known: dict[tuple[int, ...], torch.Tensor] = {}
        self._ids = [tuple(own) for own in ids]
        with torch.inference_mode():
            for own in dict.fromkeys(self._ids):
                self._known[own] = encoder(torch.tensor([own], device=device))[0]

    def of(self, rows: npt.NDArray[np.intp], length: int) -> torch.Tensor:
        """[k, length, d] The states of these captions; zeros behind a caption's end."""
        own = [self._known[self._ids[row]] for row in rows.tolist()]
        return torch.stack([
            torch.nn.functional.pad(states, (0, 0, 0, length - len(states))) for states in own
        ])  # fmt: skip
