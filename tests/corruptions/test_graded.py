"""Graded corruptions: the paper's numbers, definitions by hand, and that edits record them."""

import re
from collections import Counter
from collections.abc import Sequence
from string import punctuation

import numpy as np
import pytest
from hypothesis import given, strategies as st

from metaeval.api import corrupt
from metaeval.corruptions.base import Caption
from metaeval.corruptions.graded.random import Random
from metaeval.corruptions.graded.replace import Delete, Insert, Replace, bag_of_words
from metaeval.corruptions.graded.shuffle import Reverse, Shuffle, deranged
from metaeval.corruptions.sentences import join, split, words_by_position
from metaeval.data.dataset import CaptionDataset
from metaeval.errors import ConfigError
from metaeval.reports.graded.browser import OPEN, mark_edits
from tests.corruptions.test_properties import with_edits


def dataset(captions: Sequence[str], ids: Sequence[int | str] | None = None) -> CaptionDataset:
    names = tuple(range(len(captions)) if ids is None else ids)
    texts = tuple(captions)
    return CaptionDataset("test", names, texts, (("a",),) * len(names), names, texts)


ANIMALS = dataset(["dog cat cow", "cat cow hen", "dog cat hen cow", "Dog. (cat) hen! cow?"])


@pytest.mark.coco
def test_bag_has_the_papers_1039_words(val2017):
    bag = bag_of_words(val2017.pool)
    assert len(bag) == 1039  # the paper's number
    # the rule written out a second time, token by token
    around = f"[{re.escape(punctuation)}]*"
    tokens = re.split(r"\s+", " ".join(val2017.pool).lower())
    counts = Counter(re.sub(f"^{around}|{around}$", "", token) for token in tokens)
    del counts[""]
    assert bag == tuple(sorted(w for w, n in counts.items() if n >= 4))
    few = Replace(0.25)
    few.fit(val2017.limited(3))  # the bag comes from the whole file
    assert few.facts() == {"bag_words": 1039, "bag_min_count": 4}


def test_bag_by_hand():
    captions = ["A dog, a cat.", "a DOG - 'dog'!", "don't"]
    assert bag_of_words(captions, 1) == ("a", "cat", "dog", "don't")
    assert bag_of_words(captions, 3) == ("a", "dog")


def test_empty_bag_and_bad_options_are_refused():
    with pytest.raises(ConfigError, match="none of the 3 words in the 1 human captions"):
        bag_of_words(["one two three"])
    for bad in (0, -1, 2.5, True):
        with pytest.raises(ConfigError, match="min_count"):
            Replace(0.5, min_count=bad)


@given(st.text(alphabet="ab .,'-AB", max_size=30), st.floats(0.01, 1), st.integers(0, 9))
def test_replaced_words_any_text(text, rate, seed):
    corruption = Replace(rate, distinct=True, min_count=1)
    corruption.fit(ANIMALS)
    tokens = text.split()
    result = corruption.corrupt(Caption(1, text), np.random.default_rng(seed))
    old = words_by_position(tokens)
    changed = round(rate * len(old))
    assert len(result.edits) == changed
    assert result.applied is (changed > 0) is (result.text != text)
    if result.applied:
        new = result.text.split()
        assert len(new) == len(tokens)
        edited = {e.position for e in result.edits}
        for i, (before, after) in enumerate(zip(tokens, new, strict=True)):
            word = after.strip(punctuation)
            assert after == before or (i in edited and word in corruption.bag)
            assert i not in edited or after.replace(word, old[i]) == before


@pytest.mark.parametrize("distinct", [False, True])
@given(st.integers(0, 50))
def test_every_word_is_drawn_and_with_distinct_never_the_same(distinct, seed):
    corruption = Replace(1.0, distinct, min_count=1)
    corruption.fit(ANIMALS)
    rng = np.random.default_rng(seed)
    drawn = Counter(corruption._draw("Dog", rng) for _ in range(600))
    assert set(drawn) == {"cat", "cow", "dog", "hen"} - ({"dog"} if distinct else set())
    # 5 standard deviations of a binomial(600, 1/3) are 58, of one with 1/4 53
    assert all(abs(n - 600 / len(drawn)) < 58 for n in drawn.values())


def replacement(rate: float, *bag: str) -> Replace:
    """Of words by those of the bag, never by themselves."""
    corruption = Replace(rate, distinct=True, min_count=1)
    corruption.fit(dataset(bag))
    return corruption


@pytest.mark.parametrize(
    ("corruption", "text", "made", "edits"),
    [
        (
            replacement(1.0, "cow"),
            '"A man - (smiling)."',
            '"cow cow - (cow)."',
            ((0, '"A', '"cow'), (1, "man", "cow"), (3, '(smiling)."', '(cow)."')),
        ),
        (
            Shuffle(1.0, derange=True),
            "one, - two.",
            "two. - one,",
            ((0, "one,", "two."), (2, "two.", "one,")),
        ),
        (replacement(1.0, "dog"), "dog", "dog", ()),
        # round(0.25), round(0.5), no word at all
        *((replacement(0.25, "cow"), text, text, ()) for text in ("dog", "dog cat", "...", "")),
        *(
            (Shuffle(1.0, derange), text, text, ())
            for derange in (False, True)
            for text in ("", "...", "dog", "dog Dog dog, (dog).")
        ),
    ],
)
def test_punctuation_stays_with_its_place_or_word(corruption, text, made, edits):
    """Everything is changed, a lone dash is not a word; or nothing can be, and that is noted."""
    result = corruption.corrupt(Caption(0, text), np.random.default_rng(0))
    assert (result.text, result.edits, result.applied) == (made, edits, bool(edits))
    assert result.realised == float(bool(edits))


@pytest.mark.parametrize("kind", [Replace, Shuffle, Delete, Insert])
def test_labels_and_rates(kind):
    labels = [kind(rate).label for rate in (0.25, 0.5, 1, 0.125, 0.07)]
    assert labels == [f"{kind.title} {p}%" for p in ("25", "50", "100", "12.5", "7")]
    for rate in (0, -0.1, 1.01, True, "0.5", float("nan")):
        with pytest.raises(ConfigError, match=rf"{kind.__name__}\.rate: .* is not .*in \(0, 1\]"):
            kind(rate)


def in_order(part: list[str], whole: list[str]) -> bool:
    """Whether `part` is `whole` with some of its elements left out."""
    rest = iter(whole)
    return all(any(token == other for other in rest) for token in part)


def words_of(tokens: list[str]) -> list[str]:
    return [tokens[i] for i in words_by_position(tokens)]


@pytest.mark.coco
@pytest.mark.parametrize(
    "corruption",
    [
        *map(Delete, (0.1, 0.25, 0.5, 1.0)),
        *map(Insert, (0.1, 0.5, 1.0)),
        *(Shuffle(rate, derange) for rate in (0.25, 0.5, 1.0) for derange in (False, True)),
        Reverse(),
    ],
    ids=lambda c: f"{c.label} {dict(c.parameters).get('derange', '')}",
)
def test_real_captions_lose_get_and_keep_the_requested_words(val2017, corruption):
    few = val2017.limited(1000)
    for source, result in zip(few.human, corruption.apply(few, 0), strict=True):
        old, new = source.split(), result.text.split()
        n = len(words_of(old))
        asked = round((corruption.rate or 1) * n)
        assert with_edits(source, result.edits) == " ".join(new)
        assert result.applied is (new != old)
        if corruption.name == "delete":
            gone = min(asked, n - 1)
            assert (len(new), len(words_of(new))) == (len(old) - gone, n - gone)
            assert in_order(new, old)
            assert result.realised == gone / n
        elif corruption.name == "insert":
            assert (len(new), new[-1], result.realised) == (len(old) + asked, old[-1], asked / n)
            assert in_order(old, new)
        elif corruption.name == "reverse":
            assert words_of(new) == words_of(old)[::-1]
        else:
            assert Counter(new) == Counter(old)
            assert len(result.edits) <= asked
            assert not corruption.derange or result.realised == asked / n > 0


def test_by_hand():
    text = 'A man - "smiling" (at us).'
    reverse = Reverse().corrupt(Caption(0, text), np.random.default_rng(0)).text
    assert reverse == 'us). (at - "smiling" man A'
    one = Delete(1.0).corrupt(Caption(0, text), np.random.default_rng(1)).text.split()
    assert len(words_by_position(one)) == 1
    assert "-" in one  # a token without a word is not a word to leave out
    for nothing in ("", "dog", "- -"):
        for corruption in (Delete(0.5), Reverse()):
            result = corruption.corrupt(Caption(0, nothing), np.random.default_rng(0))
            assert (result.text, result.applied, result.edits) == (nothing, False, ())


@given(st.text(alphabet="ab .-AB", max_size=30), st.floats(0.01, 1), st.integers(0, 9))
def test_any_text_and_the_report_can_mark_it(text, rate, seed):
    insert = Insert(rate, min_count=1)
    insert.bag = ("cat", "hen")
    for corruption in (Delete(rate), insert, Reverse()):
        result = corruption.corrupt(Caption(1, text), np.random.default_rng(seed))
        assert result.applied is (result.text != text)
        if result.applied:
            assert with_edits(text, result.edits) == result.text
            edits = [edit._asdict() for edit in result.edits]
            shown = mark_edits(text, result.text, edits)
            kind = {"delete": "d", "insert": "i", "reverse": "m"}[corruption.name]
            assert shown.count(f"{OPEN}{kind}") == len(edits) or corruption.name == "reverse"


@given(st.lists(st.sampled_from("aAbcdefghijkl"), max_size=40), st.integers(0, 20))
def test_derangement_changes_as_many_places_as_any_permutation_can(drawn, seed):
    """All that can move do: only of a word that is more than half of all, some have to stay."""
    order = deranged(drawn, np.random.default_rng(seed))
    assert sorted(order) == list(range(len(drawn)))
    lower = [word.lower() for word in drawn]
    most = max(Counter(lower).values(), default=0)
    stay = sum(lower[i] == lower[j] for i, j in enumerate(order))
    assert stay == max(0, 2 * most - len(drawn))


@pytest.mark.parametrize(
    ("draw", "n"),
    [
        (lambda rng: tuple(deranged(["a", "b", "c", "d"], rng)), 9),  # derangements of four
        (lambda rng: Shuffle(1.0).corrupt(Caption(0, "a b c"), rng).text, 6),  # also the identity
        (
            lambda rng: Random().apply(dataset("abcd"), int(rng.integers(2**32)))[0].text,
            3,
        ),  # donors
    ],
    ids=["derangements", "permutations", "donors"],
)
def test_draws_are_uniform(draw, n):
    """Each of n outcomes within 5 standard deviations of a binomial(1,800, 1 / n)."""
    rng = np.random.default_rng(0)
    counts = Counter(draw(rng) for _ in range(1800))
    assert len(counts) == n
    error = (1800 * (1 - 1 / n) / n) ** 0.5
    assert all(abs(count - 1800 / n) < 5 * error for count in counts.values())


def test_derange_chooses_distinguishable_words():
    """Half of "a dog a cat" is two words; both "a" would come out unchanged."""
    corruption = Shuffle(0.5, derange=True)
    for seed in range(50):
        result = corruption.corrupt(Caption(0, "a dog A cat"), np.random.default_rng(seed))
        assert (result.applied, result.realised) == (True, 0.5)


@pytest.mark.parametrize("derange", [False, True])
def test_punctuation_that_stays_keeps_its_place(derange):
    source = 'A (red) dog, a cat - and two "birds" sit on a mat.'
    shuffle = Shuffle(1.0, derange, punctuation="stays")
    results = {shuffle.corrupt(Caption(1, source), np.random.default_rng(s)).text for s in range(9)}
    assert len(results) == 9
    for text in results:
        tokens, old = text.split(), source.split()
        words, old_words = words_by_position(tokens), words_by_position(old)
        assert Counter(words.values()) == Counter(old_words.values())
        around = [token.replace(token.strip(punctuation), "w", 1) for token in tokens]
        assert around == [token.replace(token.strip(punctuation), "w", 1) for token in old]


def test_where_punctuation_goes_is_in_the_seed_only_if_it_is_not_the_default():
    """Versions made before there was a choice keep their bytes."""
    assert dict(Shuffle(0.5).parameters) == {"rate": 0.5, "derange": False}
    assert Shuffle(0.5, punctuation="stays").parameters["punctuation"] == "stays"
    with pytest.raises(ConfigError, match=r"punctuation: 'goes' is not one of moves, stays"):
        Shuffle(0.5, punctuation="goes")


def test_equal_captions_stay_separate():
    captions = ["a dog", "A  dog", "a cat", "a cow", "a hen", "a pig", "a fly", "an ant"]
    for seed in range(100):
        results = Random().apply(dataset(captions), seed)
        assert Counter(r.text for r in results) == Counter(captions)  # each given away once
        assert all(
            r.applied and r.text.lower().split() != c.lower().split()
            for r, c in zip(results, captions, strict=True)
        )


def test_nothing_else_to_give_is_unapplied():
    for captions in (["a dog"], ["a dog", "A dog", "a dog"]):
        results = Random().apply(dataset(captions), 0)
        assert [(r.text, r.applied, r.realised) for r in results] == [
            (c, False, 0.0) for c in captions
        ]


# by hand; Thai "here, good", Lao "water", Burmese "has", Khmer "dog" (with a stacked consonant)
UNITS = {
    "th": ("ที่นี่ ดี", ["ที่", "นี่", " ", "ดี"]),
    "lo": ("ນ້ຳ", ["ນ້ຳ"]),
    "my": ("ရှိတယ်။", ["ရှိ", "တ", "ယ်။"]),
    "km": ("ឆ្កែ មួយ។", ["ឆ្កែ", " ", "មួ", "យ។"]),
    "th and Latin": ("รถ BMW สีแดง", ["ร", "ถ", " ", "BMW", " ", "สี", "แ", "ด", "ง"]),
    # as before: a character each, without the spaces
    "zh": ("两只 狗跑。", ["两", "只", "狗", "跑。"]),
    "en": ("two  dogs run.", ["two", "dogs", "run."]),
}
THAI = ["สุนัขสองตัว วิ่งบนสนามหญ้า", "ผู้ชายขี่ม้าสีน้ำตาล", "รถบัสสีแดงจอดข้างถนน", "แมวนอนบนโซฟาที่บ้าน"]


@pytest.mark.parametrize(("text", "tokens"), UNITS.values(), ids=UNITS)
def test_a_letter_keeps_its_marks(text: str, tokens: list[str]) -> None:
    assert split(text) == tokens
    assert list(words_by_position(tokens)) == [k for k, token in enumerate(tokens) if token != " "]


@pytest.mark.parametrize("text", [THAI[0], "ນ້ຳຢູ່ນີ້", "ခွေးနှစ်ကောင် ပြေးတယ်။", "ឆ្កែពីរក្បាល កំពុងរត់"])
def test_no_unit_parts_a_grapheme_of_unicode(text: str) -> None:
    regex = pytest.importorskip("regex")
    ends = np.cumsum([len(token) for token in split(text)]).tolist()
    assert set(ends) <= {match.end() for match in regex.finditer(r"\X", text)}
    assert join(split(text), text) == text


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("shuffle", {}),
        ("delete", {}),
        ("reverse", {}),
        ("insert", {"min_count": 1}),
        ("replace", {"min_count": 1, "distinct": True}),
    ],
)
def test_thai_captions_are_changed_unit_by_unit(name: str, options: dict[str, object]) -> None:
    rate = {} if name == "reverse" else {"rate": 0.5}
    made = corrupt(THAI, name, seed=1, **rate, **options)
    assert made.applied.all()
    known = {unit for text in THAI for unit in split(text)}
    assert {unit for text in made.caption for unit in split(text)} <= known
    if name in ("shuffle", "reverse"):
        assert [Counter(split(text)) for text in made.caption] == [Counter(split(t)) for t in THAI]
