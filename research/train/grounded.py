"""What the trainings share; those of SCAN and FAIEr go from regions to a folder of weights.

A run writes weights, vocabulary, card and the digests of the images learned from. Some of the
dataset's images are held out to choose the best epoch by. A run that was interrupted goes on when
it is started again with the same `hydra.run.dir`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from omegaconf import DictConfig

from metaeval.compute.device import missing_packages
from metaeval.config import plain
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import ConfigError
from metaeval.experiments.base import Training
from metaeval.options import Device, OptionsOf, PositiveInt
from metaeval.provenance import machine
from metaeval.runs.records import OTHER_CAPTION, DrawnCorruption
from research.weights import command

if TYPE_CHECKING:
    import torch

    from metaeval.runs.store import Store
    from metaeval.text.vocabulary import Vocabulary
    from research.train.caption_similarity import CaptionSimilarity
    from research.train.dataset import CaptionedImages
    from research.train.loop import TrainingOutcome, TrainingSettings

# the experiments by whose ρ on the dev images the defaults of both trainings were chosen
CHOSEN_ON = ("replace", "shuffle")
CHECKPOINT = "checkpoint.safetensors"
# what every contrastive training draws as wrong captions: those of other images
OTHERS = DrawnCorruption("random", OTHER_CAPTION)
# parts of the command that a card leaves out: paths on this machine
HERE = ("hydra.", "paths.", "task.threads=", "task.device=")


class NetworkTraining(Training):
    """Training of a network: settings, device, and the loop until its best epoch.

    Parameters
    ----------
    dev
        Images held out to choose by.
    training
        Options of `TrainingSettings` but the seed.
    device, threads
        "auto", "cpu", "cuda"; processor threads, `None` for torch's choice.
    """

    packages: ClassVar[tuple[str, ...]] = ("torch", "safetensors")

    def __init__(
        self,
        dev: PositiveInt,
        training: Annotated[
            Mapping[str, Any],
            OptionsOf("research.train.loop.TrainingSettings", without=("seed",)),
        ],
        device: Device = "auto",
        threads: PositiveInt | None = None,
    ) -> None:
        if (absent := missing_packages(self.name, *self.packages)) is not None:
            raise ConfigError(str(absent))
        self.dev, self.training = dev, plain(training)
        self.device, self.threads = device, threads

    def check(self, config: DictConfig) -> None:
        self.settings(config)

    def settings(self, config: DictConfig) -> TrainingSettings:
        """How to train; ConfigError for what makes no sense."""
        from research.train.loop import TrainingSettings

        return TrainingSettings(seed=int(config.seed), **self.training)

    def begin(self, config: DictConfig) -> torch.device:
        """Seed torch and set its threads; the device to train on."""
        import torch

        from metaeval.compute.device import resolve

        if self.threads is not None:
            torch.set_num_threads(self.threads)
        torch.manual_seed(int(config.seed))
        return resolve(self.device)


class GroundedTraining(NetworkTraining):
    """Training of a network that compares captions with the regions of images.

    Parameters
    ----------
    regions
        Where regions come from: a node of `conf/regions`.
    network
        Options of the network's shape.
    min_count
        How often a word must occur in the training captions to be known.
    vectors
        What the word embedding starts from and measures the similarity of captions: a node of
        `conf/vectors`; `None`: random numbers.
    options
        Those of `NetworkTraining`.
    """

    def __init__(
        self,
        regions: Any,
        network: Mapping[str, object],
        min_count: PositiveInt = 4,
        vectors: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.regions, self.network = regions, plain(network)
        self.min_count, self.vectors = min_count, vectors

    def start_words(
        self,
        embedding: torch.nn.Embedding,
        vocabulary: Vocabulary,
        spread: float,
        store: Store,
    ) -> dict[str, object] | None:
        """Start a word embedding from the vectors, if any, and return the card's entry on it."""
        from research.train.caption_similarity import start_embedding

        if self.vectors is None:
            return None
        self.vectors.fetch()
        if (absent := self.vectors.missing()) is not None:
            raise ConfigError(str(absent))
        n = start_embedding(embedding, self.vectors, vocabulary, spread, store)
        return {"vectors": self.vectors.identity(), "words": n}

    def caption_similarity(
        self, images: CaptionedImages, vocabulary: Vocabulary, store: Store
    ) -> CaptionSimilarity | None:
        """The similarity of the images' captions by the vectors, if there are any."""
        from research.train.caption_similarity import CaptionSimilarity

        if self.vectors is None:
            return None
        return CaptionSimilarity(images.encoded(vocabulary), self.vectors, vocabulary, store)

    def card(
        self,
        dataset: CaptionDataset,
        train: CaptionedImages,
        dev: CaptionedImages,
        started: Mapping[str, object] | None,
        settings: TrainingSettings,
        trained: TrainingOutcome,
        device: torch.device,
    ) -> dict[str, Any]:
        """The card's entries on the training."""
        of_machine = machine()
        models = self.vectors.caption_models if self.vectors is not None else ()
        return {
            "regions": self.regions.identity(),
            "start": started,
            "caption_models": [asdict(model) for model in models],
            "chosen_on": list(CHOSEN_ON),
            "drawn": [asdict(OTHERS)],
            "training": {**asdict(settings), **trained.card()},
            "command": command(without=HERE),
            "seed": settings.seed,
            "data": {
                "dataset": dataset.name,
                "n_train": len(train),
                "n_dev": len(dev),
                "min_count": self.min_count,
                "sources": dict(dataset.sources),
                "notes": list(dataset.notes),
            },
            "device": str(device),
            "versions": {
                "python": of_machine["python"],
                **{name: of_machine["packages"].get(name) for name in ("numpy", "torch")},
            },
        }
