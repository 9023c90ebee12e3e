"""Captions → SPICE's kind of tuples, without Java: tag, attach, fold into a graph, read by rules.

The tagger and the parser are linear models that were trained to imitate CoreNLP's analyses of
captions (`train.py`); what is read from the graph follows SPICE's own rules (`graph.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain, islice, zip_longest
from pathlib import Path

import numpy as np
import numpy.typing as npt

from metaeval.readers.files import read_json
from metaeval.runs.files import digest, file_sha256
from metaeval.text.scene_graphs.dependencies.graph import Tuples, Word, collapse, read_tuples
from metaeval.text.scene_graphs.dependencies.linear import (
    CASE,
    MOST,
    NO_FIELD,
    NOTHING,
    ZERO,
    Contexts,
    Linear,
    Strings,
)
from metaeval.text.scene_graphs.rules.tagger import pairs, set_of_words

Places = npt.NDArray[np.intp]  # numbers of strings, or places of words in their sentence


def _templates(fields: str, features: str) -> dict[str, list[int]]:
    """Letter → the numbers of a feature's fields among all, from words with "+" and ":"."""
    numbers = {name: number for number, name in enumerate(fields.split())}
    split = (feature.split(":") for feature in features.split())
    return {letter: [numbers[name] for name in names.split("+")] for letter, names in split}


# What the tag of a word is judged by: w is the word, l and k those before it, n and q those after
# it (3, 2: their last letters, 1: the first), t and u the tags before it, 0 nothing.
TAG_FEATURES = _templates(
    "w w3 w2 w1 l l3 k n n3 q t u 0",
    "b:0 w:w s:w3 r:w2 p:w1 t:t u:u+t v:t+w l:l m:l3 k:k n:n o:n3 q:q x:w+n y:l+w z:t+n",
)
# What the next action is judged by: words (w) and tags (t) of the stack's top three; words (v) and
# tags (u) of the next; tags and relations of the outermost dependents right (a, ar) and left (b,
# br) of the top, left of the next (c, cr), right of the second (dr); the prepositions of the top
# (p) and of the next (q), the top's dependents on the right (n) and its distance (m), 0 nothing.
ARC_FEATURES = _templates(
    "w0 w1 w2 t0 t1 t2 v0 v1 u0 u1 u2 a b c ar br cr dr p q n m 0",
    "a:0 b:w0+t0 c:t0 d:w1+t1 e:t1 f:v0+u0 g:u0 h:v1+u1 i:u1+u2 j:w0+v0 k:w0+u0 l:t0+v0"
    " m:t0+u0+m n:t0+u0+u1 o:t1+t0+u0 p:t1+t0+u0+u1 q:t2+t1+t0+u0 r:w1+w0 s:w1+t0 t:t1+w0"
    " u:t1+t0+v0 v:w1+t0+v0 w:t0+ar+u0 x:t0+br+u0 y:t0+u0+cr z:t0+br+ar+n A:w0+ar+br B:t1+dr+t0+br"
    " C:w1+dr+p D:w1+p+w0 E:t1+p+t0+u0 F:w0+q+v0 G:t1+t0+br+u0+v0 H:v0+v1 I:t0+u0+u1+u2"
    " J:w0+t0+u0+u1 K:t2+t1+dr+p L:a+t0+u0 M:b+t0+c+u0 N:w2+w1+p O:t0+v0+v1 P:t1+p+v0+u1"
    " Q:w1+p+t0+v0 R:t0+v0+u1+u2",
)
SIDES = "SLR"  # shift, attach the word on top to the next word, to the word below
_BLOCK = 2048  # sentences that are read in step


def lower_words(words: Iterable[str]) -> list[str]:
    """In lower case, digits as 0."""
    return ["0" if word.isdigit() else word.lower() for word in words]


def number_sentences(rows: Iterable[Sequence[int]]) -> Places:
    """Rows of numbers as columns, filled up to one length."""
    return np.array(list(zip_longest(*rows, fillvalue=NOTHING)))


# What is known of a word, in the order of the planes of `States`: its number, its tag's, its head,
# its relation's number, its outermost dependents on the left and right, its innermost one on the
# left, how many are on its right; and the words on the stack.
_WORD, _TAG, _HEAD, _RELATION, _LEFT, _RIGHT, _FIRST, _COUNT, _STACK = range(9)
_TOP = np.array([[2], [1], [0]])  # of the stack
_DEPENDENTS = np.array([[_RIGHT], [_LEFT], [_LEFT], [_FIRST], [_RIGHT]])
_FIELDS = np.array([
    *[_WORD] * 3, *[_TAG] * 3, *[_WORD] * 2, *[_TAG] * 6, *[_RELATION] * 4, *[_WORD] * 2,
    _RELATION, *[_COUNT] * 3,
])[:, None]  # fmt: skip


class States:
    """What has been read and attached so far of n sentences; words, tags and relations are numbers
    of `Strings`.

    The words of a sentence have places 0 … size - 1; size stands for the root, which comes last,
    and size + 1 for a word that is not there. The stack stands on three of these.
    """

    def __init__(
        self, strings: Strings, sentences: Sequence[Sequence[str]], tags: Sequence[Sequence[str]]
    ) -> None:
        marks = [strings["ROOT"], strings["-"], strings["-"]]
        words = number_sentences(
            [*(strings[word] for word in lower_words(words)), *marks] for words in sentences
        )
        self.sizes = np.array(list(map(len, sentences)))
        self._planes = np.zeros((_STACK + 1, *words.shape), dtype=np.intp)
        self._planes[[_LEFT, _RIGHT, _FIRST, _STACK]] = self.sizes + 1
        self._planes[_WORD] = words
        self._planes[_TAG] = number_sentences(
            [*(strings[tag] for tag in row), *marks] for row in tags
        )
        self.next, self.depth = np.zeros_like(self.sizes), np.zeros_like(self.sizes)

    def arcs(self) -> list[tuple[list[int], list[int]]]:
        """Per sentence the head of each word, and the number of its relation to it."""
        heads, relations = self._planes[[_HEAD, _RELATION]].transpose(0, 2, 1).tolist()
        rows = zip(heads, relations, self.sizes.tolist(), strict=True)
        return [(of_words[:size], labels[:size]) for of_words, labels, size in rows]

    def stack(self, sentence: int) -> list[int]:
        """The words on the stack, the top last."""
        words: list[int] = self._planes[_STACK, 3 : self.depth[sentence] + 3, sentence].tolist()
        return words

    def unread(self) -> Places:
        """The sentences of which not every word has its head."""
        return np.flatnonzero((self.next < self.sizes) | (self.depth > 0))

    def allowed(self, rows: Places) -> npt.NDArray[np.bool_]:
        """Whether one can shift, attach to the next word, attach to the word below: [3, rows]."""
        more, depth = self.next[rows] < self.sizes[rows], self.depth[rows]
        return np.array([more, np.where(more, depth > 0, depth == 1), depth > 1])

    def apply(self, rows: Places, sides: Places, relations: Places) -> None:
        """Shift, or attach the word on top to the next word or to the one below it: by `SIDES`."""
        planes, shift = self._planes, sides == 0
        shifted, attached = rows[shift], rows[~shift]
        planes[_STACK, self.depth[shifted] + 3, shifted] = self.next[shifted]
        left = sides[~shift] == 1
        word, below, _ = planes[_STACK, self.depth[attached] + _TOP, attached]
        head = np.where(left, self.next[attached], below)
        planes[_HEAD, word, attached] = head
        planes[_RELATION, word, attached] = relations[~shift]
        planes[np.where(left, _LEFT, _RIGHT), head, attached] = word
        planes[_COUNT, head, attached] += ~left
        new = left & (planes[_FIRST, head, attached] > self.sizes[attached])
        planes[_FIRST, head[new], attached[new]] = word[new]
        self.depth[rows] += np.where(shift, 1, -1)
        self.next[rows] += shift

    def contexts(self, rows: Places) -> Contexts:
        """What the next actions are judged by: the fields of `ARC_FEATURES`."""
        depth, b0 = self.depth[rows], self.next[rows]
        s0, s1, s2 = self._planes[_STACK, depth + _TOP, rows]
        owners = np.array([s0, s0, b0, b0, s1])
        right, left, next_left, first, below = self._planes[_DEPENDENTS, owners, rows]
        places = [
            *(s0, s1, s2, s0, s1, s2, b0, b0 + 1, b0, b0 + 1, b0 + 2, right, left, next_left),
            *(right, left, next_left, below, left, first, first, s0, s0, s0),
        ]
        fields = self._planes[_FIELDS, np.array(places), rows]
        fields[18] *= fields[15] == CASE  # otherwise nothing
        fields[19] *= fields[20] == CASE
        distance = np.where(depth > 0, np.minimum(b0 - s0, 5), 0)
        fields[20:22] = ZERO + np.minimum([fields[21], distance], MOST)
        fields[22:] = [[NOTHING], [NO_FIELD]]
        return fields


def attach_sentences(
    model: Linear, sentences: Sequence[Sequence[str]], tags: Sequence[Sequence[str]]
) -> list[tuple[list[int], list[str]]]:
    """Per sentence the place of each word's head (the number of words: the root) and its relation.

    All sentences are read in step, an action each.
    """
    strings = Strings()
    states = States(strings, sentences, tags)
    sides = np.array([SIDES.index(name[0]) for name in model.classes])
    relations = np.array([strings[name[1:]] for name in model.classes])
    hashes, least = strings.hashes(), np.iinfo(np.int16).min
    while len(rows := states.unread()):
        scores = model.scores(states.contexts(rows), *hashes)
        allowed = states.allowed(rows)[sides].T
        best = np.where(allowed, scores, least).argmax(axis=1)  # of equal ones the first
        states.apply(rows, sides[best], relations[best])
    names = list(strings)
    return [(heads, [names[relation] for relation in labels]) for heads, labels in states.arcs()]


_TOKEN = re.compile(
    r"[A-Za-z]+(?=n['’]t\b)|n['’]t\b|['’](?:s|re|ve|m|d|ll)\b"
    r"|[^\W_]+(?:[-/.&'’][^\W_]+(?<!['’]s))*|[^\w\s]"
)
_ENDS = (".", "!", "?")
_PUNCTUATION = {".": ".", "!": ".", "?": ".", ",": ",", ":": ":", ";": ":", "-": ":"}


def tokenise_sentences(text: str) -> list[list[str]]:
    """The words of each sentence; clitics ('s, n't) and punctuation are words of their own."""
    sentences: list[list[str]] = [[]]
    for token in _TOKEN.findall(text):
        if sentences[-1] and sentences[-1][-1] in _ENDS and token not in _ENDS:
            sentences.append([])
        sentences[-1].append(token)
    return [sentence for sentence in sentences if sentence]


def word_parts(strings: Strings) -> Places:
    """Per word among the strings itself, its last three and two letters, and its first: [4, n]."""
    parts = [(word, word[-3:], word[-2:], word[:1]) for word in list(strings)]
    return np.array([[strings[part] for part in row] for row in parts]).T


def pad_words(strings: Strings, sentences: Iterable[Sequence[str]]) -> Places:
    """The numbers of the words of sentences in lower case, with two marks at either end: [longest
    + 4, n]."""
    start, end = strings["^"], strings["$"]
    return number_sentences(
        [start, start, *(strings[word] for word in lower_words(words)), end, end]
        for words in sentences
    )


def tag_contexts(words: Places, tags: Places, parts: Places) -> Contexts:
    """What the next tags are judged by, given each word with the two before and after it, [5, n],
    the two tags before it, [2, n], and `word_parts`: the fields of `TAG_FEATURES`."""
    earlier, left, word, right, later = words
    nothing = np.full_like(word, NOTHING)
    return np.array(
        [
            *parts[:, word],
            left,
            parts[1, left],
            earlier,
            right,
            parts[1, right],
            later,
            tags[1],
            tags[0],
            nothing,
            nothing + NO_FIELD,
        ]
    )


def tag_sentences(model: Linear, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
    """The tags of each sentence's words; all sentences are read in step, a word each."""
    strings = Strings()
    words, sizes = pad_words(strings, sentences), np.array(list(map(len, sentences)))
    tags = np.full_like(words, strings["^"])
    parts = word_parts(strings)
    classes = np.array([strings[name] for name in model.classes])
    known = {strings[mark]: strings[tag] for mark, tag in _PUNCTUATION.items()}
    marks = np.array([known.get(word, NOTHING) for word in range(len(strings))])
    hashes = strings.hashes()
    for place in range(max(sizes, default=0)):
        rows = np.flatnonzero(sizes > place)
        near, before = words[place : place + 5, rows], tags[place : place + 2, rows]
        best = model.scores(tag_contexts(near, before, parts), *hashes).argmax(axis=1)
        mark = marks[near[2]]
        tags[place + 2, rows] = np.where(mark == NOTHING, classes[best], mark)
    names = list(strings)
    return [
        [names[tag] for tag in row[:size]]
        for row, size in zip(tags[2:].T.tolist(), sizes.tolist(), strict=True)
    ]


_BE = set_of_words("is are was were been being am 's 're 'm be")
_VOWELS = "aeiou"


_PRONOUNS = pairs("his/he him/he her/she their/they them/they us/we me/i an/a n't/not")


def lemma(word: str, tag: str, exceptions: Mapping[str, str]) -> str:
    """The lemma in lower case; `exceptions`: "word N" or "word V" → lemma, looked up first."""
    word = word.lower()
    if tag.startswith("V"):
        if word in _BE:
            return "be"
        known = exceptions.get(f"{word} V")
        return _verb(word) if known is None else known
    if tag in ("NNS", "NNPS"):
        known = exceptions.get(f"{word} N")
        return _singular(word) if known is None else known
    return _PRONOUNS.get(word, word)


def _singular(word: str) -> str:
    if word.endswith("men"):
        return word[:-2] + "an"
    if not word.endswith("s") or word.endswith(("ss", "us")) or len(word) < 3:
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zzes", "toes", "buses")):
        return word[:-2]
    return word[:-1]


def _verb(word: str) -> str:
    if word.endswith("s"):
        return _singular(word)
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem == word or len(stem) < 2 or not any(c in _VOWELS + "y" for c in stem):
            continue
        if word.endswith("ied"):
            return word[:-3] + "y"
        if stem[-1] == stem[-2] and stem[-1] not in "lszf":
            return stem[:-1]
        return stem + "e" if _wants_e(stem) else stem
    return word


def _wants_e(stem: str) -> bool:
    """Whether a verb without its ending has lost an "e": "rid(ing)", "danc(ing)", "tast(ed)"."""
    if stem.endswith(("c", "v", "u", "dg", "rg", "ang", "ls", "rs", "ns", "as", "os", "us", "iz")):
        return stem != "hang"
    if stem.endswith(("bl", "dl", "fl", "gl", "kl", "pl", "tl", "zl", "cl", "clud", "ag", "ais")):
        return True
    single = (
        stem[-1] not in _VOWELS + "wxy"
        and stem[-2] in _VOWELS
        and (len(stem) < 3 or stem[-3] not in _VOWELS)
    )
    short = sum(c in _VOWELS for c in stem) == 1
    return single and (short or stem.endswith(("at", "ut", "is", "id", "ur", "or")))


VERSION = "rules-3"  # raised when the code comes to give another tuple
_REMEMBERED = 100_000  # texts whose tuples are kept: references come again with other captions
MODEL = Path(__file__).parent / "model"


# marks of Chinese and Japanese text, which the tagger would take for nouns
_ASCII_MARKS = str.maketrans("。，、！？；：（）「」『』《》", '.,,!?;:()""""""')


@cache
def model_identity() -> str:
    """What a text's tuples depend on: the code's version and the model's bytes."""
    files = sorted(file for file in MODEL.iterdir() if file.suffix in (".json", ".npz"))
    model = digest("".join(map(file_sha256, files)))
    return f"{VERSION}-{model.hex()[:8]}"


class DependencyParser:
    """Sentences → proposed tuples in SPICE's form; deterministic, whatever the machine."""

    def __call__(self, sentences: Sequence[str]) -> list[Tuples | None]:
        """Per text a list of [object], [object, attribute], [subject, object, relation].

        Do not change the returned list: it is shared by all callers with the same text.
        """
        known = _load()[3]
        if len(known) > _REMEMBERED:
            known.clear()
        texts = [text for text in dict.fromkeys(sentences) if text not in known]
        for text, trees in zip(texts, self.trees(texts), strict=True):
            known[text] = [t for words in trees for t in read_tuples(collapse(words))]
        return [known[text] for text in sentences]

    def trees(self, texts: Sequence[str]) -> list[list[list[Word]]]:
        """Per text the words of each sentence with tags, lemmas, heads and relations."""
        split = [tokenise_sentences(text.translate(_ASCII_MARKS)) for text in texts]
        sentences = [sentence for each in split for sentence in each]
        trees = chain.from_iterable(
            _read(sentences[at : at + _BLOCK]) for at in range(0, len(sentences), _BLOCK)
        )
        return [list(islice(trees, len(each))) for each in split]

    def close(self) -> None:
        """Nothing to release."""


def _read(sentences: Sequence[Sequence[str]]) -> list[list[Word]]:
    """The words of each sentence with tags, lemmas, heads and relations."""
    tagger, attacher, lemmas, _ = _load()
    tags = tag_sentences(tagger, sentences)
    arcs = attach_sentences(attacher, sentences, tags)
    return [
        [
            Word(word, tag, lemma(word, tag, lemmas), -1 if head == len(words) else head, relation)
            for word, tag, head, relation in zip(words, known, heads, relations, strict=True)
        ]
        for words, known, (heads, relations) in zip(sentences, tags, arcs, strict=True)
    ]


def possible_lemmas(word: str) -> frozenset[str]:
    """A word in lower case, and its lemmas as a noun, a verb or a pronoun.

    >>> sorted(possible_lemmas("Leaves"))
    ['leaf', 'leave', 'leaves']
    """
    known = _load()[2]
    return frozenset({word.lower(), *(lemma(word, tag, known) for tag in ("NNS", "VB", "PRP"))})


@cache
def _load() -> tuple[Linear, Linear, dict[str, str], dict[str, Tuples]]:
    lemmas: dict[str, str] = read_json(MODEL / "lemmas.json")[0]
    tagger = Linear.load(MODEL / "tagger.npz", TAG_FEATURES)
    return tagger, Linear.load(MODEL / "arcs.npz", ARC_FEATURES), lemmas, {}
