"""A linear classifier over named features, with whole numbers for weights: the same everywhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt


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
    """

    def __init__(
        self, classes: Sequence[str], features: Sequence[str], weights: npt.NDArray[np.int16]
    ) -> None:
        self.classes = list(classes)
        self._rows = {name: row for row, name in enumerate(features)}
        self._weights = weights

    def scores(self, features: Sequence[str]) -> npt.NDArray[np.int64]:
        """The sum of the weights of those features that are known: int64 [classes]."""
        rows = self._rows
        known = [rows[name] for name in features if name in rows]
        total: npt.NDArray[np.int64] = self._weights[known].sum(axis=0, dtype=np.int64)
        return total

    @classmethod
    def load(cls, folder: Path, name: str) -> Linear:
        """The classifier of this name that `save` has written."""
        names = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        with np.load(folder / f"{name}.npz") as arrays:
            values, columns, starts = arrays["values"], arrays["columns"], arrays["starts"]
        weights = np.zeros((len(names["features"]), len(names["classes"])), dtype=np.int16)
        weights[np.repeat(np.arange(len(starts)), starts), columns] = values
        return cls(names["classes"], names["features"], weights)

    def save(self, folder: Path, name: str) -> None:
        """Write NAME.json (the names) and NAME.npz (the weights that are not zero)."""
        rows, columns = np.nonzero(self._weights)
        names = {"classes": self.classes, "features": list(self._rows)}
        (folder / f"{name}.json").write_text(json.dumps(names, separators=(",", ":")) + "\n")
        np.savez_compressed(
            folder / f"{name}.npz",
            values=self._weights[rows, columns],
            columns=columns.astype(np.uint8),
            starts=np.bincount(rows, minlength=len(self._rows)).astype(np.uint8),
        )
