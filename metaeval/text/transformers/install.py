"""`python -m metaeval.doctor --install bertscore`: roberta-large, BERTScore's network for English.

The revision is pinned by its commit. What the hub states of every file at that revision (the
SHA-256 of the weights, git's own hash of a small file) is checked.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from importlib import import_module
from pathlib import Path

from metaeval.compute.requirements import missing_packages
from metaeval.data.download import DownloadError
from metaeval.errors import ConfigError, InputError
from metaeval.readers.files import read_bytes, user_path
from metaeval.runs.digests import file_sha256
from metaeval.text.transformers.hub import errors_in_one_line

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
