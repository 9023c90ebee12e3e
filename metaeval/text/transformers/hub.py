"""Fetching a model from the Hugging Face hub: only ever when the user asked for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from metaeval.errors import MetaevalError

# What a model is made of; the same weights in other frameworks' formats stay where they are.
_FILES = ("*.json", "*.txt", "*.model", "*.safetensors", "pytorch_model.bin")


def fetch(model: str) -> None:
    """Bring a model into Hugging Face's own cache, with its progress bars and its resuming.

    Raises MetaevalError where the hub cannot be reached or does not know the model.
    """
    hub = import_module("huggingface_hub")
    try:
        hub.snapshot_download(model, allow_patterns=list(_FILES))
    except Exception as error:  # its errors have no common class but this one
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise MetaevalError(f"{model} cannot be downloaded: {first}") from None


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
