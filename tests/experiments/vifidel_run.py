"""A run of the command with VIFIDEL on a few scenes, its word vectors from a small file."""

import re
from pathlib import Path

import numpy as np

from metaeval.data.scenes import load_scenes
from tests.forked import run_command

UNKNOWN = ("grass", "red", "man")  # words that get no vector, so that some are left out


def run_vifidel(folder: Path, out: str, *arguments: str, limit: int = 20) -> Path:
    """Run `experiment=replace` on scenes in `folder`; returns the run's directory."""
    vectors = folder / "vectors.txt"
    if not vectors.exists():
        scenes = load_scenes(n=limit, cache=folder / "scenes")
        labels = (label for each in scenes.part("objects").values() for label in each.labels)
        texts = [*scenes.pool, *(r for group in scenes.references for r in group), *labels]
        words = sorted({w for t in texts for w in re.findall(r"\w\w+", t.lower())} - {*UNKNOWN})
        rows = np.random.default_rng(0).normal(size=(len(words), 8))
        numbers = (" ".join(f"{x:.4f}" for x in row) for row in rows)
        lines = [f"{word} {row}" for word, row in zip(words, numbers, strict=True)]
        vectors.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [
        *("metaeval", "experiment=replace", "dataset=scenes"),
        *(f"dataset.limit={limit}", "stats.replicates=20", "report.figures=false"),
        *("metrics=[bleu,vifidel]", "vectors=file", f"vectors.path={vectors}"),
        *(f"hydra.run.dir={out}", *arguments),
    ]
    done = run_command(*command, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / out
