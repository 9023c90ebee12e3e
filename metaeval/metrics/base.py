"""The contract of a metric.

A metric looks at references and images once (`prepare`), then scores any number of captions
against them (`score`). It says exactly what it is in a signature, one per column: whatever would
change a number is in there, so that a score can be cached under (signature, item) for ever.

To add one, copy `bleu.py`, then name it in `conf/metric/`.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.runs.store import Store

Scores = npt.NDArray[np.float64]


class Metric(ABC):
    """A family of scores computed together (BLEU-1 … BLEU-4 are one metric with four columns).

    Class attributes
    ----------------
    name
        The config's name: "bleu".
    columns
        The names of the scores in tables: ("BLEU-1", …). An instance may narrow them.
    needs
        What must be there: parts of the dataset ("references", "images", "objects",
        "scene_graphs", "regions"). Needs outside the dataset (Java, weights) go into `missing`.
    higher_is_better, bounds
        How to read the score; bounds are (lowest, highest) possible, `inf` where there is none.
    batch_size
        Captions per call of `score`: what a killed run may lose.
    counted
        What a reader should know of the captions beside their scores, as name → unit: "captions"
        and "words" are added up over the captions of a run, "images" counts the images that have
        any. {"captions cut to the model's length": "captions"}; see `tally`.
    store
        Where intermediate results may be kept (parsed sentences, image embeddings), set before
        `identify`; `None` outside a run. Scores themselves are cached by `metaeval.scoring`.

    The order of calls is `missing`, `identify`, `signature`, and then, only if some score is not in
    the cache, `prepare`, `score`, `tally`, `score`, `tally` …, `close`. For the report's drill-down
    a new instance goes through `missing`, `identify` and `prepare` with a few of the dataset's
    images, and is then asked to `explain`.
    """

    name: ClassVar[str]
    columns: tuple[str, ...]
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    higher_is_better: ClassVar[bool] = True
    bounds: tuple[float, float] = (0.0, 1.0)
    batch_size: int = 5000
    counted: ClassVar[Mapping[str, str]] = MappingProxyType({})
    store: Store | None = None

    def missing(self, dataset: CaptionDataset) -> Absent | None:
        """What keeps the metric from running on this dataset, or `None` if nothing does.

        Cheap, and never touches the network. Override to add needs beyond the dataset's parts,
        asking `super().missing(dataset)` first.
        """
        for need in sorted(self.needs - {"references"}):
            part = dataset.part(need)
            if isinstance(part, Absent):
                return part
        return None

    def identify(self, dataset: CaptionDataset) -> None:  # noqa: B027  (most know who they are)
        """Find out, cheaply, what of the dataset belongs into the signature.

        For scores that depend on more than their own item: CIDEr's document frequencies come from
        all references, so their digest is a part of what CIDEr is on this dataset.
        """

    @abstractmethod
    def prepare(self, dataset: CaptionDataset) -> None:
        """Compute, once, all that depends on references and images but not on candidates."""

    @abstractmethod
    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        """Score n captions, caption j against image `image_index[j]` of the prepared dataset.

        Returns float64 [n, len(columns)]. NaN where a caption cannot be scored; never a silent 0.
        The score of a caption must not depend on the others in the call.
        """

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        """What `counted` names, of n captions that have just been scored: [n, len(counted)].

        Asked right after `score`, with the same arguments, and kept in the cache beside the scores:
        so the counts of a run are as true for a score from the cache as for a new one. Like a
        score, a count depends on its own caption and image alone. In the column of something
        counted by image, any number but 0 says that the image has it.
        """
        return np.zeros((len(captions), len(self.counted)), dtype=np.int64)

    @abstractmethod
    def settings(self) -> Mapping[str, Any]:
        """Whatever would change a number, as key → value, in the order of the signature.

        Called after `identify`, before `prepare`: a run whose scores are all cached never prepares.
        """

    def signature(self, column: str) -> str:
        """The exact identity of one column: `bleu-4|tok:ptb-3.4.1|smooth:none|ref:closest|v:1`."""
        parts = [f"{key}:{value}" for key, value in self.settings().items()]
        return "|".join([column.lower(), *parts])

    def context(self, dataset: CaptionDataset, index: int) -> bytes:
        """All that the score of a caption depends on beside the caption itself, for the cache.

        The default is the references, in order. A metric that reads images adds their content.
        """
        return content_digest(dataset.references[index])

    def explain(self, caption: str, image_index: int) -> Mapping[str, Any] | None:
        """How this caption came by its score, for the report's drill-down; `None` if not told.

        Asked of a metric that was prepared on a few images only, so what it tells of one image must
        not depend on the others. JSON-serialisable, a "kind" and what belongs to it:

        - "transport" (VIFIDEL): which object went to which word; see `vifidel_plan.explanation`.
        - "grounding" (TIGEr): `regions` (r of {"label", "box": x1 y1 x2 y2 in [0, 1]}, and
          "cell": true for one of a grid, which is drawn beneath the others), and the
          grounding weights [r] of the `candidate` and, averaged, of the `references`.
        - "matches" (FAIEr): `regions`, `words` and their `matches` [words, r], `relations` and
          their `relation_matches` [relations, r], and `references`, each with its own `words` and
          `matches`.

        - "alignment" (BERTScore): the caption's tokens, `words`, with their `weights`, and
          `references`, each with its own `words`, `weights`, the `similarity` [caption's tokens,
          its own], `precision`, `recall` and `f1`; `best`: the place of the one that counts.
        - "tuples" (SPICE): what the `candidate` and the `references` say, each a list of
          {"tuple": one to three names, "matched"}.

        `values`, in all but the first, is column → score.
        """
        return None

    def close(self) -> None:  # noqa: B027  (most metrics hold nothing)
        """Release processes and memory. Called once, also after a failure."""


def content_digest(texts: Sequence[str]) -> bytes:
    """16 bytes that identify a sequence of strings (lengths included, so no two ever collide)."""
    h = hashlib.sha256()
    for text in texts:
        raw = text.encode()
        h.update(len(raw).to_bytes(8, "big") + raw)
    return h.digest()[:16]
