"""Captions → SPICE's kind of tuples by a few dozen rules, without Java.

It follows SPICE's parser in what counts as a tuple: every noun that heads a phrase is an object;
adjectives, numbers before plurals, the first parts of compounds and what "is" says are attributes;
verbs with an object or a preposition, prepositions between nouns, and possession are relations. A
clause is read from left to right with one subject, one verb and one last noun in mind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from metaeval.text.scene_graphs.rules import tagger as fn
from metaeval.text.scene_graphs.rules.tagger import Token, tag

_MODIFIERS = frozenset({"DT", "PRP$", "CD", "JJ", "NN", "NNS"})
# What follows the last word, as often as any rule looks ahead; before the first word it stands too,
# as Python counts from behind.
_END = [Token("", ".", "")] * 4


@dataclass(slots=True, eq=False)
class Phrase:
    """A noun phrase.

    `head` is the lemma of its last noun (a pronoun has its antecedent's); `attributes` what is said
    of it, in order; `others` nouns that are objects without being the head ("couple"); `owner` who
    has it: a phrase, or "his" and the like.
    """

    head: str
    plural: bool = False
    determined: bool = False
    pronoun: bool = False
    attributes: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    owner: Phrase | str | None = None


def read_phrase(tokens: list[Token], i: int) -> tuple[Phrase | None, int]:
    """The noun phrase that begins at token i and the position after it, or (None, i).

    `_END` stands behind the tokens, here and below.
    """
    if tokens[i].tag == "PRP":
        return Phrase(tokens[i].word, pronoun=True), i + 1
    phrase, end = _read_core(tokens, i)
    if phrase is None:
        return None, i
    while tokens[end].tag == "POS":  # the man 's hat
        owned, after = _read_core(tokens, end + 1)
        if owned is None:
            break
        owned.owner, phrase, end = phrase, owned, after
    return _through_quantity(tokens, i, phrase, end)


def _through_quantity(
    tokens: list[Token], start: int, phrase: Phrase, end: int
) -> tuple[Phrase, int]:
    """ "A couple of dogs" and "lots of dogs" are the dogs, with "a" and "lot" for an attribute."""
    if tokens[end].word != "of":
        return phrase, end
    word = tokens[end - 1].word
    single = word in fn.QUANTITIES and tokens[start].word in ("a", "an")
    if not single and word not in fn.PLURAL_QUANTITIES:
        return phrase, end
    inner, after = read_phrase(tokens, end + 1)
    if inner is None or inner.pronoun:
        return phrase, end
    if inner.plural:
        inner.attributes.append(tokens[start].word if single else phrase.head)
    inner.others.append(phrase.head)
    inner.determined = True
    return inner, after


def _read_core(tokens: list[Token], start: int) -> tuple[Phrase | None, int]:
    i = start
    while (tag := tokens[i].tag) in _MODIFIERS or _joins_adjectives(tokens, i, tag):
        if tag == "DT" and i > start and tokens[i - 1].is_noun:
            break  # "the man the dog"
        i += 1
    while i > start and not tokens[i - 1].is_noun:
        i -= 1
    if i == start:
        return None, start
    words, last = tokens[start : i - 1], tokens[i - 1]
    phrase = Phrase(last.lemma, plural=last.tag == "NNS")
    for token in words:
        if token.tag == "PRP$":
            phrase.owner = token.word
        if token.tag in ("DT", "PRP$"):
            phrase.determined = True
        elif token.tag == "CD" and phrase.plural:
            phrase.attributes.append(token.word)
        elif token.tag in ("JJ", "NN", "NNS"):
            phrase.attributes.append(token.lemma)
    return phrase, i


def _joins_adjectives(tokens: list[Token], i: int, tag: str) -> bool:
    """Whether token i stands between adjectives: "black and white", "old, rusty", "very old"."""
    if tag in ("CC", ","):
        return tokens[i - 1].tag == "JJ" and tokens[i + 1].tag == "JJ"
    return (
        tag == "RB" and tokens[i + 1].tag == "JJ" and tokens[i].word not in ("not", "n't", "there")
    )


def read_group(tokens: list[Token], i: int, *, inside: bool) -> tuple[list[Phrase], int]:
    """A noun phrase with those that "and", "or" or commas add to it, and the position after it.

    `inside`: a verb or preposition came before, so "and a dog is …" begins another clause.
    """
    phrase, end = read_phrase(tokens, i)
    if phrase is None:
        return [], i
    group = [phrase]
    while True:
        after = end
        while tokens[after].tag == "," or tokens[after].word in ("and", "or", "&"):
            after += 1
        if after == end:
            break
        following, stop = read_phrase(tokens, after)
        if following is None or following.pronoun:
            break
        conjunction = tokens[after - 1].tag == "CC"
        if inside and tokens[stop].tag in ("BE", "VBZ", "HAVE", "MD"):
            break
        if not conjunction and not _list_goes_on(tokens, stop):
            break
        group.append(following)
        end = stop
    return group, end


def _list_goes_on(tokens: list[Token], i: int) -> bool:
    """Whether a comma-separated list has its "and" still to come."""
    while tokens[i].tag in _MODIFIERS or tokens[i].tag in (",", "RB"):
        i += 1
    return tokens[i].word in ("and", "or", "&")


IDENTITY = "rules-1"  # in signatures and in the cards of weights

# Prepositions that, once a verb has its object, describe that object rather than the verb …
_AFTER_OBJECT = frozenset({"of", "than", "in", "on", "near", "for", "behind", "to", "over"})
# … and that describe the noun of an earlier preposition rather than the verb.
_AFTER_PREPOSITION = frozenset(
    {"of", "than", "with", "in", "on", "at", "near", "for", "behind", "in front of", "over"}
    | {"under", "against", "inside", "above"}
)
_OPENS_PHRASE = frozenset(words[:2] for words in fn.PREPOSITION_PHRASES)
# After "noun preposition noun" these go back to the first noun.
_HIGH = frozenset({"behind", "next to", "under", "around"})


@dataclass(slots=True, eq=False)
class _Verb:
    predicate: str
    subjects: list[Phrase]
    finite: bool = False
    passive: bool = False
    filled: bool = False  # has an object or a noun behind a preposition
    direct: bool = False  # its last noun is its object, with no preposition since
    open: bool = True  # nothing but particles and adverbs since: a noun phrase is its object


@dataclass(slots=True)
class _Reader:
    tokens: list[Token]
    tuples: list[list[str]] = field(default_factory=list)
    subjects: list[Phrase] = field(default_factory=list)
    verb: _Verb | None = None
    last: list[Phrase] = field(default_factory=list)
    first: list[Phrase] = field(default_factory=list)
    mentioned: list[Phrase] = field(default_factory=list)
    at: int = 0
    copula: bool = False

    def read(self) -> list[list[str]]:
        while self.at < len(self.tokens) - len(_END):
            before = self.at
            self._step()
            assert self.at > before
        self._finish_clause()
        for phrase in self.mentioned:
            self.tuples += [[phrase.head], *([other] for other in phrase.others)]
        return self.tuples

    # ---- reading -------------------------------------------------------------------------------

    def _peek(self, offset: int = 0) -> Token:
        return self.tokens[self.at + offset]

    def _step(self) -> None:
        token = self._peek()
        if (preposition := self._preposition()) is not None:
            self._prepositional(*preposition)
        elif token.tag == "BE" or (token.tag == "HAVE" and self._perfect()):
            self.at += 1
            self._be()
        elif token.tag == "HAVE" or (token.tag == "DO" and self._peek(1).tag not in ("RB", "VB")):
            self.at += 1
            self._start_verb(_Verb(token.lemma, self.subjects, finite=True))
        elif token.is_verb:
            self._verb_word(token)
        elif token.tag == "TO":
            self.at += 1
            if self._peek().is_verb:
                self._gerund()
        elif token.tag in ("WDT", "SUB", "."):
            self._begin_clause(token)
        elif token.tag == "JJ" and self.copula:
            self._adjective(token)
        elif not self._noun_phrase():
            self._other(token)

    def _begin_clause(self, token: Token) -> None:
        self.at += 1
        self._finish_clause()
        self.subjects = []
        if token.tag == ".":
            self.last = []
        if token.tag == "SUB" and self._peek().tag in ("VBG", "VBN"):
            self._gerund()

    def _other(self, token: Token) -> None:
        self.at += 1
        if token.tag in (",", "CC") and self.verb is not None:
            self.verb.open = False
        if token.tag == "EX":
            self.subjects = []

    def _noun_phrase(self) -> bool:
        inside = self.verb is not None or self.copula
        group, end = read_group(self.tokens, self.at, inside=inside)
        if not group:
            return False
        self.at = end
        self._mention(group)
        if self.copula:
            self._complement(group)
        elif self.verb is not None and self.verb.open:
            self._relate(self.verb.subjects, self.verb.predicate, group)
            self.verb.filled, self.verb.direct, self.verb.open = True, True, False
        else:
            self._finish_clause()
            self.subjects = group
        self.last, self.first = group, []
        return True

    # ---- verbs ---------------------------------------------------------------------------------

    def _be(self) -> None:
        while self._peek().tag in ("RB", "BE") or self._peek().word in ("being",):
            self.at += 1
        token = self._peek()
        if token.tag in ("VBG", "VBN", "VBD"):
            self.at += 1
            passive = token.tag != "VBG"
            self._start_verb(_Verb(token.lemma, self.subjects, finite=not passive, passive=passive))
        else:
            self._finish_verb()
            self.verb, self.copula = None, True

    def _perfect(self) -> bool:
        offset = 1
        while self._peek(offset).tag == "RB":
            offset += 1
        return self._peek(offset).tag in ("VBN", "VBD") or self._peek(offset).word == "been"

    def _verb_word(self, token: Token) -> None:
        self.at += 1
        before = self._peek(-2)
        if token.tag in ("VBG", "VBN"):
            if before.tag == "CC" and self.verb is not None:
                old = self.verb
                self._start_verb(_Verb(token.lemma, old.subjects, old.finite, old.passive))
                return
            subjects = [] if before.tag in ("IN", "TO") else self._described()
            self._start_verb(_Verb(token.lemma, subjects, passive=token.tag == "VBN"))
        else:
            self._start_verb(_Verb(token.lemma, self.subjects, finite=True))

    def _gerund(self) -> None:
        token = self._peek()
        self.at += 1
        self._start_verb(_Verb(token.lemma, []))

    def _start_verb(self, verb: _Verb) -> None:
        self._finish_verb()
        self.copula = False
        self.verb = verb
        while self._peek().tag == "RB":
            self.at += 1
        particle = self._peek()
        after = self._peek(1).tag
        if particle.word in ("up", "down", "off", "out") and (
            after in ("IN", "TO", ".", ",", "CC")
            or (particle.word in ("up", "off") and after != ".")
        ):
            self.at += 1
            verb.predicate += f" {particle.word}"

    def _described(self) -> list[Phrase]:
        """Whom a participle describes: the last noun before it."""
        return _attached(self.last) if self.last else self.subjects

    def _finish_verb(self) -> None:
        verb = self.verb
        if verb is not None and verb.finite and not verb.filled and not verb.passive:
            word = verb.predicate.split()[0]
            if word not in ("be",):
                self.tuples += [[s.head, word] for s in self._resolved(verb.subjects)]

    def _finish_clause(self) -> None:
        self._finish_verb()
        self.verb, self.copula = None, False

    # ---- what "is" says ------------------------------------------------------------------------

    def _adjective(self, token: Token) -> None:
        self.at += 1
        self.tuples += [[s.head, token.lemma] for s in self._resolved(self.subjects)]
        if self._peek().tag != "CC":
            self.copula = False

    def _complement(self, group: list[Phrase]) -> None:
        self.copula = False
        for subject in self._resolved(self.subjects):
            self.tuples += [[subject.head, phrase.head] for phrase in group if not phrase.pronoun]

    # ---- prepositions --------------------------------------------------------------------------

    def _preposition(self) -> tuple[str, int] | None:
        """The preposition here, as SPICE writes it, and its length; `None` if there is none."""
        token = self._peek()
        if (token.word, self._peek(1).word) in _OPENS_PHRASE:
            for length in (3, 2):
                words = tuple(self._peek(k).word for k in range(length))
                if words in fn.PREPOSITION_PHRASES:
                    return " ".join(words), length
        if token.tag == "IN":
            return token.word, 1
        if token.tag == "TO" and not self._peek(1).is_verb:
            return "to", 1
        return None

    def _prepositional(self, preposition: str, length: int) -> None:
        noun = fn.PREPOSITION_PHRASES.get(tuple(preposition.split()))
        self.at += length
        if noun:
            self.tuples.append([noun])
        if self._peek().is_verb:
            self._gerund()
            return
        group, end = read_group(self.tokens, self.at, inside=True)
        if not group:
            if self.verb is not None:
                self.verb.open = False
            return
        self.at = end
        self._mention(group)
        if self.copula:
            self._relate(self.subjects, preposition, group)
            self.copula = False
        elif self.verb is not None and _belongs_to_verb(self.verb, preposition):
            passive = preposition == "by" and self.verb.passive
            predicate = self.verb.predicate + ("" if passive else f" {preposition}")
            self._relate(self.verb.subjects, predicate, group)
            self.verb.filled = True
        elif self.last:
            governor = self.first if preposition in _HIGH and self.first else self.last
            self._relate(_attached(governor), preposition, group)
        if self.verb is not None:
            self.verb.open = self.verb.direct = False
        if self.verb is None and not self.first:
            self.first = self.last
        self.last = group

    # ---- tuples --------------------------------------------------------------------------------

    def _relate(self, subjects: list[Phrase], predicate: str, objects: list[Phrase]) -> None:
        for subject in self._resolved(subjects):
            for target in self._resolved(objects):
                self.tuples.append([subject.head, target.head, predicate])

    def _mention(self, group: list[Phrase]) -> None:
        for phrase in group:
            if phrase.pronoun:
                continue
            owner = phrase.owner
            if isinstance(owner, Phrase):
                self._mention([owner])
                self.tuples.append([owner.head, phrase.head, "have"])
            elif isinstance(owner, str):
                for antecedent in self._antecedent(plural=owner == "their"):
                    self.tuples.append([antecedent.head, phrase.head, "have"])
            self.tuples += [[phrase.head, attribute] for attribute in phrase.attributes]
            self.mentioned.append(phrase)

    def _antecedent(self, *, plural: bool) -> list[Phrase]:
        return next(([p] for p in self.mentioned if plural or not p.plural), [])

    def _resolved(self, phrases: list[Phrase]) -> list[Phrase]:
        resolved = []
        for phrase in phrases:
            if phrase.pronoun:
                resolved += self._antecedent(plural=phrase.head in ("they", "them"))
            else:
                resolved.append(phrase)
        return resolved


def _belongs_to_verb(verb: _Verb, preposition: str) -> bool:
    """Whether "preposition noun" after "verb noun" modifies the verb rather than the noun."""
    if verb.open:
        return True
    return preposition not in (_AFTER_OBJECT if verb.direct else _AFTER_PREPOSITION)


def _attached(group: list[Phrase]) -> list[Phrase]:
    """Which of "a bed and (a) table" the next words describe: the last if it has an article."""
    return group[-1:] if group[-1].determined else group[:1]


class RuleParser:
    """Sentences → proposed tuples in SPICE's form; deterministic, and quick."""

    def __call__(self, sentences: Sequence[str]) -> list[list[list[str]] | None]:
        """Per sentence a list of [object], [object, attribute], [subject, object, relation]."""
        known: dict[str, list[list[str]] | None] = {}
        for sentence in sentences:
            if sentence not in known:
                known[sentence] = _Reader([*tag(sentence), *_END]).read()
        return [known[sentence] for sentence in sentences]

    def close(self) -> None:
        """Nothing to release."""
