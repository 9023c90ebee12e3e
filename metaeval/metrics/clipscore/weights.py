"""Find the installed weights of a CLIP model, or install them; torch only when needed.

`checkpoints.txt` lists CLIPs that CLIPScore can take by name. Sizes, tokens, addresses and
checksums are open_clip's own (its table of pretrained weights and its architectures; tested); the
licence is what the weights' model card or repository says, where it was looked up.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.data.download import download
from metaeval.errors import ConfigError, InputError
from metaeval.readers.files import user_path
from metaeval.runs.files import file_sha256
from metaeval.text.transformers import hub
from metaeval.weights.pretrained import SHIPPED, WEIGHTS, overlap

INSTALL = "python -m metaeval doctor --install clip"
RANDOM, SCENES, AUTO = "random", "scenes", "auto"
SCENES_CLIP = SHIPPED / "scenes_clip"

# OpenAI's ViT-B/32, the CLIPScore paper's model: open_clip's name of it, and its possible places.
_DEFAULT = ("ViT-B-32", "openai")
_DEFAULT_HUB = "timm/vit_base_patch32_clip_224.openai"
_FILES = ("open_clip_model.safetensors", "open_clip_pytorch_model.bin", "model.safetensors")


@dataclass(frozen=True, slots=True)
class ClipWeights:
    """An open_clip model and its weights: "ViT-B-32" and "openai", and the file they are in.

    The tag is "random" (without a file), "scenes" or the file's name where it is not `known`
    to be one of open_clip's own, with which its preprocessing goes.
    """

    model: str
    tag: str
    path: Path | None
    known: bool = False

    @property
    def label(self) -> str:
        """The suffix of the metric's name in tables; empty for OpenAI's ViT-B/32."""
        if (self.model, self.tag) == _DEFAULT:
            return ""
        return self.tag if self.tag in (RANDOM, SCENES) else f"{self.model} {self.tag}"


def locate_weights(
    model: str, pretrained: str, dataset: CaptionDataset, cache: Path | None
) -> ClipWeights | Absent:
    """The weights, if they are on this machine; never the network.

    Parameters
    ----------
    model
        open_clip's name of the architecture.
    pretrained
        "auto": OpenAI's weights if they are here; else, on the drawn scenes, the small CLIP that
        was trained for them; else absent. "random": no weights, for trying things out. "scenes":
        the small CLIP. Otherwise a tag of open_clip ("openai", "laion2b_s34b_b79k") or a file.
    dataset
        What is to be scored: the small CLIP never scores an image that it was trained on.
    cache
        The cache folder of metaeval.
    """
    if pretrained == SCENES:
        return _shipped(dataset)
    if (tag := tag_of(pretrained)) is None:
        named = asked_for(model, pretrained)
        if named.path is None or named.path.is_file():
            return named
        return Absent("clip", f"no file {pretrained}", "correct metric.*.pretrained")
    tagged = _tagged(model, tag, cache)
    if pretrained == AUTO and isinstance(tagged, Absent) and dataset.is_scenes:
        return _shipped(dataset) if (SCENES_CLIP / WEIGHTS).is_file() else tagged
    return tagged


def tag_of(pretrained: str) -> str | None:
    """open_clip's name of the weights ("openai" for "auto"), `None` for a file, random or own ones.

    Only weights with a tag can be downloaded.
    """
    if pretrained == AUTO:
        return "openai"
    file = user_path(pretrained)
    if pretrained in (RANDOM, SCENES) or "/" in pretrained or file.is_file():
        return None
    return None if file.suffix in (".pt", ".pth", ".bin", ".safetensors") else pretrained


def asked_for(model: str, pretrained: str) -> ClipWeights:
    """What the options name, whether it is here or not; of "auto" OpenAI's weights."""
    if (tag := tag_of(pretrained)) is not None or pretrained in (RANDOM, SCENES):
        return ClipWeights(model, tag or pretrained, None)
    file = user_path(pretrained)
    return ClipWeights(model, file.stem, file)


def fetch_weights(model: str, pretrained: str, dataset: CaptionDataset, cache: Path | None) -> None:
    """Fetch weights that have a tag, where `locate_weights` gives none, into Hugging Face's cache.

    Raises ConfigError for an unknown tag, DownloadError where the hub cannot be reached.
    """
    tag = tag_of(pretrained)
    if tag is None or isinstance(locate_weights(model, pretrained, dataset, cache), ClipWeights):
        return
    if (repository := _hub_of(model, tag)) is None:
        raise ConfigError(f"unknown weights '{tag}' of {model} on open_clip's Hugging Face hub")
    hub.fetch_model(repository)


def tag_config(model: str, tag: str) -> dict[str, object]:
    """open_clip's facts about a tag (quick_gelu, mean, std, …); imports torch."""
    return import_module("open_clip").get_pretrained_cfg(model, tag)


def _shipped(dataset: CaptionDataset) -> ClipWeights | Absent:
    if not (SCENES_CLIP / WEIGHTS).is_file():
        remedy = "python -m research.train experiment=train_clip dataset=scenes"
        return Absent("clip", "the small CLIP for scenes is missing in this installation", remedy)
    if seen := overlap(SCENES_CLIP, dataset):
        return Absent(
            "clip",
            f"the small CLIP was trained on {seen:,} of these {len(dataset):,} images",
            "use another split: dataset.split=val",
        )
    return ClipWeights(SCENES, SCENES, SCENES_CLIP / WEIGHTS)


def _tagged(model: str, tag: str, cache: Path | None) -> ClipWeights | Absent:
    for folder in [cache / "clip"] if cache is not None else []:
        for suffix in (".pt", ".safetensors"):
            if (file := folder / f"{model}-{tag}{suffix}").is_file():
                return ClipWeights(model, tag, file, known=True)
    openai = user_path("~/.cache/clip") / f"{model.replace('-quickgelu', '')}.pt"
    if tag == "openai" and openai.is_file():  # where OpenAI's own package puts it
        return ClipWeights(model, tag, openai, known=True)
    if (repository := _hub_of(model, tag)) is not None:
        for name in _FILES:
            if (cached := hub.cached_file(repository, name)) is not None:
                return ClipWeights(model, tag, cached, known=True)
    remedy = INSTALL if (model, tag) == _DEFAULT else "set metric.*.download=true"
    return Absent("clip", f"the weights '{tag}' of {model} are not installed", remedy)


def _hub_of(model: str, tag: str) -> str | None:
    """The hub's repository for a tag; looked up in open_clip for all except the usual one."""
    if (model, tag) == _DEFAULT:
        return _DEFAULT_HUB
    repository = tag_config(model, tag).get("hf_hub", "")
    return str(repository).strip("/") or None


# The SHA-256 of the files that OpenAI published; each file's address contains its own.
OPENAI = {
    "RN50": "afeb0e10f9e5a86da6080e35cf09123aca3b358a0c3e3b6c78a7b63bc04b6762",
    "RN101": "8fa8567bab74a42d41c5915025a8e4538c3bdbe8804a470a72f30b0d94fab599",
    "RN50x4": "7e526bd135e493cef0776de27d5f42653e6b4c8bf9e0f653bb11773263205fdd",
    "RN50x16": "52378b407f34354e150460fe41077663dd5b39c54cd0bfd2b27167a4a06ec9aa",
    "RN50x64": "be1cfb55d75a9666199fb2206c106743da0f6468c9d327f3e0d0a543a9919d9c",
    "ViT-B-32": "40d365715913c9da98579312b702a82c18be219cc2a73407c4526f58eba950af",
    "ViT-B-16": "5806e77cd80f8b59890b7e101eabd078d9fb84e6937f9e85e4ecb61988df416f",
    "ViT-L-14": "b8cca3fd41ae0c99ba7e8951adf17d267cdb84cd88be6f7c2e0eca1737a03836",
    "ViT-L-14-336px": "3035c92b350959924f9f00213499208652fc7ea050643e8b385c2dac08641f02",
}
SHA256 = OPENAI["ViT-B-32"]
URL = f"https://openaipublic.azureedge.net/clip/models/{SHA256}/ViT-B-32.pt"
NAME = "ViT-B-32-openai.pt"


def install(cache: Path, source: Path | None = None) -> None:
    """Bring the weights (354 MB) into the cache folder, from a local copy if given.

    Raises InputError for a copy that is another file, DownloadError without a connection.
    """
    target = user_path(cache) / "clip" / NAME
    if source is None:
        download(URL, target, sha256=SHA256, most=1 << 29)
    else:
        copy(user_path(source), target, "ViT-B-32.pt", SHA256)
    print(f"OpenAI's ViT-B/32 is in {target}", file=sys.stderr)


def copy(source: Path, target: Path, name: str, sha256: str) -> None:
    """Copy a file (or the one called `name` in a folder) that has the given checksum."""
    file = source / name if source.is_dir() else source
    if not file.is_file():
        raise InputError("file not found", file=file)
    if (digest := file_sha256(file)) != sha256:
        raise InputError(f"wrong file: SHA-256 {digest} instead of {sha256}", file=file)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    shutil.copyfile(file, part)
    part.replace(target)


def lines() -> list[str]:
    """A line for each CLIP that is taken by name: its size, licence, hub and checksum."""
    return (Path(__file__).parent / "checkpoints.txt").read_text(encoding="utf-8").splitlines()
