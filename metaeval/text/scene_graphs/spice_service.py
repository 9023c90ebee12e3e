"""SPICE's own parser as a service: sentences → proposed tuples, each distinct sentence once.

Our Java program (`SceneGraphService.java`, in the jar of our services) loads CoreNLP's models once
and parses with several threads; a sentence's tuples do not depend on the others in the call, nor on
the number of threads.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from functools import cache as remember
from pathlib import Path

from metaeval.cores import core_count
from metaeval.data.dataset import Absent
from metaeval.java.process import JavaError, JavaProcess, heap_mib
from metaeval.java.runtime import JavaRuntime, find_bundled_files, find_java
from metaeval.java.services import find_jar
from metaeval.java.shared_services import borrow, give_back
from metaeval.progress import progress_bar
from metaeval.readers.files import user_path
from metaeval.runs.digests import file_sha256
from metaeval.runs.store import MemoryStore, Store, content_digest
from metaeval.text.scene_graphs import install

Tuples = list[list[str]]

HEAP_MIB = 4096
SENTENCE_SECONDS = 60.0
_START_SECONDS = 300.0  # a cold disk and a busy machine; without either it is five
_BATCH = 256  # sentences between two writes to the store: what a killed run may lose
_SERVICE = "SceneGraphService"
_PARSER_JARS = ("spice-1.0.jar", "lib/SceneGraphParser-1.0.jar")
METEOR_JAR = "lib/Meteor-1.5.jar"

log = logging.getLogger(__name__)


def spice_folder() -> Path | Absent:
    """pycocoevalcap's folder with SPICE's jar and the libraries that it needs."""
    files = find_bundled_files(*(f"spice/{name}" for name in (*_PARSER_JARS, METEOR_JAR)))
    return files if isinstance(files, Absent) else files[0].parent


def spice_file(name: str) -> Path:
    """A file in SPICE's folder; JavaError where the folder does not exist."""
    folder = spice_folder()
    if isinstance(folder, Absent):
        raise JavaError("SPICE", str(folder))
    return folder / name


def find_service_java(cache: Path) -> JavaRuntime | Absent:
    """The Java that the service runs on, or what keeps it from running here.

    Starts nothing but `java -version`.
    """
    java = find_java()
    if isinstance(java, Absent):
        return java
    for part in (find_jar(), spice_folder(), install.installed(cache)):
        if isinstance(part, Absent):
            return part
    return java


@remember
def short_sha256(path: Path) -> str:
    """The first eight digits of a file's SHA-256; each file is read once per process."""
    return file_sha256(path)[:8]


def identity() -> str:
    """Which parser this is, down to the bytes of its jars: all that a sentence's tuples depend on.

    CoreNLP's jars were checked when they were installed, so their names stand for their content.
    JavaError where SPICE's own are not there.
    """
    jars = "+".join(short_sha256(spice_file(name)) for name in _PARSER_JARS)
    corenlp = "+".join(jar.sha256[:8] for jar in install.JARS)
    return f"spice-1.0-{jars}-corenlp-3.6.0-{corenlp}"


def default_threads(heap: int) -> int:
    """As many as the cores we may use, but one per GiB of heap: long sentences take that much."""
    return max(1, min(core_count(), heap // 1024))


class SpiceParser:
    """Sentences → the tuples that SPICE's parser proposes; a context manager.

    Parameters
    ----------
    cache
        The cache folder, where `install` has put CoreNLP.
    store
        Where tuples are kept across runs; `None` keeps them as long as this object.
    heap
        MiB of Java heap; never more than half of the machine's memory is used.
    threads
        Sentences parsed at once; `None` goes by the cores and the heap.
    sentence_seconds
        How long one sentence may take before it is given up.
    """

    def __init__(
        self,
        cache: Path,
        store: Store | None = None,
        *,
        heap: int = HEAP_MIB,
        threads: int | None = None,
        sentence_seconds: float = SENTENCE_SECONDS,
    ) -> None:
        self._cache = user_path(cache)
        self._store: Store = MemoryStore() if store is None else store
        self._heap, self._seconds = heap_mib(heap), sentence_seconds
        self._threads = threads or default_threads(self._heap)
        self._failed: set[str] = set()
        self._process: JavaProcess | None = None

    def __call__(self, sentences: Sequence[str]) -> list[Tuples | None]:
        """The tuples of each sentence, in the parser's order; `None` where it has failed.

        A tuple is [object], [object, attribute] or [subject, object, relation]. Failures (a
        sentence that takes too long, or more memory than there is) are logged with their reason.

        Raises
        ------
        JavaError
            The parser itself could not be started, or died.
        """
        namespace = f"scene-graph-tuples:{identity()}"
        keys = {sentence: content_digest([sentence]) for sentence in dict.fromkeys(sentences)}
        known = self._store.get_many(namespace, list(keys.values()))
        new = [s for s, key in keys.items() if key not in known and s not in self._failed]
        with progress_bar(total=len(new), desc="SPICE: parsing", unit=" sentences") as bar:
            for start in range(0, len(new), _BATCH):
                batch = new[start : start + _BATCH]
                parsed = {}
                for sentence, reply in zip(batch, self._ask(batch), strict=True):
                    if reply.startswith("["):
                        parsed[keys[sentence]] = reply.encode()
                    else:
                        self._fail(sentence, reply)
                self._store.put_many(namespace, parsed)
                known.update(parsed)
                bar.update(len(batch))
        tuples = {key: json.loads(value) for key, value in known.items()}
        return [tuples.get(keys[sentence]) for sentence in sentences]

    def _ask(self, sentences: Sequence[str]) -> list[str]:
        if self._process is None:
            self._process = self._start()
        try:
            return self._process.exchange([json.dumps(sentence) for sentence in sentences])
        except BaseException:
            self._process = None  # it has been ended: the next call starts another
            raise

    def _fail(self, sentence: str, reply: str) -> None:
        self._failed.add(sentence)
        reason = json.loads(reply).get("error", reply)
        shown = sentence if len(sentence) <= 80 else f"{sentence[:77]}…"
        log.warning("SPICE cannot parse %r: %s", shown, reason)

    def _start(self) -> JavaProcess:
        java = find_service_java(self._cache)
        if isinstance(java, Absent):
            raise JavaError("SPICE", str(java))
        paths = class_path(self._cache)
        return borrow(
            "SPICE's parser",
            (java, paths, self._threads, self._seconds, self._heap),
            lambda: JavaProcess(
                java,
                ["-cp", paths, _SERVICE, str(self._threads), str(self._seconds)],
                what="SPICE's parser",
                heap=self._heap,
                silence=_START_SECONDS + self._seconds,
                options=[
                    "-XX:+UseParallelGC",  # a third faster here than the default collector
                    "-XX:-ExitOnOutOfMemoryError",  # one sentence too long does not end the run
                ],
            ),
        )

    @property
    def pid(self) -> int | None:
        """The process id of the parser, if it runs."""
        return None if self._process is None else self._process.pid

    def close(self) -> None:
        """End the Java process, if one was started."""
        if self._process is not None:
            give_back(self._process)
            self._process = None

    def __enter__(self) -> SpiceParser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def class_path(cache: Path) -> str:
    """Our services, CoreNLP, SPICE and what they need."""
    services, spice = find_jar(), spice_file("spice-1.0.jar")
    if isinstance(services, Absent):
        raise JavaError("SPICE", str(services))
    jars = [services, *(install.folder(cache) / jar.name for jar in install.JARS)]
    # not "lib/*": pycocoevalcap puts CoreNLP's jars there too
    libraries = sorted((spice.parent / "lib").glob("*.jar"))
    jars += [spice, *(path for path in libraries if "corenlp" not in path.name)]
    return os.pathsep.join(map(str, jars))
