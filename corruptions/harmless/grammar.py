"""Harmless grammar: passive, relative clauses, order of conjuncts, contractions, possessives."""

from metaeval.corruptions.harmless.wording import Harmless
from metaeval.corruptions.language.base import (
    Change,
    LanguageCorruption,
    Places,
    reword,
    swap_phrases,
)
from metaeval.corruptions.language.categories import Known, mentions, supercategory
from metaeval.corruptions.language.content.logic import acting
from metaeval.corruptions.language.parsed import NO_THINGS, PEOPLE, NounPhrase, ParsedCaption
from metaeval.corruptions.language.rewriting import Rewording, verb_form, verb_lemma
from metaeval.text.scene_graphs.rules.tagger import pairs, set_of_words as word_set

_PASSIVES = word_set(
    "riding holding eating flying cutting watching feeding petting carrying hitting "
    "pulling pushing brushing reading washing throwing kicking chasing driving "
    "preparing leading"
)
_OPENS = frozenset({"a", "an", "two", "three", "some", "several"})
_TIED = word_set(
    "his her their its he she they it him them himself herself while and together "
    "each other who that which as being made to by"
)
_PLACES = word_set(
    "at on in near next above over under up down through along across outside inside"
)
_TOP = frozenset({"next"})


class Passive(
    Harmless,
    LanguageCorruption,
    title="Passive",
    experimental=True,
    unchanged_reason="does not begin with a person, a transitive verb and an object",
):
    """ "A man riding a horse" becomes "a horse being ridden by a man".

    Only where the words that follow do not name the actor.
    """

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        first = caption.phrase_at(0)
        if first is None or not caption.is_one_sentence() or caption.word(0) not in _OPENS:
            return
        be = int(caption.word(first.end) in ("is", "are"))
        verb = first.end + be
        thing = caption.phrase_at(verb + 1)
        if caption.word(verb) not in _PASSIVES or thing is None or caption.tokens[verb].closes:
            return
        if caption.tag(thing.end).startswith(("NN", "RP", "RB")):
            return  # where the thing ends is not sure: "a broken up cell phone"
        inside = range(thing.start, thing.end)
        if caption.word(thing.head) in NO_THINGS or any(caption.tag(i) == "RB" for i in inside):
            return  # "a horse outside", "a wave very smooth"
        rest = caption.words[thing.end :]
        if rest and not (
            rest[0] in _PLACES and caption.phrase_at(thing.end + 1 + (rest[0] in _TOP))
        ):
            return  # it may be about one of them: "a sandwich made of donuts"
        tied = _TIED & set(rest) or rest[:1] in (("about",), ("with",), ("for",))
        tied = tied or any(word.endswith("ing") for word in rest)
        if tied or caption.word(thing.start) not in _OPENS or caption.word(thing.end) == "of":
            return
        many = caption.tokens[thing.head].is_plural
        participle = verb_form(verb_lemma(caption.word(verb)), "VBN")
        middle = (*(("are" if many else "is",) if be else ()), "being", participle, "by")
        [swap] = swap_phrases(caption, first, thing)
        yield [(*swap, Rewording(first.end, verb + 1, middle))]


class RelativeClause(
    Harmless,
    LanguageCorruption,
    title="Participle or relative clause",
    unchanged_reason="has neither a participle after its noun nor a relative clause",
):
    """ "A man riding a horse" becomes "a man who is riding a horse", and back."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        noun = caption.tokens[i - 1]
        if not i or not noun.is_noun:
            return []
        if caption.word(i) in ("who", "that") and caption.word(i + 1) in ("is", "are"):
            clause = caption.tag(i + 2) == "VBG" and not noun.closes
            return reword(i, i + 2, "") if clause else []
        if not acting(caption, i) or not self._is_subject(caption, i - 1):
            return []
        who = "who" if noun.word in PEOPLE else "that"
        many = noun.is_plural or noun.word in ("people", "cattle")
        return reword(i, i, f"{who} {'are' if many else 'is'}")

    @staticmethod
    def _is_subject(caption: ParsedCaption, place: int) -> bool:
        """Whether the participle behind the noun can only be the noun's.

        The noun is the first of the caption, follows "there is", or is what a group is of: behind
        "two people at a dining table", "talking" belongs to the people.
        """
        phrase = caption.phrase_of(place)
        if phrase is None or phrase.head != place or caption.word(place) in NO_THINGS | _UNMARKED:
            return False
        start = phrase.start
        if start >= 2 and caption.word(start - 1) == "of":
            if caption.word(start - 2) not in _GROUPS:
                return False
            group = caption.phrase_of(start - 2)
            start = group.start if group else start
        elif (
            caption.word(place + 1) in _STATES or "and" in caption.words[phrase.start : phrase.end]
        ):
            return False
        return start == 0 or caption.words[:start] in (("there", "is"), ("there", "are"))


_GROUPS = word_set(
    "group groups couple bunch herd herds flock crowd pair team family number picture photo image "
    "photograph shot view"
)
# nouns whose plural looks like the singular: "a couple of giraffe standing"
_UNMARKED = word_set("giraffe zebra elephant sheep deer fish bison buffalo luggage sheeps aircraft")
# verbs that no "is" goes before: "a bowl that is containing fruit"
_STATES = word_set("containing consisting featuring including having depicting reading showing")
_ASSORTMENTS = word_set(
    "assortment variety selection collection picture photo image array display mix mixture range "
    "full"
)
_HAVING = frozenset({"holding", "wearing", "has", "eating", "containing"})
_CLOTHES = word_set(
    "hat hats cap shirt shirts tie ties suit suits jacket jackets helmet helmets glasses "
    "sunglasses goggles pants shorts coat scarf gloves boots shoes dress vest jeans skirt backpack "
    "uniform sweater watch mask"
)


class SwapConjuncts(
    Harmless,
    LanguageCorruption,
    title="Order of conjuncts",
    unchanged_reason="does not end in two joined phrases",
):
    """ "A dog and a cat" becomes "a cat and a dog".

    Two phrases at the end of the caption or before "are", so that nothing else is separated from
    them, and only where both belong to the word before them ("a body of water and mountains" does
    not).
    """

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        second = caption.phrase_at(i + 1)
        first = caption.phrase_of(i - 1) if caption.word(i) == "and" and i else None
        if first is None or second is None or first.end != i or not self._free(caption, first):
            return []
        ends = second.end == len(caption) or caption.word(second.end) == "are"
        same = caption.tag(first.start)[:2] == caption.tag(second.start)[:2]
        listed = caption.tokens[first.head].closes or "and" in caption.words[i + 1 : second.end]
        fits = ends and same and not listed and self._alike(caption, first, second)
        return swap_phrases(caption, first, second) if fits else []

    @staticmethod
    def _alike(caption: ParsedCaption, first: NounPhrase, second: NounPhrase) -> bool:
        """Whether both can be objects of one verb: "wearing a hat and trees" is two clauses."""
        before = caption.word(first.start - 1)
        if before not in _HAVING and before != "with":
            return True
        named = {m.end: supercategory(m.category) for m in mentions(caption)}
        kinds = {named.get(first.end, ""), named.get(second.end, "")}
        if {caption.word(first.head), caption.word(second.head)} & PEOPLE or "person" in kinds:
            return False
        if before != "wearing":
            return True
        return {caption.word(first.head), caption.word(second.head)} <= _CLOTHES

    @staticmethod
    def _free(caption: ParsedCaption, first: NounPhrase) -> bool:
        before = caption.word(first.start - 1)
        if first.start and caption.tokens[first.start - 1].closes:
            return False
        if before == "of":
            return caption.word(first.start - 2) in _ASSORTMENTS
        return before in ("", "with", "near", "between", "by", "to", *_HAVING)


_SYMMETRIC = [
    phrase.split()
    for phrase in ("next to", "beside", "near", "alongside", "is next to", "is near", "with")
]
_VERBS = frozenset({"rests", "sits", "stands", "flies", "lies", "walks", "parks", "moves"})


class MirrorRelation(
    Harmless,
    LanguageCorruption,
    title="Symmetric relation mirrored",
    unchanged_reason="is not just two things next to each other",
):
    """ "A cat next to a dog" becomes "a dog next to a cat": the relation is symmetric.

    Only in captions without other content; "with" only between people and animals.
    """

    def places(self, caption: ParsedCaption, known: Known) -> Places:
        first = caption.phrase_at(0)
        if first is None:
            return
        size = max((len(w) for w in _SYMMETRIC if caption.is_at(first.end, w)), default=0)
        second = caption.phrase_at(first.end + size)
        opening = _OPENS | {"the"}
        fits = (
            size
            and second is not None
            and second.end == len(caption)
            and caption.word(0) in opening
            and caption.word(second.start) in opening
            and caption.word(first.head) not in _VERBS | {"right"}
            and not caption.says({"other", "another"})
        )
        if not fits or second is None:
            return
        if caption.word(first.end) == "is" and caption.tokens[second.head].is_plural:
            return  # the verb would have to change
        if caption.word(first.end) != "with" or self._alive(caption, first, second):
            yield swap_phrases(caption, first, second)

    @staticmethod
    def _alive(caption: ParsedCaption, *phrases: NounPhrase) -> bool:
        named = {m.end: m.category for m in mentions(caption)}
        return all(supercategory(named.get(p.end, "")) in ("person", "animal") for p in phrases)


_CONTRACTED = {
    tuple(pair.split()): short
    for pair, short in pairs(
        "there_is/there's it_is/it's that_is/that's who_is/who's he_is/he's she_is/she's "
        "is_not/isn't they_are/they're are_not/aren't does_not/doesn't do_not/don't can_not/can't "
        "here_is/here's"
    ).items()
}
_EXPANDED = {short: " ".join(pair) for pair, short in _CONTRACTED.items()} | pairs(
    "can't/cannot didn't/did_not won't/will_not we're/we_are i'm/i_am wasn't/was_not"
)


class Contraction(
    Harmless,
    LanguageCorruption,
    title="Contracted or expanded",
    unchanged_reason="has nothing to contract or expand",
):
    """ "There is" becomes "there's", and "there's" becomes "there is".

    "Do not" only after a noun or pronoun: "a do not enter sign" is a name.
    """

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        pair = caption.word(i), caption.word(i + 1)
        short = pair[0].replace("’", "'")
        if pair == ("do", "not") and not caption.tag(i - 1).startswith(("NN", "PRP", "WP")):
            return []
        if pair in _CONTRACTED and not any(t.closes for t in caption.tokens[i : i + 2]):
            return reword(i, i + 2, _CONTRACTED[pair])
        fits = short in _EXPANDED and self._is_verb(caption, i)
        return reword(i, i + 1, _EXPANDED[short]) if fits else []

    @staticmethod
    def _is_verb(caption: ParsedCaption, place: int) -> bool:
        """Whether "it's" is not a misspelt "its"."""
        after = caption.word(place + 1)
        return caption.word(place)[:2] != "it" or after in ("a", "an", "the", "not", "being")


# what belongs to one owner: "a child's toy", "a farmer's market" name a kind of thing
_OWNED = word_set(
    "arm arms back beak bed body car chest chin collar ear ears elbow eye eyes face feet finger "
    "fingers foot forehead fur hair hand hands head home house image knee knees lap leg legs lips "
    "mane mouth muzzle name neck nose owner paw paws pocket reflection shadow shirt shoulder "
    "shoulders side skin stomach tail tongue trunk view wing wings wrist"
)


class Possessive(
    Harmless,
    LanguageCorruption,
    title="Possessive",
    unchanged_reason="has no possessive with an article",
):
    """ "A man's hand" becomes "the hand of a man"."""

    def at(self, caption: ParsedCaption, i: int, known: Known) -> list[Change]:
        owner = caption.word(i).replace("’", "'").removesuffix("'s")
        start = next((k for k in (i - 1, i - 2) if caption.word(k) in ("a", "an", "the")), -1)
        owned = self._owned(caption, i + 1)
        if owner in (caption.word(i), "it", "that", "there", "men") or start < 0 or not owned:
            return []
        if caption.is_at(start - 2, ("one", "of")):  # "one of the sheep's head"
            return []
        thing = caption.words[i + 1 : owned]
        return [(Rewording(start, owned, ("the", *thing, "of", *caption.words[start:i], owner)),)]

    @staticmethod
    def _owned(caption: ParsedCaption, start: int) -> int:
        """Where the nouns (and adjectives) right after the possessive end; 0 where none do."""
        end = start
        while end < len(caption) and caption.tag(end).startswith(("NN", "JJ")):
            end += 1
            if caption.tokens[end - 1].closes:
                break
        whole = end > start and caption.tokens[end - 1].is_noun
        listed = end < len(caption) and caption.tokens[end - 1].closes
        follows = caption.word(end) not in ("and", "of") and not listed
        # what is read as a verb behind it may be its noun: "airborne feet"
        after = caption.tag(end)
        verb = after.startswith("VB") and caption.word(end) not in ("is", "are")
        follows = follows and not (after.startswith("NN") or verb)
        owned = caption.word(end - 1) in _OWNED
        return end if whole and owned and follows and end - start <= 2 else 0
