"""Train the language model on captions of images that are not to be scored.

    python -m research.language_model FOLDER --split karpathy_test --exclude val2017

writes weights with a card; the dev images choose the epoch. No caption of an image of `--exclude`
is read, and the card's list of images keeps the metric from scoring any that was.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np
import torch

from metaeval.metrics.language_model.network import CaptionLanguageModel, LanguageShape
from metaeval.text.vocabulary import PAD
from research.train.dataset import (
    add_data_options,
    command_line,
    read_caption_data,
)
from research.train.loop import TrainingSettings, fit
from research.vocabulary import batch
from research.weights import half, save_weights

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
    half(model)
    card = {
        "kind": "lm",
        "variant": "",
        "regions": "none",
        "shape": asdict(model.shape),
        "command": command_line("research.language_model", arguments),
        "seed": options.seed,
        "data": data.card(min_count=options.min_count),
        "drawn": [],
        "epochs": len(trained.history),
        "dev_perplexity": round(math.exp(-mean_log_probability(model, *dev)), 2),
    }
    saved = save_weights(options.out, model, data.vocabulary, card, data.dataset)
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
