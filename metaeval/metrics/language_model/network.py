"""A recurrent language model of captions: a one-layer GRU, its output words tied to its input's."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from metaeval.text.vocabulary import PAD, START


@dataclass(frozen=True, slots=True)
class LanguageShape:
    """Sizes: the words known, and the numbers of a word's vector and of the GRU's state."""

    words: int
    word: int = 128
    hidden: int = 256


class CaptionLanguageModel(nn.Module):
    """log p(word | words before it), for the words of captions and their `<end>`.

    h_t = GRU(x_t, h_(t-1)) of word vectors x_t; p = softmax over all words (but `<pad>` and
    `<start>`, which never follow) of E (W h_t + b) + c, E being the table of word vectors. The
    buffer `unigrams` [words] holds the logarithm of each word's share of the training captions'
    words, `<end>` among them.
    """

    def __init__(self, shape: LanguageShape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.words, shape.word)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.gru = nn.GRU(shape.word, shape.hidden, batch_first=True)
        self.down = nn.Linear(shape.hidden, shape.word)
        self.bias = nn.Parameter(torch.zeros(shape.words))
        self.dropout = nn.Dropout(0.3)
        self.unigrams: torch.Tensor
        self.register_buffer("unigrams", torch.zeros(shape.words))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """[n, length - 1] log p of each token behind the first, which is `<start>`.

        `tokens` int64 [n, length]. Padding does not change anything before it.
        """
        states, _ = self.gru(self.dropout(self.embedding(tokens[:, :-1])))
        logits = self.down(self.dropout(states)) @ self.embedding.weight.T + self.bias
        never = torch.zeros_like(self.bias)
        never[[PAD, START]] = float("-inf")
        logs = (logits + never).log_softmax(dim=-1)
        return logs.gather(2, tokens[:, 1:, None])[..., 0]
