"""A graph of dependencies → SPICE's proposed tuples.

What counts as a tuple is Anderson et al.'s (2016, section 3.1), which follows Schuster et al.
(2015): every noun is an object; adjectives, numbers before plurals, the first parts of compounds
and what "is" says are attributes; verbs with an object or a preposition, prepositions between nouns
and possession are relations; "a lot of dogs" is about dogs; a pronoun is the first noun before it.
"""

from __future__ import annotations

import re
from collections import deque
from itertools import product

from metaeval.text.scene_graphs.dependencies.graph import DependencyGraph
from metaeval.text.scene_graphs.rules.function_words import words

_QUANTITIES = words(
    "lot assortment number couple bunch handful litany sheaf slew dozen series variety multitude"
    " wad clutch wave mountain array spate string ton range plethora heap sort form kind type"
    " version bit pair triple total"
)
_PLURAL_QUANTITIES = words(
    "lots many several plenty tons dozens multitudes mountains loads pairs tens hundreds thousands"
    " millions billions trillions"
)
_PARTS = words(
    "some all both neither everyone nobody one two three four five six seven eight nine ten"
    " hundred thousand million billion trillion"
)
_SINGULAR_PRONOUNS = words(
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
        _read_predicate(graph, place, tuples)
        _read_agents(graph, place, tuples)
        _read_noun(graph, place, tuples)
        _read_number(graph, place, tuples)
        if place == graph.root or graph.incoming(place):
            _read_object(graph, place, tuples)
    return tuples


def _lemma(graph: DependencyGraph, place: int) -> str:
    return graph.words[place].lemma


def _is_noun(graph: DependencyGraph, place: int) -> bool:
    return graph.words[place].is_noun


# ---- quantities and pronouns ---------------------------------------------------------------------


def _lift_quantities(graph: DependencyGraph) -> None:
    """ "A couple of dogs" is the dogs, with "a couple of" for their quantity."""
    for place, word in enumerate(graph.words):
        text = word.text.lower()
        if text in _QUANTITIES:
            articles = [w for w in graph.children(place, "det") if _article(graph, w)]
            if articles:
                adjectives = [a for a in graph.children(place, "amod") if a < place]
                _lift(graph, place, [articles[0], *adjectives])
        elif (
            text in _PLURAL_QUANTITIES
            or _NUMBERS.fullmatch(text)
            or ((text in _PARTS or _NUMBER.fullmatch(text)) and _names_a_whole(graph, place))
        ):
            _lift(graph, place, [c for _, c in graph.edges[place] if c < place])


def _article(graph: DependencyGraph, place: int) -> bool:
    return graph.words[place].text.lower() in ("a", "an")


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
    if of >= len(graph.words) or graph.words[of].text.lower() != "of":
        return
    for relation, noun in list(graph.edges[quantity]):
        tag = graph.words[noun].tag
        if relation.startswith("nmod") and tag[:2] in ("NN", "PR"):
            if ("case", of) not in graph.edges[noun]:
                continue
            if quantity == graph.root:
                graph.root = noun
            else:
                head, reached = graph.incoming(quantity)[0]
                graph.remove(head, reached, quantity)
                graph.add(head, reached, noun)
            graph.remove(quantity, relation, noun)
            parts = sorted({*before, quantity, of})
            for part in parts:
                for head, reached in graph.incoming(part):
                    graph.remove(head, reached, part)
            graph.add(noun, _QUANTITY, parts[0])
            for part in parts[1:]:
                graph.add(parts[0], "mwe", part)
            return


def _resolve_pronouns(graph: DependencyGraph) -> None:
    """A pronoun's place is taken by the first noun from the root down that comes before it."""
    pairs = []
    for place, word in enumerate(graph.words):
        if place and word.tag.startswith("PRP") and graph.incoming(place):
            antecedent = _first_noun(graph, singular=word.text.lower() in _SINGULAR_PRONOUNS)
            if antecedent is not None and antecedent < place:
                pairs.append((place, antecedent))
    for pronoun, noun in pairs:
        for head, relation in graph.incoming(pronoun):
            graph.remove(head, relation, pronoun)
            graph.add(head, relation, noun)
        for relation, dependent in list(graph.edges[pronoun]):
            graph.remove(pronoun, relation, dependent)
            graph.add(noun, relation, dependent)


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
    subjects = graph.children(place, "nsubj")
    copular = graph.has(place, "cop")
    objects = _objects(graph, place)
    predicate = _predicate(graph, place)
    for subject in subjects:
        if graph.words[place].tag.startswith("J"):
            tuples.append([_lemma(graph, subject), _lemma(graph, place)])
        if not _is_noun(graph, subject):
            continue
        if copular:
            _add_statement(graph, subject, place, tuples)
        for relation, target in objects if not copular else ():
            tuples.append([_lemma(graph, subject), _lemma(graph, target), predicate + relation])
        if not objects and not copular:
            _add_statement(graph, subject, place, tuples)


def _read_agents(graph: DependencyGraph, place: int, tuples: Tuples) -> None:
    """ "The boy is followed by a dog": the dog follows the boy."""
    if not graph.words[place].tag.startswith("V"):
        return
    agents = [a for a in graph.children(place, "nmod:agent") if _is_noun(graph, a)]
    patients = [p for p in graph.children(place, "nsubjpass") if _is_noun(graph, p)]
    for agent, patient in product(agents, patients):
        predicate = _predicate(graph, place)
        tuples.append([_lemma(graph, agent), _lemma(graph, patient), predicate])


def _add_statement(graph: DependencyGraph, subject: int, place: int, tuples: Tuples) -> None:
    case = graph.child(place, "case")
    if case is not None:
        parts = [graph.words[w].text.lower() for w in (case, *graph.children(case, "mwe"))]
        tuples.append([_lemma(graph, subject), _lemma(graph, place), " ".join(parts)])
    elif _lemma(graph, place) != "be":
        tuples.append([_lemma(graph, subject), _lemma(graph, place)])


def _objects(graph: DependencyGraph, place: int) -> list[tuple[str, int]]:
    """(" preposition" or "", noun) of each noun that is an object of the word."""
    objects = []
    for relation, word in graph.edges[place]:
        if _is_noun(graph, word):
            if relation in ("dobj", "iobj", "nmod:poss", "nmod:agent"):
                objects.append(("", word))
            elif relation.startswith("nmod:"):
                objects.append((" " + relation[5:].replace("_", " "), word))
    return objects


def _predicate(graph: DependencyGraph, place: int) -> str:
    lemma, particle = _lemma(graph, place), graph.child(place, "compound:prt")
    if particle is None:
        return lemma
    return f"{'' if lemma == 'be' else lemma} {graph.words[particle].text.lower()}"


def _read_noun(graph: DependencyGraph, place: int, tuples: Tuples) -> None:
    """What a word's own dependents say of it."""
    lemma, noun = _lemma(graph, place), _is_noun(graph, place)
    for relation, word in graph.edges[place]:
        if relation == "amod" or (relation == "compound" and noun and _is_noun(graph, word)):
            tuples.append([lemma, _lemma(graph, word)])
        elif relation == "acl" and graph.words[word].tag.startswith("V"):
            predicate = _predicate(graph, word)
            for preposition, target in _objects(graph, word):
                tuples.append([lemma, _lemma(graph, target), predicate + preposition])
        elif relation == "nmod:poss" and noun and _is_noun(graph, word):
            tuples.append([_lemma(graph, word), lemma, "have"])
        elif relation.startswith("nmod:") and noun and relation not in ("nmod:poss", "nmod:agent"):
            tuples.append([lemma, _lemma(graph, word), relation[5:].replace("_", " ")])


def _read_number(graph: DependencyGraph, place: int, tuples: Tuples) -> None:
    """How many there are of a plural."""
    if graph.words[place].is_plural:
        lemma = _lemma(graph, place)
        number = graph.child(place, "nummod")
        quantity = graph.child(place, _QUANTITY)
        if number is not None:
            if number < place:
                tuples.append([lemma, _lemma(graph, number)])
        elif quantity is not None:
            tuples.append([lemma, _lemma(graph, quantity)])


def _read_object(graph: DependencyGraph, place: int, tuples: Tuples) -> None:
    """A noun is an object, unless it is the first part of a compound."""
    if not _is_noun(graph, place):
        return
    first = any(r == "compound" and _is_noun(graph, h) for h, r in graph.incoming(place))
    whole = any(_is_noun(graph, w) for w in graph.children(place, "compound"))
    if not first and not whole:
        tuples.append([_lemma(graph, place)])
