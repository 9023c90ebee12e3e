"""Known defects of corruptions, counted by pattern over all of COCO val2017.

    python -m benchmarks.corruption_audit patterns

Each pattern was found by readers of corrupted captions. It is written as a plain rule over the
source, the corrupted caption and the references; apart from the parse it shares nothing with the
corruption that it checks. The rules over-count rather than under-count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from lemminflect import getInflection, getLemma

from metaeval.corruptions.language.parsed import PEOPLE, parse


class Change(NamedTuple):
    """A source caption, its corrupted version and the references of the image."""

    source: str
    text: str
    references: Sequence[str]


_EVENTS = re.compile(
    r"\b(?:before|after)\s+(?:\w+ing\b|(?:(?:a|the|his|her|their)\s+)?(?:\w+\s)?(?:game|match|race|"
    r"meal|flight|take-?off|landing|serve|swing|pitch|rain|storm|sunset|sunrise|dinner|lunch|"
    r"breakfast|jump|fall|ceremony|wedding|party|show|concert|crash))"
)
_PERSON = r"(?:person|man|woman|boy|girl|child|kid|guy|lady|player|rider|skier|surfer)"


def _words(text: str) -> list[str]:
    return re.findall(r"[\w'-]+", text.lower())


def _street(change: Change) -> bool:
    ways = r"\b(?:up|down) (?:\w+ ){0,3}(?:street|road|path|sidewalk)\b"
    before, after = (re.findall(ways, t.lower()) for t in (change.source, change.text))
    return before != after


def _plural_verb(change: Change) -> bool:
    """ "One person that are": no plural noun between "one" and the verb."""
    match = re.match(r"(?i)one ((?:[\w'-]+ )+?)(are|were|have)\b", change.text.strip())
    if match is None:
        return False
    nouns = [t for t in parse(change.text).tokens if t.is_noun]
    return not any(t.is_plural and t.word in match[1].lower().split() for t in nouns)


def _one_is_true(change: Change) -> bool:
    """A reference mentions one such thing."""
    match = re.match(r"(?i)one ((?:[\w'-]+ ?)+)", change.text.strip())
    if match is None:
        return False
    first = parse(change.text).phrase_at(0)
    if first is None:
        return False
    noun = _words(change.text)[first.head] if first.head < len(_words(change.text)) else ""
    noun = _PERSON if noun in PEOPLE else re.escape(noun)
    pattern = re.compile(rf"\b(?:a|an|one|single|lone|another) (?:\w+ ){{0,2}}{noun}\b")
    return any(pattern.search(" ".join(_words(r))) for r in change.references)


def _no_event(change: Change) -> bool:
    """ "Before" or "after" between things."""
    swapped = [w for w in ("before", "after") if w in _words(change.text)]
    through = [w for w in ("before", "after") if w in _words(change.source)]
    return swapped != through and bool(swapped) and not _EVENTS.search(change.text.lower())


def _torn(change: Change) -> bool:
    """The words after the object may now refer to the subject."""
    parts = re.split(r"(?i)\bbeing \w+ by\b", change.text, maxsplit=1)
    if len(parts) < 2:
        return False
    behind = re.search(r"\b(?:made|to|by|around|for|about|with|from|smooth)\b", parts[1])
    return bool(behind or re.search(r"(?i)\b(?:outside|very|inside)\b", parts[0]))


def _other_noun(change: Change) -> bool:
    """The noun before "who is" is not the first of the caption, nor what a group is of."""
    match = re.search(r"\b(?:who|that) (?:is|are) \w+ing\b", change.text)
    if match is None or match[0] in change.source:
        return False
    before = parse(change.text[: match.start()].rstrip())
    nouns = [p for p in before.phrases if p.end == len(before)]
    if not nouns:
        return True
    start = nouns[0].start
    if start == 0 or before.words[:start] in (("there", "is"), ("there", "are")):
        return bool("and" in before.words)
    return before.word(start - 1) != "of"


def _torn_conjunct(change: Change) -> bool:
    """ "A body of mountains and water", "wearing trees and skis"."""
    pair = r"((?:[\w'-]+ ){1,4}and (?:[\w'-]+ ?){1,4})$"
    text = " ".join(_words(change.text))
    of = r"\b(?:body|back|cup|glass|slice|piece|plate|bowl|bunch|herd|pile|lots|bags|shelves) of "
    worn = re.search(r"\bwearing " + pair, text)
    unworn = r"\b(?:trees?|mountains?|snow|field|man|woman|beach)\b"
    place = re.search(unworn, worn[1] if worn else "")
    return bool(re.search(of + pair, text) or place)


def _past(change: Change) -> bool:
    """The new form is a past tense, too: "a dog lay down"."""
    new = [w for w in _words(change.text) if w not in _words(change.source)]
    pasts = {"lay", "saw", "fell", "found", "felt", "left", "bore"}
    return any(w in pasts or w in getInflection(w, "VBD") for w in new if getLemma(w, "VERB")) and (
        not re.search(rf"\b(?:is|are) {new[0]}\b", change.text.lower())
    )


def _people_plain(change: Change) -> bool:
    """The subject is several: "People in a hall take a picture"."""
    new = [w for w in _words(change.text) if w not in _words(change.source)]
    if not new or re.search(rf"\b(?:is|are) {new[0]}\b", change.text.lower()):
        return False
    before = parse(change.text.lower().split(f" {new[0]} ")[0])
    return any(t.is_plural or t.word == "and" for t in before.tokens)


def _compound(change: Change) -> bool:
    """ "BMW not touring motorcycle"."""
    noun = r"(?:area|room|motorcycle|console|car|bike|boat|table|chair|hotel|sticker|machine|day)s?"
    verb = r"(?:touring|gaming|racing|dining|sitting|looking|during|washing|fishing|rocking)"
    noun = r"(?:area|room|motorcycle|console|car|bike|boat|table|chair|hotel|sticker|machine|day)s?"
    verb = r"(?:touring|gaming|racing|dining|sitting|looking|during|washing|fishing|rocking)"
    return bool(re.search(rf"\bnot (?:wing\b|{verb} {noun}\b)", change.text.lower()))


PATTERNS: Mapping[str, Mapping[str, Callable[[Change], bool]]] = {
    "inverted_relation": {'"up the street" for "down the street"': _street},
    "many_to_one": {
        "the verb stays in the plural": _plural_verb,
        "a reference speaks of one": _one_is_true,
    },
    "event_order": {'"before" or "after" in space': _no_event},
    "passive": {"what follows may belong to another noun": _torn},
    "relative_clause": {"the clause may belong to another noun": _other_noun},
    "swap_conjuncts": {"a conjunct is torn from its noun": _torn_conjunct},
    "wrong_verb_form": {
        "the new form is a past tense": _past,
        "the subject is several": _people_plain,
    },
    "negate_verb": {"a noun compound is negated": _compound},
}


def counts(name: str, changes: Sequence[Change]) -> dict[str, int]:
    """Pattern → number of changed captions of that corruption that match it."""
    return {p: sum(map(matches, changes)) for p, matches in PATTERNS[name].items()}
