"""TIGEr: does a caption describe an image's regions as the references do? (Jiang et al., 2019)
And SCAN's similarity of image and caption, the same network as a metric without references.

A SCAN network says how well a caption grounds in each region. The candidate's grounding vector is
compared with the mean of the references': TIGEr-RRS measures whether it ranks the regions alike,
TIGEr-WDS whether it gives them as much weight, and TIGEr is their mean (`tiger_score.py`). An
identical caption scores 0.75, not 1.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Interval

from metaeval.compute import device as devices
from metaeval.compute.device import load_once, missing_packages
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError, InputError
from metaeval.metrics.base import Metric, Scores, reference_digests
from metaeval.metrics.region_scorer import RegionScorer
from metaeval.options import Device, Positive, checked
from metaeval.readers.files import user_path
from metaeval.runs.files import file_sha256
from metaeval.runs.records import NETWORK_PRECISION, ScoreColumn, with_notes
from metaeval.runs.store import Store
from metaeval.text.vocabulary import Vocabulary
from metaeval.vision.regions.base import RegionSource
from metaeval.weights import pretrained
from metaeval.weights.pretrained import AUTO, training_facts

if TYPE_CHECKING:
    from metaeval.metrics.scan.network import Scan


@dataclass(frozen=True, slots=True, eq=False)
class ScanWeights:
    """A trained SCAN network that fits the regions of a dataset.

    `label` and `words` say for signatures which weights and which vocabulary these are; `seen` bool
    [n] on which of the dataset's images they were trained. `load` raises InputError for a damaged
    file. `card` is that of weights of this project, empty for others.
    """

    label: str
    words: str
    seen: npt.NDArray[np.bool_]
    load: Callable[[], tuple[Scan, Vocabulary]]
    card: Mapping[str, Any]

    @property
    def grid(self) -> int:
        """The side of the grid that the regions are given, 0 for none."""
        return int(self.card.get("shape", {}).get("grid", 0))


def choose_weights(
    which: str, variant: str, dataset: CaptionDataset, regions: RegionSource, store: Store | None
) -> ScanWeights | Absent:
    """Weights of this project, by the name or folder `which`, or the shipped ones that fit."""
    weights = pretrained.choose_pretrained(
        "scan", dataset, which, variant=variant, regions=regions.name
    )
    if isinstance(weights, Absent):
        return weights
    if (absent := weights.misfit(regions, weights.width("dim"), store)) is not None:
        return absent

    def load() -> tuple[Scan, Vocabulary]:
        from metaeval.metrics.scan.network import Scan, ScanShape

        return weights.network(Scan, ScanShape, "a SCAN network"), weights.vocabulary()

    words, card = str(weights.card["vocabulary"]), weights.card
    return ScanWeights(weights.label, words, weights.overlap(dataset), load, card)


def official_weights(
    path: Path,
    vocabulary: Path,
    dataset: CaptionDataset,
    regions: RegionSource,
    store: Store | None,
) -> ScanWeights | Absent:
    """An official checkpoint, read at once: only its weights give the width of its regions.

    The images that it was trained on are not known.
    """
    from metaeval.metrics.scan.network import load_checkpoint

    try:
        model, words = load_checkpoint(path, vocabulary)
        label, digest = (file_sha256(each, store)[:12] for each in (path, vocabulary))
    except InputError as error:
        return Absent("weights", str(error), "give another checkpoint, or its own vocabulary")
    if model.shape.dim != regions.dim:
        reason = (
            f"the network of {path} looks at regions of {model.shape.dim:,} numbers, "
            f"not of {regions.dim:,}"
        )
        return Absent("weights", reason, "choose its regions: regions=bottomup regions.file=FILE")
    if (absent := words.missing()) is not None:
        return absent
    seen = np.zeros(len(dataset), dtype=np.bool_)
    return ScanWeights(f"file-{label}", digest, seen, lambda: (model, words), {})


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
        that `research.train` wrote, or an official checkpoint, `model_best.pth.tar`.
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
    runs_network = True
    plain_columns: ClassVar[tuple[ScoreColumn, ...]]  # as published: without notes in brackets
    scorer_class: ClassVar[type[ScanScorer]]

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
        return self._unfit(weights) or self.scorer_class(self, weights, dataset, store)

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
    def settings(self) -> dict[str, object]:
        """What would change a number, besides the network."""


class ScanScorer(RegionScorer):
    """A SCAN network that looks at the regions of a dataset."""

    metric: ScanMetric

    usual_ms = 0.15
    explanation_version = 2  # its values are named by columns, which say what is seen since

    def __init__(
        self,
        metric: ScanMetric,
        weights: ScanWeights,
        dataset: CaptionDataset,
        store: Store | None,
    ) -> None:
        corrupted = bool(weights.card.get("trained_on_corruptions"))
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
        columns, settings = metric.columns_of(corrupted), {**network, **metric.settings()}
        super().__init__(columns, settings, dataset, metric.regions, store, weights.seen)
        self.weights = weights
        if weights.card:
            self.training = training_facts(weights.card)
        self.metric = metric

    def context(self, index: int) -> bytes:
        return self.region_digests[index] + bytes([bool(self.seen[index])])

    def close(self) -> None:
        self.__dict__.pop("grounder", None)

    def prepare(self) -> None:
        from metaeval.metrics.scan.grounding import Grounder
        from metaeval.metrics.scan.network import LEAK
        from metaeval.vision.regions.gold import add_grid

        metric = self.metric
        key = ("scan", self.weights.label, self.weights.words, metric.device)
        model, words = load_once(key, self.weights.load)
        self.regions = add_grid(self.image_regions, model.shape.grid)
        leak = 0.0 if metric.rectifier == RELU else LEAK
        self.grounder = Grounder(model, words, self.regions, metric.smooth, metric.device, leak)
        self.usable = ~self.seen & (self.grounder.n_regions > 0)


class TigerScorer(ScanScorer):
    """TIGEr against the references of a dataset."""

    metric: Tiger

    def context(self, index: int) -> bytes:
        return super().context(index) + reference_digests(self.dataset)[index]

    def prepare(self) -> None:
        super().prepare()
        counts = np.array([len(group) for group in self.dataset.references])
        references = [text for group in self.dataset.references for text in group]
        vectors = self._vectors(references, np.repeat(np.arange(len(counts)), counts))
        there = counts > 0
        # [images, r] the mean grounding vector of an image's references
        self._references = np.full((len(counts), self.grounder.width), np.nan)
        if len(references):
            first = (np.cumsum(counts) - counts)[there]
            sums = np.add.reduceat(vectors, first, axis=0)
            self._references[there] = sums / counts[there, None]
        self.usable &= there
        self._check_sign()

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        scores = np.full((len(captions), 3), np.nan)
        rows, _, of_rows = self._compared(captions, image_index)
        scores[rows] = of_rows
        return scores

    def explain_all(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> list[Mapping[str, object] | None]:
        payloads: list[Mapping[str, object] | None] = [None] * len(captions)
        for k, *numbers in zip(*self._compared(captions, image_index), strict=True):
            payloads[k] = self._payload(int(image_index[k]), *numbers)
        return payloads

    def _payload(self, image_index: int, vector: Scores, scores: Scores) -> dict[str, object]:
        """Of one caption, with its grounding vector [r] and its scores [3]."""
        n = int(self.grounder.n_regions[image_index])
        boxes, labels = self.regions.boxes[image_index], self.regions.labels[image_index]
        return {
            "kind": "grounding",
            "regions": [
                {
                    "label": label,
                    "box": [round(float(x), 4) for x in boxes[k]],
                    **({"cell": True} if 0 < k <= self.weights.grid**2 else {}),
                }
                for k, label in enumerate(labels)
            ],
            "candidate": [round(float(x), 4) for x in vector[:n]],
            "references": [round(float(x), 4) for x in self._references[image_index, :n]],
            "values": {
                column.name: None if np.isnan(score) else round(float(score), 4)
                for column, score in zip(self.columns, scores, strict=True)
            },
        }

    def _vectors(self, captions: Sequence[str], images: npt.NDArray[np.intp]) -> Scores:
        """[n, r] Grounding vectors, clamped if the metric says so."""
        vectors = self.grounder.grounding(captions, images)
        return np.maximum(vectors, 0.0) if self.metric.clamp else vectors

    def _compared(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> tuple[npt.NDArray[np.intp], Scores, Scores]:
        """The places [k] of captions that can be scored, their grounding vectors [k, r], and their
        TIGEr, RRS and WDS [k, 3]."""
        from metaeval.metrics.scan.tiger_score import compare_groundings

        rows = np.flatnonzero(self.usable[image_index])
        images = image_index[rows]
        vectors = self._vectors([captions[k] for k in rows.tolist()], images)
        regions, metric = (self._references, self.grounder.n_regions), self.metric
        scores = compare_groundings(
            *regions, vectors, images, metric.tau, metric.gains, self.grounder.device
        )
        return rows, vectors, scores

    def _check_sign(self) -> None:
        """Refuse weights under which human captions ground negatively."""
        if not self.usable.any():
            return
        n_regions = self.grounder.n_regions
        mask = np.arange(self._references.shape[1])[None, :] < n_regions[:, None]
        vectors = np.where(mask, self._references, 0.0)[self.usable]
        mean = float((vectors.sum(axis=1) / n_regions[self.usable]).mean())
        if not (mean > 0 or self.metric.clamp):
            raise ConfigError(f"{_upside_down(self.weights.label, mean)}; {_REMEDY}")


class SimilarityScorer(ScanScorer):
    """SCAN's similarity with the images of a dataset."""

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        scores = np.full((len(captions), 3), np.nan)
        rows = np.flatnonzero(self.usable[image_index])
        texts = [captions[k] for k in rows.tolist()]
        scores[rows, :2] = self.grounder.similarity(texts, image_index[rows])
        scores[:, 2] = scores[:, 0] + scores[:, 1]
        return scores


_REMEDY = "train with task.losses.anchor_weight=1, or set metric.tiger.clamp=true"


def _upside_down(name: str, cosine: float) -> str:
    return (
        f"under the weights {name} human captions have a mean cosine of {cosine:.2f}, which is not "
        "positive: TIGEr would reward the worse caption"
    )


class Tiger(ScanMetric):
    """TIGEr, TIGEr-RRS and TIGEr-WDS of each caption.

    Not a number for images that the weights were trained on, that have no region, or no reference.
    Weights that give human captions a mean cosine of 0 or less are refused: with them WDS, whose
    norms ignore signs, would reward the worse caption.

    Parameters beyond those of `ScanMetric`
    ---------------------------------------
    tau
        τ of WDS: 1.5 in the authors' code; "to be tuned" in the paper.
    gains
        Of RRS: "min-max" (the code) or "raw" (the paper).
    clamp
        Whether cosines below 0 count as 0. Not TIGEr as published; named in the signature.
    """

    name = "tiger"
    languages = frozenset({"en"})
    plain_columns = (
        ScoreColumn("TIGEr", precision=NETWORK_PRECISION),
        ScoreColumn("TIGEr-RRS", part_of="TIGEr", precision=NETWORK_PRECISION),
        ScoreColumn("TIGEr-WDS", part_of="TIGEr", precision=NETWORK_PRECISION),
    )
    scorer_class = TigerScorer

    @checked
    def __init__(
        self,
        regions: RegionSource,
        weights: str = AUTO,
        variant: Literal["", "corruptions"] = "",
        vocabulary: str | Path | None = None,
        smooth: Smooth | None = None,
        tau: Positive = 1.5,
        gains: Literal["min-max", "raw"] = "min-max",
        clamp: bool = False,
        device: Device = "auto",
        rectifier: Rectifier = "leaky",
    ) -> None:
        super().__init__(regions, weights, variant, vocabulary, smooth, device, rectifier)
        self.tau, self.gains, self.clamp = float(tau), gains, bool(clamp)

    def _unfit(self, weights: ScanWeights) -> Absent | None:
        # the mean cosine of human captions with their images, where it is known
        cosine = weights.card.get("human_cosine")
        if not isinstance(cosine, int | float) or cosine > 0 or self.clamp:
            return None
        return Absent("weights", _upside_down(weights.label, cosine), _REMEDY)

    @property
    def reads(self) -> frozenset[str]:
        return super().reads | {"references"}

    def settings(self) -> dict[str, object]:
        return {
            "tau": f"{self.tau:g}",
            "gains": self.gains,
            "cosines": "clamped" if self.clamp else "signed",
            "refs": "mean",
            "v": 3,
        }


class ScanSimilarity(ScanMetric):
    """SCAN's similarity (Lee et al., ECCV 2018): SCAN-i2t, SCAN-t2i and their sum.

    SCAN-i2t is the mean over the image's regions of the cosine of a region with the words it
    attends to, SCAN-t2i the mean over the caption's words of the cosine of a word with the regions
    it attends to (`<start>` and `<end>` are words). SCAN-sum, which retrieves best, adds them. NaN
    for images without regions.

    Options as in `ScanMetric`.
    """

    name = "scan"
    languages = frozenset({"en"})
    plain_columns = (
        ScoreColumn("SCAN-i2t", bounds=(-1.0, 1.0), precision=NETWORK_PRECISION),
        ScoreColumn("SCAN-t2i", bounds=(-1.0, 1.0), precision=NETWORK_PRECISION),
        ScoreColumn("SCAN-sum", bounds=(-2.0, 2.0), precision=NETWORK_PRECISION),
    )
    scorer_class = SimilarityScorer

    def settings(self) -> dict[str, object]:
        return {"mean": "cosines", "v": 3}
