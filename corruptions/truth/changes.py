"""Corruptions that know the truth: what a caption of a scene states is replaced, added or lost."""

from collections.abc import Sequence

import numpy as np

from metaeval.corruptions.language.content.attributes import COLOURS
from metaeval.corruptions.language.rewriting import Rewording
from metaeval.corruptions.truth.base import (
    STATEMENTS,
    CaptionFacts,
    Change,
    Statement,
    TruthCorruption,
    is_coordinated,
    noun_of,
    other_number,
    pick,
    statement,
)
from metaeval.data.scenes.cast import LOOKALIKES, THINGS
from metaeval.data.scenes.graph import Mark
from metaeval.data.scenes.lexicon import NUMBERS, article
from metaeval.runs.records import MISSING_WORDS, WRONG_PLACES, WRONG_WORDS

COUNTERPARTS = {"man": "woman", "woman": "man", "boy": "girl", "girl": "boy"}


class ReplaceObject(
    TruthCorruption, title="Replace object", severity="critical", flaw=WRONG_WORDS, role="noun"
):
    """A noun is replaced by that of another category of the same supercategory.

    The new category is nowhere in the image. A man becomes a woman (a boy a girl, and back); a
    mixed group of people becomes a group of animals. Number and article stay right. False is what
    the thing is called; its attributes, its number and its relations are what they were.
    """

    def replacements(
        self, facts: CaptionFacts, tokens: Sequence[str], place: Mark
    ) -> Sequence[str]:
        thing = facts.things[place.target]
        family = "animal" if thing.category == "person" else thing.family
        kinds = [k for k, t in THINGS.items() if t.family == family and k not in facts.present]
        if thing.category == "person" and thing.kind in COUNTERPARTS:
            kinds = [COUNTERPARTS[thing.kind]]
        return [noun_of(kind, thing.n > 1) for kind in kinds]


OPPOSITES = {"large": "small", "small": "large", "old": "young", "young": "old"}
MATERIALS = ("wooden", "metal", "plastic", "glass", "leather", "ceramic")


class ReplaceAttribute(
    TruthCorruption,
    title="Replace attribute",
    severity="major",
    flaw=WRONG_WORDS,
    role="attribute",
):
    """A colour, size, material or age is replaced by another that is false of the thing.

    No colour takes the place of one that people confuse with it (tan and brown, gray and silver).
    False is the one attribute.
    """

    def replacements(
        self, facts: CaptionFacts, tokens: Sequence[str], place: Mark
    ) -> Sequence[str]:
        thing = facts.things[place.target]
        true = thing.attributes[place.value]
        if true in OPPOSITES:
            return [OPPOSITES[true]]
        if place.value == "material":
            return [m for m in MATERIALS if m != true]
        confused = LOOKALIKES[true] | {true}
        if place.value in ("clothing", "hat", "dress"):
            return [c for c in COLOURS if c not in confused and c not in facts.worn]
        usual = [c for c in THINGS[thing.category].colours if c not in confused and " " not in c]
        return usual or [c for c in COLOURS if c not in confused]


class ReplaceCount(TruthCorruption, title="Replace count", severity="major", flaw=WRONG_WORDS):
    """A number or article is replaced by a greater number; nouns and verbs follow it.

    Never to a smaller one: where three dogs are, "two dogs" is true as well, read as "at least
    two". So a number is also left alone where the background shows more of the kind (people in the
    stands). False is the one number. Captions whose single thing is taken up again by "it" keep
    theirs.
    """

    def places(self, facts: CaptionFacts, tokens: Sequence[str]) -> list[Mark]:
        return [
            m
            for m in facts.of("count")
            if len(facts.of("noun", m.target)) == 1
            and facts.things[m.target].category not in facts.behind
            and (facts.things[m.target].n > 1 or not _again(facts, tokens, m.target))
        ]

    def change(
        self, facts: CaptionFacts, tokens: Sequence[str], place: Mark, rng: np.random.Generator
    ) -> Change | None:
        n = facts.things[place.target].n
        new = pick(rng, range(n + 1, max(5, n + 3)))
        patches = [Rewording(place.start, place.end, (NUMBERS[new],))]
        if n == 1:
            noun = facts.of("noun", place.target)[0]
            patches.append(Rewording(noun.start, noun.end, tuple(noun.value.split())))
            patches += other_number(facts, place.target)
        return Change(tuple(patches), false=frozenset({statement(place)}))


def _again(facts: CaptionFacts, tokens: Sequence[str], target: int) -> bool:
    """Whether a pronoun stands for the thing."""
    return any({"it", "it."} & set(tokens[m.start : m.end]) for m in facts.of("owned", target))


# verb → participle, finite singular, finite plural
FORMS = {
    "stand": ("standing", "stands", "stand"),
    "sit": ("sitting", "sits", "sit"),
    "lie": ("lying", "lies", "lie"),
    "walk": ("walking", "walks", "walk"),
    "ride": ("riding", "rides", "ride"),
    "kick": ("kicking", "kicks", "kick"),
    "chase": ("chasing", "chases", "chase"),
    "jump": ("jumping", "jumps", "jump"),
    "step": ("stepping", "steps", "step"),
}
# Predicates of one kind: what they are, which verbs and which bare prepositions contradict them.
CONTRARIES = (
    (
        "riding, on skis, sitting on, lying on, standing on, on",
        "stand next to, lie under, stand behind, sit beneath",
        "under, next to, behind, beneath, beside",
    ),
    (
        "holding, carrying, wearing, pulling, swinging, flying, walking",
        "sit on, kick, stand on top of, jump over, step on",
        "without",
    ),
    ("under", "stand on top of, sit on, stand on", "on top of, on, above"),
    ("in", "stand behind, lie under, stand next to", "under, next to, behind, beside"),
    ("next to", "stand on top of, lie under, sit on", "on top of, under, on, beneath"),
    ("in front of", "stand behind, sit on top of, lie under", "behind, on top of, under"),
    ("behind", "stand in front of, sit on top of", "in front of, on top of, under"),
    ("looking at", "ride on, sit on, chase, stand on top of", "on top of"),
    ("sitting at", "lie under, stand on, walk on", "under, on top of"),
)


class ReplaceRelation(
    TruthCorruption, title="Replace relation", severity="major", flaw=WRONG_WORDS
):
    """Verb and preposition are replaced by another relation that cannot hold between the two.

    The grammatical form stays: participle, finite verb in its number, or bare preposition. False is
    the one relation.
    """

    def places(self, facts: CaptionFacts, tokens: Sequence[str]) -> list[Mark]:
        return [m for m in facts.of("relation") if m.value != "inverse"]

    def replacements(
        self, facts: CaptionFacts, tokens: Sequence[str], place: Mark
    ) -> Sequence[str]:
        predicate = facts.relations[place.target][1]
        rows = (row for row in CONTRARIES if predicate in row[0].split(", "))
        _, verbs, prepositions = next(rows, ("", "", ""))
        options = [phrase.split() for phrase in prepositions.split(", ") if phrase]
        if place.value != "prep":
            form = ("ing", "one", "many").index(place.value)
            words = (phrase.split() for phrase in verbs.split(", ") if phrase)
            options = [[FORMS[verb][form], *rest] for verb, *rest in words]
        return [new for new in map(" ".join, options) if new != wording(tokens, place)]


WAYS = ("with {} nearby", "with {} to the side", "next to {}", "with {} close by")


class AddObject(
    TruthCorruption,
    title="Add object",
    severity="critical",
    flaw=WRONG_WORDS,
    effect="hallucination",
):
    """The caption names one more thing, of a category that the image does not show.

    It is of a supercategory that the image does show, so that it could well be there. One false
    statement is added; the others stay true.
    """

    def places(self, facts: CaptionFacts, tokens: Sequence[str]) -> list[Mark]:
        return [Mark(len(tokens), len(tokens), "end", -1)]

    def change(
        self, facts: CaptionFacts, tokens: Sequence[str], place: Mark, rng: np.random.Generator
    ) -> Change | None:
        families = {thing.family for thing in facts.things.values()} - {"person"}
        absent = [k for k, t in THINGS.items() if k not in facts.present and k != "person"]
        options = [k for k in absent if THINGS[k].family in families] or absent
        kind = pick(rng, options)
        noun = noun_of(kind)
        words = pick(rng, WAYS).format(f"{article(noun)} {noun}").split()
        return Change((Rewording(place.start, place.end, tuple(words)),), added=1)


# "a man with a dog" says what "a dog with a man" says; so do these, whatever verb precedes them.
SYMMETRIC = ("with", "next to", "beside", "by", "near", "alongside", "close to", "to the side of")
FACING = ("facing", "faces", "face")


class SwapArguments(
    TruthCorruption, title="Swap arguments", severity="critical", flaw=WRONG_PLACES
):
    """Subject and object of a relation change places, each with its article and adjectives.

    A swap that stays true is left alone, by the caption's own words and not by the predicate behind
    them: two things "with", "next to" or "facing" each other, and things that may look back at what
    looks at them. (`SwapSymmetric` makes swaps that are certainly true.)
    The verb follows its new subject. Only this relation becomes false.
    """

    def places(self, facts: CaptionFacts, tokens: Sequence[str]) -> list[Mark]:
        return [
            mark
            for mark in facts.of("relation")
            if mark.value != "inverse" and self.wanted(facts, tokens, mark) and _ends(facts, mark)
        ]

    def wanted(self, facts: CaptionFacts, tokens: Sequence[str], relation: Mark) -> bool:
        """Whether the relation, as it is worded, is false the other way round."""
        _, predicate, object_ = facts.relations[relation.target]
        seen_back = predicate == "looking at" and facts.things[object_].family in (
            "animal",
            "person",
        )
        words = wording(tokens, relation)
        facing = not set(FACING).isdisjoint(words.split())
        return not (seen_back or facing or symmetric_preposition(words))

    def change(
        self, facts: CaptionFacts, tokens: Sequence[str], place: Mark, rng: np.random.Generator
    ) -> Change | None:
        patches = _swap_subject_and_object(facts, tokens, place)
        false = frozenset({statement(place)}) if self.effect else frozenset[Statement]()
        return None if patches is None else Change(patches, false)


def wording(tokens: Sequence[str], relation: Mark) -> str:
    """The words of a relation, in lower case."""
    return " ".join(tokens[relation.start : relation.end]).lower()


def symmetric_preposition(words: str) -> str | None:
    """The symmetric preposition in which a relation's wording ends, if it ends in one."""
    return next((p for p in SYMMETRIC if words == p or words.endswith(f" {p}")), None)


def _ends(facts: CaptionFacts, relation: Mark) -> tuple[Mark, Mark] | None:
    """The phrases of subject and object, where they stand before and behind the relation."""
    subject, _, object_ = facts.relations[relation.target]
    first, second = facts.phrase(subject), facts.phrase(object_)
    apart = first and second and first.end <= relation.start and relation.end <= second.start
    return (first, second) if first and second and apart else None


def _swap_subject_and_object(
    facts: CaptionFacts, tokens: Sequence[str], relation: Mark
) -> tuple[Rewording, ...] | None:
    """Patches by which subject and object change places; `None` where the sentence would break."""
    ends = _ends(facts, relation)
    if ends is None or _listed(tokens, ends[0]):
        return None
    first, second = ends
    start, end = first.start, facts.end_of_clothes(first)
    if end > relation.start:
        return None
    moved = [t.rstrip(",.") for t in tokens[start:end]]
    if start == 0 and not tokens[0][1:2].isupper():
        moved[0] = moved[0][:1].lower() + moved[0][1:]
    back = [t.rstrip(",.") for t in tokens[second.start : second.end]]
    patches = [
        Rewording(start, end, tuple(back)),
        Rewording(second.start, second.end, tuple(moved)),
    ]
    if (facts.things[first.target].n > 1) != (facts.things[second.target].n > 1):
        patches += other_number(facts, first.target)
    return tuple(patches)


def _listed(tokens: Sequence[str], phrase: Mark) -> bool:
    """Whether the phrase is one of several subjects ("a cup and a fork on a table")."""
    commas = (tokens[phrase.start - 1] if phrase.start else "", tokens[phrase.end - 1])
    return is_coordinated(tokens, phrase) or any(token.endswith(",") for token in commas)


PLACED = ("located", "situated")  # participles for which the relation is symmetric


class SwapSymmetric(
    SwapArguments, title="Swap symmetric", severity="none", expected="same", effect=None, flaw=None
):
    """Subject and object of a relation that holds both ways change places.

    Only where the relation is symmetric: a bare preposition ("with", "next to", "near"), or
    "located" and "situated" before it. A dog *sitting* next to a bench is left alone, because the
    bench does not sit. Nothing becomes false.
    """

    def wanted(self, facts: CaptionFacts, tokens: Sequence[str], relation: Mark) -> bool:
        words = wording(tokens, relation)
        preposition = symmetric_preposition(words)
        verb = words.removesuffix(preposition or "").strip()
        return preposition is not None and verb in ("", *PLACED)


ALIVE = ("person", "animal")


class DropSalient(
    TruthCorruption,
    title="Drop salient object",
    severity="major",
    flaw=MISSING_WORDS,
    effect="omission",
):
    """The most salient thing that the caption names is left out; what remains is true.

    Salient is what covers most of the image, people and animals counting double. Captions that
    name nothing else keep it, and so do those whose sentence would break.
    """

    def __init__(self) -> None:
        super().__init__(times=1)

    def places(self, facts: CaptionFacts, tokens: Sequence[str]) -> list[Mark]:
        named = [m for m in facts.of("phrase") if m.target in facts.things]
        if len({m.target for m in named}) < 2:
            return []

        def salience(mention: Mark) -> tuple[int, int]:
            thing = facts.things[mention.target]
            return thing.area * (2 if thing.family in ALIVE else 1), -mention.start

        return [max(named, key=salience)]

    def change(
        self, facts: CaptionFacts, tokens: Sequence[str], place: Mark, rng: np.random.Generator
    ) -> Change | None:
        gone = _removal(facts, tokens, place)
        if gone is None:
            return None
        ranges, flips = gone
        dead = {i for a, b in ranges for i in range(a, b)}
        left = [m for m in facts.of("phrase") if not dead & set(range(m.start, m.end))]
        if not left or len(tokens) - len(dead) < 3:
            return None
        remaining = {
            statement(m)
            for m in facts.marks
            if m.role in STATEMENTS and not dead & set(range(m.start, m.end))
        }
        patches = [Rewording(a, b, ()) for a, b in ranges]
        patches += [p for p in flips if p.start not in dead]
        return Change(tuple(patches), lost=facts.statements() - remaining)


Removal = tuple[list[tuple[int, int]], list[Rewording]]


def _removal(facts: CaptionFacts, tokens: Sequence[str], phrase: Mark) -> Removal | None:
    """Which words to delete so that the thing is gone and the rest is still a sentence."""
    target = phrase.target
    if any("," in t for t in tokens) or facts.phrase(target) is None:
        return None  # lists of three would need new commas
    for mark in facts.of("owned"):
        if mark.target != target and mark.start <= phrase.start and phrase.end <= mark.end:
            return [(mark.start, mark.end)], []
    if is_coordinated(tokens, phrase):
        return None
    for mark in facts.of("relation"):
        subject, _, object_ = facts.relations[mark.target]
        if object_ == target and mark.end <= phrase.start:
            return _without_object(facts, tokens, phrase, mark)
        other = facts.phrase(object_)
        if subject == target and mark.value != "inverse" and other and other.start >= mark.end:
            return _without_subject(facts, phrase, other)
    return _without_owner(facts, phrase)


def _without_object(
    facts: CaptionFacts, tokens: Sequence[str], phrase: Mark, relation: Mark
) -> Removal | None:
    """A relation and its object go: "a man (riding a horse)"."""
    start = relation.start
    while start and tokens[start - 1].lower() in ("is", "are", "that", "who"):
        start -= 1
    if start == 0:
        return None
    owned = _owned(facts, phrase.target, phrase.end)
    return [(start, facts.end_of_clothes(phrase)), *owned], []


def _without_subject(facts: CaptionFacts, phrase: Mark, other: Mark) -> Removal:
    """A subject and its relation go: "(a man riding) a horse on a beach"."""
    target = phrase.target
    flips: list[Rewording] = []
    if (facts.things[target].n > 1) != (facts.things[other.target].n > 1):
        flips = other_number(facts, target)
    return [(phrase.start, other.start), *_owned(facts, target, other.end)], flips


def _without_owner(facts: CaptionFacts, phrase: Mark) -> Removal | None:
    """At the caption's beginning, the owner goes and what it has stays: "(a man with) a dog"."""
    for mark in facts.of("owned", phrase.target):
        inner = [m for m in facts.of("phrase") if mark.start <= m.start and m.end <= mark.end]
        if inner and not phrase.start:
            return [(phrase.start, inner[0].start), (inner[0].end, mark.end)], []
    return None


def _owned(facts: CaptionFacts, target: int, after: int) -> list[tuple[int, int]]:
    """Later words that only make sense with the thing."""
    return [(m.start, m.end) for m in facts.of("owned", target) if m.start >= after]
