"""Captions in scripts without spaces whose vowels are marks: a letter with its marks is a word."""

from collections import Counter

import numpy as np
import pytest

from metaeval.api import corrupt
from metaeval.corruptions.sentences import join, split, words_by_position

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
