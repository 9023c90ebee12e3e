"""METEOR's statistics out of meteor-1.5.jar, by our small server around the jar's aligner.

`MeteorServer.java` aligns on several threads, reads only what the captions need of the paraphrase
table, and does nothing twice. The jar's own -stdio mode, which pycocoevalcap uses, gives the same
23 numbers on one core with the whole table in memory. On two cores and 20,000 captions with four
references each, the jar takes 22.3 s and 1,398 MiB, the server 3.5 s and 350 MiB: a factor of six.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent
from metaeval.java.process import JavaError, JavaProcess
from metaeval.java.runtime import JavaRuntime, find_bundled_files, find_java
from metaeval.java.services import find_jar
from metaeval.metrics.meteor.score import STATISTICS

_SERVER = "MeteorServer"
_SILENCE = 300.0  # seconds without a reply: far more than the table needs on a slow disk
# one collector thread; no code optimised for hours that run for seconds; no file in /tmp
_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")

# what would end a line or part a request: controls, line and paragraph separators, surrogates
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


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


def one_line(text: str) -> str:
    """`text` as a request can carry it.

    Line breaks, tabs, other control characters, U+2028, U+2029 and lone surrogates become spaces,
    which part words just as they do; `|||` is dropped, as pycocoevalcap drops it.
    """
    return _UNSAFE.sub(" ", text).replace("|||", "")


class MeteorServer:
    """A JVM that aligns candidates with the references of some images, until `close`.

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
            [numbers.setdefault(one_line(text), len(numbers)) for text in texts]
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
    def pid(self) -> int:
        """The process id of the JVM."""
        return self._process.pid

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
            candidate = self._kept + numbers.setdefault(one_line(text), len(numbers))
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
        self._send("TEXTS", [one_line(text) for text in words])
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
        self._references = [" ||| ".join(map(one_line, texts)) for texts in references]
        modules = ("-m", "exact stem")
        self._process = JavaProcess(
            installation.java,
            ["-cp", str(installation.jar), "Meteor", "-", "-", "-stdio", "-norm", *modules,
             "-l", language],
            what="METEOR",
            heap=heap_mib,
            silence=_SILENCE,
            options=_OPTIONS,
        )  # fmt: skip

    @property
    def is_running(self) -> bool:
        """Whether it can be asked."""
        return self._process.is_running

    def statistics(
        self, candidates: Sequence[str], images: Sequence[int]
    ) -> npt.NDArray[np.float64]:
        """As `MeteorServer.statistics`."""
        lines = [
            f"SCORE ||| {self._references[image]} ||| {one_line(text)}"
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
