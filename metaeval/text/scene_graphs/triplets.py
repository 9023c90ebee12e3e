"""Captions → the words of their relation triplets, parsed once and kept in the content store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from metaeval.data.dataset import Absent
from metaeval.errors import ConfigError
from metaeval.runs.store import Store
from metaeval.text.scene_graphs import parse, spice_service
from metaeval.text.scene_graphs.rules import rules

Triplet = tuple[str, str, str]
_CHUNK = 5000  # captions between two writes


class TripletParser:
    """Relation triplets (subject, predicate, object) of captions, by "rules" or by "spice".

    "spice" is the parser that the paper uses, and needs Java; "rules" is built in. Predicates may
    be of several words. Equal triplets of a caption count once.

    Parameters
    ----------
    name
        One of `scene_graph.PARSERS`.
    store
        Where triplets are kept; `None` parses anew each time.
    cache
        The folder into which SPICE's parts were installed.
    """

    def __init__(
        self, name: str = "rules", store: Store | None = None, cache: Path | None = None
    ) -> None:
        if name not in parse.PARSERS:
            known = ", ".join(parse.PARSERS)
            raise ConfigError(f"unknown parser '{name}' of triplets: choose from {known}")
        self.name, self.store, self.cache = name, store, cache

    def missing(self) -> Absent | None:
        """What keeps the parser from running here."""
        return parse.missing(self.name, self.cache)

    def identity(self) -> str:
        """What would change a triplet, for signatures and cards."""
        return rules.IDENTITY if self.name == "rules" else spice_service.identity()

    def __call__(self, captions: Sequence[str]) -> list[list[Triplet]]:
        """The triplets of each caption, in the parser's order."""
        distinct = list(dict.fromkeys(captions))
        namespace = f"triplets|{self.identity()}|v:1"
        keys = {text: hashlib.sha256(text.encode()).digest()[:16] for text in distinct}
        known = self.store.get_many(namespace, list(keys.values())) if self.store else {}
        found: dict[str, list[Triplet]] = {}
        todo = []
        for text in distinct:
            if (value := known.get(keys[text])) is None:
                todo.append(text)
            else:
                found[text] = [(s, p, o) for s, p, o in json.loads(value)]
        for start in range(0, len(todo), _CHUNK):
            mine = todo[start : start + _CHUNK]
            graphs = parse.parse(mine, self.name, self.store, cache=self.cache)
            new = {text: list(g.relations) for text, g in zip(mine, graphs, strict=True)}
            found.update(new)
            if self.store:
                rows = {keys[text]: json.dumps(new[text]).encode() for text in mine}
                self.store.put_many(namespace, rows)
        return [found[text] for text in captions]


def words_of(triplet: Triplet) -> list[str]:
    """A triplet as the sequence of words that the network reads."""
    return [word for part in triplet for word in part.split()]
