"""The details that fill a caption up to its length: adjectives, clothes, place, light, more."""

from __future__ import annotations

from metaeval.data.scenes.cast import Actor, cast
from metaeval.data.scenes.draw import Draw
from metaeval.data.scenes.frames import verb_words
from metaeval.data.scenes.graph import Relation, SceneGraph
from metaeval.data.scenes.places import BACKDROPS, LIGHTS, TAILS, WHERE
from metaeval.data.scenes.verbs import ADVERBS, FRAMES, Frame
from metaeval.data.scenes.wording import Words

POSTURES = ("standing", "walking", "posing", "traveling", "sitting")
BINDING = ("riding", "on skis", "holding", "carrying", "wearing", "pulling", "swinging")
LIFELESS = ("parked", "flying", "floating")  # what things, too, can do in some manner
LYING = Frame("laying", "lays", "lay", "")
STANDING = Frame("standing", "stands", "stand", "")


class Fill:
    """The details chosen for one caption."""

    __slots__ = ("adverb", "clothing", "first", "second", "tails")

    def __init__(self) -> None:
        self.first: list[tuple[int, tuple[str, ...], str]] = []
        self.second: list[tuple[int, tuple[str, ...], str]] = []
        self.clothing: Words | None = None
        self.adverb = ""
        self.tails: list[Words] = []


class Details:
    """One scene, what a caption has mentioned of it, and true things to add."""

    def __init__(self, graph: SceneGraph, draw: Draw) -> None:
        self.graph, self.draw = graph, draw
        self.actors = cast(graph)
        self.relations = list(enumerate(graph.group_relations))
        self.indoors = graph.light == "indoors"
        self.definite = False
        self.mentioned: set[int] = set()

    def _free(self) -> list[Actor]:
        """Groups that can be mentioned alone: not what someone holds, wears or rides."""
        bound = {r.object for _, r in self.relations if r.predicate in BINDING}
        return [a for a in self.actors if a.group not in bound]

    def _related(self) -> set[int]:
        return {g for _, r in self.relations for g in (r.subject, r.object)}

    def _frame(self, relation: Relation, a: Actor, b: Actor) -> Frame:
        predicate = relation.predicate
        if predicate == "sitting at" and a.n > 1:
            predicate = "sitting around"
        kind = "person" if a.category == "person" else a.family
        kind = {"indoor": "toy"}.get(kind, kind)
        for key in (f"{predicate}>{b.category}", f"{predicate}<{a.category}",
                    f"{predicate}<{kind}", predicate):  # fmt: skip
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
        order = draw.shuffled(("where", "first", "second", "clothing", "light", "decor", "second2",
                               "first2", "more", "extra", "adverb"))  # fmt: skip
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
