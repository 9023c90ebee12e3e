"""Sample images with captions for the documentation."""

from __future__ import annotations

import textwrap
from pathlib import Path

from PIL import Image, ImageDraw

from metaeval.data.scenes.generate import generate
from metaeval.data.scenes.graph import SceneGraph
from metaeval.data.scenes.render import render

# Chosen by eye among the first hundred of val: ten places, people, animals and things.
CHOSEN = (8, 11, 14, 30, 32, 33, 47, 49, 50, 74)
COLUMNS = 5
SIDE = 240


def write_samples(folder: Path) -> list[Path]:
    """Write the sample images, a contact sheet and a page with all captions into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    graphs = [g for i, g in enumerate(generate("val", max(CHOSEN) + 1)) if i in CHOSEN]
    out = []
    for g in graphs:
        path = folder / f"{g.image_id:012d}.png"
        render(g, SIDE).save(path, optimize=True)
        out.append(path)
    sheet = folder / "sheet.png"
    _sheet(graphs).save(sheet, optimize=True)
    page = folder / "README.md"
    page.write_text(_page(graphs), encoding="utf-8")
    return [*out, sheet, page]


def _sheet(graphs: list[SceneGraph]) -> Image.Image:
    """Images in rows with each scene's first caption below."""
    gap, text = 8, 50
    rows = -(-len(graphs) // COLUMNS)
    size = (COLUMNS * (SIDE + gap) + gap, rows * (SIDE + gap + text) + gap)
    sheet = Image.new("RGB", size, "white")
    canvas = ImageDraw.Draw(sheet)
    for i, g in enumerate(graphs):
        x = gap + (i % COLUMNS) * (SIDE + gap)
        y = gap + (i // COLUMNS) * (SIDE + gap + text)
        sheet.paste(render(g, SIDE), (x, y))
        lines = textwrap.wrap(g.captions[0].text, 38)[:3]
        canvas.text((x, y + SIDE + 3), "\n".join(lines), fill="black", font_size=12.5)
    return sheet


def _page(graphs: list[SceneGraph]) -> str:
    """A Markdown page: every sample with its five captions and what is true of it."""
    lines = [
        "# Samples of the embedded scenes",
        "",
        "Made by `python -m metaeval.data.scenes samples docs/scenes`: ten scenes of the split",
        "`val`, each with its five captions and the relations that are true of it.",
        "",
        "| image | captions | truth |",
        "|---|---|---|",
    ]
    for g in graphs:
        groups = g.groups()
        captions = "<br>".join(c.text for c in g.captions)
        facts = [f"{g.setting}, {g.light}"]
        for members in groups:
            first = members[0]
            adjectives = [
                v for k, v in first.attributes if k in ("age", "size", "colour", "material")
            ]
            facts.append(" ".join([str(len(members)), *adjectives, first.kind]))
        for s, predicate, o in g.group_relations:
            facts.append(f"{groups[s][0].kind} *{predicate}* {groups[o][0].kind}")
        image = f'<img src="{g.image_id:012d}.png" width="{SIDE}" alt="{g.captions[0].text}">'
        lines.append(f"| {image} | {captions} | {'<br>'.join(facts)} |")
    return "\n".join(lines) + "\n"
