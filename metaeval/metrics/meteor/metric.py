"""METEOR 1.5 (Denkowski and Lavie, 2014), with the original jar's alignments.

An alignment says, for a candidate and the best of its references, how many words there are, how
many of them matched at each stage, and in how many chunks. The rest is arithmetic (`scores`).
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset, language_of
from metaeval.java.process import JavaError, JavaProcess, borrow, give_back
from metaeval.java.services import JavaRuntime, find_bundled_files, find_jar, find_java
from metaeval.metrics.base import Scores, Statistics, SummableMetric, SummableScorer
from metaeval.options import PositiveInt, checked
from metaeval.provenance import core_count
from metaeval.runs.files import file_sha256
from metaeval.runs.records import ScoreColumn, with_notes
from metaeval.runs.store import Store
from metaeval.text.tokenizers import base as tokenizers

log = logging.getLogger(__name__)

HEAP_MIB = 1024
# words of a text: the memory of an alignment grows with their square, and a text of 10,000 words
# ended the process and with it every score
LONGEST = 2_000
Language = Literal["en", "de", "es", "fr", "ru"]
_SERVER = "MeteorServer"
_SILENCE = 300.0  # seconds without a reply: far more than the table needs on a slow disk
# one collector thread; no code optimised for hours that run for seconds; no file in /tmp
_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
# what would end a line or part a request: controls, line and paragraph separators, surrogates
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
STATISTICS = 23
STAGES = ("exact", "stem", "synonym", "paraphrase")
# the statistics of a caption in the jar's order
NAMES = (
    *("words", "reference-words", "function-words", "reference-function-words"),
    *(
        f"{stage}-{part}"
        for stage in STAGES
        for part in ("content", "reference-content", "function", "reference-function")
    ),
    *("chunks", "matches", "reference-matches"),
)


class Parameters(NamedTuple):
    """The parameters of METEOR 1.5 for a language, tuned for ranking; `weights` are what a match at
    each of the `STAGES` counts, 0 where the stage has no data in the package."""

    alpha: float
    beta: float
    gamma: float
    delta: float
    weights: tuple[float, float, float, float]


ENGLISH = Parameters(0.85, 0.2, 0.6, 0.75, (1.0, 0.6, 0.8, 0.6))
# the jar's, of the languages that it can normalise and stem
PARAMETERS = {
    "en": ENGLISH,
    "de": Parameters(0.95, 1.0, 0.55, 0.55, (1.0, 0.8, 0.0, 0.0)),
    "es": Parameters(0.65, 1.3, 0.5, 0.8, (1.0, 0.8, 0.0, 0.0)),
    "fr": Parameters(0.9, 1.4, 0.6, 0.65, (1.0, 0.2, 0.0, 0.0)),
    "ru": Parameters(0.75, 1.4, 0.7, 0.5, (1.0, 0.5, 0.0, 0.0)),
}


def scores(
    statistics: npt.NDArray[np.float64], parameters: Parameters = ENGLISH
) -> npt.NDArray[np.float64]:
    """METEOR of n candidates from their statistics, in [0, 1].

    Parameters
    ----------
    statistics
        [n, 23], in the order of meteor-1.5.jar: words of the candidate, of the reference; function
        words of the candidate, of the reference; per stage (exact, stem, synonym, paraphrase) the
        matched content words of the candidate and the reference, then their matched function
        words; chunks; all matched words of the candidate, of the reference.

    Returns
    -------
    [n]. Without any match, and for an empty candidate or reference, 0.
    """
    alpha, beta, gamma, delta, weights = parameters
    stages = statistics[:, 4:20].reshape(-1, len(STAGES), 4)
    candidate, reference = (
        _matched(stages[:, :, side], stages[:, :, side + 2], delta, weights)
        / _weighted(statistics[:, side] - statistics[:, side + 2], statistics[:, side + 2], delta)
        for side in (0, 1)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        f_mean = 1 / ((1 - alpha) / candidate + alpha / reference)
        fragmentation = statistics[:, 20] / ((statistics[:, 21] + statistics[:, 22]) / 2)
    fragmentation[_unbroken(statistics)] = 0
    # Python's own power: NumPy's may round by the place that a number has in its array
    penalty = gamma * np.array([x**beta for x in fragmentation.tolist()]).reshape(-1)
    return np.maximum(np.nan_to_num(f_mean * (1 - penalty), nan=0.0), 0.0)


def make_summable(statistics: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The statistics in the form in which they add up over captions, [n, 23].

    The jar's aggregate, a corpus score, is the score of the sums; but a caption that matches its
    reference wholly, in one chunk, adds no chunk. On its own it scores the same either way.
    """
    summands = statistics.copy()
    summands[_unbroken(statistics), 20] = 0
    return summands


def _unbroken(statistics: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Whether all words of candidate and reference match, in one chunk: no penalty then."""
    matched = statistics[:, 4:20].reshape(-1, len(STAGES), 4).sum(axis=1)
    whole = matched[:, :2] + matched[:, 2:] == statistics[:, :2]
    return whole.all(axis=1) & (statistics[:, 20] == 1)


def _weighted(
    content: npt.NDArray[np.float64], function: npt.NDArray[np.float64], delta: float
) -> npt.NDArray[np.float64]:
    total = delta * content + (1 - delta) * function
    return np.where(total > 0, total, np.nan)  # no words, no precision


def _matched(
    content: npt.NDArray[np.float64],
    function: npt.NDArray[np.float64],
    delta: float,
    weights: tuple[float, float, float, float],
) -> npt.NDArray[np.float64]:
    """Σ over stages of weight · (δ · content + (1 - δ) · function); both [n, 4]."""
    each = np.array(weights) * (delta * content + (1 - delta) * function)
    return each[:, 0] + each[:, 1] + each[:, 2] + each[:, 3]  # in one order, whatever n is


@dataclass(frozen=True, slots=True)
class Installation:
    """What METEOR runs on: a Java, the jar of our services, METEOR's jar and paraphrase table."""

    java: JavaRuntime
    services: Path
    jar: Path
    table: Path


def find_installation() -> Installation | Absent:
    """The Java that is there, our jar and pycocoevalcap's files, or the first that is not there."""
    java, services = find_java(), find_jar()
    files = find_bundled_files("meteor/meteor-1.5.jar", "meteor/data/paraphrase-en.gz")
    if isinstance(java, Absent):
        return java
    if isinstance(services, Absent):
        return services
    return files if isinstance(files, Absent) else Installation(java, services, *files)


def request_line(text: str) -> str:
    """`text` as a request can carry it.

    Line breaks, tabs, other control characters, U+2028, U+2029 and lone surrogates become spaces,
    which part words just as they do; `|||` is dropped, as pycocoevalcap drops it.
    """
    return _UNSAFE.sub(" ", text).replace("|||", "")


class MeteorServer:
    """A JVM that aligns candidates with the references of some images, until `close`.

    `MeteorServer.java` aligns on several threads, reads only what the captions need of the
    paraphrase table, and does nothing twice. The jar's own -stdio mode, which pycocoevalcap uses,
    gives the same 23 numbers on one core with the whole table in memory: 1,398 MiB instead of 370
    on 20,000 captions, and several times as long (`python -m benchmarks.speed meteor`).

    The references are loaded in the background; the first call of `statistics` waits for it.

    Parameters
    ----------
    installation
        The Java, the jars and the table.
    references
        The references of each image.
    words
        Texts whose words later candidates are likely to use: the table is then read once.
    heap_mib
        Java heap.
    threads
        That align at once.
    """

    def __init__(
        self,
        installation: Installation,
        references: Sequence[Sequence[str]],
        words: Sequence[str],
        *,
        heap_mib: int,
        threads: int,
    ) -> None:
        numbers: dict[str, int] = {}
        self._references = [
            [numbers.setdefault(request_line(text), len(numbers)) for text in texts]
            for texts in references
        ]
        self._kept = len(numbers)
        class_path = os.pathsep.join([str(installation.services), str(installation.jar)])
        self._process = JavaProcess(
            installation.java,
            ["-cp", class_path, _SERVER, str(installation.table), str(threads)],
            what="METEOR",
            heap=heap_mib,
            silence=_SILENCE,
            options=_OPTIONS,
        )
        self._background = ThreadPoolExecutor(1, thread_name_prefix="metaeval-meteor")
        self._loading: Future[None] = self._background.submit(
            self._load, list(numbers), list(words)
        )

    @property
    def is_running(self) -> bool:
        """Whether it can be asked."""
        return self._process.is_running

    def statistics(
        self, candidates: Sequence[str], images: Sequence[int]
    ) -> npt.NDArray[np.float64]:
        """[n, 23] of n candidates, each against the references of its image (at least one).

        Raises `metaeval.java.process.JavaError` when Java fails or its answer does not fit.
        """
        self._loading.result()
        numbers: dict[str, int] = {}
        requests: dict[tuple[int, int], int] = {}
        rows = []
        for text, image in zip(candidates, images, strict=True):
            candidate = self._kept + numbers.setdefault(request_line(text), len(numbers))
            rows.append(requests.setdefault((candidate, image), len(requests)))
        self._send("TEXTS", list(numbers))
        # The table is read here, when the first candidates' words are known as well; again only
        # where later ones bring new words.
        self._process.exchange(["LOAD"])
        replies = self._send(
            "SCORES", [" ".join(map(str, [c, *self._references[i]])) for c, i in requests]
        )
        self._process.exchange([f"KEEP {self._kept}"])
        return _parse(replies)[rows]

    def close(self) -> None:
        """End the JVM, also while it is loading. Idempotent."""
        self._process.close()
        self._background.shutdown(wait=True, cancel_futures=True)

    def _load(self, references: list[str], words: list[str]) -> None:
        self._send("TEXTS", references)
        self._send("TEXTS", [request_line(text) for text in words])
        self._process.exchange([f"KEEP {self._kept}"])

    def _send(self, verb: str, lines: Sequence[str]) -> list[str]:
        """Send a request of n lines and return its n replies."""
        count, *replies = self._process.exchange([f"{verb} {len(lines)}", *lines])
        if count != str(len(lines)):
            raise JavaError("METEOR", f"replied '{count}' to {verb} {len(lines)}")
        return replies


class LanguageServer:
    """The jar's own -stdio mode in another language than English, by exact words and stems.

    The package has function words and stemmers of these languages, and a paraphrase table of
    English alone. Parameters as for `MeteorServer`.
    """

    def __init__(
        self,
        installation: Installation,
        references: Sequence[Sequence[str]],
        language: str,
        *,
        heap_mib: int,
    ) -> None:
        self._references = [" ||| ".join(map(request_line, texts)) for texts in references]
        modules = ("-m", "exact stem")
        self._process = JavaProcess(
            installation.java,
            [
                "-cp",
                str(installation.jar),
                "Meteor",
                "-",
                "-",
                "-stdio",
                "-norm",
                *modules,
                "-l",
                language,
            ],
            what="METEOR",
            heap=heap_mib,
            silence=_SILENCE,
            options=_OPTIONS,
        )

    def statistics(
        self, candidates: Sequence[str], images: Sequence[int]
    ) -> npt.NDArray[np.float64]:
        """As `MeteorServer.statistics`."""
        lines = [
            f"SCORE ||| {self._references[image]} ||| {request_line(text)}"
            for text, image in zip(candidates, images, strict=True)
        ]
        return _parse(self._process.exchange(lines))

    def close(self) -> None:
        """End the JVM. Idempotent."""
        self._process.close()


def _parse(replies: Sequence[str]) -> npt.NDArray[np.float64]:
    for reply in replies:
        if reply.count(" ") != STATISTICS - 1:
            raise JavaError("METEOR", f"replied '{reply[:80]}' instead of {STATISTICS} numbers")
    try:
        values = np.array(" ".join(replies).split(), dtype=np.float64)
    except ValueError as error:
        raise JavaError("METEOR", f"replied something else than numbers ({error})") from None
    return values.reshape(len(replies), STATISTICS)


class Meteor(SummableMetric):
    """METEOR of each caption against the best of its image's references, in [0, 1].

    The alignment (exact words, stems, WordNet synonyms, paraphrases) is as meteor-1.5.jar's; the
    score is computed here from its statistics, equal to pycocoevalcap's to 1e-9. An empty caption
    scores 0, as there; NaN only where the image has no reference.

    Parameters
    ----------
    tokenizer
        "ptb", "whitespace", or "none": the text as it is. METEOR normalises punctuation and
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
        installation = find_installation()
        if (absent := self.missing_part(dataset)) is not None:
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
    batch_size = 50_000
    fixed_cost = True  # the paraphrase table is read again where a call has new words

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
        flat = [text for texts in self.dataset.references for text in texts]
        tokenised = iter(tokenizers.joined_tokens(self.metric.tokenizer, flat))
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
        some = [captions[row] for row in rows.tolist()]
        texts = tokenizers.joined_tokens(self.metric.tokenizer, some)
        short = [k for k, text in enumerate(texts) if not _is_too_long(text)]
        if len(short) < len(texts):
            _warn("captions", len(texts) - len(short))
            rows, texts = rows[short], [texts[k] for k in short]
        result[rows] = make_summable(self._server.statistics(texts, image_index[rows].tolist()))
        return result

    def close(self) -> None:
        self._resources.close()


def _is_too_long(text: str) -> bool:
    return text.count(" ") >= LONGEST


def _warn(what: str, n: int) -> None:
    log.warning("METEOR: %s %s of more than %s words: not scored", f"{n:,}", what, f"{LONGEST:,}")
