"""Where the seconds of a scoring go: stages of the metrics that a device waits for.

Stages are measured on the main thread, each less those within it; without a CUDA device the
device's stage runs on the processor.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any
from unittest.mock import patch

import torch

from benchmarks import host

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
        "metaeval.text.vocabulary.pad_sequences",
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
