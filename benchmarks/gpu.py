"""What networks gain from a GPU: all of it in one call, within eight minutes, without a network.

    make gpu                                    # runs this file by the Python that is there
    python -m benchmarks.gpu --cpu              # the same on the processor, in tiny sizes
    python -m benchmarks.gpu --host             # what is quick on the processor, in full; anywhere

runs each benchmark, after `make` has run the tests marked `gpu`: BERTScore with roberta-large's
size, CLIPScore with images, TIGEr, and FAIEr's scoring and training. Scenes, shipped and
random weights serve: nothing is downloaded. Each benchmark checks its scores against the same
metric on the processor. What cannot run is a row with its reason. Captions a second stand next to
what they should be (`AIMS`). Writes build/gpu/gpu.md. Where the host's seconds go says
`python -m cProfile -s cumulative -m benchmarks.gpu --host`.
"""

from __future__ import annotations

import argparse
import gc
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile as torch_profile

from benchmarks import host
from metaeval.data import annotated_images
from metaeval.provenance import core_count

MINUTES = 8.0
# captions a second on 16 cores and an H100 or H200, from texts and files to scores
AIMS = {
    "FAIEr, scoring": 25_000,
    "TIGEr": 100_000,
    "CLIPScore, ViT-B/32, with images": 5_000,
    "BERTScore, roberta-large": 3_000,
}
# float32 in another order of summation, by other kernels; TIGEr-RRS ranks, so ties may turn
TOLERANCE = 2e-3
HALF = 5e-2  # bfloat16 keeps three digits
ALL = 10**6

Row = dict[str, Any]


class Scoring(NamedTuple):
    """A metric to time: how many scenes, of how many the processor scores the captions too, its
    options, and those that `--cpu` has instead. {folder} is the folder of its files."""

    metric: str
    images: int
    checked: int
    options: tuple[str, ...] = ()
    tiny: tuple[str, ...] = ()
    dtype: str = "float32"


def timed(device: str, work: Callable[[], Any]) -> tuple[Any, float]:
    """What `work` returns, and its seconds, the device's included."""

    started = time.perf_counter()
    result = work()
    if device == "cuda":
        torch.cuda.synchronize()
    return result, time.perf_counter() - started


def kernel_seconds(work: Callable[[], Any]) -> float:
    """The seconds that the device's kernels and copies take in `work`, by torch's profiler."""
    with torch_profile(activities=[ProfilerActivity.CUDA]) as profiler:
        work()
    return sum(event.self_device_time_total for event in profiler.key_averages()) / 1e6


def score(case: Scoring, device: str, tiny: bool) -> Row:
    """Prepare and score captions of scenes; the second time counts, the first chooses kernels."""
    n = 16 if tiny else case.images
    with tempfile.TemporaryDirectory() as folder:
        captions = host.draw_captions(n, folder)
        if case.metric == "clipscore":
            annotated_images.paths_of(captions.dataset)  # draws the pictures
        elif case.metric == "bertscore":
            random_roberta(Path(folder, "roberta"), 2 if tiny else 24, captions.texts)

        def once(where: str, of: host.Captions) -> Any:
            options = [f"device={where}", *case.options, *(case.tiny if tiny else ())]
            if where != "cpu" and case.dtype != "float32":
                options.append(f"metric.{case.metric}.dtype={case.dtype}")
            return host.score(case.metric, folder, of, options)

        part, some = captions.limited(case.checked), captions.index < case.checked
        once(device, part)
        scores, seconds = timed(device, lambda: once(device, captions))
        expected, slow = timed("cpu", lambda: once("cpu", part))
        difference = float(np.nanmax(np.abs(scores[some] - expected)))
        row = {
            "n": len(captions.texts),
            "unit": "captions",
            "seconds": seconds,
            "difference": difference,
            "agrees": difference <= (TOLERANCE if case.dtype == "float32" else HALF),
            "reference": f"the processor ({len(part.texts):,})",
            "ratio": (slow / len(part.texts)) / (seconds / len(captions.texts)),
        }
        if device == "cuda":
            row["kernels"] = kernel_seconds(lambda: once(device, captions))
        return row


def random_roberta(
    folder: Path, layers: int = 24, texts: Iterable[str] = ("two dogs in the park",)
) -> str:
    """A folder with roberta-large's architecture, random weights, and a vocabulary of the texts."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import RobertaConfig, RobertaModel

    torch.manual_seed(0)
    shape = {"hidden_size": 1024, "num_hidden_layers": layers, "num_attention_heads": 16}
    config = RobertaConfig(
        **shape,
        intermediate_size=4096,
        vocab_size=50265,
        max_position_embeddings=514,
        type_vocab_size=1,
    )
    RobertaModel(config).save_pretrained(folder)
    tokenizer = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer.train_from_iterator(texts, vocab_size=5000, special_tokens=special)
    tokenizer.save_model(str(folder))
    return str(folder)


def faier_training(device: str, tiny: bool) -> Row:
    """An epoch of `experiment=train_faier` on the scenes; data and the last measurement included.

    The seconds are of the whole command, so the first row of a table to compare is the
    processor's.
    """
    n = 60 if tiny else 6000
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(sys.executable, "-m", "research.train", "experiment=train_faier", "dataset=scenes"),
            *("dataset.split=train", f"dataset.n={n}", f"task.dev={10 if tiny else 400}"),
            *("task.training.epochs=1", "task.vectors=null", f"device={device}"),
            *(f"paths.cache={folder}/cache", f"hydra.run.dir={folder}/run"),
        ]
        started = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - started
    if done.returncode != 0:
        raise SystemExit((done.stderr or done.stdout).strip().splitlines()[-1])
    return {"n": n, "unit": "images", "seconds": seconds}


CLIP = Scoring(
    "clipscore",
    3000,
    256,
    ("metric.clipscore.pretrained=random", "metric.clipscore.model=ViT-B-32"),
    ("metric.clipscore.model=ViT-S-32-alt",),
)
BERT = Scoring(
    "bertscore",
    2000,
    32,
    ("metric.bertscore.model={folder}/roberta", "metric.bertscore.layer=17"),
    ("metric.bertscore.layer=2",),
)
BENCHMARKS: dict[str, Callable[[str, bool], Row]] = {
    "TIGEr": partial(score, Scoring("tiger", 5000, ALL)),
    "FAIEr, scoring": partial(score, Scoring("faier", 5000, ALL)),
    "CLIPScore, ViT-B/32, with images": partial(score, CLIP),
    "CLIPScore, the same in bfloat16": partial(score, CLIP._replace(dtype="bfloat16")),
    "BERTScore, roberta-large": partial(score, BERT),
    "BERTScore, the same in bfloat16": partial(score, BERT._replace(dtype="bfloat16")),
    "FAIEr, training, one epoch": faier_training,
}


def measure(name: str, device: str, tiny: bool) -> Row:
    """One benchmark; a row with the reason where it cannot run."""
    try:
        if device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        row = BENCHMARKS[name](device, tiny)
        if device == "cuda":
            row["mib"] = torch.cuda.max_memory_allocated() >> 20
        return row
    except (Exception, SystemExit) as error:
        return {"problem": f"{type(error).__name__}: {error}"}


HOST = ("TIGEr", "FAIEr, scoring")  # what is quick on the processor, too


def table(about: str, rows: Mapping[str, Row]) -> str:
    """The record as a Markdown page."""
    lines = [
        f"{about}\n",
        "| | n | seconds | of which kernels | a second | aim | against the processor | MiB |",
        "|---|---:|---:|---:|---:|---:|---|---:|",
    ]
    for name, row in rows.items():
        if "problem" in row:
            lines.append(f"| {name} | | | | | | not measured: {row['problem']} | |")
            continue
        off = f"off by {row['difference']:.0e}" if "difference" in row else ""
        off += "" if row.get("agrees", True) else " **too much**"
        off += f", {row['ratio']:.1f} × {row['reference']}" if "ratio" in row else ""
        kernels = f"{row['kernels']:.2f}" if "kernels" in row else ""
        aim = f"{AIMS[name]:,}" if name in AIMS else ""
        lines.append(
            f"| {name} | {row['n']:,} {row['unit']} | {row['seconds']:.2f} | {kernels} "
            f"| {row['n'] / row['seconds']:,.0f} | {aim} | {off} | {row.get('mib', '')} |"
        )
    return "\n".join([*lines, ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cpu", action="store_true", help="a dry run on the processor, tiny sizes")
    parser.add_argument("--host", action="store_true", help="what is quick on the processor")
    options = parser.parse_args()
    gc.set_threshold(100_000, 20, 20)  # as the command does
    on_cpu = options.cpu or options.host
    device = "cuda" if torch.cuda.is_available() and not on_cpu else "cpu"
    if device == "cpu" and not on_cpu:
        print("nothing measured: no CUDA device; --cpu tries it out", file=sys.stderr)
        return 2
    name = torch.cuda.get_device_name() if device == "cuda" else "the processor"
    dry = ", **in tiny sizes: a dry run, no measurement**" if options.cpu else ""
    about = (
        f"Measured on {datetime.now(UTC).date()} on {name} ({core_count()} cores), "
        f"Python {platform.python_version()}, torch {torch.__version__}{dry}."
    )
    deadline = time.monotonic() + 60 * MINUTES
    rows: dict[str, Row] = {}
    for name in HOST if options.host else BENCHMARKS:
        left = time.monotonic() < deadline
        rows[name] = measure(name, device, options.cpu) if left else {"problem": "no time was left"}
        print(f"{name}: {rows[name]}", file=sys.stderr, flush=True)
    page = Path("build/gpu/gpu.md")
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(table(about, rows), encoding="utf-8")
    print(page.read_text(encoding="utf-8"))
    refused = [r for r in rows.values() if not r.get("agrees", True) or ("problem" in r and dry)]
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
