"""CLIP's text tower on captions as short as they are, and a tokeniser for small vocabularies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

_WORD = re.compile(r"[a-z0-9']+")


class WordTokenizer:
    """Lower-case words to numbers, for a CLIP with a vocabulary of its own.

    0 pads, 1 begins, 2 stands for every unknown word, 3 … are the vocabulary's words, and the
    last number ends a text: the highest, for open_clip takes the features at the highest number.
    """

    def __init__(self, words: Sequence[str], context_length: int) -> None:
        self.words, self.context_length = tuple(words), context_length
        self._number = {word: 3 + i for i, word in enumerate(self.words)}
        self.end = 3 + len(self.words)

    @property
    def vocab_size(self) -> int:
        return self.end + 1

    def encode(self, text: str) -> list[int]:
        """The numbers of a text's words, without beginning and end."""
        return [self._number.get(word, 2) for word in _WORD.findall(text.lower())]

    def __call__(self, texts: Sequence[str]) -> torch.Tensor:
        """int64 [n, context_length]; what does not fit is cut off before the end token."""
        import torch

        ids = torch.zeros((len(texts), self.context_length), dtype=torch.int64)
        for row, text in enumerate(texts):
            tokens = [1, *self.encode(text)[: self.context_length - 2], self.end]
            ids[row, : len(tokens)] = torch.tensor(tokens)
        return ids


def words_of(texts: Sequence[str]) -> list[str]:
    """The vocabulary of some texts, in alphabetical order."""
    return sorted({word for text in texts for word in _WORD.findall(text.lower())})


def can_be_short(model: Any) -> bool:
    """Whether nothing behind the end token can change a text's features.

    True for CLIP's own text tower: each token sees only those before it, and the features are read
    off at the end token. Then the padding up to 77 tokens, most of the work, need not be computed.
    """
    return (
        hasattr(model, "token_embedding")
        and getattr(model, "text_pool_type", "") == "argmax"
        and getattr(model, "attn_mask", None) is not None
    )


def text_features(model: Any, ids: torch.Tensor) -> torch.Tensor:
    """Features [n, d] of texts [n, length], not normalised, for a model that `can_be_short`."""
    import torch

    length = ids.shape[1]
    dtype = model.transformer.get_cast_dtype()
    x = model.token_embedding(ids).to(dtype) + model.positional_embedding[:length].to(dtype)
    x = model.transformer(x, attn_mask=model.attn_mask[:length, :length])
    x = model.ln_final(x)
    x = x[torch.arange(len(ids), device=ids.device), ids.argmax(dim=-1)]
    projection = model.text_projection
    if projection is None:
        return x  # type: ignore[no-any-return]
    features: torch.Tensor = projection(x) if callable(projection) else x @ projection
    return features
