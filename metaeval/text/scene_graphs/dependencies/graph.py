"""Dependencies: a sentence as a tree (`Word`), and as the graph of SPICE's rules.

The graph is the tree with prepositions and conjunctions folded into the relations ("nmod:in front
of" rather than "nmod" and "case") and with what a conjunction shares written out: Stanford's
"collapsed, CC-processed" dependencies (Schuster & Manning 2016), as far as captions have them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

# Of several words, and counted as one preposition.
_THREE = frozenset({"in front of", "on top of", "in place of", "in addition to", "in case of"})
_TWO = frozenset(
    {"across from", "along with", "apart from", "aside from", "away from", "close by", "close to"}
    | {"except for", "far from", "inside of", "near to", "next to", "off of", "out of"}
    | {"outside of", "together with", "because of", "such as", "due to", "instead of", "ahead of"}
)
_SUBJECTS = ("nsubj", "nsubjpass")


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
        return self.tag in ("NN", "NNS", "NNP", "NNPS")

    @property
    def is_plural(self) -> bool:
        """Whether it is a plural noun."""
        return self.tag in ("NNS", "NNPS")


@dataclass(slots=True)
class DependencyGraph:
    """Words and the edges between them; a word may have several heads.

    `edges`: per word (relation, place of the dependent), in order of the dependents.
    """

    words: Sequence[Word]
    root: int
    edges: list[list[tuple[str, int]]] = field(default_factory=list)

    def children(self, head: int, *relations: str) -> list[int]:
        """The dependents with one of these relations."""
        return [word for relation, word in self.edges[head] if relation in relations]

    def child(self, head: int, relation: str) -> int | None:
        """The first dependent with this relation."""
        return next((word for known, word in self.edges[head] if known == relation), None)

    def has(self, head: int, *relations: str) -> bool:
        """Whether there is a dependent with one of these relations."""
        return any(relation in relations for relation, _ in self.edges[head])

    def incoming(self, word: int) -> list[tuple[int, str]]:
        """(head, relation) of each edge that ends at the word."""
        return [
            (head, relation)
            for head, outgoing in enumerate(self.edges)
            for relation, dependent in outgoing
            if dependent == word
        ]

    def add(self, head: int, relation: str, dependent: int) -> None:
        """Add an edge, if it is not there."""
        if (relation, dependent) not in self.edges[head]:
            self.edges[head].append((relation, dependent))
            self.edges[head].sort(key=lambda edge: edge[1])

    def remove(self, head: int, relation: str, dependent: int) -> None:
        """Take an edge away."""
        self.edges[head].remove((relation, dependent))

    def replace(self, old: int, new: int) -> None:
        """Let one word take another's place: its head, and its dependents."""
        for head, relation in self.incoming(old):
            self.remove(head, relation, old)
            self.add(head, "nmod" if relation in ("advmod", "amod", "dep") else relation, new)
        if self.root == old:
            self.root = new
        for relation, word in self.edges[old]:
            self.add(new, relation, word)
        self.edges[old] = []

    def all_edges(self) -> Iterator[tuple[int, str, int]]:
        """(head, relation, dependent) of every edge, as they are now."""
        return iter([(h, r, d) for h, outgoing in enumerate(self.edges) for r, d in outgoing])


def collapse(words: Sequence[Word]) -> DependencyGraph:
    """The graph of a tree; words of one sentence, at least one."""
    roots = [i for i, word in enumerate(words) if word.head < 0]
    graph = DependencyGraph(words, roots[0], [[] for _ in words])
    for i, word in enumerate(words):
        if word.head >= 0:
            graph.edges[word.head].append((word.relation, i))
    _join_prepositions(graph)
    _name_prepositions(graph)
    _name_conjunctions(graph)
    _share(graph)
    return graph


def _text(graph: DependencyGraph, first: int, count: int) -> str:
    return " ".join(word.text.lower() for word in graph.words[first : first + count])


def _join_prepositions(graph: DependencyGraph) -> None:
    """ "in front of the trees", "next to a tree": the noun depends on what comes before them."""
    for i in range(len(graph.words) - 1):
        if _text(graph, i, 3) in _THREE:
            _join_three(graph, i)
        if _text(graph, i, 2) in _TWO:
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
    noun, relation = next(iter(graph.incoming(last)), (-1, ""))
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
            if relation == "nmod" and name == "by" and graph.has(head, "auxpass"):
                name = "agent"
            graph.remove(head, relation, word)
            graph.add(head, f"{relation}:{name}", word)


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
            graph.remove(head, relation, word)
            graph.add(head, f"conj:{graph.words[marker].text.lower()}", word)


def _share(graph: DependencyGraph) -> None:
    """What the first of a conjunction depends on, the others do; its subject is theirs."""
    incoming = [graph.incoming(word) for word in range(len(graph.words))]
    for first, relation, other in graph.all_edges():
        if not relation.startswith("conj"):
            continue
        for head, reached in incoming[first]:
            if reached.startswith("conj") or head == other:
                continue
            if reached.startswith("nmod:") and (name := _preposition(graph, other)):
                reached = f"nmod:{name}"  # "on towels and under umbrellas"
            graph.add(head, reached, other)
        tag = graph.words[other].tag
        if not graph.has(other, *_SUBJECTS) and tag[0] in "VJ":
            for reached, subject in list(graph.edges[first]):
                if reached in _SUBJECTS and subject != other:
                    passive = graph.has(other, "auxpass") or (
                        tag == "VBN" and not graph.has(other, "aux") and reached == "nsubjpass"
                    )
                    graph.add(other, "nsubjpass" if passive else "nsubj", subject)
