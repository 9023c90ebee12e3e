"""Diagnostics of judges, against cases worked by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from metaeval.metrics.judge.diagnostics import RatedCaption, diagnose, slope_at_equal_rating
from metaeval.results.judge import JudgesFile
from metaeval.runs.answers import Answer


def _answer(caption: str, score: float, sample: int = 0, rival: str | None = None) -> Answer:
    return Answer(
        key=f"{caption} {rival} {sample}",
        request="{}",
        answer="x",
        judge="J",
        image_id="1",
        caption=caption,
        rival=rival,
        sample=sample,
        prompt_tokens=100,
        completion_tokens=5,
        seconds=0.5,
        usd=0.002,
        model="m-1",
        score=score,
    )


def test_one_answer_in_more_than_half_of_the_captions_is_marked() -> None:
    scores = [0, 0, 0, 70, math.nan]
    found, even = (
        diagnose("J", [_answer(f"c{k}", s) for k, s in enumerate(each)])
        for each in (scores, [0, 0, 70, 70])
    )
    assert (found.captions, found.answers, found.distinct, found.unparsed) == (5, 5, 2, 1)
    assert (found.most_frequent, found.most_frequent_share) == (0, 0.75)
    assert (found.dominated, even.dominated) == (True, False)
    per_1000_captions = found.input_tokens, found.output_tokens, found.seconds, found.usd
    assert per_1000_captions == pytest.approx((100_000, 5_000, 500, 2.0))
    assert (found.order_consistency, found.repeatability_sd) == (None, None)
    JudgesFile.model_validate_json(JudgesFile(judges=(found, even)).model_dump_json())


def test_samples_show_repeatability() -> None:
    answers = [_answer("a", s, k) for k, s in enumerate([10, 20, 30])]
    answers += [_answer("b", 50, k) for k in range(3)]
    found = diagnose("J", answers)
    assert found.repeatability_sd == pytest.approx((10 + 0) / 2)  # sd of 10, 20, 30 is 10
    assert found.same_answers == 0.5


def test_answers_to_different_prompts_are_not_samples() -> None:
    """One caption with two sets of references, each asked twice with another seed."""
    answers = [
        replace(
            _answer("a", score, sample),
            key=f"{references}{sample}",
            request=f'{{"messages": "{references}", "sample": {sample}, "seed": {7 + sample}}}',
        )
        for references, scores in (("one", (10, 10)), ("two", (50, 50)))
        for sample, score in enumerate(scores)
    ]
    found = diagnose("J", answers)
    assert (found.captions, found.answers) == (2, 4)
    assert (found.repeatability_sd, found.same_answers) == (0, 1)
    assert found.usd == pytest.approx(1000 * 4 * 0.002 / 2)
    assert diagnose("J", [answers[0], answers[2]]).repeatability_sd is None


def test_orders_show_a_bias_for_the_first_caption() -> None:
    """a–b: the first both times; c–d: c in both orders; e–f: undecided, then the first."""
    answers = [
        _answer("a", 1, rival="b"),
        _answer("b", 1, rival="a"),
        _answer("c", 1, rival="d"),
        _answer("d", 0, rival="c"),
        _answer("e", 0.5, rival="f"),
        _answer("f", 1, rival="e"),
    ]
    found = diagnose("J", answers)
    assert found.order_consistency == pytest.approx(1 / 3)
    assert (found.first_preferred, found.ties) == (pytest.approx(4 / 5), pytest.approx(1 / 6))


def test_the_slope_on_length_is_that_within_equal_ratings() -> None:
    """Scores are 10 times the rating plus 2 a word; longer captions are rated higher."""
    ratings = np.array([1, 1, 1, 4, 4, 4, 4], float)
    words = np.array([3, 5, 9, 10, 12, 11, 20], float)
    scores = 10 * ratings + 2 * words
    scores[1] = math.nan
    assert slope_at_equal_rating(scores, words, ratings) == pytest.approx(2, abs=1e-12)
    assert math.isnan(slope_at_equal_rating(scores, np.ones(7), ratings))


def test_effects_at_equal_rating_by_hand() -> None:
    """A judge of the family qwen adds 5 to captions of Qwen, and 1 a word to every caption."""
    texts = {
        "a b": ("Qwen2-VL", 1),
        "c d e": ("GPT-4o", 1),
        "f g": ("Human", 1),
        "h i j": ("qwen-7b", 4),
        "k l m": ("LLaVA", 4),
        "n o p q": (None, 4),
    }
    rated = [
        RatedCaption("1", text, system, {"rating": float(rating)})
        for text, (system, rating) in texts.items()
    ]
    answers = [
        _answer(text, 10 * rating + len(text.split()) + 5 * ("wen" in str(system)))
        for text, (system, rating) in texts.items()
    ]
    answers = [replace(answer, model="org/Qwen2.5-VL-7B") for answer in answers]
    found = diagnose("J", answers, rated)
    assert found.family == "qwen"
    effects = found.at_equal_rating["rating"]
    assert effects.same_family == 2
    # people and the unknown system are left out: 17 − 13 with rating 1, and 48 − 43 with rating 4
    assert effects.self_preference == pytest.approx((4 + 5) / 2)
    # words less the mean of their rating (7/3, 10/3), times the score: 17, 13, 12; 48, 43, 44
    products = (-17 + 2 * 13 - 12) / 3 + (-48 - 43 + 2 * 44) / 3
    assert effects.length_slope == pytest.approx(products / (2 / 3 + 2 / 3))
    other = diagnose("J", [replace(answer, model="tiny") for answer in answers], rated)
    assert (other.family, other.at_equal_rating["rating"].self_preference) == (None, None)
    assert not diagnose("J", answers).at_equal_rating
