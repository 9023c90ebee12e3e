"""A growing sequence of words that remembers what each of them expresses."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.data.scenes.graph import Mark


class Words:
    """Words and marks; marks count positions from the first word."""

    __slots__ = ("marks", "words")

    def __init__(self) -> None:
        self.words: list[str] = []
        self.marks: list[Mark] = []

    def __len__(self) -> int:
        return len(self.words)

    def add(self, words: Sequence[str], role: str = "", target: int = 0, value: str = "") -> None:
        """Append words; with a role, mark them."""
        start = len(self.words)
        self.words.extend(words)
        if role:
            self.marks.append(Mark(start, len(self.words), role, target, value))

    def join(self, other: Words) -> None:
        """Append another sequence with its marks."""
        shift = len(self.words)
        self.words.extend(other.words)
        self.marks.extend([Mark(m[0] + shift, m[1] + shift, m[2], m[3], m[4]) for m in other.marks])

    def wrap(self, role: str, target: int, value: str = "") -> None:
        """Mark all words so far."""
        self.marks.append(Mark(0, len(self.words), role, target, value))
