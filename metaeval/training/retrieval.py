"""How well a model finds the right caption for an image, and the right image for a caption."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt


def recall(
    similarity: npt.NDArray[np.floating], owner: npt.NDArray[np.intp]
) -> dict[str, dict[str, float]]:
    """R@1, R@5 and R@10 both ways, as in the literature on image–text retrieval.

    Parameters
    ----------
    similarity
        [n_images, n_captions].
    owner
        [n_captions], the image that each caption was written for.

    Returns {"image_to_text": {"R@1": …}, "text_to_image": {…}}, shares in [0, 1]. Image → text
    counts where any of the image's captions is among the first k. Ties count against the
    model: the rank is that behind all equal ones. Raises ValueError for similarities that are not
    numbers, of which every comparison would come out in the model's favour.
    """
    if np.isnan(similarity).any():
        raise ValueError("similarity holds values that are not numbers")
    n_images = len(similarity)
    matching = similarity[owner, np.arange(len(owner))]
    best = np.full(n_images, -np.inf)
    np.maximum.at(best, owner, matching)
    foreign = owner[None, :] != np.arange(n_images)[:, None]
    by_image = ((similarity >= best[:, None]) & foreign).sum(axis=1)
    by_caption = (similarity >= matching[None, :]).sum(axis=0) - 1
    return {
        way: {f"R@{k}": round(float((ranks < k).mean()), 4) for k in (1, 5, 10)}
        for way, ranks in (("image_to_text", by_image), ("text_to_image", by_caption))
    }


def rsum(recalls: Mapping[str, Mapping[str, float]]) -> float:
    """The six recalls of `recall` added up, in per cent: at most 600."""
    return round(100 * sum(value for way in recalls.values() for value in way.values()), 2)
