"""Captions → SPICE's kind of tuples, without Java: tag, attach, fold into a graph, read by rules.

The tagger and the parser are linear models that were trained to imitate CoreNLP's analyses of
captions (`train.py`); what is read from the graph follows SPICE's own rules (`graph.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path

from metaeval.readers.json_text import read_json
from metaeval.runs.digests import digest, file_sha256
from metaeval.text.scene_graphs.dependencies import arcs, tagger
from metaeval.text.scene_graphs.dependencies.graph import Tuples, Word, collapse, read_tuples
from metaeval.text.scene_graphs.dependencies.perceptron import Linear
from metaeval.text.scene_graphs.dependencies.tagger import lemma

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
        return [self._tree(words) for words in tagger.split_sentences(text)]

    def _tree(self, words: Sequence[str]) -> list[Word]:
        tags = tagger.tag_words(self._tagger, words)
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
    return Linear.load(folder / "tagger.npz"), Linear.load(folder / "arcs.npz"), lemmas
