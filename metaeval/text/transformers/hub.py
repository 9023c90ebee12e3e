"""Models of the Hugging Face hub: what of them is on this machine, and fetching the rest.

Nothing is downloaded unless the user requests it.

`python -m metaeval.doctor --install bertscore`: roberta-large, BERTScore's network for English.

The revision is pinned by its commit. What the hub states of every file at that revision (the
SHA-256 of the weights, git's own hash of a small file) is checked.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from metaeval.compute import requirements
from metaeval.compute.requirements import missing_packages
from metaeval.data.dataset import Absent
from metaeval.data.download import DownloadError
from metaeval.errors import ConfigError, InputError
from metaeval.readers.files import read_bytes, user_path
from metaeval.runs.digests import file_sha256

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
