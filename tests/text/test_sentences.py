"""Where the sentences of a caption begin."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from metaeval.text.sentences import split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("A dog runs.", ["A dog runs."]),
        ("A dog runs. It is brown", ["A dog runs.", "It is brown"]),
        ("a dog runs. it is brown.", ["a dog runs.", "it is brown."]),
        ("A sign of St. Mary near the U.S. flag.", ["A sign of St. Mary near the U.S. flag."]),
        ("A bus at 5 p.m. in town. Nice!", ["A bus at 5 p.m. in town.", "Nice!"]),
        ("A sign (“Stop!”) hangs.  A man waits?", ["A sign (“Stop!”) hangs.", "A man waits?"]),
        ("A clock . It is noon .", ["A clock .", "It is noon ."]),
        ("A man waits ... then leaves.", ["A man waits ... then leaves."]),
        ("两只狗在跑。天气很好！", ["两只狗在跑。", "天气很好！"]),
        ("", [""]),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


@pytest.mark.skipif("METAEVAL_DATA" not in os.environ, reason="needs METAEVAL_DATA")
def test_no_letter_of_long_captions_is_lost() -> None:
    file = Path(os.environ["METAEVAL_DATA"]) / "coco/captioners_vlm/llava_1.5_7b_default.json"
    if not file.is_file():
        pytest.skip(f"{file.name} is not in METAEVAL_DATA")
    captions = [record["caption"] for record in json.loads(file.read_text())]
    split = [split_sentences(text) for text in captions]
    assert ["".join("".join(s).split()) for s in split] == ["".join(c.split()) for c in captions]
    # what LLaVA writes has 2 to 5 sentences
    assert 2 < sum(map(len, split)) / len(split) < 5
