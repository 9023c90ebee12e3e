"""Our Java services: one jar, built here from the sources in the package, shipped with it.

`python -m research.java_services` (or `make jar`) builds it, which needs a JDK: the sources are
compiled against pycocoevalcap's jars and CoreNLP's, which is in the cache folder
after `doctor --install spice`. Users need a Java runtime only.

The jar is reproducible to the byte: `--release 11`, entries sorted, stored and dated 1980.
Compilers of two Java releases write different bytes, so the jar names the release that compiled it
(`Build-Jdk-Spec`), and a JDK of that release makes the same jar again. It also names its sources by
their checksums, so that a changed source is noticed without a JDK.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import metaeval
from metaeval.data.dataset import Absent
from metaeval.errors import InputError, ends_with_status
from metaeval.java.services import JAR, find_bundled_files
from metaeval.readers.files import user_path

PACKAGE = Path(metaeval.__file__).resolve().parent
RELEASE = 11  # the oldest Java that runs the jar
COMPILED_AGAINST = (
    "meteor/meteor-1.5.jar",
    "spice/spice-1.0.jar",
    "spice/lib/SceneGraphParser-1.0.jar",
    "spice/lib/json-simple-1.1.1.jar",
)
CORENLP = "spice/stanford-corenlp-3.6.0.jar"  # in the cache folder
_MANIFEST = "META-INF/MANIFEST.MF"
_SOURCES = "META-INF/sources.sha256"


def find_libraries() -> list[Path] | Absent:
    """The jars that the sources are compiled against, or the first that is not there."""
    cache = os.environ.get("METAEVAL_CACHE") or "~/.cache/metaeval"
    corenlp = user_path(cache) / CORENLP
    if not corenlp.is_file():
        return Absent("jar", f"{corenlp} is missing", "python -m metaeval doctor --install spice")
    jars = find_bundled_files(*COMPILED_AGAINST)
    return jars if isinstance(jars, Absent) else [*jars, corenlp]


def find_compiler() -> Path | Absent:
    """The javac of JAVA_HOME, else the one on PATH."""
    folder = Path(os.environ.get("JAVA_HOME", ""), "bin")
    javac = shutil.which("javac", path=str(folder)) if "JAVA_HOME" in os.environ else None
    if javac := javac or shutil.which("javac"):
        return Path(javac).absolute()
    return Absent("javac", "no Java compiler in JAVA_HOME or on PATH", "install a JDK")


def compiler_release(javac: Path) -> str:
    """The Java release that a compiler is of: "17"."""
    done = subprocess.run([javac, "-version"], capture_output=True, text=True, errors="replace")
    version = re.search(r"javac (\d+)", done.stdout + done.stderr)
    if version is None:
        raise InputError("this Java compiler does not print its version", file=javac)
    return version[1]


def sources() -> list[Path]:
    """The Java sources in the package, sorted by path."""
    return sorted(PACKAGE.rglob("*.java"))


def source_checksums() -> str:
    """A line a source: SHA-256, two blanks, the path in the package."""
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(PACKAGE).as_posix()}\n"
        for path in sources()
    )


def built_from(jar: Path) -> tuple[str, str]:
    """What a jar says of itself: the release that compiled it, and its sources' checksums."""
    with zipfile.ZipFile(jar) as archive:
        manifest = archive.read(_MANIFEST).decode()
        release = re.search(r"^Build-Jdk-Spec: (\d+)", manifest, re.MULTILINE)
        return release[1] if release else "", archive.read(_SOURCES).decode()


def compile_jar(target: Path = JAR) -> Path:
    """Compile the sources into the jar `target`.

    Raises
    ------
    InputError
        The compiler or a jar to compile against is missing, or a source does not compile.
    """
    javac, jars = find_compiler(), find_libraries()
    for part in (javac, jars):
        if isinstance(part, Absent):
            raise InputError(str(part))
    assert isinstance(javac, Path)
    assert isinstance(jars, list)
    release = compiler_release(javac)
    with tempfile.TemporaryDirectory(prefix="metaeval-jar-") as folder:
        command = [
            str(javac),
            *("-nowarn", "-proc:none", "--release", str(RELEASE), "-encoding", "UTF-8"),
            *("-cp", os.pathsep.join(map(str, jars)), "-d", folder),
            *map(str, sources()),
        ]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if done.returncode != 0:
            print(f"{done.stdout}{done.stderr}", file=sys.stderr)
            raise InputError("the services do not compile")
        entries = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in Path(folder).rglob("*.class")
        }
    entries[_SOURCES] = source_checksums().encode()
    _write(target, _manifest(release), entries)
    return target


def _manifest(release: str) -> bytes:
    return f"Manifest-Version: 1.0\r\nBuild-Jdk-Spec: {release}\r\n\r\n".encode()


def _write(target: Path, manifest: bytes, entries: dict[str, bytes]) -> None:
    """The manifest first, as jars have it, the rest sorted; written whole or not at all."""
    part = target.with_name(target.name + ".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
        for name, data in [(_MANIFEST, manifest), *sorted(entries.items())]:
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, data)
    part.replace(target)


@ends_with_status()
def main(arguments: list[str]) -> None:
    """Build the jar at the given path, by default the shipped one."""
    jar = compile_jar(Path(arguments[0]) if arguments else JAR)
    print(f"{jar}: {jar.stat().st_size:,} bytes, compiled by Java {built_from(jar)[0]}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
