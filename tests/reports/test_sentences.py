"""Marks of tests that falsify a sentence name functions that exist."""

from __future__ import annotations

from tests.reports.sentences import falsifiers, functions, writers


def test_every_mark_names_a_function() -> None:
    assert len(writers()) > 50
    marked = falsifiers()
    assert len(marked) > 20
    assert not marked.keys() - functions()
