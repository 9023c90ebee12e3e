"""Linear models over features that are strings, scored for many contexts at once.

A feature is a letter and the values of some fields ("b" and "dog NN" for word and tag). Its name is
never built: the hash of a joined text follows from the hashes and lengths of its parts, so the
names of a model are looked up by hashes of whole batches (uint64, wrapping; a field's hash is
computed once).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from metaeval.readers.arrays import ArrayArchive

Contexts = npt.NDArray[np.intp]  # [fields, n]: numbers of strings, those of the last `NO_FIELD`
Hashes = npt.NDArray[np.uint64]

_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd: no power of it is 0
_BUCKETS = 20  # the first bits of a hash, by which its place among a model's is nearly known
_SHIFT = np.uint64(64 - _BUCKETS)
NO_FIELD, NOTHING, CASE, ZERO, MOST = -1, 0, 1, 2, 40  # no model knows a number above 40


def hash_lines(text: bytes) -> tuple[Hashes, Hashes]:
    """Per line, which a line feed ends, Σ byte · base^(place + 1) and base^length.

    The line feed counts as a blank: hash("dog NN ") = hash("dog ") + base^4 · hash("NN ").
    """
    values = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero(values == ord("\n")) + 1
    starts = np.append(0, ends[:-1])
    powers = np.cumprod(np.full((ends - starts).max(), _BASE))
    places = np.arange(len(values)) - np.repeat(starts, ends - starts)
    terms = powers[places]
    terms *= np.where(values == ord("\n"), np.uint8(ord(" ")), values)
    return np.add.reduceat(terms, starts), powers[ends - starts - 1]


class Strings(dict[str, int]):
    """Strings by number: "" (`NOTHING`), "case", "0" … "40", then as they are first asked for."""

    def __init__(self) -> None:
        super().__init__()
        for text in ("", "case", *map(str, range(MOST + 1))):
            self[text] = len(self)

    def __missing__(self, text: str) -> int:
        return self.setdefault(text, len(self))

    def hashes(self) -> tuple[Hashes, Hashes]:
        """Hash and factor (see `hash_lines`) of each string; `NO_FIELD` adds nothing."""
        lines = "".join(f"{text}\n" for text in self).encode("utf-8", "surrogatepass")
        hashes, factors = hash_lines(lines)
        return np.append(hashes, np.uint64(0)), np.append(factors, np.uint64(1))


class Linear:
    """Features → the score of each class.

    Parameters
    ----------
    classes
        The names of the classes.
    templates
        Letter → the numbers of a feature's fields in a context.
    names
        The names of the features, in the order of `weights`: a line each, as UTF-8.
    weights
        int16 [features, classes]; the sum over a context's features is an int16, too.
    """

    def __init__(
        self,
        classes: Sequence[str],
        templates: Mapping[str, Sequence[int]],
        names: bytes,
        weights: npt.NDArray[np.int16],
    ) -> None:
        self.classes, self.names = list(classes), names
        keys, _ = hash_lines(names)
        order = np.argsort(keys)
        self._keys = np.append(keys[order], np.uint64(2**64 - 1))
        self._rows = np.append(order, len(order))
        self.weights = np.append(weights, np.zeros_like(weights[:1]), axis=0)  # the last: unknown
        buckets = np.arange(2**_BUCKETS, dtype=np.uint64) << _SHIFT
        self._first = np.searchsorted(self._keys, buckets).astype(np.int32)
        self._letters = np.array([[ord(letter)] for letter in templates], dtype=np.uint64)
        most = max(map(len, templates.values()))
        padded = [[*fields, *[NO_FIELD] * (most - len(fields))] for fields in templates.values()]
        self._fields = np.array(padded).T[::-1]

    def scores(self, contexts: Contexts, hashes: Hashes, factors: Hashes) -> npt.NDArray[np.int16]:
        """The sum of the weights of those features of each context that are known: [contexts,
        classes]; `hashes` and `factors` are those of `Strings`."""
        # `take` is faster than square brackets
        hashes, factors = hashes.take(contexts), factors.take(contexts)
        keys = hashes.take(self._fields[0], axis=0)
        for fields in self._fields[1:]:
            keys *= factors.take(fields, axis=0)
            keys += hashes.take(fields, axis=0)
        keys += self._letters
        keys *= _BASE
        found = keys.ravel()
        places = self._first.take((found >> _SHIFT).astype(np.intp))
        before = np.flatnonzero(self._keys.take(places) < found)
        while len(before):
            places[before] += 1
            before = before[self._keys[places[before]] < found[before]]
        rows = np.where(self._keys.take(places) == found, self._rows.take(places), -1)
        weights = self.weights.take(rows.reshape(keys.shape), axis=0)
        scores: npt.NDArray[np.int16] = weights.sum(axis=0, dtype=np.int16)
        return scores

    @classmethod
    def load(cls, file: Path, templates: Mapping[str, Sequence[int]]) -> Linear:
        """The classifier that `research.dependencies.save` has written."""
        with ArrayArchive(file) as arrays:
            classes, names = (arrays.array(part).tobytes() for part in ("classes", "features"))
            values, columns, counts = map(arrays.array, ("values", "columns", "counts"))
        listed = classes.decode().split("\n")
        weights = np.zeros((len(counts), len(listed)), dtype=np.int16)
        weights[np.repeat(np.arange(len(counts)), counts), columns] = values
        return cls(listed, templates, names + b"\n", weights)
