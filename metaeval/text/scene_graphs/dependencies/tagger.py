"""Words → Penn Treebank tags, from left to right, and lemmas."""

from __future__ import annotations

import re
from collections.abc import Sequence

from metaeval.text.scene_graphs.dependencies.perceptron import Linear

_TOKEN = re.compile(
    r"[A-Za-z]+(?=n['’]t\b)|n['’]t\b|['’](?:s|re|ve|m|d|ll)\b"
    r"|[^\W_]+(?:[-/.&'’][^\W_]+(?<!['’]s))*|[^\w\s]"
)
_ENDS = (".", "!", "?")
_PUNCTUATION = {".": ".", "!": ".", "?": ".", ",": ",", ":": ":", ";": ":", "-": ":"}


def split_sentences(text: str) -> list[list[str]]:
    """The words of each sentence; clitics ('s, n't) and punctuation are words of their own."""
    sentences: list[list[str]] = [[]]
    for token in _TOKEN.findall(text):
        if sentences[-1] and sentences[-1][-1] in _ENDS and token not in _ENDS:
            sentences.append([])
        sentences[-1].append(token)
    return [sentence for sentence in sentences if sentence]


def tag_features(words: Sequence[str], place: int, before: str, earlier: str) -> list[str]:
    """What the tag of a word is judged by: `words` in lower case with two blanks at either end,
    `place` among them, and the two tags before it."""
    word, left, right = words[place], words[place - 1], words[place + 1]
    return [
        "b",
        f"w{word}",
        f"s{word[-3:]}",
        f"r{word[-2:]}",
        f"p{word[:1]}",
        f"t{before}",
        f"u{earlier} {before}",
        f"v{before} {word}",
        f"l{left}",
        f"m{left[-3:]}",
        f"k{words[place - 2]}",
        f"n{right}",
        f"o{right[-3:]}",
        f"q{words[place + 2]}",
        f"x{word} {right}",
        f"y{left} {word}",
        f"z{before} {right}",
    ]


def padded(words: Sequence[str]) -> list[str]:
    """In lower case, digits as 0, with two marks at either end."""
    inside = ["0" if word.isdigit() else word.lower() for word in words]
    return ["^", "^", *inside, "$", "$"]


def tag_words(model: Linear, words: Sequence[str]) -> list[str]:
    """The tag of each word."""
    context, tags = padded(words), ["^", "^"]
    for place in range(2, len(words) + 2):
        if (mark := _PUNCTUATION.get(context[place])) is not None:
            tags.append(mark)
            continue
        key = tuple(context[place - 2 : place + 3]), tags[-1], tags[-2]
        tag = model.decided.get(key)
        if tag is None:
            scores = model.scores(tag_features(context, place, tags[-1], tags[-2]))
            tag = model.decide(key, model.classes[int(scores.argmax())])
        tags.append(tag)
    return tags[2:]
