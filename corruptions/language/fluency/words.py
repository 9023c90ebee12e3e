"""Words lost, said twice, cut off: what is left is still made of the caption's words.

Characters: typing errors, letters swapped, capitals at random, stray punctuation.

Word order: neighbours, within trigrams, words of a kind among themselves (ARO's).
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

import numpy as np

from metaeval.corruptions.base import (
    Caption,
    Corrupted,
    Corruption,
    RatedCorruption,
    rewritten_whole,
)
from metaeval.corruptions.graded.shuffle import deranged
from metaeval.corruptions.language.base import (
    Change,
    LanguageCorruption,
    Places,
    WordCorruption,
    changed,
    reword,
    swapped_word,
)
from metaeval.corruptions.language.categories import Known
from metaeval.corruptions.language.content.logic import acting, number_of
from metaeval.corruptions.language.parsed import ARTICLES, ParsedCaption, parse
from metaeval.corruptions.language.rewriting import Rewording, singular, verb_form
from metaeval.corruptions.sentences import bare_word, rewritten, words_by_position
from metaeval.text.scene_graphs.rules.tagger import pairs, set_of_words as word_set

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


class DeleteContentWords(
    _Deletion,
    title="Content words deleted",
    kind="words",
    severity="major",
    unchanged_reason="has no content word that can go",
):
    """Nouns, verbs, adjectives and numbers go; articles and prepositions stay.

    A word that occurs twice stays, too: without one of them the caption says as much.
    """

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


class DeleteFunctionWords(
    _Deletion,
    title="Function words deleted",
    kind="words",
    severity="mild",
    unchanged_reason="has no function word",
):
    """Articles, prepositions, conjunctions and auxiliaries go; content words stay."""

    def words(self, caption: ParsedCaption) -> Sequence[int]:
        return [i for i, word in enumerate(caption.words) if word in _FUNCTION]


class DropArticles(
    _Deletion,
    title="Articles dropped",
    kind="grammar",
    severity="mild",
    unchanged_reason="has no article",
):
    """ "A", "an" and "the" go."""

    def words(self, caption: ParsedCaption) -> Sequence[int]:
        return [i for i, word in enumerate(caption.words) if word in ARTICLES]


class _Cut(RatedCorruption):
    """More words go where what is left would say as much in a whole sentence."""

    at_end: ClassVar[bool]

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        words = parse(caption.text).words
        n = len(words)
        cut = min(max(1, round(self.rate * n)), n - 1)
        while 0 < cut < n - 1 and self._is_whole(words, cut):
            cut += 1
        start = n - cut if self.at_end else 0
        rewordings = [Rewording(start, start + cut)] if cut > 0 else []
        return replace(changed(caption.text, rewordings, "has only one word"), requested=self.rate)

    def _is_whole(self, words: Sequence[str], cut: int) -> bool:
        """Whether what is left has all content words and ends or begins as a caption does."""
        if self.at_end:
            left, gone = words[:-cut], words[-cut:]
            whole = left[-1] not in _FUNCTION
        else:
            left, gone = words[cut:], words[:cut]
            whole = left[0] in ARTICLES
        return whole and all(not word or word in _FUNCTION or word in left for word in gone)


class CutEnd(_Cut, title="End cut off", kind="words", severity="major", at_end=True):
    """The last words go, round(rate · n) of n; the full stop stays."""


class CutStart(
    _Cut,
    title="Start cut off",
    kind="words",
    severity_by_rate=((0, "mild"), (0.3, "major")),
    at_end=False,
):
    """The first words go, round(rate · n) of n."""


class RepeatWord(
    LanguageCorruption,
    title="Word repeated",
    kind="words",
    severity="mild",
    settles_articles=False,
    unchanged_reason="has no word",
):
    """A word is said twice: "a man man riding a horse"."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        return reword(i, i, caption.word(i)) if caption.word(i) not in ("", "very") else []


class RepeatPhrase(
    LanguageCorruption,
    title="Phrase repeated",
    kind="words",
    severity="mild",
    settles_articles=False,
    unchanged_reason="has fewer than three words in a row",
):
    """Three words are said twice: "riding a horse riding a horse on a beach"."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        words = caption.words[i : i + 3]
        whole = len(words) == 3 and all(words) and caption.is_at(i, words)
        return reword(i, i, " ".join(words)) if whole else []


class RepeatCaption(Corruption, title="Caption repeated", kind="words", severity="mild"):
    """The whole caption is said twice."""

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        text = caption.text
        doubled = text if not parse(text).tokens else f"{text} {text}"
        return rewritten_whole(text, doubled, "is empty")


_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def neighbours(letter: str) -> str:
    """The letters next to, above and below a small letter on a QWERTY keyboard.

    >>> neighbours("g")
    'fhtyvb'
    """
    row = next(k for k, keys in enumerate(_ROWS) if letter in keys)
    place = _ROWS[row].index(letter)
    near = _ROWS[row][max(0, place - 1) : place] + _ROWS[row][place + 1 : place + 2]
    for other, first in ((row - 1, place), (row + 1, place - 1)):
        if 0 <= other < len(_ROWS):
            near += _ROWS[other][max(0, first) : first + 2]
    return near


class _LongWords(WordCorruption, kind="spelling"):
    def words(self, caption: ParsedCaption) -> Sequence[int]:
        return [
            i
            for i, word in enumerate(caption.words)
            if len(word) > 3 and word.isascii() and word.isalpha()
        ]


class Typos(
    _LongWords,
    title="Typing errors",
    severity_by_rate=((0, "mild"), (0.2, "major")),
    unchanged_reason="has no word of four letters",
):
    """A letter of a word of four or more becomes its neighbour on the keyboard."""

    def become(self, token: str, rng: np.random.Generator) -> tuple[str, ...]:
        place = int(rng.integers(len(token)))
        letter = token[place]
        near = neighbours(letter.lower())
        new = near[int(rng.integers(len(near)))]
        return (token[:place] + (new.upper() if letter.isupper() else new) + token[place + 1 :],)


class SwapLetters(
    _LongWords,
    title="Letters swapped",
    severity_by_rate=((0, "mild"), (0.2, "major")),
    unchanged_reason="has no word of four letters with two different ones inside",
):
    """Two neighbouring letters inside a word of four or more change places."""

    def become(self, token: str, rng: np.random.Generator) -> tuple[str, ...]:
        places = [i for i in range(1, len(token) - 1) if token[i] != token[i + 1]]
        if not places:
            return (token,)
        i = places[int(rng.integers(len(places)))]
        return (token[:i] + token[i + 1] + token[i] + token[i + 2 :],)


class CaseNoise(
    _LongWords,
    title="Capitals at random",
    severity="mild",
    unchanged_reason="has no word of four letters",
):
    """Each letter of a word of four or more is a capital by the toss of a coin, at least one."""

    def become(self, token: str, rng: np.random.Generator) -> tuple[str, ...]:
        upper = rng.integers(2, size=len(token)).astype(bool)
        upper[int(rng.integers(1, len(token)))] = True  # not the first alone
        return ("".join(c.upper() if u else c for c, u in zip(token, upper, strict=True)),)


class InsertPunctuation(
    WordCorruption,
    title="Punctuation inserted",
    kind="spelling",
    severity="mild",
    unchanged_reason="has no word inside without punctuation behind it",
):
    """A comma, colon, question mark … stands behind a word inside the caption."""

    def words(self, caption: ParsedCaption) -> Sequence[int]:
        return [i for i, t in enumerate(caption.tokens[:-1]) if t.word and not t.closes]

    def become(self, token: str, rng: np.random.Generator) -> tuple[str, ...]:
        marks = (",", ";", ":", "?", "!", ".")
        return (token + marks[int(rng.integers(len(marks)))],)


_TOO_FEW = "has fewer than two different words to change places"


class SwapNeighbours(
    RatedCorruption,
    title="Neighbours swapped",
    kind="order",
    severity_by_rate=((0, "mild"), (0.4, "major")),
):
    """Words change places with the next one: round(rate · n / 2) pairs of n words, at least one."""

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        tokens = caption.text.split()
        places = list(words_by_position(tokens))
        pairs = [
            (i, j) for i, j in pairwise(places) if bare_word(tokens[i]) != bare_word(tokens[j])
        ]
        wanted = max(1, round(self.rate * len(places) / 2))
        new: dict[int, str] = {}
        for k in rng.permutation(len(pairs)).tolist():
            i, j = pairs[k]
            if len(new) < 2 * wanted and not {i, j} & set(new):
                new |= {i: tokens[j], j: tokens[i]}
        return _with_reason(rewritten(caption.text, new, self.rate))


class _Permuted(Corruption, kind="order"):
    @abstractmethod
    def groups(self, caption: ParsedCaption, places: Sequence[int]) -> Iterable[Sequence[int]]:
        """Sets of the tokens with a word; within each, words change places."""

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        tokens = caption.text.split()
        parsed = parse(caption.text)
        new: dict[int, str] = {}
        for group in self.groups(parsed, [i for i, word in enumerate(parsed.words) if word]):
            before = [tokens[i] for i in group]
            order = deranged(before, rng)
            new |= {place: before[j] for place, j in zip(group, order, strict=True)}
        return _with_reason(rewritten(caption.text, new, 1.0))


def _with_reason(result: Corrupted) -> Corrupted:
    return result if result.applied else replace(result, reason=_TOO_FEW)


class ShuffleTrigrams(_Permuted, title="Shuffled within trigrams", severity="major"):
    """Words change places within each three of them (ARO's "shuffle within trigrams")."""

    def groups(self, caption: ParsedCaption, places: Sequence[int]) -> Iterable[Sequence[int]]:
        return [places[i : i + 3] for i in range(0, len(places), 3)]


class ShuffleNounsAdjectives(_Permuted, title="Nouns and adjectives shuffled", severity="critical"):
    """Nouns change places among themselves, and adjectives among themselves (ARO)."""

    def groups(self, caption: ParsedCaption, places: Sequence[int]) -> Iterable[Sequence[int]]:
        return [[i for i in places if caption.tag(i).startswith(tag)] for tag in ("NN", "JJ")]


class ShuffleOthers(_Permuted, title="All but nouns and adjectives shuffled", severity="major"):
    """All words but nouns and adjectives change places (ARO)."""

    def groups(self, caption: ParsedCaption, places: Sequence[int]) -> Iterable[Sequence[int]]:
        return [[i for i in places if not caption.tag(i).startswith(("NN", "JJ"))]]


_BE_HAVE = pairs("is/are are/is was/were were/was has/have")


_GROUPS = word_set(
    "group groups couple bunch herd herds flock crowd pair team family number stack stacks pile "
    "row rows line set variety collection assortment cluster series lot lots trio"
)


class _Grammar(LanguageCorruption, kind="grammar", severity="mild"):
    """Breaks a rule of grammar; what is said stays."""


class BreakAgreement(
    _Grammar, title="Agreement broken", unchanged_reason="has nothing that must agree"
):
    """Verb and subject, number and noun no longer agree: "a man are", "two dog".

    Not a verb behind "a group of dogs" or "the couple": both of its forms are written.
    """

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        grouped = caption.says(_GROUPS)
        if not grouped:
            yield from (swapped_word(caption, i, _BE_HAVE) for i in range(len(caption)))
        for i, token in enumerate(caption.tokens):
            verb = token.tag == "VBZ" and token.word == verb_form(token.lemma, "VBZ")
            past = token.lemma == verb_form(token.lemma, "VBD")  # "that read"
            verb = verb and not grouped and not past
            if verb and token.word not in _BE_HAVE and caption.phrase_of(i) is None:
                yield reword(i, i + 1, token.lemma)
            phrase = caption.phrase_of(i)
            if number_of(caption, i) is not None and phrase is not None:
                one = singular(caption.word(phrase.head))
                if one != caption.word(phrase.head):
                    yield reword(phrase.head, phrase.end, one)


_MANY = word_set(
    "and or people men women children group couple pair bunch herd flock crowd team family number "
    "lot police cattle sheep deer fish giraffe zebra elephant bison buffalo can will may might "
    "could would does do did to not let watch watches helps help"
)
_PAST_OF_OTHERS = word_set("lay saw fell found bore felt left wound ground")
_ADJECTIVES = word_set("open close clear dry wet empty clean light present level separate complete")
# what "a bus ..." can also be: a stop, a ride
_NOUNS = word_set(
    "stop park shop race display cross drink run jump ride drive swing walk play show stand "
    "stretch stack fence graze head face line drop land dock pitch catch serve sign view picture "
    "cover carry slide rest"
)


class WrongVerbForm(
    _Grammar,
    title="Verb form",
    settles_articles=False,
    unchanged_reason="has no verb in -ing after a noun or a form of to be",
):
    """A verb stands in a form that does not belong there: "a man ride a horse", "is ride".

    After a noun only where the subject is one thing ("people ride a horse" is grammatical), and
    where the new form is neither a past tense ("a dog lay down") nor a noun ("a bus stop").
    """

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        lemma = verb_form(caption.tokens[i].lemma, "VB")
        if not acting(caption, i) or verb_form(lemma, "VBG") != caption.word(i):
            return []
        if caption.word(i - 1) in ("is", "are"):
            participle = lemma == verb_form(lemma, "VBN") and lemma not in ("run", "come")
            wrong = not participle and lemma not in _ADJECTIVES
        else:
            wrong = self._is_one(caption, i) and self._is_verb(caption, i, lemma)
        return reword(i, i + 1, lemma) if wrong else []

    @staticmethod
    def _is_one(caption: ParsedCaption, verb: int) -> bool:
        """Whether all that can be the subject of the verb is one thing, named with an article."""
        before = caption.tokens[:verb]
        if any(t.is_plural or t.word in _MANY or t.closes for t in before):
            return False
        phrase = caption.phrase_of(verb - 1)
        return phrase is not None and caption.word(phrase.start) in ("a", "an", "one", "the")

    @staticmethod
    def _is_verb(caption: ParsedCaption, verb: int, lemma: str) -> bool:
        """Whether the plain form reads as a verb there: no past tense, no noun of a compound."""
        if lemma == verb_form(lemma, "VBD") or lemma in _PAST_OF_OTHERS:
            return False
        return lemma not in _NOUNS or caption.phrase_at(verb + 1) is not None


class WrongTense(_Grammar, title="Tense", unchanged_reason="has no verb in the present"):
    """What is going on will be: "is riding" becomes "will be riding"; the picture shows it now."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        if caption.word(i) in ("is", "are") and caption.tag(i + 1) in ("VBG", "VBN", "IN"):
            return reword(i, i + 1, "will be")
        alone = acting(caption, i) and caption.word(i - 1) not in ("is", "are")
        return reword(i, i, "that will be") if alone else []


class WrongArticles(
    _Grammar,
    title="Wrong articles",
    settles_articles=False,
    unchanged_reason='has neither "a" nor "an"',
):
    """ "A" where "an" belongs, "a" before many, and the other way round: "an dog", "a dogs"."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        return swapped_word(caption, i, {"a": "an", "an": "a"}) if caption.word(i + 1) else []


_CASES = pairs(
    "he/him she/her they/them him/he them/they his/he their/they its/it it/its i/me we/us who/whom"
)


class PronounCase(
    _Grammar, title="Case of pronouns", settles_articles=False, unchanged_reason="has no pronoun"
):
    """A pronoun stands in another case: "him is riding", "on they skateboards"."""

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        # a place with "her" comes after the others: what a seed chooses depends on their order
        tables = (_CASES, {"her": "she"})
        return [swapped_word(caption, i, t) for t in tables for i in range(len(caption))]
