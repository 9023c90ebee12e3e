"""Scoring tables of many captions: rows a second, memory, and Ray against the local path.

    python -m benchmarks.scale sizes [METRIC …] [--rows 20000 200000]
    python -m benchmarks.scale ray [METRIC …] [--rows 20000]       # needs the extra `ray`

The captions are val2017's (METAEVAL_DATA), half of the words replaced by others, again and again,
in Parquet files of 100,000 rows; the references are val2017's. `sizes` runs `experiment=score` on
each number of rows, in a process of its own, and prints rows a second of processor time (of all,
and of those that a run has more than the one before: without what starting costs) and the peak of
memory. `ray` compares with `task.scoring=ray` on two workers, to the byte.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pandas as pd

from benchmarks.side_by_side import Cost, cost_of
from metaeval.config import component, compose_config
from metaeval.data.dataset import ImageId

_FILE = 100_000


def captions() -> Iterator[tuple[ImageId, str]]:
    """Image ids and captions without end: half of the words of each image's own caption replaced by
    words of all, again and again.

    By Python's `random` alone: a corruption makes a generator an image, and takes longer than
    scoring.
    """
    dataset = component(compose_config(["dataset=coco_val2017"]).dataset, "dataset")
    draw = random.Random(0)
    human = [(i, text.split()) for i, text in zip(dataset.image_ids, dataset.human, strict=True)]
    bag = [word for _, words in human for word in words]
    while True:
        for image_id, words in human:
            corrupted = list(words)
            for place in draw.sample(range(len(words)), len(words) // 2):
                corrupted[place] = draw.choice(bag)
            yield image_id, " ".join(corrupted)


def write(folder: Path, rows: int) -> None:
    """Write tables with this number of rows."""
    folder.mkdir()
    endless = captions()
    for k, start in enumerate(range(0, rows, _FILE)):
        some = list(islice(endless, min(_FILE, rows - start)))
        table = pd.DataFrame(some, columns=["image_id", "caption"])
        table.to_parquet(folder / f"{k:04d}.parquet")


def scoring(tables: Path, out: Path, metrics: list[str], *options: str) -> Cost:
    """What `experiment=score` costs."""
    return cost_of(
        [
            *(sys.executable, "-m", "metaeval", "experiment=score", "dataset=coco_val2017"),
            *(f"captions={tables}", f"metrics=[{','.join(metrics)}]", f"hydra.run.dir={out}"),
            "cache.enabled=false",  # nothing is looked up, and every size pays the same
            *options,
        ]
    )


def sizes(here: Path, rows: list[int], metrics: list[str]) -> None:
    print("| rows | seconds | of processors | rows a second of processor | more | peak MiB |")
    print("|---:|---:|---:|---:|---:|---:|")
    last = (0, 0.0)
    for n in rows:
        write(here / f"{n}", n)
        clock, spent, peak = scoring(here / f"{n}", here / f"out{n}", metrics)
        more = f"{(n - last[0]) / (spent - last[1]):,.0f}" if last[0] else ""
        cells = f"{clock:.0f} | {spent:.0f} | {n / spent:,.0f} | {more} | {peak:,.0f}"
        print(f"| {n:,} | {cells} |", flush=True)
        last = (n, spent)


def ray(here: Path, n: int, metrics: list[str]) -> None:
    write(here / "tables", n)
    block = f"task.block={max(5000, n // 100)}"
    print("| | seconds | rows a second | peak MiB of the command |\n|---|---:|---:|---:|")
    for name in ("local", "ray"):
        cost = scoring(here / "tables", here / name, metrics, block, f"task.scoring={name}")
        print(f"| {name} | {cost.clock:.0f} | {n / cost.clock:,.0f} | {cost.peak:,.0f} |")
    files = [
        {path.name: path.read_bytes() for path in (here / name / "scores").iterdir()}
        for name in ("local", "ray")
    ]
    print("the same bytes" if files[0] == files[1] else "DIFFERENT bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["sizes", "ray"])
    parser.add_argument("metrics", nargs="*", help="by default bleu, rouge_l and cider")
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 200_000])
    options = parser.parse_args()
    metrics = options.metrics or ["bleu", "rouge_l", "cider"]
    with tempfile.TemporaryDirectory(prefix="metaeval-scale-") as folder:
        if options.what == "sizes":
            sizes(Path(folder), options.rows, metrics)
        else:
            ray(Path(folder), options.rows[0], metrics)


if __name__ == "__main__":
    main()
