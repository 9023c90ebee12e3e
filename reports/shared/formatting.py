"""Numbers and lists as a reader expects them in print."""

import math
import re
from collections.abc import Sequence

from metaeval.results.base import MetricResult
from metaeval.runs.files import digest

DASH = "–"
MOST_CHARACTERS = 2000  # of a caption that a page shows


def known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def number(value: float | None, digits: int = 3, *, sign: bool = False) -> str:
    """0.646, −0.112; with `sign`, +0.646. A dash for a missing number."""
    if value is None or not math.isfinite(value):
        return DASH
    text = f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("+-")
    return text.replace("-", "−")


def p_value(p: float | None, digits: int = 4) -> str:
    """0.0341, <0.0001, and a dash where there is none."""
    least = 10**-digits
    return f"<{least:.{digits}f}" if p is not None and p < least else number(p, digits)


def plainly(value: float) -> str:
    """A score in running text: 0, 1, 0.25."""
    return number(value, 0) if value == round(value) else number(value)


def percent(share: float | None, digits: int = 1) -> str:
    """A share in [0, 1] as 38.6%; never 0.0% or 100.0% for what is neither."""
    if share is None or not math.isfinite(share):
        return DASH
    smallest = 10**-digits
    value = 100 * share
    if 0 < value < smallest / 2:
        return f"<{smallest:.{digits}f}%"
    if 100 - smallest / 2 < value < 100:
        return f">{100 - smallest:.{digits}f}%"
    return f"{value:.{digits}f}%"


def count(value: int) -> str:
    return f"{value:,}"


def plain(value: object) -> str:
    """A cell of a table as a reader expects it."""
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return count(value)
    return number(value) if isinstance(value, float) else str(value)


def interval(pair: Sequence[float | None] | None, digits: int = 3) -> str:
    if not pair or not all(known(x) for x in pair):
        return DASH
    return f"{number(pair[0], digits)} to {number(pair[1], digits)}"


def number_with_interval(value: float | None, pair: Sequence[float | None] | None) -> str:
    """0.646 [0.601, 0.688]: a number and its interval, as papers print them."""
    if not pair or not all(known(x) for x in pair):
        return number(value)
    return f"{number(value)} [{number(pair[0])}, {number(pair[1])}]"


def cut(text: str, most: int = MOST_CHARACTERS) -> str:
    """A text of at most so many characters; of a longer one the beginning, saying so.

    >>> cut("a dog runs", 5)
    'a dog … (cut: 10 characters)'
    """
    if len(text) <= most:
        return text
    return f"{text[:most].rstrip()} … (cut: {len(text):,} characters)"


def capital(text: str) -> str:
    return text[:1].upper() + text[1:] if text[:1].isascii() else text


def seconds(value: float | None) -> str:
    """0.4 s, 12 s, 1 min 23 s."""
    if value is None or not math.isfinite(value):
        return DASH
    if value < 9.95:
        return f"{value:.1f} s"
    whole = round(value)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02d} s"


def file_stem(name: str) -> str:
    """A name as a file name: one part of a path, of at most 67 bytes.

    A digest of the name follows where it is changed, or could be such a digest: no two names share
    a file.

    >>> file_stem("BLEU-4"), file_stem("X/Y"), file_stem("X Y")
    ('BLEU-4', 'X_Y-944415', 'X_Y-40489e')
    >>> file_stem(".."), file_stem("X_Y-944415")
    ('name-5ec1f7', 'X_Y-944415-77c17a')
    """
    stem = re.sub(r"[^\w.-]+", "_", name).strip("_.").encode()[:60].decode(errors="ignore")
    is_digest = re.search(r"-[0-9a-f]{6}\Z", name) is not None
    return stem if stem == name and not is_digest else f"{stem or 'name'}-{digest(name).hex()[:6]}"


def row_kind(metric: MetricResult) -> str:
    """The kind of a metric's row.

    "result"; "part" (SPICE-object of SPICE); "control" (a score that metrics must exceed);
    "random" (untrained weights); or "absent" (the metric did not run).
    """
    if not metric.ok:
        return "absent"
    if metric.column.untrained:
        return "random"
    if metric.column.control:
        return "control"
    return "result" if metric.column.part_of is None else "part"
