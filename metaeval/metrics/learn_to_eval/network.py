"""The network of LearnToEval: is this caption a person's, given a reference and the image?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from metaeval.vision.regions.base import Regions


def mean_regions(regions: Regions) -> npt.NDArray[np.float32]:
    """[n, dim] The mean of each image's regions; zeros where there is none."""
    counts = regions.mask.sum(axis=1)
    sums = (regions.features * regions.mask[..., None]).sum(axis=1, dtype=np.float64)
    return (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)


SPREAD = 0.5  # standard deviation of the words' first vectors


@dataclass(frozen=True, slots=True)
class JudgeShape:
    """Sizes.

    Attributes
    ----------
    words, word, hidden, dense
        Words known; numbers of a word's vector, of the LSTM's state and of the hidden layer.
    dim
        Numbers of a region; 0: the image is not looked at.
    product
        Whether the candidate's products with reference and image are inputs of the hidden layer
        too.
    """

    words: int
    word: int = 96
    hidden: int = 128
    dense: int = 128
    dim: int = 0
    product: bool = True


class CaptionJudge(nn.Module):
    """The probability that a candidate is a person's caption of the image.

    As in the authors' code: one LSTM reads reference and candidate, and its output at `<end>` is
    the caption's vector; the image's feature (here the mean of its regions) goes through one linear
    layer; the vectors of image, reference and candidate, side by side, go through a hidden layer
    with ReLU to two logits, "human" and "not". `product` adds the elementwise products of the
    candidate with the reference and with the image: of the compact bilinear pooling that the paper
    also tries, the part that a training of some ten thousand captions can afford. The vectors are
    brought to one scale (LayerNorm) before: an LSTM's outputs are small numbers, and their products
    so small that a caption of another image went unnoticed.
    """

    def __init__(self, shape: JudgeShape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.words, shape.word)
        nn.init.normal_(self.embedding.weight, std=SPREAD)
        self.lstm = nn.LSTM(shape.word, shape.hidden, batch_first=True)
        self.scale = nn.LayerNorm(shape.hidden)
        self.image: nn.Module | None = None
        if shape.dim:
            self.image = nn.Sequential(
                nn.Linear(shape.dim, shape.hidden), nn.LayerNorm(shape.hidden)
            )
        given = 1 + bool(shape.dim)
        parts = 1 + given * (1 + shape.product)
        self.hidden = nn.Linear(parts * shape.hidden, shape.dense)
        self.logits = nn.Linear(shape.dense, 2)
        self.dropout = nn.Dropout(0.3)

    def read(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """[n, hidden] The LSTM's output at each caption's `<end>`, scaled; tokens [n, longest]."""
        outputs, _ = self.lstm(self.dropout(self.embedding(tokens)))
        last = (lengths - 1).to(tokens.device)[:, None, None].expand(-1, 1, outputs.shape[2])
        return self.dropout(self.scale(outputs.gather(1, last)[:, 0]))

    def see(self, means: torch.Tensor) -> torch.Tensor:
        """[n, hidden] of the images' mean regions [n, dim]."""
        assert self.image is not None
        return self.image(means)

    def judge(
        self, images: torch.Tensor | None, references: torch.Tensor, candidates: torch.Tensor
    ) -> torch.Tensor:
        """[n, 2] Logits of "human" and "not", of the three vectors of n pairs.

        `None` for the images: they are not used, and replaced by zeros.
        """
        given = [references]
        if self.image is not None:
            given = [torch.zeros_like(references) if images is None else images, references]
        parts = [*given, candidates]
        if self.shape.product:
            parts += [each * candidates for each in given]
        hidden = torch.relu(self.hidden(torch.cat(parts, dim=1)))
        return self.logits(self.dropout(hidden))
