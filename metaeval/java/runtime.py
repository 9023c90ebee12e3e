"""What is installed: the Java, its version and compiler, and the jars that pycocoevalcap brings."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from metaeval.data.dataset import Absent

_REMEDY = "install a JDK (e.g. default-jdk-headless), 11 or newer, or set JAVA_HOME to one"


@dataclass(frozen=True, slots=True)
class JavaRuntime:
    """A Java that answered: its launcher, its version ("17.0.15", `major` 17), its own words."""

    executable: Path
    version: str
    text: str
    can_compile: bool  # has jdk.compiler: `java Main.java` works (a JDK, 11 or newer)

    @property
    def major(self) -> int:
        """11, 17, 21 …; 8 for "1.8.0_402"."""
        parts = [int(n) for n in re.findall(r"\d+", self.version)[:2]]
        return parts[1] if parts[0] == 1 and len(parts) > 1 else parts[0]


def find_java() -> JavaRuntime | Absent:
    """The Java of JAVA_HOME, else the one on PATH; each path is asked once per process."""
    candidates = []
    if home := os.environ.get("JAVA_HOME"):
        name = "java.exe" if os.name == "nt" else "java"
        candidates.append(("JAVA_HOME", Path(home) / "bin" / name))
    if launcher := shutil.which("java"):
        candidates.append(("PATH", Path(launcher)))
    problems = []
    for source, path in candidates:
        answer = _probe(path.absolute())
        if isinstance(answer, JavaRuntime):
            return answer
        problems.append(f"{source} names {path}, {answer}")
    reason = "; ".join(problems) or "no Java runtime in JAVA_HOME or on PATH"
    return Absent("java", reason, _REMEDY)


def find_jdk() -> JavaRuntime | Absent:
    """`find_java`'s Java, if it compiles a source file when it starts it: a JDK, 11 or newer."""
    java = find_java()
    if isinstance(java, Absent) or (java.can_compile and java.major >= 11):
        return java
    reason = f"{java.executable} (Java {java.version}) is not a JDK of version 11 or newer"
    return Absent("java", reason, _REMEDY)


def find_bundled_files(*names: str) -> list[Path] | Absent:
    """These files of the installed package pycocoevalcap, which brings jars of published metrics.

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


def java_version() -> str | None:
    """What the Java in use calls itself, in one line, for `run.json`; `None` without Java."""
    java = find_java()
    return java.text if isinstance(java, JavaRuntime) else None


@cache
def _probe(path: Path) -> JavaRuntime | str:
    if not path.is_file():
        return "which is not there"
    try:
        done = _ask(path, "-version")
        modules = _ask(path, "--list-modules").stdout  # Java 8 does not know this option
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"which cannot be run ({error})"
    lines = [x for x in (done.stderr + done.stdout).splitlines() if "_OPTIONS" not in x]
    version = re.search(r'version "([^"]+)"', "\n".join(lines))
    if done.returncode == 0 and version:
        compiler = re.search(r"^jdk\.compiler\b", modules, re.MULTILINE) is not None
        return JavaRuntime(path, version[1], "; ".join(lines[:2]), compiler)
    text = lines[0] if lines else f"exit code {done.returncode}"
    return f"which does not work ({text})"


def _ask(path: Path, flag: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [path, flag], capture_output=True, text=True, errors="replace", timeout=60
    )
