"""gensim's KeyedVectors, as `KeyedVectors.save` writes them, without gensim.

The words are in a pickle (`NAME.kv`), the numbers in `NAME.kv.vectors.npy` next to it if there are
many, in the pickle otherwise. A pickle can run code: this one may hold lists, dictionaries and
arrays; objects of gensim become empty shells, and everything else is refused.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.readers.arrays import map_array
from metaeval.readers.files import open_binary, read_bytes
from metaeval.readers.pickles import PickledArray, Shell, numpy_names, read_pickle
from metaeval.text.word_vectors.index import VectorTable

_WHAT = "word vectors of gensim 4's KeyedVectors"


class GensimTable(VectorTable):
    """KeyedVectors of gensim 4; the path is the .kv file or the .npy next to it."""

    def __init__(self, path: Path, cache: Path) -> None:
        main = path.with_name(path.name.removesuffix(".npy").removesuffix(".vectors"))
        super().__init__(main, cache)
        if not main.is_file():
            raise InputError("file not found", file=main)
        raw = read_bytes(main)
        held = vars(_shell(read_pickle(raw, main, _names, what=_WHAT), main))
        words = held.get("index_to_key")
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            problem = f"is not a list of words; give a file of {_WHAT}"
            raise InputError(problem, file=main, field="index_to_key")
        self._words, self._places = words, range(len(words))
        numbers = main.with_name(main.name + ".vectors.npy")
        digest = hashlib.sha256(raw)
        if held.get("vectors") is not None:
            if not isinstance(held["vectors"], PickledArray):
                raise InputError("is not an array", file=main, field="vectors")
            self._rows: npt.NDArray[Any] = held["vectors"].read(main, "vectors")
        elif numbers.is_file():
            with open_binary(numbers) as file:
                while block := file.read(1 << 22):
                    digest.update(block)
            self._rows = map_array(numbers)
        else:
            raise InputError("file not found; put it next to the .kv file", file=numbers)
        good = self._rows.ndim == 2 and self._rows.shape[1] > 0 and self._rows.dtype.kind == "f"
        if not good or len(self._rows) != len(words):
            problem = f"has {len(words):,} words for an array {list(self._rows.shape)}"
            raise InputError(problem, file=main)
        self.sha256, self.dimension = digest.hexdigest(), int(self._rows.shape[1])

    def row(self, place: int) -> npt.NDArray[np.float32]:
        return self.finite(np.asarray(self._rows[place], dtype=np.float32), f"row {place + 1:,}")


def _names(name: str) -> Any:
    return Shell if name.split(".")[0] == "gensim" else numpy_names(name)


def _shell(value: Any, path: Path) -> Shell:
    if not isinstance(value, Shell):
        raise InputError(f"holds no {_WHAT}", file=path)
    return value
