"""SPICE (Anderson et al. 2016), with its sub-scores, on today's Java.

A caption is parsed into tuples (objects, attributes, relations) by SPICE's own parser, each
distinct sentence once and for all (`text/scene_graphs`); the F-score is ours (`Graph`), equal to
the jar's. Parsed sentences go into the store, so a caption or reference costs one parse ever.

    tokenizer: ptb    as pycocoevalcap's COCOEvalCap and nearly all published numbers
    tokenizer: none   the text as it is: FAIEr's example needs "ptb", González-Chávez et al. "none"
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Metric, ReferenceScorer, Scores
from metaeval.options import Positive, PositiveInt
from metaeval.readers.files import user_path
from metaeval.readers.zips import member_bytes, open_zip
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store
from metaeval.text.scene_graphs import parse, spice_service
from metaeval.text.scene_graphs.rules.tagger import set_of_words
from metaeval.text.tokenizers import base as tokenizers

# What may be cut from the end of a regular form, and its replacement in the base form, in the
# order in which METEOR tries them.
_ENDINGS = (
    ("s", ""),
    ("ses", "s"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
    ("s", ""),
    ("ies", "y"),
    ("es", "e"),
    ("es", ""),
    ("ed", "e"),
    ("ed", ""),
    ("ing", "e"),
    ("ing", ""),
    ("er", ""),
    ("est", ""),
    ("er", "e"),
    ("est", "e"),
)
_MOST = 1 << 26  # bytes of a list of synonyms
_NONE: frozenset[int] = frozenset()


class Synonyms:
    """The synonym sets of words and phrases, as SPICE takes them from METEOR 1.5's jar.

    The jar (in the package pycocoevalcap) holds them as text, so no Java is needed to read them:
    `synonym/english.synsets` has pairs of lines, a word ("ice_cream") and its set numbers,
    `synonym/english.exceptions` pairs of a base form and its irregular forms.
    """

    def __init__(self, jar: Path) -> None:
        with open_zip(jar, "jar of METEOR") as archive:
            exceptions, lines = (
                member_bytes(archive, f"synonym/english.{part}", jar, _MOST).decode().splitlines()
                for part in ("exceptions", "synsets")
            )
        self._numbers = dict(zip(lines[::2], lines[1::2], strict=True))
        self._bases: dict[str, list[str]] = {}
        for base, forms in zip(exceptions[::2], exceptions[1::2], strict=True):
            for form in forms.split():
                self._bases.setdefault(form, []).append(base)

    def __call__(self, phrase: str) -> frozenset[int]:
        """The numbers of all sets that hold the phrase or a base form of it; empty if none does."""
        word = phrase.strip().lower().replace(" ", "_")
        bases = self._bases.get(word) or [self._regular_base(word)]
        return self._sets(word).union(*map(self._sets, bases))

    def _sets(self, word: str) -> frozenset[int]:
        numbers = self._numbers.get(word)
        return frozenset(map(int, numbers.split())) if numbers else _NONE

    def _regular_base(self, word: str) -> str:
        if word.endswith("ss") or len(word) <= 2:
            return word
        for ending, instead in _ENDINGS:
            if word.endswith(ending):
                base = word[: len(word) - len(ending)] + instead
                if base in self._numbers:
                    return base
        return ""


@cache
def load_synonyms(jar: Path) -> Synsets:
    """The synonyms in this jar, read once per process; each phrase is looked up once."""
    return cache(Synonyms(jar))


Synsets = Callable[[str], frozenset[int]]

CATEGORIES = ("All", "Object", "Relation", "Attribute", "Color", "Cardinality", "Size")

_ALL, _OBJECT, _RELATION, _ATTRIBUTE, _COLOR, _CARDINALITY, _SIZE = range(len(CATEGORIES))


CARDINALS = set_of_words("one two three four five six seven eight nine ten")
COLORS = set_of_words(
    "black brown blue red yellow pink gray grey green dark light white cream orange purple maroon"
    " beige violet"
)
SIZES = set_of_words(
    "baby beefy big bony boundless brawny broad bulky chunky colossal compact corpulent cosmic"
    " cubby curvy elfin emaciated endless enormous epic expansive extensive fat fleshy full-size"
    " gargantuan gaunt giant gigantic grand great heavy hefty huge hulking illimitable immeasurable"
    " immense infinitesimal lanky large lean life-size limitless little mammoth massive meager"
    " measly microscopic mini miniature minuscule minute narrow obese outsized oversize overweight"
    " paltry petite pint-size plump pocket-size portly pudgy puny rotund scanty scraggy scrawny"
    " short sizable skeletal skimpy skinny slender slim small squat stocky stout strapping sturdy"
    " tall teensy teeny teeny-tiny teeny-weeny thick thickset thin tiny titanic towering trifling"
    " trim tubby undersized underweight unlimited vast wee whopping wide"
)
_VALUES = ((_COLOR, COLORS), (_CARDINALITY, CARDINALS), (_SIZE, SIZES))


class Concept:
    """A set of phrases that count as one, and the union of their synonym sets."""

    __slots__ = ("phrases", "synsets")

    def __init__(self, phrase: str, synsets: frozenset[int]) -> None:
        self.phrases = frozenset({phrase})
        self.synsets = synsets  # shared by all concepts of a phrase until one is merged

    def similar(self, other: Concept) -> bool:
        """Whether they share a synonym set or a phrase."""
        return not (
            self.synsets.isdisjoint(other.synsets) and self.phrases.isdisjoint(other.phrases)
        )

    def merge(self, other: Concept) -> None:
        """Take in another's phrases and synonym sets."""
        self.phrases |= other.phrases
        self.synsets |= other.synsets

    @property
    def phrase(self) -> str | None:
        """The phrase, if there is only one: SPICE's colours, counts and sizes are not merged."""
        return next(iter(self.phrases)) if len(self.phrases) == 1 else None


@dataclass(slots=True, eq=False)
class Node:
    """An object with its attributes, and its relations to other objects."""

    concept: Concept
    attributes: list[Concept] = field(default_factory=list)
    relations: list[tuple[Concept, Node]] = field(default_factory=list)


class Graph:
    """The merged scene graph of one or more captions.

    A *concept* is a set of phrases with the union of their synonym sets. Two concepts are similar
    if they share a phrase or a synonym set. A graph is grown tuple by tuple, and what is similar
    becomes one concept, so "man" and "person" of two references are one object:

    - an object joins the object that it resembles most (the Jaccard index of the synonym sets; 1
      if the phrase is already there), or becomes a new one;
    - an attribute joins the first similar attribute of its object;
    - a relation joins the first similar relation between the same two objects.

    The graph's tuples are its objects, (object, attribute) pairs and (subject, relation, object)
    triples. A candidate tuple is correct if *any* reference tuple of the same length is similar in
    every place, so several candidate tuples may be justified by one reference tuple.

    One thing SPICE leaves to chance: when two objects resemble a new one equally, its jar takes the
    one that comes first in the order of identity hashes. Here it is the one that was there first.

    Parameters
    ----------
    tuples
        Proposed tuples, in order: (object), (object, attribute) or (subject, object, relation):
        the parser's order, in which the relation comes last.
    synsets
        Phrase → its synonym sets.
    """

    def __init__(self, tuples: Iterable[Sequence[str]], synsets: Synsets) -> None:
        self.nodes: list[Node] = []
        self._where: dict[str, Node] = {}
        self._synsets = synsets
        for proposed in tuples:
            node = self._node(proposed[0])
            if len(proposed) == 2:
                self._join(node.attributes, proposed[1])
            elif len(proposed) == 3:
                self._relate(node, self._node(proposed[1]), proposed[2])

    def _node(self, phrase: str) -> Node:
        if phrase in self._where:  # its synonym sets are in there as well
            return self._where[phrase]
        synsets = self._synsets(phrase)
        best, best_similarity = None, 0.0
        for node in self.nodes if synsets else ():
            shared = len(synsets & node.concept.synsets)
            if shared:
                similarity = shared / len(synsets | node.concept.synsets)
                if similarity > best_similarity:
                    best, best_similarity = node, similarity
        concept = Concept(phrase, synsets)
        if best is None:
            best = Node(concept)
            self.nodes.append(best)
        else:
            best.concept.merge(concept)
        self._where[phrase] = best
        return best

    def _join(self, concepts: list[Concept], phrase: str) -> None:
        if any(phrase in concept.phrases for concept in concepts):
            return
        new = Concept(phrase, self._synsets(phrase))
        for concept in concepts:
            if concept.similar(new):
                concept.merge(new)
                return
        concepts.append(new)

    def _relate(self, source: Node, target: Node, relation: str) -> None:
        phrase = relation.removeprefix("be ")
        new = Concept(phrase, self._synsets(phrase))
        there = [concept for concept, end in source.relations if end is target]
        if any(concept.phrase == phrase for concept in there):
            return
        for concept in there:
            if concept.similar(new):
                concept.merge(new)
                return
        source.relations.append((new, target))

    def tuples(self) -> list[tuple[Concept, ...]]:
        """All tuples: objects, their attributes, then (subject, relation, object) triples."""
        tuples: list[tuple[Concept, ...]] = []
        for node in self.nodes:
            tuples.append((node.concept,))
            tuples += [(node.concept, attribute) for attribute in node.attributes]
        for node in self.nodes:
            tuples += [(node.concept, kind, end.concept) for kind, end in node.relations]
        return tuples

    @cached_property
    def sizes(self) -> list[int]:
        """The number of tuples in each of `CATEGORIES`."""
        counts = [0] * len(CATEGORIES)
        for node in self.nodes:
            counts[_OBJECT] += 1
            counts[_RELATION] += len(node.relations)
            counts[_ATTRIBUTE] += len(node.attributes)
            for concept in node.attributes:
                for kind in _kinds(concept):
                    counts[kind] += 1
        counts[_ALL] = counts[_OBJECT] + counts[_RELATION] + counts[_ATTRIBUTE]
        return counts

    def correct(self, references: Graph) -> list[int]:
        """The number of tuples, in each of `CATEGORIES`, that the references justify."""
        counts = [0] * len(CATEGORIES)
        similar = {
            id(node): [other for other in references.nodes if node.concept.similar(other.concept)]
            for node in self.nodes
        }
        for node in self.nodes:
            others = similar[id(node)]
            if not others:
                continue
            counts[_OBJECT] += 1
            for concept in node.attributes:
                partners = [a for other in others for a in other.attributes if a.similar(concept)]
                counts[_ATTRIBUTE] += bool(partners)
                for kind in _kinds(concept):  # justified by an attribute of the same kind only
                    counts[kind] += any(kind in _kinds(a) for a in partners)
            for concept, end in node.relations:
                ends = similar[id(end)]
                counts[_RELATION] += any(
                    other_end in ends and other_concept.similar(concept)
                    for other in others
                    for other_concept, other_end in other.relations
                )
        counts[_ALL] = counts[_OBJECT] + counts[_RELATION] + counts[_ATTRIBUTE]
        return counts


def _kinds(attribute: Concept) -> list[int]:
    phrase = attribute.phrase
    return [kind for kind, phrases in _VALUES if phrase in phrases]


def f_scores(candidate: Graph, references: Graph) -> npt.NDArray[np.float64]:
    """F1 of a candidate's tuples, float64, one value per category of `CATEGORIES`.

    "All" is SPICE, 0 where there is nothing to compare. A subset's score is NaN where the
    references have no such tuple, as in SPICE: a caption cannot be judged on colours that no
    reference mentions.
    """
    counts = candidate.correct(references), candidate.sizes, references.sizes
    right, sizes, wanted = np.array(counts)
    precision, recall = right / np.maximum(sizes, 1), right / np.maximum(wanted, 1)
    scores = 2.0 * (precision * recall) / np.where(right > 0, precision + recall, 1.0)
    scores[1:][wanted[1:] == 0] = np.nan
    return scores


class Spice(Metric):
    """SPICE and its six sub-scores, F1 in [0, 1]; NaN where no reference has such a tuple.

    Parameters
    ----------
    tokenizer
        "ptb", "whitespace" or "none"; tokens are joined by blanks for the parser.
    parser
        "corenlp", SPICE's own; "perceptron", built in: fast, no Java, but not SPICE's numbers, and
        its columns say so: "SPICE (rules)"; "auto", which is "corenlp" where that is installed and
        "perceptron" elsewhere.
    cache
        The cache folder, into which `doctor --install spice` has put CoreNLP.
    heap_mib, threads, sentence_seconds
        Limits of the Java service, see `SpiceParser`. A sentence that exceeds them is scored NaN.
    """

    name = "spice"
    languages = frozenset({"en"})

    def __init__(
        self,
        *,
        tokenizer: str = "ptb",
        parser: str = parse.AUTO,
        cache: str | Path | None = None,
        heap_mib: PositiveInt = spice_service.HEAP_MIB,
        threads: PositiveInt | None = None,
        sentence_seconds: Positive = spice_service.SENTENCE_SECONDS,
    ) -> None:
        self.tokenizer = None if tokenizer == "none" else tokenizers.get(tokenizer)
        self.cache = user_path(cache) if cache else parse.default_cache()
        self.parser = parse.choose_parser(parser, self.cache)
        self.heap_mib, self.threads = heap_mib, threads
        self.sentence_seconds = sentence_seconds

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        model = {"corenlp": None, "perceptron": "rules"}.get(self.parser, self.parser)
        in_brackets = f" ({model})" if model else ""
        whole = f"SPICE{in_brackets}"

        def column(name: str, part_of: str | None) -> ScoreColumn:
            return ScoreColumn(
                f"{name}{in_brackets}",
                bounds=(0.0, 2.0),  # two tuples may match one reference's: a recall above 1
                part_of=part_of,
                headline=part_of is None,
                variant_of=name if model else None,
                model=model,
            )

        parts = (column(f"SPICE-{category.lower()}", whole) for category in CATEGORIES[1:])
        return (column("SPICE", None), *parts)

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> SpiceScorer | Absent:
        parts = (
            self.missing_part(dataset),
            None if self.tokenizer is None else self.tokenizer.missing(),
            spice_service.spice_folder(),  # whichever parser finds the tuples: it has the synonyms
            parse.missing_parts(self.parser, self.cache),
        )
        absent = next((part for part in parts if isinstance(part, Absent)), None)
        return absent or SpiceScorer(self, dataset, store)


class SpiceScorer(ReferenceScorer):
    """SPICE against the references of a dataset."""

    usual_ms = 0.3

    def __init__(self, metric: Spice, dataset: CaptionDataset, store: Store | None) -> None:
        self._jar = spice_service.spice_file(spice_service.METEOR_JAR)
        limits = f"{metric.heap_mib:g}-{metric.sentence_seconds:g}"
        settings = {
            "parser": parse.parser_identity(metric.parser),
            "tok": metric.tokenizer.signature if metric.tokenizer else "none",
            "syn": f"meteor-1.5-{spice_service.short_sha256(self._jar)}",
            **({"limits": limits} if metric.parser == "corenlp" else {}),
            "v": 2,  # raised when this comes to give another number for the same caption
        }
        super().__init__(metric, settings, dataset)
        if metric.parser == "corenlp":
            self.usual_ms = 30.0  # type: ignore[misc]
        self._tokenizer = metric.tokenizer
        self.parser = parse.open_parser(
            metric.parser,
            store=store,
            cache=metric.cache,
            heap=metric.heap_mib,
            threads=metric.threads,
            sentence_seconds=metric.sentence_seconds,
        )

    def prepare(self) -> None:
        """Parse all references, and merge each image's into one graph."""
        self._synonyms = load_synonyms(self._jar)
        texts = list(dict.fromkeys(r for group in self.dataset.references for r in group))
        parsed = dict(zip(texts, self._tuples(texts), strict=True))
        self._references: list[Graph | None] = []
        for group in self.dataset.references:
            tuples = [parsed[reference] for reference in group]
            known = [t for one in tuples if one is not None for t in one]
            # a graph without one of the references would give the score of another item
            unknown = None in tuples or not group
            self._references.append(None if unknown else Graph(known, self._synonyms))

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        """F-scores, float64 [n, 7]; NaN without references, or where a text cannot be parsed."""
        texts = list(dict.fromkeys(captions))
        graphs = {
            text: None if tuples is None else Graph(tuples, self._synonyms)
            for text, tuples in zip(texts, self._tuples(texts), strict=True)
        }
        scores = np.full((len(captions), len(CATEGORIES)), np.nan)
        for row, (caption, image) in enumerate(zip(captions, image_index, strict=True)):
            candidate, references = graphs[caption], self._references[image]
            if candidate is not None and references is not None:
                scores[row] = f_scores(candidate, references)
        return scores

    def explain(self, caption: str, image_index: int) -> Mapping[str, object] | None:
        """The candidate's and the references' tuples, and which of them found a partner."""
        tuples, references = self._tuples([caption])[0], self._references[image_index]
        if tuples is None or references is None:
            return None
        graph = Graph(tuples, self._synonyms)
        candidate_tuples, reference_tuples = graph.tuples(), references.tuples()
        pairs = [
            (i, j)
            for i, one in enumerate(candidate_tuples)
            for j, other in enumerate(reference_tuples)
            if len(one) == len(other) and all(a.similar(b) for a, b in zip(one, other, strict=True))
        ]
        sides = (
            ("candidate", candidate_tuples, {i for i, _ in pairs}),
            ("references", reference_tuples, {j for _, j in pairs}),
        )
        return {
            "kind": "tuples",
            **{
                side: [
                    {"tuple": ["/".join(sorted(c.phrases)) for c in t], "matched": k in matched}
                    for k, t in enumerate(every)
                ]
                for side, every, matched in sides
            },
            "values": {self.columns[0].name: float(f_scores(graph, references)[0])},
        }

    def close(self) -> None:
        """End the Java service."""
        self.parser.close()

    def _tuples(self, captions: Sequence[str]) -> list[spice_service.Tuples | None]:
        return self.parser(tokenizers.joined_tokens(self._tokenizer, captions))
