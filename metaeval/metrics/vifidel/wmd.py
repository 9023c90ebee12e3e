"""WMD: the word mover's distance to the references, the baseline of VIFIDEL's tables.

Words, bags, vectors and transport are VIFIDEL's; the bag on the other side is a reference's content
words instead of the image's objects (Kusner et al., 2015).
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Annotated

import numpy as np
import numpy.typing as npt
from annotated_types import Interval

from metaeval.compute import device as devices
from metaeval.compute.requirements import missing_packages
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Metric, ReferenceScorer, Scores
from metaeval.metrics.vifidel.distance import BagDistance, ImportanceWeights
from metaeval.metrics.vifidel.words import Bag, Lexicon, stop_words_identity
from metaeval.options import Device, checked
from metaeval.runs.records import NETWORK_PRECISION, ScoreColumn, TrainingFacts
from metaeval.runs.store import Store
from metaeval.text.word_vectors.base import WordVectors


class Wmd(Metric):
    """exp(-d) of the word mover's distance d between caption and reference, in [0, 1].

    WMD-best is that of the nearest reference, WMD-worst that of the farthest, WMD-mean the mean
    over the references. Vectors have length 1, so d is at most 2 (p = 1) or 4 (p = 2).

    A caption without any content word scores 0. Not a number: a caption none of
    whose content words has a vector; an image none of whose references has such a word. References
    without one are left out.

    Parameters
    ----------
    vectors
        Where the words' vectors come from; scaled to length 1.
    p
        The price of moving a word: the distance (1, Kusner et al.) or its square (2).
    device
        "auto", "cpu", "cuda", "cuda:1": where transport is computed.
    """

    name = "wmd"
    languages = frozenset({"en"})
    columns = (
        ScoreColumn("WMD-worst", headline=False, precision=NETWORK_PRECISION),
        ScoreColumn("WMD-mean", headline=False, precision=NETWORK_PRECISION),
        ScoreColumn("WMD-best", precision=NETWORK_PRECISION),
    )

    @checked
    def __init__(
        self,
        vectors: WordVectors,
        p: Annotated[int, Interval(ge=1, le=2)] = 1,
        device: Device = "auto",
    ) -> None:
        self.vectors, self.p = vectors, p
        self.device = device

    def fetch(self, dataset: CaptionDataset) -> None:
        self.vectors.fetch()

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> WmdScorer | Absent:
        absent = (
            self.missing_part(dataset)
            or missing_packages("vifidel", "sklearn")  # whose stop words it leaves out
            or self.vectors.missing()
            or devices.missing(self.device)
        )
        return absent or WmdScorer(self, dataset, store)


class WmdScorer(ReferenceScorer):
    """WMD against the references of a dataset."""

    metric: Wmd
    usual_ms = 0.8
    batch_size = 10_000
    counted = MappingProxyType(
        {
            "content words of captions without a vector": "words",
            "captions without content words": "captions",
        }
    )

    def __init__(self, metric: Wmd, dataset: CaptionDataset, store: Store | None) -> None:
        settings = {
            "vec": metric.vectors.identity(store),
            "p": metric.p,
            "stop": stop_words_identity(),
            "v": 1,  # raised when this comes to give another number for the same caption
        }
        super().__init__(metric, settings, dataset)
        self._store = store
        if models := metric.vectors.caption_models:
            self.training = TrainingFacts(models)

    def prepare(self) -> None:
        self._lexicon = lexicon = Lexicon(self.metric.vectors, self._store)
        lexicon.learn(text for group in self.dataset.references for text in group)
        bags = [
            [lexicon.bag(lexicon.count(text)) for text in group]
            for group in self.dataset.references
        ]
        self._references: list[list[Bag]] = [[bag for bag in group if bag] for group in bags]
        # no word weighs more than another: WMD has no importance weights
        device = devices.transport_device(self.metric.device)
        self._distance = BagDistance(lexicon, ImportanceWeights(lexicon, []), self.metric.p, device)

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        lexicon = self._lexicon
        lexicon.learn(captions)
        words = [lexicon.count(caption) for caption in captions]
        bags = [lexicon.bag(counts) for counts in words]
        references = [self._references[i] for i in image_index.tolist()]
        scores = np.full((len(captions), 3), np.nan)
        pairs: list[tuple[Bag, Bag]] = []
        rows: list[int] = []
        for row, (bag, group) in enumerate(zip(bags, references, strict=True)):
            if bag:
                pairs += [(reference, bag) for reference in group]
                rows += [row] * len(group)
            elif not words[row] and group:
                scores[row] = 0.0
        similar = np.exp(-self._distance.of_pairs(pairs))
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        for row, cosines in zip(
            np.asarray(rows)[starts], np.split(similar, starts[1:]), strict=False
        ):
            scores[row] = cosines.min(), cosines.mean(), cosines.max()
        return scores

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        counts = np.zeros((len(captions), 2), dtype=np.int64)
        for row, caption in enumerate(captions):
            words = self._lexicon.count(caption)
            counts[row] = sum(words[w] for w in self._lexicon.unknown(words)), not words
        return counts
