"""SCAN (Lee et al., ECCV 2018): regions and words in one space, compared by cross attention.

Regions go through one linear layer, words through an embedding and a bidirectional GRU whose two
directions are averaged; both end on the unit sphere. The parameters carry the names and shapes of
the authors' checkpoints. For regions that say nothing but a category and a box (`hidden` > 0), a
small network is added to the linear layer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from metaeval.errors import InputError
from metaeval.options import NonNegativeInt, PositiveInt
from metaeval.readers.checkpoints import (
    check_numbers,
    checkpoint_options,
    load_torch_checkpoint,
    load_weights,
)
from metaeval.text.vocabulary import Vocabulary

# Stacked cross attention between regions and words (Lee et al., ECCV 2018), without its detours.
#
# The paper attends to the words with each region (image → text) or to the regions with each word
# (text → image) and takes the cosine of what was attended to. With A = queries · contextᵀ, both of
# unit length, the weights are softmax(λ · l2norm(LeakyReLU(A))), the norm being taken over the
# queries. The attended vector itself is never needed: with weights e before normalisation and the
# Gram matrix G of the context, its cosine with the query q is Σ e·A / (‖q‖ √(eᵀ G e)), and what the
# softmax would divide by drops out. That spares the dimension d of the vectors (160 or 1,024) in
# all products but A and G.
#
# No masks: rows that are padding are zero vectors. As queries they add nothing to a norm, as
# context nothing to Σ e·A nor to eᵀ G e, and their cosine is 0.

LEAK = 0.1  # the slope of LeakyReLU for negative similarities; 0 makes it max(0, ·), Eq. 3 of TIGEr
EPS = 1e-8  # added to norms
_TINY = 1e-30

AttendedLengths = Callable[[torch.Tensor], torch.Tensor]
WAYS = ("i2t", "t2i")  # image → text: regions attend to words; text → image: words to regions


def l2norm(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """x / (‖x‖ + 1e-8) along a dimension, as SCAN defines it."""
    return x / (_length(x, dim, keepdim=True) + EPS)


def cosines(query: torch.Tensor, context: torch.Tensor, smooth: float) -> torch.Tensor:
    """The cosine of each query [n, q, d] with what it attends to in its context [n, c, d].

    Queries and context are regions and words for image → text (TIGEr's grounding vector), words and
    regions for text → image; zero rows are padding. `smooth` is the λ of the softmax over the
    context. Returns [n, q]; 0 for padding.
    """
    products = query @ context.transpose(1, 2)  # [n, q, c]
    lengths = _length(query, 2)
    if query.shape[1] < context.shape[1]:  # then the attended vectors are less work than their Gram
        return cosines_of_products(
            products, lengths, smooth, lambda weights: _length(weights @ context, 2)
        )
    attended = lengths_by_gram(context @ context.transpose(1, 2))
    return cosines_of_products(products, lengths, smooth, attended)


def cosines_of_products(
    products: torch.Tensor,
    lengths: torch.Tensor,
    smooth: float,
    attended: AttendedLengths,
    leak: float = LEAK,
) -> torch.Tensor:
    """`cosines` from products [n, q, c] of queries and context, and the queries' lengths [n, q].

    `attended` says how long the attended vectors are, [n, q], by their weights [n, q, c].
    """
    weights = _weights(products, smooth, dim=1, leak=leak)
    return _cosine((weights * products).sum(dim=2), attended(weights), lengths)


def lengths_by_gram(gram: torch.Tensor) -> AttendedLengths:
    """Lengths for `cosines_of_products` from the Gram matrices [n, c, c] of the context."""

    def length(weights: torch.Tensor) -> torch.Tensor:
        return ((weights @ gram) * weights).sum(dim=2).clamp(min=_TINY).sqrt()

    return length


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
    weights = _weights(products, smooth, dim=2)
    dot = (weights * products).sum(dim=1)
    flat = weights.view(k, c, q * n)
    square = torch.bmm(context @ context.transpose(1, 2), flat).mul_(flat).sum(dim=1)
    attended = square.clamp(min=_TINY).sqrt().view(k, q, n)  # rounding can make it negative
    return _cosine(dot, attended, _length(query, 2).T).sum(dim=1)


def _weights(products: torch.Tensor, smooth: float, dim: int, leak: float = LEAK) -> torch.Tensor:
    """Attention before normalisation: exp(λ · l2norm(LeakyReLU(A))), the norm over `dim`.

    The exponents lie in [-λ, λ], so nothing overflows and no maximum need be taken off.
    """
    leaky = torch.nn.functional.leaky_relu(products, leak)
    return (leaky * (smooth / (_length(leaky, dim, keepdim=True) + EPS))).exp_()


def _cosine(dot: torch.Tensor, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """A product divided by the two lengths; 0 for padding."""
    return dot / (one * other).clamp(min=_TINY)


def _length(x: torch.Tensor, dim: int, keepdim: bool = False) -> torch.Tensor:
    """‖x‖, with a gradient of 0 at 0 (padding); torch's own is slow except over the last dim."""
    if dim in (-1, x.ndim - 1):
        return torch.linalg.vector_norm(x, dim=dim, keepdim=keepdim)
    return x.square().sum(dim=dim, keepdim=keepdim).clamp_(min=_TINY).sqrt_()


@dataclass(frozen=True, slots=True)
class ScanShape:
    """What makes two SCAN networks of the same shape.

    `dim` numbers describe a region, `embed` is the dimension of the common space, `word` that of
    the word embedding, `words` the vocabulary's size. `hidden` is the width of the network next to
    the linear layer (0, the authors': none); with `context` it sees the whole image as well, with
    `whole_only` it serves the region that is the whole image alone.
    `grid` is the side of the grid that gold regions are given (0: none; `vision/regions/gold.py`),
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
    """The two encoders; what is done with their vectors is above."""

    def __init__(self, shape: ScanShape) -> None:
        super().__init__()
        self.shape = shape
        self.image = RegionEncoder(shape)
        self.text = WordEncoder(shape)


# the parts of an official checkpoint, `model_best.pth.tar`: {"epoch", "model": [image state, text
# state], "best_rsum", "opt": Namespace, "Eiters"}
_NAMES = ("model[0] (images)", "model[1] (text)")
NORM = "clipped_l2norm"  # the normalisation of attention that the published models use


def load_checkpoint(path: Path, vocabulary: Path) -> tuple[Scan, Vocabulary]:
    """The network in an official checkpoint, in eval mode, and its words.

    Nothing in the file is run; the network's shape is read off its weights, and its options where
    they are there.

    Raises InputError, naming the file and the field, for a file that is not such a checkpoint,
    whose network is of another kind than SCAN's published ones, or whose vocabulary has another
    size.
    """
    words = Vocabulary.load(vocabulary)
    checkpoint = load_torch_checkpoint(path)
    if not isinstance(checkpoint, Mapping) or "model" not in checkpoint:
        raise InputError("is not a checkpoint of SCAN: it has no 'model'", file=path)
    states = checkpoint["model"]
    if not isinstance(states, list | tuple) or len(states) != 2:
        raise InputError("should be two state dictionaries", file=path, field="model")
    image, text = (_state(state, path, name) for state, name in zip(states, _NAMES, strict=True))
    options = checkpoint_options(checkpoint.get("opt"))
    if (norm := options.get("raw_feature_norm", NORM)) != NORM:
        raise InputError(f"is '{norm}'; only {NORM} is known", file=path, field="raw_feature_norm")
    if "fc.weight_v" in image:
        image = _without_weight_norm(image, path)
    shape = _shape(image, text, options, path)
    if shape.words != len(words):
        problem = f"has {len(words):,} words, the checkpoint {path} {shape.words:,}"
        raise InputError(problem, file=vocabulary)
    model = Scan(shape)
    load_weights(model.image, image, path)
    load_weights(model.text, text, path)
    return model.eval(), words


def _state(state: Any, path: Path, name: str) -> dict[str, torch.Tensor]:
    if not isinstance(state, Mapping):
        raise InputError("should be a state dictionary", file=path, field=name)
    # DataParallel puts its own name before each
    tensors = {str(key).removeprefix("module."): value for key, value in state.items()}
    for key, value in tensors.items():
        check_numbers(key, value, path)
        if not value.is_floating_point():
            raise InputError(f"holds numbers of {value.dtype}", file=path, field=key)
    return {key: value.float() for key, value in tensors.items()}


def _shape(
    image: Mapping[str, torch.Tensor],
    text: Mapping[str, torch.Tensor],
    options: Mapping[str, object],
    path: Path,
) -> ScanShape:
    fc, words = _matrix(image, "fc.weight", path), _matrix(text, "embed.weight", path)
    layers = sum(name.startswith("rnn.weight_hh_l") for name in text if "reverse" not in name)
    both_ways = any(name.endswith("_reverse") for name in text)
    return ScanShape(
        dim=fc.shape[1],
        words=words.shape[0],
        embed=fc.shape[0],
        word=words.shape[1],
        layers=max(1, layers),
        both_ways=both_ways,
        region_norm=not options.get("no_imgnorm", False),
        text_norm=not options.get("no_txtnorm", False),
    )


def _matrix(state: Mapping[str, torch.Tensor], name: str, path: Path) -> torch.Tensor:
    value = state.get(name)
    if value is None:
        raise InputError("is missing", file=path, field=name)
    if value.ndim != 2:
        raise InputError(f"has {value.ndim} dimensions instead of 2", file=path, field=name)
    return value


def _without_weight_norm(state: dict[str, torch.Tensor], path: Path) -> dict[str, torch.Tensor]:
    """The plain matrix of a layer that keeps length and direction apart (`weight_norm`)."""
    direction = _matrix(state, "fc.weight_v", path)
    if (length := state.get("fc.weight_g")) is None:
        raise InputError("is missing", file=path, field="fc.weight_g")
    rest = {k: v for k, v in state.items() if k not in ("fc.weight_v", "fc.weight_g")}
    return {**rest, "fc.weight": direction * (length / direction.norm())}
