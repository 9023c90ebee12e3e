"""Weights of CLIP in every form in which they are found, into a small model of open_clip."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import open_clip.model as open_clip_model
import pytest
import torch
from safetensors.torch import save_file

from metaeval.errors import InputError
from metaeval.metrics.clipscore.network import _load
from metaeval.metrics.clipscore.weights import ClipWeights

SHAPE = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "patch_size": 16, "width": 64, "layers": 1},
    "text_cfg": {"context_length": 8, "vocab_size": 50, "width": 64, "heads": 1, "layers": 1},
}


def small(seed: int) -> Any:
    torch.manual_seed(seed)
    return open_clip_model.CLIP(**SHAPE)


class Published(torch.nn.Module):
    """As OpenAI's archive: traced, in half precision, three sizes next to the weights."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        for name, module in model.named_children():
            self.add_module(name, module)
        for name, value in (
            *model.named_parameters(recurse=False),
            *model.named_buffers(recurse=False),
        ):
            self.register_parameter(name, value) if isinstance(
                value, torch.nn.Parameter
            ) else self.register_buffer(name, value)
        for name, size in (("input_resolution", 32), ("context_length", 8), ("vocab_size", 50)):
            self.register_buffer(name, torch.tensor(size))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return images * self.logit_scale.exp()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["pt", "older", "wrapped", "safetensors", "torchscript"])
def test_every_form_gives_the_same_weights(tmp_path: Path, form: str) -> None:
    trained, model = small(1), small(2)
    state = trained.state_dict()
    path = tmp_path / ("w.safetensors" if form == "safetensors" else "w.pt")
    if form == "pt":
        torch.save(state, path)
    elif form == "older":
        torch.save(state, path, _use_new_zipfile_serialization=False)
    elif form == "wrapped":
        wrapped = {f"module.{name}": value for name, value in state.items()}
        torch.save({"epoch": 3, "state_dict": wrapped}, path)
    elif form == "safetensors":
        save_file({name: value.contiguous() for name, value in state.items()}, path)
    else:
        torch.jit.trace(Published(trained), torch.ones(1)).save(str(path))
    _load(model, ClipWeights("small", "own", path))
    for name, value in model.state_dict().items():
        assert torch.equal(value, trained.state_dict()[name]), name


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        (lambda s: {**s, "logit_scale": torch.tensor(float("inf"))}, "'logit_scale': .*not finite"),
        (
            lambda s: {**s, "positional_embedding": torch.ones(8, 64) * 1j},
            "holds numbers of torch.c",
        ),
        (lambda s: {k: v for k, v in s.items() if k != "logit_scale"}, "are not weights of small"),
        (lambda s: {}, "holds no weights by name"),
        (lambda s: [1, 2], "holds no weights by name"),
    ],
)
def test_what_is_no_clip_is_one_line(tmp_path: Path, harm: Any, problem: str) -> None:
    torch.save(harm(small(1).state_dict()), tmp_path / "w.pt")
    with pytest.raises(InputError, match=rf"w\.pt.*{problem}") as error:
        _load(small(2), ClipWeights("small", "own", tmp_path / "w.pt"))
    assert "\n" not in str(error.value)
