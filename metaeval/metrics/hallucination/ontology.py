"""The objects that a caption mentions: words and phrases by category, from a file.

The file is JSON: `words` maps each category to its words and phrases (plurals included), `ignored`
lists phrases in which no category is meant, `qualifiers` maps a word ("baby") to the categories
before whose words it does not name an object. The last two may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metaeval.errors import InputError
from metaeval.readers.json_text import read_json

COCO = Path(__file__).with_name("coco_objects.json")  # made by benchmarks/chair/ontology.py
_TOKEN = re.compile(r"\w+(?:['-]\w+)*")


class Ontology:
    """The categories of an ontology and the words for them.

    `identity` is the file's name and the start of its SHA-256, for signatures. Raises InputError
    for a file that is not as it should be, and for a word of two categories.
    """

    def __init__(self, path: Path) -> None:
        value, sha256 = read_json(path)
        words = _mapping(value, "words", path)
        self.identity = f"{path.stem}-{sha256[:12]}"
        self.categories = tuple(words)
        self._owner: dict[tuple[str, ...], str | None] = {}
        for phrase in value.get("ignored", []):
            self._owner[_tokens(str(phrase))] = None
        for category, names in words.items():
            for name in names:
                tokens = _tokens(name)
                if (other := self._owner.get(tokens, category)) not in (category, None):
                    problem = f"belongs to '{other}' and to '{category}'"
                    raise InputError(problem, file=path, record=f"word '{name}'", field="words")
                self._owner.setdefault(tokens, category)
        self._qualified = {
            word: frozenset(categories)
            for word, categories in _mapping(value, "qualifiers", path, {}).items()
        }
        self._longest = max(map(len, self._owner), default=1)

    def mentions(self, caption: str) -> list[tuple[str, str]]:
        """(phrase, category) for each object that a caption mentions, in order.

        Read from the left, the longest phrase first; a word within a phrase does not count by
        itself.
        """
        tokens = _tokens(caption)
        mentions: list[tuple[str, str]] = []
        i = 0
        while i < len(tokens):
            length = next(
                (
                    n
                    for n in range(min(self._longest, len(tokens) - i), 0, -1)
                    if tokens[i : i + n] in self._owner
                ),
                0,
            )
            category = self._owner.get(tokens[i : i + length]) if length else None
            after = i + max(length, 1)
            if category is not None and not self._qualifies(tokens, i, after):
                mentions.append((" ".join(tokens[i:after]), category))
            i = after
        return mentions

    def _qualifies(self, tokens: Sequence[str], start: int, after: int) -> bool:
        """Whether the word at `start` only modifies the next one."""
        known = self._qualified.get(tokens[start]) if after == start + 1 else None
        if not known:
            return False
        ends = range(after + 1, min(after + self._longest, len(tokens)) + 1)
        return any(self._owner.get(tuple(tokens[after:end])) in known for end in ends)


def _tokens(text: str) -> tuple[str, ...]:
    """Runs of word characters, in lower case."""
    return tuple(_TOKEN.findall(text.lower()))


def _mapping(value: Any, field: str, path: Path, default: Any = None) -> dict[str, list[str]]:
    """A mapping of texts to lists of texts; InputError for anything else."""
    entry = value.get(field, default) if isinstance(value, dict) else None
    good = isinstance(entry, dict) and all(
        isinstance(names, list) and all(isinstance(name, str) for name in names)
        for names in entry.values()
    )
    if not good:
        raise InputError("should map names to lists of words", file=path, field=field)
    mapping: dict[str, list[str]] = entry  # type: ignore[assignment]
    return mapping
