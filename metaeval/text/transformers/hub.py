"""Models of the Hugging Face hub: what of them is on this machine, and fetching the rest.

Nothing is downloaded unless the user requests it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from metaeval.compute import requirements
from metaeval.data.dataset import Absent
from metaeval.data.download import DownloadError

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


def fetch(repository: str) -> None:
    """Bring a model into Hugging Face's own cache, with its progress bars and its resuming.

    Raises DownloadError where the hub cannot be reached or does not have the model.
    """
    with errors_in_one_line(repository):
        import_module("huggingface_hub").snapshot_download(repository, allow_patterns=list(_FILES))


def may_download(download: bool, offline: bool) -> bool:
    """Whether the user wants downloads, and neither an option nor the environment forbids them."""
    return download and not (offline or requirements.offline())


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
