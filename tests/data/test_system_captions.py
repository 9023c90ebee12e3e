"""Captions of systems: what a results file may hold, and the one line that says what is wrong."""

import os
from pathlib import Path

import pytest

from metaeval.data.system_captions import find_system_files, read_system_captions
from metaeval.errors import InputError
from tests.shared import write_json as write

KNOWN = frozenset({1, 2, 3})


def test_reads_tidies_and_counts(tmp_path: Path) -> None:
    path = write(
        tmp_path / "x.json",
        [
            {"image_id": 2, "caption": "  a dog\nruns ", "score": 0.3},
            {"image_id": 1, "caption": ""},
        ],
    )
    system = read_system_captions(path, "x", KNOWN)
    assert (dict(system.captions), system.empty) == ({2: "a dog runs", 1: ""}, 1)
    assert any("1 caption is empty" in note for note in system.notes)
    assert len(system.sha256) == 64


def test_files_by_folder_file_list_and_name(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a.json", []), write(tmp_path / "b.json", [])
    for name in ("README.md", "._a.json", ".old.json", "_manifest.json"):
        (tmp_path / name).write_bytes(b"\xb0 not captions")
    assert find_system_files(str(tmp_path)) == {"a": a, "b": b}
    assert find_system_files(str(b)) == {"b": b}
    assert find_system_files([str(b), str(a)]) == {"b": b, "a": a}
    assert find_system_files({"Mine": str(a)}) == {"Mine": a}


def test_a_file_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    """Before anything is read: no table could hold the system's name."""
    path = tmp_path / os.fsdecode(b"caf\xe9.json")
    path.write_text("[]")
    with pytest.raises(InputError, match=r"caf\\udce9.json': .*contains an unpaired surrogate"):
        find_system_files(tmp_path)
    assert find_system_files({"cafe": str(path)}) == {"cafe": path}
