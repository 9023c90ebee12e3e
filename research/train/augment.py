"""Images changed a little for training: regions left out, left and right exchanged."""

import torch

from metaeval.vision.regions.gold import GoldRegions

Tensor = torch.Tensor

# where x1 and x2 of a region are in the features of gold regions, whose last seven numbers are
# x1 y1 x2 y2 w h area
_X1, _X2 = GoldRegions.dim - 7, GoldRegions.dim - 5


def staying(mask: Tensor, share: float, of_first: float = 0.0) -> Tensor:
    """The mask [n, r] without a share of the regions, drawn anew.

    Of the first ones, which are the whole image, another share is left out, and only where another
    region is left: no image loses all.
    """
    lost = torch.rand(mask.shape, device=mask.device) < share
    lost[:, 0] = False
    if of_first:
        others = (mask & ~lost)[:, 1:].any(dim=1)
        lost[:, 0] = (torch.rand(len(mask), device=mask.device) < of_first) & others
    return mask & ~lost


def to_front(mask: Tensor) -> tuple[Tensor, Tensor]:
    """Places [n, most] that bring an image's regions to the front, and the mask there."""
    order = (~mask).to(torch.uint8).argsort(dim=1, stable=True)
    order = order[:, : max(1, int(mask.sum(dim=1).max()))]
    return order, mask.gather(1, order)


def flipped(features: Tensor) -> Tensor:
    """Gold features with left and right exchanged: x1 becomes 1 − x2 and x2 becomes 1 − x1."""
    out = features.clone()
    out[..., _X1], out[..., _X2] = 1 - features[..., _X2], 1 - features[..., _X1]
    return out


def without_some(
    features: Tensor, boxes: Tensor, mask: Tensor, share: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Leave out a share of the regions, drawn anew, but never an image's first one.

    [n, r, d], [n, r, 4] and [n, r] → the same with the regions that stay moved to the front.
    """
    order, staying_mask = to_front(staying(mask, share))
    wide = order[:, :, None]
    there = staying_mask[:, :, None]
    return (
        features.gather(1, wide.expand(-1, -1, features.shape[2])) * there,
        boxes.gather(1, wide.expand(-1, -1, 4)) * there,
        staying_mask,
    )


def mirrored(
    features: Tensor, boxes: Tensor, mask: Tensor, share: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Exchange left and right in a share of the images, drawn anew: in boxes and in the features
    of gold regions (`flipped`)."""
    swapped = boxes.clone()
    swapped[..., 0], swapped[..., 2] = 1 - boxes[..., 2], 1 - boxes[..., 0]
    chosen = (torch.rand(len(mask), 1, device=mask.device) < share) & mask
    where = chosen[:, :, None]
    return torch.where(where, flipped(features), features), torch.where(where, swapped, boxes), mask
