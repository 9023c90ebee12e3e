"""The paper's variants of FAIEr compared, with zero to four references at test time.

    python -m benchmarks.faier.variants [--images N] [--references 0,1,2,3,4] [NAME_OR_FOLDER …]
        [key=value …]

For every variant (those shipped for these images, or the weights named) and every number of
references: rank-order ρ over all captions, and within images, on the captions that
`experiment=replace` and `experiment=shuffle` make with seed=0, and retrieval among the first 1,000
images, R@1, R@5 and R@10 each way. Arguments with "=" choose the data (dataset=coco_val2017 unless
they say otherwise); the weights must not have learned from it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from metaeval.config import component, compose_config
from metaeval.data.dataset import CaptionDataset
from metaeval.experiments.training.dev import HeldOut
from metaeval.metrics.faier.network import load_network
from metaeval.metrics.faier.variants import VARIANTS
from metaeval.readers.files import user_path
from metaeval.runs.store import SqliteStore
from metaeval.text.scene_graphs.triplets import TripletParser
from metaeval.training.dataset import CaptionedImages
from metaeval.vision.regions.gold import GoldRegions
from metaeval.weights import pretrained
from metaeval.weights.pretrained import PretrainedWeights

_WAYS = ("image_to_text", "text_to_image")


def weights_for(dataset: CaptionDataset, named: Sequence[str]) -> list[PretrainedWeights]:
    """The weights asked for, or all that are shipped for these images, in the paper's order."""
    asked = [(name, "") for name in named] or [(pretrained.AUTO, v) for v in VARIANTS]
    chosen = []
    for name, variant in asked:
        weights = pretrained.choose("faier", dataset, name, variant=variant)
        if not isinstance(weights, PretrainedWeights):
            print(f"left out: {weights}")
        elif weights.overlap(dataset).any():
            print(f"left out: {weights.name} has learned from some of these images")
        else:
            chosen.append(weights)
    return chosen


def rows(
    weights: PretrainedWeights, data: HeldOut, references: Sequence[int]
) -> list[tuple[Any, ...]]:
    """(variant, references, ρ and ρ within of Replace, of Shuffle, R@1/5/10 both ways)."""
    model = load_network(weights)
    measured = data.measure(model, references if model.shape.fused else (0,))
    return [
        (
            weights.card["variant"],
            int(k),
            *(of_k[name][rho] for name in ("replace", "shuffle") for rho in ("rho", "rho_within")),
            *(100 * share for way in _WAYS for share in of_k[way].values()),
        )
        for k, of_k in measured.items()
    ]


def line(row: tuple[Any, ...]) -> str:
    """A row of the printed table."""
    rho = " | ".join(f"{value:.3f}" for value in row[2:6])
    ways = (" / ".join(f"{value:.1f}" for value in row[i : i + 3]) for i in (6, 9))
    return f"| {row[0]} | {row[1]} | {rho} | {' | '.join(ways)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--images", type=int, default=None, help="only so many, the first ones")
    parser.add_argument("--references", default="0,1,2,3,4")
    options, others = parser.parse_known_args()
    named = [argument for argument in others if "=" not in argument]
    overrides = [argument for argument in others if "=" in argument]
    config = compose_config(["dataset=coco_val2017", *overrides])
    dataset: CaptionDataset = component(config.dataset, "dataset").limited(options.images)
    counts = [int(count) for count in options.references.split(",")]
    images = CaptionedImages.of(dataset, GoldRegions())
    store = SqliteStore(user_path(config.paths.cache) / "content.sqlite")
    print("| variant | references | Replace | within | Shuffle | within | i → t | t → i |")
    print("|---|---|---|---|---|---|---|---|")
    try:
        for weights in weights_for(dataset, named):
            parser_of = TripletParser("lexicon", store)
            data = HeldOut(images, dataset, parser_of, weights.vocabulary(), seed=0)
            for row in rows(weights, data, counts):
                print(line(row), flush=True)
    finally:
        store.close()


if __name__ == "__main__":
    main()
