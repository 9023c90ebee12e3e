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
from typing import Any, Literal

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
TINY = 1e-30

AttendedLengths = Callable[[torch.Tensor], torch.Tensor]
WAYS = ("i2t", "t2i")  # image → text: regions attend to words; text → image: words to regions


def l2norm(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """x / (‖x‖ + 1e-8) along a dimension, as SCAN defines it."""
    return x / (vector_lengths(x, dim, keepdim=True) + EPS)


def cosines_of_products(
    products: torch.Tensor,
    lengths: torch.Tensor,
    smooth: float,
    attended: AttendedLengths,
    leak: float = LEAK,
) -> torch.Tensor:
    """The cosine of each query with what it attends to in its context, [n, q]; 0 for padding.

    From products [n, q, c] of queries and context, and the queries' lengths [n, q]; `smooth` is
    the λ of the softmax over the context.

    `attended` says how long the attended vectors are, [n, q], by their weights [n, q, c].
    """
    weights = attention_weights(products, smooth, dim=1, leak=leak)
    return quotient((weights * products).sum(dim=2), attended(weights), lengths)


def lengths_by_gram(gram: torch.Tensor) -> AttendedLengths:
    """Lengths for `cosines_of_products` from the Gram matrices [n, c, c] of the context."""

    def length(weights: torch.Tensor) -> torch.Tensor:
        return ((weights @ gram) * weights).sum(dim=2).clamp(min=TINY).sqrt()

    return length


def attention_weights(
    products: torch.Tensor, smooth: float, dim: int, leak: float = LEAK
) -> torch.Tensor:
    """Attention before normalisation: exp(λ · l2norm(LeakyReLU(A))), the norm over `dim`.

    The exponents lie in [-λ, λ], so nothing overflows and no maximum need be taken off.
    """
    leaky = torch.nn.functional.leaky_relu(products, leak)
    return (leaky * (smooth / (vector_lengths(leaky, dim, keepdim=True) + EPS))).exp_()


def quotient(dot: torch.Tensor, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """A product divided by the two lengths; 0 for padding."""
    return dot / (one * other).clamp(min=TINY)


def vector_lengths(x: torch.Tensor, dim: int, keepdim: bool = False) -> torch.Tensor:
    """‖x‖, with a gradient of 0 at 0 (padding); torch's own is slow except over the last dim."""
    if dim in (-1, x.ndim - 1):
        return torch.linalg.vector_norm(x, dim=dim, keepdim=keepdim)
    return x.square().sum(dim=dim, keepdim=keepdim).clamp_(min=TINY).sqrt_()


@dataclass(frozen=True, slots=True)
class ScanShape:
    """What makes two SCAN networks of the same shape.

    `dim` numbers describe a region, `embed` is the dimension of the common space, `word` that of
    the word embedding, `words` the vocabulary's size. `hidden` is the width of the network next to
    the linear layer (0, the authors': none); with `context` it sees the whole image as well, with
    `whole_only` it serves the region that is the whole image alone.
    `grid` is the side of the grid that gold regions are given (0: none; `vision/regions/gold.py`),
    whose cells count as whole images here.
    `region_norm`, `text_norm`: whether vectors are scaled to unit length. `layers` and `both_ways`
    of the GRU are in cards of weights, and are always these.
    """

    dim: int
    words: int
    embed: PositiveInt = 1024
    word: PositiveInt = 300
    hidden: NonNegativeInt = 0
    context: bool = False
    whole_only: bool = False
    grid: NonNegativeInt = 0
    layers: Literal[1] = 1
    both_ways: Literal[True] = True
    region_norm: bool = True
    text_norm: bool = True

    @property
    def wholes(self) -> int:
        """How many first regions of an image are not one object: the whole image, and cells."""
        return 1 + self.grid**2


class RegionEncoder(nn.Module):
    """Region features to vectors; see `rows`."""

    def __init__(self, shape: ScanShape) -> None:
        super().__init__()
        self._norm, self._context, self.wholes = shape.region_norm, shape.context, shape.wholes
        self._whole_only = shape.whole_only
        self.fc = nn.Linear(shape.dim, shape.embed)
        nn.init.xavier_uniform_(self.fc.weight)
        nn.init.zeros_(self.fc.bias)
        self.hidden: nn.Module | None = None
        if shape.hidden:
            self.hidden = nn.Linear((1 + shape.context) * shape.dim, shape.hidden)
            self.out = nn.Linear(shape.hidden, shape.embed, bias=False)

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
    features: torch.Tensor, mask: torch.Tensor, wholes: int = 1
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Of all regions: their features [k, dim], those of their image's region 0, which is the whole
    image, and whether they are not one object, 1 or 0 [k, 1]: the first `wholes` of an image."""
    whole = features[:, :1].expand_as(features)[mask]
    first = torch.zeros_like(mask)
    first[:, :wholes] = True
    return features[mask], whole, first[mask][:, None].to(features.dtype)


class WordEncoder(nn.Module):
    """Word ids to word states, the two directions of a GRU averaged; see `grounding.WordStates`."""

    def __init__(self, shape: ScanShape) -> None:
        super().__init__()
        self.unit_length = shape.text_norm
        self.embed = nn.Embedding(shape.words, shape.word)
        nn.init.uniform_(self.embed.weight, -0.1, 0.1)
        self.rnn = nn.GRU(shape.word, shape.embed, batch_first=True, bidirectional=True)


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
    shape = _shape(image, text, options, path)
    if shape.words != len(words):
        raise InputError(
            f"has {len(words):,} words, the checkpoint {path} {shape.words:,}", file=vocabulary
        )
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
    return ScanShape(
        dim=fc.shape[1],
        words=words.shape[0],
        embed=fc.shape[0],
        word=words.shape[1],
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
