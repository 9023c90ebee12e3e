"""LearnToEval: how likely a person wrote a caption, given a reference and the image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from metaeval.compute.device import fill_rows, group_rows_by_keys, load_once, missing_packages
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Metric, Scores, reference_digests
from metaeval.metrics.region_scorer import RegionScorer
from metaeval.options import checked
from metaeval.runs.records import NETWORK_PRECISION, ScoreColumn
from metaeval.runs.store import Store
from metaeval.vision.regions.base import RegionSource
from metaeval.weights import pretrained
from metaeval.weights.pretrained import AUTO, PretrainedWeights, training_facts

IMAGE, TEXT = "", "text"
GOLD = "gold"  # the regions of the shipped weights
_ROWS = 64  # captions, or pairs, in a batch


class LearnToEval(Metric):
    """LearnToEval in [0, 1]: the probability that a caption is a person's (Cui et al., 2018).

    The mean, over the references, of the network's probability of "human" (the authors score
    against one reference). The network has learned what a false caption is from corrupted ones
    (another image's, words replaced, words out of place), so corruptions do not test it; its
    column says so. Not a number for images that it has learned from, without a reference, and, of
    the variant that looks at images, without a region.

    Parameters
    ----------
    regions
        What the network sees of an image: a node of `conf/regions`; their mean is its feature.
    variant
        "" (image, reference, candidate) or "text" (without the image: the authors' "no_img").
    weights
        "auto", a shipped name, or a folder of `python -m research.learn_to_eval`.
    """

    name = "learn_to_eval"
    runs_network = True
    languages = frozenset({"en"})

    @checked
    def __init__(
        self, regions: RegionSource, variant: Literal["", "text"] = "", weights: str = AUTO
    ) -> None:
        self.regions, self.variant, self.weights = regions, variant, str(weights)

    @property
    def reads(self) -> frozenset[str]:
        return frozenset({"references"} | ({"image"} if self.variant == IMAGE else set()))

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        return (_column(None if self.variant == TEXT else self.regions.title),)

    def bind(
        self, dataset: CaptionDataset, store: Store | None = None
    ) -> LearnToEvalScorer | Absent:
        absent = missing_packages("learn_to_eval", "torch", "safetensors")
        if absent is None and self.variant == IMAGE:
            absent = self.regions.missing(dataset)
        if absent is not None:
            return absent
        # without looking, the same weights: in half of their training nothing was seen
        kind = self.regions.name if self.variant == IMAGE else GOLD
        weights = pretrained.choose_pretrained("learn_to_eval", dataset, self.weights, regions=kind)
        if isinstance(weights, Absent):
            return weights
        if self.variant == IMAGE and (width := weights.width("dim")):
            absent = self.regions.missing(dataset) or weights.misfit(self.regions, width, store)
        return absent or LearnToEvalScorer(self, dataset, store, weights)


def _column(sees: str | None) -> ScoreColumn:
    """The column of a network that sees this of an image; `None`: the text alone."""
    return ScoreColumn(
        f"LearnToEval ({sees or TEXT})",
        variant_of="LearnToEval",
        model=None if sees else TEXT,
        learned_from_corruptions=True,
        precision=NETWORK_PRECISION,
        sees=sees,
        # `regions` is in the signature
        signature_name="LearnToEval" if sees else f"LearnToEval ({TEXT})",
    )


class LearnToEvalScorer(RegionScorer):
    """The network as a scorer of captions of a dataset's images."""

    usual_ms = 0.4

    def __init__(
        self,
        metric: LearnToEval,
        dataset: CaptionDataset,
        store: Store | None,
        weights: PretrainedWeights,
    ) -> None:
        self._looks = metric.variant == IMAGE and bool(weights.width("dim"))
        settings = {
            "weights": weights.label,
            "words": weights.card["vocabulary"],
            "regions": metric.regions.identity(store) if self._looks else "none",
            "refs": "mean",
            "v": 1,  # raised when this comes to give another number for the same caption
        }
        column = _column(metric.regions.title if self._looks else None)
        super().__init__(
            (column,), settings, dataset, metric.regions, store, weights.overlap(dataset)
        )
        self._weights = weights
        self.training = training_facts(weights.card)

    def context(self, index: int) -> bytes:
        regions = self.region_digests[index] if self._looks else b""
        return reference_digests(self.dataset)[index] + regions + bytes([bool(self.seen[index])])

    def prepare(self) -> None:
        import torch

        from metaeval.metrics.learn_to_eval.network import CaptionJudge, JudgeShape, mean_regions

        self._model = load_once(
            ("learn_to_eval", self._weights.label),
            lambda: self._weights.network(CaptionJudge, JudgeShape, "LearnToEval's network"),
        )
        self._vocabulary = self._weights.vocabulary()
        counts = np.array([len(group) for group in self.dataset.references])
        self._first = np.cumsum(counts) - counts
        self._counts = counts
        self._references = self._read([r for group in self.dataset.references for r in group])
        self.usable = ~self.seen & (counts > 0)
        self._images = None
        if self._looks:
            regions = self.image_regions
            self.usable &= regions.mask.any(axis=1)
            means = torch.from_numpy(mean_regions(regions))
            with torch.inference_mode():
                # one image at a time: a matrix product's rounding may depend on its shape
                self._images = torch.cat([self._model.see(row[None]) for row in means])

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        scores = np.full((len(captions), 1), np.nan)
        rows = np.flatnonzero(self.usable[image_index])
        images, vectors = image_index[rows], self._read([captions[k] for k in rows.tolist()])
        counts = self._counts[images]
        caption = np.repeat(np.arange(len(rows)), counts)
        place = np.arange(len(caption)) - np.repeat(np.cumsum(counts) - counts, counts)
        human = self._judge(vectors, caption, self._first[images][caption] + place, images)
        scores[rows, 0] = np.bincount(caption, human, len(rows)) / counts
        return scores

    def _judge(
        self,
        vectors: Any,
        caption: npt.NDArray[np.intp],
        reference: npt.NDArray[np.intp],
        images: npt.NDArray[np.intp],
    ) -> npt.NDArray[np.float64]:
        """[pairs] The probability of "human" for each pair of a caption and a reference."""
        import torch

        human = np.empty(len(caption))
        for start in range(0, len(caption), _ROWS):
            part = np.arange(start, min(start + _ROWS, len(caption)))
            filled = fill_rows(part, _ROWS)
            with torch.inference_mode():
                seen = None
                if self._images is not None:
                    seen = self._images[torch.from_numpy(images[caption[filled]])]
                logits = self._model.judge(
                    seen,
                    self._references[torch.from_numpy(reference[filled])],
                    vectors[torch.from_numpy(caption[filled])],
                )
            human[part] = logits.double().softmax(dim=1)[: len(part), 0].numpy()
        return human

    def _read(self, captions: Sequence[str]) -> Any:
        """[n, hidden] The captions' vectors; those of one length together, always so many."""
        import torch

        vectors = torch.zeros(len(captions), self._model.shape.hidden)
        ids = self._vocabulary.encode_all(captions)
        lengths = np.array([len(each) for each in ids], dtype=np.int64)
        for part in group_rows_by_keys(lengths, most=_ROWS):
            tokens = torch.tensor([ids[k] for k in fill_rows(part, _ROWS).tolist()])
            with torch.inference_mode():
                read = self._model.read(tokens, torch.full((_ROWS,), tokens.shape[1]))
            vectors[torch.from_numpy(part)] = read[: len(part)]
        return vectors
