"""METEOR 1.5 (Denkowski and Lavie, 2014), by the original jar's aligner."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from metaeval.cores import core_count
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.java.shared_services import borrow, give_back
from metaeval.metrics.base import Scores
from metaeval.metrics.meteor.score import NAMES, PARAMETERS, make_summable, scores
from metaeval.metrics.meteor.server import (
    Installation,
    LanguageServer,
    MeteorServer,
    find_installation,
)
from metaeval.metrics.summable import Statistics, SummableMetric, SummableScorer
from metaeval.options import PositiveInt, checked
from metaeval.runs.digests import file_sha256
from metaeval.runs.records import ScoreColumn, with_notes
from metaeval.runs.store import Store
from metaeval.text.language import language_of
from metaeval.text.tokenizers import base as tokenizers

HEAP_MIB = 1024


log = logging.getLogger(__name__)

# words of a text: the memory of an alignment grows with their square, and a text of 10,000 words
# ended the process and with it every score
LONGEST = 2_000

Language = Literal["en", "de", "es", "fr", "ru"]


class Meteor(SummableMetric):
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
        "en"; or "de", "es", "fr" or "ru", which the jar can normalise and stem. Their captions
        match by exact words and stems alone, with the jar's weights for these: the package has
        neither synonyms nor paraphrases of them. The column says so.
    heap_mib
        Java heap; `None` for 1,024; never more than half of the machine's memory.
    threads
        That align at once; `None` for as many as there are cores, 16 at most.
    """

    name = "meteor"
    columns = (ScoreColumn("METEOR"),)
    statistics_names = NAMES

    @checked
    def __init__(
        self,
        tokenizer: str = "ptb",
        language: Language = "en",
        heap_mib: PositiveInt | None = None,
        threads: PositiveInt | None = None,
    ) -> None:
        self.tokenizer = None if tokenizer == "none" else tokenizers.get(tokenizer)
        self.language, self.languages = language, frozenset({language})
        self.parameters = PARAMETERS[language]
        if language != "en":
            stages = f"{language}, exact and stem"
            name = with_notes("METEOR", stages)
            self.columns = (ScoreColumn(name, variant_of="METEOR", model=stages),)
        self.heap_mib, self.threads = heap_mib, threads

    def missing_language(self, dataset: CaptionDataset) -> Absent | None:
        """Why it does not read the captions, with the option that lets it where there is one."""
        absent = super().missing_language(dataset)
        if absent is not None and (language := language_of(dataset)) in PARAMETERS:
            return replace(absent, remedy=f"metric.{self.name}.language={language}")
        return absent

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> MeteorScorer | Absent:
        absent = self.missing_part(dataset) or (
            self.tokenizer.missing() if self.tokenizer else None
        )
        installation = find_installation()
        if absent is not None:
            return absent
        if isinstance(installation, Absent):
            return installation
        settings = {
            "tok": self.tokenizer.signature if self.tokenizer else "none",
            "norm": "yes",
            "lang": self.language,
            "jar": file_sha256(installation.jar, store)[:12],
            **(
                {"table": file_sha256(installation.table, store)[:12]}
                if self.language == "en"
                else {"modules": "exact+stem"}
            ),
            "v": 1,  # raised when this file comes to give another number for the same caption
        }
        return MeteorScorer(self, settings, dataset, installation)

    def of_statistics(self, statistics: Statistics, *, corpus: bool = False) -> Scores:
        """METEOR of captions; of a corpus too: the jar's aggregate is the score of the sums."""
        result = np.full((len(statistics), 1), np.nan)
        known = ~np.isnan(statistics).any(axis=1)
        result[known, 0] = scores(statistics[known], self.parameters)
        return result


class MeteorScorer(SummableScorer):
    """METEOR against the references of a dataset; holds a JVM once it is prepared."""

    metric: Meteor

    usual_ms = 0.3
    runs_in_subprocess = True

    def __init__(
        self,
        metric: Meteor,
        settings: Mapping[str, object],
        dataset: CaptionDataset,
        installation: Installation,
    ) -> None:
        super().__init__(metric, settings, dataset)
        self._installation = installation
        self._resources = ExitStack()

    def prepare(self) -> None:
        tokenised = iter(
            self._tokenise([text for texts in self.dataset.references for text in texts])
        )
        references = [[next(tokenised) for _ in texts] for texts in self.dataset.references]
        too_long = [any(map(_is_too_long, texts)) for texts in references]
        if any(too_long):
            _warn("images have a reference", sum(too_long))
        references = [[] if long else r for r, long in zip(references, too_long, strict=True)]
        self._has_reference = np.array([bool(texts) for texts in references])
        heap_mib = self.metric.heap_mib or HEAP_MIB
        threads = self.metric.threads or min(16, core_count())
        pool = self.dataset.pool  # corruptions draw their words from it
        self._server: MeteorServer | LanguageServer
        if self.metric.language != "en":
            self._server = LanguageServer(
                self._installation, references, self.metric.language, heap_mib=heap_mib
            )
            self._resources.callback(self._server.close)
            return
        server = borrow(
            "METEOR",
            (self._installation, tuple(map(tuple, references)), pool, heap_mib, threads),
            lambda: MeteorServer(
                self._installation, references, pool, heap_mib=heap_mib, threads=threads
            ),
        )
        self._resources.callback(give_back, server)
        self._server = server

    def statistics(self, captions: Sequence[str], image_index: npt.NDArray[np.intp]) -> Statistics:
        result = np.full((len(captions), len(NAMES)), np.nan)
        rows = np.flatnonzero(self._has_reference[image_index])
        texts = self._tokenise([captions[row] for row in rows.tolist()])
        short = [k for k, text in enumerate(texts) if not _is_too_long(text)]
        if len(short) < len(texts):
            _warn("captions", len(texts) - len(short))
            rows, texts = rows[short], [texts[k] for k in short]
        result[rows] = make_summable(self._server.statistics(texts, image_index[rows].tolist()))
        return result

    def close(self) -> None:
        self._resources.close()

    def _tokenise(self, texts: Sequence[str]) -> list[str]:
        if self.metric.tokenizer is None:
            return list(texts)
        return [" ".join(tokens) for tokens in self.metric.tokenizer(texts)]


def _is_too_long(text: str) -> bool:
    return text.count(" ") >= LONGEST


def _warn(what: str, n: int) -> None:
    log.warning("METEOR: %s %s of more than %s words: not scored", f"{n:,}", what, f"{LONGEST:,}")
