"""Weights, archives and MATLAB files of others: good ones are read, broken and wicked ones are one
line."""

import json
import os
import pickle
import re
import struct
import zipfile
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from scipy.io import savemat

from metaeval.errors import InputError
from metaeval.readers import matlab
from metaeval.readers.arrays import ArrayArchive, Hdf5File, map_array
from metaeval.readers.checkpoints import (
    check_numbers,
    load_safetensors,
    load_torch_checkpoint,
    load_weights,
)
from metaeval.readers.files import native_errors
from metaeval.readers.zips import member_bytes, open_zip
from metaeval.text.transformers.hub import TextModel, check_folder


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_the_code_of_an_unknown_torchscript_archive_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "clip.pt"
    torch.jit.script(torch.nn.Linear(2, 2)).save(str(path))
    monkeypatch.setattr(torch.jit, "load", None)  # which runs the archive's code
    with pytest.raises(InputError, match=r"clip\.pt: is a TorchScript archive, which"):
        load_torch_checkpoint(path, ["0" * 64])


def test_a_tensor_of_more_numbers_than_the_file_has_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.pt"
    torch.save({"w": torch.zeros(1).expand(10**9)}, path)  # one number for a thousand million
    with pytest.raises(InputError, match=r"m\.pt, field 'w': repeats numbers"):
        check_numbers("w", load_torch_checkpoint(path)["w"], path)


def test_a_deflated_storage_of_gigabytes_is_not_unpacked(tmp_path: Path) -> None:
    stored, path = tmp_path / "stored.pt", tmp_path / "m.pt"
    torch.save({"w": torch.zeros(1 << 24)}, stored)
    np.savez_compressed(tmp_path / "f.npz", features=np.zeros(1 << 24, np.float32))
    with zipfile.ZipFile(stored) as whole, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name in whole.namelist():
            made.writestr(name, whole.read(name))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(InputError, match=r"m\.pt, field '.*': is compressed"):
        load_torch_checkpoint(path)
    problem = r"f\.npz, field 'features.npy': unpacks from .*: not read"
    with ArrayArchive(tmp_path / "f.npz") as arrays, pytest.raises(InputError, match=problem):
        arrays.array("features")


def test_an_array_that_promises_more_than_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "f.npy"
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (1 << 40, 36, 2048)}
        np.lib.format.write_array_header_1_0(file, header)  # type: ignore[arg-type]
        file.write(b"\0" * 64)
    with pytest.raises(InputError, match=r"f\.npy: is not a NumPy array.*announces"):
        map_array(path)
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="objects are not read"):
        map_array(path)


def test_hdf5_keeps_to_its_own_file_and_size(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    secret = tmp_path / "secret"
    secret.write_bytes(b"\x00\x00\x80\x3f" * 32)
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["x"] = np.ones((4, 8), np.float32)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        external = [(str(secret), 0, 128)]
        file.create_dataset("1_features", (4, 8), np.float32, external=external)
        file["2_features"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "x")
        file["3_features"] = h5py.SoftLink("/1_features")
        layout = h5py.VirtualLayout((4, 8), np.float32)
        layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "x", (4, 8))
        file.create_virtual_dataset("4_features", layout)
        file.create_dataset("5_features", (1 << 20, 36, 8), np.float32, chunks=(1, 36, 8))
        file["6_features"] = np.ones((4, 8), np.float32)
        file.create_group("7_features")
    problems = {
        1: "other files",
        2: "is a link",
        3: "is a link",
        4: "other files",
        5: "the header announces 1,207,959,552 bytes, the file has 0",
        7: "not a data set",
    }
    with Hdf5File(tmp_path / "f.h5") as opened:
        assert opened.array("6_features").sum() == 32
        for number, problem in problems.items():
            with pytest.raises(InputError, match=rf"f\.h5, field '{number}_features'.*{problem}"):
                opened.array(f"{number}_features")


def model_folder(folder: Path, **config: Any) -> TextModel:
    """A folder of a BERT with two small tensors."""
    plain = {"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 2}
    (folder / "config.json").write_text(json.dumps({**plain, **config}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True}))
    weights = folder / "model.safetensors"
    save_file({"a": torch.zeros(8, 8), "b": torch.zeros(4)}, weights)
    return TextModel("m", folder, weights)


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
def test_a_models_folder_with_code_is_refused(tmp_path: Path, name: str) -> None:
    model = model_folder(tmp_path, my_temperature=0.5, my_flags=[True, 1])
    check_folder(model)  # numbers under other keys are harmless
    (tmp_path / name).write_text(json.dumps({"auto_map": {"AutoModel": "evil.Model"}}))
    with pytest.raises(InputError, match=rf"{name}, field 'auto_map': requires code"):
        check_folder(model)


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("attn_implementation", "evil/kernel", "requires code"),
        ("_attn_implementation", "evil/kernel", "requires code"),
        ("quantization_config", {"quant_method": "gptq"}, "requires code"),
        ("some_new_loader", "evil/repository", "is not an option of the architecture 'bert'"),
        ("nested", {"repo": "evil"}, "is not an option of the architecture 'bert'"),
        ("model_type", "evil", "'evil' is not an architecture that transformers knows"),
        ("num_hidden_layers", 1_000_000, "1000000 does not fit the weights, which have 2 tensors"),
        ("hidden_size", 10**9, "does not fit the weights, which have tensors of at most 8 rows"),
        ("vocab_size", -1, "does not fit the weights"),
        ("hidden_size", "8", "does not fit the weights"),
    ],
)
def test_a_config_says_nothing_but_options_of_sizes_that_fit(
    key: str, value: Any, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=rf"config\.json, field '{key}': .*{problem}"):
        check_folder(model_folder(tmp_path, **{key: value}))


def test_a_panic_of_a_tokenizer_is_an_error_of_its_file(tmp_path: Path) -> None:
    """`tokenizers` is written in Rust: what it raises here is not an Exception."""

    class Panic(BaseException):
        pass

    path = tmp_path / "tokenizer.json"
    problem = r"tokenizer\.json: is not a readable tokenizer \(index"
    with pytest.raises(InputError, match=problem), native_errors(path, "tokenizer"):
        raise Panic("index out of bounds")
    with pytest.raises(KeyboardInterrupt), native_errors(tmp_path, "tokenizer"):
        raise KeyboardInterrupt


class Wicked:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.folder),)


def refusal(path: Path) -> str:
    """The one line with which a checkpoint is refused."""
    with pytest.raises(InputError) as error:
        load_torch_checkpoint(path)
    assert str(path) in str(error.value)
    assert len(str(error.value).splitlines()) == 1
    return str(error.value)


@pytest.mark.parametrize("form", ["zip", "legacy", "pickle", "pickle 0"])
def test_nothing_in_a_file_is_run(tmp_path: Path, form: str) -> None:
    path, harm = tmp_path / "model.pth.tar", tmp_path / "harm"
    value = {"model": Wicked(harm)}
    if form.startswith("pickle"):
        path.write_bytes(pickle.dumps(value, protocol=0 if form.endswith("0") else 4))
    else:
        torch.save(value, path, _use_new_zipfile_serialization=form == "zip")
    assert re.search("was not opened|is not a checkpoint", refusal(path))
    assert not harm.exists()
    pickle.loads(pickle.dumps(Wicked(harm)))  # it would have done harm
    assert harm.is_dir()


def test_safetensors(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file({"w": torch.arange(3.0)}, path)
    assert load_safetensors(path)["w"].tolist() == [0, 1, 2]
    raw = path.read_bytes()
    header = json.dumps({"w": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 16]}})
    promising = struct.pack("<Q", len(header)) + header.encode() + b"\0" * 16
    cut = (raw[:-2], raw[:20], raw[:4], b"")
    for broken in (*cut, b"\xff" * 100, b"hello" * 20, promising):
        path.write_bytes(broken)
        with pytest.raises(InputError, match="not a safetensors file") as error:
            load_safetensors(path)
        assert len(str(error.value).splitlines()) == 1
    with pytest.raises(InputError, match=r"none\.safetensors"):
        load_safetensors(tmp_path / "none.safetensors")


def test_an_archive_of_two_meanings_is_refused(tmp_path: Path) -> None:
    """Behind other bytes, which NumPy takes for a pickle; a file that is marked as a folder."""
    path = tmp_path / "a.npz"
    np.savez(path, a=np.arange(3))
    path.write_bytes(b"other bytes" + path.read_bytes())
    with pytest.raises(InputError, match="unexpected bytes before its first member"):
        open_zip(path)
    with zipfile.ZipFile(path, "w") as archive:
        marked = zipfile.ZipInfo("marked")
        marked.external_attr = 0x10
        archive.writestr("file", b"bytes")
        archive.writestr(marked, b"bytes")
    with open_zip(path) as archive:
        assert member_bytes(archive, "file", path, 10) == b"bytes"
        with pytest.raises(InputError, match="'marked': is a folder"):
            member_bytes(archive, "marked", path, 10)


GOOD = {"weight": torch.ones(2, 3), "bias": torch.zeros(2)}


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        ({"weight": GOOD["weight"]}, r"'bias': is missing \(1 of 2"),
        ({**GOOD, "more": torch.ones(1)}, "'more': is not a weight"),
        ({**GOOD, "bias": torch.zeros(4)}, r"'bias': has the shape \[4\] instead of \[2\]"),
        ({**GOOD, "bias": [1.0, 2.0]}, "'bias': is list, not a tensor"),
        ({**GOOD, "bias": torch.ones(2) * 1j}, "'bias': holds numbers of torch.complex64"),
        ({**GOOD, "bias": torch.ones(2, dtype=torch.int64)}, "torch.int64 where the model has"),
        ({**GOOD, "bias": torch.full((2,), float("nan"))}, "'bias': .*not finite"),
        ({**GOOD, "bias": torch.full((2,), 1e300, dtype=torch.float64)}, "'bias': .*not finite"),
        ({**GOOD, "bias": torch.empty(2, device="meta")}, "'bias': is a tensor without numbers"),
        ([GOOD], "no weights by name"),
    ],
)
def test_weights_that_do_not_fit_are_named(state: Any, problem: str) -> None:
    with pytest.raises(InputError, match=rf"^w.*{problem}"):
        load_weights(torch.nn.Linear(3, 2), state, "w")


def test_what_is_no_file_of_weights_is_one_line(tmp_path: Path) -> None:
    """Text, code, places without a file, cut files of both forms, and a byte that is turned."""
    expected = {
        "model.pt": "contains code (torch.nn.modules.linear.Linear)",
        "text": "is not a checkpoint",
        "none": "file not found",
        "pipe": "is not a regular file",
        "folder": "is a folder",
        "turned": "is damaged (Bad CRC-32",
    }
    (tmp_path / "text").write_text("hello world, these are not weights")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    torch.save({"model": torch.nn.Linear(2, 2)}, tmp_path / "model.pt")
    torch.save({"w": torch.full((1000,), 1.5)}, tmp_path / "turned")
    raw = bytearray((tmp_path / "turned").read_bytes())
    raw[raw.index(b"\x00\x00\xc0\x3f" * 8) + 18] ^= 1
    (tmp_path / "turned").write_bytes(raw)
    for new_form, share in product((True, False), (0.0, 0.1, 0.5, 0.9, 0.99)):
        path = tmp_path / f"cut {new_form} {share}"
        torch.save({"w": torch.randn(200)}, path, _use_new_zipfile_serialization=new_form)
        path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
        expected[path.name] = "is not a checkpoint of torch"
    refused = {name: refusal(tmp_path / name) for name in expected}
    assert {n: line for n, line in refused.items() if expected[n] not in line} == {}


ROWS = np.zeros((1, 2), dtype=[("a", object)])
ROWS[0, 0], ROWS[0, 1] = ("x",), ("y",)
VALUES = {"t": "abc", "e": "", "n": np.array([[1, 2], [3, 4]]), "s": ROWS}
VALUES["c"] = np.array(["", "x"], dtype=object)


def read_matlab(path: Path) -> dict[str, object]:
    return json.loads(matlab.matlab_json(path, path.read_bytes()))


@pytest.mark.parametrize("compressed", [True, False])
def test_values_are_lists_texts_and_numbers(tmp_path: Path, compressed: bool) -> None:
    savemat(tmp_path / "t.mat", VALUES, do_compression=compressed)
    read = read_matlab(tmp_path / "t.mat")
    expected = {"t": "abc", "e": "", "s": [{"a": "x"}, {"a": "y"}], "c": ["", "x"]}
    assert read == {**expected, "n": [1, 3, 2, 4]}  # MATLAB's order


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
        read_matlab(path)


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    savemat(tmp_path / "t.mat", {"n": np.zeros(10_000)}, do_compression=True)
    assert len(read_matlab(tmp_path / "t.mat")["n"]) == 10_000
    monkeypatch.setattr(matlab, "_MOST_VARIABLE", 80_000)
    with pytest.raises(InputError, match=r"t\.mat: .*above 80,000 bytes"):
        read_matlab(tmp_path / "t.mat")


def test_a_crash_of_scipy_is_an_error_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    savemat(tmp_path / "t.mat", VALUES)
    (tmp_path / "crash.py").write_text("import os; os.abort()")
    monkeypatch.setattr(matlab, "_READER", tmp_path / "crash.py")
    with pytest.raises(InputError, match=r"t\.mat: .*\(SciPy's reader crashed\)"):
        read_matlab(tmp_path / "t.mat")
