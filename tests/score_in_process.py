"""Score captions of scenes by the default metrics, in a process of its own.

`python -m tests.score_in_process OUT.npz [--batch-size N] [--reverse]`. The environment that it is
started in chooses the kernels, the number of threads and the hash seed.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.config import build, component, compose_config, selected
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions

IMAGES = 8
JAVA = ("meteor", "spice")  # nothing of which hangs on kernels, and they take longest


class ColumnScores(NamedTuple):
    """The stored scores [n] of one column, and the precision that it declares."""

    scores: npt.NDArray[np.float64]
    precision: float | None


def score_defaults(batch_size: int | None = None, reverse: bool = False) -> dict[str, ColumnScores]:
    """The scores of every default metric that runs on this machine without Java, by column.

    Captions: people's, the same in reverse order of words, and another image's. With `reverse` the
    metrics are scored in reverse order.
    """
    config = compose_config([
        "dataset=scenes", f"dataset.limit={IMAGES}", "metrics=all", "offline=true", "device=cpu",
    ])  # fmt: skip
    dataset: Any = component(config.dataset, "dataset")
    human = dataset.human
    captions = [*human, *(" ".join(reversed(c.split())) for c in human), *human[1:], human[0]]
    images = np.tile(np.arange(len(human)), 3)
    columns: dict[str, ColumnScores] = {}
    names = [name for name in selected(config) if name not in JAVA]
    for name in reversed(names) if reverse else names:
        metric, store = build(name, config), MemoryStore()
        done = score_captions(metric, dataset, captions, images, store, batch_size)
        if done.status == "skipped":
            continue
        assert done.scores is not None, f"{name}: {done.reason}"
        for column, scores in zip(done.columns, done.scores.T, strict=True):
            columns[column.name] = ColumnScores(scores, column.precision)
    return columns


def in_process(out: Path, environment: Mapping[str, str], *options: str) -> dict[str, ColumnScores]:
    """The same from a new process with more environment variables."""
    command = [sys.executable, "-m", "tests.score_in_process", str(out), *options]
    subprocess.run(command, check=True, env={**os.environ, **environment})
    with np.load(out) as file:
        return {
            name: ColumnScores(file[name], None if np.isnan(precision) else float(precision))
            for name, precision in zip(file["names"], file["precisions"], strict=True)
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--reverse", action="store_true")
    options = parser.parse_args()
    columns = score_defaults(options.batch_size, options.reverse)
    precisions = np.array([c.precision for c in columns.values()], dtype=np.float64)
    scores: dict[str, Any] = {name: column.scores for name, column in columns.items()}
    np.savez(options.out, names=np.array(list(columns)), precisions=precisions, **scores)


if __name__ == "__main__":
    main()
