"""Where the seconds of a metric go that a device waits for, and what a commit has changed.

    python -m benchmarks.host                            # seconds by stage, 20,000 captions
    python -m benchmarks.host --against COMMIT           # captions a second, then and now

Captions are those of drawn scenes, four to an image, against four references; see `draw_captions`.
Stages are measured on the main thread, each less those within it; without a CUDA device the
device's stage runs on the processor. `--against` scores by turns with the metaeval of a commit, in
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
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from importlib import import_module
from json import loads
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from benchmarks import host
from metaeval.cores import core_count

METRICS = ("faier", "vifidel", "tiger")
M = "metaeval.metrics."
# stage → the functions that it is, those of the main thread
STAGES: dict[str, tuple[str, ...]] = {
    "loading weights, objects, regions": (
        M + "faier.network.load_network",
        M + "scan.metric.load_once",
        M + "vifidel.metric.ObjectSources.labels",
        M + "clipscore.network.Clip.__init__",
        "metaeval.vision.regions.base.RegionSource.load_once",
    ),
    "tokenising": (
        "metaeval.text.tokenizers.base.Tokenizer.__call__",
        M + "vifidel.distance.Lexicon.content",
    ),
    "parsing into triplets": ("metaeval.text.scene_graphs.parse.TripletParser.__call__",),
    "numbers of words, bags": (
        M + "faier.network.ParsedCaptions.of",
        M + "vifidel.distance.Lexicon.bags",
        "metaeval.text.vocabulary.Vocabulary.encode_all",
    ),
    "padding, batches": (
        M + "prefix_gru.PrefixTrie.of",
        M + "vifidel.distance.PairProblems.__init__",
        "metaeval.text.vocabulary.padded",
    ),
    "image files": (
        M + "clipscore.metric.ClipScorer._encode_images",  # less the network: waiting for pixels
        "metaeval.data.annotated_images.digests",
    ),
    "device": (
        M + "faier.matcher.UnionMatcher.prepare",
        M + "faier.matcher.UnionMatcher.read",
        M + "faier.matcher.UnionMatcher.score",
        M + "scan.grounding.Grounder.__init__",
        M + "scan.grounding.Grounder.grounding",
        M + "scan.tiger_score.compare_groundings",
        M + "vifidel.distance.ImportanceWeights.of_pairs",
        M + "vifidel.distance.BagDistance.of_pairs",
        M + "clipscore.network.Clip.images",
        M + "clipscore.network.Clip.texts",
    ),
}
REST = "the rest: assembling scores"


@contextmanager
def stages_timed(device: str) -> Iterator[Counter[str]]:
    """A block that adds up the seconds of each stage, without those of stages within it."""
    seconds: Counter[str] = Counter()
    inner = [0.0]  # the seconds of stages within each that is under way

    def timed(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if threading.current_thread() is not threading.main_thread():
                return function(*args, **options)
            inner.append(0.0)
            started = time.perf_counter()
            try:
                return function(*args, **options)
            finally:
                if stage == "device" and device != "cpu":
                    torch.cuda.synchronize()
                took = time.perf_counter() - started
                seconds[stage] += took - inner.pop()
                inner[-1] += took

        return call

    with ExitStack() as stack:
        for stage, names in STAGES.items():
            for name in names:
                owner, attribute = resolve_owner(name)
                function = owner.__dict__[attribute]
                if isinstance(function, classmethod):
                    made: Any = classmethod(timed(stage, function.__func__))
                else:
                    made = timed(stage, function)
                stack.enter_context(patch.object(owner, attribute, made))
        yield seconds


def resolve_owner(name: str) -> tuple[Any, str]:
    """The module or class of a function, and its name there."""
    owner, attribute = name.rsplit(".", 1)
    if not owner.rsplit(".", 1)[1][0].isupper():
        return import_module(owner), attribute
    module, kind = owner.rsplit(".", 1)
    return getattr(import_module(module), kind), attribute


def profile(metrics: Sequence[str], images: int, device: str) -> dict[str, Counter[str]]:
    """Metric → the seconds of each stage, in all under ""; the second scoring counts."""
    tables = {}
    with tempfile.TemporaryDirectory() as folder:
        captions = host.draw_captions(images, folder)
        for metric in metrics:
            host.prepare(metric, folder, captions)
            host.score(metric, folder, captions, [f"device={device}"])
            with stages_timed(device) as seconds:
                started = time.perf_counter()
                host.score(metric, folder, captions, [f"device={device}"])
                total = time.perf_counter() - started
            tables[metric] = Counter({**seconds, REST: total - seconds.total()})
    return tables


def profile_table(tables: dict[str, Counter[str]], n: int) -> str:
    """The seconds by stage as a Markdown table."""
    lines = [
        f"| seconds of {n:,} captions | {' | '.join(tables)} |",
        "|---|" + "---:|" * len(tables),
    ]
    for stage in (*STAGES, REST):
        cells = [f"{each[stage]:.2f}" if each[stage] else "" for each in tables.values()]
        lines.append(f"| {stage} | {' | '.join(cells)} |")
    totals = [f"{each.total():.2f}" for each in tables.values()]
    rates = [f"{n / each.total():,.0f}" for each in tables.values()]
    lines += [f"| in all | {' | '.join(totals)} |", f"| captions a second | {' | '.join(rates)} |"]
    return "\n".join(lines)


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
