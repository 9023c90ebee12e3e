"""Training SCAN: `python -m research.train experiment=train_scan dataset=… regions=…`.

`metric.tiger.weights=FOLDER` then scores with the run's folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from omegaconf import DictConfig

from metaeval.config import component, plain
from metaeval.data.dataset import CaptionDataset
from metaeval.experiments.scores import open_store
from metaeval.options import OptionsOf
from research.train.grounded import CHECKPOINT, GroundedTraining
from research.weights import half, save_weights

if TYPE_CHECKING:
    from metaeval.runs.store import Store
    from research.train.scan_loss import ScanLosses

# What makes sense only where region 0 is the whole image and boxes are features: what stands in
# null in the configuration: these values with gold regions, off with other regions.
OF_GOLD: Mapping[str, Any] = {
    "hidden": 256,
    "whole_only": True,
    "grid": 3,
    "lost_whole": 0.5,
    "mirrored": 0.5,
}
_SPREAD = 0.1  # of the words' first vectors: near that of SCAN's own numbers, uniform in ±0.1


class TrainScan(
    GroundedTraining,
    name="train_scan",
    title="Training SCAN",
    question="Which weights distinguish captions of an image from those of others?",
):
    """Training of a SCAN network on the captions and regions of one dataset.

    Parameters
    ----------
    losses
        Options of `ScanLosses`; here and in `network`, which are those of `ScanShape`, some may be
        `None` (`filled_in`).
    options
        Those of `GroundedTraining`.
    """

    def __init__(
        self,
        losses: Annotated[
            Mapping[str, Any],
            OptionsOf(
                "research.train.scan_loss.ScanLosses",
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
        **options: Any,
    ) -> None:
        super().__init__(network=network, **options)
        self.losses = plain(losses)

    def check(self, config: DictConfig) -> None:
        super().check(config)
        self.made_small()

    def made_small(self) -> ScanLosses:
        """What is made small; ConfigError for what makes no sense."""
        from research.train.scan_loss import ScanLosses

        gold = self.regions.name == "gold"
        return ScanLosses(**filled_in(self.losses, gold, self.vectors is not None))

    def train(self, config: DictConfig, out: Path) -> dict[str, Any]:
        """Train, measure on the images held out, and write the weights' folder."""
        with open_store(config) as store:
            return self._train(config, out, store)

    def _train(self, config: DictConfig, out: Path, store: Store) -> dict[str, Any]:
        from metaeval.metrics.scan.network import Scan, ScanShape
        from metaeval.vision.regions.gold import add_grid
        from research.train.dataset import CaptionedImages
        from research.train.dev import measure, turns_of
        from research.train.loop import fit
        from research.train.scan_loss import ScanTask
        from research.vocabulary import build_vocabulary

        losses = self.made_small()
        network = filled_in(self.network, self.regions.name == "gold")
        settings, device = self.settings(config), self.begin(config)
        dataset: CaptionDataset = component(config.dataset, "dataset")
        images = CaptionedImages.of(dataset, self.regions, store)
        images = replace(images, regions=add_grid(images.regions, network.get("grid", 0)))
        # one split for all seeds: they differ in first weights and batches alone
        train, dev = images.split(self.dev, seed=0)
        captions = (text for texts in train.captions for text in texts)
        vocabulary = build_vocabulary(captions, self.min_count)
        shape = ScanShape(images.regions.dim, len(vocabulary), **network)
        model = Scan(shape)
        started = self.start_words(model.text.embed, vocabulary, _SPREAD, store)
        similarity = None
        if losses.similarity_margin:
            similarity = self.caption_similarity(train, vocabulary, store)
        model.to(device)
        task = ScanTask(model, vocabulary, train, dev, losses, similarity)
        identity = f"{losses}|{shape}|{started}|{vocabulary.digest()}|{self.regions.identity()}"
        checkpoint = out / CHECKPOINT
        trained = fit(
            model, task.batches, task.loss, task.validate, settings, checkpoint, identity, "scan"
        )
        half(model)  # the numbers below are those of the weights in the file
        chosen = dict(task.validate(model))
        rhos = (
            measure(model, vocabulary, dev, dataset, losses.smooth, self.device)
            if turns_of(dev) > 1
            else {}
        )
        card = {
            "kind": "scan",
            "variant": "",
            "trained_on_corruptions": False,
            "shape": asdict(shape),
            "smooth": losses.smooth,
            "human_cosine": chosen["human_cosine"],
            "losses": asdict(losses),
            **self.card(dataset, train, dev, started, settings, trained, device),
            "dev": {"n_images": len(dev), **chosen, **({"rho": rhos} if rhos else {})},
        }
        save_weights(out, model, vocabulary, card, dataset)
        checkpoint.unlink(missing_ok=True)
        print(
            f"{len(trained.history)} epochs in {trained.seconds:,.0f} s, the best of them number "
            f"{trained.best_epoch}; rsum {chosen['rsum']} on dev"
        )
        for column, rho in rhos.items():
            print(
                f"{column}: rank-order ρ on dev {rho['replace']:.3f} (Replace), "
                f"{rho['shuffle']:.3f} (Shuffle)"
            )
        return card


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
