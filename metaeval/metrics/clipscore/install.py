"""`python -m metaeval.doctor --install clip`: OpenAI's ViT-B/32, the network of CLIPScore."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from metaeval.data.download import download
from metaeval.errors import InputError
from metaeval.readers.files import user_path
from metaeval.runs.digests import file_sha256

# OpenAI's address of the file holds its SHA-256.
SHA256 = "40d365715913c9da98579312b702a82c18be219cc2a73407c4526f58eba950af"
URL = f"https://openaipublic.azureedge.net/clip/models/{SHA256}/ViT-B-32.pt"
NAME = "ViT-B-32-openai.pt"


def install(cache: Path, source: Path | None = None) -> None:
    """Bring the weights (354 MB) into the cache folder, from a local copy if given.

    Raises InputError for a copy that is another file, DownloadError without a connection.
    """
    target = user_path(cache) / "clip" / NAME
    if source is None:
        download(URL, target, sha256=SHA256, most=1 << 29)
    else:
        copy(user_path(source), target, "ViT-B-32.pt", SHA256)
    print(f"OpenAI's ViT-B/32 is in {target}", file=sys.stderr)


def copy(source: Path, target: Path, name: str, sha256: str) -> None:
    """Copy a file (or the one called `name` in a folder) that has the given checksum."""
    file = source / name if source.is_dir() else source
    if not file.is_file():
        raise InputError("file not found", file=file)
    if (digest := file_sha256(file)) != sha256:
        raise InputError(f"wrong file: SHA-256 {digest} instead of {sha256}", file=file)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    shutil.copyfile(file, part)
    part.replace(target)
