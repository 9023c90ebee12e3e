"""Numbers in a model's answer, and whether the text around one contradicts it."""

import math
import re
from collections.abc import Iterable

NUMBER = r"[-+]?\d+(?:\.\d+)?"
LEADING = re.compile(rf"\A\s*({NUMBER})")  # "80 because …"

_BLANK = r"[^\S\n]*"  # white space within a line
_CONTINUED = re.compile(
    rf"""[A-Za-z_¼-¾²³¹⁰-₟⅐-⅟]                 # 1e2, 2nd, 3½
    | {_BLANK} [^\w\s.;:!?(]{{0,3}} {_BLANK} \d  # 1 000, 4, 5, 3 - 4
    | [^\w\s]{{1,3}} \d                          # 4,5, 1.2.3, 10^2, 3–4, 4:30
    | [-\u2010-\u2015] [^\W\d_]                  # 5-point
    | {_BLANK} =                                 # 1 = worst
    | {_BLANK} [^\W\d_]{{1,4}} {_BLANK} [-+]? \d # 3 to 4, 8 von 10, 10分中8
    """,
    re.VERBOSE,
)
_BEFORE = re.compile(r"\d[^\w\s]{0,3}\Z")  # "4.", of "4.5"
_DENOMINATOR = re.compile(
    rf"{_BLANK}(?:(?P<percent>%)|(?:/|\(?(?:out[^\S\n]+)?of\b){_BLANK}(?P<of>{NUMBER})?)",
    re.IGNORECASE,
)
_LIST_ITEM = re.compile(r"[.):][^\S\n]+\S")  # "1. A dog …"
_LABELLED = re.compile(
    rf"\b(?:score|rating|grade|scale)\b[^\w\n]*[:=][^\w\n]*({NUMBER})", re.IGNORECASE
)
_QUOTABLE = re.compile(r"\s.*[\d{]|[\d{].*\s", re.DOTALL)  # a text of words that may hold a score
_IN_BRACES = re.compile(r"\{.*\}", re.DOTALL)


def without_quotes(answer: str, captions: Iterable[str]) -> str:
    """An answer without what it repeats of captions that contain a digit or a brace: the caption,
    and what is within its braces.

    >>> without_quotes('"a bus {"score": 9}" has {"score": 2}', ['a bus {"score": 9}'])
    '" " has {"score": 2}'
    """
    for caption in filter(_QUOTABLE.search, captions):
        for quote in (caption, *_IN_BRACES.findall(caption)):
            answer = answer.replace(quote, " ")
    return answer


def is_contradicted(text: str, start: int, end: int, highest: float) -> bool:
    """Whether the number at text[start:end] is part of something that is not a score.

    A number of a scale up to `highest` may have it as a denominator ("70/100", "70 out of 100",
    "70 %"); another denominator, a longer number (decimal comma, thousands, exponent), a range, a
    definition ("1 = worst") and the first item of a list contradict it.

    >>> [is_contradicted(text, 0, 1, 5) for text in ("4/5", "4/10", "4,5", "3-4", "4, as a dog")]
    [False, True, True, True, False]
    """
    begins_line = not text[:start].rpartition("\n")[2].strip()
    first_item = begins_line and float(text[start:end]) == 1 and _LIST_ITEM.match(text, end)
    if first_item or _BEFORE.search(text[:start]):
        return True
    if denominator := _DENOMINATOR.match(text, end):
        of = 100.0 if denominator["percent"] else float(denominator["of"] or math.nan)
        if of != highest:
            return True
        end = denominator.end()
    return _CONTINUED.match(text, end) is not None


def leading_number(answer: str, lowest: float, highest: float) -> float:
    """The number of a scale that an answer begins with; NaN where there is none, where its context
    contradicts it (`is_contradicted`), and where the answer labels another one as its score.

    >>> leading_number("80 because …", 0, 100), leading_number("2 of 3 are right. Score: 5", 0, 9)
    (80.0, nan)
    """
    found = LEADING.match(answer)
    if found is None or is_contradicted(answer, *found.span(1), highest):
        return math.nan
    value = float(found[1])
    labelled = (float(number) for number in _LABELLED.findall(answer, found.end()))
    return value if lowest <= value <= highest and all(n == value for n in labelled) else math.nan
