"""What the explanation of a score says of each word: its suspicion, 0 where it says nothing.

| explanation | the suspicion of a word |
|---|---|
| tuples (SPICE) | the share of the tuples with this word that no reference justifies |
| objects (CHAIR) | the share of the mentions with this word that the image does not have |
| alignment (BERTScore) | 1 - its best similarity to the reference that counts, times its weight |
| matches (FAIEr) | 1 - its best match with a region |
| transport (VIFIDEL) | the mean cost of moving it to the objects |

Names (tuples, mentions, words of a plan) belong to every word of the caption that equals one of
their words; those of tuples, which are lemmas, also to words of this lemma. Tokens are laid over
the letters of the caption in their order; of a word of several tokens the highest counts.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from metaeval.stats.resampling.items import Floats
from metaeval.text.scene_graphs.dependencies.parser import possible_lemmas

Explanation = Mapping[str, Any]
Losses = Iterable[tuple[str, float]]

_UNKNOWN = re.compile(r"<unk>|\[UNK\]")
_SPECIAL = re.compile(r"<[^<>]+>|\[[A-Z]+\]")
_EDGES = re.compile(r"^\W+|('s)?\W*$")


def suspicion(words: Sequence[str], explanation: Explanation) -> Floats | None:
    """The suspicion [n] of a caption's n words; `None` for an explanation that has no words.

    >>> tuples = [{"tuple": ["dog"], "matched": True}, {"tuple": ["dog", "red"], "matched": False}]
    >>> suspicion(["Two", "red", "dogs."], {"kind": "tuples", "candidate": tuples}).tolist()
    [0.0, 1.0, 0.5]
    """
    of_kind = _KINDS.get(str(explanation["kind"]))
    return None if of_kind is None else of_kind(words, explanation)


def by_names(words: Sequence[str], losses: Losses, *, lemmas: bool = False) -> Floats:
    """The mean loss of the names that belong to each word; with `lemmas` also to its lemmas.

    >>> by_names(["two", "Dogs", "ran"], [("dog", 1.0), ("dog run", 0.0)], lemmas=True).tolist()
    [0.0, 0.5, 0.0]
    """
    named: list[list[float]] = [[] for _ in words]
    bare = [_EDGES.sub("", word).lower() for word in words]
    forms = [possible_lemmas(word) if lemmas else {word} for word in bare]
    for name, loss in losses:
        parts = set(re.split(r"[\s/]+", name.lower()))
        for k, known in enumerate(forms):
            if parts & known:
                named[k].append(loss)
    return np.array([np.mean(each) if each else 0.0 for each in named])


def by_tokens(words: Sequence[str], losses: Losses) -> Floats:
    """The highest loss of the tokens within each word; special tokens belong to none.

    >>> by_tokens(["two", "Wiimotes!"], [("two", 0.1), ("wii", 0.5), ("##motes", 0.7)]).tolist()
    [0.1, 0.7]
    """
    found = np.zeros(len(words))
    spelled = [_letters(word) for word in words]
    letters = "".join(spelled)
    word_at = np.repeat(np.arange(len(words)), [len(each) for each in spelled])
    place = 0
    for token, loss in losses:
        if _UNKNOWN.fullmatch(token) and place < len(letters):  # it stands for the whole word
            same_word = np.flatnonzero(word_at == word_at[place])
            found[word_at[place]] = max(found[word_at[place]], loss)
            place = int(same_word[-1]) + 1
        elif not _SPECIAL.fullmatch(token) and (part := _letters(token)):
            start = letters.find(part, place)
            if start >= 0:
                place = start + len(part)
                for k in set(word_at[start:place].tolist()):
                    found[k] = max(found[k], loss)
    return found


def _letters(text: str) -> str:
    """The letters and digits in lower case, without accents: all that tokenizers have in common."""
    plain = unicodedata.normalize("NFKD", text.lower())
    return "".join(c for c in plain if c.isalnum())


def _of_tuples(words: Sequence[str], explanation: Explanation) -> Floats:
    losses = [(" ".join(e["tuple"]), float(not e["matched"])) for e in explanation["candidate"]]
    return by_names(words, losses, lemmas=True)


def _of_objects(words: Sequence[str], explanation: Explanation) -> Floats:
    losses = [(each["words"], float(not each["matched"])) for each in explanation["candidate"]]
    return by_names(words, losses)


def _of_alignment(words: Sequence[str], explanation: Explanation) -> Floats:
    best = explanation["references"][explanation["best"]]
    highest = np.array(best["similarity"]).max(axis=1)  # tokens x tokens of the reference
    losses = np.array(explanation["weights"]) * (1 - highest)
    return by_tokens(words, zip(explanation["words"], losses.tolist(), strict=True))


def _of_matches(words: Sequence[str], explanation: Explanation) -> Floats:
    losses = 1 - np.array(explanation["matches"]).max(axis=1)  # tokens x regions
    return by_tokens(words, zip(explanation["words"], losses.tolist(), strict=True))


def _of_transport(words: Sequence[str], explanation: Explanation) -> Floats:
    plan = next(iter(explanation["plans"].values()), {"words": (), "flows": ()})
    costs = {each["word"]: 0.0 for each in plan["words"]}
    for flow in plan["flows"]:
        costs[flow["word"]] += flow["cost"]
    return by_names(words, [(e["word"], costs[e["word"]] / e["mass"]) for e in plan["words"]])


_KINDS: Mapping[str, Callable[[Sequence[str], Explanation], Floats]] = {
    "tuples": _of_tuples,
    "objects": _of_objects,
    "alignment": _of_alignment,
    "matches": _of_matches,
    "transport": _of_transport,
}
