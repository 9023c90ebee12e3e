"""Corruptions of language on scenes, where what is true is known: do they keep their word?

`judgement` reads an edited caption of a scene by the scene's own lexicon and graph; it knows none
of the corruptions' tables. A harmful change must make a statement false or lose one, a harmless one
must not. Where the lexicon has no word for what the caption says now, there is no judgement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import combinations
from string import punctuation
from typing import Any, NamedTuple

from corruptions.base import Corrupted
from corruptions.truth.facts import SHOWN_BEHIND
from experiments.sensitivity.suite import suite
from metaeval.data.scenes import AlignedCaption, Mark, SceneGraph, SceneObject, load_scenes
from metaeval.data.scenes.lexicon import (
    AGE_WORDS,
    COLOUR_WORDS,
    MATERIAL_WORDS,
    NOUNS,
    NUMBERS,
    ROLES,
    SIZE_WORDS,
)
from metaeval.data.scenes.places import WHERE
from metaeval.data.scenes.things import THINGS
from metaeval.data.scenes.verbs import FRAMES

KINDS = ("objects", "attributes", "numbers", "relations", "people", "scene", "logic", "harmless")
_NEGATIONS = {"not", "no", "never", "without", "nobody", "nothing", "isn't", "aren't"}
_GUESSES = {"might", "may", "could", "maybe", "perhaps", "possibly", "probably", "seems", "appears"}
_VAGUE = {"several", "some", "many", "few", "multiple", "various"}
_VALUES = {
    "colour": COLOUR_WORDS, "size": SIZE_WORDS, "material": MATERIAL_WORDS, "age": AGE_WORDS,
}  # fmt: skip
_EITHER_WAY = ("next to", "beside", "near", "with", "by", "alongside", "close to", "facing", "and")
# What is said of a whole family of things; a caption that says it instead of a kind says less.
_FAMILIES = {
    "animal": {"animal"}, "animals": {"animal"}, "creature": {"animal"}, "creatures": {"animal"},
    "vehicle": {"vehicle"}, "vehicles": {"vehicle"}, "furniture": {"furniture"}, "food": {"food"},
    "person": {"person"}, "people": {"person"}, "someone": {"person"}, "somebody": {"person"},
    "appliance": {"appliance"}, "appliances": {"appliance"}, "device": {"electronic"},
    "devices": {"electronic"},
}  # fmt: skip
_ANYTHING = {
    "thing",
    "things",
    "object",
    "objects",
    "item",
    "items",
    "something",
    "stuff",
    "entity",
}


class Row(NamedTuple):
    """Of a corruption: how many captions it changed, and how they were judged."""

    name: str
    expected: str
    n: int
    changed: int
    judged: Mapping[str, int]


def rows(n: int = 1000, seed: int = 0) -> list[Row]:
    """A row for each corruption of facts and each harmless change, on n scenes."""
    data = load_scenes(n=n)
    graphs: Any = data.part("scene_graphs")
    out = []
    for corruption in suite(data, KINDS):
        results = corruption.apply(data, seed)
        judged: Counter[str] = Counter()
        for image_id, text, result in zip(data.image_ids, data.human, results, strict=True):
            if result.applied:
                judged[judgement(graphs[image_id], text, result) or "not judged"] += 1
        out.append(Row(corruption.label, corruption.expected, n, sum(judged.values()), judged))
    return out


def judgement(graph: SceneGraph, text: str, result: Corrupted) -> str | None:
    """ "false", "lost" or "true", of the changed statements together; `None` where it is not known.

    "false": some statement is false of the scene. "lost": none is, but one is gone or vaguer.
    """
    aligned = graph.caption(text)
    assert aligned is not None, text
    verdicts = set(_Reading(graph, aligned, result).verdicts())
    return next((v for v in ("false", "lost", "true") if v in verdicts), None)


class _Reading:
    """A changed caption beside its source: what became of each stretch of words."""

    def __init__(self, graph: SceneGraph, aligned: AlignedCaption, result: Corrupted) -> None:
        self.graph, self.aligned = graph, aligned
        self.old = [bare(token) for token in aligned.text.split()]
        self.now: list[list[str]] = [[word] for word in self.old]
        self.inserted: list[list[str]] = [[] for _ in range(len(self.old) + 1)]
        for edit in result.edits:
            if edit.before:
                self.now[edit.position] = [w for w in map(bare, edit.after.split()) if w]
            else:
                self.inserted[edit.position].append(bare(edit.after))
        self.new = [w for w in map(bare, result.text.split()) if w]
        self.groups = graph.groups()
        gone = Counter(w for w in self.old if w)
        gone.subtract(self.new)
        self.kept_all = not any(k > 0 for w, k in gone.items() if w not in _SMALL)

    def words(self, mark: Mark) -> list[str]:
        """What stands now where the mark's words stood."""
        words: list[str] = []
        for i in range(mark.start, mark.end):
            words += (self.inserted[i] if i > mark.start else []) + self.now[i]
        return words

    def changed(self, role: str) -> list[Mark]:
        """The marks of a role whose words are others now."""
        return [m for m in self.aligned.of(role) if self.words(m) != self.old[m.start : m.end]]

    def verdicts(self) -> Iterable[str]:
        fresh = [w for place in self.inserted for w in place] + [
            w for old, now in zip(self.old, self.now, strict=True) if now != [old] for w in now
        ]
        if set(fresh) & _NEGATIONS:
            yield "false"
        if set(fresh) & _GUESSES:
            yield "lost"
        if self.kept_all:  # nothing is gone: it is said in another order, or more is said
            yield from self.reordered()
        elif (exchanged := self.exchanged()) is not None:
            yield exchanged
        else:
            for mark in self.changed("noun"):
                yield from self.noun(mark)
            for mark in self.changed("attribute"):
                yield from self.attribute(mark)
            for mark in self.changed("count"):
                yield from self.count(mark)
            for role in ("relation", "state"):
                for mark in self.changed(role):
                    yield from self.verb(mark)
            for mark in self.changed("setting"):
                yield from self.place(mark)
        yield from self.added()

    # ---- one statement each

    def noun(self, mark: Mark) -> Iterable[str]:
        words = " ".join(self.words(mark))
        members = self.groups[mark.target]
        if not words:
            yield "lost"
        elif kinds := kinds_named(words):
            yield "true" if kinds & true_kinds(members) else "false"
        elif words in _ANYTHING or _FAMILIES.get(words, set()) & families(members):
            yield "lost"
        elif words in _FAMILIES:
            yield "false"

    def attribute(self, mark: Mark) -> Iterable[str]:
        words = " ".join(self.words(mark))
        if not words:
            yield "lost"
            return
        said = values_named(words)
        true = {pair for o in self.groups[mark.target] for pair in o.attributes}
        if said & true:
            yield "true"
        elif any(kind == name for kind, _ in said for name, _ in true):
            yield "false"

    def count(self, mark: Mark) -> Iterable[str]:
        words = self.words(mark)
        number = {word: k for k, word in NUMBERS.items()} | {str(k): k for k in NUMBERS}
        number |= {"a": 1, "an": 1, "the": 1}
        was = next((number[w] for w in self.old[mark.start : mark.end] if w in number), None)
        now = next((number[w] for w in words if w in number), None)
        shown = self.shown(self.groups[mark.target][0].category)
        if set(words) & _VAGUE:
            yield "lost" if was is None or was > 1 else "false"
        elif now is not None and was is not None and now != was:
            yield "false" if now > shown else "lost"
        elif now is not None and now == was:
            yield "true"

    def shown(self, category: str) -> float:
        """How many the scene shows, at most: of what the background shows, nobody knows."""
        if category in {SHOWN_BEHIND.get(decor) for decor in self.graph.decor}:
            return float("inf")
        return sum(o.category == category for o in self.graph.objects)

    def verb(self, mark: Mark) -> Iterable[str]:
        words = " ".join(w for w in self.words(mark) if w not in ("is", "are"))
        if not words:
            yield "lost"
            return
        if mark.role == "relation":
            predicate = self.graph.group_relations[mark.target].predicate
            if words in ways_to_say(predicate):
                yield "true"
            elif words in every_way():
                yield "false"

    def place(self, mark: Mark) -> Iterable[str]:
        words = " ".join(self.words(mark))
        if not words:
            yield "lost"
            return
        where = {key for key, phrases in WHERE.items() for p in phrases if " ".join(p) == words}
        if where:
            yield "true" if self.graph.setting in where else "false"

    # ---- several statements at once

    def exchanged(self) -> str | None:
        """Two things that changed names: "true" where the relation holds either way."""
        nouns = self.changed("noun")
        if len(nouns) != 2:
            return None
        a, b = nouns
        crossed = all(
            " ".join(self.words(x)) and kinds_named(" ".join(self.words(x)))
            & true_kinds(self.groups[y.target])
            for x, y in ((a, b), (b, a))
        )  # fmt: skip
        if not crossed or true_kinds(self.groups[a.target]) & true_kinds(self.groups[b.target]):
            return None
        return self.swapped(a, b)

    def swapped(self, a: Mark, b: Mark) -> str:
        between = " ".join(self.old[min(a.end, b.end) : max(a.start, b.start)])
        either = any(f" {words} " in f" {between} " for words in _EITHER_WAY)
        told = [m for m in self.aligned.marks if m.role in ("attribute", "count", "state", "worn")]
        stay = any(
            m.target in (a.target, b.target) and self.words(m) == self.old[m.start : m.end]
            and (m.role != "count" or self.old[m.start] not in ("a", "an", "the"))
            for m in told
        )  # fmt: skip
        return "true" if either and not stay else "false"

    def reordered(self) -> Iterable[str]:
        """All words are there still; what is true now hangs on who does what to whom."""
        nouns = {
            m: where for m in self.aligned.of("noun") if (where := self.place_of(m)) is not None
        }
        if len(nouns) < len(self.aligned.of("noun")):
            return
        for mark in self.aligned.of("attribute"):
            if (where := self.place_of(mark)) is not None:
                after = min(
                    (p, m.target) for m, p in [*nouns.items(), (_NOBODY, 10**6)] if p > where
                )
                if after[1] != mark.target:
                    yield "false"
        turned = [(a, b) for a, b in combinations(sorted(nouns), 2) if nouns[a] > nouns[b]]
        if not turned:
            yield "true"
        elif "by" in self.new and "by" not in self.old:  # the passive
            yield "true" if len(turned) == 1 else "false"
        else:
            yield from (self.swapped(a, b) for a, b in turned)

    def place_of(self, mark: Mark) -> int | None:
        """Where a mark's one word stands now; `None` where that is not sure, or of several."""
        where = [i for i, word in enumerate(self.new) if word == self.old[mark.start]]
        return where[0] if mark.end - mark.start == 1 and len(where) == 1 else None

    def added(self) -> Iterable[str]:
        """Things that are named where nothing stood."""
        present = true_kinds(self.graph.objects)
        present |= {k for d in self.graph.decor if (k := SHOWN_BEHIND.get(d))}
        for words in self.inserted:
            text = " ".join(words)
            if not words or text in " ".join(self.old):
                continue
            kinds = kinds_named(text)
            if kinds:
                yield "true" if kinds & present else "false"


_NOBODY = Mark(0, 0, "noun", -1)
_SMALL = {"a", "an", "the", "is", "are", "there", "of", "that", "which", "who", "by", "on", "in"}


def bare(token: str) -> str:
    """A word as it is compared."""
    return token.lower().strip(punctuation)


@cache
def _kinds_by_noun() -> dict[str, frozenset[str]]:
    kinds: dict[str, set[str]] = {}
    for kind, nouns in NOUNS.items():
        for noun in (n for pair in nouns for n in pair):
            kinds.setdefault(noun, set()).add(kind)
    for nouns in ROLES.values():
        for noun in (n for pair in nouns for n in pair):
            kinds.setdefault(noun, set()).add("person")
    return {noun: frozenset(named) for noun, named in kinds.items()}


def kinds_named(text: str) -> frozenset[str]:
    """The kinds that the longest noun of a text may stand for; none for words without a noun."""
    words = text.split()
    for n in range(len(words), 0, -1):
        for start in range(len(words) - n, -1, -1):
            if kinds := _kinds_by_noun().get(" ".join(words[start : start + n])):
                return kinds
    return frozenset()


_PEOPLE = {"man", "woman", "boy", "girl"}


def true_kinds(objects: Sequence[SceneObject]) -> set[str]:
    """What things may be called: kind, category and, of people, the general words."""
    kinds = {o.kind for o in objects}
    kinds |= {o.category for o in objects if o.kind not in _PEOPLE}
    if any(o.category == "boat" for o in objects):
        kinds |= {"sailing boat", "row boat"}
    if kinds & _PEOPLE:
        kinds |= {"person", "people"}
        kinds |= {"adults"} if kinds & {"man", "woman"} else set()
        kinds |= {"children"} if kinds & {"boy", "girl"} else set()
    return kinds


def families(objects: Sequence[SceneObject]) -> set[str]:
    """COCO's supercategories of things."""
    return {THINGS[o.category].family for o in objects}


def values_named(words: str) -> set[tuple[str, str]]:
    """What an adjective says: ("colour", "red"), …"""
    return {
        (kind, value)
        for kind, table in _VALUES.items()
        for value, said in table.items()
        if words in said
    }


def ways_to_say(predicate: str) -> set[str]:
    """A predicate in all its words, without "is" and "are"."""
    frames = [f for key, fs in FRAMES.items() if key.split(">")[0].split("<")[0] == predicate
              for f in fs]  # fmt: skip
    return {f"{form} {f.rest}".strip() for f in frames for form in (f.ing, f.one, f.many)}


@cache
def every_way() -> frozenset[str]:
    """All predicates in all their words."""
    names = {key.split(">")[0].split("<")[0] for key in FRAMES}
    return frozenset(words for name in names for words in ways_to_say(name)) - {""}


def print_rows() -> int:
    """The table for the documentation; 1 where a change did not keep its word."""
    broken = 0
    print("| change | should | changed | false | lost | true | not judged |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for row in rows():
        if not row.changed:
            continue
        cells = [str(row.judged.get(k, 0)) for k in ("false", "lost", "true", "not judged")]
        should = "harm" if row.expected == "lower" else "not harm"
        print(f"| {row.name} | {should} | {row.changed} | {' | '.join(cells)} |")
        harm = row.judged.get("false", 0) + row.judged.get("lost", 0)
        broken += row.judged.get("true", 0) if row.expected == "lower" else harm
    print(f"\nAgainst the declaration: {broken}.")
    return int(broken > 0)
