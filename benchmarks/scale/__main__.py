"""Scoring tables of many captions: rows a second, and memory.

    python -m benchmarks.scale [METRIC …] [--rows 20000 200000] [--scoring ray]

The captions are val2017's (METAEVAL_DATA), half of the words replaced by others, again and again,
in Parquet files of 100,000 rows; the references are val2017's. Runs `experiment=score` on each
number of rows, in a process of its own, and prints its seconds, rows a second of processor time (of
all, and of those that a run has more than the one before: without what starting costs) and the peak
of memory. `--scoring ray` scores on two workers of Ray (needs the extra `ray`).
"""

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

from metaeval.config import component, compose_config

_FILE = 100_000


def write(folder: Path, rows: int) -> None:
    """Write tables of image ids and captions: half of the words of each image's own caption
    replaced by words of all, again and again.

    By Python's `random` alone: a corruption makes a generator an image, and takes longer than
    scoring.
    """
    folder.mkdir()
    dataset = component(compose_config(["dataset=coco_val2017"]).dataset, "dataset")
    draw = random.Random(0)
    human = [(i, text.split()) for i, text in zip(dataset.image_ids, dataset.human, strict=True)]
    bag = [word for _, words in human for word in words]
    table = []
    for k in range(rows):
        image_id, words = human[k % len(human)]
        corrupted = list(words)
        for place in draw.sample(range(len(words)), len(words) // 2):
            corrupted[place] = draw.choice(bag)
        table.append((image_id, " ".join(corrupted)))
        if len(table) == _FILE or k == rows - 1:
            frame = pd.DataFrame(table, columns=["image_id", "caption"])
            frame.to_parquet(folder / f"{k // _FILE:04d}.parquet")
            table = []


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("metrics", nargs="*", default=["bleu", "rouge_l", "cider"])
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 200_000])
    parser.add_argument("--scoring", choices=["local", "ray"], default="local")
    options = parser.parse_args()
    print("| rows | seconds | of processors | rows a second of processor | more | peak MiB |")
    print("|---:|---:|---:|---:|---:|---:|")
    last = (0, 0.0)
    with tempfile.TemporaryDirectory(prefix="metaeval-scale-") as folder:
        for n in options.rows:
            tables, out = Path(folder, f"{n}"), Path(folder, f"out{n}")
            write(tables, n)
            command = [
                *(sys.executable, "-m", "metaeval", "experiment=score", "dataset=coco_val2017"),
                *(f"captions={tables}", f"metrics=[{','.join(options.metrics)}]"),
                f"task.scoring={options.scoring}",
                "cache.enabled=false",  # nothing is looked up, and every size pays the same
                f"hydra.run.dir={out}",
            ]
            started = time.perf_counter()
            quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
            pid = os.posix_spawn(command[0], command, os.environ, file_actions=quiet)
            _, status, used = os.wait4(pid, 0)
            if status:
                sys.exit(f"failed: {' '.join(command)}")
            clock, spent = time.perf_counter() - started, used.ru_utime + used.ru_stime
            more = f"{(n - last[0]) / (spent - last[1]):,.0f}" if last[0] else ""
            cells = f"{clock:.0f} | {spent:.0f} | {n / spent:,.0f} | {more}"
            print(f"| {n:,} | {cells} | {used.ru_maxrss / 1024:,.0f} |", flush=True)
            last = (n, spent)


if __name__ == "__main__":
    main()
