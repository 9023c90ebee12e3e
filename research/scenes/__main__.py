"""`python -m research.scenes export DIR split=val`: the scenes in COCO's files."""

import sys
import textwrap
from pathlib import Path

from PIL import Image, ImageDraw

from metaeval.data.scenes.graph import SceneGraph
from metaeval.data.scenes.load import SPLITS
from metaeval.data.scenes.render import render
from metaeval.errors import ConfigError, ends_with_status
from metaeval.readers.files import user_path
from research.scenes.compose import generate
from research.scenes.files import export, freeze

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
        "Made by `python -m research.scenes samples docs/scenes`: ten scenes of the split",
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


USAGE = """usage: python -m research.scenes export DIR [KEY=VALUE …]

Writes DIR/annotations/captions_SPLIT.json, instances_SPLIT.json, scene_graphs_SPLIT.json and
DIR/SPLIT/*.png.

  split=val         val (5,000 scenes), dev (1,000), train (20,000), or all
  n=null            how many scenes (default: the split's number)
  seed=0            another seed, other scenes
  n_references=4    captions per scene after the first
  images=true       false: annotations only
  size=336          width and height of the images in pixels

       python -m research.scenes samples DIR

Writes ten sample images with their captions for a page of documentation.

       python -m research.scenes freeze DIR

Writes DIR/SPLIT.jsonl.xz of every split, as metaeval/data/scenes ships them."""
DEFAULTS = {
    "split": "val",
    "n": "null",
    "seed": "0",
    "n_references": "4",
    "images": "true",
    "size": "336",
}


def _number(key: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ConfigError(f"{key} must be a whole number, not {text!r}") from None


def _export(folder: Path, options: dict[str, str]) -> None:
    splits = list(SPLITS) if options["split"] == "all" else [options["split"]]
    if options["images"] not in ("true", "false"):
        raise ConfigError(f"images must be true or false, not {options['images']!r}")
    n = None if options["n"] == "null" else _number("n", options["n"])
    size = _number("size", options["size"])
    if not 32 <= size <= 4096:
        raise ConfigError(f"size must be in 32…4,096, not {size}")
    for split in splits:
        seed, k = _number("seed", options["seed"]), _number("n_references", options["n_references"])
        graphs = list(generate(split, n, seed, 1 + k))
        paths = export(folder, graphs, split, size, options["images"] == "true")
        print(f"{split}: {len(graphs):,} scenes, {sum(len(g.captions) for g in graphs):,} captions")
        for path in paths:
            print(f"  {path}")
        if options["images"] == "true":
            print(f"  {folder / split}/")


@ends_with_status("error")
def main(arguments: list[str] | None = None) -> int:
    """The command; returns the exit status."""
    args = sys.argv[1:] if arguments is None else arguments
    if any(a in ("-h", "--help", "help") for a in args):
        print(USAGE)
        return 0
    if len(args) < 2 or args[0] not in ("export", "samples", "freeze") or "=" in args[1]:
        print(USAGE, file=sys.stderr)
        return 2
    options = dict(DEFAULTS)
    try:
        for arg in args[2:]:
            key, equals, value = arg.partition("=")
            if not equals or key not in options:
                raise ConfigError(f"unknown option {arg!r}; known: {', '.join(options)}")
            options[key] = value
        if args[0] == "samples":
            for path in write_samples(user_path(args[1])):
                print(path)
            return 0
        if args[0] == "freeze":
            for split in SPLITS:
                freeze(list(generate(split)), user_path(args[1]) / f"{split}.jsonl.xz")
            return 0
        _export(user_path(args[1]), options)
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
