"""Training SCAN: `python -m metaeval experiment=train_scan dataset=… regions=…`.

`metric.tiger.weights=FOLDER` then scores with the run's folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from omegaconf import DictConfig, OmegaConf
from typing_extensions import TypedDict

from metaeval.config import component, plain
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import ConfigError
from metaeval.experiments.scores import open_store
from metaeval.experiments.training.grounded import CHECKPOINT, GroundedTraining
from metaeval.options import OptionsOf, PositiveInt
from metaeval.weights import pretrained

if TYPE_CHECKING:
    from metaeval.metrics.scan.training import ScanLosses
    from metaeval.runs.store import Store
    from metaeval.training.dataset import CaptionedImages

# What makes sense only where region 0 is the whole image and boxes are features: what stands in
# null in the configuration: these values with gold regions, off with other regions.
OF_GOLD: Mapping[str, Any] = {
    "hidden": 256, "whole_only": True, "grid": 3, "lost_whole": 0.5, "mirrored": 0.5,
}  # fmt: skip
_SPREAD = 0.1  # of the words' first vectors: near that of SCAN's own numbers, uniform in ±0.1


class HeldOutImages(TypedDict, total=False):
    """Other images, to measure on once."""

    split: str | None
    exclude: str | list[str] | None
    n: PositiveInt


class TrainScan(GroundedTraining):
    """Training of a SCAN network on the captions and regions of one dataset.

    Parameters
    ----------
    losses
        Options of `ScanLosses`; here and in `network`, which are those of `ScanShape`, some may be
        `None` (`filled_in`).
    held_out
        Another split of the dataset (`split`, and what to `exclude` from it), for the card alone;
        a split of `None` for none. At most `n` images are taken, none that was learned from.
    options
        Those of `GroundedTraining`.
    """

    name: ClassVar[str] = "train_scan"
    title: ClassVar[str] = "Training SCAN"
    question: ClassVar[str] = "Which weights distinguish captions of an image from those of others?"

    def __init__(
        self,
        losses: Annotated[
            Mapping[str, Any],
            OptionsOf(
                "metaeval.metrics.scan.training.ScanLosses",
                also_none=("margin", "similarity_margin", *OF_GOLD),
            ),
        ],
        network: Annotated[
            Mapping[str, Any],
            OptionsOf(
                "metaeval.metrics.scan.network.ScanShape",
                also_none=tuple(OF_GOLD),
                without=("dim", "words"),
            ),
        ],
        held_out: HeldOutImages | None = None,
        **options: Any,
    ) -> None:
        super().__init__(network=network, **options)
        self.losses = plain(losses)
        self.held_out = {k: v for k, v in plain(held_out or {}).items() if v is not None}
        self.n_held_out = int(self.held_out.pop("n", 1000))

    def check(self, config: DictConfig) -> None:
        super().check(config)
        self.made_small()

    def made_small(self) -> ScanLosses:
        """What is made small; ConfigError for what makes no sense."""
        from metaeval.metrics.scan.training import ScanLosses

        gold = self.regions.name == "gold"
        return ScanLosses(**filled_in(self.losses, gold, self.vectors is not None))

    def train(self, config: DictConfig, out: Path) -> dict[str, Any]:
        """Train, measure on images that were not learned from, and write the weights' folder."""
        with open_store(config) as store:
            return self._train(config, out, store)

    def _train(self, config: DictConfig, out: Path, store: Store) -> dict[str, Any]:
        from metaeval.experiments.training.dev import measure, turns_of
        from metaeval.metrics.scan.network import Scan, ScanShape
        from metaeval.metrics.scan.training import ScanTask, retrieval
        from metaeval.text.vocabulary import Vocabulary
        from metaeval.training.dataset import CaptionedImages
        from metaeval.training.loop import fit
        from metaeval.vision.regions.grid import add_grid

        losses = self.made_small()
        network = filled_in(self.network, self.regions.name == "gold")
        settings, device = self.settings(config), self.begin(config)
        dataset: CaptionDataset = component(config.dataset, "dataset")
        images = CaptionedImages.of(dataset, self.regions, store)
        grid = network.get("grid", 0)
        images = replace(images, regions=add_grid(images.regions, grid))
        # one split for all seeds: they differ in first weights and batches alone
        train, dev = images.split(self.dev, seed=0)
        captions = (text for texts in train.captions for text in texts)
        vocabulary = Vocabulary.build(captions, self.min_count)
        shape = ScanShape(images.regions.dim, len(vocabulary), **network)
        model = Scan(shape)
        started = self.start_words(model.text.embed, vocabulary, _SPREAD, store)
        wanted = losses.similarity_margin
        similarity = self.caption_similarity(train, vocabulary, store) if wanted else None
        model.to(device)
        task = ScanTask(model, vocabulary, train, dev, losses, settings.seed, similarity)
        identity = f"{losses}|{shape}|{started}|{vocabulary.digest()}|{self.regions.identity()}"
        trained = fit(
            model, task.batches, task.loss, task.validate, settings, out / CHECKPOINT, identity,
            title="scan",
        )  # fmt: skip
        pretrained.half(model)  # the numbers below are those of the weights in the file
        chosen = dict(task.validate(model))
        rhos = (
            measure(model, vocabulary, dev, dataset, losses.smooth, self.device)
            if turns_of(dev) > 1
            else {}
        )
        card = {
            "kind": "scan",
            "variant": pretrained.CORRUPTIONS if losses.corrupted_weight else "",
            "trained_on_corruptions": losses.corrupted_weight > 0,
            "shape": asdict(shape),
            "smooth": losses.smooth,
            "human_cosine": chosen["human_cosine"],
            "losses": asdict(losses),
            **self.card(
                dataset, train, dev, started, settings, trained, device, losses.corrupted_weight > 0
            ),
            "dev": {"n_images": len(dev), **chosen, **({"rho": rhos} if rhos else {})},
        }
        weights = pretrained.save(out, model, vocabulary, card, dataset)
        if "split" in self.held_out:
            others = self._others(config, weights, store)
            recalls = retrieval(
                model, add_grid(others.regions, grid), others.encoded(vocabulary), losses.smooth
            )
            card["held_out"] = {**self.held_out, "n_images": len(others), **recalls}
            pretrained.save(out, model, vocabulary, card, dataset)
        (out / CHECKPOINT).unlink(missing_ok=True)
        print(
            f"{len(trained.history)} epochs in {trained.seconds:,.0f} s, the best of them number "
            f"{trained.best_epoch}; rsum {chosen['rsum']} on dev"
            + (f", {card['held_out']['rsum']} on {card['held_out']['n_images']:,} others"
               if "held_out" in card else "")
            + "".join(f"\n{column}: rank-order ρ on dev {rho['replace']:.3f} (Replace), "
                      f"{rho['shuffle']:.3f} (Shuffle)"
                      for column, rho in rhos.items()),
            flush=True,
        )  # fmt: skip
        return card

    def _others(self, config: DictConfig, weights: Any, store: Store) -> CaptionedImages:
        """The first images by id that the weights have not learned from."""
        from metaeval.training.dataset import CaptionedImages

        resolved: Any = OmegaConf.to_container(config.dataset, resolve=True)
        node = {**resolved, "limit": None, **self.held_out}
        if "exclude" in node:
            node["exclude"] = self.held_out.get("exclude")
        dataset: CaptionDataset = component(node, "dataset")
        fresh = np.flatnonzero(~weights.overlap(dataset))[: self.n_held_out]
        if not len(fresh):
            raise ConfigError("task.held_out: every image of it was learned from")
        return CaptionedImages.of(dataset.subset(fresh.tolist()), self.regions, store)


def filled_in(options: Mapping[str, Any], gold: bool, vectors: bool = False) -> dict[str, Any]:
    """The options with a value for those that are `None` in the configuration.

    `OF_GOLD`'s names get its values for gold regions, and none of it for others.
    `similarity_margin` is whether word vectors measure similarity; `margin` is wider
    with it, for it is shared out then.
    """
    filled = {
        name: (OF_GOLD[name] if gold else type(OF_GOLD[name])())
        if value is None and name in OF_GOLD
        else value
        for name, value in options.items()
    }
    if "similarity_margin" in filled and filled["similarity_margin"] is None:
        filled["similarity_margin"] = vectors
    if "margin" in filled and filled["margin"] is None:
        filled["margin"] = 0.3 if filled.get("similarity_margin") else 0.2
    return filled
