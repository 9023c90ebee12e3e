"""A reader of scenes' captions: how did a change affect the statements of a caption?

`judgement` reads a changed caption of a scene by the scene's own lexicon and graph; it knows none
of the corruptions' tables. Every statement whose words have changed is judged by itself: false,
lost, true, or not judged where a word is unknown. A caption is as bad as its worst statement, and
true only if all that changed is judged and true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from string import punctuation

import lemminflect

from benchmarks.corruption_audit.vocabulary import (
    ARTICLES,
    LINKS,
    NO_PLACE,
    every_verb,
    every_way,
    excludes,
    families,
    families_named,
    garments,
    kinds_named,
    light_holds,
    never_shown,
    nouns_in,
    preposition,
    same_place,
    same_setting,
    settings_named,
    true_kinds,
    values_named,
    ways_to_do,
    ways_to_say,
    words_of_places,
)
from metaeval.corruptions.base import Corrupted
from metaeval.corruptions.truth.base import SHOWN_BEHIND
from metaeval.data.scenes import AlignedCaption, Mark, SceneGraph, SceneObject
from metaeval.data.scenes.lexicon import NUMBERS

Verdict = str | None
_WORSE = ("false", "lost", None)
_NEGATIONS = {"not", "no", "never", "without", "nobody", "nothing"}
_GUESSES = {"might", "may", "could", "maybe", "perhaps", "possibly", "probably", "seems", "appears"}
_THEN = {"before", "after", "done"}  # a present event is described as past or future
_VAGUE = {"several", "some", "many", "few", "multiple", "various", "number", "group", "bunch"}
_NUMBERS = {word: n for n, word in NUMBERS.items()} | {"a": 1, "an": 1, "lone": 1, "single": 1}
_FRAME = {"we", "see", "photo", "picture", "image", "of", "being", "and", "who", "while"}
_SPELLINGS = {
    "grey": "gray",
    "colourful": "colorful",
    "coloured": "colored",
    "colour": "color",
    "travelling": "traveling",
    "aeroplane": "airplane",
    "aeroplanes": "airplanes",
    "racquet": "racket",
    "racquets": "rackets",
    "harbour": "harbor",
    "neighbourhood": "neighborhood",
    "metre": "meter",
    "kerb": "curb",
    "multicoloured": "multicolored",
    **{str(n): word for n, word in NUMBERS.items()},
}
_SHORT = {"'s": "is", "'re": "are", "n't": "not"}


def judgement(graph: SceneGraph, text: str, result: Corrupted) -> Verdict:
    """ "false", "lost" or "true", of all changed statements together; `None` if it is not known.

    "false": some statement is false of the scene. "lost": none is, but one is gone or vaguer.
    Another of the scene's own captions is true: its writer chose what it mentions.
    """
    aligned = graph.caption(text)
    assert aligned is not None, text
    another = not result.edits and graph.caption(result.text) is not None
    if another or spelt(text) == spelt(result.text):
        return "true"
    verdicts = set(_Reading(graph, aligned, result).verdicts())
    return next((v for v in _WORSE if v in verdicts), "true" if verdicts else None)


def still_reads(text: str, new: str) -> bool:
    """Whether a changed caption is still written as people write it, word for word.

    A word misspelt, missing, moved or too many, a mark or a capital inside the caption ends that;
    blanks, a caption all in small letters and the full stop at its end do not.
    """
    old, now = (t.strip().rstrip(".") for t in (text, new))
    if now == now.lower():
        old = old.lower()
    return old.split() == now.split()


class _Reading:
    """A changed caption compared with its source, stretch by stretch."""

    def __init__(self, graph: SceneGraph, aligned: AlignedCaption, result: Corrupted) -> None:
        self.graph, self.aligned = graph, aligned
        self.groups = graph.groups()
        self.old = [spelt(token) for token in aligned.text.split()]
        self.now = [list(words) for words in self.old]
        self.inserted: list[list[str]] = [[] for _ in range(len(self.old) + 1)]
        for edit in result.edits:
            if edit.before:
                self.now[edit.position] = spelt(edit.after)
            else:
                self.inserted[edit.position] += spelt(edit.after)
        self.new = spelt(result.text)
        self.whole = not result.edits  # another caption altogether
        self.judged: set[int] = set()  # positions whose change is judged

    # ---- words

    def before(self, mark: Mark) -> list[str]:
        """A mark's words."""
        return [w for i in range(mark.start, mark.end) for w in self.old[i]]

    def words(self, mark: Mark) -> list[str]:
        """The new words at the place of the mark's words, and words inserted after them."""
        words: list[str] = []
        for i in range(mark.start, mark.end):
            words += (self.inserted[i] if i > mark.start else []) + self.now[i]
        last = mark.end - 1
        return words + (self.inserted[mark.end] if self.now[last] != self.old[last] else [])

    def fresh(self) -> list[str]:
        """All words that were inserted, replacing others or not."""
        return [w for words in self.inserted for w in words] + [
            w for old, now in zip(self.old, self.now, strict=True) if now != old for w in now
        ]

    def has_changed(self, mark: Mark) -> bool:
        return self.words(mark) != self.before(mark)

    def mark_judged(self, mark: Mark) -> None:
        """The change of these words is judged."""
        self.judged |= set(range(mark.start, mark.end))

    # ---- the whole

    def verdicts(self) -> Iterable[Verdict]:
        if self.whole:
            yield None
            return
        fresh = set(self.fresh())
        if fresh & _NEGATIONS:
            yield "false"
        if fresh & _GUESSES or (fresh & _THEN and not fresh <= {w for ws in self.old for w in ws}):
            yield "lost"
        moved = self.moved()
        yield from self.turned(moved)
        roles: dict[str, Callable[[Mark], Iterable[Verdict]]] = {
            "noun": self.noun,
            "attribute": self.attribute,
            "opinion": self.said,
            "manner": self.said,
            "count": self.count,
            "relation": self.relation,
            "state": self.state,
            "setting": self.setting,
            "place": self.setting,
            "worn": self.worn,
        }
        for mark in sorted(self.aligned.marks, key=lambda m: m.end - m.start):  # the finest first
            covered = set(range(mark.start, mark.end)) <= self.judged
            if mark.role in roles and not covered and self.has_changed(mark):
                yield from roles[mark.role](mark)
        for mark in self.aligned.marks:
            if mark.role in roles or mark.role == "agree":
                self.mark_judged(mark)
        yield from self.left_over()

    def left_over(self) -> Iterable[Verdict]:
        """Words outside all statements: frames, links, things that are added."""
        for i, words in enumerate(self.inserted):
            behind = i > 0 and self.now[i - 1] != self.old[i - 1] and i - 1 in self.judged
            within = (
                i in self.judged
                and i - 1 in self.judged
                and any(
                    m.start < i < m.end
                    for m in self.aligned.marks
                    if m.role != "phrase" and m.role != "owned"
                )
            )
            if words and not behind and not within:
                yield from self.added(words, i)
        for i, (old, now) in enumerate(zip(self.old, self.now, strict=True)):
            if old != now and i not in self.judged:
                if set(now) & NO_PLACE - set(old):
                    yield "lost"
                    continue
                yield "true" if set(old) | set(now) <= ARTICLES | LINKS | _FRAME else None

    def added(self, words: list[str], place: int) -> Iterable[Verdict]:
        """Inserted words."""
        places = nouns_in(words)
        if not places or set(words) <= _FRAME | ARTICLES | LINKS:
            known = set(words) <= _FRAME | ARTICLES | LINKS
            yield "true" if known else None
            return
        for start, end in places:
            kinds = kinds_named(" ".join(words[start:end]))
            again = "another" in words[:start]
            seen = [o for o in self.graph.objects if kinds & true_kinds([o])]
            behind = {SHOWN_BEHIND.get(decor) for decor in self.graph.decor}
            if again and ((len(seen) < 2 and not kinds & behind) or self.bound(place)):
                yield "false"
            else:
                yield "true" if seen or kinds & behind else "false"

    def bound(self, place: int) -> bool:
        """Whether the phrase that ends there is of something held, ridden, worn or the like, of
        which "another" would be one more."""
        targets = {m.target for m in self.aligned.of("phrase") if m.end == place}
        return any(
            r.object in targets and r.predicate not in ("next to", "looking at")
            for r in self.graph.group_relations
        )

    # ---- one statement each

    def said(self, mark: Mark) -> Iterable[Verdict]:
        """Words that no picture decides: lost where they are gone or turned into their contrary."""
        old, words = self.before(mark), self.words(mark)
        self.mark_judged(mark)
        gone = less(old, words) or excludes(" ".join(old), " ".join(words))
        yield "lost" if gone else None

    def noun(self, mark: Mark) -> Iterable[Verdict]:
        old, words = " ".join(self.before(mark)), self.words(mark)
        members = self.groups[mark.target]
        self.mark_judged(mark)
        name = " ".join(words)
        if not words:
            yield "lost"
        elif named := families_named(name):
            yield "lost" if named & families(members) else "false"
        elif (noun := named_at_end(words)) is not None:
            kinds, adjectives = kinds_named(" ".join(words[noun:])), words[:noun]
            if not kinds & self.kinds_of(mark.target):
                verdict = self.taken_for(mark, kinds)
                yield None if adjectives and verdict == "true" else verdict
            elif less(old.split(), words) or (kinds > kinds_named(old) and "people" in kinds):
                yield "lost"
            else:
                yield None if adjectives and not self.so(mark.target, adjectives) else "true"
        elif words[-1] in words_of_places():
            yield "false"
        else:
            yield "lost" if less(old.split(), words) else None

    def so(self, group: int, adjectives: Sequence[str]) -> bool:
        """Whether the things of a group are known to be so."""
        return bool(values_named(" ".join(adjectives)) & set(self.groups[group][0].attributes))

    def kinds_of(self, group: int) -> set[str]:
        """What the things of a group may be called."""
        held = {
            self.groups[r.object][0].kind for r in self.graph.group_relations if r.subject == group
        }
        return true_kinds(self.groups[group], held)

    def taken_for(self, mark: Mark, kinds: frozenset[str]) -> Verdict:
        """A thing is called what other things of the scene are, or none: what else is said of it
        may be true of one of those."""
        others = [g for g in range(len(self.groups)) if kinds & self.kinds_of(g)]
        if not others:
            behind = {SHOWN_BEHIND.get(decor) for decor in self.graph.decor}
            return None if kinds & behind else "false"
        verdicts = {self.fits(mark.target, other) for other in others}
        return next(v for v in ("true", None, "false") if v in verdicts)

    def fits(self, group: int, other: int) -> Verdict:
        """Whether all remaining statements about one group are true of another."""
        has = dict(self.groups[other][0].attributes)
        unsure = any(
            m.target == group and not self.has_changed(m) for m in self.aligned.of("opinion")
        )
        for mark in self.aligned.of("attribute"):
            if (
                mark.target != group
                or self.has_changed(mark)
                or mark.value
                not in (
                    "colour",
                    "size",
                    "material",
                    "age",
                )
            ):
                continue
            said = {v for k, v in values_named(" ".join(self.before(mark))) if k == mark.value}
            if mark.value in has and has[mark.value] not in said:
                return "false"
            unsure = unsure or mark.value not in has
        for mark in self.aligned.of("state"):
            stays = mark.target == group and not self.has_changed(mark)
            if stays and " ".join(self.before(mark)) not in ways_to_do(self.graph, other):
                return "false"
        for mark in self.aligned.of("relation"):
            relation = self.graph.group_relations[mark.target]
            if group not in (relation.subject, relation.object) or self.has_changed(mark):
                continue
            swap = {group: other, other: group}
            ends = (
                swap.get(relation.subject, relation.subject),
                swap.get(relation.object, relation.object),
            )
            same = any(
                r.predicate == relation.predicate and ends == (r.subject, r.object)
                for r in self.graph.group_relations
            )
            if not same and relation.predicate != "next to":
                return "false"
            unsure = unsure or not same
        return None if unsure else "true"

    def attribute(self, mark: Mark) -> Iterable[Verdict]:
        old, words = self.before(mark), self.words(mark)
        self.mark_judged(mark)
        noun = next((m for m in self.aligned.of("noun") if m.start == mark.end), None)
        if less(old, words):
            yield "lost"
            return
        if noun and families_named(" ".join(words + self.words(noun))):
            self.mark_judged(noun)
            yield "lost"
            return
        name = "colour" if mark.value in garments() else mark.value
        shade = len(words) > 1 and words[:-1] == old[:-1]  # "royal yellow"
        said = values_named(words[-1] if shade else " ".join(words))
        true = {
            (name if k == mark.value else k, v)
            for o in self.groups[mark.target]
            for k, v in o.attributes
        }
        if said & true:
            yield "true"
        elif excludes(" ".join(old), " ".join(words)) or any(
            k == kind for k, _ in said for kind, _ in true
        ):
            yield "false"
        else:
            yield None

    def count(self, mark: Mark) -> Iterable[Verdict]:
        old, words = self.before(mark), self.words(mark)
        self.mark_judged(mark)
        was, vague = (
            len(self.groups[mark.target]),
            not {"couple", "pair"} & set(old) and bool(_VAGUE & set(old)),
        )
        counts = [w for w in words if w in _NUMBERS or w in _VAGUE or w in ("couple", "pair")]
        if not words or words == ["the"]:
            yield "true" if was == 1 else "lost"
        elif set(counts) & _VAGUE:
            fewer = counts == ["few"]  # and not "a few"
            yield "false" if was == 1 else "true" if vague and not fewer else "lost"
        elif set(counts) & {"couple", "pair"}:
            yield "true" if was == 2 else "false"
        elif (now := next((_NUMBERS[w] for w in counts if w in _NUMBERS), None)) is not None:
            shown = self.shown(self.groups[mark.target])
            if now == was:
                yield "lost" if {"lone", "single", "one"} & (set(old) - set(counts)) else "true"
            else:
                yield "false" if now > shown else "lost"
        else:
            yield None

    def shown(self, members: Sequence[SceneObject]) -> float:
        """The most that the scene may show: things in the background are not annotated."""
        category = members[0].category
        if category in {SHOWN_BEHIND.get(decor) for decor in self.graph.decor}:
            return float("inf")
        return sum(o.category == category for o in self.graph.objects)

    def relation(self, mark: Mark) -> Iterable[Verdict]:
        relation = self.graph.group_relations[mark.target]
        yield from self.verb(mark, ways_to_say(self.graph, relation))

    def state(self, mark: Mark) -> Iterable[Verdict]:
        yield from self.verb(mark, ways_to_do(self.graph, mark.target))

    def verb(self, mark: Mark, ways: set[str]) -> Iterable[Verdict]:
        """Verb and preposition, or one of them, compared with all true ones."""
        drop = LINKS | {"it", "them"} if mark.value == "inverse" else LINKS
        drop |= {w for m in self.aligned.of("manner") for w in self.before(m)}
        old, words = (
            [w for w in ws if w not in drop] for ws in (self.before(mark), self.words(mark))
        )
        inner = {i for i in range(mark.start, mark.end) if i in self.judged}
        self.mark_judged(mark)
        if old == words and inner:
            return  # the adverb alone
        said = " ".join(words)
        verb, shown = words[:1], {way.split()[0] for way in ways}
        place = self.place_of_verb(old, words)
        if old == words or said in ways or place == "true":
            yield "true"
        elif never_shown(words):
            yield "false"
        elif verb and words[1:] == old[1:] and verb[0] in every_verb():
            yield "true" if verb[0] in shown else "false"
        elif place == "false":
            yield "false"
        elif less(old, words) or set(words) & NO_PLACE:
            yield "lost"
        elif said in every_way() and mark.value != "inverse":
            yield "false"
        else:
            yield None

    @staticmethod
    def place_of_verb(old: Sequence[str], words: Sequence[str]) -> Verdict:
        """If only the preposition differs: whether it names the same place."""
        k = next((i for i, (a, b) in enumerate(zip(old, words, strict=False)) if a != b), len(old))
        for start in range(k, -1, -1):
            (a, rest), (b, others) = preposition(old[start:]), preposition(words[start:])
            if a and b and not rest and not others:
                same = same_place(a, b)
                return None if same is None else "true" if same else "false"
        return None

    def setting(self, mark: Mark) -> Iterable[Verdict]:
        old, words = self.before(mark), self.words(mark)
        self.mark_judged(mark)
        same = [[w for w in ws if w not in ARTICLES | LINKS] for ws in (old, words)]
        known = same[0] == same[1] or same_setting(" ".join(old), " ".join(words))
        if less(old, words):
            yield "lost"
        elif known is not None:
            yield "true" if known else "false"
        else:
            yield self.elsewhere(mark, old, words)

    def elsewhere(self, mark: Mark, old: Sequence[str], words: Sequence[str]) -> Verdict:
        """A phrase of place or light that the lexicon does not have as it is."""
        (a, rest), (b, others) = preposition(old), preposition(words)
        fresh = [w for w in words if w not in old and w not in ARTICLES]
        gone = [w for w in old if w not in words and w not in ARTICLES]
        lights = [light_holds(self.graph.light, w) for w in fresh]
        if set(fresh) & NO_PLACE:
            return "lost"
        if [w for w in rest if w not in ARTICLES] == [w for w in others if w not in ARTICLES]:
            same = same_place(a, b) if a and b else None
            return None if same is None else "true" if same else "lost"
        if False in lights or any(excludes(v, w) for v in gone for w in fresh):
            return "false"
        if nouns_in(fresh):
            return "lost"  # it names something else now
        if gone and (True in lights) != (mark.value == "light"):
            return "lost"  # it names the light instead of the place, or vice versa
        before = settings_named(old) or frozenset({self.graph.setting})
        named = [n for w in fresh if (n := settings_named([w])) is not None]
        if any(not n & before for n in named):
            return "false"
        known = len(named) == len(fresh) or (lights and all(lights))
        if not fresh and a != b and same_place(a, b) is False:
            return "lost"
        return "true" if known else None

    def worn(self, mark: Mark) -> Iterable[Verdict]:
        """Clothes: their colour is an attribute; here it is whether they are clothes still."""
        words = self.words(mark)
        attribute = [m for m in self.aligned.of("attribute") if mark.start <= m.start < mark.end]
        inner = {i for m in attribute for i in range(m.start, m.end)}
        changed = [i for i in range(mark.start, mark.end) if self.now[i] != self.old[i]]
        self.judged |= set(range(mark.start, mark.end)) - inner
        if not words:
            yield "lost"
        elif never_shown([w for i in changed for w in self.now[i]]):
            yield "false"
        elif set(changed) <= inner | {i for i in changed if set(self.now[i]) <= ARTICLES}:
            return  # the colour alone
        elif any(g.split()[-1] in words for g in garments().get(mark.value, ())):
            small = {w for i in changed for w in self.now[i]} - {"in", "with", "wearing"} - ARTICLES
            yield None if small else "true"
        else:
            yield "false" if nouns_in(words) or set(words) & words_of_places() else None

    # ---- whole phrases that have changed places

    def moved(self) -> dict[Mark, int]:
        """Where each noun phrase stands now, if all of them are there as they were, in any order;
        nothing if none has moved."""
        phrases = self.aligned.of("phrase")
        changed = [m for m in phrases if self.has_changed(m)]
        where = {m: places_of(self.before(m), self.new) for m in phrases}
        if not changed or any(len(where[m]) != 1 for m in phrases):
            return {}
        order = {m: where[m][0] for m in phrases}
        stayed = sorted(phrases) == sorted(phrases, key=lambda m: order[m])
        if stayed:
            return {}
        for mark in changed:
            self.mark_judged(mark)
        return order

    def turned(self, order: dict[Mark, int]) -> Iterable[Verdict]:
        """Judge the relations between phrases that have changed places."""
        for a, b in combinations(sorted(order), 2):
            if order[a] < order[b]:
                continue
            link = self.new[order[b] + len(self.before(b)) : order[a]]
            was = [w for i in range(a.end, b.start) for w in self.old[i]]
            between = [
                m for m in self.aligned.of("relation") if a.end <= m.start and m.end <= b.start
            ]
            if not between:
                yield "true" if set(was) <= {"and"} and set(link) <= {"and"} else None
            for mark in between:
                if {a.target, b.target} != set(self.graph.group_relations[mark.target][::2]):
                    yield None
                    continue
                self.mark_judged(mark)
                yield self.other_way(mark, was, link, (a.target, b.target))

    def other_way(
        self, mark: Mark, was: Sequence[str], link: Sequence[str], ends: tuple[int, int]
    ) -> Verdict:
        """A relation whose two things have changed places."""
        if "by" in link and {"being", "is", "are"} & set(link) and "by" not in was:
            verbs = {lemma for w in was for lemma in lemminflect.getLemma(w, "VERB")}
            done = [w for w in link if w not in {"being", "by", *LINKS}]
            return "true" if set(lemminflect.getLemma(done[0], "VERB")) & verbs else None
        words = [w for w in self.before(mark) if w not in LINKS]
        alive = all(families(self.groups[g]) <= {"person", "animal"} for g in ends)
        predicate = self.graph.group_relations[mark.target].predicate
        if words == ["with"] and alive:
            return "true"
        if predicate != "next to":
            return "false"
        bare_place = not preposition(words)[1] or words[0] in ("located", "situated")
        return "true" if bare_place and preposition(words)[0] else None


def named_at_end(words: Sequence[str]) -> int | None:
    """Where the longest noun of a thing begins that ends the words; `None` if there is none."""
    starts = range(len(words))
    return next((i for i in starts if kinds_named(" ".join(words[i:]))), None)


def less(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether the new words are some of the old ones, in their order; articles do not count."""
    a, b = ([w for w in words if w not in ARTICLES] for words in (old, new))
    rest = iter(a)
    return len(b) < len(a) and all(word in rest for word in b)


def places_of(words: Sequence[str], text: Sequence[str]) -> list[int]:
    """The place of adjacent words in a text."""
    n = len(words)
    return [i for i in range(len(text) - n + 1) if list(text[i : i + n]) == list(words)]


def spelt(text: str) -> list[str]:
    """Words as they are compared: small letters, numbers as words, nothing contracted."""
    words: list[str] = []
    for token in text.replace("’", "'").lower().replace("-", " ").split():
        word = token.strip(punctuation)
        ending = next((s for s in _SHORT if word.endswith(s)), "")
        stem = word.removesuffix(ending)
        if ending and (ending == "n't" or stem in ("there", "that", "who", "it", "they", "here")):
            words += [stem, _SHORT[ending]]
        elif word:
            words.append(_SPELLINGS.get(word, word))
    return words
