"""Damaged MATLAB files, made by changing single elements of files that SciPy wrote."""

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from metaeval.errors import InputError
from metaeval.readers.matlab import read_matlab


def element(kind: int, data: bytes) -> bytes:
    return struct.pack("<II", kind, len(data)) + data + b"\0" * (-len(data) % 8)


def text_array(shape: tuple[int, int], text: str, after: bytes = b"") -> bytes:
    """A variable `t` of the class char: flags, shape, name, characters as UTF-16."""
    body = (
        element(6, struct.pack("<II", 4, 0))
        + element(5, struct.pack("<ii", *shape))
        + element(1, b"t")
        + element(17, text.encode("utf-16-le"))
        + after
    )
    return element(14, body)


def write(path: Path, variable: bytes) -> Path:
    header = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"
    path.write_bytes(header + variable)
    return path


def test_the_handmade_file_is_one_that_scipy_reads(tmp_path: Path) -> None:
    path = write(tmp_path / "t.mat", text_array((1, 3), "abc"))
    assert read_matlab(path) == {"t": "abc"}
    assert loadmat(path)["t"].tolist() == ["abc"]


def test_a_text_without_characters_is_empty(tmp_path: Path) -> None:
    savemat(tmp_path / "t.mat", {"t": "", "c": np.array(["", "x"], dtype=object)})
    assert read_matlab(tmp_path / "t.mat") == {"t": "", "c": ["", "x"]}


@pytest.mark.parametrize(
    ("variable", "problem"),
    [
        *(
            (text_array(shape, "abc"), "a text of 0 characters holds 3")
            for shape in ((0, 0), (1, 0), (0, 3))
        ),
        (text_array((1, 3), "abc", element(17, b"d\0")), "an array holds data after its end"),
        (
            text_array((1, 3), "abc") + element(46, b"abcdefgh"),
            "a variable is of the unknown type 46",
        ),
    ],
)
def test_what_does_not_add_up_is_refused(tmp_path: Path, variable: bytes, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_matlab(write(tmp_path / "t.mat", variable))


@pytest.mark.parametrize("inside", [True, False])
def test_data_after_the_end_of_a_compressed_variable_are_refused(tmp_path: Path, inside) -> None:
    plain = text_array((1, 3), "abc")
    packed = zlib.compress(plain + plain) if inside else zlib.compress(plain) + b"rest"
    path = write(tmp_path / "t.mat", struct.pack("<II", 15, len(packed)) + packed)
    with pytest.raises(InputError, match="a compressed variable holds data after its end"):
        read_matlab(path)


def test_a_struct_with_fewer_members_than_its_shape_is_refused(tmp_path: Path) -> None:
    rows = np.zeros((1, 2), dtype=[("a", object)])
    rows[0, 0], rows[0, 1] = ("x",), ("y",)
    path = tmp_path / "s.mat"
    savemat(path, {"s": rows})
    assert read_matlab(path) == {"s": [{"a": "x"}, {"a": "y"}]}
    shape, raw = struct.pack("<IIii", 5, 8, 1, 2), path.read_bytes()
    assert raw.count(shape) == 1
    path.write_bytes(raw.replace(shape, struct.pack("<IIii", 5, 8, 1, 1)))
    with pytest.raises(InputError, match="an array holds data after its end"):
        read_matlab(path)
