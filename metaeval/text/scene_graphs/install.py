"""Bringing CoreNLP 3.6.0 and its models, which SPICE parses with, into the cache folder.

`python -m metaeval.doctor --install spice` runs `install`: from a local folder, jar or zip file if
one is given; else from a repository that is named (`--mirror URL`), Maven Central or one laid out
as it is; else by Maven, which knows its repositories. Whatever arrives is checked before it is
moved into place, and a download that was cut off goes on where it was.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from metaeval.data.dataset import Absent
from metaeval.data.download import DownloadError, download
from metaeval.errors import InputError
from metaeval.readers.files import user_path
from metaeval.readers.zips import member_bytes, open_zip, unpack_member
from metaeval.runs.digests import file_sha256

_PLACE = "edu/stanford/nlp/stanford-corenlp/3.6.0"  # in Maven Central and its mirrors
REMEDY = "python -m metaeval.doctor --install spice"
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


def folder(cache: Path) -> Path:
    """The place of SPICE's parts in the cache folder."""
    return user_path(cache) / "spice"


def installed(cache: Path) -> Path | Absent:
    """The folder that holds the jars, or what is missing. Cheap: the files are not read."""
    where = folder(cache)
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
    where = folder(cache)
    if not isinstance(installed(cache), Absent):
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
            check(arrived / jar.name, jar)
        for jar in JARS:
            (arrived / jar.name).replace(where / jar.name)
    print(f"SPICE's parser is now in {where}", file=sys.stderr)


def check(path: Path, jar: Jar) -> None:
    """Refuse a file that is not this jar, by its checksum or by the sum of its contents."""
    if not path.is_file():
        raise InputError(f"{jar.name} is missing", file=path.parent)
    sha256 = file_sha256(path)
    if sha256 == jar.sha256:
        return
    try:
        same = content(path) == jar.content
    except InputError:
        same = False
    if not same:
        raise InputError(
            f"not CoreNLP 3.6.0's {jar.name} (SHA-256 {sha256}, expected {jar.sha256})",
            file=path,
        )


def content(path: Path) -> str:
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
