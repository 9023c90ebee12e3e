"""Captions → SPICE's kind of tuples, without Java: tag, attach, fold into a graph, read by rules.

The tagger and the parser are linear models that were trained to imitate CoreNLP's analyses of
captions (`train.py`); what is read from the graph follows SPICE's own rules (`graph.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path

from metaeval.readers.files import read_json
from metaeval.runs.files import digest, file_sha256
from metaeval.text.scene_graphs.dependencies import arcs
from metaeval.text.scene_graphs.dependencies.graph import Tuples, Word, collapse, read_tuples
from metaeval.text.scene_graphs.dependencies.perceptron import Linear
from metaeval.text.scene_graphs.rules.tagger import pairs, words

_TOKEN = re.compile(
    r"[A-Za-z]+(?=n['’]t\b)|n['’]t\b|['’](?:s|re|ve|m|d|ll)\b"
    r"|[^\W_]+(?:[-/.&'’][^\W_]+(?<!['’]s))*|[^\w\s]"
)
_ENDS = (".", "!", "?")
_PUNCTUATION = {".": ".", "!": ".", "?": ".", ",": ",", ":": ":", ";": ":", "-": ":"}


def split_sentences(text: str) -> list[list[str]]:
    """The words of each sentence; clitics ('s, n't) and punctuation are words of their own."""
    sentences: list[list[str]] = [[]]
    for token in _TOKEN.findall(text):
        if sentences[-1] and sentences[-1][-1] in _ENDS and token not in _ENDS:
            sentences.append([])
        sentences[-1].append(token)
    return [sentence for sentence in sentences if sentence]


def tag_features(words: Sequence[str], place: int, before: str, earlier: str) -> list[str]:
    """What the tag of a word is judged by: `words` in lower case with two blanks at either end,
    `place` among them, and the two tags before it."""
    word, left, right = words[place], words[place - 1], words[place + 1]
    return [
        "b",
        f"w{word}",
        f"s{word[-3:]}",
        f"r{word[-2:]}",
        f"p{word[:1]}",
        f"t{before}",
        f"u{earlier} {before}",
        f"v{before} {word}",
        f"l{left}",
        f"m{left[-3:]}",
        f"k{words[place - 2]}",
        f"n{right}",
        f"o{right[-3:]}",
        f"q{words[place + 2]}",
        f"x{word} {right}",
        f"y{left} {word}",
        f"z{before} {right}",
    ]


def padded(words: Sequence[str]) -> list[str]:
    """In lower case, digits as 0, with two marks at either end."""
    inside = ["0" if word.isdigit() else word.lower() for word in words]
    return ["^", "^", *inside, "$", "$"]


def tag_words(model: Linear, words: Sequence[str]) -> list[str]:
    """The tag of each word."""
    context, tags = padded(words), ["^", "^"]
    for place in range(2, len(words) + 2):
        if (mark := _PUNCTUATION.get(context[place])) is not None:
            tags.append(mark)
            continue
        key = tuple(context[place - 2 : place + 3]), tags[-1], tags[-2]
        tag = model.decided.get(key)
        if tag is None:
            scores = model.scores(tag_features(context, place, tags[-1], tags[-2]))
            tag = model.decide(key, model.classes[int(scores.argmax())])
        tags.append(tag)
    return tags[2:]


_BE = words("is are was were been being am 's 're 'm be")
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
_REMEMBERED = 50_000  # texts whose tuples are kept: references come again with other captions
MODEL = Path(__file__).parent / "model"


# marks of Chinese and Japanese text, which the tagger would take for nouns
_ASCII_MARKS = str.maketrans("。，、！？；：（）「」『』《》", '.,,!?;:()""""""')


@cache
def identity() -> str:
    """What a text's tuples depend on: the code's version and the model's bytes."""
    files = sorted(file for file in MODEL.iterdir() if file.suffix in (".json", ".npz"))
    model = digest("".join(map(file_sha256, files)))
    return f"{VERSION}-{model.hex()[:8]}"


class DependencyParser:
    """Sentences → proposed tuples in SPICE's form; deterministic, whatever the machine."""

    def __init__(self, model: Path = MODEL) -> None:
        self._model = model
        self._tagger, self._arcs, self._lemmas = _load(model)

    def __call__(self, sentences: Sequence[str]) -> list[Tuples | None]:
        """Per text a list of [object], [object, attribute], [subject, object, relation].

        Do not change the returned list: it is shared by all callers with the same text.
        """
        return [_parsed(self._model, text) for text in sentences]

    def trees(self, text: str) -> list[list[Word]]:
        """The words of each sentence of a text with tags, lemmas, heads and relations."""
        text = text.translate(_ASCII_MARKS)
        return [self._tree(words) for words in split_sentences(text)]

    def _tree(self, words: Sequence[str]) -> list[Word]:
        tags = tag_words(self._tagger, words)
        heads, relations = arcs.attach_words(self._arcs, words, tags)
        return [
            Word(word, tag, lemma(word, tag, self._lemmas), -1 if head == len(words) else head, r)
            for word, tag, head, r in zip(words, tags, heads, relations, strict=True)
        ]

    def close(self) -> None:
        """Nothing to release."""


def possible_lemmas(word: str) -> frozenset[str]:
    """A word in lower case, and its lemmas as a noun, a verb or a pronoun.

    >>> sorted(possible_lemmas("Leaves"))
    ['leaf', 'leave', 'leaves']
    """
    known = _load(MODEL)[2]
    return frozenset({word.lower(), *(lemma(word, tag, known) for tag in ("NNS", "VB", "PRP"))})


@lru_cache(maxsize=_REMEMBERED)
def _parsed(model: Path, text: str) -> Tuples:
    trees = DependencyParser(model).trees(text)
    return [t for words in trees for t in read_tuples(collapse(words))]


@cache
def _load(folder: Path) -> tuple[Linear, Linear, dict[str, str]]:
    lemmas: dict[str, str] = read_json(folder / "lemmas.json")[0]
    return Linear.load(folder / "npz"), Linear.load(folder / "arcs.npz"), lemmas
