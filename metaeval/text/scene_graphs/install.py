"""Bringing CoreNLP 3.6.0 and its models, which SPICE parses with, into the cache folder.

`python -m metaeval.doctor --install spice` runs `install`: from a local folder, jar or zip file if
one is given; else from Maven Central if `mvn` is there; else from Stanford's own archive, where
pycocoevalcap gets it. Whatever arrives is checked before it is moved into place.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from metaeval.data.dataset import Absent
from metaeval.errors import InputError, MetaevalError

ARCHIVE = "http://nlp.stanford.edu/software/stanford-corenlp-full-2015-12-09.zip"
REMEDY = "python -m metaeval.doctor --install spice"
_MAVEN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"


@dataclass(frozen=True, slots=True)
class Jar:
    """One jar: where it comes from, and what it must be.

    `sha256` is that of Maven Central's file, whose published SHA-1 is `sha1`. The same classes in
    another archive (Stanford's zip) are told by `content`: SHA-256 over the sorted entries outside
    META-INF, each as its name, a zero byte and the SHA-256 of what it holds.
    """

    name: str
    maven: str
    size: int
    sha256: str
    sha1: str
    content: str


JARS = (
    Jar(
        "stanford-corenlp-3.6.0.jar",
        "edu.stanford.nlp:stanford-corenlp:3.6.0",
        7_270_741,
        "d341d5863276f55782c5ef73212222d6b3b48e02ae1951ab6de7618d28b12742",
        "078d130323856e71e4223ab4962a3f86bc98bd8a",
        "43d91edf3bc60f69bda1a9aa6bf084d42bd2e64961faf07d7df3fde130646002",
    ),
    Jar(
        "stanford-corenlp-3.6.0-models.jar",
        "edu.stanford.nlp:stanford-corenlp:3.6.0:jar:models",
        378_116_526,
        "d285157bd7887ee3018094b5dbae092e49088b023361ccdb550ee1daf9b2c9bd",
        "e23de94a12edac0dd04dc67db94d18d8982b516f",
        "540ee0b63327947c80b8789c838133d72a2ad22a17115720c8c284d6b6a77283",
    ),
)


def folder(cache: Path) -> Path:
    """Where in the cache folder SPICE's parts lie."""
    return cache.expanduser() / "spice"


def installed(cache: Path) -> Path | Absent:
    """The folder that holds the jars, or what is missing. Cheap: the files are not read."""
    where = folder(cache)
    missing = [jar.name for jar in JARS if not (where / jar.name).is_file()]
    if not missing:
        return where
    reason = f"SPICE's parser is not installed ({where} lacks {' and '.join(missing)})"
    return Absent("spice", reason, f"{REMEDY} (385 MB, about a minute)")


def install(cache: Path, source: Path | None = None) -> None:
    """Bring the jars into the cache folder; nothing to do where they are there already.

    Parameters
    ----------
    cache
        The cache folder.
    source
        A folder or zip file that holds the two jars anywhere, or `None` to download them.

    Raises
    ------
    InputError
        `source` lacks a jar, or a jar is not the one that it should be.
    MetaevalError
        It cannot be downloaded.
    """
    where = folder(cache)
    if not isinstance(installed(cache), Absent):
        print(f"SPICE's parser is in {where} already", file=sys.stderr)
        return
    where.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".install-", dir=where) as name:
        arrived = Path(name)
        if source is not None:
            _from_local(source.expanduser(), arrived)
        elif not (maven := shutil.which("mvn")) or not _from_maven(maven, arrived):
            _from_archive(arrived)
        for jar in JARS:
            check(arrived / jar.name, jar)
        for jar in JARS:
            (arrived / jar.name).replace(where / jar.name)
    print(f"SPICE's parser is now in {where}", file=sys.stderr)


def check(path: Path, jar: Jar) -> None:
    """Refuse a file that is not this jar, by its checksum or by the sum of its contents."""
    if not path.is_file():
        raise InputError(f"there is no {jar.name}", file=path.parent)
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    if digest.hexdigest() == jar.sha256:
        return
    try:
        same = content(path) == jar.content
    except zipfile.BadZipFile:
        same = False
    if not same:
        raise InputError(
            f"this is not CoreNLP 3.6.0's {jar.name} (SHA-256 {digest.hexdigest()}, "
            f"expected {jar.sha256})",
            file=path,
        )


def content(path: Path) -> str:
    """The sum of a jar's contents, as `Jar.content` describes it."""
    digest = hashlib.sha256()
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        for name in sorted(n for n in names if not n.endswith("/") and n[:9] != "META-INF/"):
            digest.update(name.encode() + b"\0" + hashlib.sha256(archive.read(name)).digest())
    return digest.hexdigest()


def _from_local(source: Path, arrived: Path) -> None:
    if source.is_file() and zipfile.is_zipfile(source) and source.suffix != ".jar":
        _unpack(source, arrived)
        return
    root = source.parent if source.suffix == ".jar" else source
    if not root.is_dir():
        raise InputError("no such folder or zip file", file=source)
    for jar in JARS:
        found = next(iter(sorted(root.rglob(jar.name))), None)
        if found is None:
            raise InputError(f"there is no {jar.name}", file=root)
        shutil.copyfile(found, arrived / jar.name)


def _from_maven(maven: str, arrived: Path) -> bool:
    for jar in JARS:
        print(f"asking Maven for {jar.maven} ({jar.size / 1e6:.0f} MB)", file=sys.stderr)
        command = [maven, "-q", "-B", _MAVEN, f"-Dartifact={jar.maven}"]
        done = subprocess.run(
            [*command, f"-DoutputDirectory={arrived}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            cwd=arrived,  # not where the user stands: a pom.xml there would be obeyed
            check=False,
        )
        if done.returncode != 0:
            said = (done.stdout + done.stderr).strip().splitlines()
            problem = said[0] if said else f"exit code {done.returncode}"
            print(f"Maven could not bring it: {problem}", file=sys.stderr)
            return False
    return True


def _from_archive(arrived: Path) -> None:
    target = arrived / "corenlp.zip"
    try:
        with urllib.request.urlopen(ARCHIVE, timeout=60) as answer, target.open("wb") as out:
            size = int(answer.headers.get("Content-Length") or 0) or None
            with tqdm(total=size, unit="B", unit_scale=True, desc="CoreNLP 3.6.0") as bar:
                while block := answer.read(1 << 18):
                    bar.update(out.write(block))
    except OSError as error:
        raise MetaevalError(
            f"CoreNLP 3.6.0 cannot be downloaded from {ARCHIVE} ({error}); install Maven (mvn), or "
            f"bring its two jars here and run {REMEDY} --from FOLDER"
        ) from None
    _unpack(target, arrived)


def _unpack(path: Path, arrived: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        for jar in JARS:
            found = next((n for n in archive.namelist() if n.endswith(f"/{jar.name}")), None)
            found = found or (jar.name if jar.name in archive.namelist() else None)
            if found is None:
                raise InputError(f"there is no {jar.name} in it", file=path)
            with archive.open(found) as entry, (arrived / jar.name).open("wb") as out:
                shutil.copyfileobj(entry, out, 1 << 20)
