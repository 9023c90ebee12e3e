"""Files of weights that others wrote: good ones are read, broken and wicked ones are one line."""

from __future__ import annotations

import argparse
import os
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from safetensors.torch import save_file

from metaeval.errors import InputError
from metaeval.readers.checkpoints import load_safetensors, load_torch_checkpoint, load_weights


class Wicked:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize("new_form", [True, False])
def test_a_checkpoint_of_scans_form_is_read(tmp_path: Path, new_form: bool) -> None:
    path = tmp_path / "model_best.pth.tar"
    value = {
        "epoch": 3,
        "model": [{"fc.weight": torch.arange(6.0).view(2, 3)}, {"embed.weight": torch.ones(4)}],
        "best_rsum": 500.5,
        "opt": argparse.Namespace(margin=0.2, data_name="coco_precomp"),
        "Eiters": 9,
    }
    torch.save(value, path, _use_new_zipfile_serialization=new_form)
    found = load_torch_checkpoint(path)
    assert found["model"][0]["fc.weight"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found["opt"] == value["opt"]
    assert (found["epoch"], found["best_rsum"], found["Eiters"]) == (3, 500.5, 9)


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


def test_a_whole_model_is_refused_by_name(tmp_path: Path) -> None:
    torch.save({"model": torch.nn.Linear(2, 2)}, tmp_path / "model.pt")
    line = refusal(tmp_path / "model.pt")
    assert "contains code (torch.nn.modules.linear.Linear)" in line


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


def test_other_files_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello world, these are not weights")
    for name, message in (("text", "is not a checkpoint"), ("none", "file not found")):
        assert message in refusal(tmp_path / name)


def test_safetensors(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file({"w": torch.arange(3.0)}, path)
    assert load_safetensors(path)["w"].tolist() == [0, 1, 2]
    raw = path.read_bytes()
    for broken in (raw[:-2], raw[:20], raw[:4], b"", b"\xff" * 100, b"hello" * 20):
        path.write_bytes(broken)
        with pytest.raises(InputError, match="not a safetensors file") as error:
            load_safetensors(path)
        assert len(str(error.value).splitlines()) == 1
    with pytest.raises(InputError, match=r"none\.safetensors"):
        load_safetensors(tmp_path / "none.safetensors")


def test_weights_that_do_not_fit_are_named() -> None:
    model = torch.nn.Linear(2, 3)
    good = {"weight": torch.ones(3, 2), "bias": torch.zeros(3)}
    load_weights(model, good, "f")
    assert model(torch.ones(1, 2)).tolist() == [[2, 2, 2]]
    for state, message in (
        ({"weight": good["weight"]}, r"'bias': is missing \(1 of 2"),
        ({**good, "more": torch.ones(1)}, "'more': is not a weight"),
        ({**good, "bias": torch.zeros(4)}, r"'bias': has the shape \[4\] instead of \[3\]"),
        ({**good, "bias": [0, 0, 0]}, "'bias': is list"),
        ({**good, "bias": torch.tensor([0, float("nan"), 0])}, "'bias': holds values"),
        ([good], "no weights by name"),
    ):
        with pytest.raises(InputError, match=message):
            load_weights(model, state, "f")
