"""LM and SLOR: how likely a caption's words are after each other, image and references unseen."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from metaeval.compute.device import fill_rows, group_rows_by_keys, load_once, missing_packages
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Metric, Scorer, Scores
from metaeval.runs.records import NETWORK_PRECISION, ScoreColumn
from metaeval.runs.store import Store
from metaeval.text.vocabulary import UNK
from metaeval.weights import pretrained
from metaeval.weights.pretrained import AUTO, PretrainedWeights, training_facts

_ROWS = 64  # captions of one length in a batch


class LanguageModel(Metric):
    """LM, in [0, 1], and SLOR, a real number: fluency alone.

    LM is the geometric mean of the probabilities of a caption's words and its end under a recurrent
    language model of other images' captions: 1 / perplexity. SLOR (Pauls and Klein 2012; Kann et
    al. 2018) takes off what the words' frequencies alone make likely: the mean over words and end
    of ln p(word | words before it) - ln p(word). A rare word costs LM dearly and SLOR little; a
    wrong order costs both.

    They see neither image nor reference: controls for every metric that claims to. An empty caption
    is its end alone. Not a number for images whose captions the model has learned from.

    Parameters
    ----------
    weights
        "auto" (the shipped ones that know the fewest of these images), a shipped name, or a folder
        of `python -m research.language_model`.
    """

    name = "lm"
    languages = frozenset({"en"})
    needs = frozenset()
    columns = (
        ScoreColumn("LM", precision=NETWORK_PRECISION),
        ScoreColumn("SLOR", bounds=(float("-inf"), float("inf")), precision=NETWORK_PRECISION),
    )

    def __init__(self, weights: str = AUTO) -> None:
        self.weights = str(weights)

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> LmScorer | Absent:
        if (absent := missing_packages("lm", "torch", "safetensors")) is not None:
            return absent
        weights = pretrained.choose_pretrained("lm", dataset, self.weights, regions="none")
        return weights if isinstance(weights, Absent) else LmScorer(self, dataset, weights)


class LmScorer(Scorer):
    """The language model as a scorer of captions of a dataset's images."""

    usual_ms = 0.15
    batch_size = 20_000
    counted = MappingProxyType(
        {
            "images that the weights were trained on (not scored)": "images",
            "words that the language model does not know": "words",
        }
    )

    def __init__(
        self, metric: LanguageModel, dataset: CaptionDataset, weights: PretrainedWeights
    ) -> None:
        settings = {
            "weights": weights.label,
            "words": weights.card["vocabulary"],
            "v": 1,  # raised when this comes to give another number for the same caption
        }
        super().__init__(metric.columns, settings)
        self._weights, self._seen = weights, weights.overlap(dataset)
        self.training = training_facts(weights.card)

    def context(self, index: int) -> bytes:
        return bytes([bool(self._seen[index])])

    def prepare(self) -> None:
        from metaeval.metrics.language_model.network import CaptionLanguageModel, LanguageShape

        kinds = CaptionLanguageModel, LanguageShape
        self._model = load_once(
            ("lm", self._weights.label), lambda: self._weights.network(*kinds, "a language model")
        )
        self._vocabulary = self._weights.vocabulary()

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        import torch

        scores = np.full((len(captions), 2), np.nan)
        rows = np.flatnonzero(~self._seen[image_index])
        ids = self._vocabulary.encode_all([captions[k] for k in rows.tolist()])
        # captions of one length, always so many together: a caption's numbers do not depend on
        # the others in the call
        lengths = np.array([len(each) for each in ids], dtype=np.int64)
        for part in group_rows_by_keys(lengths, most=_ROWS):
            tokens = torch.tensor([ids[k] for k in fill_rows(part, _ROWS).tolist()])
            with torch.inference_mode():
                logs = self._model(tokens)[: len(part)].double()
                unigrams = self._model.unigrams.double()[tokens[: len(part), 1:]]
            conditional, common = logs.sum(dim=1).numpy(), unigrams.sum(dim=1).numpy()
            n = tokens.shape[1] - 1
            scores[rows[part], 0] = [float(np.exp(x)) for x in conditional / n]
            scores[rows[part], 1] = (conditional - common) / n
        return scores

    def tally(
        self, captions: Sequence[str], image_index: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.int64]:
        unknown = [ids.count(UNK) for ids in self._vocabulary.encode_all(captions)]
        seen = self._seen[image_index].astype(np.int64)
        return np.stack([seen, np.array(unknown, dtype=np.int64) * (1 - seen)], axis=1)
