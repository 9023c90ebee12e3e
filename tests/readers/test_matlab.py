"""MATLAB files that SciPy wrote, whole and damaged."""

from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from metaeval.errors import InputError
from metaeval.readers import matlab

ROWS = np.zeros((1, 2), dtype=[("a", object)])
ROWS[0, 0], ROWS[0, 1] = ("x",), ("y",)
VALUES = {"t": "abc", "e": "", "n": np.array([[1, 2], [3, 4]]), "s": ROWS}
VALUES["c"] = np.array(["", "x"], dtype=object)


@pytest.mark.parametrize("compressed", [True, False])
def test_values_are_lists_texts_and_numbers(tmp_path: Path, compressed: bool) -> None:
    savemat(tmp_path / "t.mat", VALUES, do_compression=compressed)
    read = matlab.read_matlab(tmp_path / "t.mat")
    assert read.pop("n").tolist() == [1, 3, 2, 4]  # MATLAB's order
    assert read == {"t": "abc", "e": "", "s": [{"a": "x"}, {"a": "y"}], "c": ["", "x"]}


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda raw: raw[:-1] + bytes([raw[-1] ^ 1]), "incorrect data check"),
        (lambda raw: raw + b"rest", "holds data after its end"),
        (lambda raw: raw[:-9], "cut short"),
        (lambda raw: b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM", "v7.3"),
        (lambda raw: b"text", "cut short"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(tmp_path: Path, damage, problem: str) -> None:
    path = tmp_path / "t.mat"
    savemat(path, VALUES, do_compression=True)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match=rf"t\.mat: is not a readable MATLAB file \(.*{problem}"):
        matlab.read_matlab(path)


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    savemat(tmp_path / "t.mat", {"n": np.zeros(10_000)}, do_compression=True)
    assert len(matlab.read_matlab(tmp_path / "t.mat")["n"]) == 10_000
    monkeypatch.setattr(matlab, "_MOST_VARIABLE", 80_000)
    with pytest.raises(InputError, match=r"t\.mat: .*above 80,000 bytes"):
        matlab.read_matlab(tmp_path / "t.mat")


def test_a_crash_of_scipy_is_an_error_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    savemat(tmp_path / "t.mat", VALUES)
    (tmp_path / "crash.py").write_text("import os; os.abort()")
    monkeypatch.setattr(matlab, "_READER", tmp_path / "crash.py")
    with pytest.raises(InputError, match=r"t\.mat: .*\(SciPy's reader crashed\)"):
        matlab.read_matlab(tmp_path / "t.mat")
