"""Words lost, said twice, cut off: what is left is still made of the caption's words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from metaeval.corruptions.base import Caption, Corrupted, Corruption, RatedCorruption
from metaeval.corruptions.language.base import (
    LanguageCorruption,
    Places,
    WordCorruption,
    changed,
    reword,
    rewritten_whole,
)
from metaeval.corruptions.language.known import Known
from metaeval.corruptions.language.parsed import ARTICLES, ParsedCaption, parse
from metaeval.corruptions.language.rewriting import Rewording
from metaeval.text.scene_graphs.rules.function_words import words as word_set

_CONTENT = ("NN", "VB", "JJ", "RB", "CD")
_FUNCTION = word_set(
    "a an the of on in at with by to and or is are was were for from into onto over "
    "under through near behind beside between next front that which who while as it "
    "its his her their there this these those some up down off out around across "
    "along"
)


class _Deletion(WordCorruption):
    def become(self, token: str, rng: np.random.Generator) -> tuple[str, ...]:
        return ()


# words that another word of the caption implies: "parked in a parking lot", "fast moving"
_IMPLIED_BY = {"parked": {"parking"}, "moving": {"fast", "fast-moving", "slow"}}


class DeleteContentWords(_Deletion):
    """Nouns, verbs, adjectives and numbers go; articles and prepositions stay.

    A word that occurs twice stays, too: without one of them the caption says as much.
    """

    name = "delete_content_words"
    title = "Content words deleted"
    kind = "words"
    severity = "major"
    unchanged_reason = "has no content word that can go"

    def words(self, caption: ParsedCaption) -> Sequence[int]:
        return [
            i
            for i, token in enumerate(caption.tokens)
            if token.tag.startswith(_CONTENT)
            and token.word
            and token.word not in _FUNCTION
            and caption.words.count(token.word) == 1
            and not caption.says(_IMPLIED_BY.get(token.word, ()))
        ]


class DeleteFunctionWords(_Deletion):
    """Articles, prepositions, conjunctions and auxiliaries go; content words stay."""

    name = "delete_function_words"
    title = "Function words deleted"
    kind = "words"
    severity = "mild"
    unchanged_reason = "has no function word"

    def words(self, caption: ParsedCaption) -> Sequence[int]:
        return [i for i, word in enumerate(caption.words) if word in _FUNCTION]


class DropArticles(_Deletion):
    """ "A", "an" and "the" go."""

    name = "drop_articles"
    title = "Articles dropped"
    kind = "grammar"
    severity = "mild"
    unchanged_reason = "has no article"

    def words(self, caption: ParsedCaption) -> Sequence[int]:
        return [i for i, word in enumerate(caption.words) if word in ARTICLES]


class _Cut(RatedCorruption):
    """More words go where what is left would say as much in a whole sentence."""

    unchanged_reason = "has only one word"

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        words = parse(caption.text).words
        n = len(words)
        cut = min(max(1, round(self.rate * n)), n - 1)
        while 0 < cut < n - 1 and self.is_whole(words, cut):
            cut += 1
        gone = self.gone(n, cut)
        result = changed(caption.text, [Rewording(*gone)] if cut > 0 else [], self.unchanged_reason)
        return replace(result, requested=self.rate)

    def gone(self, n: int, cut: int) -> tuple[int, int]:
        """Where the words that go begin and end."""
        raise NotImplementedError

    def is_whole(self, words: Sequence[str], cut: int) -> bool:
        """Whether what is left says as much as before and ends or begins as a caption does."""
        raise NotImplementedError


def _says_as_much(left: Sequence[str], gone: Sequence[str]) -> bool:
    """Whether the words that are gone have no content word that is not left."""
    return all(not word or word in _FUNCTION or word in left for word in gone)


class CutEnd(_Cut):
    """The last words go, round(rate · n) of n; the full stop stays."""

    name = "cut_end"
    title = "End cut off"
    kind = "words"
    severity = "major"

    def gone(self, n: int, cut: int) -> tuple[int, int]:
        return n - cut, n

    def is_whole(self, words: Sequence[str], cut: int) -> bool:
        left, gone = words[:-cut], words[-cut:]
        return left[-1] not in _FUNCTION and _says_as_much(left, gone)


class CutStart(_Cut):
    """The first words go, round(rate · n) of n."""

    name = "cut_start"
    title = "Start cut off"
    kind = "words"
    severity_by_rate = ((0, "mild"), (0.3, "major"))

    def gone(self, n: int, cut: int) -> tuple[int, int]:
        return 0, cut

    def is_whole(self, words: Sequence[str], cut: int) -> bool:
        left, gone = words[cut:], words[:cut]
        return left[0] in ARTICLES and _says_as_much(left, gone)


class RepeatWord(LanguageCorruption):
    """A word is said twice: "a man man riding a horse"."""

    name = "repeat_word"
    title = "Word repeated"
    kind = "words"
    severity = "mild"
    settles_articles = False
    unchanged_reason = "has no word"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        return [
            reword(i, i, word) for i, word in enumerate(caption.words) if word and word != "very"
        ]


class RepeatPhrase(LanguageCorruption):
    """Three words are said twice: "riding a horse riding a horse on a beach"."""

    name = "repeat_phrase"
    title = "Phrase repeated"
    kind = "words"
    severity = "mild"
    settles_articles = False
    unchanged_reason = "has fewer than three words in a row"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        return [
            reword(i, i, " ".join(caption.words[i : i + 3]))
            for i in range(len(caption) - 2)
            if all(caption.words[i : i + 3]) and caption.is_at(i, caption.words[i : i + 3])
        ]


class RepeatCaption(Corruption):
    """The whole caption is said twice."""

    name = "repeat_caption"
    title = "Caption repeated"
    kind = "words"
    severity = "mild"

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        text = caption.text
        doubled = text if not parse(text).tokens else f"{text} {text}"
        return rewritten_whole(text, doubled, "is empty")
