"""CLIP's weights in every form, its text tower without padding, and the list of CLIPs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import open_clip.model as open_clip_model
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from metaeval import doctor
from metaeval.data.dataset import CaptionDataset
from metaeval.data.image_files import ImageFiles
from metaeval.errors import InputError
from metaeval.metrics.clipscore import weights as catalogue
from metaeval.metrics.clipscore.metric import ClipScore
from metaeval.metrics.clipscore.network import (
    WordTokenizer,
    _load,
    can_be_short,
    text_features,
    words_of,
)
from metaeval.metrics.clipscore.weights import ClipWeights
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions

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


def test_without_padding_nothing_changes() -> None:
    torch.manual_seed(0)
    model = open_clip.create_model("ViT-S-32-alt").eval()
    assert can_be_short(model)
    ids = open_clip.get_tokenizer("ViT-S-32-alt")(["a dog runs on the beach", "cats"])
    with torch.inference_mode():
        expected = model.encode_text(ids)
        for row in (0, 1):
            n = int((ids[row] != 0).sum())
            found = text_features(model, ids[row : row + 1, :n])
            torch.testing.assert_close(found[0], expected[row], rtol=1e-5, atol=1e-5)


def test_a_tower_that_looks_ahead_is_left_whole() -> None:
    assert not can_be_short(open_clip.create_model("ViT-B-16-SigLIP", load_weights=False))


def test_words() -> None:
    words = words_of(["A dog's life.", "two dogs"])
    assert words == ["a", "dog's", "dogs", "life", "two"]
    tokenizer = WordTokenizer(words, 6)
    assert tokenizer.vocab_size == 9
    ids = tokenizer(["Two DOGS, two zebras", "a a a a a a a", ""]).tolist()
    assert ids == [[1, 7, 5, 7, 2, 8], [1, 3, 3, 3, 3, 8], [1, 8, 0, 0, 0, 0]]


# SigLIP: no causal mask, the last token's state, an attention pool over the picture, no projection
# of it; EVA-CLIP: timm's EVA02 tower with its own class token
TEXT = {"context_length": 16, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2}
TOWERS = {
    "sigmoid": {  # open_clip would look for SigLIP's vocabulary by that name
        "embed_dim": 192,
        "init_logit_bias": -10,
        "custom_text": True,
        "vision_cfg": {
            "image_size": 224,
            "timm_model_name": "vit_tiny_patch16_224",
            "timm_model_pretrained": False,
            "timm_pool": "map",
            "timm_proj": "none",
        },
        "text_cfg": {
            **TEXT,
            "no_causal_mask": True,
            "proj_bias": True,
            "pool_type": "last",
            "norm_kwargs": {"eps": 1e-6},
        },
    },
    "eva": {
        "embed_dim": 24,
        "custom_text": True,
        "vision_cfg": {
            "image_size": 224,
            "timm_model_name": "eva02_tiny_patch14_224",
            "timm_model_pretrained": False,
            "timm_pool": "token",
            "timm_proj": None,
        },
        "text_cfg": TEXT,
    },
}


def test_every_checkpoint_is_open_clip_s() -> None:
    for each in catalogue.CHECKPOINTS:
        assert open_clip.get_model_config(each.model) is not None, each
        assert open_clip.get_pretrained_cfg(each.model, each.tag), each


def test_sizes_and_checksums_are_those_of_the_published_files() -> None:
    # parameters of OpenAI's ViT-B/32 as the paper's code prints them; the SHA-256 by which
    # OpenAI's own loader checks the file
    assert catalogue.count_parameters("ViT-B-32") == 151_277_313
    line = catalogue._source(catalogue.Checkpoint("ViT-B-32", "openai"))
    assert "40d365715913c9da98579312b702a82c18be219cc2a73407c4526f58eba950af" in line
    assert "the hub's" in catalogue._source(catalogue.Checkpoint("ViT-B-16-SigLIP", "webli"))
    assert "pictures of 224, 64 tokens" in catalogue._size("ViT-B-16-SigLIP")


def test_doctor_lists_them_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor.main(["--clips"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert "metric.clipscore.pretrained=TAG" in head
    by_name = {" ".join(line.split()[:2]): line for line in lines}
    assert len(by_name) == len(catalogue.CHECKPOINTS) + len(catalogue.PAC_S) + 1
    assert "428 M parameters (1.7 GB in float32)" in by_name["ViT-L-14 laion2b_s32b_b82k"]
    assert "Apache-2.0" in by_name["ViT-B-16-SigLIP webli"]
    assert "licence: see its card" in by_name["EVA02-L-14 merged2b_s4b_b131k"]


@pytest.mark.parametrize("name", TOWERS)
def test_other_architectures_score_as_the_library_has_it(name: str, tmp_path: Path) -> None:
    """Random weights of a small one, from a file, against open_clip's forward, a caption at a time.

    float32 on both: 1e-5.
    """
    (tmp_path / f"tiny-{name}.json").write_text(json.dumps(TOWERS[name]))
    open_clip.add_model_config(tmp_path / f"tiny-{name}.json")
    torch.manual_seed(0)
    model = open_clip.create_model(f"tiny-{name}").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    torch.save(model.state_dict(), tmp_path / "weights.pt")
    rng = np.random.default_rng(0)
    for k in range(3):
        pixels = rng.integers(0, 256, (40, 50 + k, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{k}.png")
    ids, texts = ("0", "1", "2"), ("a dog", "two cats on a red sofa " * 6, "")
    dataset = CaptionDataset(
        "pictures",
        ids,
        texts,
        ((), (), ()),
        ids,
        texts,
        parts={"images": lambda: ImageFiles(tmp_path, {i: f"{i}.png" for i in ids})},
    )
    metric = ClipScore(
        model=f"tiny-{name}", pretrained=str(tmp_path / "weights.pt"), device="cpu", weight=2.5
    )
    captions, index = [*texts, *texts], np.array([0, 1, 2, 1, 2, 0])
    done = score_captions(metric, dataset, captions, index, MemoryStore())
    assert done.status == "ok", done.reason
    expected = [
        2.5 * max(_cosine(model, name, tmp_path / f"{i}.png", text), 0.0)
        for text, i in zip(captions, index, strict=True)
    ]
    np.testing.assert_allclose(done.scores[:, 0], expected, rtol=0, atol=1e-5)
    assert np.ptp(expected) > 1e-3


def _cosine(model: Any, name: str, picture: Path, text: str) -> float:
    preprocess = open_clip.transform.image_transform_v2(
        open_clip.transform.PreprocessCfg(**model.visual.preprocess_cfg), is_train=False
    )
    tokenizer = open_clip.get_tokenizer(f"tiny-{name}")
    with Image.open(picture) as image, torch.no_grad():
        seen = model.encode_image(preprocess(image.convert("RGB"))[None])[0]
        said = model.encode_text(tokenizer(["A photo depicts " + text]))[0]
    return float(torch.nn.functional.cosine_similarity(seen.double(), said.double(), dim=0))
