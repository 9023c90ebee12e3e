"""Sentences that are said where their facts are known: notes, caveats, the parts of a title."""

from collections.abc import Iterable, Iterator
from string import Formatter


def fill_sentences(templates: Iterable[str], **facts: object) -> Iterator[str]:
    """The sentences of which every fact is known, filled in; None and "" say that it is not.

    >>> list(fill_sentences(["{a} of {n:,}.", "Always.", "No {b}."], a=1, n=2000, b=""))
    ['1 of 2,000.', 'Always.']
    """
    known = {name for name, fact in facts.items() if fact is not None and fact != ""}
    for template in templates:
        fields = [name for _, name, _, _ in Formatter().parse(template) if name]
        if {field.partition(".")[0] for field in fields} <= known:
            yield template.format(**facts)
