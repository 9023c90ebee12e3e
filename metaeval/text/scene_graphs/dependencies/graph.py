"""Dependencies: a sentence as a tree (`Word`), as the graph of SPICE's rules, and as tuples.

The graph is the tree with prepositions and conjunctions folded into the relations ("nmod:in front
of" rather than "nmod" and "case") and with what a conjunction shares written out: Stanford's
"collapsed, CC-processed" dependencies (Schuster & Manning 2016), as far as captions have them.

What counts as a tuple is Anderson et al.'s (2016, section 3.1), which follows Schuster et al.
(2015): every noun is an object; adjectives, numbers before plurals, the first parts of compounds
and what "is" says are attributes; verbs with an object or a preposition, prepositions between nouns
and possession are relations; "a lot of dogs" is about dogs; a pronoun is the first noun before it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product

from metaeval.text.scene_graphs.rules.tagger import set_of_words

# Of several words, and counted as one preposition.
_THREE = frozenset({"in front of", "on top of", "in place of", "in addition to", "in case of"})
_TWO = frozenset(
    {"across from", "along with", "apart from", "aside from", "away from", "close by", "close to"}
    | {"except for", "far from", "inside of", "near to", "next to", "off of", "out of"}
    | {"outside of", "together with", "because of", "such as", "due to", "instead of", "ahead of"}
)
_OPENING = frozenset(words.split()[0] for words in _THREE | _TWO)
_SUBJECTS = ("nsubj", "nsubjpass")
_NOUNS = frozenset({"NN", "NNS", "NNP", "NNPS"})

Edge = tuple[int, str, int]  # head, relation, dependent


@dataclass(slots=True)
class Word:
    """A word of a sentence: as written, its Penn tag and lemma, its head's place (-1: the root) and
    its relation to the head."""

    text: str
    tag: str
    lemma: str
    head: int = -1
    relation: str = "root"

    @property
    def is_noun(self) -> bool:
        """Whether it is a common or proper noun, singular or plural."""
        return self.tag in _NOUNS

    @property
    def is_plural(self) -> bool:
        """Whether it is a plural noun."""
        return self.tag in ("NNS", "NNPS")


@dataclass(slots=True)
class DependencyGraph:
    """Words and the edges between them; a word may have several heads.

    `edges`: per word (relation, place of the dependent), in order of the dependents; `heads`: the
    same edges, per dependent (place of the head, relation), in order of the heads.
    """

    words: Sequence[Word]
    root: int
    edges: list[list[tuple[str, int]]] = field(default_factory=list)
    heads: list[list[tuple[int, str]]] = field(default_factory=list)

    def children(self, head: int, *relations: str) -> list[int]:
        """The dependents with one of these relations."""
        return [word for relation, word in self.edges[head] if relation in relations]

    def child(self, head: int, relation: str) -> int | None:
        """The first dependent with this relation."""
        return next((word for known, word in self.edges[head] if known == relation), None)

    def add(self, head: int, relation: str, dependent: int) -> None:
        """Add an edge, if it is not there."""
        if (relation, dependent) not in self.edges[head]:
            self.edges[head].append((relation, dependent))
            self.edges[head].sort(key=lambda edge: edge[1])
            self.heads[dependent].append((head, relation))
            self.heads[dependent].sort(key=lambda edge: edge[0])

    def remove(self, head: int, relation: str, dependent: int) -> None:
        """Take an edge away."""
        self.edges[head].remove((relation, dependent))
        self.heads[dependent].remove((head, relation))

    def move(self, old: Edge, new: Edge) -> None:
        """Put one edge in the place of another."""
        self.remove(*old)
        self.add(*new)

    def replace(self, old: int, new: int) -> None:
        """Let one word take another's place: its head, and its dependents."""
        for head, relation in list(self.heads[old]):
            named = "nmod" if relation in ("advmod", "amod", "dep") else relation
            self.move((head, relation, old), (head, named, new))
        if self.root == old:
            self.root = new
        self.hand_over(old, new)

    def hand_over(self, old: int, new: int) -> None:
        """Let the dependents of one word be those of another."""
        for relation, word in list(self.edges[old]):
            self.move((old, relation, word), (new, relation, word))

    def all_edges(self) -> Iterator[Edge]:
        """(head, relation, dependent) of every edge, as they are now."""
        return iter([(h, r, d) for h, outgoing in enumerate(self.edges) for r, d in outgoing])


def collapse(words: Sequence[Word]) -> DependencyGraph:
    """The graph of a tree; words of one sentence, at least one."""
    roots = [i for i, word in enumerate(words) if word.head < 0]
    graph = DependencyGraph(words, roots[0], [[] for _ in words], [[] for _ in words])
    for i, word in enumerate(words):
        if word.head >= 0:
            graph.edges[word.head].append((word.relation, i))
            graph.heads[i].append((word.head, word.relation))
    _join_prepositions(graph)
    _name_prepositions(graph)
    _name_conjunctions(graph)
    _share(graph)
    return graph


def _join_prepositions(graph: DependencyGraph) -> None:
    """ "in front of the trees", "next to a tree": the noun depends on what comes before them."""
    texts = [word.text.lower() for word in graph.words]
    for i, text in enumerate(texts):
        if text not in _OPENING:
            continue
        if " ".join(texts[i : i + 3]) in _THREE:
            _join_three(graph, i)
        if " ".join(texts[i : i + 2]) in _TWO:
            _join_two(graph, i)


def _join_three(graph: DependencyGraph, first: int) -> None:
    middle, last = first + 1, first + 2
    noun = next((n for n in graph.children(middle, "nmod") if ("case", last) in graph.edges[n]), -1)
    if noun < 0 or ("case", first) not in graph.edges[middle]:
        return
    graph.remove(middle, "case", first)
    graph.remove(middle, "nmod", noun)
    graph.remove(noun, "case", last)
    graph.replace(middle, noun)
    graph.add(noun, "case", first)
    graph.add(first, "mwe", middle)
    graph.add(first, "mwe", last)


def _join_two(graph: DependencyGraph, first: int) -> None:
    last = first + 1
    noun, relation = next(iter(graph.heads[last]), (-1, ""))
    if relation != "case":
        return
    if ("case", first) in graph.edges[noun]:  # both depend on the noun
        graph.remove(noun, "case", last)
        graph.add(first, "mwe", last)
    elif ("nmod", noun) in graph.edges[first] and not graph.words[first].is_noun:
        graph.remove(first, "nmod", noun)
        graph.remove(noun, "case", last)
        graph.replace(first, noun)
        graph.add(noun, "case", first)
        graph.add(first, "mwe", last)


def _name_prepositions(graph: DependencyGraph) -> None:
    for head, relation, word in graph.all_edges():
        if relation in ("nmod", "advcl", "acl") and (name := _preposition(graph, word)):
            if relation == "nmod" and name == "by" and graph.children(head, "auxpass"):
                name = "agent"
            graph.move((head, relation, word), (head, f"{relation}:{name}", word))


def _preposition(graph: DependencyGraph, word: int) -> str:
    """The last preposition of a noun, with "_" between its words; "" where there is none."""
    cases = graph.children(word, "case")
    parts = [cases[-1], *graph.children(cases[-1], "mwe")] if cases else []
    return "_".join(graph.words[part].text.lower() for part in parts)


def _name_conjunctions(graph: DependencyGraph) -> None:
    for head, relation, word in graph.all_edges():
        if relation != "conj":
            continue
        markers = graph.children(head, "cc")
        before = [m for m in markers if m < word] or markers
        if before:
            after = [m for m in markers if m > word]
            marker = before[-1] if before[-1] > head or not after else after[0]
            name = f"conj:{graph.words[marker].text.lower()}"
            graph.move((head, relation, word), (head, name, word))


def _share(graph: DependencyGraph) -> None:
    """What the first of a conjunction depends on, the others do; its subject is theirs."""
    pairs = [
        (first, other) for first, relation, other in graph.all_edges() if relation[:4] == "conj"
    ]
    incoming = {first: list(graph.heads[first]) for first, _ in pairs}
    for first, other in pairs:
        for head, reached in incoming[first]:
            if reached.startswith("conj") or head == other:
                continue
            if reached.startswith("nmod:") and (name := _preposition(graph, other)):
                reached = f"nmod:{name}"  # "on towels and under umbrellas"
            graph.add(head, reached, other)
        tag = graph.words[other].tag
        if not graph.children(other, *_SUBJECTS) and tag[0] in "VJ":
            for reached, subject in list(graph.edges[first]):
                if reached in _SUBJECTS and subject != other:
                    passive = graph.children(other, "auxpass") or (
                        tag == "VBN" and not graph.children(other, "aux") and reached == "nsubjpass"
                    )
                    graph.add(other, "nsubjpass" if passive else "nsubj", subject)


_QUANTITIES = set_of_words(
    "lot assortment number couple bunch handful litany sheaf slew dozen series variety multitude"
    " wad clutch wave mountain array spate string ton range plethora heap sort form kind type"
    " version bit pair triple total"
)
_PLURAL_QUANTITIES = set_of_words(
    "lots many several plenty tons dozens multitudes mountains loads pairs tens hundreds thousands"
    " millions billions trillions"
)
_PARTS = set_of_words(
    "some all both neither everyone nobody one two three four five six seven eight nine ten"
    " hundred thousand million billion trillion"
)
_SINGULAR_PRONOUNS = set_of_words(
    "i me myself mine my yourself he him himself his she her herself hers it itself its one oneself"
)
_NUMBERS, _NUMBER = re.compile(r"[0-9]+s"), re.compile(r"[0-9]+")
_QUANTITY = "det:qmod"

Tuples = list[list[str]]


def read_tuples(graph: DependencyGraph) -> Tuples:
    """[object], [object, attribute] or [subject, object, relation] of a sentence; the graph is
    changed on the way."""
    _lift_quantities(graph)
    _resolve_pronouns(graph)
    tuples: Tuples = []
    for place in range(len(graph.words)):
        if graph.edges[place]:
            _read_predicate(graph, place, tuples)
            _read_agents(graph, place, tuples)
            _read_noun(graph, place, tuples)
            _read_number(graph, place, tuples)
        if place == graph.root or graph.heads[place]:
            _read_object(graph, place, tuples)
    return tuples


# ---- quantities and pronouns ---------------------------------------------------------------------


def _lift_quantities(graph: DependencyGraph) -> None:
    """ "A couple of dogs" is the dogs, with "a couple of" for their quantity."""
    texts = [word.text.lower() for word in graph.words]
    for place, (text, following) in enumerate(pairwise(texts)):
        if following != "of":
            continue
        if text in _QUANTITIES:
            determiners = graph.children(place, "det")
            articles = [w for w in determiners if graph.words[w].text.lower() in ("a", "an")]
            if articles:
                adjectives = [a for a in graph.children(place, "amod") if a < place]
                _lift(graph, place, [articles[0], *adjectives])
        elif (
            text in _PLURAL_QUANTITIES
            or _NUMBERS.fullmatch(text)
            or ((text in _PARTS or _NUMBER.fullmatch(text)) and _names_a_whole(graph, place))
        ):
            _lift(graph, place, [c for _, c in graph.edges[place] if c < place])


def _names_a_whole(graph: DependencyGraph, place: int) -> bool:
    """Whether "of the" and a noun or "of them" follows."""
    for relation, noun in graph.edges[place]:
        if relation.startswith("nmod"):
            tag = graph.words[noun].tag
            if tag.startswith("PRP") or (
                tag.startswith("NN") and ("det", place + 2) in graph.edges[noun]
            ):
                return True
    return False


def _lift(graph: DependencyGraph, quantity: int, before: list[int]) -> None:
    of = quantity + 1
    for relation, noun in list(graph.edges[quantity]):
        tag = graph.words[noun].tag
        if relation.startswith("nmod") and tag[:2] in ("NN", "PR"):
            if ("case", of) not in graph.edges[noun]:
                continue
            if quantity == graph.root:
                graph.root = noun
            else:
                head, reached = graph.heads[quantity][0]
                graph.move((head, reached, quantity), (head, reached, noun))
            graph.remove(quantity, relation, noun)
            parts = sorted({*before, quantity, of})
            for part in parts:
                for head, reached in list(graph.heads[part]):
                    graph.remove(head, reached, part)
            graph.add(noun, _QUANTITY, parts[0])
            for part in parts[1:]:
                graph.add(parts[0], "mwe", part)
            return


def _resolve_pronouns(graph: DependencyGraph) -> None:
    """A pronoun's place is taken by the first noun from the root down that comes before it."""
    pairs = []
    for place, word in enumerate(graph.words):
        if place and word.tag.startswith("PRP") and graph.heads[place]:
            antecedent = _first_noun(graph, singular=word.text.lower() in _SINGULAR_PRONOUNS)
            if antecedent is not None and antecedent < place:
                pairs.append((place, antecedent))
    for pronoun, noun in pairs:
        for head, relation in list(graph.heads[pronoun]):
            graph.move((head, relation, pronoun), (head, relation, noun))
        graph.hand_over(pronoun, noun)


def _first_noun(graph: DependencyGraph, *, singular: bool) -> int | None:
    queue, seen = deque([graph.root]), {graph.root}
    while queue:
        place = queue.popleft()
        word = graph.words[place]
        if word.is_noun and not (singular and word.is_plural):
            return place
        for _, child in graph.edges[place]:
            if child not in seen:
                seen.add(child)
                queue.append(child)
    return None


# ---- tuples --------------------------------------------------------------------------------------


def _read_predicate(graph: DependencyGraph, place: int, tuples: Tuples) -> None:
    """What a verb, or a noun or adjective with "is", says of its subjects."""
    if not (subjects := graph.children(place, "nsubj")):
        return
    copular = graph.children(place, "cop")
    objects = _objects(graph, place)
    predicate = _predicate(graph, place)
    for subject in subjects:
        if graph.words[place].tag.startswith("J"):
            tuples.append([graph.words[subject].lemma, graph.words[place].lemma])
        if not graph.words[subject].is_noun:
            continue
        if copular:
            _add_statement(graph, subject, place, tuples)
        for relation, target in objects if not copular else ():
            tuples.append(
                [graph.words[subject].lemma, graph.words[target].lemma, predicate + relation]
            )
        if not objects and not copular:
            _add_statement(graph, subject, place, tuples)


def _read_agents(graph: DependencyGraph, place: int, tuples: Tuples) -> None:
    """ "The boy is followed by a dog": the dog follows the boy."""
    if not graph.words[place].tag.startswith("V"):
        return
    agents = [a for a in graph.children(place, "nmod:agent") if graph.words[a].is_noun]
    patients = [p for p in graph.children(place, "nsubjpass") if graph.words[p].is_noun]
    for agent, patient in product(agents, patients):
        predicate = _predicate(graph, place)
        tuples.append([graph.words[agent].lemma, graph.words[patient].lemma, predicate])


def _add_statement(graph: DependencyGraph, subject: int, place: int, tuples: Tuples) -> None:
    case = graph.child(place, "case")
    if case is not None:
        parts = [graph.words[w].text.lower() for w in (case, *graph.children(case, "mwe"))]
        tuples.append([graph.words[subject].lemma, graph.words[place].lemma, " ".join(parts)])
    elif graph.words[place].lemma != "be":
        tuples.append([graph.words[subject].lemma, graph.words[place].lemma])


def _objects(graph: DependencyGraph, place: int) -> list[tuple[str, int]]:
    """(" preposition" or "", noun) of each noun that is an object of the word."""
    objects = []
    for relation, word in graph.edges[place]:
        if graph.words[word].is_noun:
            if relation in ("dobj", "iobj", "nmod:poss", "nmod:agent"):
                objects.append(("", word))
            elif relation.startswith("nmod:"):
                objects.append((" " + relation[5:].replace("_", " "), word))
    return objects


def _predicate(graph: DependencyGraph, place: int) -> str:
    lemma, particle = graph.words[place].lemma, graph.child(place, "compound:prt")
    if particle is None:
        return lemma
    return f"{'' if lemma == 'be' else lemma} {graph.words[particle].text.lower()}"


def _read_noun(graph: DependencyGraph, place: int, tuples: Tuples) -> None:
    """What a word's own dependents say of it."""
    lemma, noun = graph.words[place].lemma, graph.words[place].is_noun
    for relation, word in graph.edges[place]:
        if relation == "amod" or (relation == "compound" and noun and graph.words[word].is_noun):
            tuples.append([lemma, graph.words[word].lemma])
        elif relation == "acl" and graph.words[word].tag.startswith("V"):
            predicate = _predicate(graph, word)
            for preposition, target in _objects(graph, word):
                tuples.append([lemma, graph.words[target].lemma, predicate + preposition])
        elif relation == "nmod:poss" and noun and graph.words[word].is_noun:
            tuples.append([graph.words[word].lemma, lemma, "have"])
        elif relation.startswith("nmod:") and noun and relation not in ("nmod:poss", "nmod:agent"):
            tuples.append([lemma, graph.words[word].lemma, relation[5:].replace("_", " ")])


def _read_number(graph: DependencyGraph, place: int, tuples: Tuples) -> None:
    """How many there are of a plural."""
    if graph.words[place].is_plural:
        lemma = graph.words[place].lemma
        number = graph.child(place, "nummod")
        quantity = graph.child(place, _QUANTITY)
        if number is not None:
            if number < place:
                tuples.append([lemma, graph.words[number].lemma])
        elif quantity is not None:
            tuples.append([lemma, graph.words[quantity].lemma])


def _read_object(graph: DependencyGraph, place: int, tuples: Tuples) -> None:
    """A noun is an object, unless it is the first part of a compound."""
    if not graph.words[place].is_noun:
        return
    first = any(r == "compound" and graph.words[h].is_noun for h, r in graph.heads[place])
    whole = any(graph.words[w].is_noun for w in graph.children(place, "compound"))
    if not first and not whole:
        tuples.append([graph.words[place].lemma])
