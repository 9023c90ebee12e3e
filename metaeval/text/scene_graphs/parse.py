"""Captions as scene graphs: objects, their attributes, and relations between them.

"corenlp" is SPICE's own parser (Java; see `spice_service.py`), the one that papers mean.
"perceptron" (`dependencies/`) is built in and rougher (`research/scene_graph.py` measures how
much). "lexicon" (`rules/`) is built in too, rougher still and faster: FAIEr's shipped
weights were trained with it.

    >>> parse_captions(["A brown dog sits on two chairs."], parser="perceptron")[0].relations
    (('dog', 'sit on', 'chair'),)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from metaeval.data.dataset import Absent
from metaeval.errors import ConfigError
from metaeval.readers.files import user_path
from metaeval.runs.store import Store
from metaeval.text.scene_graphs import spice_service
from metaeval.text.scene_graphs.dependencies import parser as dependencies
from metaeval.text.scene_graphs.rules import parser as rules
from metaeval.text.scene_graphs.spice_service import (
    HEAP_MIB,
    SENTENCE_SECONDS,
    SpiceParser,
    Tuples,
)

PARSERS = ("corenlp", "perceptron", "lexicon")
AUTO = "auto"


@dataclass(frozen=True, slots=True)
class CaptionGraph:
    """What a caption says is there; everything in lower case, nouns and verbs as lemmas.

    `objects`: distinct, in order of mention by the parser: ("dog", "chair").
    `attributes`: distinct (object, attribute): (("dog", "brown"), ("chair", "two")).
    `relations`: distinct (subject, predicate, object): (("dog", "sit on", "chair"),).
    """

    objects: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...]
    relations: tuple[tuple[str, str, str], ...]

    @classmethod
    def from_tuples(cls, tuples: Tuples) -> CaptionGraph:
        """A graph from proposed tuples as they are, nothing merged but what is equal.

        The same as SPICE's command with `-noSynsets`: objects of attributes and relations are
        objects too, and a leading "be" of a relation is dropped.
        """
        objects: dict[str, None] = {}
        attributes: dict[tuple[str, str], None] = {}
        relations: dict[tuple[str, str, str], None] = {}
        for proposed in tuples:
            objects[proposed[0]] = None
            if len(proposed) == 2:
                attributes[proposed[0], proposed[1]] = None
            elif len(proposed) == 3:
                objects[proposed[1]] = None
                relations[proposed[0], proposed[2].removeprefix("be "), proposed[1]] = None
        return cls(tuple(objects), tuple(attributes), tuple(relations))


# Called with sentences: per sentence a list of [object], [object, attribute], [subject, object,
# relation], in SPICE's form; `None` where the sentence could not be parsed.
TupleParser = dependencies.DependencyParser | rules.RuleParser | SpiceParser


def default_cache() -> Path:
    """The cache folder where none is configured: METAEVAL_CACHE, else ~/.cache/metaeval."""
    return user_path(os.environ.get("METAEVAL_CACHE") or "~/.cache/metaeval")


def check_parser(name: str, *others: str) -> str:
    """The name of a parser that there is, or one of `others`; ConfigError for another."""
    if name not in (known := (*others, *PARSERS)):
        raise ConfigError(f"unknown parser '{name}'; choose from {', '.join(known)}")
    return name


def choose_parser(name: str, cache: Path | None = None) -> str:
    """The parser called so; for "auto", "corenlp" where it can run, otherwise "perceptron".

    Starts nothing but `java -version`. ConfigError for other names.
    """
    if name == AUTO:
        return "perceptron" if missing_parts("corenlp", cache) else "corenlp"
    return check_parser(name, AUTO)


def missing_parts(parser: str, cache: Path | None = None) -> Absent | None:
    """What keeps the parser of this name from running here, or `None`."""
    if check_parser(parser) != "corenlp":
        return None
    java = spice_service.find_service_java(cache or default_cache())
    return java if isinstance(java, Absent) else None


def parser_identity(parser: str) -> str:
    """What would change a tuple, for signatures and cards; JavaError without SPICE's jars."""
    if check_parser(parser) == "corenlp":
        return spice_service.jars_identity()
    return dependencies.model_identity() if parser == "perceptron" else rules.IDENTITY


def parser_of(identity: str) -> str:
    """The name of the parser with this identity, of this version of its model or another."""
    if identity == rules.IDENTITY:
        return "lexicon"
    return "perceptron" if identity.startswith(f"{dependencies.VERSION}-") else "corenlp"


def open_parser(
    parser: str,
    *,
    store: Store | None = None,
    cache: Path | None = None,
    heap: int = HEAP_MIB,
    threads: int | None = None,
    sentence_seconds: float = SENTENCE_SECONDS,
) -> TupleParser:
    """The parser of this name; close it when done.

    `heap`, `threads` and `sentence_seconds` limit "corenlp", see `SpiceParser`. ConfigError for
    other names.
    """
    if check_parser(parser) == "perceptron":
        return dependencies.DependencyParser()
    if parser == "lexicon":
        return rules.RuleParser()
    return SpiceParser(
        cache or default_cache(),
        store,
        heap=heap,
        threads=threads,
        sentence_seconds=sentence_seconds,
    )


def parse_captions(
    captions: Sequence[str],
    parser: str = "corenlp",
    store: Store | None = None,
    *,
    cache: Path | None = None,
) -> list[CaptionGraph]:
    """The scene graph of each caption; an empty one (logged) where the parser fails.

    Parameters
    ----------
    captions
        Any text; equal captions are parsed once.
    parser
        One of `PARSERS`.
    store
        Where "corenlp" keeps what it has parsed; captions found there need no parsing.
    cache
        The folder into which SPICE's parts were installed; by default `default_cache()`.

    Raises
    ------
    ConfigError
        The name of the parser is unknown.
    JavaError
        SPICE's parser cannot run here; `missing_parts` says why without raising.
    """
    with closing(open_parser(parser, store=store, cache=cache)) as service:
        return [CaptionGraph.from_tuples(tuples or []) for tuples in service(captions)]


Triplet = tuple[str, str, str]


class TripletParser:
    """Relation triplets (subject, predicate, object) of captions.

    "corenlp" is the parser that the paper uses, and needs Java. The shipped weights were trained
    with "lexicon": with another parser they meet triplets that they have not learned from. A
    predicate may have several words. Equal triplets of a caption count once.

    Parameters
    ----------
    name
        One of `parse.PARSERS`; ConfigError for another.
    store
        Where "corenlp" keeps what it has parsed.
    cache
        The folder into which SPICE's parts were installed.
    """

    def __init__(
        self, name: str = "lexicon", store: Store | None = None, cache: Path | None = None
    ) -> None:
        self.name = check_parser(name)
        self.store, self.cache = store, cache

    def missing(self) -> Absent | None:
        """What keeps the parser from running here."""
        return missing_parts(self.name, self.cache)

    def identity(self) -> str:
        """What would change a triplet, for signatures and cards."""
        return parser_identity(self.name)

    def __call__(self, captions: Sequence[str]) -> list[list[Triplet]]:
        """The triplets of each caption, in the parser's order."""
        graphs = parse_captions(captions, self.name, self.store, cache=self.cache)
        return [list(graph.relations) for graph in graphs]


def triplet_words(triplet: Triplet) -> list[str]:
    """A triplet as the sequence of words that the network reads."""
    return " ".join(triplet).split()
