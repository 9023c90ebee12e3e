"""Time and memory of a whole run on a judgement table, its scores known: stage by stage.

    python -m benchmarks.judgments.whole_table            # 3,298 continuous ratings, 13 columns
    python -m benchmarks.judgments.whole_table --rows 17000 --levels 4 --raters 3

Writes a table of ratings and a file of scores, runs `experiment=judgments` on them twice (then with
a warm cache) and prints seconds of each stage, peak memory and the machine's load.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

WORDS = [
    "a",
    "the",
    "man",
    "dog",
    "red",
    "on",
    "runs",
    "sits",
    "with",
    "street",
    "two",
    "people",
    "small",
    "water",
    "near",
    "table",
]


def write_inputs(folder: Path, given: argparse.Namespace) -> None:
    """`table.jsonl` and `scores.csv`: scores are noisy copies of the ratings."""
    rng = np.random.default_rng(0)
    n, images = given.rows, max(2, given.rows * 1500 // 3298)
    truth = rng.normal(size=n)
    image = rng.integers(images, size=n)
    references = [[" ".join(rng.choice(WORDS, 9)) for _ in range(4)] for _ in range(images)]
    rows, captions = [], []
    for k in range(n):
        ratings = truth[k] + rng.normal(size=given.raters)
        if given.levels:
            ratings = np.clip(np.floor(ratings + given.levels / 2), 0, given.levels - 1)
        captions.append(" ".join(rng.choice(WORDS, int(rng.integers(5, 15)))) + f" {k}")
        rows.append(
            {
                "image_id": f"i{image[k]}",
                "candidate": captions[-1],
                "human": ratings.tolist(),
                "references": references[image[k]],
                "system": f"system {k % 5}",
            }
        )
    (folder / "table.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = pd.DataFrame({"image_id": [row["image_id"] for row in rows], "caption": captions})
    for c in range(given.columns):
        score = truth + rng.normal(0, 1 + c / 4, n)
        table[f"metric{c}"] = np.round(score) if c == given.columns - 1 else score
    table.to_csv(folder / "scores.csv", index=False)


def main() -> None:
    """Print a line a run: the seconds of its stages, the peak memory of the command, the load."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=3298)
    parser.add_argument("--columns", type=int, default=13)
    parser.add_argument("--levels", type=int, default=0, help="distinct ratings; 0 = continuous")
    parser.add_argument("--raters", type=int, default=1)
    parser.add_argument("--report", action="store_true", help="write the report, too")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder, given)
        for k in range(2):
            out = folder / f"run{k}"
            command = [
                sys.executable,
                "-m",
                "metaeval",
                "experiment=judgments",
                "dataset=table",
                f"dataset.file={folder / 'table.jsonl'}",
                "dataset.image_source=other",
                "metrics=[scores]",
                f"metric.scores.file={folder / 'scores.csv'}",
                f"metric.scores.columns=[{','.join(f'metric{c}' for c in range(given.columns))}]",
                f"hydra.run.dir={out}",
                f"paths.cache={folder / 'cache'}",
                *([] if given.report else ["report=none"]),
            ]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            stages = json.loads((out / "run.json").read_text())["stages"]
            shown = ", ".join(f"{stage['name']} {stage['seconds']:.1f} s" for stage in stages)
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
            print(
                f"{given.rows:,} rows, {given.columns} columns: {shown}; at most {peak:.2f} GB; "
                f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
                flush=True,
            )


if __name__ == "__main__":
    main()
