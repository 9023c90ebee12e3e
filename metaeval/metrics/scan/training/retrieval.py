"""All similarities of many images with many captions, and how well they retrieve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from metaeval.metrics.scan.attention import WAYS, mean_cosines
from metaeval.metrics.scan.network import Scan
from metaeval.progress import progress_bar
from metaeval.training.dataset import EncodedCaptions
from metaeval.training.retrieval import recall, rsum
from metaeval.vision.regions.base import Regions

# images and captions per block: what fits a processor's cache
_BLOCKS = {"cpu": (16, 32), "cuda": (256, 256)}
_CAPTIONS = 256  # encoded at a time


def all_pairs(
    regions: torch.Tensor,
    n_regions: torch.Tensor,
    words: torch.Tensor,
    n_words: torch.Tensor,
    smooth: float,
    ways: Sequence[str] = WAYS,
    progress: str | None = None,
) -> dict[str, torch.Tensor]:
    """`mean_cosines` for any number of images and captions, without their padding.

    Images are taken by their number of regions, captions by their number of words, so that the
    blocks hold little else. Arguments as for `mean_cosines`; `progress` titles a bar on stderr.
    """
    sizes = _BLOCKS["cuda" if regions.is_cuda else "cpu"]
    images = torch.split(torch.argsort(n_regions, stable=True), sizes[0])
    captions = torch.split(torch.argsort(n_words, stable=True), sizes[1])
    shape, dtype = (len(regions), len(words)), torch.promote_types(regions.dtype, torch.float32)
    similarities = {way: regions.new_empty(shape, dtype=dtype) for way in ways}
    for rows in progress_bar(images, desc=progress) if progress else images:
        n = n_regions[rows]
        vectors = regions[rows, : int(n.max())]
        for columns in captions:
            m = n_words[columns]
            block = mean_cosines(vectors, n, words[columns, : int(m.max())], m, smooth, ways)
            for way, part in block.items():
                similarities[way][rows[:, None], columns[None, :]] = part.to(dtype)
    return similarities


@torch.inference_mode()
def retrieval(
    model: Scan, regions: Regions, captions: EncodedCaptions, smooth: float
) -> Mapping[str, object]:
    """R@1, R@5 and R@10 among these images and captions, and further measures of the weights.

    Returns {"rsum": the sum of the six recalls in per cent, "image_to_text", "text_to_image": the
    recalls as shares, each by the sum of both similarities; "rsum_i2t", "rsum_t2i": the same sums
    by one similarity alone; "human_cosine": the mean over all captions of the mean cosine of their
    own image's regions, whose sign TIGEr depends on}.
    """
    device = next(model.parameters()).device
    features, _, mask = regions.tensors(device)
    vectors = model.image(features, mask)
    longest = captions.tokens.shape[1]
    states = []
    for start in range(0, len(captions), _CAPTIONS):
        ids, lengths = captions.pick(torch.arange(start, min(start + _CAPTIONS, len(captions))))
        words = model.text(ids.to(device), lengths)
        states.append(torch.nn.functional.pad(words, (0, 0, 0, longest - words.shape[1])))
    similarities = all_pairs(
        vectors, mask.sum(dim=1), torch.cat(states), captions.lengths.to(device), smooth
    )
    i2t, t2i = (similarities[way].double().cpu().numpy() for way in WAYS)
    if not (np.isfinite(i2t).all() and np.isfinite(t2i).all()):
        raise FloatingPointError("similarities are not finite: lower the learning rate")
    both = recall(i2t + t2i, captions.owner)
    own_cosine = i2t[captions.owner, np.arange(len(captions))]
    return {
        "rsum": rsum(both),
        **both,
        "rsum_i2t": rsum(recall(i2t, captions.owner)),
        "rsum_t2i": rsum(recall(t2i, captions.owner)),
        "human_cosine": round(float(own_cosine.mean()), 4),
    }
