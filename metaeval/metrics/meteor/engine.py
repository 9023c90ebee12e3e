"""The two ways of getting METEOR's statistics out of meteor-1.5.jar.

`ServerEngine` runs `MeteorServer.java` on top of the jar: several threads, one paraphrase
table, nothing done twice. It needs a JDK, which compiles the file when it starts it. `JarEngine`
runs the jar's own -stdio mode, as pycocoevalcap does, and needs a Java runtime only; it loads the
whole table and uses one core. Both give the same 23 numbers.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt

from metaeval.cores import core_count
from metaeval.data.dataset import Absent
from metaeval.java.runtime import JavaError, JavaProcess, JavaRuntime
from metaeval.metrics.meteor.score import STATISTICS

_SOURCE = Path(__file__).parent / "MeteorServer.java"
_SILENCE = 300.0  # seconds without a reply: far more than the table needs on a slow disk
# one collector thread; no code optimised for hours that run for seconds; no file in /tmp
_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")

# what would end a line or part a request: controls, line and paragraph separators, surrogates
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Files:
    """METEOR's jar and its English paraphrase table."""

    jar: Path
    table: Path


def find_files() -> Files | Absent:
    """The files that come with the package pycocoevalcap."""
    spec = find_spec("pycocoevalcap")
    for root in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(root) / "meteor"
        files = Files(folder / "meteor-1.5.jar", folder / "data" / "paraphrase-en.gz")
        if files.jar.is_file() and files.table.is_file():
            return files
    return Absent(
        "meteor",
        "METEOR's jar or its paraphrase table is not there (they come with pycocoevalcap)",
        "pip install --force-reinstall pycocoevalcap",
    )


def one_line(text: str) -> str:
    """`text` as a request can carry it.

    Line breaks, tabs, other control characters, U+2028, U+2029 and lone surrogates become spaces,
    which part words just as they do; `|||` is dropped, as pycocoevalcap drops it.
    """
    return _UNSAFE.sub(" ", text).replace("|||", "")


class Engine(ABC):
    """Sentences in, METEOR's statistics out. Holds a JVM until `close`."""

    _process: JavaProcess

    @abstractmethod
    def prepare(self, references: Sequence[Sequence[str]], others: Sequence[str]) -> None:
        """Take in the references of each image; `others` hints at words that candidates use.

        Returns at once: the loading goes on in the background.
        """

    @abstractmethod
    def statistics(
        self, candidates: Sequence[str], images: Sequence[int]
    ) -> npt.NDArray[np.float64]:
        """[n, 23] of n candidates, each against the references of its image (at least one)."""

    def close(self) -> None:
        """End the JVM."""
        self._process.close()


class ServerEngine(Engine):
    """Our small server around the jar's aligner. Needs `java.can_compile`."""

    def __init__(self, java: JavaRuntime, files: Files, heap: int, threads: int) -> None:
        self._process = JavaProcess(
            java,
            ["-cp", str(files.jar), str(_SOURCE), str(files.table), str(threads)],
            what="METEOR",
            heap=heap,
            silence=_SILENCE,
            options=_OPTIONS,
        )
        self._background = ThreadPoolExecutor(1, thread_name_prefix="metaeval-meteor")
        self._loaded: Future[None] | None = None
        self._references: list[list[int]] = []
        self._kept = 0

    def prepare(self, references: Sequence[Sequence[str]], others: Sequence[str]) -> None:
        number: dict[str, int] = {}
        self._references = [
            [number.setdefault(one_line(text), len(number)) for text in texts]
            for texts in references
        ]
        self._kept = len(number)
        self._loaded = self._background.submit(self._load, list(number), list(others))

    def _load(self, references: list[str], others: list[str]) -> None:
        self._many("TEXTS", references)
        self._many("TEXTS", [one_line(text) for text in others])
        self._process.exchange([f"KEEP {self._kept}", "LOAD"])

    def statistics(
        self, candidates: Sequence[str], images: Sequence[int]
    ) -> npt.NDArray[np.float64]:
        assert self._loaded is not None, "prepare comes first"
        self._loaded.result()
        number: dict[str, int] = {}
        asked: dict[tuple[int, int], int] = {}
        rows = []
        for text, image in zip(candidates, images, strict=True):
            candidate = self._kept + number.setdefault(one_line(text), len(number))
            rows.append(asked.setdefault((candidate, image), len(asked)))
        self._many("TEXTS", list(number))
        self._process.exchange(["LOAD"])  # at once, unless there are words not seen before
        replies = self._many(
            "SCORES", [" ".join(map(str, [c, *self._references[i]])) for c, i in asked]
        )
        self._process.exchange([f"KEEP {self._kept}"])
        return _parsed(replies)[rows]

    def _many(self, verb: str, lines: Sequence[str]) -> list[str]:
        count, *replies = self._process.exchange([f"{verb} {len(lines)}", *lines])
        if count != str(len(lines)):
            raise JavaError("METEOR", f"replied '{count}' to {verb} {len(lines)}")
        return replies

    def close(self) -> None:
        super().close()
        self._background.shutdown(wait=True, cancel_futures=True)


class JarEngine(Engine):
    """The jar's own -stdio mode."""

    # a question with a known answer, at the end of each batch: were replies lost or added?
    _QUESTION = "SCORE ||| metaeval ||| metaeval"
    _ANSWER = (1, 1, 0, 0, 1, 1, *[0] * 14, 1, 1, 1)

    def __init__(self, java: JavaRuntime, files: Files, heap: int) -> None:
        args = ["-jar", str(files.jar), "-", "-", "-stdio", "-l", "en", "-norm"]
        self._process = JavaProcess(
            java,
            [*args, "-a", str(files.table)],
            what="METEOR",
            heap=heap,
            silence=_SILENCE,
        )
        self._references: list[str] = []

    def prepare(self, references: Sequence[Sequence[str]], others: Sequence[str]) -> None:
        self._references = [" ||| ".join(map(one_line, texts)) for texts in references]

    def statistics(
        self, candidates: Sequence[str], images: Sequence[int]
    ) -> npt.NDArray[np.float64]:
        asked: dict[str, int] = {}
        rows = []
        for text, image in zip(candidates, images, strict=True):
            line = f"SCORE ||| {self._references[image]} ||| {one_line(text)}"
            rows.append(asked.setdefault(line, len(asked)))
        *replies, answer = self._process.exchange([*asked, self._QUESTION])
        if tuple(_parsed([answer])[0]) != self._ANSWER:
            raise JavaError("METEOR", f"replies are out of step: '{answer[:80]}'")
        return _parsed(replies)[rows]


def make_engine(
    java: JavaRuntime, files: Files, *, engine: str, heap_mib: int | None, threads: int | None
) -> Engine:
    """The server where the Java can compile it (`engine` "auto"), else the jar.

    `heap_mib` is the Java heap (default 1024 for the server, 2048 for the jar); `threads` are the
    server's, by default as many as there are cores for us.
    """
    if engine == "jar" or (engine == "auto" and not (java.can_compile and java.major >= 11)):
        return JarEngine(java, files, heap_mib or 2048)
    return ServerEngine(java, files, heap_mib or 1024, threads or min(16, core_count()))


def _parsed(replies: Sequence[str]) -> npt.NDArray[np.float64]:
    for reply in replies:
        if reply.count(" ") != STATISTICS - 1:
            raise JavaError("METEOR", f"replied '{reply[:80]}' instead of {STATISTICS} numbers")
    try:
        values = np.array(" ".join(replies).split(), dtype=np.float64)
    except ValueError as error:
        raise JavaError("METEOR", f"replied something else than numbers ({error})") from None
    return values.reshape(len(replies), STATISTICS)
