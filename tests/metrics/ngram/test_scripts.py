"""ROUGE-1 and ROUGE-2: other scripts than Latin by hand, Latin ones by rouge-score's rule."""

import re
from collections import Counter

import numpy as np
import pytest

from metaeval.metrics.ngram.rouge import RougeN
from tests.metrics.metric_cases import images, scores_of

SAME = {
    "ru": "кот спит на диване",
    "hi": "लड़का घोड़े पर है",
    "ar": "رجل يركب حصانا",
    "el": "ένας σκύλος τρέχει",
    "zh": "两只狗在草地上跑",
    "th": "สุนัขวิ่งบนหญ้า",
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_a_caption_that_equals_its_reference_scores_1(text: str) -> None:
    assert scores_of(RougeN(), images([[text]]), [text, "two dogs"]).tolist() == [[1, 1], [0, 0]]


@pytest.mark.parametrize(
    ("caption", "reference", "one", "two"),
    [
        ("красная собака бежит в парке BMW", "синяя кошка спит на диване BMW", 1 / 6, 0),
        ("Кот, спит!", "кот спит", 1, 1),
        ("а\u0301нна", "а\u0301нна идёт", 2 / 3, 0),  # a stress mark does not part a word
        ("लड़का", "लड़की", 0, 0),  # a boy, a girl: they differ by a mark
        ("狗跑。", "狗。", 2 / 3, 0),  # a letter a word: 1 of 2 and of 1
        ("рейс т34", "рейс т35", 1 / 2, 0),
    ],
)
def test_words_of_other_scripts(caption: str, reference: str, one: float, two: float) -> None:
    (scores,) = scores_of(RougeN(), images([[reference]]), [caption])
    np.testing.assert_allclose(scores, [one, two])


def test_latin_text_has_the_words_of_rouge_score() -> None:
    """rouge_score/tokenize.py: re.sub(r"[^a-z0-9]+", " ", text.lower()).split()."""
    rng = np.random.default_rng(0)
    letters = list("aàâbcdeéèfghıîß·’“”—10½²²µªºʻ \t.-_'ÅÉ€®\u0301ﬁＡ")
    texts = ["".join(rng.choice(letters, 30)) for _ in range(200)]
    scorer = RougeN().bind(images([texts]))
    for text in texts:
        words = re.sub(r"[^a-z0-9]+", " ", text.lower()).split()
        assert scorer._ngrams(text)[0] == Counter(words), text
