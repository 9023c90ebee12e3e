"""A scorer of pycocoevalcap's form as a metric: `metric=[coco] metric.coco.scorer=module.Class`."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.metrics.adapters.own import OwnMetric, OwnScorer, as_scores
from metaeval.metrics.base import Scores, reference_digests
from metaeval.runs.source import imported
from metaeval.runs.store import Store

_GIVEN = frozenset({"references"})


class CocoScorerMetric(OwnMetric):
    """Any object with `compute_score(gts, res)`, as in pycocoevalcap.

    `gts` maps image ids to references and `res` to lists of one candidate; what comes back is the
    corpus score and the scores of the images, in the order of `gts` (BLEU: a list of them for each
    column). Three things make such a scorer's numbers wrong in silence, and all are seen to here:

    - texts are tokenised first (`tokenizer`, by default "ptb", as pycocoevalcap's own script does);
    - an id stands for one image and one candidate. Several candidates of an image are scored one
      after the other;
    - what the scorer takes from the corpus (CIDEr's document frequencies) comes from *all* images
      of the dataset, each once for each set of references that it has, or as often as the protocol
      of judgments counts it: for any captions to score, every image is included, with its
      first reference in the place of a candidate where there is none to score. So the signature
      holds the number of images and a digest of all references.

    Images without a reference are left out, and their captions not scored.

    Parameters
    ----------
    scorer
        "pycocoevalcap.cider.cider.Cider", or the class; `options` are the arguments it is made
        with.
    name, columns, bounds, higher_is_better, options, files
        See `OwnMetric`; the name is by default the class's.
    """

    def __init__(
        self,
        scorer: str | type | None = None,
        name: str | None = None,
        tokenizer: str | None = "ptb",
        **options: Any,
    ) -> None:
        option = "metric.coco.scorer"
        if scorer is None:
            raise ConfigError(f"give the scorer's class: {option}=my_module.MyScorer")
        self.scorer_class = imported(scorer, option) if isinstance(scorer, str) else scorer
        if not inspect.isclass(self.scorer_class):
            raise ConfigError(f"{option}: '{scorer}' is not a class")
        if not callable(getattr(self.scorer_class, "compute_score", None)):
            raise ConfigError(f"{option}: {self.scorer_class.__name__} has no compute_score")
        super().__init__(name or self.scorer_class.__name__, tokenizer=tokenizer, **options)

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> CocoScorer | Absent:
        if (absent := self.missing_tokenizer()) is not None:
            return absent
        settings = self.settings(self.scorer_class, store)
        documents = sorted(reference_digests(dataset)[i] for i in _documents(dataset))
        digest = hashlib.sha256(b"".join(documents)).hexdigest()[:8]
        settings["corpus"] = f"{len(documents)}-images-{digest}"
        return CocoScorer(self, settings, dataset, store, self.scorer_class, _GIVEN)


class CocoScorer(OwnScorer):
    """A scorer that is called with all images at once."""

    metric: CocoScorerMetric
    batch_size = 50_000
    fixed_cost = True  # each call is a pass over all images

    def prepare(self) -> None:
        super().prepare()
        try:
            self._scorer = self.metric.scorer_class(**self.metric.options)
        except TypeError as error:
            raise ConfigError(f"metric.coco.options: {error}") from None
        groups = ((i, self.references[place]) for i, place in enumerate(_documents(self.dataset)))
        self._gts = {i: group for i, group in groups if group}
        parameters = inspect.signature(self._scorer.compute_score).parameters
        self._quiet = {"verbose": 0} if "verbose" in parameters else {}  # BLEU's prints

    def values(self, captions: list[str], image_index: npt.NDArray[np.intp]) -> Scores:
        scores = np.full((len(captions), len(self.columns)), np.nan)
        rounds: list[dict[int, int]] = []  # image → the place of its caption, one of each a round
        turns: dict[int, int] = {}
        for place, image in enumerate(image_index.tolist()):
            turn = turns[image] = turns.get(image, -1) + 1
            if turn == len(rounds):
                rounds.append({})
            rounds[turn][image] = place
        for references in rounds:
            res = {
                i: [captions[references[i]] if i in references else group[0]]
                for i, group in self._gts.items()
            }

            def compute(res: dict[int, list[str]] = res) -> Any:
                return self._scorer.compute_score(self._gts, res, **self._quiet)

            try:
                table = self._table(self.metric.calls.repeated(compute))
            except Exception as error:
                self.note_failure(list(references.values()), error)
                continue
            for row, i in enumerate(self._gts):
                if i in references:
                    scores[references[i]] = table[row]
        return scores

    def _table(self, returned: Any) -> Scores:
        """The scores [images, columns] in what `compute_score` returned."""
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise TypeError(
                f"compute_score returned {type(returned).__name__}, not (corpus score, scores)"
            )
        each, n = returned[1], len(self._gts)
        if isinstance(each, Mapping) and not any(name in each for name in self.metric.names):
            each = [each[i] for i in self._gts]
        # as BLEU gives them: for each column the scores of the images
        if (
            isinstance(each, list | tuple)
            and len(each) > 0
            and all(isinstance(s, Sequence | np.ndarray) and len(s) == n for s in each)
        ):
            if len(each) != len(self.columns):
                raise ValueError(
                    f"gives {len(each)} scores a caption: name them, metric.coco.columns=[A,B,…]"
                )
            each = dict(zip(self.metric.names, each, strict=True))
        return as_scores(each, n, self.metric.names)


def _documents(dataset: CaptionDataset) -> list[int]:
    """The positions of the dataset, and behind them again those that count several times."""
    n, times = len(dataset), np.array(dataset.documents or (), dtype=np.intp)
    return [*range(n), *np.repeat(np.arange(len(times)), times - 1).tolist()]
