"""The sentences of a long caption dropped, repeated, in another order, or another image's."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from metaeval.corruptions.base import Caption, Corrupted
from metaeval.corruptions.graded.random import donated
from metaeval.corruptions.sentences.base import SentenceCorruption, Tokens
from metaeval.corruptions.tokens import split
from metaeval.data.dataset import CaptionDataset, ImageId
from metaeval.options import Rate, checked
from metaeval.runs.records import MISSING_WORDS, OTHER_CAPTION, WRONG_PLACES
from metaeval.text.sentences import sentence_starts


class DropSentence(SentenceCorruption):
    """Sentences are left out; one is always left."""

    name = "drop_sentence"
    title = "Sentence dropped"
    severity = "major"
    flaw = MISSING_WORDS

    def changed(
        self, caption: Caption, sentences: list[Tokens], n: int, rng: np.random.Generator
    ) -> list[Tokens] | None:
        dropped = _chosen(len(sentences), min(n, len(sentences) - 1), rng)
        return [[] if i in dropped else sentence for i, sentence in enumerate(sentences)]


class RepeatSentence(SentenceCorruption):
    """Sentences are written twice, one directly after the other."""

    name = "repeat_sentence"
    title = "Sentence repeated"
    severity = "mild"

    def changed(
        self, caption: Caption, sentences: list[Tokens], n: int, rng: np.random.Generator
    ) -> list[Tokens] | None:
        repeated = _chosen(len(sentences), n, rng)
        return [s + s if i in repeated else s for i, s in enumerate(sentences)]


class SwapSentences(SentenceCorruption):
    """Sentences change places with one another, at least two.

    Experimental: where no sentence refers to another, the order does not matter. Of 40 captions
    read for the audit, 14 were as well written as before.
    """

    name = "swap_sentences"
    title = "Sentences swapped"
    severity = "mild"
    experimental = True
    flaw = WRONG_PLACES

    def changed(
        self, caption: Caption, sentences: list[Tokens], n: int, rng: np.random.Generator
    ) -> list[Tokens] | None:
        places = sorted(_chosen(len(sentences), max(2, n), rng))
        moved = dict(zip(places, places[1:] + places[:1], strict=True))
        return [sentences[moved.get(i, i)] for i in range(len(sentences))]


class OtherSentence(SentenceCorruption):
    """A sentence of another image's caption stands in the place of one of the caption's own."""

    name = "other_sentence"
    title = "Another image's sentence"
    severity = "critical"
    flaw = OTHER_CAPTION

    @checked
    def __init__(self, rate: Rate) -> None:
        super().__init__(rate)
        self._donated: Mapping[ImageId, str] = {}

    def apply(self, dataset: CaptionDataset, seed: int) -> list[Corrupted]:
        self._donated = donated(dataset.pool_ids, dataset.pool, seed)
        return super().apply(dataset, seed)

    def facts(self) -> Mapping[str, object]:
        return {"donors": len(self._donated)}

    def changed(
        self, caption: Caption, sentences: list[Tokens], n: int, rng: np.random.Generator
    ) -> list[Tokens] | None:
        tokens = split(self._donated.get(caption.image_id, ""))
        starts = sentence_starts(tokens)
        theirs = [tokens[a:b] for a, b in zip(starts, [*starts[1:], len(tokens)], strict=True)]
        theirs = [sentence for sentence in theirs if sentence not in sentences]
        n = min(n, len(theirs))
        if n == 0:
            return None
        places = _chosen(len(sentences), n, rng)
        drawn = iter([theirs[k] for k in rng.permutation(len(theirs))[:n].tolist()])
        return [next(drawn) if i in places else s for i, s in enumerate(sentences)]


def _chosen(n_sentences: int, n: int, rng: np.random.Generator) -> set[int]:
    """The places of n of the sentences, at random."""
    return set(rng.permutation(n_sentences)[:n].tolist())
