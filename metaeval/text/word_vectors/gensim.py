"""gensim's KeyedVectors, as `KeyedVectors.save` writes them, without gensim.

The words are in a pickle (`NAME.kv`), the numbers in `NAME.kv.vectors.npy` beside it if there are
many, in the pickle otherwise. A pickle can run code: this one may build lists, dictionaries and
arrays, everything else in it is refused or replaced by an empty shell.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.errors import InputError
from metaeval.text.word_vectors.index import VectorTable

_PLAIN = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "scalar"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy._core.numeric", "_frombuffer"),
    ("numpy.core.numeric", "_frombuffer"),
    ("collections", "OrderedDict"),
    ("_codecs", "encode"),
}


class _Shell:
    """Stands for an object of gensim; what it holds ends up in its `__dict__`."""


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] == "gensim":
            return _Shell
        if (module, name) in _PLAIN:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"holds {module}.{name}, which has no place in word vectors")


class GensimTable(VectorTable):
    """KeyedVectors of gensim 4; the path is the .kv file or the .npy beside it."""

    def __init__(self, path: Path, cache: Path) -> None:
        main = path.with_name(path.name.removesuffix(".npy").removesuffix(".vectors"))
        super().__init__(main, cache)
        try:
            raw = main.read_bytes()
            held = vars(_Reader(io.BytesIO(raw)).load())
            self._words = list(held["index_to_key"])
            self._places = range(len(self._words))
        except FileNotFoundError:
            raise InputError("there is no such file", file=main) from None
        except (pickle.UnpicklingError, KeyError, TypeError, EOFError, AttributeError) as error:
            problem = f"is not a file of gensim 4's KeyedVectors ({error})"
            raise InputError(problem, file=main) from None
        beside = main.with_name(main.name + ".vectors.npy")
        digest = hashlib.sha256(raw)
        if held.get("vectors") is not None:
            self._rows = np.asarray(held["vectors"])
        elif beside.is_file():
            with beside.open("rb") as file:
                while block := file.read(1 << 22):
                    digest.update(block)
            self._rows = np.load(beside, mmap_mode="r", allow_pickle=False)
        else:
            raise InputError("is missing beside the .kv file", file=beside)
        if self._rows.ndim != 2 or len(self._rows) != len(self._words):
            problem = f"has {len(self._words):,} words for an array {list(self._rows.shape)}"
            raise InputError(problem, file=main)
        self.sha256, self.dimension = digest.hexdigest(), int(self._rows.shape[1])

    def row(self, place: int) -> npt.NDArray[np.float32]:
        return np.asarray(self._rows[place], dtype=np.float32)
