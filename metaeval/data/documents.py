"""The documents that metrics see, where several captions are compared with the same references."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def documents_by_references(
    images: Sequence[str], references: Sequence[tuple[str, ...]]
) -> tuple[tuple[str, ...], npt.NDArray[np.intp], list[int]]:
    """One document for each image with the same references.

    Parameters
    ----------
    images, references
        Of each of n captions.

    Returns
    -------
    The documents' ids, ascending (an image that is there with other references, too, gets
    a number); the document of each caption [n]; and one caption of each document.

    >>> documents_by_references(["b", "a", "b", "b"], [("x",), ("x",), ("y",), ("x",)])
    (('a', 'b', 'b\\t2'), array([1, 0, 2, 1]), [1, 3, 2])
    """
    given = list(zip(images, references, strict=True))
    one = {key: j for j, key in enumerate(given)}
    seen: dict[str, int] = {}
    name: dict[tuple[str, tuple[str, ...]], str] = {}
    for key in sorted(one):
        image = key[0]
        seen[image] = seen.get(image, 0) + 1
        name[key] = image if seen[image] == 1 else f"{image}\t{seen[image]}"
    order = sorted(one, key=name.__getitem__)
    place = {key: p for p, key in enumerate(order)}
    index = np.array([place[key] for key in given], dtype=np.intp)
    return tuple(name[key] for key in order), index, [one[key] for key in order]
