"""Scoring tables of many captions: rows a second, memory, Ray beside the local path, and kills.

    python -m benchmarks.scale sizes [--rows 20000 200000] [METRIC …]
    python -m benchmarks.scale ray [--rows 20000] [METRIC …]       # needs the extra `ray`
    python -m benchmarks.scale kills [--rows 20000] [--kills 20] [METRIC …]

The captions are val2017's (METAEVAL_DATA), spoiled by Replace with one seed after another, in
Parquet files of 100,000 rows; the references are val2017's. `sizes` runs `experiment=score` on each
number of rows, in a process of its own, and prints rows a second of processor time and the peak of
memory. `ray` compares with `task.scoring=ray` on two workers, to the byte. `kills` ends the command
by SIGKILL at random moments (the driver), starts it again each time, and compares with an
undisturbed run, to the byte.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import pandas as pd

from corruptions.graded.replace import Replace
from metaeval.config import component, compose_config
from metaeval.data.dataset import ImageId

_FILE = 100_000


def captions() -> Iterator[tuple[ImageId, str]]:
    """Image ids and captions without end: half of the words replaced, with one seed after
    another."""
    dataset = component(compose_config(["dataset=coco_val2017"]).dataset, "dataset")
    for seed in count():
        spoiled = Replace(0.5).apply(dataset, seed)
        yield from zip(dataset.image_ids, (each.text for each in spoiled), strict=True)


def write(folder: Path, rows: int) -> None:
    """Tables of so many rows in a folder."""
    folder.mkdir(parents=True)
    endless = captions()
    for k, start in enumerate(range(0, rows, _FILE)):
        some = list(islice(endless, min(_FILE, rows - start)))
        table = pd.DataFrame(some, columns=["image_id", "caption"])
        table.to_parquet(folder / f"{k:04d}.parquet")


def command(tables: Path, out: Path, metrics: list[str], *options: str) -> list[str]:
    return [
        *(sys.executable, "-m", "metaeval", "experiment=score", "dataset=coco_val2017"),
        *(f"captions={tables}", f"metrics=[{','.join(metrics)}]", f"hydra.run.dir={out}", *options),
    ]


def measured(arguments: list[str]) -> tuple[float, float, float]:
    """Wall seconds, processor seconds and MiB at the peak of a command."""
    started = time.perf_counter()
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"failed: {' '.join(arguments)}")
    wall = time.perf_counter() - started
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def same_parts(one: Path, other: Path) -> bool:
    """Whether two runs' files of scores are the same bytes."""
    files = [{p.name: p.read_bytes() for p in (run / "scores").iterdir()} for run in (one, other)]
    return files[0] == files[1]


def sizes(here: Path, rows: list[int], metrics: list[str]) -> None:
    print("| rows | seconds | of processors | rows a second of processor | peak MiB |")
    print("|---:|---:|---:|---:|---:|")
    for n in rows:
        write(here / f"{n}", n)
        wall, spent, peak = measured(command(here / f"{n}", here / f"out{n}", metrics))
        print(f"| {n:,} | {wall:.0f} | {spent:.0f} | {n / spent:,.0f} | {peak:,.0f} |", flush=True)


def ray(here: Path, n: int, metrics: list[str]) -> None:
    write(here / "tables", n)
    print("| | seconds | rows a second |\n|---|---:|---:|")
    for name, options in (("local", ()), ("ray, 2 workers", ("task.scoring=ray",))):
        out = here / name.partition(",")[0]
        wall, _, _ = measured(command(here / "tables", out, metrics, "task.block=5000", *options))
        print(f"| {name} | {wall:.0f} | {n / wall:,.0f} |", flush=True)
    print("the same bytes" if same_parts(here / "local", here / "ray") else "DIFFERENT bytes")


def kills(here: Path, n: int, metrics: list[str], times: int) -> None:
    write(here / "tables", n)
    block = f"task.block={max(1, n // 20)}"
    wall, _, _ = measured(command(here / "tables", here / "whole", metrics, block))
    moments, done = random.Random(0), 0
    for _ in range(times):
        process = subprocess.Popen(
            command(here / "tables", here / "killed", metrics, block), stdout=subprocess.DEVNULL
        )
        try:
            process.wait(timeout=moments.uniform(0.1, 1.0) * wall)
            done += 1
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    measured(command(here / "tables", here / "killed", metrics, block))
    verdict = "the same bytes" if same_parts(here / "whole", here / "killed") else "DIFFERENT bytes"
    print(f"{times} starts, {times - done} of them killed, {done} came to their end: {verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["sizes", "ray", "kills"])
    parser.add_argument("metrics", nargs="*", help="by default bleu, rouge_l and cider")
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 200_000])
    parser.add_argument("--kills", type=int, default=20)
    options = parser.parse_args()
    metrics = options.metrics or ["bleu", "rouge_l", "cider"]
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} over the last minute\n")
    with tempfile.TemporaryDirectory(prefix="metaeval-scale-") as folder:
        here = Path(folder)
        if options.what == "sizes":
            sizes(here, options.rows, metrics)
        elif options.what == "ray":
            ray(here, options.rows[0], metrics)
        else:
            kills(here, options.rows[0], metrics, options.kills)


if __name__ == "__main__":
    main()
