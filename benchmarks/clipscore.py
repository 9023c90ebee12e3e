"""CLIPScore and RefCLIPScore beside the loop of the paper's code, on the same files and weights.

    python benchmarks/clipscore.py [--images N] [--device cuda] [--model ViT-B-32]

draws N scenes, scores four captions an image with random weights (as fast as real ones), and does
the same work as the paper's code is written: a data loader of batches, features of images, of
candidates and of all references padded to 77 tokens, set by set. Asserts that the scores agree and
prints where the time goes: decoding, transfer and arithmetic. Without the device that is asked
for, the reason is printed.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from corruptions.graded.random import Random
from corruptions.graded.replace import Replace
from metaeval.compute.requirements import missing_packages
from metaeval.data import image_files
from metaeval.data.dataset import CaptionDataset
from metaeval.data.scenes import load_scenes
from metaeval.metrics.clipscore.metric import ClipScore, ClipScorer
from metaeval.metrics.clipscore.refclipscore import RefClipScore
from metaeval.runs.store import MemoryStore

TOLERANCE = {"cpu": 1e-5, "cuda": 1e-4}


def ours(dataset: CaptionDataset, sets: list[list[str]], **options: Any) -> tuple[Any, Any, float]:
    """CLIPScore and RefCLIPScore of all captions, and the seconds, from files to scores."""
    captions = [text for texts in sets for text in texts]
    index = np.tile(np.arange(len(dataset)), len(sets))
    store, scores = MemoryStore(), []
    started = time.perf_counter()
    for kind in (ClipScore, RefClipScore):
        scorer = kind(pretrained="random", **options).bind(dataset, store)
        assert isinstance(scorer, ClipScorer), scorer
        scorer.prepare()
        scores.append(scorer.score(captions, index)[:, 0])
        scorer.close()
    return scores[0], scores[1], time.perf_counter() - started


class Pictures:
    """The image files as a data set for torch's loader."""

    def __init__(self, paths: list[Path], preprocess: Any) -> None:
        self.paths, self.preprocess = paths, preprocess

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        from PIL import Image

        return self.preprocess(Image.open(self.paths[index]).convert("RGB"))


def theirs(
    dataset: CaptionDataset, sets: list[list[str]], model_name: str, device: str
) -> tuple[Any, Any, float]:
    """The same by the plain way: everything anew for every set."""
    import open_clip
    import torch
    from torch.utils.data import DataLoader

    started = time.perf_counter()
    torch.manual_seed(0)
    model, _, preprocess = open_clip.create_model_and_transforms(model_name)
    model.eval().to(device)
    tokenizer = open_clip.get_tokenizer(model_name)
    workers = 0 if device == "cpu" else 8

    def unit(encode: Any, batches: Any) -> Any:
        with torch.inference_mode():
            raw = np.concatenate([encode(batch.to(device)).cpu().numpy() for batch in batches])
        return raw / np.linalg.norm(raw, axis=1, keepdims=True)

    def texts(captions: list[str]) -> Any:
        ids = tokenizer(["A photo depicts " + caption for caption in captions])
        return unit(model.encode_text, DataLoader(ids, batch_size=256))

    paths: list[Any] = image_files.paths_of(dataset)
    owner = np.repeat(np.arange(len(dataset)), [len(r) for r in dataset.references])
    plain, both = [], []
    for captions in sets:
        loader: Any = DataLoader(Pictures(paths, preprocess), batch_size=64, num_workers=workers)
        images, candidates = unit(model.encode_image, loader), texts(captions)
        references = texts([r for group in dataset.references for r in group])
        score = 2.5 * np.clip((images * candidates).sum(axis=1), 0, None)
        best = np.full(len(dataset), -1.0)
        np.maximum.at(best, owner, (references * candidates[owner]).sum(axis=1))
        best = np.clip(best, 0, None)
        plain.append(score)
        both.append(2 * score * best / np.where(score + best > 0, score + best, 1))
    return np.concatenate(plain), np.concatenate(both), time.perf_counter() - started


def limits(dataset: CaptionDataset, model: str, device: str) -> None:
    """Images a second that reading, transferring and computing allow, each for itself."""
    import torch

    from metaeval.metrics.clipscore.network import Clip
    from metaeval.metrics.clipscore.weights import ClipWeights

    clip = Clip(ClipWeights(model, "random", None), device)
    paths = [path for path in image_files.paths_of(dataset) if path is not None]
    started, batches = time.perf_counter(), []
    for _, pixels in image_files.decoded(paths, clip.preprocess, clip.n_images):
        if pixels is not None:
            batches.append(pixels)
    read = time.perf_counter() - started
    started = time.perf_counter()
    for pixels in batches:
        pixels.to(clip.device)
    if device != "cpu":
        torch.cuda.synchronize()
    moved = time.perf_counter() - started
    started = time.perf_counter()
    for pixels in batches:
        clip.images(pixels)
    computed = time.perf_counter() - started
    n = len(paths)
    print(
        f"images/s: reading {n / read:,.0f}, transfer {n / max(moved, 1e-9):,.0f}, "
        f"transfer and arithmetic {n / computed:,.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--model", default="ViT-B-32")
    parser.add_argument("--threads", type=int, default=None)
    options = parser.parse_args()
    if (absent := missing_packages("clip", "torch", "open_clip")) is not None:
        sys.exit(f"nothing measured: {absent}")
    import torch

    logging.disable(logging.WARNING)  # open_clip's, on models without weights
    if options.device != "cpu" and not torch.cuda.is_available():
        print("nothing measured: this machine has no CUDA device")
        return
    if options.threads:
        torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        dataset = load_scenes(n=options.images, cache=folder)
        image_files.paths_of(dataset)  # drawn beforehand
        spoilt = [c.apply(dataset, seed=0) for c in (Replace(0.25), Replace(0.5), Random())]
        sets = [list(dataset.human), *([each.text for each in one] for one in spoilt)]
        n = len(sets) * len(dataset)
        score, both, fast = ours(dataset, sets, model=options.model, device=options.device)
        print(f"{n:,} captions, {len(dataset):,} images, {options.device}")
        print(f"metaeval        {fast:9.2f} s  {n / fast:9,.0f} captions/s")
        expected, expected_both, slow = theirs(dataset, sets, options.model, options.device)
        difference = max(np.abs(score - expected).max(), np.abs(both - expected_both).max())
        print(
            f"plain loop      {slow:9.2f} s  {n / slow:9,.0f} captions/s  {slow / fast:5.1f} ×  "
            f"greatest difference {difference:.0e}"
        )
        assert difference <= TOLERANCE[torch.device(options.device).type]
        limits(dataset, options.model, options.device)


if __name__ == "__main__":
    main()
