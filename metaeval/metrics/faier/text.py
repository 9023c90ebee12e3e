"""FAIEr's textual side: a caption's words and triplets as vectors, by two bidirectional GRUs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


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


class BiGru(nn.Module):
    """A bidirectional GRU whose two directions are averaged, so that its width is d."""

    def __init__(self, d_in: int, d: int) -> None:
        super().__init__()
        self.gru = nn.GRU(d_in, d, batch_first=True, bidirectional=True)

    def forward(
        self, vectors: torch.Tensor, lengths: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """States [n, l, d] of vectors [n, l, d_in], 0 behind each end, and last states [n, d].

        `lengths` int64 [n] are on the CPU; without them every sequence fills its row. The last
        state of the backward direction is the one at the first word.
        """
        if lengths is None:
            states, last = self.gru(vectors)
        else:
            packed = pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
            packed_states, last = self.gru(packed)
            states, _ = pad_packed_sequence(
                packed_states, batch_first=True, total_length=vectors.shape[1]
            )
        forward, backward = states.chunk(2, dim=-1)
        return (forward + backward) / 2, (last[0] + last[1]) / 2


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
        self, gru: BiGru, words: torch.Tensor, lengths: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """States [n, l, d] and last states [n, d] of word ids [n, l]; see `BiGru`."""
        states, last = gru(self.dropout(self.embedding(words)), lengths)
        return states, last
