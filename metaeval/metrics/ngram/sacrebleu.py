"""SacreBLEU (Post, 2018) of single captions: sacrebleu's `sentence_bleu`, for many at once.

Tokens and scores are sacrebleu's own doing. In between, the n-grams are counted by `bleu.Matcher`,
which looks at each reference once instead of once per candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics.bleu import BLEU

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Scores
from metaeval.metrics.ngram.bleu import Matcher, Matches, statistics_names
from metaeval.metrics.summable import Statistics, SummableMetric, SummableScorer
from metaeval.options import checked
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store
from metaeval.text.numbered import flatten_references

# those of sacrebleu's; flores200 downloads a model on first use
Tokenizer = Literal["13a", "intl", "char", "zh", "ja-mecab", "flores200", "none"]
Smoothing = Literal["exp", "floor", "add-k", "none"]


class SacreBleu(SummableMetric):
    """`sacrebleu.sentence_bleu(caption, references).score / 100`, in [0, 1].

    Sentence level, with effective order: orders beyond the caption's length do not count. 0 for a
    caption without any match, an empty one among them. Not a number only where the image has no
    reference. The raw text goes in: sacrebleu tokenises for itself, and by default keeps case and
    punctuation.

    Parameters
    ----------
    smooth
        sacrebleu's smoothing: "exp", "floor", "add-k" (the two with their default values), "none".
    tokenizer
        sacrebleu's tokeniser: "13a", "intl", "char", "zh", "ja-mecab", "flores200" or "none".
    lowercase
        Fold case first.
    """

    name = "sacrebleu"
    columns = (ScoreColumn("SacreBLEU"),)

    @checked
    def __init__(
        self, smooth: Smoothing = "exp", tokenizer: Tokenizer = "13a", lowercase: bool = False
    ) -> None:
        self._options = (smooth, tokenizer, lowercase)
        self._spaced = tokenizer in ("13a", "intl")
        self.bleu = BLEU(
            smooth_method=smooth, tokenize=tokenizer, lowercase=lowercase, effective_order=True
        )
        self.bleu.num_refs = -1  # needed for its signature

    def __reduce__(self) -> tuple[type[SacreBleu], tuple[object, ...]]:
        return type(self), self._options  # MeCab's tagger cannot be pickled

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> SacreBleuScorer | Absent:
        if (absent := self.missing_part(dataset)) is not None:
            return absent
        # sacrebleu's own signature, except for the number of references: those are in the key of
        # every cached score
        pairs = [pair.split(":", 1) for pair in self.bleu.get_signature().format().split("|")]
        settings = {key: value for key, value in pairs if key != "nrefs"}
        return SacreBleuScorer(self, settings | {"v": 1}, dataset)

    @property
    def needs_spaces(self) -> bool:
        return self._spaced

    @property
    def statistics_names(self) -> tuple[str, ...]:
        return statistics_names(self.bleu.max_ngram_order)

    def of_statistics(self, statistics: Statistics, *, corpus: bool = False) -> Scores:
        """`sentence_bleu`, or for sums over a corpus `corpus_bleu`: without effective order."""
        scores = np.full((len(statistics), 1), np.nan)
        known = np.flatnonzero(~np.isnan(statistics).any(axis=1))
        counts = Matches.of_rows(statistics[known].astype(np.int64))
        columns = [column.tolist() for column in counts]
        for row, matches, guesses, length, closest in zip(known, *columns, strict=True):
            bleu = self.bleu.compute_bleu(
                matches,
                guesses,
                length,
                closest,
                smooth_method=self.bleu.smooth_method,
                smooth_value=self.bleu.smooth_value,
                effective_order=not corpus,
                max_ngram_order=self.bleu.max_ngram_order,
            )
            scores[row] = bleu.score / 100
        return scores


class SacreBleuScorer(SummableScorer):
    """SacreBLEU against the references of a dataset."""

    metric: SacreBleu

    def prepare(self) -> None:
        references = flatten_references(self.dataset.references)
        words = self._words(references.texts)
        self._matcher = Matcher(words, references, self.metric.bleu.max_ngram_order)

    def statistics(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Statistics:
        return self._matcher.match(self._words(captions), image_index).rows()

    def _words(self, texts: Sequence[str]) -> list[list[str]]:
        if self.metric.bleu.lowercase:
            texts = [text.lower() for text in texts]
        return [self.metric.bleu.tokenizer(text.rstrip()).split() for text in texts]
