"""METEOR 1.5 (Denkowski and Lavie, 2014), by the original jar's aligner."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.java.runtime import find_java
from metaeval.metrics.base import Scores
from metaeval.metrics.meteor.engine import Engine, find_files, make_engine
from metaeval.metrics.meteor.score import NAMES, additive, scores
from metaeval.metrics.summable import Additive, Statistics
from metaeval.text.tokenizers import base as tokenizers

ENGINES = ("auto", "server", "jar")


class Meteor(Additive):
    """METEOR of each caption against the best of its image's references, in [0, 1].

    The alignment (exact words, stems, WordNet synonyms, paraphrases) is meteor-1.5.jar's; the score
    is computed here from its statistics, equal to pycocoevalcap's to 1e-9. An empty caption scores
    0, as there; NaN only where the image has no reference.

    Parameters
    ----------
    tokenizer
        "ptb", "java", "whitespace", or "none": the text as it is. METEOR normalises punctuation and
        case itself (`-norm`), as in pycocoevalcap, whichever is chosen.
    language
        "en": what the jar of pycocoevalcap has a paraphrase table for.
    heap_mib
        Java heap; `None` for what the engine needs; never more than half of the machine's memory.
    threads
        Of the scorer; `None` for as many as there are cores.
    engine
        "server": our scorer around the jar's aligner, needs a JDK. "jar": the jar's own interface,
        a Java runtime is enough. "auto": the first where it can run. The scores are the same.
    """

    name = "meteor"
    columns = ("METEOR",)

    def __init__(
        self,
        tokenizer: str = "ptb",
        language: str = "en",
        heap_mib: int | None = None,
        threads: int | None = None,
        engine: str = "auto",
    ) -> None:
        if language != "en":
            raise ConfigError(f"unknown language '{language}': METEOR here has English ('en') only")
        if engine not in ENGINES:
            raise ConfigError(f"unknown engine '{engine}': choose from {', '.join(ENGINES)}")
        for option, value in (("heap_mib", heap_mib), ("threads", threads)):
            if value is not None and value < 1:
                raise ConfigError(f"{option} must be at least 1, not {value}")
        self._tokenizer = None if tokenizer == "none" else tokenizers.get(tokenizer)
        self.language = language
        self._options = {"engine": engine, "heap_mib": heap_mib, "threads": threads}
        self._engine: Engine | None = None

    def missing(self, dataset: CaptionDataset) -> Absent | None:
        absent = super().missing(dataset)
        if absent is None and self._tokenizer is not None:
            absent = self._tokenizer.missing()
        for found in (find_java(), find_files()):
            if absent is None and isinstance(found, Absent):
                absent = found
        return absent

    def settings(self) -> Mapping[str, Any]:
        files = find_files()
        if isinstance(files, Absent):
            raise FileNotFoundError(str(files))
        return {
            "tok": self._tokenizer.signature if self._tokenizer else "none",
            "norm": "yes",
            "lang": self.language,
            "jar": _sha256(files.jar),
            "table": _sha256(files.table),
            "v": 1,  # raised when this file comes to give another number for the same caption
        }

    def prepare(self, dataset: CaptionDataset) -> None:
        java, files = find_java(), find_files()
        for found in (java, files):
            if isinstance(found, Absent):
                raise RuntimeError(str(found))
        assert not isinstance(java, Absent)
        assert not isinstance(files, Absent)
        self.close()
        self._engine = make_engine(java, files, **self._options)  # type: ignore[arg-type]
        flat = self._texts([text for texts in dataset.references for text in texts])
        following = iter(flat)
        references = [[next(following) for _ in texts] for texts in dataset.references]
        self._has_reference = np.array([bool(texts) for texts in references])
        # corruptions draw their words from the pool: with these known, the table is read once
        self._engine.prepare(references, dataset.pool)

    @property
    def statistics_names(self) -> tuple[str, ...]:
        return NAMES

    def statistics(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Statistics:
        assert self._engine is not None, "prepare comes first"
        result = np.full((len(captions), len(NAMES)), np.nan)
        rows = np.flatnonzero(self._has_reference[image_index])
        texts = self._texts([captions[row] for row in rows.tolist()])
        result[rows] = additive(self._engine.statistics(texts, image_index[rows].tolist()))
        return result

    def of_statistics(self, statistics: Statistics, *, corpus: bool = False) -> Scores:
        """METEOR of captions; of a corpus too: the jar's aggregate is the score of the sums."""
        result = np.full((len(statistics), 1), np.nan)
        known = ~np.isnan(statistics).any(axis=1)
        result[known, 0] = scores(statistics[known])
        return result

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _texts(self, texts: Sequence[str]) -> list[str]:
        if self._tokenizer is None:
            return list(texts)
        return [" ".join(tokens) for tokens in self._tokenizer(texts)]


@cache
def _sha256(path: Path) -> str:
    """The first 12 digits of a file's SHA-256."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]
