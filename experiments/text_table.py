"""Tables in plain text, for what a run prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median


def text_table(lines: Sequence[Mapping[str, str]], corner: str) -> Iterator[str]:
    """Lines of cells under heads, the first (`metric`) to the left and under `corner`.

    An empty column is left out.

    >>> print(*text_table([{"metric": "A", "x": "1"}, {"metric": "BB", "x": "10"}], "m"), sep="\\n")
    m    x
    A    1
    BB  10
    """
    heads = [h for h in dict.fromkeys(k for line in lines for k in line) if h != "metric"]
    heads = [h for h in heads if any(line.get(h) for line in lines)]
    cells = [[corner, *heads], *([line["metric"], *(line.get(h, "") for h in heads)]
                                 for line in lines)]  # fmt: skip
    widths = [max(len(row[k]) for row in cells) for k in range(len(heads) + 1)]
    for row in cells:
        first, *others = [
            f"{cell:{'<' if k == 0 else '>'}{width}}"
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join([first, *others]).rstrip()


def spread(counts: Sequence[int]) -> str:
    """The least, the median and the greatest of some counts.

    >>> spread([5, 1, 2, 2])
    'least 1, median 2, most 5'
    """
    return f"least {min(counts):,}, median {median(counts):,g}, most {max(counts):,}"


def percent(share: float | None, digits: int = 1) -> str:
    """A share in percent, without the sign; empty where it is undefined.

    >>> percent(0.415), percent(0.415, 3), percent(None)
    ('41.5', '41.500', '')
    """
    return "" if share is None else f"{100 * share:.{digits}f}"
