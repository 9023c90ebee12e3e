"""The generator of the embedded scenes: what it makes ships in `metaeval/data/scenes`."""
