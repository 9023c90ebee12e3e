"""Zip archives: bytes before the first member are refused, as NumPy refuses them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from metaeval.errors import InputError
from metaeval.readers.zips import open_zip


def test_an_archive_behind_other_bytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, a=np.arange(3))
    with open_zip(path) as archive:
        assert archive.namelist() == ["a.npy"]
    path.write_bytes(b"other bytes" + path.read_bytes())
    with pytest.raises(ValueError, match="pickled"):
        np.load(path)
    with pytest.raises(InputError, match="other bytes stand before its first member"):
        open_zip(path)
