"""The jar of our services: of which sources, for which Java, the same bytes again."""

import zipfile
from pathlib import Path

import pytest

from metaeval.data.dataset import Absent
from metaeval.errors import InputError
from metaeval.java.services import JAR
from research.java_services import (
    built_from,
    compile_jar,
    compiler_release,
    find_compiler,
    find_libraries,
    main,
    source_checksums,
    sources,
)

JAVA_11 = 55  # the major version of its class files


def test_the_jar_is_of_these_sources() -> None:
    """Where this fails, a source was changed: `make jar` builds the jar again."""
    assert {path.name for path in sources()} == {"MeteorServer.java", "SceneGraphService.java"}
    assert built_from(JAR)[1] == source_checksums()


def test_every_class_runs_on_java_11() -> None:
    with zipfile.ZipFile(JAR) as archive:
        classes = [name for name in archive.namelist() if name.endswith(".class")]
        assert {"MeteorServer.class", "SceneGraphService.class"} <= set(classes)
        for name in classes:
            head = archive.read(name)[:8]
            assert head[:4] == bytes.fromhex("cafebabe")
            assert int.from_bytes(head[6:8], "big") == JAVA_11


@pytest.mark.slow
def test_building_it_again_gives_the_same_bytes(tmp_path: Path) -> None:
    javac, libraries = find_compiler(), find_libraries()
    for part in (javac, libraries):
        if isinstance(part, Absent):
            pytest.skip(str(part))
    compile_jar(tmp_path / "a.jar")
    assert main([str(tmp_path / "b.jar")]) == 0
    assert (tmp_path / "a.jar").read_bytes() == (tmp_path / "b.jar").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jar", "b.jar"]
    if (here := compiler_release(javac)) != (there := built_from(JAR)[0]):
        pytest.skip(f"the shipped jar was compiled by Java {there}, the JDK here is {here}")
    assert (tmp_path / "a.jar").read_bytes() == JAR.read_bytes()


def test_building_without_a_compiler_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(InputError, match="no Java compiler in JAVA_HOME or on PATH"):
        compile_jar(tmp_path / "a.jar")
    assert (main([str(tmp_path / "a.jar")]), capsys.readouterr().err.count("\n")) == (2, 1)
    assert list(tmp_path.iterdir()) == []
