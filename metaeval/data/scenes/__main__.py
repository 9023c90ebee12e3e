"""`python -m metaeval.data.scenes export DIR split=val`: the scenes in COCO's files."""

from __future__ import annotations

import sys
from pathlib import Path

from metaeval.data.scenes.files import export
from metaeval.data.scenes.generate import SPLITS, generate
from metaeval.data.scenes.samples import write_samples
from metaeval.errors import ConfigError, MetaevalError
from metaeval.readers.files import user_path

USAGE = """usage: python -m metaeval.data.scenes export DIR [KEY=VALUE …]

Writes DIR/annotations/captions_SPLIT.json, instances_SPLIT.json, scene_graphs_SPLIT.json and
DIR/SPLIT/*.png.

  split=val         val (5,000 scenes), dev (1,000), train (20,000), or all
  n=null            how many scenes (default: the split's number)
  seed=0            another seed, other scenes
  n_references=4    captions per scene after the first
  images=true       false: annotations only
  size=336          width and height of the images in pixels

       python -m metaeval.data.scenes samples DIR

Writes ten sample images with their captions for a page of documentation."""
DEFAULTS = {
    "split": "val", "n": "null", "seed": "0", "n_references": "4", "images": "true", "size": "336",
}  # fmt: skip


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


def main(arguments: list[str] | None = None) -> int:
    """The command; returns the exit status."""
    args = sys.argv[1:] if arguments is None else arguments
    if any(a in ("-h", "--help", "help") for a in args):
        print(USAGE)
        return 0
    if len(args) < 2 or args[0] not in ("export", "samples") or "=" in args[1]:
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
        _export(user_path(args[1]), options)
    except MetaevalError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
