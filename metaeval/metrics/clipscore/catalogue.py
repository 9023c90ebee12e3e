"""CLIPs that CLIPScore can take by name: their size, licence, and what their files are checked by.

Sizes, tokens, addresses and checksums are open_clip's own (its table of pretrained weights and its
architectures); the licence is what the weights' model card or repository says, where it was looked
up. Nothing is downloaded, and no weights are read.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import NamedTuple

_SEE = "licence: see its card"
_SHA256 = re.compile(r"/([0-9a-f]{64})/")


class Checkpoint(NamedTuple):
    """Weights by open_clip's names of architecture and tag; the licence "" if not checked."""

    model: str
    tag: str
    licence: str = ""


CHECKPOINTS = (
    Checkpoint("ViT-B-32", "openai", "MIT"),
    Checkpoint("ViT-B-16", "openai", "MIT"),
    Checkpoint("ViT-L-14", "openai", "MIT"),
    Checkpoint("ViT-L-14-336", "openai", "MIT"),
    Checkpoint("ViT-B-32", "laion2b_s34b_b79k"),
    Checkpoint("ViT-L-14", "laion2b_s32b_b82k", "MIT"),
    Checkpoint("ViT-H-14", "laion2b_s32b_b79k"),
    Checkpoint("ViT-g-14", "laion2b_s34b_b88k", "MIT"),
    Checkpoint("ViT-B-16-SigLIP", "webli", "Apache-2.0"),
    Checkpoint("ViT-L-16-SigLIP-256", "webli", "Apache-2.0"),
    Checkpoint("ViT-SO400M-14-SigLIP", "webli"),
    Checkpoint("ViT-B-16-SigLIP2", "webli"),
    Checkpoint("EVA02-B-16", "merged2b_s8b_b131k"),
    Checkpoint("EVA02-L-14", "merged2b_s4b_b131k"),
)
# files of the authors, whose README says where they are: architecture → file
PAC_S = {"ViT-B-32-quickgelu": "clip_ViT-B-32.pth", "ViT-L-14": "openClip_ViT-L-14.pth"}


def lines() -> list[str]:
    """A line a checkpoint."""
    width = max(len(f"{each.model} {each.tag}") for each in CHECKPOINTS)
    lines = [
        f"{f'{each.model} {each.tag}':<{width}}  {_size(each.model)}, {each.licence or _SEE}; "
        f"{_source(each)}"
        for each in CHECKPOINTS
    ]
    return [
        *lines,
        *(
            f"{f'PAC-S {name}':<{width}}  {_size(model)}, licence: see aimagelab/pacscore; the "
            f"authors' file, metric.pacscore.model={model}; no checksum published"
            for model, name in PAC_S.items()
        ),
        f"{'PAC-S++ PAC++_clip_ViT-*.pth':<{width}}  a CLIP's weights with low-rank "
        "updates, which are not read here: metric.scores takes what the authors' program gives",
    ]


def count_parameters(model: str) -> int:
    """How many numbers an architecture's weights are; none of them is made."""
    import torch

    open_clip = import_module("open_clip")
    shape: dict[str, object] = open_clip.get_model_config(model)
    kind = open_clip.CustomTextCLIP if shape.pop("custom_text", False) else open_clip.CLIP
    with torch.device("meta"):
        network = kind(**shape)
    return sum(parameter.numel() for parameter in network.parameters())


def _size(model: str) -> str:
    shape = import_module("open_clip").get_model_config(model)
    n = count_parameters(model)
    return (
        f"{n / 1e6:,.0f} M parameters ({4 * n / 1e9:.1f} GB in float32), pictures of "
        f"{shape['vision_cfg']['image_size']}, {shape['text_cfg'].get('context_length', 77)} tokens"
    )


def _source(checkpoint: Checkpoint) -> str:
    """Where it comes from, and what its file is checked by."""
    known = import_module("open_clip").get_pretrained_cfg(checkpoint.model, checkpoint.tag)
    hub, address = known.get("hf_hub", "").rstrip("/"), known.get("url", "")
    if sha256 := _SHA256.search(address):
        return f"{hub}; OpenAI's file: SHA-256 {sha256[1]}"
    return f"{hub}; SHA-256: the hub's, of each file"
