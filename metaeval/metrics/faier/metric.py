"""FAIEr: does a caption match the union of its image and the references? (Wang et al., CVPR 2021)

A trained network (`metaeval/metrics/faier/network.py`) turns regions of the image and the
references into one vector per region; a caption's words and triplets are matched with them. Higher
is better, without a bound: the score is a mean of inner products.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from metaeval.compute import device as devices
from metaeval.compute.device import load_once, missing_packages
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.metrics.base import Metric, Scores
from metaeval.metrics.region_scorer import RegionScorer
from metaeval.options import (
    Device,
    NonNegativeInt,
    checked,
)
from metaeval.readers.files import user_path
from metaeval.runs.records import NETWORK_PRECISION, ScoreColumn, with_notes
from metaeval.runs.store import Store, content_digest
from metaeval.text.scene_graphs.parse import TripletParser, parser_of
from metaeval.vision.regions.base import RegionSource
from metaeval.weights import pretrained
from metaeval.weights.pretrained import CORRUPTIONS, PretrainedWeights, training_facts

if TYPE_CHECKING:
    from metaeval.metrics.faier.matcher import Explainer


@dataclass(frozen=True, slots=True)
class Variant:
    """One of the paper's models, or ours.

    Attributes
    ----------
    title, note
        The metric's name in tables, and what is said in brackets behind it.
    references
        How many references a training sample has, of the c - 1 that its image has: (fewest, most).
    relations
        Whether a relation level is added to the object level.
    fused
        Whether references enter at all.
    seen
        Whether the image does; where not, references alone are matched, and there must be some.
    corruptions
        Whether it is trained on corrupted captions too.
    signature
        What signatures call it, where that is not its name.
    """

    title: str
    references: tuple[int, int]
    note: str = ""
    relations: bool = True
    fused: bool = True
    seen: bool = True
    corruptions: bool = False
    signature: str | None = None


_ANY = (0, 9)
UNSEEN = "none"  # what cards and signatures call the regions of a variant that sees no image
VARIANTS: Mapping[str, Variant] = MappingProxyType(
    {
        "fier": Variant("FIEr", (0, 0), "no references", fused=False),
        "aier": Variant("AIEr", (1, 9), seen=False),
        "rel": Variant("FAIEr", _ANY, "object level alone", relations=False),
        "1": Variant("FAIEr-1", (1, 1)),
        "4": Variant("FAIEr-4", (9, 9)),
        "r": Variant("FAIEr", _ANY),
        CORRUPTIONS: Variant(
            "FAIEr", _ANY, "trained on corruptions", corruptions=True, signature="r_neg"
        ),
    }
)


def find_variant(name: str) -> Variant:
    """The variant called `name`; ConfigError for another."""
    if name not in VARIANTS:
        raise ConfigError(f"unknown variant '{name}' of FAIEr; choose from {', '.join(VARIANTS)}")
    return VARIANTS[name]


class Faier(Metric):
    """FAIEr of each caption, and its two parts: FAIEr-object (words) and FAIEr-relation (sentence
    and triplets), whose sum it is.

    Not a number for images that the weights have learned from, and for images without any region
    (under "aier": without any reference).
    A caption without words is still a sentence, and has a score.

    Parameters
    ----------
    regions
        Where regions come from.
    variant
        Which of the shipped weights, with `weights="auto"`: "r" (trained with 0 to 4 references),
        "corruptions" (trained on corrupted captions too: its columns say so), "1", "4", "rel"
        (object level alone), "fier" (no references at all), "aier" (references alone: regions are
        not needed, and its columns are AIEr's), as far as they exist.
    weights
        "auto", the name of shipped weights, or a folder that `research.train` wrote.
    references
        How many of an image's references are used, at most, in their order; `None`: all. With 0 the
        columns' names say so.
    calibrate
        Divide an image's scores by the mean FAIEr of its own references, so that 1 is as good as a
        reference is. Not in the paper: the columns' names say so. NaN where that mean is not
        positive, and without references.
    parser
        What finds triplets: "auto" (that of the training), "lexicon", "perceptron" or "corenlp".
    device
        "auto", "cpu", "cuda", "cuda:1".
    cache
        The cache folder, for SPICE's parser.
    """

    name = "faier"
    languages = frozenset({"en"})
    needs = frozenset()  # the regions say themselves what they lack
    runs_network = True

    @checked
    def __init__(
        self,
        regions: RegionSource,
        variant: str | int = "r",
        weights: str = pretrained.AUTO,
        references: NonNegativeInt | None = 4,
        calibrate: bool = False,
        parser: Literal["auto", "corenlp", "perceptron", "lexicon"] = "auto",
        device: Device = "auto",
        cache: str | Path | None = None,
    ) -> None:
        if str(variant) not in VARIANTS:
            known = ", ".join(VARIANTS)
            raise ConfigError(f"unknown metric.faier.variant '{variant}'; choose from {known}")
        if calibrate and references == 0:
            raise ConfigError("metric.faier.calibrate needs references")
        if references == 0 and not VARIANTS[str(variant)].seen:
            raise ConfigError(f"metric.faier.variant={variant} needs references")
        self.regions, self.variant, self.weights = regions, str(variant), str(weights)
        self.references, self.calibrate, self.parser = references, bool(calibrate), parser
        self.device = device
        self.cache = user_path(cache) if cache is not None else None

    @property
    def reads(self) -> frozenset[str]:
        variant = VARIANTS[self.variant]
        references = {"references"} if variant.fused and self.references != 0 else set()
        return frozenset(references | ({"image"} if variant.seen else set()))

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        return self.columns_of(self.variant)

    def columns_of(
        self, name: str, learned_from_corruptions: bool = False
    ) -> tuple[ScoreColumn, ...]:
        """The columns under weights of a variant; their names state deviations from the paper."""
        variant = VARIANTS[name]
        sees = self.regions.title if variant.seen else None
        options = (
            variant.note,
            "no references" if self.references == 0 and variant.fused else None,
            "calibrated" if self.calibrate else None,
        )
        levels = ("", "-object", "-relation") if variant.relations else ("",)
        return tuple(
            ScoreColumn(
                (full_name := with_notes(title, sees, *options)),
                part_of=with_notes(variant.title, sees, *options) if level else None,
                bounds=(-np.inf, np.inf),
                variant_of=title if full_name != title else None,
                learned_from_corruptions=learned_from_corruptions or variant.corruptions,
                precision=NETWORK_PRECISION,
                sees=sees,
                signature_name=with_notes(title, *options),  # `regions` is in the signature
            )
            for level in levels
            for title in [f"{variant.title}{level}"]
        )

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> FaierScorer | Absent:
        sees = VARIANTS[self.variant].seen
        absent = (
            missing_packages("faier", "torch", "safetensors")
            or devices.missing(self.device)
            or (self.regions.missing(dataset) if sees else None)
        )
        if absent is not None:
            return absent
        regions = self.regions.name if sees else UNSEEN
        weights = pretrained.choose_pretrained(
            "faier", dataset, self.weights, variant=self.variant, regions=regions
        )
        if isinstance(weights, Absent):
            return weights
        if (variant := str(weights.card["variant"])) not in VARIANTS:
            reason = f"the weights {weights.name} are of a variant that is not known: '{variant}'"
            return Absent("weights", reason, f"choose weights of one of: {', '.join(VARIANTS)}")
        of_weights = parser_of(str(weights.card.get("parser", "rules-1")))
        name = of_weights if self.parser == "auto" else self.parser
        parser = TripletParser(name, store, self.cache)
        return (
            self._lacks(VARIANTS[variant], weights, dataset, store)
            or parser.missing()
            or FaierScorer(self, weights, parser, dataset, store)
        )

    def _lacks(
        self,
        variant: Variant,
        weights: PretrainedWeights,
        dataset: CaptionDataset,
        store: Store | None,
    ) -> Absent | None:
        """What the weights' variant looks at and the dataset does not have."""
        if variant.seen:
            missing = self.regions.missing(dataset)
            return missing or weights.misfit(self.regions, weights.width("d_u"), store)
        if not any(dataset.references) or self.references == 0:
            return Absent("references", f"{variant.title} uses only references")
        return None


class FaierScorer(RegionScorer):
    """FAIEr with the images and references of a dataset."""

    usual_ms = 0.3
    explanation_version = 2  # its values are named by columns, which say what is seen since

    def __init__(
        self,
        metric: Faier,
        weights: PretrainedWeights,
        parser: TripletParser,
        dataset: CaptionDataset,
        store: Store | None,
    ) -> None:
        variant = str(weights.card["variant"])
        self._sees = VARIANTS[variant].seen
        corrupted = bool(weights.card.get("trained_on_corruptions"))
        count = "all" if metric.references is None else metric.references
        settings = {
            "weights": weights.label,
            "variant": VARIANTS[variant].signature or variant,
            "regions": metric.regions.identity(store) if self._sees else UNSEEN,
            "parser": parser.identity(),
            "cal": "references" if metric.calibrate else "none",
            "refs": count if VARIANTS[variant].fused else 0,
            "dtype": "float32",
            "v": 1,
            **({"note": "trained-on-corruptions"} if corrupted else {}),
        }
        columns, seen = metric.columns_of(variant, corrupted), weights.overlap(dataset)
        super().__init__(columns, settings, dataset, metric.regions, store, seen)
        self.weights, self.parser = weights, parser
        self._device, self._calibrate = metric.device, metric.calibrate
        self.training = training_facts(weights.card)
        # per image those that count
        self._references = [group[: metric.references] for group in dataset.references]

    def context(self, index: int) -> bytes:
        seen = b"seen" if self.seen[index] else b"new"
        regions = self.region_digests[index] if self._sees else b""
        return seen + regions + content_digest(self._references[index])

    def prepare(self) -> None:
        from metaeval.metrics.faier.matcher import UnionMatcher
        from metaeval.metrics.faier.network import NO_REFERENCE, load_network, parse_and_encode

        network = load_once(
            ("faier", self.weights.folder, self.weights.label, self._device),
            lambda: load_network(self.weights).to(devices.resolve(self._device)),
        )
        self._vocabulary, self._matcher = self.weights.vocabulary(), UnionMatcher(network)
        groups = [group or (NO_REFERENCE,) for group in self._references]
        distinct = {text: k for k, text in enumerate(dict.fromkeys(t for g in groups for t in g))}
        parser, vocabulary, what = self.parser, self._vocabulary, "|".join(self.signatures)
        references = self.dataset.derive(  # once for all runs on the dataset, and so the units
            f"references of {what}", lambda: parse_and_encode(list(distinct), parser, vocabulary)
        )
        regions = self.image_regions if self._sees else None
        self._matcher.prepare(regions, references, [[distinct[t] for t in g] for g in groups])
        self._units = np.ones(len(groups))
        if self._calibrate:
            self._units = self.dataset.derive(f"units of {what}", self._means)
        there = [bool(group) for group in self._references]
        self._usable = ~self.seen & (there if regions is None else regions.mask.any(axis=1))

    def _means(self) -> npt.NDArray[np.float64]:
        """The mean FAIEr of each image's own references [n], NaN where it cannot be a unit.

        They are scored with the union that they are a part of, as it is there already.
        """
        counts = np.array([len(group) for group in self._references], dtype=np.intp)
        texts = [text for group in self._references for text in group]
        index = np.repeat(np.arange(len(counts)), counts)
        total = np.bincount(index, self._match(texts, index).sum(axis=1), minlength=len(counts))
        return np.where(total > 0, total / np.maximum(counts, 1), np.nan)

    def _match(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        """[n, levels] What captions score on each level, not calibrated."""
        from metaeval.metrics.faier.matcher import nodes_of
        from metaeval.metrics.faier.network import parse_and_encode

        place = {text: k for k, text in enumerate(dict.fromkeys(captions))}
        nodes = self._matcher.read(parse_and_encode(list(place), self.parser, self._vocabulary))
        rows = np.array([place[text] for text in captions], dtype=np.int64)
        return self._matcher.score(nodes_of(nodes, rows), image_index)

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        levels = self._match(captions, image_index) / self._units[image_index][:, None]
        scores = np.column_stack([levels.sum(axis=1), levels]) if len(self.columns) > 1 else levels
        scores[~self._usable[image_index]] = np.nan
        return scores

    @cached_property
    def _explainer(self) -> Explainer:
        from metaeval.metrics.faier.matcher import Explainer

        fused = self._matcher.model.shape.fused
        references = [group if fused else () for group in self._references]
        return Explainer(
            self._matcher, self.parser, self._vocabulary, references, self.image_regions
        )

    def explain_all(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> list[Mapping[str, object] | None]:
        if not self._sees:
            return [None] * len(captions)  # no regions to show a match in
        rows = np.flatnonzero(self._usable[image_index]).tolist()
        images = [int(image_index[k]) for k in rows]
        explained = self._explainer.explain([captions[k] for k in rows], images)
        payloads: list[Mapping[str, object] | None] = [None] * len(captions)
        for k, image, (explanation, levels) in zip(rows, images, explained, strict=True):
            payloads[k] = self._payload(explanation, levels, image)
        return payloads

    def _payload(
        self, explanation: Mapping[str, object], levels: Sequence[float], image_index: int
    ) -> dict[str, object]:
        values = np.array(levels) / self._units[image_index]
        values = np.append(values.sum(), values) if len(self.columns) > 1 else values
        names = [column.name for column in self.columns]
        return {
            **explanation,
            "values": {c: round(float(s), 4) for c, s in zip(names, values, strict=True)},
        }
