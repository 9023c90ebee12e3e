"""Vocabularies of captions, made, written, and as the tensors that trainings read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.text.vocabulary import SPECIAL, Vocabulary, pad_sequences, tokenise

if TYPE_CHECKING:
    import torch


def build_vocabulary(captions: Iterable[str], min_count: int = 4) -> Vocabulary:
    """The words that occur at least `min_count` times in the captions, sorted.

    Captions are split by the PTB tokeniser.
    """
    counts = Counter(word for words in tokenise(list(captions)) for word in words)
    frequent = sorted(w for w, c in counts.items() if c >= min_count and w not in SPECIAL)
    return Vocabulary((*SPECIAL, *frequent))


def save_vocabulary(vocabulary: Vocabulary, path: Path) -> None:
    """Write what `Vocabulary.load` reads of SCAN's form; overwrites."""
    numbers = {word: k for k, word in enumerate(vocabulary.words)}
    value: dict[str, object] = {"word2idx": numbers, "tokenizer": vocabulary.tokenizer}
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    path.write_text(text + "\n", encoding="utf-8")


def batch(sequences: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """`pad_sequences`, as tensors."""
    import torch

    tokens, lengths = pad_sequences(sequences)
    return torch.from_numpy(tokens), torch.from_numpy(lengths)
