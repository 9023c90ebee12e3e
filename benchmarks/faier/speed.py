"""FAIEr compared with a plain loop over captions, on the same images, references and weights.

    python benchmarks/faier/speed.py [--images N] [--loop M] [--device cuda] [--weights FOLDER]

draws N scenes and scores their four Replace sets. First the union vectors, once an image; then the
captions, in batches. The loop implements the equations directly, a caption at a time, each with its
own union of image and references. Asserts that the scores agree, and prints captions per second of
processor time (a loaded machine does not change that), the ratio, and memory. Without the device
that is asked for, the reason is printed.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch

from benchmarks.side_by_side import (
    available,
    begin_torch,
    greatest_difference,
    joined,
    options_parser,
    peak_memory,
    replace_sets,
)
from metaeval.compute.device import resolve
from metaeval.data.dataset import CaptionDataset
from metaeval.data.scenes import load_scenes
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
        chosen = available(pretrained.choose("faier", dataset, weights, variant="r"))
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
    parser = options_parser(__doc__, "device", "threads")
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--loop", type=int, default=300, help="captions of the plain loop")
    parser.add_argument("--weights", default=None)
    options = parser.parse_args()
    begin_torch(options)
    device = resolve(options.device)
    clock = Clock(device)
    dataset = load_scenes(n=options.images)
    texts, index = joined(replace_sets(dataset))
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
    worst = greatest_difference(slow, scores[chosen], TOLERANCE)
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
    print(f"peak memory of the process: {peak_memory()}")
    if device.type == "cuda":
        print(f"peak memory of the device: {torch.cuda.max_memory_allocated() / 2**20:,.0f} MiB")


if __name__ == "__main__":
    main()
