"""The networks as trainings run them: whole batches at a time, with gradients.

What metrics score with is in `metaeval/metrics/faier/matcher.py` and `metaeval/metrics/scan/
grounding.py`; tests hold the two against each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn

from metaeval.metrics.faier.network import (
    BiGru,
    FaierNetwork,
    Fusion,
    Ints,
    NodeReader,
    ParsedCaptions,
)
from metaeval.metrics.scan.network import (
    TINY,
    RegionEncoder,
    WordEncoder,
    attention_weights,
    cosines_of_products,
    l2norm,
    lengths_by_gram,
    quotient,
    region_rows,
    vector_lengths,
)
from metaeval.text.scene_graphs.parse import Triplet, triplet_words
from metaeval.text.vocabulary import SPECIAL, Vocabulary
from research.vocabulary import build_vocabulary


def see_regions(
    encoder: RegionEncoder,
    features: torch.Tensor,
    mask: torch.Tensor,
    first: torch.Tensor | None = None,
) -> torch.Tensor:
    """SCAN's vectors [n, r, embed] of region features [n, r, dim]; 0 where the mask is False.

    `first` [n, r] says which regions are not one object, where they are not always the first.
    """
    features, whole, at_first = region_rows(features, mask, encoder.wholes)
    if first is not None:
        at_first = first[mask][:, None].to(features.dtype)
    vectors = encoder.rows(features, whole, at_first)  # few images fill their rows
    return vectors.new_zeros(*mask.shape, vectors.shape[1]).index_put((mask,), vectors)


def read_words(
    encoder: WordEncoder,
    ids: torch.Tensor,
    lengths: torch.Tensor | None = None,
    dropout: float = 0.0,
) -> torch.Tensor:
    """SCAN's word states [n, w, embed] of word ids [n, w]; 0 behind a caption's end.

    `lengths` int64 [n] are on the CPU (`None`: every caption fills its row); `dropout` of the
    embedding's numbers are set to 0, while training.
    """
    vectors = nn.functional.dropout(encoder.embed(ids), dropout, encoder.training)
    states, _ = _run_gru(encoder.rnn, vectors, lengths)
    forward, backward = states.chunk(2, dim=-1)
    states = (forward + backward) / 2
    return l2norm(states) if encoder.unit_length else states  # padding is zero and stays so


def _run_gru(
    gru: nn.GRU, vectors: torch.Tensor, lengths: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """A GRU's states [n, l, d], 0 behind each end, and its last states."""
    if lengths is None:
        states, last = gru(vectors)
        return states, last
    packed = nn.utils.rnn.pack_padded_sequence(
        vectors, lengths, batch_first=True, enforce_sorted=False
    )
    packed_states, last = gru(packed)
    states, _ = nn.utils.rnn.pad_packed_sequence(
        packed_states, batch_first=True, total_length=vectors.shape[1]
    )
    return states, last


def cosines(query: torch.Tensor, context: torch.Tensor, smooth: float) -> torch.Tensor:
    """The cosine of each query [n, q, d] with what it attends to in its context [n, c, d].

    Queries and context are regions and words for image → text (TIGEr's grounding vector), words and
    regions for text → image; zero rows are padding. `smooth` is the λ of the softmax over the
    context. Returns [n, q]; 0 for padding.
    """
    products = query @ context.transpose(1, 2)  # [n, q, c]
    lengths = vector_lengths(query, 2)
    if query.shape[1] < context.shape[1]:  # then the attended vectors are less work than their Gram
        return cosines_of_products(
            products, lengths, smooth, lambda weights: vector_lengths(weights @ context, 2)
        )
    attended = lengths_by_gram(context @ context.transpose(1, 2))
    return cosines_of_products(products, lengths, smooth, attended)


def mean_cosines(
    regions: torch.Tensor,
    n_regions: torch.Tensor,
    words: torch.Tensor,
    n_words: torch.Tensor,
    smooth: float,
) -> dict[str, torch.Tensor]:
    """SCAN's similarity of every image with every caption: the mean cosine, for each of the ways.

    Of regions [m, r, d] the first `n_regions` [m] are there, of words [n, w, d] the first `n_words`
    [n]. Returns [m, n] under "i2t" and "t2i".
    """
    (m, r, d), (n, w, _) = regions.shape, words.shape
    # images and captions, the many, stand last; regions and words, the few, before them: so sums
    # over the few are sums of long rows, which is several times as fast
    products = words.reshape(n * w, d) @ regions.transpose(0, 1).reshape(r * m, d).T
    to_words = products.view(n, w, r, m)
    to_regions = to_words.permute(3, 2, 1, 0).contiguous()  # [m, r, w, n]
    return {
        "i2t": _all_cosines(to_words, regions, words, smooth).T / n_regions[:, None],
        "t2i": _all_cosines(to_regions, words, regions, smooth) / n_words,
    }


def _all_cosines(
    products: torch.Tensor, query: torch.Tensor, context: torch.Tensor, smooth: float
) -> torch.Tensor:
    """[k, n] The cosines of all of n items' queries with each of k items' contexts, summed.

    `products` is [k, c, q, n], `query` [n, q, d], `context` [k, c, d].
    """
    k, c, q, n = products.shape
    weights = attention_weights(products, smooth, dim=2)
    dot = (weights * products).sum(dim=1)
    flat = weights.view(k, c, q * n)
    square = torch.bmm(context @ context.transpose(1, 2), flat).mul_(flat).sum(dim=1)
    attended = square.clamp(min=TINY).sqrt().view(k, q, n)  # rounding can make it negative
    return quotient(dot, attended, vector_lengths(query, 2).T).sum(dim=1)


@dataclass(frozen=True, slots=True)
class TextBatch:
    """n captions as word ids, for FAIEr.

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

    @classmethod
    def of(cls, captions: ParsedCaptions, rows: Ints) -> TextBatch:
        """Some of the captions."""
        lengths, count = captions.lengths[rows], captions.count[rows]
        owner = np.repeat(np.arange(len(rows)), count)
        slot = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        places = np.repeat(captions.first[rows], count) + slot
        inner = captions.triplet_lengths[places]
        return cls(
            torch.from_numpy(captions.words[rows, : lengths.max(initial=0)]),
            torch.from_numpy(lengths),
            torch.from_numpy(captions.triplets[places, : inner.max(initial=0)]),
            torch.from_numpy(inner),
            torch.from_numpy(owner),
            torch.from_numpy(slot),
        )

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


def read_texts(
    reader: NodeReader, gru: BiGru, words: torch.Tensor, lengths: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """States [n, l, d] of word ids [n, l], 0 behind each end, and last states [n, d].

    `lengths` int64 [n] are on the CPU; without them every sequence fills its row. The last state of
    the backward direction is the one at the first word.
    """
    states, last = _run_gru(gru.gru, reader.dropout(reader.embedding(words)), lengths)
    forward, backward = states.chunk(2, dim=-1)
    return (forward + backward) / 2, (last[0] + last[1]) / 2


def read_nodes(reader: NodeReader, texts: TextBatch) -> Nodes:
    """Text objects and relations of captions."""
    n, length = texts.words.shape
    objects, last = read_texts(reader, reader.words, texts.words, texts.lengths)
    device = objects.device
    there = torch.arange(length, device=device) < texts.lengths.to(device)[:, None]
    if reader.triplets is None:
        return Nodes(objects, there, objects[:, :0], there[:, :0])
    k = 1 + (int(texts.slot.max()) + 1 if len(texts.slot) else 0)
    flat = objects.new_zeros(n * k, objects.shape[-1])
    flat = flat.index_copy(0, k * torch.arange(n, device=device), reader.sentence(last))
    mask = torch.zeros(n, k, dtype=torch.bool, device=device)
    mask[:, 0] = True
    if len(texts.slot):
        _, ended = read_texts(reader, reader.triplets, texts.triplets, texts.triplet_lengths)
        flat = flat.index_copy(0, k * texts.owner + texts.slot + 1, ended)
        mask[texts.owner, texts.slot + 1] = True
    return Nodes(objects, there, flat.view(n, k, -1), mask)


def last_states(fusion: Fusion, attended: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """The GRU's last state m [t, d] of attended vectors [t, m, d], of which the first `counts` [t]
    (at least 1; on the CPU) are read."""
    _, last = fusion.gru(
        nn.utils.rnn.pack_padded_sequence(attended, counts, batch_first=True, enforce_sorted=False)
    )
    return last[0]


@torch.no_grad()
def set_first_weights(network: FaierNetwork) -> None:
    """First weights, which FAIEr's paper leaves open: such that z starts as v plus a mean of what
    was attended to, or as h where no image is seen. So a caption is compared with the references
    from the first step on, instead of after epochs of learning to pass words through."""
    d = network.shape.d
    one = torch.eye(d)
    for level in network.fusion:
        fusion = network.fuse(level)
        fusion.attention.weight.fill_(1.0)
        fusion.union.weight.copy_(torch.cat([one, one], dim=1))
        fusion.union.bias.zero_()
        ((inputs, *others),) = fusion.gru.all_weights  # one layer, one direction
        inputs[d:] = torch.cat([0 * one, one])  # update gate, candidate state
        for parameter in others:
            parameter[d:] = 0.0
    for said in network.said.values():
        said.weight.copy_(one)  # type: ignore[operator, union-attr]
        said.bias.zero_()  # type: ignore[operator, union-attr]


def vocabulary_with_triplets(
    captions: Sequence[str], triplets: Sequence[Sequence[Triplet]], min_count: int = 4
) -> Vocabulary:
    """The words that captions or triplets (whose nouns and verbs are lemmas) use often enough."""
    plain = build_vocabulary(captions, min_count)
    flat = (triplet for of_caption in triplets for triplet in of_caption)
    lemmas = Counter(word for triplet in flat for word in triplet_words(triplet))
    more = {word for word, n in lemmas.items() if n >= min_count and word not in plain}
    return Vocabulary((*SPECIAL, *sorted({*plain.words[len(SPECIAL) :], *more})))
