"""FAIEr: does a caption match the union of its image and the references? (Wang et al., CVPR 2021)

A trained network (`metaeval/metrics/faier/network.py`) turns regions of the image and the
references into one vector a region; a caption's words and triplets are matched with them. Higher
is better, and there is no bound: the score is a mean of inner products.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from metaeval.compute import device as devices
from metaeval.compute.requirements import missing_packages
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.metrics.base import Metric, Scores, content_digest
from metaeval.text.scene_graphs.triplets import TripletParser
from metaeval.vision.regions.base import Regions, RegionSource
from metaeval.weights import pretrained

if TYPE_CHECKING:
    from metaeval.metrics.faier.explain import Explainer
    from metaeval.metrics.faier.scorer import FaierScorer

# Variant → the metric's name in tables, and what is said behind it.
VARIANTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "r": ("FAIEr", ""),
        "1": ("FAIEr-1", ""),
        "4": ("FAIEr-4", ""),
        "rel": ("FAIEr", "object level alone"),
        "fier": ("FIEr", ""),
        pretrained.CORRUPTIONS: ("FAIEr", "trained on corruptions"),
    }
)


class Faier(Metric):
    """FAIEr of each caption, and its two parts: FAIEr-object (words) and FAIEr-relation (sentence
    and triplets), whose sum it is.

    Not a number for images that the weights have learned from, and for images without any region.
    A caption without words is still a sentence, and has a score.

    Parameters
    ----------
    regions
        Where regions come from.
    variant
        Which of the shipped weights, with `weights="auto"`: "r" (trained with 0 to 4 references),
        "corruptions" (trained on spoiled captions too: its columns say so), "1", "4", "rel" (object
        level alone), "fier" (no references at all), as far as there are such.
    weights
        "auto", the name of shipped weights, or a folder that `experiment=train_faier` has written.
    references
        How many of an image's references are used, at most, in their order; `None`: all. With 0 the
        columns' names say so.
    calibrate
        Divide an image's scores by the mean FAIEr of its own references, so that 1 is as good as a
        reference is. Not in the paper: the columns' names say so. Not a number where that mean is
        not positive, or where there are no references.
    parser
        What finds triplets: "auto" (that of the training), "rules" or "spice".
    device
        "auto", "cpu", "cuda", "cuda:1".
    cache
        The cache folder, for SPICE's parser.
    """

    name = "faier"
    needs: ClassVar[frozenset[str]] = frozenset()  # the regions' source says itself what it lacks
    counted: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"images that the weights were trained on (not scored)": "images"}
    )
    batch_size = 20_000

    def __init__(
        self,
        regions: RegionSource,
        variant: str | int = "r",
        weights: str = pretrained.AUTO,
        references: int | None = 4,
        calibrate: bool = False,
        parser: str = "auto",
        device: str = "auto",
        cache: str | Path | None = None,
    ) -> None:
        if isinstance(references, bool) or not (
            references is None or (isinstance(references, int) and references >= 0)
        ):
            raise ConfigError(
                f"metric.faier.references must be a whole number or null, not {references!r}"
            )
        if str(variant) not in VARIANTS:
            known = ", ".join(VARIANTS)
            raise ConfigError(f"unknown metric.faier.variant '{variant}': choose from {known}")
        if calibrate and references == 0:
            raise ConfigError("metric.faier.calibrate needs references")
        self._calibrate = bool(calibrate)
        self._source, self._variant, self._which = regions, str(variant), weights
        self._references, self._parser_name, self._device = references, parser, device
        self._cache = Path(cache).expanduser() if cache is not None else None
        self.bounds = (-np.inf, np.inf)
        self._name_columns(self._variant)
        self._scorer: FaierScorer | None = None
        self._explainer: Explainer | None = None

    def missing(self, dataset: CaptionDataset) -> Absent | None:
        absent = super().missing(dataset) or missing_packages("faier", "torch", "safetensors")
        if absent is not None or (absent := self._source.missing(dataset)) is not None:
            return absent
        found = pretrained.choose(
            "faier", dataset, self._which, variant=self._variant, regions=self._source.name
        )
        if isinstance(found, Absent):
            return found
        card, identity = found.card, self._source.identity()
        theirs = str(card["regions"])
        exact = self._source.name == "gold"  # what files and detectors give is named by its content
        if (theirs != identity) if exact else (theirs.split("-")[0] != self._source.name):
            raise ConfigError(f"the weights {found.name} are for regions {theirs}, not {identity}")
        if (width := card["shape"]["d_u"]) != self._source.dim:
            raise ConfigError(
                f"the weights {found.name} are for regions of {width} numbers, "
                f"not of {self._source.dim}"
            )
        self._weights = found
        self._variant = str(card["variant"])
        self._name_columns(self._variant)
        devices.resolve(self._device)
        return self._parser().missing()

    def identify(self, dataset: CaptionDataset) -> None:
        self._overlap = self._weights.overlap(dataset)
        self._regions: Regions = self._source.load(dataset, self.store)
        self._digests = [self._source.digest(self._regions, i) for i in range(len(dataset))]

    def settings(self) -> Mapping[str, Any]:
        count = "all" if self._references is None else self._references
        found = {
            "weights": self._weights.label,
            # in signatures the variant goes by the name that it began with
            "variant": "r_neg" if self._variant == pretrained.CORRUPTIONS else self._variant,
            "regions": self._source.identity(),
            "parser": self._parser().identity(),
            "cal": "references" if self._calibrate else "none",
            "refs": count if self._variant != "fier" else 0,
            "dtype": "float32",
            "v": 1,
        }
        if self._weights.card.get("trained_on_corruptions"):
            found["note"] = "trained-on-corruptions"
        return found

    def context(self, dataset: CaptionDataset, index: int) -> bytes:
        seen = b"seen" if self._overlap[index] else b"new"
        references = dataset.references[index][: self._references]
        return seen + self._digests[index] + content_digest(references)

    def prepare(self, dataset: CaptionDataset) -> None:
        from metaeval.metrics.faier.captions import NO_REFERENCE, encode
        from metaeval.metrics.faier.network import Faier as Network
        from metaeval.metrics.faier.network import Shape
        from metaeval.metrics.faier.scorer import FaierScorer

        network = Network(Shape(**self._weights.card["shape"]))
        network.load_state_dict(self._weights.state())
        self._vocabulary = self._weights.vocabulary()
        scorer = FaierScorer(network.eval().to(devices.resolve(self._device)))
        groups = [own[: self._references] or (NO_REFERENCE,) for own in dataset.references]
        self._groups = [list(own) for own in groups]
        distinct = {text: k for k, text in enumerate(dict.fromkeys(t for g in groups for t in g))}
        references = encode(list(distinct), self._parser(), self._vocabulary)
        scorer.prepare(self._regions, references, [[distinct[t] for t in g] for g in groups])
        self._scorer, self._explainer = scorer, None
        self._unit = np.ones(len(dataset))
        if self._calibrate:
            self._unit = self._means(dataset.references)

    def _means(self, references: Sequence[Sequence[str]]) -> npt.NDArray[np.float64]:
        """The mean FAIEr of each image's own references [n], NaN where it is no unit.

        They are scored with the union that they are a part of, as it is there already.
        """
        from metaeval.metrics.faier.captions import encode

        own = [group[: self._references] for group in references]
        counts = np.array([len(group) for group in own], dtype=np.intp)
        texts = [text for group in own for text in group]
        index = np.repeat(np.arange(len(own)), counts)
        scores = self._ready().score(encode(texts, self._parser(), self._vocabulary), index)
        total = np.bincount(index, scores.sum(axis=1), minlength=len(own))
        return np.where(total > 0, total / np.maximum(counts, 1), np.nan)

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        from metaeval.metrics.faier.captions import encode

        index = np.asarray(image_index)
        encoded = encode(captions, self._parser(), self._vocabulary)
        levels = self._ready().score(encoded, index) / self._unit[index][:, None]
        scores = np.column_stack([levels.sum(axis=1), levels]) if len(self.columns) > 1 else levels
        blind = self._overlap | ~self._regions.mask.any(axis=1)
        scores[blind[index]] = np.nan
        return scores

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        return self._overlap[np.asarray(image_index)][:, None].astype(np.int64)

    def explain(self, caption: str, image_index: int) -> Mapping[str, Any] | None:
        from metaeval.metrics.faier.explain import Explainer

        if self._overlap[image_index] or not self._regions.mask[image_index].any():
            return None
        if self._explainer is None:
            references = self._groups if self._reads_references() else [[]] * len(self._groups)
            self._explainer = Explainer(
                self._ready(), self._parser(), self._vocabulary, references, self._regions
            )
        told, levels = self._explainer.explain(caption, int(image_index))
        values = np.array(levels) / self._unit[image_index]
        values = np.append(values.sum(), values) if len(self.columns) > 1 else values
        return {
            **told,
            "values": {c: round(float(s), 4) for c, s in zip(self.columns, values, strict=True)},
        }

    def close(self) -> None:
        self._scorer = self._explainer = None

    def _reads_references(self) -> bool:
        return self._ready().model.shape.fused and self._references != 0

    def _ready(self) -> FaierScorer:
        if self._scorer is None:
            raise RuntimeError("prepare() comes before score() and explain()")
        return self._scorer

    def _parser(self) -> TripletParser:
        name = self._parser_name
        if name == "auto":
            trained = str(self._weights.card.get("parser", "rules"))
            name = "rules" if trained.startswith("rules") else "spice"
        return TripletParser(name, self.store, self._cache)

    def _name_columns(self, variant: str) -> None:
        """Names the columns, which tell what is unusual about them."""
        title, note = VARIANTS[variant]
        notes = [note] if note else []
        if self._references == 0 or variant == "fier":
            notes.append("no references")
        if self._calibrate:
            notes.append("calibrated")
        behind = f" ({', '.join(notes)})" if notes else ""
        levels = ("",) if variant == "rel" else ("", "-object", "-relation")
        self.columns = tuple(f"{title}{level}{behind}" for level in levels)
