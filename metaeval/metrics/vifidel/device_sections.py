"""VIFIDEL's word distances and importance weights on a GPU: tensors in, tensors out.

On a processor `words.py` and `distance.py` compute the same in numpy, to about 1e-15.
"""

from __future__ import annotations

import torch


def squared_distances(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Between the vectors [..., m, d] and [..., n, d]: [..., m, n].

    From their differences: products of matrices lose the digits of small distances.
    """
    return torch.cdist(left, right, compute_mode="donot_use_mm_for_euclid_dist").square()


def importance(words: torch.Tensor, others: torch.Tensor, member: torch.Tensor) -> torch.Tensor:
    """The importance weights of words in their images, [i, w]; NaN where no reference has a word.

    Parameters
    ----------
    words
        [i, w, d] The vectors of w words of each of i images.
    others
        [i, t, d] The vectors of the words of the image's references.
    member
        bool [i, r, t] Which of them each of r references has.
    """
    squares = squared_distances(words, others)
    nearest = torch.where(member[:, None], squares[:, :, None], torch.inf).amin(dim=-1)
    usable = member.any(dim=-1)[:, None]
    return torch.where(usable, nearest, 0.0).sum(dim=-1) / (4 * usable.sum(dim=-1))
