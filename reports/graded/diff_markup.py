"""Marks a corrupted caption's changed words, in the caption's own text.

A marked caption is the caption with every change wrapped in control characters:
`OPEN kind before MID after CLOSE`. Dropping everything from OPEN to MID and every CLOSE gives the
caption back. Kinds: s substituted, i inserted, d deleted, m moved (its words only changed places).
"""

from __future__ import annotations

import difflib
import re
import string
from collections.abc import Iterable, Mapping
from typing import Any

OPEN, MID, CLOSE = "\x01", "\x02", "\x03"
_MARKS = re.compile(f"[{OPEN}{MID}{CLOSE}]")
_DELETED = re.compile(f"{OPEN}d[^{CLOSE}]*{CLOSE} ?")
_BEFORE = re.compile(f"{OPEN}[^{MID}]*{MID}")

Change = tuple[int, str, str]  # position in the source, words before, words after


def marked(source: str, caption: str, edits: Iterable[Mapping[str, Any]] | None) -> str:
    """`caption` with the words that `edits` changed marked.

    The edits are believed only if applying them to the source gives the caption; if not, the
    changes are found by comparing the two word by word. A caption without edits (the human one,
    another image's) has no marks.
    """
    source, caption = _clean(source), _clean(caption)
    changes = [
        (int(e["position"]), _clean(e["before"]), _clean(e["after"]))
        for e in (edits if edits is not None else ())
    ]
    if not changes or source == caption:
        return caption
    words = source.split()
    moved = sorted(_bare(b) for _, b, _ in changes) == sorted(_bare(a) for _, _, a in changes)
    for before_word in (True, False):  # an insertion at p may mean before or after word p
        text = _replayed(words, changes, moved, before_word, caption)
        if text is not None:
            return text
    text = _compared(words, caption.split())
    return text if plain(text) == caption else caption


def plain(text: str) -> str:
    """The caption inside a marked caption."""
    plain = _DELETED.sub("", text)
    plain = _BEFORE.sub("", plain).replace(CLOSE, "")
    return plain[:-1] if text.endswith(CLOSE) and plain.endswith(" ") else plain


def _bare(word: str) -> str:
    """A word as it moves: a full stop may stay where it was."""
    return word.strip(string.punctuation).lower() or word


def _clean(text: str) -> str:
    return _MARKS.sub("\ufffd", text) if OPEN in text or MID in text or CLOSE in text else text


def _mark(before: str, after: str, moved: bool = False) -> str:
    kind = "m" if moved else "d" if not after else "i" if not before else "s"
    return f"{OPEN}{kind}{'' if moved else before}{MID}{after}{CLOSE}"


def _replayed(
    words: list[str], changes: list[Change], moved: bool, before_word: bool, caption: str
) -> str | None:
    """The source with the edits applied and marked, or None where that is not the caption."""
    inserted: dict[int, list[str]] = {}
    changed: dict[int, Change] = {}
    for change in changes:
        position, before, after = change
        if not before and 0 <= position <= len(words):
            inserted.setdefault(position, []).append(after)
        elif position in changed or not 0 <= position < len(words) or words[position] != before:
            return None
        else:
            changed[position] = change
    out: list[str] = []
    bare: list[str] = []
    for position in range(len(words) + 1):
        new = inserted.get(position, [])
        if before_word and new:
            out += [_mark("", word) for word in new]
            bare += new
        if position in changed:
            _, before, after = changed[position]
            out.append(_mark(before, after, moved))
            bare += [after] if after else []
        elif position < len(words):
            out.append(words[position])
            bare.append(words[position])
        if not before_word and new:
            out += [_mark("", word) for word in new]
            bare += new
    return " ".join(out) if " ".join(bare) == caption else None


def _compared(old: list[str], new: list[str]) -> str:
    """A word-by-word comparison, for edits that cannot be replayed."""
    out: list[str] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            out += new[j1:j2]
        else:
            out.append(_mark(" ".join(old[i1:i2]), " ".join(new[j1:j2])))
    return " ".join(out)
