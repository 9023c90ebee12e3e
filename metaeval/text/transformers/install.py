"""`python -m metaeval.doctor --install bertscore`: roberta-large, BERTScore's network for English.

The revision is pinned by its commit. The hub states the SHA-256 of the weights and git's own hash
of every small file at that revision; both are checked.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from metaeval.data.download import DownloadError, download
from metaeval.errors import InputError

REPOSITORY = "FacebookAI/roberta-large"
REVISION = "722cf37b1afa9454edce342e7895e588b6ff1d59"
HUB = "https://huggingface.co"
FILES = (
    "config.json",
    "merges.txt",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
    "model.safetensors",  # last: with it the model counts as being there
)


def install(cache: Path, source: Path | None = None, hub: str = HUB) -> None:
    """Bring roberta-large (1.4 GB) into the cache folder, from a local folder if given.

    Raises InputError for a folder without the model, DownloadError where there is no connection or
    a file is not the one that the hub states.
    """
    target = cache.expanduser() / "bertscore" / "roberta-large"
    target.mkdir(parents=True, exist_ok=True)
    if source is not None:
        for name in FILES:
            if not (file := source.expanduser() / name).is_file():
                raise InputError(f"there is no {name}", file=source)
            part = target / f"{name}.part"
            shutil.copyfile(file, part)
            part.replace(target / name)
    else:
        stated = _stated(hub)
        for name in FILES:
            url = f"{hub}/{REPOSITORY}/resolve/{REVISION}/{name}"
            facts = stated.get(name)
            if facts is None:
                raise DownloadError(f"{url}: the hub does not list this file")
            if "lfs" in facts:
                download(url, target / name, sha256=str(facts["lfs"]["oid"]))
            else:
                _small(url, target / name, str(facts["oid"]))
    print(f"roberta-large is in {target}", file=sys.stderr)


def _stated(hub: str) -> dict[str, dict[str, Any]]:
    """What the hub says about the files of the revision: name → size, hashes."""
    url = f"{hub}/api/models/{REPOSITORY}/tree/{REVISION}"
    try:
        entries: list[dict[str, Any]] = json.loads(_get(url))
        return {str(entry["path"]): entry for entry in entries}
    except (ValueError, KeyError, TypeError):
        raise DownloadError(f"{url}: the hub's answer is not understood") from None


def _small(url: str, target: Path, blob: str) -> None:
    """A file that git keeps itself: believed by git's hash of its content."""
    if target.is_file() and git_hash(target.read_bytes()) == blob:
        return
    content = _get(url)
    if (found := git_hash(content)) != blob:
        raise DownloadError(f"{url}: the file has a wrong hash ({found} instead of {blob})")
    part = target.with_name(target.name + ".part")
    part.write_bytes(content)
    part.replace(target)


def git_hash(content: bytes) -> str:
    """Git's name of a file's content (SHA-1 of a header and the content)."""
    head = f"blob {len(content)}\0".encode()
    return hashlib.sha1(head + content, usedforsecurity=False).hexdigest()


def _get(url: str) -> bytes:
    try:
        with urlopen(Request(url, headers={"User-Agent": "metaeval"}), timeout=30) as answer:
            content: bytes = answer.read()
            return content
    except (URLError, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise DownloadError(f"{url}: no connection ({reason})") from None
