"""SPICE (Anderson et al. 2016), with its sub-scores, on today's Java.

A caption is parsed into tuples (objects, attributes, relations) by SPICE's own parser, each
distinct sentence once and for all (`text/scene_graphs`); the F-score is ours (`graph.py`), equal to
the jar's. Parsed sentences go into the store, so a caption or reference costs one parse ever.

    tokenizer: ptb    as pycocoevalcap's COCOEvalCap and nearly all published numbers
    tokenizer: none   the text as it is: FAIEr's example needs "ptb", González-Chávez et al. "none"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.base import Metric, ReferenceScorer, Scores
from metaeval.metrics.spice.graph import CATEGORIES, Graph, f_scores
from metaeval.metrics.spice.synonyms import load_synonyms
from metaeval.options import Positive, PositiveInt
from metaeval.readers.files import user_path
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store
from metaeval.text.scene_graphs import parse, spice_service
from metaeval.text.tokenizers import base as tokenizers


class Spice(Metric):
    """SPICE and its six sub-scores, F1 in [0, 1]; NaN where no reference has such a tuple.

    Parameters
    ----------
    tokenizer
        "ptb", "java", "whitespace" or "none"; tokens are joined by blanks for the parser.
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
        if self._tokenizer is not None:
            captions = [" ".join(tokens) for tokens in self._tokenizer(captions)]
        return self.parser(captions)
