"""Scoring tables of many captions: rows a second, memory, Ray against the local path, and kills.

    python -m benchmarks.scale sizes [METRIC …] [--rows 20000 200000] [--folder DIR]
    python -m benchmarks.scale ray [METRIC …] [--rows 20000]       # needs the extra `ray`
    python -m benchmarks.scale kills [METRIC …] [--rows 20000] [--kills 20] [--scoring ray]

The captions are val2017's (METAEVAL_DATA), half of the words replaced by others, again and again,
in Parquet files of 100,000 rows; the references are val2017's. `sizes` runs `experiment=score` on
each number of rows, in a process of its own, and prints rows a second of processor time (of all,
and of those that a run has more than the one before: without what starting costs) and the peak of
memory. `ray` compares with `task.scoring=ray` on two workers, to the byte. `kills` ends the command
by SIGKILL at random moments, with `--scoring ray` its workers too, starts it again, and compares
with an undisturbed run, to the byte. With `--folder` tables and runs stay there.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from metaeval.config import component, compose_config
from metaeval.data.dataset import ImageId

_FILE = 100_000
_SUBREAPER = 36  # prctl's PR_SET_CHILD_SUBREAPER: orphans become this process's children


class Cost(NamedTuple):
    """Wall and processor seconds of a command and all that it started, and its own peak in MiB."""

    wall: float
    processor: float
    peak: float


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


def write(folder: Path, rows: int) -> float:
    """Write tables with this number of rows; return the share of captions that are the first with
    their words for their image. Existing tables are left unchanged."""
    folder.mkdir(parents=True, exist_ok=True)
    endless = captions()
    seen: set[int] = set()
    for k, start in enumerate(range(0, rows, _FILE)):
        some = list(islice(endless, min(_FILE, rows - start)))
        seen.update(hash(item) for item in some)
        path = folder / f"{k:04d}.parquet"
        if not path.exists():
            pd.DataFrame(some, columns=["image_id", "caption"]).to_parquet(path)
    return len(seen) / rows


def command(tables: Path, out: Path, metrics: list[str], *options: str) -> list[str]:
    return [
        *(sys.executable, "-m", "metaeval", "experiment=score", "dataset=coco_val2017"),
        *(f"captions={tables}", f"metrics=[{','.join(metrics)}]", f"hydra.run.dir={out}", *options),
        "cache.enabled=false",  # nothing is looked up, and every size pays the same
    ]


def measured(arguments: list[str]) -> Cost:
    """What a command costs, with all processes that it leaves behind."""
    with ProcessorTime() as processor:
        started = time.perf_counter()
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        wall = time.perf_counter() - started
        processor.read()  # what has ended can be read until it is waited for
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"failed: {' '.join(arguments)}")
        _reap()
    return Cost(wall, processor.seconds, usage.ru_maxrss / 1024)


class ProcessorTime:
    """The processor seconds of all processes below this one, read five times a second.

    Asking the system for the time of ended children would be exact, and leave out Ray's workers:
    no process waits for them.
    """

    def __init__(self) -> None:
        self._spent: dict[tuple[int, str], float] = {}  # by process and when it began
        self._ended = threading.Event()
        self._reader = threading.Thread(target=self._read_on, daemon=True)

    def __enter__(self) -> ProcessorTime:
        self._reader.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._reader.join()

    @property
    def seconds(self) -> float:
        return sum(self._spent.values())

    def read(self) -> None:
        stats_of = stats()
        for pid in below(os.getpid(), stats_of):
            user, system = (int(stats_of[pid][k]) for k in (11, 12))
            ticks = (user + system) / os.sysconf("SC_CLK_TCK")
            self._spent[pid, stats_of[pid][19]] = ticks

    def _read_on(self) -> None:
        while not self._ended.wait(0.2):
            self.read()


def stats() -> dict[int, list[str]]:
    """Process → the entries of /proc/PID/stat, behind its name: proc(5), from 3 on."""
    stats_of = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            stats_of[int(stat.parent.name)] = stat.read_text().rpartition(")")[2].split()
    return stats_of


def below(ancestor: int, stats_of: dict[int, list[str]]) -> set[int]:
    """The processes that the ancestor has started, and those that these have, and so on."""
    every, children = set[int](), {ancestor}
    while children:
        children = {pid for pid, stat in stats_of.items() if int(stat[1]) in children}
        every |= children
    return every


def _reap() -> None:
    """Wait for the processes that a command has left behind: they end when it has."""
    until = time.monotonic() + 60
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < until:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.1)


def same_parts(one: Path, other: Path) -> bool:
    """Whether two runs' files of scores are the same bytes."""
    files = [{p.name: p.read_bytes() for p in (run / "scores").iterdir()} for run in (one, other)]
    return files[0] == files[1]


def _peak_text(peak: float) -> str:
    """A command's peak of memory: it begins with that of this process, which started it."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"at most {peak:,.0f}" if own >= peak else f"{peak:,.0f}"


def sizes(here: Path, rows: list[int], metrics: list[str]) -> None:
    print(
        "| rows | distinct | seconds | of processors | rows a second of processor | of those that"
        " were more | peak MiB |\n|---:|---:|---:|---:|---:|---:|---:|"
    )
    last = (0, 0.0)
    for n in rows:
        distinct = write(here / f"{n}", n)
        wall, spent, peak = measured(command(here / f"{n}", here / f"out{n}", metrics))
        more = f"{(n - last[0]) / (spent - last[1]):,.0f}" if last[0] else ""
        print(
            f"| {n:,} | {distinct:.1%} | {wall:.0f} | {spent:.0f} | {n / spent:,.0f} | {more} |"
            f" {_peak_text(peak)} |",
            flush=True,
        )
        last = (n, spent)


def ray(here: Path, n: int, metrics: list[str]) -> None:
    write(here / "tables", n)
    print(
        "| | seconds | rows a second | of processors | rows a second of processor | peak MiB of"
        " the command |\n|---|---:|---:|---:|---:|---:|"
    )
    for name, options in (("local", ()), ("ray, 2 workers", ("task.scoring=ray",))):
        out = here / name.partition(",")[0]
        block = f"task.block={max(5000, n // 100)}"
        wall, spent, peak = measured(command(here / "tables", out, metrics, block, *options))
        print(
            f"| {name} | {wall:.0f} | {n / wall:,.0f} | {spent:.0f} | {n / spent:,.0f} |"
            f" {_peak_text(peak)} |",
            flush=True,
        )
    print("the same bytes" if same_parts(here / "local", here / "ray") else "DIFFERENT bytes")


def kills(here: Path, n: int, metrics: list[str], times: int, scoring: str) -> None:
    """Kill until it has been done so often; a run that comes to its end before is compared, and
    another one begun."""
    write(here / "tables", n)
    options = (f"task.block={max(1, n // 20)}", f"task.scoring={scoring}")
    wall = measured(command(here / "tables", here / "whole", metrics, *options)).wall
    moments, drivers, workers, runs, same = random.Random(0), 0, 0, 0, True
    while drivers + workers < times or runs == 0:
        out = here / f"killed{runs}"
        process = subprocess.Popen(
            command(here / "tables", out, metrics, *options),
            stdout=subprocess.DEVNULL,
        )
        while process.poll() is None:
            if drivers + workers >= times:
                process.wait()
                break
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(moments.uniform(0.1, 1.0) * wall)
                break
            at_work = worker_processes(process.pid)
            if at_work and moments.random() < 0.7:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(moments.choice(at_work), signal.SIGKILL)
                    workers += 1
            else:
                process.kill()
                process.wait()
                drivers += 1
        if process.returncode == 0:
            same = same and same_parts(here / "whole", out)
            runs += 1
        elif process.returncode != -signal.SIGKILL:
            sys.exit(f"exit code {process.returncode}")
        _reap()
    verdict = "the same bytes" if same else "DIFFERENT bytes"
    print(
        f"{scoring}: the command killed {drivers} times, workers {workers} times, until {runs} "
        f"runs came to their end: {verdict}"
    )


def worker_processes(driver: int) -> list[int]:
    """The processes below a driver that score."""
    workers = []
    for pid in sorted(below(driver, stats())):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/cmdline").read_text().startswith("ray::MapWorker"):
                workers.append(pid)
    return workers


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["sizes", "ray", "kills"])
    parser.add_argument("metrics", nargs="*", help="by default bleu, rouge_l and cider")
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 200_000])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--scoring", choices=["local", "ray"], default="local", help="of kills")
    parser.add_argument("--folder", type=Path, help="where tables and runs stay")
    options = parser.parse_args()
    metrics = options.metrics or ["bleu", "rouge_l", "cider"]
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} over the last minute\n")
    with tempfile.TemporaryDirectory(prefix="metaeval-scale-") as folder:
        here = options.folder or Path(folder)
        if options.what == "sizes":
            sizes(here, options.rows, metrics)
        elif options.what == "ray":
            ray(here, options.rows[0], metrics)
        else:
            kills(here, options.rows[0], metrics, options.kills, options.scoring)


if __name__ == "__main__":
    main()
