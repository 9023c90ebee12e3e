"""What is found of Java and of pycocoevalcap's jars, against the real Java."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from metaeval.data.dataset import Absent
from metaeval.java.runtime import (
    JavaRuntime,
    find_bundled_files,
    find_java,
    find_jdk,
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
    assert JavaRuntime(Path("java"), "1.8.0_402", "", False).major == 8


def test_java_home_comes_before_path(
    java: JavaRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = java.executable.resolve().parents[1]
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", str(tmp_path))
    chosen = find_java()
    assert isinstance(chosen, JavaRuntime)
    assert chosen.executable == home / "bin/java"


def test_absent_says_what_was_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    absent = find_java()
    assert isinstance(absent, Absent)
    assert "no Java runtime" in absent.reason
    assert java_version() is None
    (tmp_path / "java").write_text(
        "#!/bin/sh\necho 'Unable to locate a Java Runtime.' >&2\nexit 1\n"
    )
    (tmp_path / "java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    absent = find_java()
    assert isinstance(absent, Absent)
    assert absent == find_jdk()
    assert "nowhere" in absent.reason
    assert "Unable to locate a Java Runtime." in absent.reason
    assert "JAVA_HOME" in absent.remedy


def test_a_runtime_without_compiler_is_no_jdk(monkeypatch: pytest.MonkeyPatch) -> None:
    for version, compiles in (("17.0.1", False), ("1.8.0_402", True)):
        java = JavaRuntime(Path("/usr/bin/java"), version, "", compiles)
        monkeypatch.setattr("metaeval.java.runtime.find_java", lambda java=java: java)
        absent = find_jdk()
        assert isinstance(absent, Absent)
        assert version in absent.reason
        assert "default-jdk-headless" in absent.remedy


def test_files_of_pycocoevalcap_are_there_or_named() -> None:
    files = find_bundled_files("meteor/meteor-1.5.jar", "spice/spice-1.0.jar")
    assert isinstance(files, list)
    assert [path.name for path in files] == ["meteor-1.5.jar", "spice-1.0.jar"]
    assert all(path.is_absolute() and path.is_file() for path in files)
    absent = find_bundled_files("meteor/meteor-1.5.jar", "meteor/meteor-9.jar")
    assert isinstance(absent, Absent)
    assert "meteor-9.jar is not there" in absent.reason
