"""Captions as scene graphs: objects, their attributes, and relations between them.

Two parsers: "spice" is SPICE's own (Java and CoreNLP; see `spice_install`), the one that papers
mean; "rules" is in pure Python and needs nothing, for machines without Java, and rougher
(`benchmarks/scene_graph.py` measures how much).

    >>> parse(["A brown dog sits on two chairs."], parser="rules")[0].relations
    (('dog', 'sit on', 'chair'),)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from metaeval.data.dataset import Absent
from metaeval.errors import ConfigError
from metaeval.runs.store import Store
from metaeval.text.scene_graphs import spice_service
from metaeval.text.scene_graphs.rules.rules import RuleParser
from metaeval.text.scene_graphs.spice_service import SpiceParser, Tuples

PARSERS = ("spice", "rules")


@dataclass(frozen=True, slots=True)
class SceneGraph:
    """What a caption says is there; everything in lower case, nouns and verbs as lemmas.

    `objects`: distinct, in order of mention by the parser: ("dog", "chair").
    `attributes`: distinct (object, attribute): (("dog", "brown"), ("chair", "two")).
    `relations`: distinct (subject, predicate, object): (("dog", "sit on", "chair"),).
    """

    objects: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...]
    relations: tuple[tuple[str, str, str], ...]


class Parser(Protocol):
    """What turns sentences into proposed tuples, in SPICE's form."""

    def __call__(self, sentences: Sequence[str]) -> list[Tuples | None]:
        """Per sentence a list of [object], [object, attribute], [subject, object, relation];
        `None` where the sentence could not be parsed."""
        ...

    def close(self) -> None:
        """Release what the parser holds."""
        ...


def default_cache() -> Path:
    """The cache folder where none is configured: METAEVAL_CACHE, else ~/.cache/metaeval."""
    return Path(os.environ.get("METAEVAL_CACHE") or "~/.cache/metaeval").expanduser()


def missing(parser: str, cache: Path | None = None) -> Absent | None:
    """What keeps this parser from running here, or `None`."""
    return None if parser == "rules" else spice_service.missing(cache or default_cache())


def open_parser(
    parser: str, *, store: Store | None = None, cache: Path | None = None, **options: float | None
) -> Parser:
    """The parser called "spice" or "rules"; close it when done.

    `options` go to `SpiceParser`: heap, threads, sentence_seconds. ConfigError for other names.
    """
    if parser == "rules":
        return RuleParser()
    if parser == "spice":
        return SpiceParser(cache or default_cache(), store, **options)  # type: ignore[arg-type]
    raise ConfigError(f"unknown scene-graph parser '{parser}': choose from {', '.join(PARSERS)}")


def parse(
    sentences: Sequence[str],
    parser: str = "spice",
    store: Store | None = None,
    *,
    cache: Path | None = None,
) -> list[SceneGraph]:
    """The scene graph of each sentence; an empty one (logged) where the parser fails.

    Parameters
    ----------
    sentences
        Any text; equal sentences are parsed once.
    parser
        "spice" or "rules".
    store
        Where "spice" keeps what it has parsed; sentences found there need no parsing.
    cache
        The folder into which SPICE's parts were installed; by default `default_cache()`.

    Raises
    ------
    ConfigError
        There is no parser of that name.
    JavaError
        SPICE's parser cannot run here; `missing` says why without raising.
    """
    service = open_parser(parser, store=store, cache=cache)
    try:
        return [from_tuples(tuples or []) for tuples in service(sentences)]
    finally:
        service.close()


def from_tuples(tuples: Tuples) -> SceneGraph:
    """A graph from proposed tuples as they are, nothing merged but what is equal.

    The same as SPICE's command with `-noSynsets`: objects of attributes and relations are objects
    too, and a leading "be" of a relation is dropped.
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
    return SceneGraph(tuple(objects), tuple(attributes), tuple(relations))
