"""What networks gain from a GPU: all of it in one call, within nine minutes, without a network.

    make gpu                                    # runs this file by the Python that is there
    python -m benchmarks.gpu --cpu              # the same on the processor, in tiny sizes

runs the tests marked `gpu`, then each benchmark in a process of its own (a dry run: all in one):
BERTScore with roberta-large's size, CLIPScore with images, TIGEr, FAIEr's scoring and training,
VIFIDEL, and exact transport on the device against POT on the processor. Scenes, shipped and random
weights serve: nothing is downloaded. Each benchmark checks its scores against the same metric on
the processor. What cannot run is a row with its reason. Writes gpu.json and gpu.md into `--out`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

MINUTES = 9.0
# float32 in another order of summation, by other kernels; TIGEr-RRS ranks, so ties may turn
TOLERANCE = 2e-3
HALF = 5e-2  # bfloat16 keeps three digits
CHECKED = 256  # images whose captions the processor scores too, by a large network
ALL = 10**6

Row = dict[str, Any]


def scenes(n: int, cache: str | None = None) -> tuple[Any, list[str], Any]:
    """n scenes with four caption sets: the dataset, the captions, the image of each."""
    from metaeval.corruptions.graded.random import Random
    from metaeval.corruptions.graded.replace import Replace
    from metaeval.data.scenes import load_scenes

    dataset = load_scenes(n=n, cache=cache)
    captions = list(dataset.human)
    for corruption in (Replace(0.25), Replace(0.5), Random()):
        captions += [each.text for each in corruption.apply(dataset, seed=0)]
    return dataset, captions, np.tile(np.arange(n), 4)


def timed(device: str, work: Callable[[], Any]) -> tuple[Any, float]:
    """What `work` returns, and its seconds, the device's included."""
    import torch

    def clock() -> float:
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    started = clock()
    result = work()
    return result, clock() - started


def kernel_seconds(work: Callable[[], Any]) -> float:
    """The seconds that the device's kernels and copies take in `work`, by torch's profiler."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        work()
    return sum(event.self_device_time_total for event in profiler.key_averages()) / 1e6


def score(
    make: Callable[[str], Any],
    device: str,
    data: tuple[Any, list[str], Any],
    checked: int = CHECKED,
    tolerance: float = TOLERANCE,
) -> Row:
    """Prepare and score captions of `scenes`; the second time counts, the first chooses kernels.

    The processor scores the captions of `checked` of the images too.
    """
    from metaeval.data.dataset import Absent
    from metaeval.runs.store import MemoryStore

    dataset, captions, index = data

    def once(where: str, data: Any, texts: list[str], images: Any) -> Any:
        scorer = make(where).bind(data, MemoryStore())
        if isinstance(scorer, Absent):
            raise SystemExit(str(scorer))
        scorer.prepare()
        scores = scorer.score(texts, images)
        scorer.close()
        return scores

    few = min(len(dataset), checked)
    some = np.flatnonzero(index < few)
    part = (dataset.limited(few), [captions[k] for k in some], index[some])
    once(device, *part)
    scores, seconds = timed(device, lambda: once(device, dataset, captions, index))
    expected, slow = timed("cpu", lambda: once("cpu", *part))
    difference = float(np.nanmax(np.abs(scores[some] - expected)))
    row = {
        "n": len(captions),
        "unit": "captions",
        "seconds": seconds,
        "difference": difference,
        "agrees": bool(difference <= tolerance),
        "reference": f"the processor ({len(some):,})",
        "ratio": (slow / len(some)) / (seconds / len(captions)),
    }
    if device == "cuda":
        row["kernels"] = kernel_seconds(lambda: once(device, dataset, captions, index))
    return row


def bertscore(device: str, tiny: bool, dtype: str = "float32") -> Row:
    """BERTScore with roberta-large's architecture and random weights, as fast as real ones."""
    from metaeval.metrics.bertscore.metric import BertScore

    data = scenes(16 if tiny else 2000)
    with tempfile.TemporaryDirectory() as folder:
        model = random_roberta(Path(folder), 2 if tiny else 24, data[1])
        layer = 2 if tiny else 17
        return score(
            lambda where: BertScore(
                model=model, layer=layer, device=where, dtype="float32" if where == "cpu" else dtype
            ),
            device,
            data,
            checked=32,
            tolerance=TOLERANCE if dtype == "float32" else HALF,
        )


def random_roberta(
    folder: Path, layers: int = 24, texts: Iterable[str] = ("two dogs in the park",)
) -> str:
    """A folder with roberta-large's architecture, random weights, and a vocabulary of the texts."""
    import torch
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


def clipscore(device: str, tiny: bool, dtype: str = "float32") -> Row:
    """CLIPScore with ViT-B/32 and random weights, from image files to scores."""
    from metaeval.data import image_files
    from metaeval.metrics.clipscore.metric import ClipScore

    model, n = ("ViT-S-32-alt", 8) if tiny else ("ViT-B-32", 3000)
    with tempfile.TemporaryDirectory() as folder:
        data = scenes(n, folder)
        image_files.paths_of(data[0])  # drawn beforehand
        return score(
            lambda where: ClipScore(
                model=model,
                pretrained="random",
                device=where,
                dtype="float32" if where == "cpu" else dtype,
            ),
            device,
            data,
            tolerance=TOLERANCE if dtype == "float32" else HALF,
        )


def tiger(device: str, tiny: bool) -> Row:
    """TIGEr with the shipped weights for scenes, on gold regions."""
    from metaeval.metrics.scan.metric import Tiger
    from metaeval.vision.regions.gold import GoldRegions

    data = scenes(16 if tiny else 5000)
    return score(lambda where: Tiger(GoldRegions(), device=where), device, data, ALL)


def faier(device: str, tiny: bool) -> Row:
    """FAIEr with the shipped weights for scenes, on gold regions, four references."""
    from metaeval.metrics.faier.metric import Faier
    from metaeval.vision.regions.gold import GoldRegions

    data = scenes(16 if tiny else 5000)
    return score(lambda where: Faier(GoldRegions(), device=where), device, data, ALL)


def faier_training(device: str, tiny: bool) -> Row:
    """An epoch of `experiment=train_faier` on the scenes; data and the last measurement included.

    The seconds are of the whole command, so the first row of a table to compare is the
    processor's.
    """
    n = 60 if tiny else 6000
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(sys.executable, "-m", "metaeval", "experiment=train_faier", "dataset=scenes"),
            *("dataset.split=train", f"dataset.limit={n}", f"task.dev={10 if tiny else 400}"),
            *("task.training.epochs=1", "task.vectors=null", f"device={device}"),
            *(f"paths.cache={folder}/cache", f"hydra.run.dir={folder}/run"),
        ]
        started = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - started
    if done.returncode != 0:
        raise SystemExit((done.stderr or done.stdout).strip().splitlines()[-1])
    return {"n": n, "unit": "images", "seconds": seconds}


def transport(device: str, tiny: bool) -> Row:
    """Exact transport of VIFIDEL, WMD and MoverScore by the device solver, against POT."""
    import torch

    from metaeval.compute import transport as exact

    n, rng = 64 if tiny else 20_000, np.random.default_rng(0)
    cost, supply, demand = (rng.random(shape) for shape in ((4, 8, n), (4, n), (8, n)))
    supply, demand = supply / supply.sum(axis=0), demand / demand.sum(axis=0)

    def on_device() -> Any:
        flow = exact.flows_on(torch.device(device), cost, supply, demand)
        return exact.costs(cost, flow)

    on_device()
    exact.flows(cost[:, :, :2], supply[:, :2], demand[:, :2])
    ours, seconds = timed(device, on_device)
    expected, slow = timed("cpu", lambda: exact.costs(cost, exact.flows(cost, supply, demand)))
    difference = float(np.abs(ours - expected).max())
    return {
        "n": n,
        "unit": "problems",
        "seconds": seconds,
        "difference": difference,
        "agrees": difference <= 1e-12,
        "reference": "POT",
        "ratio": slow / seconds,
    }


def vifidel(device: str, tiny: bool) -> Row:
    """VIFIDEL of gold objects, both columns, random vectors of 300 numbers in GloVe's format."""
    from metaeval.metrics.vifidel.metric import Vifidel
    from metaeval.text.word_vectors.base import VectorFile
    from metaeval.text.word_vectors.learn import write_vectors

    with tempfile.TemporaryDirectory() as folder:
        dataset, captions, _ = data = scenes(80 if tiny else 5000, folder)
        names = {label for each in dataset.part("objects").values() for label in each.labels}
        words = sorted({w for text in [*captions, *names] for w in re.findall("[a-z]+", text)})
        rows = np.random.default_rng(0).standard_normal((len(words), 300))
        write_vectors(Path(folder, "vectors.txt"), words, rows)
        vectors = VectorFile(Path(folder, "vectors.txt"), cache=folder)
        return score(lambda where: Vifidel(vectors, device=where), device, data, ALL)


BENCHMARKS: dict[str, tuple[Callable[[str, bool], Row], tuple[str, ...]]] = {
    "exact transport": (transport, ("ot",)),
    "VIFIDEL": (vifidel, ("ot", "sklearn")),
    "TIGEr": (tiger, ("safetensors",)),
    "FAIEr, scoring": (faier, ("safetensors",)),
    "CLIPScore, ViT-B/32, with images": (clipscore, ("open_clip", "safetensors")),
    "CLIPScore, the same in bfloat16": (
        lambda device, tiny: clipscore(device, tiny, "bfloat16"),
        ("open_clip", "safetensors"),
    ),
    "BERTScore, roberta-large": (bertscore, ("transformers", "tokenizers", "bert_score")),
    "BERTScore, the same in bfloat16": (
        lambda device, tiny: bertscore(device, tiny, "bfloat16"),
        ("transformers", "tokenizers", "bert_score"),
    ),
    "FAIEr, training, one epoch": (faier_training, ("hydra", "safetensors", "pyarrow")),
}


def measure(name: str, device: str, tiny: bool) -> Row:
    """One benchmark in this process."""
    import torch

    row = BENCHMARKS[name][0](device, tiny)
    if device == "cuda":
        row["device_mib"] = torch.cuda.max_memory_allocated() >> 20
    row["process_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return row


def run_apart(name: str, device: str, tiny: bool, seconds: float) -> Row:
    """One benchmark in a process of its own, ended when its time is over."""
    modules = ("torch", "hydra", *BENCHMARKS[name][1])
    if missing := sorted({m for m in modules if importlib.util.find_spec(m) is None}):
        return {"problem": f"{', '.join(missing)} not installed"}
    if seconds < 1:
        return {"problem": "no time was left"}
    command = [sys.executable, "-m", "benchmarks.gpu", "--only", name]
    command += ["--cpu"] if device == "cpu" else []
    command += ["--tiny"] if tiny else []
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return {"problem": f"not done after {seconds:.0f} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        said = done.stderr.strip().splitlines()
        return {"problem": said[-1] if said else f"exit code {done.returncode}"}
    row: Row = json.loads(lines[-1])
    return row


def run_here(name: str, tiny: bool) -> Row:
    """One benchmark of a dry run, in this process: what it imports is imported once."""
    try:
        return measure(name, "cpu", tiny)
    except (Exception, SystemExit) as error:
        return {"problem": f"{type(error).__name__}: {error}"}


def run_tests(seconds: float) -> Row:
    """The tests marked `gpu`: how it ended, in pytest's last line."""
    if importlib.util.find_spec("pytest") is None:
        return {"problem": "pytest not installed"}
    command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "-p", "no:cacheprovider"]
    paths = sorted({str(path) for path in Path("tests").rglob("*.py") if "mark.gpu" in read(path)})
    try:
        done = subprocess.run(
            [*command, *paths], capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return {"problem": f"not done after {seconds:.0f} s"}
    lines = done.stdout.strip().splitlines() or done.stderr.strip().splitlines() or [""]
    if done.returncode != 0:
        return {"problem": lines[-1], "output": lines[-30:]}
    return {"outcome": lines[-1]}


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def machine(device: str) -> Row:
    """What it ran on."""
    import torch

    cuda = torch.cuda.get_device_name() if device == "cuda" else None
    return {
        "device": cuda or "the processor",
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "cores": os.cpu_count(),
    }


def table(record: Row) -> str:
    """The record as a Markdown page."""
    about = record["machine"]
    lines = [
        f"Measured on {about['date']} on {about['device']} ({about['cores']} cores), "
        f"Python {about['python']}, torch {about['torch']}"
        + (", **in tiny sizes: a dry run, no measurement**." if record["tiny"] else ".")
    ]
    tests = record["tests"]
    lines += ["", f"Tests marked `gpu`: {tests.get('outcome') or tests['problem']}.", ""]
    lines += [
        "| | n | seconds | of which kernels | a second | against the processor | MiB |",
        "|---|---:|---:|---:|---:|---|---:|",
    ]
    for name, row in record["benchmarks"].items():
        if "problem" in row:
            lines.append(f"| {name} | | | | | not measured: {row['problem']} | |")
            continue
        ratio = f", {row['ratio']:.1f} × {row['reference']}" if "ratio" in row else ""
        off = f"off by {row['difference']:.0e}" if "difference" in row else ""
        kernels = f"{row['kernels']:.2f}" if "kernels" in row else ""
        refused = "" if row.get("agrees", True) else " **too much**"
        lines.append(
            f"| {name} | {row['n']:,} {row['unit']} | {row['seconds']:.2f} | {kernels} "
            f"| {row['n'] / row['seconds']:,.0f} | {off}{refused}{ratio} "
            f"| {row.get('device_mib', row['process_mib']):,} |"
        )
    return "\n".join([*lines, ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cpu", action="store_true", help="a dry run on the processor")
    parser.add_argument("--tiny", action="store_true", help="tiny sizes; --cpu implies it")
    parser.add_argument("--out", type=Path, default=Path("build/gpu"))
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--only", choices=BENCHMARKS, help="one benchmark, its record as JSON")
    options = parser.parse_args()
    device, tiny = ("cpu", True) if options.cpu else ("cuda", options.tiny)
    if importlib.util.find_spec("torch") is None:
        print("nothing measured: torch is not installed", file=sys.stderr)
        return 2
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        print("nothing measured: no CUDA device; --cpu tries it out", file=sys.stderr)
        return 2
    if options.only:
        print(json.dumps(measure(options.only, device, tiny)))
        return 0
    deadline = time.monotonic() + 60 * options.minutes
    record: Row = {"machine": machine(device), "tiny": tiny, "benchmarks": {}}
    record["tests"] = run_tests(60 * options.minutes / 2)
    print(f"tests: {record['tests']}", file=sys.stderr, flush=True)
    for name in BENCHMARKS:
        record["benchmarks"][name] = (
            run_here(name, tiny)
            if options.cpu
            else run_apart(name, device, tiny, deadline - time.monotonic())
        )
        print(f"{name}: {record['benchmarks'][name]}", file=sys.stderr, flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "gpu.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    (options.out / "gpu.md").write_text(table(record), encoding="utf-8")
    print(table(record))
    refused = [
        name
        for name, row in record["benchmarks"].items()
        if not row.get("agrees", True) or (options.cpu and "problem" in row)
    ]
    return 1 if refused or "problem" in record["tests"] else 0


if __name__ == "__main__":
    sys.exit(main())
