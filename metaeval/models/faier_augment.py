"""Images changed a little for training: regions left out, left and right exchanged."""

from __future__ import annotations

import torch

from metaeval.models.regions_gold import GoldRegions

Tensor = torch.Tensor

# where x1 and x2 of a region are in the features of gold regions, whose last seven numbers are
# x1 y1 x2 y2 w h area
_X1, _X2 = GoldRegions.dim - 7, GoldRegions.dim - 5


def without_some(
    features: Tensor, boxes: Tensor, mask: Tensor, share: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Leave out a share of the regions, drawn anew, but never an image's first one.

    [n, r, d], [n, r, 4] and [n, r] → the same with the regions that stay moved to the front.
    """
    lost = torch.rand(mask.shape, device=mask.device) < share
    lost[:, 0] = False
    kept = mask & ~lost
    order = (~kept).to(torch.uint8).argsort(dim=1, stable=True)
    order = order[:, : max(1, int(kept.sum(dim=1).max()))]
    wide = order[:, :, None]
    kept = kept.gather(1, order)
    there = kept[:, :, None]
    return (
        features.gather(1, wide.expand(-1, -1, features.shape[2])) * there,
        boxes.gather(1, wide.expand(-1, -1, 4)) * there,
        kept,
    )


def mirrored(
    features: Tensor, boxes: Tensor, mask: Tensor, share: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Exchange left and right in a share of the images, drawn anew: x1 becomes 1 − x2 and x2
    becomes 1 − x1, in boxes and in the features of gold regions."""
    turned, swapped = features.clone(), boxes.clone()
    turned[..., _X1], turned[..., _X2] = 1 - features[..., _X2], 1 - features[..., _X1]
    swapped[..., 0], swapped[..., 2] = 1 - boxes[..., 2], 1 - boxes[..., 0]
    chosen = (torch.rand(len(mask), 1, device=mask.device) < share) & mask
    where = chosen[:, :, None]
    return torch.where(where, turned, features), torch.where(where, swapped, boxes), mask
