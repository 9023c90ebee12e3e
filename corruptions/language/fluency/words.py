"""Words lost, said twice, cut off: what is left is still made of the caption's words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from metaeval.corruptions.base import Caption, Corrupted, Corruption, RatedCorruption
from metaeval.corruptions.language.base import LanguageCorruption, Places, changed, rewritten_whole
from metaeval.corruptions.language.fluency.base import WordCorruption
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


def is_function_word(word: str) -> bool:
    """Whether a word belongs to the closed classes: articles, prepositions, auxiliaries …"""
    return word in _FUNCTION


class _Deletion(WordCorruption):
    def become(self, token: str, rng: np.random.Generator) -> tuple[str, ...]:
        return ()


class DeleteContentWords(_Deletion):
    """Nouns, verbs, adjectives and numbers go; articles and prepositions stay."""

    name = "delete_content_words"
    title = "Content words deleted"
    kind = "words"
    severity = "major"
    unchanged_reason = "has only one content word"

    def words(self, caption: ParsedCaption) -> Sequence[int]:
        return [
            i
            for i, token in enumerate(caption.tokens)
            if token.tag.startswith(_CONTENT) and token.word and not is_function_word(token.word)
        ]


class DeleteFunctionWords(_Deletion):
    """Articles, prepositions, conjunctions and auxiliaries go; content words stay."""

    name = "delete_function_words"
    title = "Function words deleted"
    kind = "words"
    severity = "mild"
    unchanged_reason = "has no function word"

    def words(self, caption: ParsedCaption) -> Sequence[int]:
        return [i for i, word in enumerate(caption.words) if is_function_word(word)]


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
    unchanged_reason = "has only one word"

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        n = len(caption.text.split())
        cut = min(max(1, round(self.rate * n)), n - 1)
        gone = self.gone(n, cut)
        result = changed(caption.text, [Rewording(*gone)] if cut > 0 else [], self.unchanged_reason)
        return replace(result, requested=self.rate)

    def gone(self, n: int, cut: int) -> tuple[int, int]:
        """Where the words that go begin and end."""
        raise NotImplementedError


class CutEnd(_Cut):
    """The last words go, round(rate · n) of n; the full stop stays."""

    name = "cut_end"
    title = "End cut off"
    kind = "words"
    severity = "major"

    def gone(self, n: int, cut: int) -> tuple[int, int]:
        return n - cut, n


class CutStart(_Cut):
    """The first words go, round(rate · n) of n."""

    name = "cut_start"
    title = "Start cut off"
    kind = "words"
    severity_by_rate = ((0, "mild"), (0.3, "major"))

    def gone(self, n: int, cut: int) -> tuple[int, int]:
        return 0, cut


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
            [(Rewording(i, i, (word,)),)]
            for i, word in enumerate(caption.words)
            if word and word != "very"
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
            [(Rewording(i, i, caption.words[i : i + 3]),)]
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
