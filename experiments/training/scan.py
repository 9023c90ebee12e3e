"""Training SCAN: `python -m metaeval experiment=train_scan dataset=… regions=…`.

Writes weights, vocabulary, card and the digests of the images learned from into the run's folder;
`metric.tiger.weights=FOLDER` then scores with them. Some of the dataset's images are held out to
choose the best epoch by. A run that was interrupted goes on when it is started again with the same
`hydra.run.dir`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from omegaconf import DictConfig, OmegaConf

from metaeval.compute.requirements import missing_packages
from metaeval.config import component, plain
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import ConfigError
from metaeval.provenance import command, machine
from metaeval.runs.store import SqliteStore

if TYPE_CHECKING:
    from metaeval.runs.store import Store
    from metaeval.training.dataset import CaptionedImages

CHECKPOINT = "checkpoint.safetensors"
# What makes sense only where region 0 is the whole image and boxes are features: what stands in
# the configuration as null is this with gold regions, and none of it with others.
OF_GOLD: Mapping[str, Any] = {
    "hidden": 256, "whole_only": True, "grid": 3, "lost_whole": 0.5, "mirrored": 0.5,
}  # fmt: skip


class TrainScan:
    """Training of a SCAN network on the captions and regions of one dataset.

    Parameters
    ----------
    regions
        Where regions come from: a node of `conf/regions`.
    dev
        Images held out to choose by.
    min_count
        How often a word must occur in the training captions to be known.
    network
        Options of `scan.ScanShape`; here and in `losses`, some may be `None` (`filled_in`).
    vectors
        What the word embedding starts from: a node of `conf/vectors`; `None`: random numbers.
    losses, training
        Options of `scan_training.ScanLosses`, and of `training.TrainingSettings` but the seed.
    held_out
        Another split of the dataset (`split`, and what to `exclude` from it), for the card alone;
        a split of `None` for none. At most `n` images are taken, none that was learned from.
    device, threads
        "auto", "cpu", "cuda"; processor threads, `None` for torch's choice.
    """

    name: ClassVar[str] = "train_scan"

    def __init__(
        self,
        regions: Any,
        dev: int,
        network: Mapping[str, Any],
        losses: Mapping[str, Any],
        training: Mapping[str, Any],
        min_count: int = 4,
        vectors: Any = None,
        held_out: Mapping[str, Any] | None = None,
        device: str = "auto",
        threads: int | None = None,
    ) -> None:
        if (absent := missing_packages("train_scan", "torch", "safetensors")) is not None:
            raise ConfigError(str(absent))
        self.regions, self.dev, self.min_count = regions, dev, min_count
        self.network, self.losses, self.training = network, losses, training
        self.vectors = vectors
        self.held_out = {k: v for k, v in plain(held_out or {}).items() if v is not None}
        self.n_held_out = int(self.held_out.pop("n", 1000))
        self.device, self.threads = device, threads

    def run(self, config: DictConfig, out: Path) -> dict[str, Any]:
        """Train, measure on images that were not learned from, and write the weights' folder."""
        cache = Path(config.paths.cache).expanduser()
        store = SqliteStore(cache / "content.sqlite") if config.cache.enabled else None
        try:
            return self._run(config, out, store)
        finally:
            if store is not None:
                store.close()

    def _run(self, config: DictConfig, out: Path, store: Store | None) -> dict[str, Any]:
        import torch

        from experiments.training.dev_captions import turns_of
        from experiments.training.scan_dev import measured
        from metaeval.compute.device import resolve
        from metaeval.metrics.scan.embedding_init import start_from
        from metaeval.metrics.scan.network import Scan, ScanShape
        from metaeval.metrics.scan.retrieval import retrieval
        from metaeval.metrics.scan.training import ScanLosses, ScanTask
        from metaeval.text.vocabulary import Vocabulary
        from metaeval.training.caption_similarity import Likeness
        from metaeval.training.dataset import CaptionedImages
        from metaeval.training.loop import TrainingSettings, fit
        from metaeval.vision.regions.grid import add_grid
        from metaeval.weights import pretrained

        seed = int(config.seed)
        gold = self.regions.name == "gold"
        losses = ScanLosses(**filled_in(plain(self.losses), gold, self.vectors is not None))
        training = TrainingSettings(seed=seed, **plain(self.training))
        if self.threads is not None:
            torch.set_num_threads(self.threads)
        torch.manual_seed(seed)
        device = resolve(self.device)
        dataset: CaptionDataset = component(config.dataset, "dataset")
        network = filled_in(plain(self.network), gold)
        found = CaptionedImages.of(dataset, self.regions, store)
        grid = network.get("grid", 0)
        images = replace(found, regions=add_grid(found.regions, grid))
        # one split for all seeds: they differ in first weights and batches alone
        train, dev = images.split(self.dev, seed=0)
        vocabulary = Vocabulary.build((t for own in train.captions for t in own), self.min_count)
        shape = ScanShape(images.regions.dim, len(vocabulary), **network)
        model = Scan(shape)
        started, likeness = None, None
        if self.vectors is not None:
            self.vectors.fetch()
            if (absent := self.vectors.missing()) is not None:
                raise ConfigError(str(absent))
            n = start_from(model, self.vectors, vocabulary, store)
            started = {"vectors": self.vectors.identity(), "words": n}
            if losses.alike:
                likeness = Likeness(train.encoded(vocabulary), self.vectors, vocabulary, store)
        model.to(device)
        task = ScanTask(model, vocabulary, train, dev, losses, seed, likeness)
        identity = f"{losses}|{shape}|{started}|{vocabulary.digest()}|{self.regions.identity()}"
        trained = fit(
            model, task.batches, task.loss, task.validate, training, out / CHECKPOINT, identity
        )
        pretrained.half(model)  # the numbers below are those of the weights in the file
        chosen = dict(task.validate())
        if turns_of(dev) > 1:
            chosen["rho"] = measured(model, vocabulary, dev, dataset, losses.smooth, self.device)
        packages = machine()["packages"]
        card = {
            "kind": "scan",
            "variant": "corruptions" if losses.corrupted_weight else "",
            "trained_on_corruptions": losses.corrupted_weight > 0,
            "regions": self.regions.identity(),
            "shape": shape.to_json(),
            "smooth": losses.smooth,
            "human_cosine": chosen["human_cosine"],
            "command": command(without=("hydra.",)),
            "seed": seed,
            "data": {
                "dataset": dataset.name,
                "n_train": len(train),
                "n_dev": len(dev),
                "min_count": self.min_count,
                "sources": dict(dataset.sources),
                "notes": list(dataset.notes),
            },
            "start": started,
            "losses": asdict(losses),
            "training": {**asdict(training), **trained.card()},
            "dev": {"n_images": len(dev), **chosen},
            "device": str(device),
            "packages": {key: packages[key] for key in ("numpy", "torch") if key in packages},
        }
        weights = pretrained.save(out, model, vocabulary, card, dataset)
        if "split" in self.held_out:
            others = self._others(config, weights, store)
            encoded = others.encoded(vocabulary)
            seen = add_grid(others.regions, grid)
            recalls = retrieval(model, seen, encoded, losses.smooth)
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
                      for column, rho in chosen.get("rho", {}).items()),
            flush=True,
        )  # fmt: skip
        return card

    def _others(self, config: DictConfig, weights: Any, store: Store | None) -> CaptionedImages:
        """The first images by id that the weights have not learned from."""
        from metaeval.training.dataset import CaptionedImages

        resolved: Any = OmegaConf.to_container(config.dataset, resolve=True)
        node = {**resolved, "limit": None, **self.held_out}
        if "exclude" in node:
            node["exclude"] = self.held_out.get("exclude")
        dataset: CaptionDataset = component(node, "dataset")
        fresh = np.flatnonzero(~weights.overlap(dataset))[: self.n_held_out]
        if not len(fresh):
            raise ConfigError("protocol.held_out: every image of it was learned from")
        return CaptionedImages.of(dataset.subset(fresh.tolist()), self.regions, store)


def filled_in(options: Mapping[str, Any], gold: bool, vectors: bool = False) -> dict[str, Any]:
    """The options with a value for those that are `None` in the configuration.

    `OF_GOLD`'s names get its values for gold regions, and none of it for others. `alike` is whether
    there are word vectors to tell it by; `margin` is wider with it, for it is shared out then.
    """
    found = {
        name: (OF_GOLD[name] if gold else type(OF_GOLD[name])())
        if value is None and name in OF_GOLD
        else value
        for name, value in options.items()
    }
    if "alike" in found and found["alike"] is None:
        found["alike"] = vectors
    if "margin" in found and found["margin"] is None:
        found["margin"] = 0.3 if found.get("alike") else 0.2
    return found
