"""Where the seconds of a metric go that a device waits for.

    python -m benchmarks.host        # seconds by stage, 20,000 captions

Captions are those of drawn scenes, four to an image, against four references; see `draw_captions`
and `stages.py`.
"""

from __future__ import annotations

import argparse
import gc
import platform
from datetime import UTC, datetime
from pathlib import Path

import torch

from benchmarks.host.stages import profile, profile_table
from metaeval.cores import core_count

METRICS = ("faier", "vifidel", "tiger")


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
    options = parser.parse_args()
    gc.set_threshold(100_000, 20, 20)  # as the command does
    device = "cuda" if torch.cuda.is_available() else "cpu"
    cores = f"{core_count()} cores, {torch.get_num_threads()} threads of torch"
    print(f"{datetime.now(UTC).date()}, {processor_name()}, {cores}, the networks on {device}\n")
    tables = profile(options.metrics, options.images, device)
    print(profile_table(tables, 4 * options.images))


if __name__ == "__main__":
    main()
