"""Words and their tags → lemmas, as CoreNLP's morphology has them."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.text.scene_graphs.rules.function_words import words

_BE = words("is are was were been being am 's 're 'm be")
_VOWELS = "aeiou"


_PRONOUNS = {"his": "he", "him": "he", "her": "she", "their": "they", "them": "they"} | {
    "us": "we", "me": "i", "an": "a", "n't": "not"
}  # fmt: skip


def lemma(word: str, tag: str, exceptions: Mapping[str, str]) -> str:
    """The lemma in lower case; `exceptions`: "word N" or "word V" → lemma, looked up first."""
    word = word.lower()
    if tag.startswith("V"):
        if word in _BE:
            return "be"
        known = exceptions.get(f"{word} V")
        return _verb(word) if known is None else known
    if tag in ("NNS", "NNPS"):
        known = exceptions.get(f"{word} N")
        return _singular(word) if known is None else known
    return _PRONOUNS.get(word, word)


def _singular(word: str) -> str:
    if word.endswith("men"):
        return word[:-2] + "an"
    if not word.endswith("s") or word.endswith(("ss", "us")) or len(word) < 3:
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zzes", "toes", "buses")):
        return word[:-2]
    return word[:-1]


def _verb(word: str) -> str:
    if word.endswith("s"):
        return _singular(word)
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem == word or len(stem) < 2 or not any(c in _VOWELS + "y" for c in stem):
            continue
        if word.endswith("ied"):
            return word[:-3] + "y"
        if stem[-1] == stem[-2] and stem[-1] not in "lszf":
            return stem[:-1]
        return stem + "e" if _wants_e(stem) else stem
    return word


def _wants_e(stem: str) -> bool:
    """Whether a verb without its ending has lost an "e": "rid(ing)", "danc(ing)", "tast(ed)"."""
    if stem.endswith(("c", "v", "u", "dg", "rg", "ang", "ls", "rs", "ns", "as", "os", "us", "iz")):
        return stem != "hang"
    if stem.endswith(("bl", "dl", "fl", "gl", "kl", "pl", "tl", "zl", "cl", "clud", "ag", "ais")):
        return True
    single = (
        stem[-1] not in _VOWELS + "wxy"
        and stem[-2] in _VOWELS
        and (len(stem) < 3 or stem[-3] not in _VOWELS)
    )
    short = sum(c in _VOWELS for c in stem) == 1
    return single and (short or stem.endswith(("at", "ut", "is", "id", "ur", "or")))
