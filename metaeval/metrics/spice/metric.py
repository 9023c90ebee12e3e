"""SPICE (Anderson et al. 2016), with its sub-scores, on today's Java.

A caption is parsed into tuples (objects, attributes, relations) by SPICE's own parser, each
distinct sentence once and for all (`spice_service`); the F-score is ours (`spice_graph`), equal to
the jar's. Parsed sentences go into the store, so a caption or reference costs one parse ever.

    tokenizer: ptb    as pycocoevalcap's COCOEvalCap and nearly all published numbers
    tokenizer: none   the text as it is: FAIEr's example needs "ptb", González-Chávez et al. "none"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.java.runtime import JavaError
from metaeval.metrics.base import Metric, Scores
from metaeval.metrics.spice import synonyms as spice_synonyms
from metaeval.metrics.spice.graph import CATEGORIES, Graph, f_scores
from metaeval.text.scene_graphs import parse, spice_service
from metaeval.text.scene_graphs.rules.rules import IDENTITY as RULES
from metaeval.text.tokenizers.base import get as get_tokenizer

_METEOR = "lib/Meteor-1.5.jar"


class Spice(Metric):
    """SPICE and its six sub-scores, F1 in [0, 1]; NaN where no reference has such a tuple.

    Parameters
    ----------
    tokenizer
        "ptb", "java", "whitespace" or "none"; tokens are joined by blanks for the parser.
    parser
        "spice", or "rules" for the built-in parser: fast, no Java, but not SPICE's numbers.
    cache
        The cache folder, into which `doctor --install spice` has put CoreNLP.
    heap_mib, threads, sentence_seconds
        Limits of the Java service, see `SpiceParser`. A sentence that exceeds them is scored NaN.
    """

    name = "spice"
    columns = ("SPICE", *(f"SPICE-{category.lower()}" for category in CATEGORIES[1:]))

    def __init__(
        self,
        *,
        tokenizer: str = "ptb",
        parser: str = "spice",
        cache: str | Path | None = None,
        heap_mib: int = spice_service.HEAP_MIB,
        threads: int | None = None,
        sentence_seconds: float = spice_service.SENTENCE_SECONDS,
    ) -> None:
        if parser not in parse.PARSERS:
            raise ConfigError(f"metric.spice.parser: '{parser}' is not one of spice, rules")
        self._tokenizer = None if tokenizer == "none" else get_tokenizer(tokenizer)
        self._parser_name = parser
        self._cache = Path(cache).expanduser() if cache else parse.default_cache()
        self._limits = {"heap": heap_mib, "sentence_seconds": sentence_seconds}
        self._threads = threads
        self._parser: parse.Parser | None = None
        self._references: list[Graph | None] = []

    def missing(self, dataset: CaptionDataset) -> Absent | None:
        """The dataset's parts, then the tokeniser's needs, SPICE's jars, Java."""
        absent = super().missing(dataset)
        if absent is None and self._tokenizer is not None:
            absent = self._tokenizer.missing()
        if absent is None and isinstance(folder := spice_service.spice_folder(), Absent):
            absent = folder
        return absent or parse.missing(self._parser_name, self._cache)

    def prepare(self, dataset: CaptionDataset) -> None:
        """Parse all references, and merge each image's into one graph."""
        texts = list(dict.fromkeys(r for refs in dataset.references for r in refs))
        parsed = dict(zip(texts, self._tuples(texts), strict=True))
        synonyms = self._synonyms()
        self._references = []
        for references in dataset.references:
            tuples = [parsed[reference] for reference in references]
            known = [t for one in tuples if one is not None for t in one]
            # a graph that lacks a reference would be another image's score, not a worse one
            self._references.append(None if None in tuples else Graph(known, synonyms))

    def score(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Scores:
        """F-scores, float64 [n, 7]; NaN where the caption or a reference cannot be parsed."""
        texts = list(dict.fromkeys(captions))
        synonyms = self._synonyms()
        graphs = {
            text: None if tuples is None else Graph(tuples, synonyms)
            for text, tuples in zip(texts, self._tuples(texts), strict=True)
        }
        scores = np.full((len(captions), len(CATEGORIES)), np.nan)
        for row, (caption, image) in enumerate(zip(captions, image_index, strict=True)):
            candidate, references = graphs[caption], self._references[image]
            if candidate is not None and references is not None:
                scores[row] = f_scores(candidate, references)
        return scores

    def settings(self) -> Mapping[str, Any]:
        """Parser and jars, tokeniser, synonyms, the limits beyond which a score is NaN."""
        spice = self._parser_name == "spice"
        limits = "-".join(f"{value:g}" for value in self._limits.values())
        return {
            "parser": spice_service.identity() if spice else RULES,
            "tok": self._tokenizer.signature if self._tokenizer else "none",
            "syn": f"meteor-1.5-{spice_service.sha256(self._jar())[:8]}",
            **({"limits": limits} if spice else {}),
            "v": 1,
        }

    def explain(self, caption: str, image_index: int) -> Mapping[str, Any] | None:
        """The candidate's and the references' tuples, and which of them found a partner."""
        tuples, references = self._tuples([caption])[0], self._references[image_index]
        if tuples is None or references is None:
            return None
        graph = Graph(tuples, self._synonyms())
        mine, theirs = graph.tuples(), references.tuples()
        pairs = [
            (i, j)
            for i, one in enumerate(mine)
            for j, other in enumerate(theirs)
            if len(one) == len(other) and all(a.similar(b) for a, b in zip(one, other, strict=True))
        ]
        sides = (
            ("candidate", mine, {i for i, _ in pairs}),
            ("references", theirs, {j for _, j in pairs}),
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
            "values": {self.columns[0]: float(f_scores(graph, references)[0])},
        }

    def close(self) -> None:
        """End the Java service."""
        if self._parser is not None:
            self._parser.close()
            self._parser = None

    def _tuples(self, captions: Sequence[str]) -> list[spice_service.Tuples | None]:
        if self._parser is None:
            self._parser = parse.open_parser(
                self._parser_name,
                store=self.store,
                cache=self._cache,
                threads=self._threads,
                **self._limits,
            )
        if self._tokenizer is not None:
            captions = [" ".join(tokens) for tokens in self._tokenizer(captions)]
        return self._parser(captions)

    def _jar(self) -> Path:
        folder = spice_service.spice_folder()
        if isinstance(folder, Absent):
            raise JavaError("SPICE", str(folder))
        return folder / _METEOR

    def _synonyms(self) -> spice_synonyms.Synonyms:
        return spice_synonyms.load(self._jar())
