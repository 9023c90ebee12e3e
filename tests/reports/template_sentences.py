"""The sentences that templates and scripts state about a run, as `sentences.py` lists those of
functions.

A text of a template that is the same on every page defines what is shown. One that is filled in, or
that stands in an `{% if %}` or an `{% else %}`, states something about the run. By their place
legends (`_LEGEND_CLASSES`), headings, heads of tables and captions define, except what is
conditional inside them. A string inside `{{ … }}` that ends with a full stop is a text of its own.
Of a script, every string can be a sentence.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import NamedTuple

_TAG = re.compile(r"\{%-?\s*(?P<word>\w+).*?%\}", re.DOTALL)
_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
_FILLED = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_MARKS = {"if": "\x01", "elif": "\x02", "else": "\x02", "endif": "\x03", "for": "\x04",
          "endfor": "\x03"}  # fmt: skip
_STRING = re.compile(r'"([^"]*)"')
_LITERAL = re.compile(r'`(?:[^`\\]|\\.)*`|"(?:[^"\\\n]|\\.)*"')
_COMMENT_LINE = re.compile(r"^\s*//.*$", re.MULTILINE)
_MARK = re.compile("([\x01-\x04])")
_INLINE = {"a", "b", "br", "code", "em", "i", "small", "span", "strong", "sup"}
_VOID = {"br", "img", "link", "meta"}
_LEGENDS = {"button", "caption", "figcaption", "h1", "h2", "h3", "label", "option", "summary",
            "th", "title"}  # fmt: skip
_LEGEND_CLASSES = {"lead", "key", "swatches"}


class _Element(NamedTuple):
    tag: str
    legend: bool
    depth: int  # of the conditions that were open at its start
    text: list[str]


class _Reader(HTMLParser):
    """Collects the texts of elements that are filled in or conditional."""

    def __init__(self) -> None:
        super().__init__()
        self.conditions: list[bool] = []  # an open `for` is none before its `else`
        self.elements = [_Element("", False, 0, [])]
        self.statements: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _INLINE or tag in _VOID:
            return
        classes = set((dict(attrs).get("class") or "").split())
        outer = self.elements[-1]
        legend = outer.legend or tag in _LEGENDS or bool(classes & _LEGEND_CLASSES)
        self._end_text()
        depth = outer.depth if outer.legend else len(self.conditions)
        self.elements.append(_Element(tag, legend, depth, []))

    def handle_endtag(self, tag: str) -> None:
        if any(element.tag == tag for element in self.elements[1:]):
            self._end_text()
            while self.elements.pop().tag != tag:
                pass

    def handle_data(self, data: str) -> None:
        for part in _MARK.split(data):
            if part in ("\x01", "\x04"):
                self._end_text(part == "\x01")
                self.conditions.append(part == "\x01")
            elif part == "\x02":
                self._end_text(True)
                self.conditions[-1:] = [True]
            elif part == "\x03":
                self._end_text(True)
                del self.conditions[-1:]
            else:
                self.elements[-1].text.append(part)

    def _end_text(self, split: bool = True) -> None:
        element = self.elements[-1]
        text = " ".join("".join(element.text).split())
        if not split:
            return
        element.text.clear()
        conditional = any(self.conditions[element.depth if element.legend else 0 :])
        if conditional or ("{}" in text and not element.legend):
            self.statements.append(text)


def statements(source: str) -> list[str]:
    """The texts of a template that state something about a run, with {} for what is filled in."""
    source = _COMMENT.sub("", source)
    text = _FILLED.sub("{}", source)
    reader = _Reader()
    reader.feed(_TAG.sub(lambda tag: _MARKS.get(tag["word"], ""), text))
    reader.close()
    strings = [s for filled in _FILLED.findall(source) for s in _STRING.findall(filled)]
    strings = [s for s in strings if s.endswith(".")]  # others are labels
    return [text for text in dict.fromkeys([*reader.statements, *strings]) if text]


def strings(script: str) -> list[str]:
    """The strings of a script, with {} for what is filled in."""
    found = _LITERAL.findall(_COMMENT_LINE.sub("", script))
    return [re.sub(r"\$\{[^}]*\}", "{}", literal[1:-1]) for literal in dict.fromkeys(found)]
