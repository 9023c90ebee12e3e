"""A machine that has no Java of its own."""

from __future__ import annotations

import pytest

from metaeval.java.runtime import JavaRuntime, find_java


@pytest.fixture
def hidden_java(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> JavaRuntime:
    """The Java that is left when neither JAVA_HOME nor PATH names one."""
    monkeypatch.setenv("PATH", str(tmp_path_factory.mktemp("empty")))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    java = find_java()
    assert isinstance(java, JavaRuntime), java
    return java
