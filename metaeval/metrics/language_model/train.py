"""Train the language model on captions of images that are not to be scored.

    python -m metaeval.metrics.language_model.train FOLDER --split karpathy_test --exclude val2017

writes weights with a card; the dev images choose the epoch. No caption of an image of `--exclude`
is read, and the card's list of images keeps the metric from scoring any that was.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import nn

from metaeval.text.vocabulary import PAD, START, batch
from metaeval.training.dataset import (
    add_data_options,
    command_line,
    read_caption_data,
)
from metaeval.training.loop import TrainingSettings, fit
from metaeval.weights import pretrained

# A recurrent language model of captions: a one-layer GRU, its output words tied to its input's.


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


BATCH = 64


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_data_options(parser, min_count=3)
    options = parser.parse_args(arguments)
    data = read_caption_data(options)
    train, dev = (
        batch(data.vocabulary.encode_all([c for group in data.of(images) for c in group]))
        for images in (data.train, data.dev)
    )
    torch.manual_seed(options.seed)
    model = CaptionLanguageModel(LanguageShape(len(data.vocabulary)))
    model.unigrams.copy_(log_unigrams(train[0], len(data.vocabulary)))

    def batches(epoch: int, rng: np.random.Generator) -> list[torch.Tensor]:
        """Captions of about one length together, in an order of the epoch."""
        order = np.lexsort((rng.random(len(train[1])), train[1].numpy()))
        parts = np.array_split(order, math.ceil(len(order) / BATCH))
        return [torch.from_numpy(parts[i]) for i in rng.permutation(len(parts))]

    def loss(rows: torch.Tensor, epoch: int) -> torch.Tensor:
        lengths = train[1][rows]
        tokens = train[0][rows, : int(lengths.max())]
        logs: torch.Tensor = model(tokens).masked_fill(tokens[:, 1:] == PAD, 0)
        return -logs.sum() / (lengths - 1).sum()

    def validate(network: CaptionLanguageModel) -> Mapping[str, object]:
        return {"dev_log_probability": mean_log_probability(network, *dev)}

    settings = TrainingSettings(
        epochs=options.epochs,
        learning_rate=3e-3,
        schedule="cosine",
        warmup=0.3,
        average=0.99,
        select="dev_log_probability",
        seed=options.seed,
    )
    trained = fit(model, batches, loss, validate, settings, title="language model")
    pretrained.half(model)
    card = {
        "kind": "lm",
        "variant": "",
        "regions": "none",
        "shape": asdict(model.shape),
        "command": command_line("metaeval.metrics.language_model.train", arguments),
        "seed": options.seed,
        "data": data.card(min_count=options.min_count),
        "drawn": [],
        "epochs": len(trained.history),
        "dev_perplexity": round(math.exp(-mean_log_probability(model, *dev)), 2),
    }
    saved = pretrained.save(options.out, model, data.vocabulary, card, data.dataset)
    print(f"{saved.label}: perplexity {card['dev_perplexity']} on {len(data.dev):,} dev images")


def log_unigrams(tokens: torch.Tensor, words: int) -> torch.Tensor:
    """[words] The logarithm of each word's share, one added to every count, `<pad>` and `<start>`
    left out (they are given the share of a word that never occurs)."""
    counts = torch.bincount(tokens[:, 1:].flatten(), minlength=words).double()
    counts[PAD] = 0
    return ((counts + 1) / (counts + 1).sum()).log().float()


@torch.inference_mode()
def mean_log_probability(
    model: CaptionLanguageModel, tokens: torch.Tensor, lengths: torch.Tensor
) -> float:
    """Per word, `<end>` counted, over captions [n, longest]."""
    model.eval()
    total = 0.0
    for start in range(0, len(tokens), 512):
        part, longest = tokens[start : start + 512], int(lengths[start : start + 512].max())
        part = part[:, :longest]
        total += float(model(part).masked_fill(part[:, 1:] == PAD, 0).double().sum())
    return total / float((lengths - 1).sum())


if __name__ == "__main__":
    main()
