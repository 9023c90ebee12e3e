"""Pictures of docs/: each says which table it shows, of which commit and data.

    python -m benchmarks.numbers.pictures IN.png OUT.png TABLE

writes IN with a line at its foot, and a digest of the table in the documents, by which a test
finds a picture that is older than its table.
"""

import hashlib
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont, PngImagePlugin

from benchmarks.numbers.documents import marked, texts_of
from metaeval.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
FOOT = 22  # pixels


def tables_in(root: Path) -> dict[str, str]:
    """Name → text of all marked tables of the documents."""
    return {k: body for f, text in texts_of(root).items() for k, body in marked(text, f).items()}


def digest(body: str) -> str:
    return hashlib.sha256(body.strip().encode()).hexdigest()[:16]


def save(picture: Path, out: Path, table: str, bodies: Mapping[str, str]) -> None:
    """Write a picture of a table, with what it shows; ConfigError for an unknown table."""
    if table not in bodies:
        raise ConfigError(f"the table '{table}' is in no document")
    asked = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    command = next(line for line in bodies[table].splitlines() if line.startswith("python "))
    image = Image.open(picture).convert("RGB")
    page = Image.new("RGB", (image.width, image.height + FOOT), "white")
    page.paste(image)
    text = f"metaeval, commit {commit or 'unknown'}: {command}"
    font = ImageFont.load_default(12)
    while font.getlength(text) > page.width - 16:
        text = f"{text[:-2].rstrip()}…"
    ImageDraw.Draw(page).text((8, image.height + 4), text, "#666666", font)
    info = PngImagePlugin.PngInfo()
    info.add_text("Table", table)
    info.add_text("Digest", digest(bodies[table]))
    page.quantize(64, method=1, dither=0).save(out, optimize=True, pnginfo=info)


def stale(picture: Path, bodies: Mapping[str, str]) -> str | None:
    """Why a picture is not of its table in the documents; `None` where it is."""
    with Image.open(picture) as image:
        table, known = image.info.get("Table"), image.info.get("Digest")
    if table not in bodies:
        return f"shows the table '{table}', which is in no document"
    return None if known == digest(bodies[table]) else f"is older than the table '{table}'"


if __name__ == "__main__":
    save(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], tables_in(ROOT))
