"""Token vectors of many sentences, kept by length, in bounded memory."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import torch

_BLOCK_BYTES = 1 << 20


class TokenBank:
    """Vectors [n, length, width] for every length, growing block by block.

    Blocks are kept on the device up to `memory` bytes in all; those beyond are in a temporary file
    each and are read through the operating system's page cache.
    """

    def __init__(self, device: torch.device, memory: float) -> None:
        self.device, self._memory, self._free = device, memory, memory
        self._blocks: dict[int, list[torch.Tensor]] = defaultdict(list)
        self._counts: dict[int, int] = defaultdict(int)
        self._views: dict[int, list[torch.Tensor]] = defaultdict(list)
        self._folder: Path | None = None
        self.n_spilled = 0

    def add(self, vectors: torch.Tensor) -> range:
        """Keep float32 vectors [n, length, width]; their numbers among those of that length."""
        n, length, width = vectors.shape
        per_block = max(1, _BLOCK_BYTES // (4 * length * width))
        first, done = self._counts[length], 0
        blocks = self._blocks[length]
        while done < n:
            block, row = divmod(first + done, per_block)
            if block == len(blocks):
                blocks.append(self._allocate(per_block, length, width))
            take = min(n - done, per_block - row)
            blocks[block][row : row + take] = vectors[done : done + take]
            done += take
        self._counts[length] = first + n
        return range(first, first + n)

    @property
    def is_nearly_full(self) -> bool:
        """Whether less than a quarter of the memory is free, or files are in use already."""
        return self._free < self._memory / 4 or self.n_spilled > 0

    def forget(self, length: int, first: int, kept: npt.NDArray[np.intp]) -> None:
        """Drop the vectors of that length from number `first` on, except those with the numbers
        `kept`, which follow in this order; the room is used again."""
        import torch

        with torch.inference_mode():  # in which they were made
            vectors = self.get(length, kept)
            self._counts[length] = first
            self.add(vectors)

    def get(self, length: int, numbers: npt.NDArray[np.intp]) -> torch.Tensor:
        """The vectors [n, length, width] of the sentences with these numbers, on the device."""
        import torch

        blocks = self._blocks[length]
        which, rows = np.divmod(numbers, blocks[0].shape[0])
        out = torch.empty((len(numbers), *blocks[0].shape[1:]), device=self.device)
        for block in np.unique(which):
            asked = np.flatnonzero(which == block)
            source = blocks[block]
            picked = source[torch.from_numpy(rows[asked]).to(source.device)]
            out[torch.from_numpy(asked).to(self.device)] = picked.to(self.device)
        return out

    def sentences(self, length: int) -> list[torch.Tensor]:
        """Every sentence of that length [length, width], where it lies, by its number."""
        views, blocks = self._views[length], self._blocks[length]
        for block in blocks[len(views) // len(blocks[0]) :]:
            views.extend(block.unbind())
        return views

    def close(self) -> None:
        """Forget everything and delete the temporary files."""
        self._blocks.clear()
        self._views.clear()
        self._counts.clear()
        if self._folder is not None:
            self._delete()
            self._folder = None

    def _allocate(self, rows: int, length: int, width: int) -> torch.Tensor:
        import torch

        shape, size = (rows, length, width), 4 * rows * length * width
        if size <= self._free:
            self._free -= size
            block: torch.Tensor = torch.empty(shape, device=self.device)
            return block
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="metaeval-tokens-"))
            self._delete = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self.n_spilled += 1
        name = self._folder / f"{self.n_spilled}.bin"
        # a memory-mapped array writes to its own file; no process memory is held for it
        spilled: torch.Tensor = torch.from_numpy(
            np.memmap(name, dtype=np.float32, mode="w+", shape=shape)
        )
        return spilled
