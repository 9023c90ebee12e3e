"""What TIGEr and SCAN share: a SCAN network, the regions it looks at, and what it has seen."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from annotated_types import Interval

from metaeval.compute import device as devices
from metaeval.compute.networks import load_once
from metaeval.compute.requirements import missing_packages
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Metric
from metaeval.metrics.region_scorer import RegionScorer
from metaeval.metrics.scan.weights import ScanWeights, choose_weights, official_weights
from metaeval.options import Device, checked
from metaeval.readers.files import user_path
from metaeval.runs.records import ScoreColumn, with_notes
from metaeval.runs.store import Store
from metaeval.vision.regions.base import RegionSource
from metaeval.weights.pretrained import AUTO
from metaeval.weights.training_facts import training_facts

SMOOTH = 9.0
LEAKY, RELU = "leaky", "relu"
Rectifier = Literal["leaky", "relu"]
Smooth = Annotated[float, Interval(gt=0, le=40)]
NOTE = "trained on corruptions"


class ScanMetric(Metric):
    """A metric of a SCAN network; see `metric.tiger` in the configuration for the options.

    Parameters
    ----------
    regions
        Where an image's regions come from: a node of `conf/regions`.
    weights
        "auto" (the shipped ones for these images and regions), the name of shipped ones, a folder
        that `experiment=train_scan` wrote, or an official checkpoint, `model_best.pth.tar`.
    variant
        Of the weights that "auto" finds: "" (the paper's loss) or "corruptions" (trained on
        corrupted captions too; the columns' names say so).
    vocabulary
        The vocabulary file of an official checkpoint.
    smooth
        λ of the attention; `None`: 9, as the authors of TIGEr have it.
    device
        "auto", "cpu", "cuda", "cuda:1".
    rectifier
        Of similarities below 0, before the attention's norm: "leaky" (a tenth of them, SCAN's and
        TIGEr's code) or "relu" (0, Eq. 3 of TIGEr's paper). The shipped weights were trained with
        "leaky".
    """

    needs = frozenset()  # the regions say themselves what they lack
    plain_columns: ClassVar[tuple[ScoreColumn, ...]]  # as published: without notes in brackets

    @checked
    def __init__(
        self,
        regions: RegionSource,
        weights: str = AUTO,
        variant: Literal["", "corruptions"] = "",
        vocabulary: str | Path | None = None,
        smooth: Smooth | None = None,
        device: Device = "auto",
        rectifier: Rectifier = "leaky",
    ) -> None:
        self.regions, self.weights, self.variant = regions, str(weights), variant
        self.vocabulary = user_path(vocabulary) if vocabulary is not None else None
        self.smooth = SMOOTH if smooth is None else float(smooth)
        self.device = device
        self.rectifier = rectifier

    @property
    def reads(self) -> frozenset[str]:
        return frozenset({"image"})

    @property
    def runs_network(self) -> bool:
        return True

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        return self.columns_of(self.weights == AUTO and self.variant == "corruptions")

    def columns_of(self, learned_from_corruptions: bool) -> tuple[ScoreColumn, ...]:
        """The columns under weights that were, or were not, trained on corrupted captions too."""
        sees, note = self.regions.title, NOTE if learned_from_corruptions else None
        return tuple(
            replace(
                column,
                name=with_notes(column.name, sees, note),
                part_of=column.part_of and with_notes(column.part_of, sees, note),
                variant_of=column.name,
                learned_from_corruptions=learned_from_corruptions,
                sees=sees,
                signature_name=with_notes(column.name, note),  # `regions` is in the signature
            )
            for column in self.plain_columns
        )

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> ScanScorer | Absent:
        absent = (
            missing_packages("scan", "torch", "safetensors")
            or devices.missing(self.device)
            or self.regions.missing(dataset)
        )
        if absent is not None:
            return absent
        weights = self._choose_weights(dataset, store)
        if isinstance(weights, Absent):
            return weights
        return self._unfit(weights) or self._scorer(weights, dataset, store)

    def _choose_weights(self, dataset: CaptionDataset, store: Store | None) -> ScanWeights | Absent:
        path = user_path(self.weights)
        if not path.is_file():
            return choose_weights(self.weights, self.variant, dataset, self.regions, store)
        if self.vocabulary is None:
            reason = f"the checkpoint {path} comes without its vocabulary"
            return Absent("weights", reason, f"set metric.{self.name}.vocabulary=FILE")
        return official_weights(path, self.vocabulary, dataset, self.regions, store)

    def _unfit(self, weights: ScanWeights) -> Absent | None:
        """What makes these weights useless for the metric."""
        return None

    @abstractmethod
    def _scorer(
        self, weights: ScanWeights, dataset: CaptionDataset, store: Store | None
    ) -> ScanScorer: ...


class ScanScorer(RegionScorer):
    """A SCAN network that looks at the regions of a dataset.

    `settings` are the metric's, in the signature behind those of the network.
    """

    usual_ms = 0.15
    explanation_version = 2  # its values are named by columns, which say what is seen since

    def __init__(
        self,
        metric: ScanMetric,
        weights: ScanWeights,
        dataset: CaptionDataset,
        store: Store | None,
        settings: Mapping[str, object],
    ) -> None:
        corrupted = weights.learned_from_corruptions
        network = {
            "weights": weights.label,
            **({"variant": "trained-on-corruptions"} if corrupted else {}),
            "words": weights.words,
            "regions": metric.regions.identity(store)
            + (f"+grid{weights.grid}" if weights.grid else ""),
            "lambda": f"{metric.smooth:g}",
            **({"rectifier": RELU} if metric.rectifier == RELU else {}),
            "dtype": "float32+float64",
        }
        columns, settings = metric.columns_of(corrupted), {**network, **settings}
        super().__init__(columns, settings, dataset, metric.regions, store, weights.seen)
        self.weights = weights
        if weights.card is not None:
            self.training = training_facts(weights.card, self.settings)
        self._smooth, self._device = metric.smooth, metric.device
        self._rectifier = metric.rectifier

    def context(self, index: int) -> bytes:
        return self.region_digests[index] + bytes([bool(self.seen[index])])

    def close(self) -> None:
        self.__dict__.pop("grounder", None)

    def prepare(self) -> None:
        from metaeval.metrics.scan.attention import LEAK
        from metaeval.metrics.scan.grounding import Grounder
        from metaeval.vision.regions.grid import add_grid

        key = ("scan", self.weights.label, self.weights.words, self._device)
        model, words = load_once(key, self.weights.load)
        self.regions = add_grid(self.image_regions, model.shape.grid)
        leak = 0.0 if self._rectifier == RELU else LEAK
        self.grounder = Grounder(model, words, self.regions, self._smooth, self._device, leak)
        self.usable = ~self.seen & (self.grounder.n_regions > 0)
