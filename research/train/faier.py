"""Training FAIEr: `python -m research.train experiment=train_faier variant=r dataset=…`.

`metric.faier.weights=FOLDER` then scores with the run's folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from omegaconf import DictConfig

from metaeval.config import component, plain
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import ConfigError
from metaeval.experiments.scores import open_store
from metaeval.metrics.faier.metric import UNSEEN, find_variant
from metaeval.options import OptionsOf
from metaeval.readers.files import user_path
from metaeval.weights.pretrained import image_keys
from research.train.grounded import CHECKPOINT, GroundedTraining
from research.weights import half, save_weights

if TYPE_CHECKING:
    from metaeval.runs.store import Store
    from research.train.faier_loss import FaierSettings

_SPREAD = 1.0  # of the words' first vectors, as torch's own numbers have it
_RANKED = "replace", "shuffle"  # whose rank-order ρ is measured on held-out images


class TrainFaier(
    GroundedTraining,
    name="train_faier",
    title="Training FAIEr",
    question="Which weights match captions with images and their references?",
):
    """Training of one variant on one dataset.

    Parameters
    ----------
    variant
        One of `VARIANTS` in `metaeval/metrics/faier/metric.py`.
    model
        Options of `FaierSettings` but the variant. `similarity_margin` and `unreferenced` may be
        `None`; see `filled_in`.
    parser
        "lexicon", "perceptron" or "corenlp": what finds triplets.
    test
        Another dataset, a node of `conf/dataset`, to measure on once, at the very end, for the
        card; `None` for none. Its images must not be among those learned from.
    options
        Those of `GroundedTraining`; `network` holds `width`, `d` and `dropout` of `FaierShape`.
    """

    def __init__(
        self,
        variant: str | int,
        model: Annotated[
            Mapping[str, Any],
            OptionsOf(
                "research.train.faier_loss.FaierSettings",
                also_none=("similarity_margin", "unreferenced"),
                without=("variant",),
            ),
        ],
        network: Annotated[
            Mapping[str, Any],
            OptionsOf(
                "metaeval.metrics.faier.network.FaierShape",
                without=("d_u", "n_words", "relations", "fused", "seen"),
            ),
        ],
        parser: str = "lexicon",
        test: CaptionDataset | None = None,
        **options: Any,
    ) -> None:
        super().__init__(network=network, **options)
        self.variant, self.model = str(variant), plain(model)
        self.parser, self.test = parser, test

    def check(self, config: DictConfig) -> None:
        super().check(config)
        self.losses()

    def losses(self) -> FaierSettings:
        """What is made small; ConfigError for what makes no sense."""
        from research.train.faier_loss import FaierSettings

        options = filled_in(self.model, self.vectors is not None)
        return FaierSettings(self.variant, **options)

    def train(self, config: DictConfig, out: Path) -> dict[str, Any]:
        """Train, measure on the images held out, and write the weights' folder."""
        with open_store(config) as store:
            return self._train(config, out, store)

    def _train(self, config: DictConfig, out: Path, store: Store) -> dict[str, Any]:
        from metaeval.metrics.faier.network import FaierNetwork, FaierShape
        from metaeval.text.scene_graphs.parse import TripletParser
        from research.train.dataset import CaptionedImages
        from research.train.dev import HeldOut, turns_of
        from research.train.faier_loss import FaierTask
        from research.train.loop import fit
        from research.train.networks import set_first_weights, vocabulary_with_triplets

        losses, variant = self.losses(), find_variant(self.variant)
        settings, device = self.settings(config), self.begin(config)
        dataset: CaptionDataset = component(config.dataset, "dataset")
        if self.test is not None:
            keys = [set(image_keys(d).tolist()) for d in (dataset, self.test)]
            if shared := len(keys[0] & keys[1]):
                raise ConfigError(f"{shared:,} images of task.test are learned from")
        parser = TripletParser(self.parser, store, user_path(config.paths.cache))
        if (absent := parser.missing()) is not None:
            raise ConfigError(str(absent))
        images = CaptionedImages.of(dataset, self.regions, store)
        # one split for all seeds: they differ in first weights and batches alone
        train, dev = images.split(self.dev, seed=0)
        flat = [text for texts in train.captions for text in texts]
        vocabulary = vocabulary_with_triplets(flat, parser(flat), self.min_count)
        shape = FaierShape(
            images.regions.dim if variant.seen else 0,
            len(vocabulary),
            relations=variant.relations,
            fused=variant.fused,
            seen=variant.seen,
            **self.network,
        )
        model = FaierNetwork(shape)
        set_first_weights(model)
        started = self.start_words(model.text.embedding, vocabulary, _SPREAD, store)
        similarity = None
        if losses.similarity_margin:
            similarity = self.caption_similarity(train, vocabulary, store)
        model.to(device)
        task = FaierTask(model, train, parser, vocabulary, losses, similarity)
        chooser = HeldOut(dev, dataset, parser, vocabulary)

        def validate(model: FaierNetwork) -> dict[str, float]:
            return _history(chooser.measure(model, (min(4, variant.references[1]),)))

        identity = f"{losses}|{shape}|{started}|{vocabulary.digest()}|{self.regions.identity()}"
        checkpoint, title = out / CHECKPOINT, f"faier {self.variant}"
        trained = fit(
            model, task.batches, task.loss, validate, settings, checkpoint, identity, title
        )
        half(model)  # the numbers below are those of the weights in the file
        turns = turns_of(dev)
        counts = (4, 0) if variant.seen else (4, 1)
        held_out = HeldOut(dev, dataset, parser, vocabulary, turns).measure(model, counts)
        tested = None
        if self.test is not None:
            others = CaptionedImages.of(self.test, self.regions, store)
            # the captions that `experiment=replace` and `shuffle` make with seed=0
            measured = HeldOut(others, self.test, parser, vocabulary, seed=0).measure(model, counts)
            tested = {"dataset": self.test.name, "n_images": len(others), "by_references": measured}
        card = {
            "kind": "faier",
            "variant": self.variant,
            "trained_on_corruptions": False,
            "shape": asdict(shape),
            "parser": parser.identity(),
            "settings": asdict(losses),
            **self.card(dataset, train, dev, started, settings, trained, device),
            **({} if variant.seen else {"regions": UNSEEN}),
            "test": tested,
            "held_out": {"n_images": len(dev), "turns": turns, "by_references": held_out},
        }
        save_weights(out, model, vocabulary, card, dataset)
        checkpoint.unlink(missing_ok=True)
        print(f"{len(trained.history)} epochs in {trained.seconds:,.0f} s; held out: {held_out}")
        return card


def filled_in(options: Mapping[str, Any], vectors: bool) -> dict[str, Any]:
    """The options with a value for `similarity_margin` and `unreferenced` where they have none.

    They are 0.3 (0 without word vectors to measure similarity) and 0.25.
    """
    usual = {"similarity_margin": 0.3 if vectors else 0.0, "unreferenced": 0.25}
    return usual | {name: value for name, value in options.items() if value is not None}


def _history(measured: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Rank-order ρ by experiment and number of references; means, by which an epoch is chosen."""
    n = len(measured)
    rho = {f"{name}_{k}": measured[k][name]["rho"] for k in measured for name in _RANKED}
    replace, shuffle = (sum(rho[f"{name}_{k}"] for k in measured) / n for name in _RANKED)
    retrieved = sum(each["rsum"] for each in measured.values()) / n
    return {**rho, "rsum": retrieved, "replace": replace, "rho": (replace + shuffle) / 2}
