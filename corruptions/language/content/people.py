"""People: the other gender, another age, another role."""

from __future__ import annotations

from metaeval.corruptions.language.base import LanguageCorruption, Places
from metaeval.corruptions.language.known import Known
from metaeval.corruptions.language.parsed import ParsedCaption
from metaeval.corruptions.language.rewriting import Rewording
from metaeval.text.scene_graphs.rules.function_words import words as word_set

_HE_SHE = {
    "man": "woman", "men": "women", "boy": "girl", "boys": "girls", "male": "female",
    "males": "females", "he": "she", "himself": "herself", "father": "mother", "husband": "wife",
    "groom": "bride", "son": "daughter", "brother": "sister", "king": "queen", "him": "her",
    "businessman": "businesswoman", "gentleman": "lady", "gentlemen": "ladies",
    "man's": "woman's", "boy's": "girl's", "men's": "women's", "cowboy": "cowgirl",
}  # fmt: skip
_TO_SHE = _HE_SHE | {"guy": "lady", "guys": "ladies", "his": "her", "policeman": "policewoman"}
_TO_HE = {she: he for he, she in _HE_SHE.items() if she != "her"} | {"lady": "man", "ladies": "men"}


class WrongGender(LanguageCorruption):
    """Everybody gets the other gender, pronouns included; captions that name both are left."""

    name = "wrong_gender"
    title = "Gender"
    kind = "people"
    severity = "critical"
    unchanged_reason = "names no gender, or both, or another caption names the other"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        he, she = caption.says(_TO_SHE), caption.says({*_TO_HE, "her"})
        if he == she or known.words & set(_TO_HE if he else _TO_SHE) - {"him", "his", "he", "she"}:
            return []
        change = []
        for i, word in enumerate(caption.words):
            new = (_TO_SHE if he else _TO_HE).get(word)
            if word == "her":
                new = "his" if caption.phrase_at(i) is not None else "him"
            if new is not None:
                change.append(Rewording(i, i + 1, (new,)))
        nouns = {"man", "men", "boy", "boys", "woman", "women", "girl", "girls", "lady", "guy"}
        return [[tuple(change)]] if caption.says(nouns | set(_HE_SHE)) else []


_AGES = {
    "man": ("little boy", "small child"), "woman": ("little girl", "small child"),
    "men": ("little boys", "small children"), "women": ("little girls", "small children"),
    "lady": ("little girl",), "guy": ("little boy",), "boy": ("old man",), "girl": ("old woman",),
    "boys": ("old men",), "girls": ("old women",), "child": ("old man", "old woman"),
    "baby": ("old man", "old woman"), "toddler": ("old man", "old woman"),
    "kid": ("old man", "old woman"), "kids": ("old men", "old women"),
    "children": ("old men", "old women"), "adult": ("baby",), "adults": ("babies",),
}  # fmt: skip
_YOUNG_OR_OLD = ("young", "little", "small", "old", "older", "elderly", "younger", "adult")
_GROWN = frozenset({"man", "men", "woman", "women", "lady", "guy", "adult", "adults"})
_YOUNG = word_set("boy boys girl girls child children kid kids baby toddler young little")
_OLD = word_set("man men woman women lady adult adults people person")


class WrongAgeGroup(LanguageCorruption):
    """A man becomes a little boy, a girl an old woman; captions that disagree on it are left."""

    name = "wrong_age_group"
    title = "Age of people"
    kind = "people"
    severity = "major"
    unchanged_reason = "names no person of an age that the captions agree on"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        places: Places = []
        for i, word in enumerate(caption.words):
            phrase = caption.phrase_of(i)
            if word not in _AGES or phrase is None or phrase.head != i:
                continue
            if known.words & (_YOUNG if word in _GROWN else _OLD) - {word}:
                continue
            start = i - (caption.word(i - 1) in _YOUNG_OR_OLD)
            places.append([(Rewording(start, i + 1, tuple(o.split())),) for o in _AGES[word]])
        return places


_ROLES = (
    "surfer", "skier", "skateboarder", "snowboarder", "chef", "soldier", "nurse", "firefighter",
    "ballerina", "farmer", "waiter", "golfer", "swimmer", "fisherman", "police officer",
)  # fmt: skip
_ROLE_WORDS = frozenset(_ROLES) | word_set(
    "batter pitcher catcher umpire cook cyclist motorcyclist biker rider vendor "
    "driver cowboy skater bride groom student boarder policeman cop conductor baker "
    "jockey teacher doctor player"
)
_SPORTS = ("baseball", "tennis", "soccer", "football", "basketball", "polo", "volleyball")


class WrongRole(LanguageCorruption):
    """A person named by an activity gets another role: a surfer becomes a chef."""

    name = "wrong_role"
    title = "Role"
    kind = "people"
    severity = "critical"
    unchanged_reason = "names no person by an activity"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        places: Places = []
        for i, word in enumerate(caption.words):
            one = word.removesuffix("s") if caption.tokens[i].is_plural else word
            phrase = caption.phrase_of(i)
            if one not in _ROLE_WORDS or phrase is None or phrase.head != i:
                continue
            start = i - (caption.word(i - 1) in (*_SPORTS, "horseback"))
            options = [r for r in _ROLES if r != one and not known.speaks_of(r)]
            many = one != word
            places += [
                [(Rewording(start, i + 1, tuple(_in_number(r, many).split())),) for r in options]
            ] * bool(options)
        return places


def _in_number(role: str, many: bool) -> str:
    if not many:
        return role
    return role.replace("fisherman", "fishermen") if role.endswith("man") else f"{role}s"
