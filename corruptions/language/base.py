"""The contract of a corruption that needs nothing but text: it lists places, one is chosen.

To add one, copy a class of `content/attributes.py`: in its head a `title` and `unchanged_reason`
(why a caption has no place for it), and `at` (the changes of one token) or `places` (of them all).
Rewording, seeding, choosing and bookkeeping are here.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from string import punctuation
from typing import ClassVar

import numpy as np

from metaeval.corruptions.base import (
    Caption,
    Corrupted,
    Corruption,
    RatedCorruption,
    RepeatedCorruption,
)
from metaeval.corruptions.language.categories import Known, known_images
from metaeval.corruptions.language.parsed import NounPhrase, ParsedCaption, parse
from metaeval.corruptions.language.rewriting import Rewording, reworded
from metaeval.corruptions.sentences import words_by_position
from metaeval.data.dataset import CaptionDataset, ImageId

Change = tuple[Rewording, ...]
Places = Iterable[list[Change]]  # per place, the changes to choose from; of none, no place


class KnowsImages(Corruption):
    """A corruption that asks what the references and the annotated objects say of an image."""

    _known: Mapping[ImageId, Known] = {}

    def fit(self, dataset: CaptionDataset) -> None:
        self._known = known_images(dataset)

    def known(self, caption: Caption) -> Known:
        """What is known of the image of a caption."""
        return self._known.get(caption.image_id, Known())


class LanguageCorruption(KnowsImages, RepeatedCorruption):
    """Changes a caption at one place or more; precision comes before coverage.

    What is known of the image (references, annotated objects) keeps it from writing what may be
    true. Where `places` is empty, nothing is changed and `unchanged_reason` is the reason.

    Parameters
    ----------
    times
        In how many places, at most; a caption that offers fewer is changed where it can be.
    """

    unchanged_reason: ClassVar[str] = "has no place for the change"
    settles_articles: ClassVar[bool] = True  # "a" and "an" follow the new word after them

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        """Where the caption can be changed, and to what."""
        return (self.at(caption, i, known) for i in range(len(caption)))

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        """The changes to choose from at a token."""
        raise NotImplementedError

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        offered = self.places(parse(caption.text), self.known(caption))
        places = [changes for changes in offered if changes]
        in_order = (places[i] for i in rng.permutation(len(places)).tolist())
        drawn = (changes[int(rng.integers(len(changes)))] for changes in in_order)
        chosen = self.apart(
            (change, {p for r in change for p in range(r.start, max(r.end, r.start + 1))})
            for change in drawn
        )
        rewordings = [rewording for change in chosen for rewording in change]
        return changed(
            caption.text, rewordings, self.unchanged_reason, articles=self.settles_articles
        )


def changed(
    text: str, rewordings: Sequence[Rewording], unchanged_reason: str, *, articles: bool = False
) -> Corrupted:
    """A text after rewordings; unchanged, with the reason, if there are none."""
    new, edits = reworded(text, rewordings, articles=articles) if rewordings else (text, ())
    if not edits:
        return Corrupted(text, False, realised=0.0, reason=unchanged_reason)
    share = min(1.0, len(edits) / max(1, len(words_by_position(text.split()))))
    return Corrupted(new, True, edits, None, share)


def reword(start: int, end: int, *texts: str) -> list[Change]:
    """The changes that put one of these texts in the place of the tokens `start` ≤ i < `end`."""
    return [(Rewording(start, end, tuple(text.split())),) for text in texts]


def swap_phrases(caption: ParsedCaption, first: NounPhrase, second: NounPhrase) -> list[Change]:
    """The change that puts two phrases in each other's place."""
    one = Rewording(first.start, first.end, caption.written(second))
    other = Rewording(second.start, second.end, caption.written(first))
    return [(one, other)]


def swapped_word(caption: ParsedCaption, i: int, table: Mapping[str, str]) -> list[Change]:
    """The change of a word of the table."""
    return reword(i, i + 1, table[caption.word(i)]) if caption.word(i) in table else []


class WordCorruption(RatedCorruption):
    """round(rate · n) of a caption's n words, at least one, of those that offer themselves.

    Parameters
    ----------
    rate
        The share of the caption's words to change, in (0, 1].
    """

    unchanged_reason: ClassVar[str] = "has no suitable word"

    @abstractmethod
    def words(self, caption: ParsedCaption) -> Sequence[int]:
        """The tokens that can be changed."""

    @abstractmethod
    def become(self, token: str, rng: np.random.Generator) -> tuple[str, ...]:
        """What a word becomes; nothing where it goes."""

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        parsed = parse(caption.text)
        offered = list(self.words(parsed))
        n = sum(bool(word) for word in parsed.words)
        chosen = sorted(rng.permutation(offered)[: max(1, round(self.rate * n))].tolist())
        rewordings = [
            Rewording(i, i + 1, self.become(parsed.tokens[i].text.strip(punctuation), rng))
            for i in chosen
        ]
        if len(chosen) == n and not any(r.words for r in rewordings):
            rewordings = rewordings[:-1]  # the last word stays
        return replace(
            changed(caption.text, rewordings, self.unchanged_reason), requested=self.rate
        )
