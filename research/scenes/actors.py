"""What a caption can say of a scene: its groups as noun phrases, and words that remember
what they express.
"""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.data.scenes.cast import THINGS
from metaeval.data.scenes.graph import Mark, SceneGraph, SceneObject
from metaeval.data.scenes.lexicon import COLOUR_WORDS, NOUNS, NUMBERS, ROLES, Noun, article
from research.scenes.draw import Draw
from research.scenes.phrases import (
    AGE_WORDS,
    DRESSES,
    FLOCKS,
    GARMENTS,
    HATS,
    HERDS,
    MATERIAL_WORDS,
    OPINIONS,
    OWN_COLOUR_WORDS,
    PLURALS,
    SIZE_WORDS,
    SNOW_GARMENTS,
    STEEL_KINDS,
)


class Words:
    """Words and marks; marks count positions from the first word."""

    __slots__ = ("marks", "words")

    def __init__(self) -> None:
        self.words: list[str] = []
        self.marks: list[Mark] = []

    def __len__(self) -> int:
        return len(self.words)

    def add(self, words: Sequence[str], role: str = "", target: int = 0, value: str = "") -> None:
        """Append words; with a role, mark them."""
        start = len(self.words)
        self.words.extend(words)
        if role:
            self.marks.append(Mark(start, len(self.words), role, target, value))

    def add_be(self, group: int, many: bool) -> None:
        """Append "is" or "are", which agrees with a group."""
        verb, other = ("are", "is") if many else ("is", "are")
        self.add((verb,), "agree", group, other)

    def join(self, other: Words) -> None:
        """Append another sequence with its marks."""
        shift = len(self.words)
        self.words.extend(other.words)
        self.marks.extend([Mark(m[0] + shift, m[1] + shift, m[2], m[3], m[4]) for m in other.marks])

    def wrap(self, role: str, target: int, value: str = "") -> None:
        """Mark all words so far."""
        self.marks.append(Mark(0, len(self.words), role, target, value))


PIECES = ("opinion", "size", "age", "colour", "material")  # the order of adjectives in English


class Actor:
    """One group: how many, what kind, what is true of all its members."""

    __slots__ = (
        "attributes",
        "category",
        "family",
        "group",
        "kind",
        "n",
        "noun_key",
        "place",
        "pose",
        "snowy",
    )

    def __init__(self, group: int, members: tuple[SceneObject, ...], setting: str) -> None:
        first = members[0]
        self.group, self.n = group, len(members)
        self.category, self.kind = first.category, first.kind
        self.family = THINGS[first.category].family
        self.snowy = setting == "snow"
        self.pose = next((v for k, v in first.looks if k == "pose"), "")
        if self.n == 1:
            self.attributes: dict[str, str] = dict(first.attributes)
        else:
            rest = [dict(m.attributes) for m in members[1:]]
            self.attributes = {
                k: v for k, v in first.attributes if all(r.get(k) == v for r in rest)
            }
        self.place = self.attributes.get("place", "")
        self.noun_key = self._noun_key(members)

    def _noun_key(self, members: tuple[SceneObject, ...]) -> str:
        if self.category == "person":
            kinds = {m.kind for m in members}
            if len(kinds) == 1:
                return self.kind
            return "children" if kinds <= {"boy", "girl"} else "people"
        if self.category == "boat":
            return "row boat" if self.pose == "row" else "sailing boat"
        return self.kind

    def noun(self, draw: Draw) -> Noun:
        """A word for the group, singular and plural."""
        return draw.pick(NOUNS[self.noun_key])

    def adjectives(self, draw: Draw) -> list[tuple[int, tuple[str, ...], str]]:
        """True adjectives (rank, words, attribute) and at most one opinion, in random order."""
        out: list[tuple[int, tuple[str, ...], str]] = []
        for name, value in self.attributes.items():
            words: tuple[str, ...] | None = None
            if name == "colour":
                words = OWN_COLOUR_WORDS.get((self.kind, value)) or COLOUR_WORDS[value]
            elif name == "size":
                words = SIZE_WORDS[value]
            elif name == "material":
                words = MATERIAL_WORDS[value]
                if value == "metal" and self.kind in STEEL_KINDS:
                    words = ("stainless steel", "silver", "metal", "steel")
            elif name == "age":
                words = AGE_WORDS[value]
                if value == "young" and self.n > 1:
                    words = ("young", "young", "little", "small")
            if words:
                out.append((PIECES.index(name), tuple(draw.pick(words).split()), name))
        if self.n == 1 and draw.chance(16 if self.family != "person" else 5):
            out.append((0, (draw.pick(OPINIONS[self.family]),), ""))
        return draw.shuffled(out)

    def clothing(self, draw: Draw) -> Words | None:
        """ "in a red shirt": a phrase that belongs to the person."""
        options = [k for k in ("clothing", "hat", "dress") if k in self.attributes]
        if not options or self.category != "person":
            return None
        name = draw.pick(options)
        colour = draw.pick(COLOUR_WORDS[self.attributes[name]]).split()
        if name == "clothing":
            garment = draw.pick(SNOW_GARMENTS if self.snowy else GARMENTS)
        else:
            garment = draw.pick(HATS if name == "hat" else DRESSES)
        lead = draw.pick(
            ("in", "in", "wearing", "wearing")
            if name != "hat"
            else ("wearing", "wearing", "with", "in")
        )
        words = Words()
        words.add((lead,))
        if self.n == 1:
            words.add((article(colour[0]),))
        words.add(colour, "attribute", self.group, name)
        noun = garment.split()
        if self.n > 1:
            noun[-1] = PLURALS.get(noun[-1], noun[-1] + "s")
        words.add(noun)
        words.wrap("worn", self.group, name)
        words.wrap("owned", self.group)
        return words

    def phrase(
        self,
        draw: Draw,
        adjectives: list[tuple[int, tuple[str, ...], str]],
        definite: bool = False,
        role: str = "",
        just_named: int = 0,
    ) -> Words:
        """The noun phrase, with these adjectives.

        `role` names the thing it rides or plays with; `just_named` is the number of a
        group that was just named, after which "two rackets" may be "rackets".
        """
        many = self.n > 1
        noun = draw.pick(ROLES[role]) if role else self.noun(draw)
        head, other = (noun[1], noun[0]) if many else noun
        order = sorted(adjectives)
        if head.startswith("youngster"):  # avoid "a young youngster"
            order = [x for x in order if x[2] != "age"]
        first = order[0][1][0] if order else head.split()[0]
        words = Words()
        if definite and not many:
            words.add(("the",))
        else:
            count = self._count(draw, first, head, bool(just_named))
            if just_named == self.n and many and not draw.chance(35):
                count = ()
            if definite and count and count[0] in NUMBERS.values() and count[0] != "one":
                words.add(("the",))
            if count:
                words.add(count, "count", self.group, str(self.n))
        for _, text, attribute in order:
            words.add(text, "attribute" if attribute else "opinion", self.group, attribute)
        words.add(head.split(), "noun", self.group, other)
        words.wrap("phrase", self.group)
        return words

    def _count(self, draw: Draw, first: str, head: str, second: bool) -> tuple[str, ...]:
        n = self.n
        roll = draw.below(100)
        if n == 1:
            if roll < 3 and not second:
                return ("one",)
            if roll > 97 and not second and not head.startswith(("pair", "set")):
                return ("a", "lone" if self.family in ("person", "animal") else "single")
            return (article(first),)
        odd = head.startswith(("pairs", "sets"))
        if odd or roll < 56:
            return (NUMBERS[n],)
        if n == 2:
            return ("a", "couple", "of") if roll < 86 else ("a", "pair", "of")
        if roll < 70:
            return ("a", "group", "of")
        if roll < 80 and self.kind in HERDS:
            return ("a", "herd", "of")
        if roll < 88 and self.kind in FLOCKS:
            return ("a", "flock", "of")
        return draw.pick(
            (
                ("several",),
                ("some",),
                ("a", "few"),
                ("a", "bunch", "of"),
                ("several",),
                ("multiple",),
                ("a", "number", "of"),
            )
        )


def cast(graph: SceneGraph) -> list[Actor]:
    """The scene's groups."""
    return [Actor(i, members, graph.setting) for i, members in enumerate(graph.groups())]
