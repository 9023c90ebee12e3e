"""People: the other gender, another age, another role."""

from __future__ import annotations

from metaeval.corruptions.base import Severity
from metaeval.corruptions.language.base import LanguageCorruption, Places, reword
from metaeval.corruptions.language.known import Known
from metaeval.corruptions.language.parsed import ParsedCaption
from metaeval.corruptions.language.rewriting import Rewording
from metaeval.text.scene_graphs.rules.function_words import pairs
from metaeval.text.scene_graphs.rules.function_words import words as word_set

_HE_SHE = pairs(
    "man/woman men/women boy/girl boys/girls male/female males/females he/she himself/herself "
    "father/mother husband/wife groom/bride son/daughter brother/sister king/queen him/her "
    "businessman/businesswoman gentleman/lady gentlemen/ladies man's/woman's boy's/girl's "
    "men's/women's cowboy/cowgirl"
)
_TO_SHE = _HE_SHE | pairs("guy/lady guys/ladies his/her policeman/policewoman")
_TO_HE = {she: he for he, she in _HE_SHE.items() if she != "her"} | {"lady": "man", "ladies": "men"}


class _Person(LanguageCorruption):
    kind = "people"
    severity: Severity | None = "critical"


class WrongGender(_Person):
    """Everybody gets the other gender, pronouns included; captions that name both are left."""

    name = "wrong_gender"
    title = "Gender"
    unchanged_reason = "names no gender, or both, or another caption names the other"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        he, she = caption.says(_TO_SHE), caption.says({*_TO_HE, "her"})
        if he == she or known.words & set(_TO_HE if he else _TO_SHE) - {"him", "his", "he", "she"}:
            return
        change = []
        for i, word in enumerate(caption.words):
            new = (_TO_SHE if he else _TO_HE).get(word)
            if word == "her":
                new = "his" if caption.phrase_at(i) is not None else "him"
            if new is not None:
                change.append(Rewording(i, i + 1, (new,)))
        nouns = {"man", "men", "boy", "boys", "woman", "women", "girl", "girls", "lady", "guy"}
        if caption.says(nouns | set(_HE_SHE)):
            yield [tuple(change)]


_OLD_ONE, _OLD_ONES = ("old man", "old woman"), ("old men", "old women")
_AGES: dict[str, tuple[str, ...]] = {
    "man": ("little boy", "small child"),
    "woman": ("little girl", "small child"),
    "men": ("little boys", "small children"),
    "women": ("little girls", "small children"),
    "lady": ("little girl",),
    "guy": ("little boy",),
    "boy": ("old man",),
    "girl": ("old woman",),
    "boys": ("old men",),
    "girls": ("old women",),
    **dict.fromkeys(("child", "baby", "toddler", "kid"), _OLD_ONE),
    **dict.fromkeys(("kids", "children"), _OLD_ONES),
    "adult": ("baby",),
    "adults": ("babies",),
}
_YOUNG_OR_OLD = ("young", "little", "small", "old", "older", "elderly", "younger", "adult")
_GROWN = frozenset({"man", "men", "woman", "women", "lady", "guy", "adult", "adults"})
_YOUNG = word_set("boy boys girl girls child children kid kids baby toddler young little")
_OLD = word_set("man men woman women lady adult adults people person")


class WrongAgeGroup(_Person):
    """A man becomes a little boy, a girl an old woman; captions that disagree on it are left."""

    name = "wrong_age_group"
    title = "Age of people"
    severity = "major"
    unchanged_reason = "names no person of an age that the captions agree on"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        for i, word in enumerate(caption.words):
            phrase = caption.phrase_of(i)
            if word not in _AGES or phrase is None or phrase.head != i:
                continue
            if not known.words & (_YOUNG if word in _GROWN else _OLD) - {word}:
                yield reword(i - (caption.word(i - 1) in _YOUNG_OR_OLD), i + 1, *_AGES[word])


_ROLES = (
    *("surfer", "skier", "skateboarder", "snowboarder", "chef", "soldier", "nurse", "firefighter"),
    *("ballerina", "farmer", "waiter", "golfer", "swimmer", "fisherman", "police officer"),
)
_ROLE_WORDS = frozenset(_ROLES) | word_set(
    "batter pitcher catcher umpire cook cyclist motorcyclist biker rider vendor "
    "driver cowboy skater bride groom student boarder policeman cop conductor baker "
    "jockey teacher doctor player"
)
_SPORTS = ("baseball", "tennis", "soccer", "football", "basketball", "polo", "volleyball")


class WrongRole(_Person):
    """A person named by an activity gets another role: a surfer becomes a chef."""

    name = "wrong_role"
    title = "Role"
    unchanged_reason = "names no person by an activity"

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        for i, word in enumerate(caption.words):
            one = word.removesuffix("s") if caption.tokens[i].is_plural else word
            phrase = caption.phrase_of(i)
            if one not in _ROLE_WORDS or phrase is None or phrase.head != i:
                continue
            start = i - (caption.word(i - 1) in (*_SPORTS, "horseback"))
            options = [r for r in _ROLES if r != one and not known.speaks_of(r)]
            yield reword(start, i + 1, *(_in_number(r, one != word) for r in options))


def _in_number(role: str, many: bool) -> str:
    if not many:
        return role
    return role.replace("fisherman", "fishermen") if role.endswith("man") else f"{role}s"
