"""Training FAIEr: `python -m metaeval experiment=train_faier variant=r dataset=coco_karpathy_test`.

Writes weights, vocabulary, card and the digests of the images learned from into the run's folder;
`metric.faier.weights=FOLDER` then scores with them. Part of the images is held out to choose by;
what is reported on other images was never looked at here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

from omegaconf import DictConfig

from experiments.training.faier_dev import HeldOut
from metaeval.compute.requirements import missing_packages
from metaeval.config import component, plain
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import ConfigError
from metaeval.metrics.faier.variants import find_variant
from metaeval.provenance import command, machine
from metaeval.runs.store import SqliteStore

CHECKPOINT = "checkpoint.safetensors"
# of what was typed: where things lie on this machine
_HERE = ("hydra.", "paths.", "protocol.threads=", "protocol.device=")


class TrainFaier:
    """Training of one variant on one dataset.

    Parameters
    ----------
    variant
        One of `VARIANTS` in `metaeval/metrics/faier/variants.py`.
    regions
        Where regions come from: a node of `conf/regions`.
    dev
        Images held out to choose by.
    min_count
        How often a word must occur in the training captions to be known.
    parser
        "rules" or "spice": what finds triplets.
    network
        `width`, `d` and `dropout` of `FaierShape`.
    model
        Options of `faier_settings.FaierSettings` but the variant. `alike` and `unreferenced` may
        be `None`; see `filled_in`.
    training
        Options of `training.TrainingSettings` but the seed.
    vectors
        What the word embedding starts from, and likeness is told by: a node of `conf/vectors`;
        `None`: random numbers.
    test
        Another dataset, a node of `conf/dataset`, to measure on once, at the very end, for the
        card; `None` for none. Its images must not be among those learned from.
    device, threads
        "auto", "cpu", "cuda"; processor threads, `None` for torch's choice.
    """

    name: ClassVar[str] = "train_faier"

    def __init__(
        self,
        variant: str | int,
        regions: Any,
        dev: int,
        network: Mapping[str, Any],
        model: Mapping[str, Any],
        training: Mapping[str, Any],
        min_count: int = 4,
        parser: str = "rules",
        vectors: Any = None,
        test: Any = None,
        device: str = "auto",
        threads: int | None = None,
    ) -> None:
        if (absent := missing_packages("train_faier", "torch", "safetensors")) is not None:
            raise ConfigError(str(absent))
        self.variant, self.regions, self.dev = str(variant), regions, dev
        self.network, self.model, self.training = network, model, training
        self.min_count, self.parser, self.test = min_count, parser, test
        self.vectors = vectors
        self.device, self.threads = device, threads

    def run(self, config: DictConfig, out: Path) -> dict[str, Any]:
        """Train, measure on the images held out, and write the weights' folder."""
        import torch

        from metaeval.compute.device import resolve
        from metaeval.metrics.faier import captions
        from metaeval.metrics.faier.network import FaierNetwork, FaierShape
        from metaeval.metrics.faier.training.settings import FaierSettings
        from metaeval.metrics.faier.training.task import FaierTask
        from metaeval.text.scene_graphs.triplets import TripletParser
        from metaeval.training.caption_similarity import Likeness
        from metaeval.training.dataset import CaptionedImages
        from metaeval.training.embedding_init import start_embedding
        from metaeval.training.loop import TrainingSettings, fit
        from metaeval.weights import pretrained

        seed = int(config.seed)
        options = filled_in(plain(self.model), self.variant, self.vectors is not None)
        settings, variant = FaierSettings(self.variant, **options), find_variant(self.variant)
        training = TrainingSettings(seed=seed, **plain(self.training))
        if self.threads is not None:
            torch.set_num_threads(self.threads)
        torch.manual_seed(seed)
        device = resolve(self.device)
        dataset: CaptionDataset = component(config.dataset, "dataset")
        if self.test is not None:
            _disjoint(dataset, self.test)
        cache = Path(config.paths.cache).expanduser()
        store = SqliteStore(cache / "content.sqlite") if config.cache.enabled else None
        try:
            parser = TripletParser(self.parser, store, cache)
            if (absent := parser.missing()) is not None:
                raise ConfigError(str(absent))
            images = CaptionedImages.of(dataset, self.regions, store)
            # one split for all seeds: they differ in weights and batches alone
            train, dev = images.split(self.dev, seed=0)
            flat = [text for own in train.captions for text in own]
            vocabulary = captions.build_vocabulary(flat, parser(flat), self.min_count)
            shape = FaierShape(
                images.regions.dim,
                len(vocabulary),
                relations=variant.relations,
                fused=variant.fused,
                **plain(self.network),
            )
            model = FaierNetwork(shape)
            started, likeness = None, None
            if self.vectors is not None:
                self.vectors.fetch()
                if (absent := self.vectors.missing()) is not None:
                    raise ConfigError(str(absent))
                n = start_embedding(model.text.embedding, self.vectors, vocabulary, 1.0, store)
                started = {"vectors": self.vectors.identity(), "words": n}
                if settings.alike:
                    likeness = Likeness(train.encoded(vocabulary), self.vectors, vocabulary, store)
            model.to(device)
            task = FaierTask(model, train, parser, vocabulary, settings, likeness)
            chooser = HeldOut(dev, dataset, parser, vocabulary)

            def validate() -> dict[str, Any]:
                found = chooser.measure(model, (_references(self.variant),))
                return {**_flat(found), **_selection(found)}

            trained = fit(
                model,
                task.batches,
                task.loss,
                validate,
                training,
                out / CHECKPOINT,
                identity=f"{settings}|{shape}|{started}|{vocabulary.digest()}|{self.regions.identity()}",
                title=f"faier {self.variant}",
            )
            pretrained.half(model)
            turns = min(len(own) for own in dev.captions)
            held_out = HeldOut(dev, dataset, parser, vocabulary, turns).measure(model)
            tested = None
            if self.test is not None:
                other: CaptionDataset = self.test
                there = CaptionedImages.of(other, self.regions, store)
                # the captions that `experiment=replace` and `shuffle` make with seed=0
                measured = HeldOut(there, other, parser, vocabulary, seed=0).measure(model)
                tested = {"dataset": other.name, "n_images": len(other), "by_references": measured}
        finally:
            if store is not None:
                store.close()
        card = {
            "kind": "faier",
            "variant": self.variant,
            "regions": self.regions.identity(),
            "parser": parser.identity(),
            "trained_on_corruptions": variant.corruptions,
            "shape": shape.record(),
            "start": started,
            "settings": asdict(settings),
            "training": {**asdict(training), **trained.card()},
            "command": command(without=_HERE),
            "seed": seed,
            "data": {
                "dataset": dataset.name,
                "n_train": len(train),
                "n_dev": len(dev),
                "sources": dict(dataset.sources),
                "notes": list(dataset.notes),
            },
            "device": str(device),
            "versions": {"python": machine()["python"], "torch": torch.__version__},
            "test": tested,
            "held_out": {"n_images": len(dev), "turns": turns, "by_references": held_out},
        }
        pretrained.save(out, model, vocabulary, card, dataset)
        (out / CHECKPOINT).unlink(missing_ok=True)
        print(f"{len(trained.history)} epochs in {trained.seconds:,.0f} s; held out: {held_out}")
        return card


def filled_in(options: Mapping[str, Any], variant: str, vectors: bool) -> dict[str, Any]:
    """The options with a value for `alike` and `unreferenced` where these are `None` or missing.

    They are 0.3 (if there are word vectors to tell likeness by) and 0.25, but 0 for "r_neg", whose
    spoiled copies leave little for them to teach.
    """
    found = dict(options)
    for name, value in (("alike", 0.3 if vectors else 0.0), ("unreferenced", 0.25)):
        if found.get(name) is None:
            found[name] = 0.0 if find_variant(variant).corruptions else value
    return found


def _disjoint(dataset: CaptionDataset, other: CaptionDataset) -> None:
    from metaeval.weights.pretrained import family, image_keys

    keys = [set(image_keys(d.image_ids, d.human, family(d)).tolist()) for d in (dataset, other)]
    if shared := len(keys[0] & keys[1]):
        raise ConfigError(f"{shared:,} images of protocol.test are learned from")


def _references(variant: str) -> int:
    """With how many references a variant is measured after each epoch."""
    return min(4, find_variant(variant).references[1])


def _selection(found: Mapping[str, Any]) -> dict[str, float]:
    """What an epoch can be chosen by: the mean of rsum, and of the two rank-order ρ."""
    n = len(found)
    return {
        "rsum": sum(each["rsum"] for each in found.values()) / n,
        "replace": sum(each["replace"]["rho"] for each in found.values()) / n,
        "rho": sum(each["replace"]["rho"] + each["shuffle"]["rho"] for each in found.values())
        / (2 * n),
    }


def _flat(found: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a history, named by experiment and number of references."""
    return {
        f"{name}_{k}": each[name]["rho"]
        for k, each in found.items()
        for name in ("replace", "shuffle")
    }
