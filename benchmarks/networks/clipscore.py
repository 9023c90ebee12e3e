"""CLIPScore and RefCLIPScore against the loop of the paper's code, on the same files and weights.

    python benchmarks/networks/clipscore.py [--images N] [--device cuda] [--model ViT-B-32]

draws N scenes, scores four captions per image with random weights (as fast as real ones), and does
the same work as the paper's code is written: a data loader of batches, features of images, of
candidates and of all references padded to 77 tokens, set by set. Asserts that the scores agree and
prints where the time goes: decoding, transfer and arithmetic. Without the device that is asked
for, the reason is printed.
"""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bertscore import TOLERANCE
from benchmarks.side_by_side import (
    begin_torch,
    greatest_difference,
    joined,
    options_parser,
    replace_sets,
    timed,
)
from metaeval.data import image_files
from metaeval.data.dataset import CaptionDataset
from metaeval.data.scenes import load_scenes
from metaeval.metrics.clipscore.metric import ClipScore, ClipScorer
from metaeval.metrics.clipscore.refclipscore import RefClipScore
from metaeval.runs.store import MemoryStore


def ours(dataset: CaptionDataset, sets: list[list[str]], **options: Any) -> Any:
    """CLIPScore and RefCLIPScore of all captions, [2, n]."""
    store, scores = MemoryStore(), []
    for kind in (ClipScore, RefClipScore):
        scorer = kind(pretrained="random", **options).bind(dataset, store)
        assert isinstance(scorer, ClipScorer), scorer
        scorer.prepare()
        scores.append(scorer.score(*joined(sets))[:, 0])
        scorer.close()
    return np.stack(scores)


class Pictures:
    """The image files as a data set for torch's loader."""

    def __init__(self, paths: list[Path], preprocess: Any) -> None:
        self.paths, self.preprocess = paths, preprocess

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        from PIL import Image

        return self.preprocess(Image.open(self.paths[index]).convert("RGB"))


def theirs(dataset: CaptionDataset, sets: list[list[str]], model_name: str, device: str) -> Any:
    """The same without reuse: everything computed again for every set."""
    import open_clip
    import torch
    from torch.utils.data import DataLoader

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
    scores = []
    for captions in sets:
        loader: Any = DataLoader(Pictures(paths, preprocess), batch_size=64, num_workers=workers)
        images, candidates = unit(model.encode_image, loader), texts(captions)
        references = texts([r for group in dataset.references for r in group])
        score = 2.5 * np.clip((images * candidates).sum(axis=1), 0, None)
        best = np.full(len(dataset), -1.0)
        np.maximum.at(best, owner, (references * candidates[owner]).sum(axis=1))
        best = np.clip(best, 0, None)
        both = 2 * score * best / np.where(score + best > 0, score + best, 1)
        scores.append(np.stack([score, both]))
    return np.concatenate(scores, axis=1)


def limits(dataset: CaptionDataset, model: str, device: str) -> None:
    """Images a second that reading, transferring and computing allow, each for itself."""
    import torch

    from metaeval.metrics.clipscore.network import Clip
    from metaeval.metrics.clipscore.weights import ClipWeights

    clip = Clip(ClipWeights(model, "random", None), device)
    paths = [path for path in image_files.paths_of(dataset) if path is not None]

    def read() -> list[Any]:
        decoded = image_files.decoded(paths, clip.preprocess, clip.n_images)
        return [pixels for _, pixels in decoded if pixels is not None]

    def move() -> None:
        for pixels in batches:
            pixels.to(clip.device)
        if device != "cpu":
            torch.cuda.synchronize()

    batches, reading = timed(read)
    _, transfer = timed(move)
    _, arithmetic = timed(lambda: [clip.images(pixels) for pixels in batches])
    n = len(paths)
    print(
        f"images/s: reading {n / reading.clock:,.0f}, transfer {n / max(transfer.clock, 1e-9):,.0f}"
        f", transfer and arithmetic {n / arithmetic.clock:,.0f}"
    )


def main() -> None:
    parser = options_parser(__doc__, "threads", "device")
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--model", default="ViT-B-32")
    options = parser.parse_args()
    begin_torch(options, "open_clip")
    import torch

    logging.disable(logging.WARNING)  # open_clip's, on models without weights
    model, device = options.model, options.device
    with tempfile.TemporaryDirectory() as folder:
        dataset = load_scenes(n=options.images, cache=folder)
        image_files.paths_of(dataset)  # drawn beforehand
        sets = replace_sets(dataset)
        n = len(sets) * len(dataset)
        scores, fast = timed(lambda: ours(dataset, sets, model=model, device=device))
        print(f"{n:,} captions, {len(dataset):,} images, {device}")
        print(f"metaeval        {fast.clock:9.2f} s  {n / fast.clock:9,.0f} captions/s")
        expected, slow = timed(lambda: theirs(dataset, sets, model, device))
        difference = greatest_difference(scores, expected, TOLERANCE[torch.device(device).type])
        print(
            f"plain loop      {slow.clock:9.2f} s  {n / slow.clock:9,.0f} captions/s  "
            f"{slow.clock / fast.clock:5.1f} ×  greatest difference {difference:.0e}"
        )
        limits(dataset, model, device)


if __name__ == "__main__":
    main()
