"""FAIEr beside a plain loop over captions, on the same images, references and weights.

    python benchmarks/faier/speed.py [--images N] [--sets K] [--loop M] [--device cuda]
        [--weights FOLDER]

draws N scenes and scores K caption sets. First the union vectors, once an image; then the captions,
in batches. The loop is the equations as they stand, a caption at a time, each with its own union of
image and references. Asserts that the scores agree, and prints captions a second of processor time
(a loaded machine does not change that), the ratio, and memory. Without the device that is asked
for, the reason is printed.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from typing import Any

import numpy as np
import torch

from corruptions.graded.random import Random
from corruptions.graded.replace import Replace
from corruptions.graded.shuffle import Shuffle
from metaeval.compute import device as devices
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError
from metaeval.metrics.faier.captions import ParsedCaptions, build_vocabulary, encode
from metaeval.metrics.faier.matcher import UnionMatcher
from metaeval.metrics.faier.network import FaierNetwork, FaierShape, load_network
from metaeval.text.scene_graphs.triplets import TripletParser
from metaeval.vision.regions.gold import GoldRegions
from metaeval.weights import pretrained
from tests.metrics.faier import plain

TOLERANCE = 1e-4  # float32 scores of a few units, added up in another order


class Clock:
    """Seconds of the processor, or of the wall where a GPU does the work."""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def __call__(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize()
            return time.perf_counter()
        return time.process_time()


def network(dataset: CaptionDataset, weights: str | None) -> tuple[FaierNetwork, Any]:
    """Trained weights, or random ones of the shipped size: both are equally fast."""
    if weights is not None:
        chosen = pretrained.choose("faier", dataset, weights, variant="r")
        if isinstance(chosen, Absent):
            raise SystemExit(str(chosen))
        return load_network(chosen), chosen.vocabulary()
    texts = [text for own in dataset.references for text in own]
    vocabulary = build_vocabulary(texts, TripletParser()(texts))
    torch.manual_seed(0)
    return FaierNetwork(FaierShape(88, len(vocabulary), 128, 128)).eval(), vocabulary


@torch.inference_mode()
def one_by_one(
    model: FaierNetwork,
    regions: Any,
    references: ParsedCaptions,
    rows: Any,
    captions: ParsedCaptions,
    index: Any,
) -> np.ndarray[Any, Any]:
    """The plain loop: see, read, unite and score for every caption by itself."""
    device = next(model.parameters()).device
    scores = []
    for k, i in enumerate(index):
        features, boxes, mask = regions.subset([i]).tensors(device)
        others = model.read(references.take(np.array(rows[i])).to(device))
        seen = model.see(features, boxes, mask)
        unions = plain.unite(model, seen, 0, others, range(len(rows[i])))
        nodes = model.read(captions.take(np.array([k])).to(device))
        scores.append(plain.score(unions, nodes, 0).double().cpu().numpy())
    return np.array(scores)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--sets", type=int, default=4)
    parser.add_argument("--loop", type=int, default=300, help="captions of the plain loop")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--weights", default=None)
    options = parser.parse_args()
    try:
        device = devices.resolve(options.device)
    except ConfigError as error:
        print(f"not measured: {error}")
        sys.exit(0)
    if options.threads:
        torch.set_num_threads(options.threads)
    clock = Clock(device)
    dataset = load_scenes(n=options.images)
    spoil = [Random(), Replace(0.5), Replace(0.25), Shuffle(1.0), Shuffle(0.5), Shuffle(0.25)]
    sets = [[c.text for c in corruption.apply(dataset, 0)] for corruption in spoil]
    texts = [t for own in [list(dataset.human), *sets][: options.sets] for t in own]
    index = np.tile(np.arange(len(dataset)), min(options.sets, 7))
    model, vocabulary = network(dataset, options.weights)
    model.to(device)
    regions = GoldRegions().load(dataset)
    read = TripletParser()
    flat = [text for own in dataset.references for text in own]
    counts = np.array([len(own) for own in dataset.references])
    first = np.cumsum(counts) - counts
    rows = [list(range(f, f + n)) for f, n in zip(first.tolist(), counts.tolist(), strict=True)]

    started = clock()
    references = encode(flat, read, vocabulary)
    parsed = clock()
    matcher = UnionMatcher(model)
    matcher.prepare(regions, references, rows)
    united = clock()
    captions = encode(texts, read, vocabulary)
    encoded = clock()
    if device.type == "cuda":
        matcher.score(captions, index)  # the first call also chooses kernels
        encoded = clock()
    scores = matcher.score(captions, index)
    done = clock()

    chosen = np.random.default_rng(0).permutation(len(texts))[: options.loop]
    some = encode([texts[k] for k in chosen], read, vocabulary)
    began = clock()
    slow = one_by_one(model, regions, references, rows, some, index[chosen])
    ended = clock()
    worst = float(np.abs(slow - scores[chosen]).max())
    assert worst <= TOLERANCE, worst
    rate, loop_rate = len(texts) / (done - encoded), len(chosen) / (ended - began)
    what = f"{len(texts):,} captions of {len(dataset):,} images on {device}"
    threads = "" if device.type == "cuda" else f", {torch.get_num_threads()} thread(s)"
    print(f"{what}{threads}; {sum(p.numel() for p in model.parameters()):,} parameters")
    print(f"parsing and encoding {len(flat):,} references: {parsed - started:.2f} s")
    print(
        f"union vectors: {united - parsed:.2f} s, {len(dataset) / (united - parsed):,.0f} images/s"
    )
    print(f"parsing and encoding the captions: {len(texts) / max(1e-9, encoded - united):,.0f}/s")
    print(f"scoring the captions: {rate:,.0f}/s")
    print(
        f"a caption at a time: {loop_rate:,.0f}/s ({len(chosen)} of them), "
        f"so {rate / loop_rate:.1f} times"
    )
    print(f"largest difference: {worst:.1e} (allowed {TOLERANCE:.0e})")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of the process: {peak:,.0f} MiB")
    if device.type == "cuda":
        print(f"peak memory of the device: {torch.cuda.max_memory_allocated() / 2**20:,.0f} MiB")


if __name__ == "__main__":
    main()
