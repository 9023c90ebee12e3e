"""The sentences: about a relation, a group, a table and what is on it, a room."""

from __future__ import annotations

from metaeval.data.scenes.cast import Actor
from metaeval.data.scenes.details import Details
from metaeval.data.scenes.frames import doing_of, shifted, verb_words
from metaeval.data.scenes.graph import Mark, Relation
from metaeval.data.scenes.lexicon import ROLES
from metaeval.data.scenes.places import OPENERS, ROOMS
from metaeval.data.scenes.verbs import DOINGS, Frame
from metaeval.data.scenes.wording import Words

RIDES = ("riding", "on skis", "holding", "swinging", "pulling", "flying", "wearing")
ON = ("on", "sitting on", "lying on", "standing on", "in")
UNSPOKEN_POSES = ("ride", "pedal", "surf", "swing")  # neither standing nor sitting nor lying


class Sentences(Details):
    """Words one caption of a given length."""

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
            link.add(("are" if many else "is",), "agree", a.group, "is" if many else "are")
        elif roll < 74 and frame.one:
            form = "many" if many else "one"
        elif roll < 83:
            lead.add(("there",))
            lead.add(("are" if many else "is",), "agree", a.group, "is" if many else "are")
            self.definite = False
        elif roll < 88:
            link.add((draw.pick(("that", "who") if a.category == "person" else ("that",)),))
            link.add(("are" if many else "is",), "agree", a.group, "is" if many else "are")
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
            out.add(("are" if b.n > 1 else "is",), "agree", b.group, "is" if b.n > 1 else "are")
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
            link.add(("are" if many else "is",), "agree", a.group, "is" if many else "are")
        elif roll < 60 and frame.one:
            doing, finite = [], True
            verb = (frame.many if many else frame.one).split()
            other = (frame.one if many else frame.many).split()
            link.add(verb[:1], "agree", a.group, other[0])
            link.add(verb[1:])
            link.wrap("state", a.group)
        elif roll < 76:
            lead.add(("there",))
            lead.add(("are" if many else "is",), "agree", a.group, "is" if many else "are")
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
            verb = draw.pick((("with",), ("with",), ("topped", "with"), ("that", "has"),
                              ("holding",), ("set", "with")))  # fmt: skip
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
                    other = "is" if many else "are"
                    link.add(("are" if many else "is",), "agree", things[0].group, other)
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
        out.add(draw.pick((("with",), ("with",), ("with",), ("that", "has"), ("featuring",),
                           ("containing",), ("equipped", "with"))))  # fmt: skip
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
