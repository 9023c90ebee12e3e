"""Captions → SPICE's kind of tuples, without Java: tag, attach, fold into a graph, read by rules.

The tagger and the parser are linear models that were trained to imitate CoreNLP's analyses of
captions (`train.py`); what is read from the graph follows SPICE's own rules (`graph.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np

from metaeval.cores import core_count
from metaeval.readers.files import read_json
from metaeval.runs.files import digest, file_sha256
from metaeval.text.scene_graphs.dependencies.graph import Tuples, Word, collapse, read_tuples
from metaeval.text.scene_graphs.dependencies.linear import (
    CASE,
    NO_FIELD,
    NOTHING,
    Context,
    Linear,
    Strings,
    number,
)
from metaeval.text.scene_graphs.rules.tagger import pairs, set_of_words


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
SHIFT = "S"
_BLOCK = 256  # sentences that are read in step


def lower_words(words: Iterable[str]) -> list[str]:
    """In lower case, digits as 0."""
    return ["0" if word.isdigit() else word.lower() for word in words]


@dataclass(slots=True)
class State:
    """What has been read and attached so far; words, tags and relations are numbers of `Strings`.

    Words have places 0 … n - 1; n stands for the root, which comes last, and n + 1 for a word that
    is not there. `heads` is -1 where none is known yet. `left` and `right`: per word its dependents
    on either side, outermost last.
    """

    words: list[int]
    tags: list[int]
    size: int
    stack: list[int] = field(default_factory=list)
    next: int = 0
    heads: list[int] = field(default_factory=list)
    relations: list[int] = field(default_factory=list)
    left: list[list[int]] = field(default_factory=list)
    right: list[list[int]] = field(default_factory=list)

    @classmethod
    def start(cls, strings: Strings, words: Sequence[str], tags: Sequence[str]) -> State:
        """Before the first word of a sentence."""
        size, marks = len(words), [strings["ROOT"], strings["-"], strings["-"]]
        return cls(
            [*(strings[word] for word in lower_words(words)), *marks],
            [*(strings[tag] for tag in tags), *marks],
            size,
            heads=[-1] * size,
            relations=[NOTHING] * (size + 2),
            left=[[] for _ in range(size + 2)],
            right=[[] for _ in range(size + 2)],
        )

    @property
    def done(self) -> bool:
        """Whether every word has its head."""
        return self.next == self.size and not self.stack

    def allowed(self) -> tuple[bool, bool, bool]:
        """Whether one can shift, attach to the next word, attach to the word below."""
        last, depth = self.next == self.size, len(self.stack)
        return not last, depth > 0 and (not last or depth == 1), depth > 1

    def apply(self, side: str, relation: int) -> None:
        """Shift, or attach the word on top: "L" to the next word, "R" to the one below it."""
        if side == SHIFT:
            self.stack.append(self.next)
            self.next += 1
            return
        word = self.stack.pop()
        head = self.next if side == "L" else self.stack[-1]
        self.heads[word], self.relations[word] = head, relation
        (self.left if side == "L" else self.right)[head].append(word)

    def context(self) -> Context:
        """What the next action is judged by: the fields of `ARC_FEATURES`."""
        words, tags, relations, none = self.words, self.tags, self.relations, self.size + 1
        s2, s1, s0 = ([none] * 3 + self.stack[-3:])[-3:]
        b0 = self.next
        left, right, next_left, below_right = (
            self.left[s0],
            self.right[s0],
            self.left[b0],
            self.right[s1],
        )
        sr = right[-1] if right else none
        sl = left[-1] if left else none
        bl = next_left[-1] if next_left else none
        first = next_left[0] if next_left else none
        return (
            words[s0],
            words[s1],
            words[s2],
            tags[s0],
            tags[s1],
            tags[s2],
            words[b0],
            words[b0 + 1],
            tags[b0],
            tags[b0 + 1],
            tags[b0 + 2],
            tags[sr],
            tags[sl],
            tags[bl],
            relations[sr],
            relations[sl],
            relations[bl],
            relations[below_right[-1]] if below_right else NOTHING,
            words[sl] if relations[sl] == CASE else NOTHING,
            words[first] if relations[first] == CASE else NOTHING,
            number(len(right)),
            number(min(b0 - s0, 5) if s0 != none else 0),
            NOTHING,
            NO_FIELD,
        )


def attach_sentences(
    model: Linear, sentences: Sequence[Sequence[str]], tags: Sequence[Sequence[str]]
) -> list[tuple[list[int], list[str]]]:
    """Per sentence the place of each word's head (the number of words: the root) and its relation.

    All sentences are read in step, an action each.
    """
    strings = Strings()
    states = [State.start(strings, *both) for both in zip(sentences, tags, strict=True)]
    actions = [(name[0], strings[name[1:]]) for name in model.classes]
    sides = ["SLR".index(side) for side, _ in actions]
    hashes, least = strings.hashes(), np.iinfo(np.int16).min
    unread = [state for state in states if not state.done]
    while unread:
        scores = model.scores([state.context() for state in unread], *hashes)
        allowed = np.array([state.allowed() for state in unread])[:, sides]
        best = np.where(allowed, scores, least).argmax(axis=1)  # of equal ones the first
        for state, action in zip(unread, best.tolist(), strict=True):
            state.apply(*actions[action])
        unread = [state for state in unread if not state.done]
    names = list(strings)
    return [(s.heads, [names[r] for r in s.relations[: s.size]]) for s in states]


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


def word_parts(strings: Strings) -> list[tuple[int, ...]]:
    """Per word among the strings itself, its last three and two letters, and its first."""
    return [
        tuple(strings[part] for part in (word, word[-3:], word[-2:], word[:1]))
        for word in list(strings)
    ]


def pad_words(strings: Strings, words: Sequence[str]) -> list[int]:
    """The numbers of words in lower case, with two marks at either end."""
    start, end = strings["^"], strings["$"]
    return [start, start, *(strings[word] for word in lower_words(words)), end, end]


def tag_context(
    words: Sequence[int], tags: Sequence[int], parts: Sequence[tuple[int, ...]]
) -> Context:
    """What the next tag is judged by, given the padded words, the tags so far (of the marks before
    the first word, too) and `word_parts`: the fields of `TAG_FEATURES`."""
    earlier, left, word, right, later = words[len(tags) - 2 : len(tags) + 3]
    return (
        *parts[word],
        left,
        parts[left][1],
        earlier,
        right,
        parts[right][1],
        later,
        tags[-1],
        tags[-2],
        NOTHING,
        NO_FIELD,
    )


def tag_sentences(model: Linear, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
    """The tags of each sentence's words; all sentences are read in step, a word each."""
    strings = Strings()
    rows = [(pad_words(strings, words), [strings["^"]] * 2) for words in sentences]
    parts = word_parts(strings)
    marks = {strings[mark]: strings[tag] for mark, tag in _PUNCTUATION.items()}
    classes, hashes = [strings[name] for name in model.classes], strings.hashes()
    unread = rows
    while unread := [(words, tags) for words, tags in unread if len(tags) < len(words) - 2]:
        scores = model.scores([tag_context(*row, parts) for row in unread], *hashes)
        for (words, tags), best in zip(unread, scores.argmax(axis=1).tolist(), strict=True):
            tags.append(marks.get(words[len(tags)], classes[best]))
    names = list(strings)
    return [[names[tag] for tag in tags[2:]] for _, tags in rows]


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
_MANY = 4_000  # texts that are worth other processes: their start takes a second or two
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
    """Sentences → proposed tuples in SPICE's form; deterministic, whatever the machine.

    Many texts are read by as many processes as there are cores.
    """

    def __init__(self, model: Path = MODEL) -> None:
        self._model = model

    def __call__(self, sentences: Sequence[str]) -> list[Tuples | None]:
        """Per text a list of [object], [object, attribute], [subject, object, relation].

        Do not change the returned list: it is shared by all callers with the same text.
        """
        known = _load(self._model)[3]
        if len(known) > _REMEMBERED:
            known.clear()
        texts = [text for text in dict.fromkeys(sentences) if text not in known]
        if len(texts) < _MANY or (cores := core_count()) == 1:
            known.update(zip(texts, self._tuples(texts), strict=True))
        else:
            from joblib import Parallel, delayed  # slow to import

            parts = [texts[start::cores] for start in range(cores)]
            read = Parallel(n_jobs=cores)(delayed(_read_texts)(self._model, p) for p in parts)
            for part, tuples in zip(parts, read, strict=True):
                known.update(zip(part, tuples, strict=True))
        return [known[text] for text in sentences]

    def _tuples(self, texts: Sequence[str]) -> list[Tuples]:
        return [
            [t for words in trees for t in read_tuples(collapse(words))]
            for trees in self.trees(texts)
        ]

    def trees(self, texts: Sequence[str]) -> list[list[list[Word]]]:
        """Per text the words of each sentence with tags, lemmas, heads and relations."""
        split = [tokenise_sentences(text.translate(_ASCII_MARKS)) for text in texts]
        sentences = [sentence for each in split for sentence in each]
        blocks = (sentences[at : at + _BLOCK] for at in range(0, len(sentences), _BLOCK))
        trees = (tree for block in blocks for tree in self._read(block))
        return [list(islice(trees, len(each))) for each in split]

    def _read(self, sentences: Sequence[Sequence[str]]) -> Iterator[list[Word]]:
        tagger, attacher, lemmas, _ = _load(self._model)
        tags = tag_sentences(tagger, sentences)
        arcs = attach_sentences(attacher, sentences, tags)
        for words, known, (heads, relations) in zip(sentences, tags, arcs, strict=True):
            yield [
                Word(word, tag, lemma(word, tag, lemmas), -1 if head == len(words) else head, r)
                for word, tag, head, r in zip(words, known, heads, relations, strict=True)
            ]

    def close(self) -> None:
        """Nothing to release."""


def _read_texts(model: Path, texts: Sequence[str]) -> list[Tuples]:
    return DependencyParser(model)._tuples(texts)


def possible_lemmas(word: str) -> frozenset[str]:
    """A word in lower case, and its lemmas as a noun, a verb or a pronoun.

    >>> sorted(possible_lemmas("Leaves"))
    ['leaf', 'leave', 'leaves']
    """
    known = _load(MODEL)[2]
    return frozenset({word.lower(), *(lemma(word, tag, known) for tag in ("NNS", "VB", "PRP"))})


@cache
def _load(folder: Path) -> tuple[Linear, Linear, dict[str, str], dict[str, Tuples]]:
    lemmas: dict[str, str] = read_json(folder / "lemmas.json")[0]
    tagger = Linear.load(folder / "tagger.npz", TAG_FEATURES)
    return tagger, Linear.load(folder / "arcs.npz", ARC_FEATURES), lemmas, {}
