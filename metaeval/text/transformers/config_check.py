"""What a model folder's config.json may say: options of a known architecture, of sizes that fit.

transformers builds a network from this file before it looks at the weights, and some of its keys
name code that is then imported or fetched. So only keys of the architecture's own configuration
are accepted, and sizes are compared with the tensors of the weights file first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from metaeval.errors import InputError
from metaeval.readers.checkpoints import load_torch_checkpoint, safetensors_shapes
from metaeval.readers.files import one_line
from metaeval.readers.json_text import read_json

# keys that name code, or make the library import or fetch some
_CODE = frozenset({
    "auto_map", "quantization_config", "compression_config", "kernel_config", "custom_pipelines",
    "attn_implementation", "_attn_implementation", "_attn_implementation_internal",
    "experts_implementation", "_experts_implementation", "use_kernels", "trust_remote_code",
})  # fmt: skip
# texts that configurations of every architecture hold and that nothing is loaded by
_TEXTS = frozenset({
    "_name_or_path", "architectures", "transformers_version", "torch_dtype", "dtype",
    "finetuning_task", "task_specific_params", "id2label", "label2id", "problem_type",
    "tokenizer_class", "model_type", "output_past", "position_embedding_type", "language",
})  # fmt: skip
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers",
           "encoder_layers", "decoder_layers")  # fmt: skip
_SIZES = ("hidden_size", "d_model", "n_embd", "dim", "vocab_size", "intermediate_size", "d_ff",
          "hidden_dim", "max_position_embeddings", "n_positions", "type_vocab_size",
          "embedding_size", "num_attention_heads", "n_head", "n_heads")  # fmt: skip


def check_config(path: Path, weights: Path) -> None:
    """Refuse a config.json that names code, has an unknown architecture, or has sizes that
    its weights do not have. Raises InputError, naming the key."""
    config, _ = read_json(path)
    if not isinstance(config, dict):
        raise InputError("should be an object", file=path)
    _check_keys(config, path)
    shapes = _shapes(weights)
    largest = max((side for shape in shapes for side in shape), default=0)
    for keys, most, what in (
        (_LAYERS, len(shapes), f"{len(shapes):,} tensors"),
        (_SIZES, largest, f"tensors of at most {largest:,} rows or columns"),
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
