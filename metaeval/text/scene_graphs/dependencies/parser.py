"""Captions → SPICE's kind of tuples, without Java: tag, attach, fold into a graph, read by rules.

The tagger and the parser are linear models that were trained to imitate CoreNLP's analyses of
captions (`train.py`); what is read from the graph follows SPICE's own rules (`graph.py`).
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from metaeval.readers.arrays import ArrayArchive
from metaeval.readers.files import read_json
from metaeval.runs.files import digest, file_sha256
from metaeval.text.scene_graphs.dependencies.graph import Tuples, Word, collapse, read_tuples
from metaeval.text.scene_graphs.rules.tagger import pairs, set_of_words

_MOST_CONTEXTS = 100_000


class Linear:
    """Features → the score of each class.

    Parameters
    ----------
    classes
        The names of the classes.
    features
        The names of the features, in the order of `weights`.
    weights
        int16 [features, classes].

    Attributes
    ----------
    decided
        What was chosen in a context; emptied when it has grown to 100,000 contexts.
    """

    def __init__(
        self, classes: Sequence[str], features: Sequence[str], weights: npt.NDArray[np.int16]
    ) -> None:
        self.classes = list(classes)
        self._rows = {name: row for row, name in enumerate(features)}
        self._weights = weights
        self.decided: dict[Hashable, str] = {}

    def decide(self, context: Hashable, choice: str) -> str:
        """Keep what was chosen in a context, and return it."""
        if len(self.decided) >= _MOST_CONTEXTS:
            self.decided.clear()
        self.decided[context] = choice
        return choice

    def scores(self, features: Sequence[str]) -> npt.NDArray[np.int64]:
        """The sum of the weights of those features that are known: int64 [classes]."""
        rows = self._rows
        known = [row for name in features if (row := rows.get(name)) is not None]
        return self._weights[known].sum(axis=0, dtype=np.int64)

    @classmethod
    def load(cls, file: Path) -> Linear:
        """The classifier that `save` has written."""
        with ArrayArchive(file) as arrays:
            classes, features = (
                arrays.array(part).tobytes().decode().split("\n")
                for part in ("classes", "features")
            )
            values, columns, counts = map(arrays.array, ("values", "columns", "counts"))
        weights = np.zeros((len(features), len(classes)), dtype=np.int16)
        weights[np.repeat(np.arange(len(features)), counts), columns] = values
        return cls(classes, features, weights)

    def save(self, file: Path, least: int = 1) -> None:
        """Write the names, and the weights of at least `least` either way; the others are lost."""
        weights = np.where(np.abs(self._weights) >= least, self._weights, 0)
        nonzero = (weights != 0).sum(axis=1) > 0
        weights = weights[nonzero]
        rows, columns = np.nonzero(weights)
        names = list(self._rows)
        features = [names[row] for row in np.flatnonzero(nonzero)]
        np.savez_compressed(
            file,
            classes=_packed(self.classes),
            features=_packed(features),
            values=weights[rows, columns],
            columns=columns.astype(np.uint8),
            counts=np.bincount(rows, minlength=len(features)).astype(np.uint8),
        )


def _packed(names: Sequence[str]) -> npt.NDArray[np.uint8]:
    return np.frombuffer("\n".join(names).encode(), dtype=np.uint8)


SHIFT = "S"
Context = tuple[str | int, ...]  # what `context_of` returns


@dataclass(slots=True)
class State:
    """What has been read and attached so far.

    Words have places 0 … n - 1; n stands for the root, which comes last. `heads` is -1 where none
    is known yet. `left` and `right`: per word its dependents on either side, outermost last.
    """

    size: int
    stack: list[int] = field(default_factory=list)
    next: int = 0
    heads: list[int] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)
    left: list[list[int]] = field(default_factory=list)
    right: list[list[int]] = field(default_factory=list)

    @classmethod
    def start(cls, size: int) -> State:
        """Before the first of `size` words."""
        return cls(
            size,
            heads=[-1] * size,
            relations=[""] * size,
            left=[[] for _ in range(size + 1)],
            right=[[] for _ in range(size + 1)],
        )

    @property
    def done(self) -> bool:
        """Whether every word has its head."""
        return self.next == self.size and not self.stack

    def allowed(self) -> tuple[bool, bool, bool]:
        """Whether one can shift, attach to the next word, attach to the word below."""
        last, depth = self.next == self.size, len(self.stack)
        return not last, depth > 0 and (not last or depth == 1), depth > 1

    def apply(self, action: str) -> None:
        """Shift, or attach the word on top: "L" to the next word, "R" to the one below it."""
        if action == SHIFT:
            self.stack.append(self.next)
            self.next += 1
            return
        word = self.stack.pop()
        head = self.next if action[0] == "L" else self.stack[-1]
        self.heads[word], self.relations[word] = head, action[1:]
        (self.left if action[0] == "L" else self.right)[head].append(word)


def features(state: State, words: Sequence[str], tags: Sequence[str]) -> list[str]:
    """What the next action is judged by; `words` and `tags` end in three marks for "none"."""
    return named_features(context_of(state, words, tags))


def context_of(state: State, words: Sequence[str], tags: Sequence[str]) -> Context:
    """All that the features of the next action depend on."""
    none = state.size + 1
    stack, right, left = state.stack, state.right, state.left
    s0 = stack[-1] if stack else none
    s1 = stack[-2] if len(stack) > 1 else none
    s2 = stack[-3] if len(stack) > 2 else none
    b0 = state.next
    b1, b2 = min(b0 + 1, none), min(b0 + 2, none)
    sr = sl = bl = none
    sr_relation = sl_relation = bl_relation = s1_relation = ""
    count = 0
    if s0 != none:
        if right[s0]:
            sr = right[s0][-1]
            sr_relation = state.relations[sr]
        if left[s0]:
            sl = left[s0][-1]
            sl_relation = state.relations[sl]
        count = len(right[s0])
    if left[b0]:
        bl = left[b0][-1]
        bl_relation = state.relations[bl]
    if s1 != none and right[s1]:
        s1_relation = state.relations[right[s1][-1]]
    case = words[left[b0][0]] if left[b0] and state.relations[left[b0][0]] == "case" else ""
    s_case = words[left[s0][-1]] if sl_relation == "case" else ""
    apart = min(b0 - s0, 5) if s0 != none else 0
    return (
        words[s0],
        words[s1],
        words[s2],
        tags[s0],
        tags[s1],
        tags[s2],
        words[b0],
        words[b1],
        tags[b0],
        tags[b1],
        tags[b2],
        sr_relation,
        sl_relation,
        bl_relation,
        s1_relation,
        tags[sr],
        tags[sl],
        tags[bl],
        case,
        s_case,
        count,
        apart,
    )


def named_features(context: Context) -> list[str]:
    """The names of a context's features."""
    (
        w0,
        w1,
        w2,
        t0,
        t1,
        t2,
        v0,
        v1,
        u0,
        u1,
        u2,
        sr_relation,
        sl_relation,
        bl_relation,
        s1_relation,
        sr_tag,
        sl_tag,
        bl_tag,
        case,
        s_case,
        count,
        apart,
    ) = context
    return [
        "a",
        f"b{w0} {t0}",
        f"c{t0}",
        f"d{w1} {t1}",
        f"e{t1}",
        f"f{v0} {u0}",
        f"g{u0}",
        f"h{v1} {u1}",
        f"i{u1} {u2}",
        f"j{w0} {v0}",
        f"k{w0} {u0}",
        f"l{t0} {v0}",
        f"m{t0} {u0} {apart}",
        f"n{t0} {u0} {u1}",
        f"o{t1} {t0} {u0}",
        f"p{t1} {t0} {u0} {u1}",
        f"q{t2} {t1} {t0} {u0}",
        f"r{w1} {w0}",
        f"s{w1} {t0}",
        f"t{t1} {w0}",
        f"u{t1} {t0} {v0}",
        f"v{w1} {t0} {v0}",
        f"w{t0} {sr_relation} {u0}",
        f"x{t0} {sl_relation} {u0}",
        f"y{t0} {u0} {bl_relation}",
        f"z{t0} {sl_relation} {sr_relation} {count}",
        f"A{w0} {sr_relation} {sl_relation}",
        f"B{t1} {s1_relation} {t0} {sl_relation}",
        f"C{w1} {s1_relation} {s_case}",
        f"D{w1} {s_case} {w0}",
        f"E{t1} {s_case} {t0} {u0}",
        f"F{w0} {case} {v0}",
        f"G{t1} {t0} {sl_relation} {u0} {v0}",
        f"H{v0} {v1}",
        f"I{t0} {u0} {u1} {u2}",
        f"J{w0} {t0} {u0} {u1}",
        f"K{t2} {t1} {s1_relation} {s_case}",
        f"L{sr_tag} {t0} {u0}",
        f"M{sl_tag} {t0} {bl_tag} {u0}",
        f"N{w2} {w1} {s_case}",
        f"O{t0} {v0} {v1}",
        f"P{t1} {s_case} {v0} {u1}",
        f"Q{w1} {s_case} {t0} {v0}",
        f"R{t0} {v0} {u1} {u2}",
    ]


def attach_words(
    model: Linear, words: Sequence[str], tags: Sequence[str]
) -> tuple[list[int], list[str]]:
    """Per word the place of its head (the number of words for the root) and its relation."""
    state = State.start(len(words))
    words, tags = add_marks(words, tags)
    while not state.done:
        # captions are much alike: most contexts have been decided before
        key = context_of(state, words, tags), state.allowed()
        action = model.decided.get(key)
        if action is None:
            action = model.decide(key, _best(model, *key))
        state.apply(action)
    return state.heads, state.relations


def _best(model: Linear, context: Context, allowed: tuple[bool, bool, bool]) -> str:
    """The action with the highest score, of equal ones the first, among those allowed."""
    sides = "".join(side for side, can in zip("SLR", allowed, strict=True) if can)
    scores = model.scores(named_features(context)).tolist()
    pairs = [
        (score, name) for score, name in zip(scores, model.classes, strict=True) if name[0] in sides
    ]
    return max(pairs, key=lambda pair: pair[0])[1]


def add_marks(words: Sequence[str], tags: Sequence[str]) -> tuple[list[str], list[str]]:
    """Words in lower case and tags, with the marks of the root and of "none" behind them."""
    lowered = ["0" if word.isdigit() else word.lower() for word in words]
    return [*lowered, "ROOT", "-", "-"], [*tags, "ROOT", "-", "-"]


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


def pad_words(words: Sequence[str]) -> list[str]:
    """In lower case, digits as 0, with two marks at either end."""
    inside = ["0" if word.isdigit() else word.lower() for word in words]
    return ["^", "^", *inside, "$", "$"]


def tag_words(model: Linear, words: Sequence[str]) -> list[str]:
    """The tag of each word."""
    context, tags = pad_words(words), ["^", "^"]
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
_REMEMBERED = 50_000  # texts whose tuples are kept: references come again with other captions
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
        return [self._tree(words) for words in tokenise_sentences(text)]

    def _tree(self, words: Sequence[str]) -> list[Word]:
        tags = tag_words(self._tagger, words)
        heads, relations = attach_words(self._arcs, words, tags)
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
    return Linear.load(folder / "tagger.npz"), Linear.load(folder / "arcs.npz"), lemmas
