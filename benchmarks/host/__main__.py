"""Where the seconds of a metric go that a device waits for, and what a commit has changed.

    python -m benchmarks.host                            # seconds by stage, 20,000 captions
    python -m benchmarks.host --against COMMIT           # captions a second, then and now

Captions are those of drawn scenes, four to an image, against four references; see `draw_captions`
and `stages.py`. `--against` scores by turns with the metaeval of a commit, in
a worktree of its own, and with this one; ratios are medians over pairs of turns, of processor time
(which other processes disturb less) and on the clock.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from json import loads
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from benchmarks import host
from benchmarks.host.stages import profile, profile_table
from metaeval.cores import core_count

METRICS = ("faier", "vifidel", "tiger")


def measure(root: Path, metric: str, images: int, folder: str) -> tuple[tuple[float, float], Any]:
    """Seconds of one scoring by the metaeval in `root`, on the clock and of the processor, and the
    scores."""
    file = Path(host.__file__).resolve()
    command = [sys.executable, "-P", str(file), metric, str(images), folder]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(command, cwd=root, env=environment, check=True, capture_output=True)
    wall, processor = loads(done.stdout.splitlines()[-1])
    return (wall, processor), np.load(Path(folder, "scores.npy"))


def compare(metrics: Sequence[str], images: int, commit: str, times: int) -> list[str]:
    """A row for each metric: captions a second of processor time, then and now, and the ratios."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        then = Path(folder, "then")
        worktree = ["git", "worktree"]
        subprocess.run(
            [*worktree, "add", "--detach", then, commit], check=True, capture_output=True
        )
        try:
            for metric in metrics:
                seconds: dict[Path, list[tuple[float, float]]] = {then: [], Path.cwd(): []}
                scores = {}
                for _ in range(times):
                    for root, each in seconds.items():
                        took, scores[root] = measure(root, metric, images, folder)
                        each.append(took)
                old, new = (np.array(each) for each in seconds.values())
                rates = [4 * images / median(each[:, 1]) for each in (old, new)]
                ratios = [median(old[:, k] / new[:, k]) for k in (1, 0)]
                difference = np.nanmax(np.abs(np.subtract(*scores.values())))
                cells = [*(f"{rate:,.0f}" for rate in rates), *(f"{ratio:.2f}" for ratio in ratios)]
                rows.append(f"| {metric} | {' | '.join(cells)} | {difference:.0e} |")
        finally:
            subprocess.run([*worktree, "remove", "--force", then], check=True)
    return rows


def processor_name() -> str:
    """The processor's name where Linux says it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("metrics", nargs="*", default=METRICS, help="also clipscore")
    parser.add_argument("--images", type=int, default=5000, help="four captions to each")
    parser.add_argument("--against", metavar="COMMIT", help="compare with this commit")
    parser.add_argument("--times", type=int, default=5, help="scorings with either commit")
    options = parser.parse_args()
    gc.set_threshold(100_000, 20, 20)  # as the command does
    device = "cuda" if torch.cuda.is_available() else "cpu"
    cores = f"{core_count()} cores, {torch.get_num_threads()} threads of torch"
    print(f"{datetime.now(UTC).date()}, {processor_name()}, {cores}, the networks on {device}\n")
    if options.against is None:
        tables = profile(options.metrics, options.images, device)
        print(profile_table(tables, 4 * options.images))
        return
    n = 4 * options.images
    print(f"| {n:,} captions | a second then | now | ratio | on the clock | differ by |")
    print("|---|---:|---:|---:|---:|---:|")
    for row in compare(options.metrics, options.images, options.against, options.times):
        print(row, flush=True)


if __name__ == "__main__":
    main()
