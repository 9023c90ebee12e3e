"""FAIEr's textual side: a caption's words and triplets as vectors, by two bidirectional GRUs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import nn

from metaeval.compute import gru
from metaeval.compute.gru import Packing


@dataclass(frozen=True, slots=True)
class TextBatch:
    """n captions as word ids.

    Attributes
    ----------
    words, lengths
        int64 [n, l] padded with 0, beginning and end tokens included; int64 [n].
    triplets, triplet_lengths
        The words of all captions' triplets, one after another: int64 [t, m], int64 [t].
    owner, slot
        int64 [t]: whose triplet it is, and its number there, from 0.
    """

    words: torch.Tensor
    lengths: torch.Tensor
    triplets: torch.Tensor
    triplet_lengths: torch.Tensor
    owner: torch.Tensor
    slot: torch.Tensor

    def to(self, device: torch.device) -> TextBatch:
        """The same on another device; lengths stay on the CPU, where packing wants them."""
        return replace(
            self,
            words=self.words.to(device),
            triplets=self.triplets.to(device),
            owner=self.owner.to(device),
            slot=self.slot.to(device),
        )


@dataclass(frozen=True, slots=True)
class Nodes:
    """What n captions are matched by: text objects (words) and text relations.

    `objects` [n, l, d] with `object_mask` [n, l]; `relations` [n, k, d] with `relation_mask`
    [n, k], of which the first is the sentence itself, then come the triplets.
    """

    objects: torch.Tensor
    object_mask: torch.Tensor
    relations: torch.Tensor
    relation_mask: torch.Tensor


Projected = tuple[torch.Tensor, torch.Tensor]


class BiGru(nn.Module):
    """A bidirectional GRU whose two directions are averaged, so that its width is d."""

    def __init__(self, d_in: int, d: int) -> None:
        super().__init__()
        self.gru = nn.GRU(d_in, d, batch_first=True, bidirectional=True)

    def forward(self, vectors: torch.Tensor, packing: Packing) -> tuple[torch.Tensor, torch.Tensor]:
        """States [total, d], packed as the vectors [total, d_in] are, and last states [n, d].

        The last state of the backward direction is the one at the first word.
        """
        return self._averaged(gru.run_both_ways(self.gru, vectors, packing))

    def projected(self, vectors: torch.Tensor) -> Projected:
        """What vectors [n, d_in] add to the gates of both directions, for `run`."""
        return gru.project(self.gru, vectors), gru.project(self.gru, vectors, "_reverse")

    def run(
        self, table: Projected, rows: torch.Tensor, packing: Packing
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """As `forward` of `vectors[rows]`, with `table` their `projected`: rows int64 [total]."""
        turned = packing.turned().to(rows.device)
        projected = table[0][rows], table[1][rows[turned]]
        return self._averaged(gru.recur_both_ways(self.gru, *projected, turned, packing))

    def _averaged(self, states: gru.BothWays) -> tuple[torch.Tensor, torch.Tensor]:
        return (states.forward + states.backward) / 2, (states.ended + states.began) / 2


class NodeReader(nn.Module):
    """Captions → text objects h° (one per word) and text relations h^r (sentence and triplets).

    Words share one embedding. A triplet is read as one sequence, subject, predicate, object, by a
    GRU of its own, and is its last state. The sentence, read by the words' GRU, is one more
    relation, so that a caption without any triplet has one. The parameters are those of
    `FaierShape`.
    """

    def __init__(
        self, n_words: int, width: int, d: int, relations: bool = True, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_words, width, padding_idx=0)
        self.words = BiGru(width, d)
        self.dropout = nn.Dropout(dropout)
        if relations:
            self.triplets: BiGru | None = BiGru(width, d)
            self.sentence = nn.Linear(d, d)
        else:
            self.triplets = None

    def forward(self, texts: TextBatch) -> Nodes:
        n, length = texts.words.shape
        objects, last = self.read(self.words, texts.words, texts.lengths)
        device = objects.device
        there = torch.arange(length, device=device) < texts.lengths.to(device)[:, None]
        if self.triplets is None:
            return Nodes(objects, there, objects[:, :0], there[:, :0])
        k = 1 + (int(texts.slot.max()) + 1 if len(texts.slot) else 0)
        flat = objects.new_zeros(n * k, objects.shape[-1])
        flat = flat.index_copy(0, k * torch.arange(n, device=device), self.sentence(last))
        mask = torch.zeros(n, k, dtype=torch.bool, device=device)
        mask[:, 0] = True
        if len(texts.slot):
            _, ended = self.read(self.triplets, texts.triplets, texts.triplet_lengths)
            flat = flat.index_copy(0, k * texts.owner + texts.slot + 1, ended)
            mask[texts.owner, texts.slot + 1] = True
        return Nodes(objects, there, flat.view(n, k, -1), mask)

    def read(
        self,
        gru: BiGru,
        words: torch.Tensor,
        lengths: torch.Tensor,
        table: Projected | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """States [n, l, d], 0 behind each end, and last states [n, d] of sequences of words.

        `table` is `gru.projected(embedding.weight)`, for those who read much with one network.
        """
        return self.read_packed(gru, words, Packing.of(lengths), table)

    def read_packed(
        self,
        gru: BiGru,
        words: torch.Tensor,
        packing: Packing,
        table: Projected | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Device section of `read`, with the packing that is made of the lengths on the CPU."""
        place = packing.row.to(words.device), packing.step.to(words.device)
        if table is None:
            packed, last = gru(self.dropout(self.embedding(words[place])), packing)
        else:
            packed, last = gru.run(table, words[place], packing)
        flat = packed.new_zeros(words.numel(), packed.shape[-1])
        flat = flat.index_copy(0, place[0] * words.shape[1] + place[1], packed)
        return flat.view(*words.shape, -1), last
