"""How long a whole run takes, from a cold cache and from a warm one, and where the time goes.

Runs the command twice with a cache of its own that begins empty, in processes of their own, and
prints the seconds of each stage and metric, with wall time and processor time (of Java and other
children too). SPICE is left out: its parser alone takes minutes (`benchmarks/spice.py`).

    python benchmarks/whole_run.py
    python benchmarks/whole_run.py dataset.limit=300 experiment=shuffle
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

METRICS = (
    "bleu,sacrebleu,meteor,rouge_l,cider,bertscore,clipscore,refclipscore,tiger,faier,vifidel,scan"
)
FILES = ("scores.parquet", "statistics.json", "explanations.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("overrides", nargs="*", help="of the configuration, after the defaults")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="metaeval-whole-run-") as temporary:
        folder = Path(temporary)
        cold = measure(folder, "cold", options.overrides)
        warm = measure(folder, "warm", options.overrides)
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} over the last minute\n")
        print(table(cold, warm))
        for name in FILES:
            same = (folder / "cold" / name).read_bytes() == (folder / "warm" / name).read_bytes()
            print(f"{name}: {'the same bytes' if same else 'DIFFERENT'} cold and warm")


def measure(folder: Path, name: str, overrides: list[str]) -> dict[str, Any]:
    """Run the command into a folder; its seconds, and the stages in run.json."""
    command = [
        *(sys.executable, "-m", "metaeval", "experiment=replace", "dataset=coco_val2017"),
        *(f"metrics=[{METRICS}]", f"paths.cache={folder / 'cache'}"),
        *(f"hydra.run.dir={folder / name}", *overrides),
    ]
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    record = json.loads((folder / name / "run.json").read_text())
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    stages = {stage["name"]: stage["seconds"] for stage in record["stages"]}
    metrics = {entry["metric"]: entry["seconds"] for entry in record["metrics"]}
    return {"wall": wall, "cpu": cpu, "stages": stages, "metrics": metrics}


def table(cold: dict[str, Any], warm: dict[str, Any]) -> str:
    """Seconds and shares of the whole, side by side, as Markdown."""
    runs = (cold, warm)
    lines = ["| seconds | cold | share | warm | share |", "|---|---:|---:|---:|---:|"]

    def line(name: str, values: list[float]) -> None:
        cells = " | ".join(
            f"{value:.2f} | {value / run['wall']:.1%}"
            for value, run in zip(values, runs, strict=True)
        )
        lines.append(f"| {name} | {cells} |")

    for stage in cold["stages"]:
        line(stage, [run["stages"][stage] for run in runs])
        if stage == "scores":
            for metric in cold["metrics"]:
                line(f"– {metric}", [run["metrics"][metric] for run in runs])
    line("start and end", [run["wall"] - sum(run["stages"].values()) for run in runs])
    line("**wall time**", [run["wall"] for run in runs])
    line("processor time", [run["cpu"] for run in runs])
    return "\n".join(lines)


if __name__ == "__main__":
    main()
