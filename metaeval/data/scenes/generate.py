"""All scenes of a split, each from (seed, split, index) alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from metaeval.data.scenes.captions import write_captions
from metaeval.data.scenes.compose import compose
from metaeval.data.scenes.draw import Draw
from metaeval.data.scenes.graph import SceneGraph
from metaeval.errors import ConfigError

# Split → how many scenes it has by default, and the id before its first image.
SPLITS: dict[str, tuple[int, int]] = {
    "val": (5_000, 100_000),
    "dev": (1_000, 200_000),
    "train": (20_000, 300_000),
}


def generate(
    split: str = "val", n: int | None = None, seed: int = 0, n_captions: int = 5
) -> Iterator[SceneGraph]:
    """The first `n` scenes of a split (default: all), with `n_captions` captions each.

    A scene depends on seed, split and its own index, on nothing else: neither `n` nor
    `n_captions` changes what the first scenes and the first captions are.

    Raises ConfigError for an unknown split or numbers that make no sense.
    """
    if split not in SPLITS:
        raise ConfigError(f"dataset.split must be one of {', '.join(SPLITS)}, not {split!r}")
    usual, base = SPLITS[split]
    count = usual if n is None else n
    for name, value, most in (("n", count, 99_999), ("captions per scene", n_captions, 20)):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise ConfigError(f"scenes: {name} must be a whole number in 1…{most:,}: {value!r}")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ConfigError(f"dataset.seed must be a whole number: {seed!r}")
    return (_scene(seed, split, i, base + 1 + i, n_captions) for i in range(count))


def _scene(seed: int, split: str, index: int, image_id: int, n_captions: int) -> SceneGraph:
    draw = Draw("scenes", seed, split, index)
    graph = compose(draw, image_id, list(SPLITS).index(split), len(SPLITS))
    return replace(graph, captions=write_captions(graph, draw, n_captions))
