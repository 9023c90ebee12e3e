"""Weights and archives of others: good ones are read, broken and wicked ones are one line."""

import io
import json
import os
import pickle
import re
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from metaeval.errors import InputError
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


def archive(path: Path, data: bytes, storages: dict[str, bytes], **options: Any) -> Path:
    with zipfile.ZipFile(path, "w", **options) as packed:
        packed.writestr("m/data.pkl", data)
        packed.writestr("m/version", "3\n")
        for key, raw in storages.items():
            packed.writestr(f"m/data/{key}", raw)
    return path


def tensor(numbers: int, size: tuple[int, ...], stride: tuple[int, ...], offset: int = 0) -> bytes:
    """A pickle of {"w": tensor} that says what it wants of its storage."""

    class Storage:
        pass

    storage = Storage()

    class Pickler(pickle.Pickler):
        def persistent_id(self, value: Any) -> Any:
            if value is storage:
                return ("storage", torch.FloatStorage, "0", "cpu", numbers)
            return None

    class Rebuilt:
        def __reduce__(self) -> Any:
            arguments = (storage, offset, size, stride, False, {})
            return torch._utils._rebuild_tensor_v2, arguments

    out = io.BytesIO()
    Pickler(out, protocol=2).dump({"w": Rebuilt()})
    return out.getvalue()


class WritingModule(torch.nn.Module):
    """Its archive writes a file when torch loads it: `from_file` with `shared` makes one."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
        self.weight = torch.nn.Parameter(torch.ones(2, 3))

    @torch.jit.export
    def __getstate__(self):  # type: ignore[no-untyped-def]
        return (self.path, self.weight, self.training)

    @torch.jit.export
    def __setstate__(self, state: tuple[str, torch.Tensor, bool]):  # type: ignore[no-untyped-def]
        self.path = state[0]
        self.weight = state[1]
        self.training = state[2]
        self.weight = torch.from_file(self.path, shared=True, size=6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_the_code_of_an_unknown_torchscript_archive_is_not_run(tmp_path: Path) -> None:
    victim, path = tmp_path / "victim", tmp_path / "clip.pt"
    torch.jit.script(WritingModule(str(victim))).save(str(path))
    victim.unlink(missing_ok=True)
    torch.jit.load(str(path))  # what must never happen: the trick works
    assert victim.exists()
    victim.unlink()
    with pytest.raises(InputError, match=r"clip\.pt: is a TorchScript archive, which"):
        load_torch_checkpoint(path, ["0" * 64])
    assert not victim.exists()


@pytest.mark.parametrize(
    ("numbers", "size", "stride", "offset"),
    [
        (4, (1000, 1000), (1000, 1), 0),  # more than there is
        (4, (4,), (1,), 1),  # beyond the end
        (4, (2,), (-1,), 3),  # backwards
        (4, (10**9,), (0,), 0),  # one number for a thousand million
        (1 << 40, (4,), (1,), 0),  # a storage larger than its bytes
        (-4, (4,), (1,), 0),
    ],
)
def test_a_tensor_lies_within_its_bytes(
    tmp_path: Path, numbers: int, size: tuple[int, ...], stride: tuple[int, ...], offset: int
) -> None:
    path = archive(tmp_path / "m.pt", tensor(numbers, size, stride, offset), {"0": b"\0" * 16})
    with pytest.raises(InputError, match=r"m\.pt"):
        check_numbers("w", load_torch_checkpoint(path)["w"], path)


def test_a_tensor_within_its_bytes_is_read(tmp_path: Path) -> None:
    path = archive(
        tmp_path / "m.pt", tensor(4, (2,), (1,), 1), {"0": np.arange(4, dtype="f4").tobytes()}
    )
    assert load_torch_checkpoint(path)["w"].tolist() == [1, 2]


def test_a_deflated_storage_of_gigabytes_is_not_unpacked(tmp_path: Path) -> None:
    bomb = {"0": b"\0" * (1 << 26)}
    data = tensor(1 << 24, (1 << 24,), (1,))
    path = archive(tmp_path / "m.pt", data, bomb, compression=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 1 << 20
    with pytest.raises(InputError, match=r"m\.pt, field 'm/data.*': is compressed"):
        load_torch_checkpoint(path)
    with zipfile.ZipFile(tmp_path / "f.npz", "w", zipfile.ZIP_DEFLATED) as packed:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "<f4", "fortran_order": False, "shape": (1 << 24,)}
        )
        packed.writestr("features.npy", header.getvalue() + b"\0" * (1 << 26))
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
    model = model_folder(tmp_path)
    check_folder(model)
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


def test_numbers_under_other_keys_are_harmless(tmp_path: Path) -> None:
    check_folder(model_folder(tmp_path, my_temperature=0.5, my_flags=[True, 1]))


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


def test_a_checkpoint_of_torch_is_read_as_torch_reads_it(tmp_path: Path) -> None:
    torch.manual_seed(0)
    base = torch.randn(6, 8)
    value = {
        "state_dict": {
            "a": base,
            "view": base[1:4, ::2],
            "turned": base.T,
            "half": base.half(),
            "bfloat": base.bfloat16(),
            "count": torch.tensor(3),
            "empty": torch.zeros(0, 4),
            "double": base.double(),
            "mask": base > 0,
            "wave": base.to(torch.complex64),
            "parameter": torch.nn.Parameter(base),
        },
        "epoch": 3,
        "best": 0.5,
        "name": "é",
        "size": torch.Size([2, 3]),
        "none": None,
        "list": [1, (2, 3)],
        "flag": True,
    }
    torch.save(value, tmp_path / "c.pt")
    read = load_torch_checkpoint(tmp_path / "c.pt")
    expected = torch.load(tmp_path / "c.pt", weights_only=True)
    assert read.keys() == expected.keys()
    for name, one in expected["state_dict"].items():
        assert read["state_dict"][name].dtype == one.dtype
        assert torch.equal(read["state_dict"][name], one)
    rest = [key for key in expected if key != "state_dict"]
    assert {key: read[key] for key in rest} == {key: expected[key] for key in rest}


def test_a_header_of_numpy_is_padded_by_blanks_alone(tmp_path: Path) -> None:
    """As NumPy reads it: a no-break space among the blanks is damage."""
    np.save(tmp_path / "a.npy", np.zeros(0, np.int64))
    raw = (tmp_path / "a.npy").read_bytes()
    assert map_array(tmp_path / "a.npy").shape == (0,)
    (tmp_path / "a.npy").write_bytes(raw.replace(b"  \n", b"\xa0 \n"))
    with pytest.raises(ValueError, match="Cannot parse header"):
        np.load(tmp_path / "a.npy")
    with pytest.raises(InputError, match=r"a\.npy"):
        map_array(tmp_path / "a.npy")


@pytest.mark.parametrize("bit", ["neg", "conj"])
def test_a_view_with_other_signs_than_its_numbers_is_read_right(bit: str, tmp_path: Path) -> None:
    """`torch.save` writes the numbers and notes the sign."""
    complex_numbers = torch.tensor([1 + 2j, 3 - 4j])
    view = torch.conj(complex_numbers) if bit == "conj" else torch.conj(complex_numbers).imag
    assert view.is_neg() or view.is_conj()
    torch.save({"w": view}, tmp_path / "w.pt")
    expected = [1 - 2j, 3 + 4j] if bit == "conj" else [-2, 4]
    assert load_torch_checkpoint(tmp_path / "w.pt")["w"].tolist() == expected


def test_a_tensor_of_the_device_meta_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.pt"
    value = {"weight": torch.empty(1, 2, device="meta"), "bias": torch.zeros(1)}
    torch.save(value, path, _use_new_zipfile_serialization=False)
    with pytest.raises(InputError, match=r"field 'weight': is a tensor without numbers"):
        load_weights(torch.nn.Linear(2, 1), load_torch_checkpoint(path), path)


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


@pytest.mark.parametrize("new_form", [True, False])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_a_cut_file_is_one_line(tmp_path: Path, new_form: bool, share: float) -> None:
    path = tmp_path / "model.pth.tar"
    torch.save({"w": torch.randn(200)}, path, _use_new_zipfile_serialization=new_form)
    raw = path.read_bytes()
    path.write_bytes(raw[: int(share * len(raw))])
    assert "is not a checkpoint of torch" in refusal(path)


def test_a_flipped_byte_is_found(tmp_path: Path) -> None:
    path = tmp_path / "model.pth.tar"
    torch.save({"w": torch.full((1000,), 1.5)}, path)
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"\x00\x00\xc0\x3f" * 8) + 18] ^= 1
    path.write_bytes(raw)
    assert "checksum is wrong" in refusal(path)


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
        ([GOOD], "no weights by name"),
    ],
)
def test_weights_that_do_not_fit_are_named(state: Any, problem: str) -> None:
    with pytest.raises(InputError, match=rf"^w.*{problem}"):
        load_weights(torch.nn.Linear(3, 2), state, "w")


def test_what_is_no_file_of_weights_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello world, these are not weights")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    torch.save({"model": torch.nn.Linear(2, 2)}, tmp_path / "model.pt")
    for name, problem in (
        ("model.pt", "contains code (torch.nn.modules.linear.Linear)"),
        ("text", "is not a checkpoint"),
        ("none", "file not found"),
        ("pipe", "is not a regular file"),
        ("folder", "is a folder"),
    ):
        assert problem in refusal(tmp_path / name)
