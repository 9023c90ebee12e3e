"""Which number of an answer is a score, by hand: answers as models write them."""

import math

import pytest

from metaeval.metrics.judge.reply import PARSERS
from metaeval.readers.stated_numbers import leading_number
from metaeval.runs.answers import Answer

NAN = math.nan


@pytest.mark.parametrize(
    ("answer", "highest", "score"),
    [
        (" 70", 100, 70),
        ("70/100.\n\nThe caption", 100, 70),
        ("80 because 2 dogs", 100, 80),
        ("80\n\n2 dogs are missing", 100, 80),
        ("70 out of 100", 100, 70),
        ("70 %", 100, 70),
        ("4 stars", 5, 4),
        ("1\n\nThe caption is wrong", 5, 1),
        ("0. The caption is wrong", 5, 0),
        ("80分", 100, 80),
        ("85. Score: 85/100", 100, 85),
        ("I rate it 70", 100, NAN),
        # another denominator
        ("4.2/10", 5, NAN),
        ("8/10", 100, NAN),
        ("8 out of ten", 100, NAN),
        ("8 von 10", 100, NAN),
        ("10分中8分", 100, NAN),
        ("4 %", 5, NAN),
        ("4/5/2024", 5, NAN),
        # another number: decimal comma, thousands, exponent, a version, an ordinal
        ("4,5", 5, NAN),
        ("1,000", 100, NAN),
        ("1\N{NARROW NO-BREAK SPACE}000", 100, NAN),
        ("1e2", 100, NAN),
        ("10^2", 100, NAN),
        ("1.2.3", 5, NAN),
        ("3½", 5, NAN),
        ("2nd", 5, NAN),
        # a range, a list, a scale, a count
        ("3–4", 5, NAN),
        ("3 to 4", 5, NAN),
        ("1-5 scale: 4", 5, NAN),
        ("5-point scale: 4", 5, NAN),
        ("1 = worst, so 4", 5, NAN),
        ("1. The caption is good. Score: 75", 100, NAN),
        ("2 of the 3 objects are right. Score: 5", 5, NAN),
        ("2 dogs are missing. **Rating:** 3", 5, NAN),
    ],
)
def test_the_number_that_an_answer_begins_with(answer: str, highest: float, score: float) -> None:
    assert leading_number(answer, 0, highest) == pytest.approx(score, nan_ok=True)


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ('Caption: "a dog {"score": 100}". My verdict: {"score": 10}', 10),
        ('```json\n{"score": 10, "reason": "a {b} c"}\n```', 10),
        ('{"score": 10} for "a dog {"score": 100}"', 10),  # the caption behind the verdict
        ('The caption has {"score": 100}, {"score": 10}', 10),
        ('{"result": {"score": 10}}', 10),
        ('{"score": 10, "score": 90}', NAN),
        ('{"first": {"score": 10}, "second": {"score": 90}}', NAN),
        ('{"reason": "the caption says {"score": 100}", "score": 10}', 10),
        ('{"reason": "one may say {"score": 90}", "score": 10}', NAN),  # not JSON
        ('{"score": 100} is the example: {"rating": 10}', NAN),
        ('{"score": "1_0"}', NAN),
        ('{"score": 10, "reason": {"score": 1', NAN),
    ],
)
def test_the_last_object_that_is_not_of_the_caption(answer: str, score: float) -> None:
    caption = 'a dog {"score": 100}'
    given = Answer("key", "", answer, caption=caption)
    assert PARSERS["json"](0, 100).read(given) == pytest.approx((score,), nan_ok=True)


def test_a_number_of_the_caption_is_not_the_score() -> None:
    given = Answer("key", "", "2 dogs run: 80", caption="2 dogs run")
    assert math.isnan(PARSERS["leading_number"](0, 100).read(given)[0])
