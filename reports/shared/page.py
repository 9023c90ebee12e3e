"""What all pages share: style, script, and a policy against external content."""

import base64
import hashlib
import io
import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from metaeval.errors import InputError
from metaeval.readers.images import open_image
from metaeval.reports.paper.figures import level_colours
from metaeval.reports.shared import formatting
from metaeval.runs.print_style import style

_REPORTS = Path(__file__).resolve().parents[1]


class Header(NamedTuple):
    """The head of a page: what it is about, and short facts as (what, value).

    `fallback` says why the dataset is another than the requested one, if so.
    """

    title: str
    question: str
    facts: Sequence[tuple[str, str]]
    fallback: str | None = None


def render_page(
    template: str,
    levels: int,
    *,
    room: str,
    scripts: str = "*.js",
    **context: Any,
) -> str:
    """A page's template with the style (for so many level colours) and the script set in.

    Script and style are the files of `shared/` and of the page's own `room`, in the order of their
    names; of the scripts, those whose names match the pattern `scripts`.
    The policy forbids every request, and every script but ours, by its hash.
    """
    script = _joined("script", room, scripts)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        environment()
        .get_template(template)
        .render(
            context,
            csp=f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
            f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
            style=Markup(_levels(levels) + _joined("style", room, "*.css")),
            script=Markup(script),
        )
    )


def inert(value: Any) -> Markup:
    """JSON that can stand in a <script>: no `<`, and no line separators."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e"))


@cache
def environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(sorted(_REPORTS.glob("*/templates"))),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["highlighted"] = lambda name: name in style().highlight
    environment.filters.update(
        number=formatting.number,
        percent=formatting.percent,
        count=formatting.count,
        seconds=formatting.seconds,
    )
    return environment


def _levels(n: int) -> str:
    """The colours of n levels as custom properties, and the classes l0 … that use them."""

    def colours(dark: bool) -> str:
        return "".join(f"--L{k}:{c};" for k, c in enumerate(level_colours(n, dark=dark)))

    light, dark = colours(False), colours(True)
    classes = "".join(f".l{k}{{--c:var(--L{k})}}" for k in range(n))
    return (
        f":root{{{light}}}\n:root[data-theme=dark]{{{dark}}}\n"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n"
        f"@media print{{:root:root:root{{{light}}}}}\n{classes}\n"
    )


@cache
def _joined(folder: str, room: str, pattern: str) -> str:
    paths = [p for r in ("shared", "blocks", room) for p in (_REPORTS / r / folder).glob(pattern)]
    return "".join(p.read_text(encoding="utf-8") for p in sorted(paths, key=lambda p: p.name))


SIDE = 320


def photos_of(
    image_ids: Sequence[int | str], image_paths: Sequence[str | None], most: int
) -> tuple[dict[str, str], str]:
    """Image id → data URL of a JPEG of at most SIDE pixels a side, of the first `most` images
    whose files can be read, and a sentence that says how many these are.

    `report.photos` asks for them.
    """
    urls: dict[str, str] = {}
    for image_id, path in dict(zip(map(str, image_ids), image_paths, strict=True)).items():
        if len(urls) == most:
            break
        if not isinstance(path, str):  # pandas reads none as NaN
            continue
        try:
            with open_image(Path(path)) as image:
                image.thumbnail((SIDE, SIDE))
        except InputError:
            continue
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=72, optimize=True)
        data = base64.b64encode(buffer.getvalue()).decode("ascii")
        urls[image_id] = f"data:image/jpeg;base64,{data}"
    return urls, f"{len(urls):,} of {most:,} photos embedded." if most else ""


Payload = TypeVar("Payload")


def kept_of(kept: int, n: int) -> str:
    """How many of n entries a table has."""
    return "All" if kept == n else f"{kept:,} of {n:,}"


def fit_into_room(
    n: int, make: Callable[[int], Payload], size: Callable[[Payload], int], room: int
) -> tuple[int, Payload]:
    """How many of n entries fit into `room` bytes, and what `make` gives for the first so many; at
    least one entry."""
    kept = n
    while True:
        payload = make(kept)
        if size(payload) <= room or kept <= 1:
            return kept, payload
        kept = max(1, int(kept * 0.97 * max(room, 1) / max(size(payload), 1)))
