"""Values that the configuration takes from the environment: `${oc.env:NAME}`.

They may be secrets. A run uses them and writes them down as they are written in the configuration;
in a signature a digest follows, so that another value is another metric. The variables of metaeval
itself (`SETTINGS`) are written with their values.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from threading import RLock
from typing import Any, TypeVar

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from omegaconf.resolvers import oc
from pydantic import BaseModel

SETTINGS = frozenset({"METAEVAL_DATA", "METAEVAL_CACHE", "HF_HUB_OFFLINE"})
_SHORTEST = 8  # characters of a value that is looked for in the texts of results
_RESOLVER = "oc.env"
_lock = RLock()  # the resolver is one for all threads
Written = Mapping[str, str]  # value → as the configuration has it
_Model = TypeVar("_Model", bound=BaseModel)


def as_written(node: DictConfig) -> Any:
    """A plain container of a node: references resolved, except those to the environment."""

    def text(name: str, *default: Any) -> Any:
        if name in SETTINGS:
            return oc.env(name, *default)
        rest = "".join(f",{'null' if each is None else each}" for each in default)
        return f"${{{_RESOLVER}:{name}{rest}}}"

    with _lock:
        OmegaConf.register_new_resolver(_RESOLVER, text, replace=True)
        try:
            return OmegaConf.to_container(node, resolve=True)
        finally:
            OmegaConf.register_new_resolver(_RESOLVER, oc.env, replace=True)


def from_environment(node: DictConfig) -> dict[str, str]:
    """The values within a node that come from the environment, as texts → as they are written.

    Empty where the node cannot be resolved.
    """
    try:
        written = as_written(node)
        if f"${{{_RESOLVER}:" not in str(written):
            return {}
        return dict(_different(OmegaConf.to_container(node, resolve=True), written))
    except OmegaConfBaseException:
        return {}


def _different(value: Any, written: Any) -> list[tuple[str, str]]:
    if isinstance(value, dict) and isinstance(written, dict):
        return [pair for key in value for pair in _different(value[key], written.get(key))]
    if isinstance(value, list) and isinstance(written, list):
        return [pair for both in zip(value, written, strict=True) for pair in _different(*both)]
    return [] if value == written or value in (None, "") else [(str(value), str(written))]


def hidden(text: str, values: Written, digests: bool = False) -> str:
    """A text with every value, also an escaped one, as the configuration has it.

    With `digests` 12 digits of the value's SHA-256 follow.
    """
    forms: dict[str, str] = {}
    for value, written in values.items():
        digest = hashlib.sha256(value.encode(errors="surrogateescape")).hexdigest()[:12]
        for form in (value, repr(value)[1:-1], json.dumps(value)[1:-1]):
            forms[form] = f"{written}#{digest}" if digests else written
    if not forms:
        return text
    longest_first = sorted(forms, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, longest_first)), lambda m: forms[m[0]], text)


def hidden_in(model: _Model, node: DictConfig) -> _Model:
    """A model without the values that a node takes from the environment, in all of its texts.

    Values of fewer than eight characters stay: they would be found in other words.
    """
    values = {v: w for v, w in from_environment(node).items() if len(v) >= _SHORTEST}
    if not values:
        return model
    content = _hidden_texts(model.model_dump(mode="json"), values)
    return type(model).model_validate_json(json.dumps(content))


def _hidden_texts(value: Any, values: Written) -> Any:
    if isinstance(value, dict):
        return {hidden(key, values): _hidden_texts(each, values) for key, each in value.items()}
    if isinstance(value, list):
        return [_hidden_texts(each, values) for each in value]
    return hidden(value, values) if isinstance(value, str) else value
