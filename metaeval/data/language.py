"""Which language captions are in: detected by py3langid, whose package brings its model."""

from __future__ import annotations

import random
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

# languages written without spaces between words: a tokenizer for English sees one word
UNSPACED = frozenset({"zh", "ja", "th", "lo", "km", "my"})
TOKENIZERS = {"zh": "zh", "ja": "ja-mecab"}  # what to choose for them; "char" for the others

_SAMPLE = 200  # captions
_CHUNKS = 5
_WORDS = 40  # different words, below which Latin letters are too little to tell a language
_LETTERS = 40  # of other scripts
_ENGLISH = frozenset({"the", "of", "and", "with", "is", "are", "on", "at", "his", "their", "an"})
_WORD = re.compile(r"[^\W\d_]+")

# Their scripts, as ranges of a character class: kana and Chinese characters; Thai, Lao, Burmese and
# Khmer, which write vowels and tones as marks around a letter and part phrases by spaces.
_CHARACTERS, MARKED_SCRIPTS = "぀-ヿ㐀-䶿一-鿿", "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
UNSPACED_SCRIPTS = _CHARACTERS + MARKED_SCRIPTS
_CODES = (*range(0xE00, 0xF00), *range(0x1000, 0x10A0), *range(0x1780, 0x1800))
_MARKS = "".join(c for c in map(chr, _CODES) if unicodedata.category(c)[0] == "M")
# a letter with what is written around it: marks, the vowel am, joiners, stacked consonants
GRAPHEME = (
    f"[{UNSPACED_SCRIPTS}](?:[\u1039\u17d2][{MARKED_SCRIPTS}]|[{_MARKS}\u0e33\u0eb3\u200c\u200d])*"
)
_UNSPACED_LETTER = re.compile(f"[{UNSPACED_SCRIPTS}]")


def detect_language(texts: Iterable[str]) -> str | None:
    """The language of captions, from a sample of them; `None` where it is unknown.

    English function words are counted first, for English needs no model then. Otherwise the sample
    is cut into five chunks, and all of them must be of one language; where most letters are of a
    script without spaces, most of them.

    >>> detect_language(["a dog"]) is None
    True
    """
    given = [text for text in dict.fromkeys(texts) if text]
    sample = random.Random(0).sample(given, min(_SAMPLE, len(given)))
    words = [word for text in sample for word in _WORD.findall(text.lower())]
    unspaced = len(_UNSPACED_LETTER.findall("".join(sample)))
    letters = sum(map(len, words))
    if 2 * unspaced <= letters:
        if len(set(words)) < _WORDS:
            return None
        counts = Counter(word for word in words if word in _ENGLISH)
        if sum(counts.values()) >= 0.08 * len(words) and len(counts) >= 3:
            return "en"
    elif unspaced < _LETTERS:
        return None
    import py3langid  # slow to import: only where function words do not tell

    chunks = [" ".join(sample[k::_CHUNKS]) for k in range(min(_CHUNKS, len(sample)))]
    votes = Counter(str(py3langid.classify(chunk)[0]) for chunk in chunks)
    language, n = votes.most_common(1)[0]
    needed = len(chunks) // 2 + 1 if 2 * unspaced > letters else len(chunks)
    return language if n >= needed else None


_END = re.compile(r"(?:[.!?]|[。！？])+[\"'”’)\]」』]*$")
_UNSPACED_END = re.compile(r"[。！？]+[”’」』]*")
_ABBREVIATIONS = frozenset(
    {"mr.", "mrs.", "ms.", "dr.", "prof.", "st.", "vs.", "etc.", "e.g.", "i.e.", "no."}
    | {"approx.", "a.m.", "p.m."}
)
_INITIAL = re.compile(r"(?:[A-Za-z]\.)+$")  # "J.", "U.S."


def sentence_starts(tokens: Sequence[str]) -> list[int]:
    """The positions of the tokens that begin a sentence.

    A sentence ends with a token whose last sign is a full stop, exclamation or question mark. Where
    the text has capitals, the next token must not begin with a small letter; abbreviations and
    initials end no sentence.

    >>> sentence_starts("A dog runs. It has a U.S. flag . Nice!".split())
    [0, 3, 8]
    """
    has_capitals = any(token != token.lower() for token in tokens)
    starts = [0] if tokens else []
    for i, (token, following) in enumerate(pairwise(tokens)):
        if not _END.search(token) or token.lower() in _ABBREVIATIONS or _INITIAL.match(token):
            continue
        if not (has_capitals and following[:1].islower()):
            starts.append(i + 1)
    return starts


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, in order, without the white space between them; `[text]` for one.

    >>> split_sentences("A dog runs. It is brown."), split_sentences("狗在跑。它很大。")
    (['A dog runs.', 'It is brown.'], ['狗在跑。', '它很大。'])
    """
    # marks of scripts without spaces end a token, although no space follows
    spaced = _UNSPACED_END.sub(lambda mark: mark.group() + "\x00", text)
    tokens = list(re.finditer(r"[^\s\x00]+", spaced))
    if not tokens:
        return [text]
    starts = sentence_starts([token.group() for token in tokens])
    ends = [tokens[i - 1].end() for i in starts[1:]] + [len(spaced)]
    return [
        spaced[tokens[i].start() : end].replace("\x00", "").strip()
        for i, end in zip(starts, ends, strict=True)
    ]
