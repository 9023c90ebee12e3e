"""What captions are compared with: an image, once for each set of references that it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class ReferenceItems(NamedTuple):
    """The distinct images with references of n captions.

    Attributes
    ----------
    image_ids, references
        m items in ascending order. An image keeps its id: it occurs once for each set of
        references that some caption of it is compared with.
    caption
        m: one caption of each item.
    of_caption
        intp [n]: the item of each caption.
    """

    image_ids: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    caption: list[int]
    of_caption: npt.NDArray[np.intp]

    def sums(self, counts: Sequence[int]) -> tuple[int, ...]:
        """m sums of a number of each caption, over the captions of an item.

        >>> items_by_references(["b", "a", "b"], [(), (), ()]).sums([1, 10, 100])
        (10, 101)
        """
        totals = np.zeros(len(self.image_ids), dtype=np.int64)
        np.add.at(totals, self.of_caption, counts)
        return tuple(totals.tolist())


def items_by_references(
    images: Sequence[str], references: Sequence[tuple[str, ...]]
) -> ReferenceItems:
    """The items of n captions: their distinct (image, references).

    >>> items = items_by_references(["b", "a", "b", "b"], [("x",), ("x",), ("y",), ("x",)])
    >>> items.image_ids, items.caption, items.of_caption.tolist()
    (('a', 'b', 'b'), [1, 0, 2], [1, 0, 2, 1])
    """
    given = list(zip(images, references, strict=True))
    first = {item: j for j, item in reversed(list(enumerate(given)))}
    order = sorted(first)
    place = {item: p for p, item in enumerate(order)}
    of_caption = np.array([place[item] for item in given], dtype=np.intp)
    return ReferenceItems(
        tuple(image for image, _ in order),
        tuple(texts for _, texts in order),
        [first[item] for item in order],
        of_caption,
    )
