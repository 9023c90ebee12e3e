"""SPICE's own parser as a service: sentences → proposed tuples, each distinct sentence once.

Our Java program (`SceneGraphService.java`, in the jar of our services) loads CoreNLP's models once
and parses with several threads; a sentence's tuples do not depend on the others in the call, nor on
the number of threads.

CoreNLP 3.6.0 and its models, which SPICE parses with, are brought into the cache folder by
`python -m metaeval doctor --install spice`, which runs `install`: from a local folder, jar or zip
file if one is given; else from a repository that is named (`--mirror URL`), Maven Central or one
laid out as it is; else by Maven, which knows its repositories. Whatever arrives is checked before
it is moved into place, and a download that was cut off goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache as remember
from pathlib import Path

from metaeval.compute.stored import compute_missing
from metaeval.data.dataset import Absent
from metaeval.data.download import DownloadError, download
from metaeval.errors import InputError
from metaeval.java.process import JavaError, JavaProcess, borrow, give_back, heap_mib
from metaeval.java.services import JavaRuntime, find_bundled_files, find_jar, find_java
from metaeval.provenance import core_count
from metaeval.readers.files import user_path
from metaeval.readers.zips import member_bytes, open_zip, unpack_member
from metaeval.runs.files import file_sha256
from metaeval.runs.store import MemoryStore, Store, content_digest

_PLACE = "edu/stanford/nlp/stanford-corenlp/3.6.0"  # in Maven Central and its mirrors
REMEDY = "python -m metaeval doctor --install spice"
_OTHER_WAYS = (
    f"name the address of a repository laid out as Maven Central is, {REMEDY} --mirror URL; or "
    f"copy CoreNLP 3.6.0's two jars to this machine and run {REMEDY} --from FOLDER"
)
_MOST = 1 << 30  # bytes of a jar, or of what is in one
_MAVEN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"


@dataclass(frozen=True, slots=True)
class Jar:
    """One jar: where it comes from, and what it must be.

    `maven` are its coordinates, `sha256` is that of Maven Central's file. The same classes packed
    otherwise (in Stanford's zip) are known by `content`: SHA-256 over the sorted entries outside
    META-INF, each as its name, a zero byte and the SHA-256 of what it holds.
    """

    name: str
    maven: str
    size: int
    sha256: str
    content: str


JARS = (
    Jar(
        "stanford-corenlp-3.6.0.jar",
        "edu.stanford.nlp:stanford-corenlp:3.6.0",
        7_270_741,
        "d341d5863276f55782c5ef73212222d6b3b48e02ae1951ab6de7618d28b12742",
        "43d91edf3bc60f69bda1a9aa6bf084d42bd2e64961faf07d7df3fde130646002",
    ),
    Jar(
        "stanford-corenlp-3.6.0-models.jar",
        "edu.stanford.nlp:stanford-corenlp:3.6.0:jar:models",
        378_116_526,
        "d285157bd7887ee3018094b5dbae092e49088b023361ccdb550ee1daf9b2c9bd",
        "540ee0b63327947c80b8789c838133d72a2ad22a17115720c8c284d6b6a77283",
    ),
)


def corenlp_folder(cache: Path) -> Path:
    """The place of SPICE's parts in the cache folder."""
    return user_path(cache) / "spice"


def installed_jars(cache: Path) -> Path | Absent:
    """The folder that holds the jars, or what is missing. Cheap: the files are not read."""
    where = corenlp_folder(cache)
    lost = [jar.name for jar in JARS if not (where / jar.name).is_file()]
    if not lost:
        return where
    reason = f"SPICE's parser is not installed ({' and '.join(lost)} missing in {where})"
    return Absent("spice", reason, f"{REMEDY} (385 MB, about a minute)")


def install(cache: Path, source: Path | None = None, mirror: str | None = None) -> None:
    """Bring the jars into the cache folder; nothing to do where they are there already.

    Parameters
    ----------
    cache
        The cache folder.
    source
        A folder or zip file that holds the two jars anywhere, or `None` to download them.
    mirror
        The address of a repository laid out as Maven Central is; `None`: those that Maven knows.

    Raises
    ------
    InputError
        A jar is missing in `source`, or its checksum is wrong.
    DownloadError
        It cannot be downloaded.
    """
    where = corenlp_folder(cache)
    if not isinstance(installed_jars(cache), Absent):
        print(f"SPICE's parser is in {where} already", file=sys.stderr)
        return
    where.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".install-", dir=where) as name:
        arrived = Path(name)
        if source is not None:
            _copy(user_path(source), arrived)
        elif mirror:
            arrived = where  # so that a download that was cut off goes on next time
            _download(arrived, mirror)
        elif not (maven := shutil.which("mvn")) or not _ask_maven(maven, arrived):
            raise DownloadError(f"Maven could not download SPICE's parser; {_OTHER_WAYS}")
        for jar in JARS:
            check_jar(arrived / jar.name, jar)
        for jar in JARS:
            (arrived / jar.name).replace(where / jar.name)
    print(f"SPICE's parser is now in {where}", file=sys.stderr)


def check_jar(path: Path, jar: Jar) -> None:
    """Refuse a file that is not this jar, by its checksum or by the sum of its contents."""
    if not path.is_file():
        raise InputError(f"{jar.name} is missing", file=path.parent)
    sha256 = file_sha256(path)
    if sha256 == jar.sha256:
        return
    try:
        same = jar_content(path) == jar.content
    except InputError:
        same = False
    if not same:
        raise InputError(
            f"not CoreNLP 3.6.0's {jar.name} (SHA-256 {sha256}, expected {jar.sha256})",
            file=path,
        )


def jar_content(path: Path) -> str:
    """The sum of a jar's contents, as `Jar.content` describes it."""
    digest = hashlib.sha256()
    with open_zip(path, "jar") as archive:
        names = archive.namelist()
        for name in sorted(n for n in names if not n.endswith("/") and n[:9] != "META-INF/"):
            held = member_bytes(archive, name, path, _MOST)
            digest.update(name.encode() + b"\0" + hashlib.sha256(held).digest())
    return digest.hexdigest()


def _copy(source: Path, target: Path) -> None:
    """The jars from a zip file, from a folder, or from the folder of one of them."""
    if source.is_file() and zipfile.is_zipfile(source) and source.suffix != ".jar":
        _unpack(source, target)
        return
    root = source.parent if source.suffix == ".jar" else source
    if not root.is_dir():
        raise InputError("folder or zip file not found", file=source)
    for jar in JARS:
        path = next(iter(sorted(root.rglob(jar.name))), None)
        if path is None:
            raise InputError(f"{jar.name} is missing", file=root)
        shutil.copyfile(path, target / jar.name)


def _unpack(path: Path, target: Path) -> None:
    with open_zip(path) as archive:
        for jar in JARS:
            names = (n for n in archive.namelist() if f"/{n}".endswith(f"/{jar.name}"))
            if (name := next(names, None)) is None:
                raise InputError(f"it does not contain {jar.name}", file=path)
            unpack_member(archive, name, path, target / jar.name, _MOST)


def _ask_maven(maven: str, target: Path) -> bool:
    """Download the jars with the program `mvn`; False, with a line on stderr, where it fails."""
    for jar in JARS:
        print(f"downloading {jar.maven} with Maven ({jar.size / 1e6:.0f} MB)", file=sys.stderr)
        done = subprocess.run(
            [maven, "-q", "-B", _MAVEN, f"-Dartifact={jar.maven}", f"-DoutputDirectory={target}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            cwd=target,  # not the current folder: a pom.xml there would be used
            check=False,
        )
        if done.returncode != 0:
            lines = (done.stdout + done.stderr).strip().splitlines()
            problem = lines[0] if lines else f"exit code {done.returncode}"
            print(f"Maven could not download it: {problem}", file=sys.stderr)
            return False
    return True


def _download(target: Path, repository: str) -> None:
    for jar in JARS:
        url = f"{repository.rstrip('/')}/{_PLACE}/{jar.name}"
        try:
            download(url, target / jar.name, sha256=jar.sha256, most=jar.size)
        except DownloadError as error:
            raise DownloadError(f"{error}; {_OTHER_WAYS}") from None


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
    for part in (find_jar(), spice_folder(), installed_jars(cache)):
        if isinstance(part, Absent):
            return part
    return java


@remember
def short_sha256(path: Path) -> str:
    """The first eight digits of a file's SHA-256; each file is read once per process."""
    return file_sha256(path)[:8]


def jars_identity() -> str:
    """Which parser this is, down to the bytes of its jars: all that a sentence's tuples depend on.

    CoreNLP's jars were checked when they were installed, so their names stand for their content.
    JavaError where SPICE's own are not there.
    """
    jars = "+".join(short_sha256(spice_file(name)) for name in _PARSER_JARS)
    corenlp = "+".join(jar.sha256[:8] for jar in JARS)
    return f"spice-1.0-{jars}-corenlp-3.6.0-{corenlp}"


class SpiceParser:
    """Sentences → the tuples that SPICE's parser proposes.

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
        # by default one per GiB of heap: long sentences take that much
        self._threads = threads or max(1, min(core_count(), self._heap // 1024))
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
        namespace = f"scene-graph-tuples:{jars_identity()}"
        keys = {s: content_digest([s]) for s in dict.fromkeys(sentences) if s not in self._failed}
        texts = list(keys)

        def parse(positions: list[int]) -> Iterator[bytes | None]:
            batch = [texts[k] for k in positions]
            for sentence, reply in zip(batch, self._ask(batch), strict=True):
                if not (parsed := reply.startswith("[")):
                    self._fail(sentence, reply)
                yield reply.encode() if parsed else None

        known = compute_missing(
            self._store,
            namespace,
            list(keys.values()),
            parse,
            chunk=_BATCH,
            desc="SPICE: parsing",
            unit=" sentences",
        )
        tuples = {s: json.loads(known[key]) for s, key in keys.items() if key in known}
        return [tuples.get(sentence) for sentence in sentences]

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

    def close(self) -> None:
        """End the Java process, if one was started."""
        if self._process is not None:
            give_back(self._process)
            self._process = None


def class_path(cache: Path) -> str:
    """Our services, CoreNLP, SPICE and what they need."""
    services, spice = find_jar(), spice_file("spice-1.0.jar")
    if isinstance(services, Absent):
        raise JavaError("SPICE", str(services))
    jars = [services, *(corenlp_folder(cache) / jar.name for jar in JARS)]
    # not "lib/*": pycocoevalcap puts CoreNLP's jars there too
    libraries = sorted((spice.parent / "lib").glob("*.jar"))
    jars += [spice, *(path for path in libraries if "corenlp" not in path.name)]
    return os.pathsep.join(map(str, jars))
