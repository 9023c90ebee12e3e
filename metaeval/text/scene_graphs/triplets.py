"""Captions → the words of their relation triplets, parsed once and kept in the content store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from metaeval.data.dataset import Absent
from metaeval.runs.digests import digest
from metaeval.runs.store import Store
from metaeval.text.scene_graphs import parse

Triplet = tuple[str, str, str]
_CHUNK = 5000  # captions between two writes


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
        Where triplets are kept; `None` parses anew each time.
    cache
        The folder into which SPICE's parts were installed.
    """

    def __init__(
        self, name: str = "lexicon", store: Store | None = None, cache: Path | None = None
    ) -> None:
        self.name = parse.check_parser(name)
        self.store, self.cache = store, cache

    def missing(self) -> Absent | None:
        """What keeps the parser from running here."""
        return parse.missing_parts(self.name, self.cache)

    def identity(self) -> str:
        """What would change a triplet, for signatures and cards."""
        return parse.parser_identity(self.name)

    def __call__(self, captions: Sequence[str]) -> list[list[Triplet]]:
        """The triplets of each caption, in the parser's order."""
        distinct = list(dict.fromkeys(captions))
        namespace = f"triplets|{self.identity()}|v:1"
        keys = {text: digest(text) for text in distinct}
        known = self.store.get_many(namespace, list(keys.values())) if self.store else {}
        triplets: dict[str, list[Triplet]] = {}
        new = []
        for text in distinct:
            if (value := known.get(keys[text])) is None:
                new.append(text)
            else:
                triplets[text] = [(s, p, o) for s, p, o in json.loads(value)]
        for start in range(0, len(new), _CHUNK):
            texts = new[start : start + _CHUNK]
            graphs = parse.parse_captions(texts, self.name, self.store, cache=self.cache)
            parsed = {text: list(g.relations) for text, g in zip(texts, graphs, strict=True)}
            triplets.update(parsed)
            if self.store:
                rows = {keys[text]: json.dumps(parsed[text]).encode() for text in texts}
                self.store.put_many(namespace, rows)
        return [triplets[text] for text in captions]


def words_of(triplet: Triplet) -> list[str]:
    """A triplet as the sequence of words that the network reads."""
    return [word for part in triplet for word in part.split()]
