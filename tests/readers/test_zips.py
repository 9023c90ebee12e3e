"""Zip archives: what NumPy refuses, and what PyTorch's reader takes for something else."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from metaeval.errors import InputError
from metaeval.readers.zips import member_bytes, open_zip


def test_an_archive_behind_other_bytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, a=np.arange(3))
    with open_zip(path) as archive:
        assert archive.namelist() == ["a.npy"]
    path.write_bytes(b"other bytes" + path.read_bytes())
    with pytest.raises(ValueError, match="pickled"):
        np.load(path)
    with pytest.raises(InputError, match="unexpected bytes before its first member"):
        open_zip(path)


def test_a_member_marked_as_a_folder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("file", b"bytes")
        marked = zipfile.ZipInfo("marked")
        marked.external_attr = 0x10
        archive.writestr(marked, b"bytes")
    with open_zip(path) as archive:
        assert member_bytes(archive, "file", path, 10) == b"bytes"
        with pytest.raises(InputError, match="'marked': is a folder"):
            member_bytes(archive, "marked", path, 10)
