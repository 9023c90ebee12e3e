"""A caption as corruptions of language read it: tokens with tags, lemmas, heads, noun phrases.

Tags and heads come from the dependency parser without Java
(`metaeval/text/scene_graphs/dependencies`), which was trained on captions. It errs, above all in
words like "standing"; what a corruption does therefore rests on closed lists of words, and on tags
only to confirm them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from string import punctuation
from typing import NamedTuple

from metaeval.text.scene_graphs.dependencies.graph import Word
from metaeval.text.scene_graphs.dependencies.parser import DependencyParser
from metaeval.text.scene_graphs.rules.tagger import set_of_words as word_set

# nouns in -ing: every other word in -ing that follows a noun is a verb
ING_NOUNS = word_set(
    "building ceiling clothing wing railing ring string king painting morning "
    "evening wedding parking living dining topping frosting dressing icing swing "
    "opening crossing landing flooring siding seating stuffing thing something "
    "everything nothing anything being lightning cutting covering spring earring "
    "pudding drawing carving gathering clearing shopping sewing sibling sling "
    "duckling meeting bedding lining wiring plumbing lettering shipping awning"
)
ARTICLES = frozenset({"a", "an", "the"})
NUMBER_WORDS = (
    *("one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
PEOPLE = word_set(
    "man men woman women person people boy boys girl girls child children kid kids guy guys lady "
    "ladies baby player players surfer skier skateboarder snowboarder batter someone couple adult "
    "adults gentleman"
)
# heads of phrases that do not name a thing themselves: a part, a place, a quantity, a picture
NO_THINGS = word_set(
    "front top side back middle center group couple bunch lot pair piece slice kind "
    "type number variety set row line pile stack part end edge corner inside "
    "outside way close view picture photo image photograph shot background "
    "foreground distance air time day night area bit herd flock crowd team herds "
    "groups lots pieces slices pairs rows types kinds sides stacks piles bottom "
    "left right other one each other's use act process motion action while selfie "
    "display order many few several half assortment collection series cluster "
    "closeup close-up midst reflection shade sun hand hands mid-air midair duty "
    "snow rain water grass board color color's it something someone shape style "
    "colors position round lap"
)


@dataclass(frozen=True, slots=True)
class CaptionToken:
    """A token of `text.split()`.

    Attributes
    ----------
    text, word
        As written, and in lower case without the punctuation around it ("" of punctuation alone).
    tag, lemma
        Penn Treebank tag and lemma of its (first) word.
    head, relation
        The token it depends on (-1: none) and how.
    closes
        Whether punctuation after it ends the phrase.
    """

    text: str
    word: str
    tag: str
    lemma: str
    head: int
    relation: str
    closes: bool

    @property
    def is_noun(self) -> bool:
        return self.tag.startswith("NN")

    @property
    def is_plural(self) -> bool:
        return self.tag in ("NNS", "NNPS")


class NounPhrase(NamedTuple):
    """A noun phrase without what follows its noun: tokens `start` ≤ i < `end`; `noun` begins its
    noun with the nouns compounded with it ("tennis racket")."""

    start: int
    noun: int
    end: int

    @property
    def head(self) -> int:
        return self.end - 1

    @property
    def bare(self) -> NounPhrase:
        """The phrase without what comes before its noun."""
        return self._replace(start=self.noun)


@dataclass(frozen=True)
class ParsedCaption:
    """The tokens of a caption and its noun phrases, in order."""

    text: str
    tokens: tuple[CaptionToken, ...]
    phrases: tuple[NounPhrase, ...]

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def words(self) -> tuple[str, ...]:
        """The words in lower case; "" for a token of punctuation."""
        return tuple(token.word for token in self.tokens)

    def word(self, place: int) -> str:
        """The word at a place, "" beyond either end."""
        return self.tokens[place].word if 0 <= place < len(self.tokens) else ""

    def written(self, phrase: NounPhrase) -> tuple[str, ...]:
        """The words of a phrase as they are written inside a sentence: the caption's first word
        without its capital, unless others of its letters are capitals, too."""
        cores = [token.text.strip(punctuation) for token in self.tokens[phrase.start : phrase.end]]
        if phrase.start == 0 and cores and not cores[0][1:2].isupper():
            cores[0] = cores[0][:1].lower() + cores[0][1:]
        return tuple(cores)

    def tag(self, place: int) -> str:
        """The tag at a place, "" beyond either end."""
        return self.tokens[place].tag if 0 <= place < len(self.tokens) else ""

    def phrase_at(self, start: int) -> NounPhrase | None:
        """The noun phrase that begins there."""
        return next((p for p in self.phrases if p.start == start), None)

    def phrase_of(self, place: int) -> NounPhrase | None:
        """The noun phrase that holds the token."""
        return next((p for p in self.phrases if p.start <= place < p.end), None)

    def is_at(self, start: int, words: Sequence[str]) -> bool:
        """Whether these words occur there, with no punctuation between them."""
        end = start + len(words)
        return self.words[start:end] == tuple(words) and not any(
            token.closes for token in self.tokens[start : end - 1]
        )

    def says(self, words: Container[str]) -> bool:
        """Whether one of the words occurs."""
        return any(word in words for word in self.words)

    def is_one_sentence(self) -> bool:
        """Whether nothing but its end ends a sentence."""
        return not any(t.text.rstrip("\"'").endswith((".", "!", "?")) for t in self.tokens[:-1])


_REMEMBERED = 60_000  # captions
_parsed: dict[str, ParsedCaption] = {}


def parse(text: str) -> ParsedCaption:
    """The caption read; up to 60,000 are remembered."""
    return _parsed[text] if text in _parsed else parse_all([text])[0]


def parse_all(texts: Sequence[str]) -> list[ParsedCaption]:
    """Captions read together, which is faster than one by one; `parse` knows them then."""
    if len(_parsed) > _REMEMBERED:
        forget_parsed()
    new = [text for text in dict.fromkeys(texts) if text not in _parsed]
    for text, sentences in zip(new, DependencyParser().trees(new), strict=True):
        _parsed[text] = _read(text, sentences)
    return [_parsed[text] for text in texts]


def forget_parsed() -> None:
    """Forget what was parsed: a thousand images' captions take 100 MB."""
    _parsed.clear()


def _read(text: str, sentences: Sequence[Sequence[Word]]) -> ParsedCaption:
    tokens = list(re.finditer(r"\S+", text))
    placed = _placed(text, [token.start() for token in tokens], sentences)
    read = [_token(token[0], placed.get(i)) for i, token in enumerate(tokens)]
    mended = tuple(replace(t, tag=_surer_tag(read, i)) for i, t in enumerate(read))
    return ParsedCaption(text, mended, tuple(_phrases(mended)))


def _placed(
    text: str, starts: Sequence[int], sentences: Sequence[Sequence[Word]]
) -> dict[int, tuple[Word, int]]:
    """Token → its first word that is not punctuation, and the token of that word's head."""
    placed: dict[int, tuple[Word, int]] = {}
    at = 0
    for words in sentences:
        places = []
        for word in words:
            at = text.index(word.text, at)
            places.append(bisect_right(starts, at) - 1)
            at += len(word.text)
        for word, place in zip(words, places, strict=True):
            if place not in placed and any(c.isalnum() for c in word.text):
                placed[place] = (word, places[word.head] if word.head >= 0 else -1)
    return placed


def _token(text: str, placed: tuple[Word, int] | None) -> CaptionToken:
    word = text.strip(punctuation).lower()
    closes = text[-1:] in ",.;:!?" or not word
    if placed is None:
        return CaptionToken(text, word, "", word, -1, "", closes)
    read, head = placed
    return CaptionToken(text, word, read.tag, read.lemma, head, read.relation, closes)


# verbs that follow many things without an ending, and nouns in -s that "a" may precede
_PLAIN_VERBS = word_set(
    "run sit stand play walk ride eat fly look graze jump pose rest sleep swim race surf ski watch "
    "hold wait smile lie lay cross gather roam wear drive travel talk skate"
)
_NOUNS_IN_S = word_set("glasses scissors pants stairs woods sunglasses shorts tennis news skis")
_MANY = word_set("few dozen hundred thousand couple")


def _surer_tag(tokens: Sequence[CaptionToken], place: int) -> str:
    """The token's tag, or the one that its surroundings make sure of.

    "Standing" after a noun is a verb; so is "rides" in "a man rides", "run" in "dogs run".
    """
    token, before = tokens[place], tokens[place - 1] if place else None
    if before is None or before.closes:
        return token.tag
    ing = token.word.endswith("ing") and len(token.word) > 4 and token.word not in ING_NOUNS
    if ing and token.tag.startswith(("NN", "JJ")):
        return "VBG" if before.is_noun or before.word in ("is", "are", "and") else token.tag
    if token.tag == "NN" and before.tag == "NNS" and token.word in _PLAIN_VERBS:
        return "VBP"
    if token.tag == "NNS" and before.is_noun and token.word not in _NOUNS_IN_S:
        start = place - 1
        while start and tokens[start].tag.startswith(("NN", "JJ")):
            start -= 1
        some = {t.word for t in tokens[start:place]}
        last = place + 1 == len(tokens) or not tokens[place + 1].is_noun
        return "VBZ" if tokens[start].word in ("a", "an") and last and not some & _MANY else "NNS"
    return token.tag


def _phrases(tokens: Sequence[CaptionToken]) -> list[NounPhrase]:
    """Noun phrases: an article or none, modifiers, nouns; no punctuation inside."""
    phrases: list[NounPhrase] = []
    start = 0
    while start < len(tokens):
        end = start
        while end < len(tokens) and _goes_on(tokens, start, end):
            end += 1
            if tokens[end - 1].closes:
                break
        while end > start and not tokens[end - 1].is_noun:
            end -= 1
        noun = end
        while noun > start and tokens[noun - 1].is_noun:
            noun -= 1
        phrases += [NounPhrase(start, noun, end)] if end > start else []
        start = max(end, start + 1)
    return phrases


def _goes_on(tokens: Sequence[CaptionToken], start: int, place: int) -> bool:
    """Whether the token at `place` may belong to the phrase that begins at `start`."""
    token = tokens[place]
    if token.word in ("is", "are", "of") or not token.word:
        return False
    if token.tag in ("DT", "PRP$"):
        return place == start
    if token.tag in ("VBN", "VBG", "VBD"):
        after = tokens[place + 1] if place + 1 < len(tokens) else None
        opened = place > start and tokens[place - 1].tag in ("DT", "JJ", "CD", "PRP$")
        return opened and after is not None and (after.is_noun or after.tag == "JJ")
    if token.tag == "RB":
        return token.word == "very"
    return token.tag.startswith(("JJ", "NN")) or token.tag == "CD"
