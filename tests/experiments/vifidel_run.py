"""A run of the command with VIFIDEL on a few scenes, its word vectors from a small file."""

import re
from pathlib import Path

import numpy as np
import pandas as pd

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
        rows = np.random.default_rng(0).normal(size=(len(words), 8)).round(4)
        pd.DataFrame(rows, words).to_csv(vectors, sep=" ", header=False)
    done = run_command(
        "metaeval", "experiment=replace", "dataset=scenes", f"dataset.limit={limit}",
        "stats.replicates=20", "report.figures=false", "metrics=[bleu,vifidel]", "vectors=file",
        f"vectors.path={vectors}", f"hydra.run.dir={out}", *arguments, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / out
