"""The words a trained text encoder knows, as numbers.

Files are in SCAN's form, so that the official vocabularies load: `{"word2idx": {word: number},
"idx2word": {"0": word}, "idx": size}`. Ours have the first of these and `"tokenizer": "ptb"`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.compute.device import missing_packages
from metaeval.data.dataset import Absent
from metaeval.errors import InputError
from metaeval.readers.files import read_json
from metaeval.text.tokenizers.base import get

SPECIAL = ("<pad>", "<start>", "<end>", "<unk>")
PAD, START, END, UNK = range(4)
PTB, NLTK = "ptb", "nltk"

Ints = npt.NDArray[np.int64]


class Vocabulary:
    """Words and their numbers: `<pad>` 0, `<start>` 1, `<end>` 2, `<unk>` 3, then the others.

    Parameters
    ----------
    words
        All words in the order of their numbers, the four special ones first.
    tokenizer
        How captions become words: "ptb" (lower case, without punctuation, as the n-gram metrics
        see them) or "nltk" (lower case, as SCAN's public code does it).
    """

    def __init__(self, words: Sequence[str], tokenizer: str = PTB) -> None:
        self.words = tuple(words)
        self.tokenizer = tokenizer
        self._numbers = {word: i for i, word in enumerate(self.words)}
        if self.words[:4] != SPECIAL:
            raise ValueError(f"the first four words must be {', '.join(SPECIAL)}")
        if tokenizer not in (PTB, NLTK):
            raise ValueError(f"the tokenizer must be '{PTB}' or '{NLTK}', not {tokenizer!r:.40}")

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._numbers

    def number(self, word: str) -> int:
        """A word's number; that of `<unk>` for an unknown one."""
        return self._numbers.get(word, UNK)

    def tokenise(self, captions: Sequence[str]) -> list[list[str]]:
        """The words of each caption, as this vocabulary splits it. Do not change the lists."""
        return tokenise(captions, self.tokenizer)

    def encode(self, caption: str) -> list[int]:
        """The numbers of a caption's words between those of `<start>` and `<end>`."""
        return self.encode_all([caption])[0]

    def encode_all(self, captions: Sequence[str]) -> list[list[int]]:
        """`encode` for many captions."""
        return [[START, *map(self.number, words), END] for words in self.tokenise(captions)]

    def digest(self) -> str:
        """12 hexadecimal digits that identify words, order and tokeniser."""
        text = json.dumps([self.tokenizer, *self.words])
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        """Read a file of SCAN's form; where it names no tokeniser, that is SCAN's own, "nltk".

        Raises InputError for a file that is not there or not of that form.
        """
        value, _ = read_json(path)
        numbers = value.get("word2idx") if isinstance(value, dict) else None
        if not isinstance(numbers, dict):
            raise InputError(
                "should be an object of words and numbers", file=path, field="word2idx"
            )
        words: list[str | None] = [None] * len(numbers)
        for word, number in numbers.items():
            if type(number) is not int or not 0 <= number < len(words):
                raise InputError(
                    f"must be a whole number in 0…{len(words) - 1:,}, not {number!r:.40}",
                    file=path,
                    record=f"word {word!r:.40}",
                    field="word2idx",
                )
            if words[number] is not None:
                raise InputError(
                    f"has the number {number} of {words[number]!r:.40}",
                    file=path,
                    record=f"word {word!r:.40}",
                    field="word2idx",
                )
            words[number] = word
        try:
            return cls([word for word in words if word is not None], value.get("tokenizer", NLTK))
        except ValueError as error:
            raise InputError(str(error), file=path) from None

    def missing(self) -> Absent | None:
        """What keeps captions from being split: SCAN's tokeniser needs the package nltk."""
        return missing_packages("vocabulary", "nltk") if self.tokenizer == NLTK else None


def tokenise(captions: Sequence[str], tokenizer: str = PTB) -> list[list[str]]:
    """The words of each caption, in lower case; "ptb" or "nltk", see `Vocabulary`."""
    if tokenizer == PTB:
        return get("ptb")(captions)
    split = _nltk()
    return [
        [word for part in _SENTENCE_END.split(caption.lower()) for word in split(part)]
        for caption in captions
    ]


def pad_sequences(sequences: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Lists of numbers as int64 [n, longest], padded with `<pad>`, and their lengths, int64 [n]."""
    lengths = np.fromiter(map(len, sequences), dtype=np.int64, count=len(sequences))
    out = np.full((len(sequences), int(lengths.max(initial=0))), PAD, dtype=np.int64)
    inside = np.arange(out.shape[1])[None, :] < lengths[:, None]
    out[inside] = [number for each in sequences for number in each]
    return out, lengths


# nltk's word_tokenize first parts sentences with trained data; in a caption that is where a full
# stop, a question or an exclamation mark is followed by a space, but not after "u.s." or "mr."
_SENTENCE_END = re.compile(
    r"(?<=[^\s.][.?!])(?<!\.\w\.)"
    + "".join(rf"(?<!\b{word}\.)" for word in ("dr", "jr", "mr", "mrs", "ms", "st", "vs"))
    + r"\s+"
)


@cache
def _nltk() -> Any:
    return import_module("nltk.tokenize.destructive").NLTKWordTokenizer().tokenize
