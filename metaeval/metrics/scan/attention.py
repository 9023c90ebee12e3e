"""Stacked cross attention between regions and words (Lee et al., ECCV 2018), without its detours.

The paper attends to the words with each region (image → text) or to the regions with each word
(text → image) and takes the cosine of what was attended to. With A = queries · contextᵀ, both of
unit length, the weights are softmax(λ · l2norm(LeakyReLU(A))), the norm being taken over the
queries. The attended vector itself is never needed: with weights e before normalisation and the
Gram matrix G of the context, its cosine with the query q is Σ e·A / (‖q‖ √(eᵀ G e)), and what the
softmax would divide by drops out. That spares the dimension d of the vectors (160 or 1,024) in all
products but A and G.

No masks: rows that are padding are zero vectors. As queries they add nothing to a norm, as context
nothing to Σ e·A nor to eᵀ G e, and their cosine is 0.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

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
