"""A linear classifier over named features, with whole numbers for weights: the same everywhere."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from metaeval.readers.arrays import ArrayArchive

_MOST_CONTEXTS = 100_000


class Linear:
    """Features → the score of each class.

    Parameters
    ----------
    classes
        The names of the classes.
    features
        The names of the features, in the order of `weights`.
    weights
        int16 [features, classes].

    Attributes
    ----------
    decided
        What was chosen in a context; emptied when it has grown to 100,000 contexts.
    """

    def __init__(
        self, classes: Sequence[str], features: Sequence[str], weights: npt.NDArray[np.int16]
    ) -> None:
        self.classes = list(classes)
        self._rows = {name: row for row, name in enumerate(features)}
        self._weights = weights
        self.decided: dict[Hashable, str] = {}

    def decide(self, context: Hashable, choice: str) -> str:
        """Keep what was chosen in a context, and return it."""
        if len(self.decided) >= _MOST_CONTEXTS:
            self.decided.clear()
        self.decided[context] = choice
        return choice

    def scores(self, features: Sequence[str]) -> npt.NDArray[np.int64]:
        """The sum of the weights of those features that are known: int64 [classes]."""
        rows = self._rows
        known = [row for name in features if (row := rows.get(name)) is not None]
        return self._weights[known].sum(axis=0, dtype=np.int64)

    @classmethod
    def load(cls, file: Path) -> Linear:
        """The classifier that `save` has written."""
        with ArrayArchive(file) as arrays:
            classes, features = (
                arrays.array(part).tobytes().decode().split("\n")
                for part in ("classes", "features")
            )
            values, columns, counts = map(arrays.array, ("values", "columns", "counts"))
        weights = np.zeros((len(features), len(classes)), dtype=np.int16)
        weights[np.repeat(np.arange(len(features)), counts), columns] = values
        return cls(classes, features, weights)

    def save(self, file: Path, least: int = 1) -> None:
        """Write the names, and the weights of at least `least` either way; the others are lost."""
        weights = np.where(np.abs(self._weights) >= least, self._weights, 0)
        nonzero = (weights != 0).sum(axis=1) > 0
        weights = weights[nonzero]
        rows, columns = np.nonzero(weights)
        names = list(self._rows)
        features = [names[row] for row in np.flatnonzero(nonzero)]
        np.savez_compressed(
            file,
            classes=_packed(self.classes),
            features=_packed(features),
            values=weights[rows, columns],
            columns=columns.astype(np.uint8),
            counts=np.bincount(rows, minlength=len(features)).astype(np.uint8),
        )


def _packed(names: Sequence[str]) -> npt.NDArray[np.uint8]:
    return np.frombuffer("\n".join(names).encode(), dtype=np.uint8)
