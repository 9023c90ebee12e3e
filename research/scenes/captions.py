"""From a scene graph to captions, as different people would write them.

A caption picks what it talks about (one relation, one group, a table full of things), a form of
sentence, and a length drawn from COCO's distribution; then it adds true details until the length
is reached. Every word that states a fact is marked with the fact.
"""

from dataclasses import dataclass, field

from metaeval.data.scenes.graph import AlignedCaption, Mark, Relation, SceneGraph
from metaeval.data.scenes.lexicon import ROLES
from research.scenes.actors import Actor, Words, cast
from research.scenes.draw import Draw
from research.scenes.phrases import BACKDROPS, LIGHTS, OPENERS, ROOMS, TAILS, WHERE
from research.scenes.verbs import ADVERBS, DOINGS, FRAMES, Frame, doing_of, shifted, verb_words

# How many of 1,000 captions have how many words (COCO val2017, longest tail cut at 21).
_LENGTHS = {
    7: 9,
    8: 163,
    9: 223,
    10: 213,
    11: 152,
    12: 99,
    13: 58,
    14: 33,
    15: 18,
    16: 11,
    17: 7,
    18: 5,
    19: 4,
    20: 3,
    21: 2,
}
LENGTHS = tuple(n for n, times in _LENGTHS.items() for _ in range(times))
SHORTEST = 7  # words, as in COCO val2017
POSTURES = ("standing", "walking", "posing", "traveling", "sitting")
BINDING = ("riding", "on skis", "holding", "carrying", "wearing", "pulling", "swinging")
LIFELESS = ("parked", "flying", "floating")  # what things, too, can do in some manner
LYING = Frame("laying", "lays", "lay", "")
STANDING = Frame("standing", "stands", "stand", "")
RIDES = ("riding", "on skis", "holding", "swinging", "pulling", "flying", "wearing")
ON = ("on", "sitting on", "lying on", "standing on", "in")
UNSPOKEN_POSES = ("ride", "pedal", "surf", "swing")  # neither standing nor sitting nor lying


Piece = tuple[int, tuple[str, ...], str]  # an adjective: rank, words, name of the attribute


@dataclass
class Fill:
    """The details chosen for one caption."""

    first: list[Piece] = field(default_factory=list)
    second: list[Piece] = field(default_factory=list)
    clothing: Words | None = None
    adverb: str = ""
    tails: list[Words] = field(default_factory=list)


class Teller:
    """Writes different captions of one scene."""

    def __init__(self, graph: SceneGraph, draw: Draw) -> None:
        self.graph, self.draw = graph, draw
        self.actors = cast(graph)
        self.relations = list(enumerate(graph.group_relations))
        self.indoors = graph.light == "indoors"
        self.definite = False
        self.mentioned: set[int] = set()

    def captions(self, k: int) -> tuple[AlignedCaption, ...]:
        """`k` captions that differ in more than case and punctuation."""
        out: list[AlignedCaption] = []
        seen: set[str] = set()
        tries = 0
        while len(out) < k:
            words = self._tell(self.draw.pick(LENGTHS))
            tries += 1
            if len(words) < SHORTEST and tries < 5 * k:
                continue
            key = " ".join(words.words).replace(",", "").lower()
            if key not in seen:
                seen.add(key)
                out.append(_typed(words, self.draw))
        return tuple(out)

    def _tell(self, target: int) -> Words:
        draw = self.draw
        self.mentioned = set()
        self.definite = draw.chance(5)
        if not self.relations:
            return self._group(draw.pick(self.actors), target)
        roll = draw.below(100)
        related = {g for _, r in self.relations for g in (r.subject, r.object)}
        single = [a for a in self.actors if a.group not in related]
        if roll < 8 and single:
            return self._group(draw.pick(single), target)
        if roll < 13:
            return self._group(draw.pick(self._free()), target)
        index, relation = self.relations[0] if draw.chance(60) else draw.pick(self.relations)
        if relation.predicate == "on" and draw.chance(75):
            return self._spread(relation.object, target)
        if relation.predicate == "next to" and self.indoors and draw.chance(45):
            return self._room(target)
        return self._relation(index, relation, target)

    # ---- sentences: about a relation, a group, a table and what is on it, a room

    def _relation(self, index: int, relation: Relation, target: int) -> Words:
        draw = self.draw
        a, b = self.actors[relation.subject], self.actors[relation.object]
        self.mentioned |= {a.group, b.group}
        frame = self._frame(relation, a, b)
        roll = draw.below(100)
        if relation.predicate in ON and roll < 9:
            return self._inverse(index, relation, a, b, target)
        role = ""
        if relation.predicate in RIDES and b.kind in ROLES and a.noun_key != "girl":
            role = b.kind if draw.chance(13) else ""
        lead = Words()
        link = Words()  # between subject and verb
        form = "ing" if frame.ing else "prep"
        many = a.n > 1
        if roll < 40:
            pass
        elif frame.rest == "with" and not frame.ing and roll < 88:
            pass  # avoid "is with a racket"
        elif roll < 62:
            link.add_be(a.group, many)
        elif roll < 74 and frame.one:
            form = "many" if many else "one"
        elif roll < 83:
            lead.add(("there",))
            lead.add_be(a.group, many)
            self.definite = False
        elif roll < 88:
            link.add((draw.pick(("that", "who") if a.category == "person" else ("that",)),))
            link.add_be(a.group, many)
        elif roll < 95:
            lead.add(draw.pick(OPENERS))
            self.definite = False
        verb = verb_words(frame, form, index, a)
        fill = self._details(target - len(lead) - len(link) - len(verb), a, b, frame, form, index)
        out = lead
        out.join(a.phrase(draw, fill.first, self.definite, role))
        if fill.clothing:
            out.join(fill.clothing)
        out.join(link)
        if fill.adverb:
            verb.words.insert(1, fill.adverb)
            verb = shifted(verb, 1)
            verb.marks.append(Mark(1, 2, "manner", a.group))
        out.join(verb)
        out.join(b.phrase(draw, fill.second, just_named=a.n))
        for tail in fill.tails:
            out.join(tail)
        return out

    def _inverse(self, index: int, relation: Relation, a: Actor, b: Actor, target: int) -> Words:
        """ "a couch with a dog lying on it"."""
        draw = self.draw
        frame = self._frame(relation, a, b)
        side = "in" if relation.predicate == "in" else "on"
        fill = self._details(target - 4, b, a, frame, "prep", index, clothes=False)
        out = Words()
        if draw.chance(30):
            out.add(("there",))
            out.add_be(b.group, b.n > 1)
        out.join(b.phrase(draw, fill.first))
        tail = Words()
        tail.add(("with",))
        tail.join(a.phrase(draw, fill.second))
        end = "them" if b.n > 1 else "it"
        inner: tuple[str, ...] = (side, end)
        if draw.chance(25):
            inner = ("on", "top", "of", end) if side == "on" else ("inside", "of", end)
        if frame.ing and not frame.rest.startswith(("on top", "inside", "atop")):
            inner = (*frame.ing.split(), *inner)
        tail.add(inner, "relation", index, "inverse")
        tail.wrap("owned", b.group)
        out.join(tail)
        for piece in fill.tails:
            out.join(piece)
        return out

    def _group(self, a: Actor, target: int) -> Words:
        draw = self.draw
        self.mentioned.add(a.group)
        frame = draw.pick(DOINGS[doing_of(a, self.graph)])
        roll = draw.below(100)
        many = a.n > 1
        lead, link = Words(), Words()
        doing = frame.ing.split()
        finite = False
        unspoken = a.category == "person" and a.pose in UNSPOKEN_POSES
        if unspoken and roll < 60:
            roll = 0  # neither "is" nor a verb, of which none is sure to fit
        if roll < 34:
            pass
        elif roll < 52:
            link.add_be(a.group, many)
        elif roll < 60 and frame.one:
            doing, finite = [], True
            verb = (frame.many if many else frame.one).split()
            other = (frame.one if many else frame.many).split()
            link.add(verb[:1], "agree", a.group, other[0])
            link.add(verb[1:])
            link.wrap("state", a.group)
        elif roll < 76:
            lead.add(("there",))
            lead.add_be(a.group, many)
            self.definite = False
            doing = doing if draw.chance(60) else []
        else:
            lead.add(draw.pick(OPENERS))
            self.definite = False
            doing = doing if draw.chance(60) else []
        if unspoken:
            doing = []
        link.add(doing, "state" if doing else "", a.group)
        form = "ing" if doing else "one" if finite else "prep"
        where = self._where(a, bool(doing) or finite)
        fill = self._details(
            target - len(lead) - len(link) - len(where), a, None, frame, form, -1, where=where
        )
        out = lead
        out.join(a.phrase(draw, fill.first, self.definite))
        if fill.clothing:
            out.join(fill.clothing)
        if fill.adverb and doing:
            link.add((fill.adverb,), "manner", a.group)
        out.join(link)
        for tail in fill.tails:
            out.join(tail)
        return out

    def _spread(self, table: int, target: int) -> Words:
        """ "a table with a pizza and two cups on it", "a pizza and a fork on a table"."""
        draw = self.draw
        b = self.actors[table]
        on = [(i, r) for i, r in self.relations if r.predicate == "on" and r.object == table]
        chosen = draw.sample(on, draw.pick((1, 2, 2, 3)))
        things = [self.actors[r.subject] for _, r in chosen]
        self.mentioned |= {a.group for a in things} | {table}
        items = Words()
        for i, a in enumerate(things):
            if i and i == len(things) - 1:
                items.add(("and",))
            elif i:
                items.words[-1] += ","
            adjectives = a.adjectives(draw)[: draw.pick((0, 1, 1))]
            items.join(a.phrase(draw, adjectives))
        out = Words()
        index = chosen[0][0]
        if draw.chance(46):
            verb = draw.pick(
                (
                    ("with",),
                    ("with",),
                    ("topped", "with"),
                    ("that", "has"),
                    ("holding",),
                    ("set", "with"),
                )
            )
            base = len(items) + len(verb) + 1
            fill = self._details(target - base, b, None, Frame("", "", "", ""), "prep", -1)
            there = draw.chance(16)
            if there:
                out.add(("there", "is"))
            out.join(b.phrase(draw, fill.first, self.definite and not there))
            out.add(verb, "relation", index, "inverse")
            out.join(items)
            if verb == ("with",) and draw.chance(55):
                start = len(out)
                out.add(("on", "it" if draw.chance(60) else "top"), "owned", table)
                out.marks.append(Mark(start, len(out), "relation", index, "inverse"))
        else:
            many = len(things) > 1 or things[0].n > 1
            frame = self._frame(self.graph.group_relations[index], things[0], b)
            link = Words()
            form = "ing" if frame.ing else "prep"
            if draw.chance(30):
                if len(things) == 1:
                    link.add_be(things[0].group, many)
                else:
                    link.add(("are",))
            verbs = verb_words(frame, form, index, things[0])
            base = len(items) + len(link) + len(verbs)
            fill = self._details(target - base, b, None, Frame("", "", "", ""), "prep", -1)
            out.join(items)
            out.join(link)
            out.join(verbs)
            out.join(b.phrase(draw, fill.first))
        for tail in fill.tails:
            out.join(tail)
        return out

    def _room(self, target: int) -> Words:
        """ "a kitchen with a stove, a sink and a refrigerator"."""
        draw = self.draw
        room = draw.pick(ROOMS.get(self.graph.setting, ROOMS["living room"]))
        shown = [a for a in self.actors if a.place != "wall"]
        things = draw.sample(shown, draw.pick((2, 2, 3)))
        self.mentioned |= {a.group for a in things}
        out = Words()
        if draw.chance(24):
            out.add(draw.pick(OPENERS))
        elif draw.chance(12):
            out.add(("there", "is"))
        out.add(room, "setting", 0)
        out.add(
            draw.pick(
                (
                    ("with",),
                    ("with",),
                    ("with",),
                    ("that", "has"),
                    ("featuring",),
                    ("containing",),
                    ("equipped", "with"),
                )
            )
        )
        for i, a in enumerate(things):
            if i and i == len(things) - 1:
                out.add(("and",))
            elif i:
                out.words[-1] += ","
            left = target - len(out) - 3 * (len(things) - i - 1) - 2
            out.join(a.phrase(draw, a.adjectives(draw)[: max(0, min(2, left))]))
        if len(out) < target - 2 and self.graph.decor:
            tail = self._decor(things[0])
            if tail and len(out) + len(tail) <= target + 1:
                out.join(tail)
        return out

    # ---- details that fill a caption up to its length: adjectives, clothes, place, light, more

    def _free(self) -> list[Actor]:
        """Groups that can be mentioned alone: not what someone holds, wears or rides."""
        bound = {r.object for _, r in self.relations if r.predicate in BINDING}
        return [a for a in self.actors if a.group not in bound]

    def _frame(self, relation: Relation, a: Actor, b: Actor) -> Frame:
        predicate = relation.predicate
        if predicate == "sitting at" and a.n > 1:
            predicate = "sitting around"
        kind = "person" if a.category == "person" else a.family
        kind = {"indoor": "toy"}.get(kind, kind)
        for key in (
            f"{predicate}>{b.category}",
            f"{predicate}<{a.category}",
            f"{predicate}<{kind}",
            predicate,
        ):
            if key in FRAMES:
                frame = self.draw.pick(FRAMES[key])
                break
        if frame.ing in ("sitting", "resting", "waiting") and predicate != "sitting on":
            if a.pose == "lie":
                return LYING._replace(rest=frame.rest)
            if a.category == "bird":
                return STANDING._replace(rest=frame.rest)
        if frame.ing == "hiding" and a.family != "animal":
            return Frame("", "", "", frame.rest)
        return frame

    def _details(
        self,
        room: int,
        a: Actor,
        b: Actor | None,
        frame: Frame,
        form: str,
        index: int,
        where: Words | None = None,
        clothes: bool = True,
    ) -> Fill:
        """Choose details for `room` words, noun phrases included."""
        draw = self.draw
        fill = Fill()
        room -= bare(a) + (bare(b) if b else 0)
        given = where is not None
        slots: dict[str, Words] = {}
        if where is not None:
            slots["where"] = where
        order = draw.shuffled(
            (
                "where",
                "first",
                "second",
                "clothing",
                "light",
                "decor",
                "second2",
                "first2",
                "more",
                "extra",
                "adverb",
            )
        )
        if draw.chance(58):
            order.remove("where")
            order.insert(0, "where")
        firsts = a.adjectives(draw)
        seconds = b.adjectives(draw) if b else []
        for slot in order:
            if room <= 0:
                break
            if slot in ("first", "first2") and firsts:
                if len(firsts[0][1]) <= room:
                    piece = firsts.pop(0)
                    fill.first.append(piece)
                    room -= len(piece[1])
            elif slot in ("second", "second2") and seconds:
                if len(seconds[0][1]) <= room:
                    piece = seconds.pop(0)
                    fill.second.append(piece)
                    room -= len(piece[1])
            elif slot == "clothing" and clothes and a.category == "person" and room >= 3:
                dressed = a.clothing(draw)
                if dressed and len(dressed) <= room:
                    fill.clothing = dressed
                    room -= len(dressed)
            elif slot == "adverb":
                if form == "ing" and frame.ing and draw.chance(20) and (b is None or frame.rest):
                    options = ADVERBS.get(frame.ing)
                    alive = a.family in ("person", "animal") or frame.ing in LIFELESS
                    if options and alive:
                        fill.adverb = draw.pick(options)
                        room -= 1
            elif slot == "where" and not given:
                place = self._where(a)
                if len(place) <= room:
                    slots["where"] = place
                    room -= len(place)
            elif slot in ("light", "decor", "more", "extra") and room >= 2:
                if slot == "light":
                    tail = self._light()
                elif slot == "decor":
                    tail = self._decor(a)
                elif slot == "more":
                    tail = self._more(a, index, form)
                else:
                    tail = self._extra()
                if tail and len(tail) <= room + 1 and not ("extra" in slots and slot == "more"):
                    slots[slot] = tail
                    room -= len(tail)
        while room > 0 and (firsts or seconds):
            if firsts and (not seconds or draw.chance(50)):
                piece = firsts.pop()
                fill.first.append(piece)
            else:
                piece = seconds.pop()
                fill.second.append(piece)
            room -= len(piece[1])
        if room >= 3 and "where" not in slots:
            slots["where"] = self._where(a)
        fill.tails = [slots[s] for s in ("more", "where", "decor", "light", "extra") if s in slots]
        return fill

    def _where(self, a: Actor, moving: bool = True) -> Words:
        g = self.graph
        key = g.setting
        if a.place == "sky" and not moving:
            key = "aloft"
        elif a.place in ("sky", "counter", "wall"):
            key = a.place
        elif key == "lake" or (key == "ocean" and not dict(g.backdrop).get("wave")):
            # who sits in a boat is on the water, not in it
            key = "afloat" if a.category in ("person", "dog") else key
        elif a.kind == "train":
            key = "train"
        elif a.kind == "airplane" and key == "airport":
            key = "runway"
        elif key == "ocean" and dict(g.backdrop).get("wave"):
            key = "wave" if a.kind in ("person", "surfboard") else "ocean"
        out = Words()
        out.add(self.draw.pick(WHERE[key]), "setting", 0)
        return out

    def _light(self) -> Words | None:
        if self.indoors:
            return None
        out = Words()
        out.add(self.draw.pick(LIGHTS[self.graph.light]), "setting", 0, "light")
        return out

    def _decor(self, a: Actor) -> Words | None:
        options = [d for d in self.graph.decor if d in BACKDROPS]
        if not options or a.place in ("sky", "counter"):
            return None
        out = Words()
        out.add(self.draw.pick(BACKDROPS[self.draw.pick(options)]), "setting", 0, "decor")
        return out

    def _more(self, a: Actor, index: int, form: str) -> Words | None:
        """A second relation of the same subject: "while holding a phone"."""
        draw = self.draw
        others = [
            (i, r)
            for i, r in self.relations
            if r.subject == a.group and i != index and r.object not in self.mentioned
        ]
        if not others:
            return None
        i, relation = draw.pick(others)
        b = self.actors[relation.object]
        frame = self._frame(relation, a, b)
        if frame.ing.startswith(POSTURES):
            frame = Frame("", "", "", frame.rest or "with")  # one posture a sentence
        out = Words()
        finite = form in ("one", "many")
        if frame.ing and form != "prep" and (finite or draw.chance(50)):
            out.add(("while",))
        out.join(verb_words(frame, "ing" if frame.ing else "prep", i, a))
        out.join(b.phrase(draw, [], just_named=a.n))
        out.wrap("owned", a.group)
        self.mentioned.add(b.group)
        return out

    def _extra(self) -> Words | None:
        """Another group: "with a dog nearby"."""
        draw = self.draw
        others = [x for x in self._free() if x.group not in self.mentioned and x.place != "counter"]
        if not others:
            return None
        x = draw.pick(others)
        out = Words()
        out.add(("with",))
        out.join(x.phrase(draw, x.adjectives(draw)[: draw.below(2)]))
        place = {"sky": "aloft", "wall": "wall"}.get(x.place)
        out.add(draw.pick(WHERE[place]) if place else draw.pick(TAILS), "place", x.group)
        out.wrap("owned", -1)
        self.mentioned.add(x.group)
        return out


def bare(a: Actor) -> int:
    """Words of the noun phrase without adjectives, on average."""
    return 2 + (" " in a.noun_key or a.kind in ("skis", "scissors"))


def _typed(words: Words, draw: Draw) -> AlignedCaption:
    """Type it as annotators do: mostly a capital and a full stop, not always."""
    text = list(words.words)
    if not draw.chance(13):
        text[0] = text[0][0].upper() + text[0][1:]
    stop = "." if draw.chance(75) else ""
    return AlignedCaption(" ".join(text) + stop, tuple(words.marks))
