"""Pictures of docs/, each with the name of its table and a digest of it.

    python -m benchmarks.numbers.pictures IN.png OUT.png TABLE

By the digest, a test finds a picture that is older than its table in the documents.
"""

import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path

from PIL import Image, PngImagePlugin

from benchmarks.numbers.documents import marked, texts_of
from metaeval.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]


def tables_in(root: Path) -> dict[str, str]:
    """Name → text of all marked tables of the documents."""
    return {k: body for f, text in texts_of(root).items() for k, body in marked(text, f).items()}


def digest(body: str) -> str:
    return hashlib.sha256(body.strip().encode()).hexdigest()[:16]


def save(picture: Path, out: Path, table: str, bodies: Mapping[str, str]) -> None:
    """Write a picture with what it shows; ConfigError for an unknown table."""
    if table not in bodies:
        raise ConfigError(f"the table '{table}' is in no document")
    info = PngImagePlugin.PngInfo()
    info.add_text("Table", table)
    info.add_text("Digest", digest(bodies[table]))
    image = Image.open(picture).convert("RGB").quantize(64, method=1, dither=0)
    image.save(out, optimize=True, pnginfo=info)


def stale(picture: Path, bodies: Mapping[str, str]) -> str | None:
    """Why a picture is not of its table in the documents; `None` where it is."""
    with Image.open(picture) as image:
        table, known = image.info.get("Table"), image.info.get("Digest")
    if table not in bodies:
        return f"shows the table '{table}', which is in no document"
    return None if known == digest(bodies[table]) else f"is older than the table '{table}'"


if __name__ == "__main__":
    save(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], tables_in(ROOT))
