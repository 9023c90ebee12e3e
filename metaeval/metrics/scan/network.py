"""SCAN (Lee et al., ECCV 2018): regions and words in one space, compared by cross attention.

Regions go through one linear layer, words through an embedding and a bidirectional GRU whose two
directions are averaged; both end on the unit sphere. The parameters carry the names and shapes of
the authors' checkpoints. For regions that say nothing but a category and a box (`hidden` > 0), a
small network is added to the linear layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import nn

from metaeval.errors import InputError
from metaeval.metrics.scan.attention import l2norm
from metaeval.options import NonNegativeInt, PositiveInt


@dataclass(frozen=True, slots=True)
class ScanShape:
    """What makes two SCAN networks of the same shape.

    `dim` numbers describe a region, `embed` is the dimension of the common space, `word` that of
    the word embedding, `words` the vocabulary's size. `hidden` is the width of the network next to
    the linear layer (0, the authors': none); with `context` it sees the whole image as well, with
    `whole_only` it serves the region that is the whole image alone.
    `grid` is the side of the grid that gold regions are given (0: none; `vision/regions/grid.py`),
    whose cells count as whole images here.
    `region_norm`, `text_norm`: whether vectors are scaled to unit length; `both_ways`: whether the
    GRU reads backwards as well.
    """

    dim: int
    words: int
    embed: PositiveInt = 1024
    word: PositiveInt = 300
    hidden: NonNegativeInt = 0
    context: bool = False
    whole_only: bool = False
    grid: NonNegativeInt = 0
    layers: PositiveInt = 1
    both_ways: bool = True
    region_norm: bool = True
    text_norm: bool = True

    @property
    def wholes(self) -> int:
        """How many first regions of an image are not one object: the whole image, and cells."""
        return 1 + self.grid**2

    @classmethod
    def of_json(cls, value: Mapping[str, Any]) -> ScanShape:
        """From a card; raises InputError for what is not a shape."""
        try:
            shape = cls(**value)
        except TypeError as error:
            raise InputError(f"not the shape of a SCAN network ({error})") from None
        for field in fields(shape):
            number = getattr(shape, field.name)
            kind = bool if isinstance(field.default, bool) else int
            if type(number) is not kind or number < 0:
                problem = f"not the shape of a SCAN network ({field.name} is {number!r})"
                raise InputError(problem)
        return shape


class RegionEncoder(nn.Module):
    """Region features [n, r, dim] to vectors [n, r, embed]; 0 where the mask is False."""

    def __init__(self, shape: ScanShape) -> None:
        super().__init__()
        self._norm, self._context, self._wholes = shape.region_norm, shape.context, shape.wholes
        self._whole_only = shape.whole_only
        self.fc = nn.Linear(shape.dim, shape.embed)
        nn.init.xavier_uniform_(self.fc.weight)
        nn.init.zeros_(self.fc.bias)
        self.hidden: nn.Module | None = None
        if shape.hidden:
            self.hidden = nn.Linear((1 + shape.context) * shape.dim, shape.hidden)
            self.out = nn.Linear(shape.hidden, shape.embed, bias=False)

    def forward(
        self, features: torch.Tensor, mask: torch.Tensor, first: torch.Tensor | None = None
    ) -> torch.Tensor:
        # few images fill their rows
        vectors = self.rows(*region_rows(features, mask, self._wholes, first))
        return vectors.new_zeros(*mask.shape, vectors.shape[1]).index_put((mask,), vectors)

    def rows(
        self, features: torch.Tensor, whole: torch.Tensor, first: torch.Tensor
    ) -> torch.Tensor:
        """Single regions, as `region_rows` gives them, to vectors [k, embed]."""
        vectors: torch.Tensor = self.fc(features)
        if self.hidden is not None:
            seen = torch.cat([features, whole], 1) if self._context else features
            more = self.out(torch.relu(self.hidden(seen)))
            vectors = vectors + (more * first if self._whole_only else more)
        return l2norm(vectors) if self._norm else vectors


def region_rows(
    features: torch.Tensor,
    mask: torch.Tensor,
    wholes: int = 1,
    first: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Of all regions: their features [k, dim], those of their image's region 0, which is the whole
    image, and whether they are not one object, 1 or 0 [k, 1]: the first `wholes` of an image.

    `first` [n, r] says which those are where they are not always the first.
    """
    whole = features[:, :1].expand_as(features)[mask]
    if first is None:
        first = torch.zeros_like(mask)
        first[:, :wholes] = True
    return features[mask], whole, first[mask][:, None].to(features.dtype)


class WordEncoder(nn.Module):
    """Word ids [n, w] to word states [n, w, embed]; 0 behind a caption's end."""

    def __init__(self, shape: ScanShape) -> None:
        super().__init__()
        self.unit_length, self._both_ways = shape.text_norm, shape.both_ways
        self.plain = shape.layers == 1 and shape.both_ways  # as published
        self.embed = nn.Embedding(shape.words, shape.word)
        nn.init.uniform_(self.embed.weight, -0.1, 0.1)
        self.rnn = nn.GRU(
            shape.word, shape.embed, shape.layers, batch_first=True, bidirectional=shape.both_ways
        )

    def forward(
        self, ids: torch.Tensor, lengths: torch.Tensor | None = None, dropout: float = 0.0
    ) -> torch.Tensor:
        """Word states of captions of these `lengths`, int64 [n] on the CPU (`None`: every caption
        fills its row); `dropout` of the embedding's numbers are set to 0, while training."""
        if lengths is None:
            return self._finished(self.rnn(self.embed(ids))[0])
        vectors = nn.functional.dropout(self.embed(ids), dropout, self.training)
        packed = nn.utils.rnn.pack_padded_sequence(
            vectors, lengths, batch_first=True, enforce_sorted=False
        )
        states, _ = nn.utils.rnn.pad_packed_sequence(
            self.rnn(packed)[0], batch_first=True, total_length=ids.shape[1]
        )
        return self._finished(states)  # padding is zero and stays so

    def _finished(self, states: torch.Tensor) -> torch.Tensor:
        """The two directions averaged, and put onto the unit sphere."""
        if self._both_ways:
            forward, backward = states.chunk(2, dim=-1)
            states = (forward + backward) / 2
        return l2norm(states) if self.unit_length else states


class Scan(nn.Module):
    """The two encoders; what is done with their vectors is in `attention.py`."""

    def __init__(self, shape: ScanShape) -> None:
        super().__init__()
        self.shape = shape
        self.image = RegionEncoder(shape)
        self.text = WordEncoder(shape)
