"""Bringing CoreNLP into the cache folder: what is accepted, what refused, and what is left."""

import hashlib
import os
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

import pytest

from metaeval.cli.main import run_verb
from metaeval.data.dataset import Absent
from metaeval.data.download import DownloadError
from metaeval.errors import InputError
from metaeval.text.scene_graphs import spice_service
from metaeval.text.scene_graphs.parse import default_cache
from metaeval.text.scene_graphs.spice_service import (
    Jar,
    check_jar,
    install,
    installed_jars,
    jar_content,
)


def make_jar(path: Path, text: str = "models", *, first: str = "a.txt") -> None:
    """A jar with two entries and a manifest; `first` changes their order, not their content."""
    names = ["a.txt", "b/c.txt"]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", f"Built-By: {first}")
        for name in names if first == "a.txt" else names[::-1]:
            archive.writestr(name, f"{text} in {name}")


@pytest.fixture
def jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two small jars, which replace the two real ones in the table."""
    folder = tmp_path / "from" / "deeper"
    folder.mkdir(parents=True)
    table = []
    for jar in spice_service.JARS:
        path = folder / jar.name
        make_jar(path, jar.maven)
        raw = path.read_bytes()
        digest = hashlib.sha256(raw).hexdigest()
        table.append(Jar(jar.name, jar.maven, len(raw), digest, jar_content(path)))
    monkeypatch.setattr(spice_service, "JARS", tuple(table))
    return folder


def test_from_a_folder(jars: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert isinstance(installed_jars(cache), Absent)
    install(cache, jars.parent)
    assert installed_jars(cache) == cache / "spice"
    assert sorted(os.listdir(cache / "spice")) == sorted(j.name for j in spice_service.JARS)
    before = [(cache / "spice" / j.name).stat().st_mtime_ns for j in spice_service.JARS]
    install(cache, jars.parent)  # nothing to do
    assert before == [(cache / "spice" / j.name).stat().st_mtime_ns for j in spice_service.JARS]


def test_from_a_jar_next_to_the_other(jars: Path, tmp_path: Path) -> None:
    install(tmp_path / "cache", jars / spice_service.JARS[0].name)
    assert not isinstance(installed_jars(tmp_path / "cache"), Absent)


def test_from_stanfords_zip_with_the_same_classes_packed_otherwise(
    jars: Path, tmp_path: Path
) -> None:
    archive = tmp_path / "corenlp.zip"
    with zipfile.ZipFile(archive, "w") as out:
        for jar in spice_service.JARS:
            make_jar(jars / jar.name, jar.maven, first="b")
            assert hashlib.sha256((jars / jar.name).read_bytes()).hexdigest() != jar.sha256
            out.write(jars / jar.name, f"stanford-corenlp-full-2015-12-09/{jar.name}")
    install(tmp_path / "cache", archive)
    assert not isinstance(installed_jars(tmp_path / "cache"), Absent)


def test_a_wrong_or_missing_jar_is_refused_and_nothing_left(jars: Path, tmp_path: Path) -> None:
    models, cache = jars / spice_service.JARS[1].name, tmp_path / "cache"
    for spoil, source, message in (
        (
            lambda: make_jar(models, "something else"),
            jars,
            r"models\.jar.*not CoreNLP 3\.6\.0",
        ),
        (lambda: models.write_bytes(b"no jar at all"), jars, "not CoreNLP"),
        (models.unlink, jars, r"stanford-corenlp-3\.6\.0-models\.jar is missing"),
        (lambda: None, tmp_path / "nowhere", "folder or zip file not found"),
    ):
        spoil()
        with pytest.raises(InputError, match=message):
            install(cache, source)
    assert isinstance(installed_jars(cache), Absent)
    assert os.listdir(cache / "spice") == []


MIRROR = "http://repository.test/maven2"


@pytest.fixture
def asked(jars: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that are downloaded from, each a file of the folder."""
    addresses: list[str] = []

    def served(request: urllib.request.Request, timeout: float) -> Any:
        addresses.append(request.full_url)
        return urllib.request.urlopen((jars / Path(request.full_url).name).as_uri())

    monkeypatch.setattr("metaeval.data.download.urlopen", served)
    return addresses


def test_from_maven_and_without_it(
    jars: Path,
    tmp_path: Path,
    asked: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """`mvn` gets each artifact's coordinates; if it fails, name a repository."""
    programs = tmp_path / "bin"
    programs.mkdir()
    maven, (code, models) = programs / "mvn", [jar.name for jar in spice_service.JARS]
    maven.write_text(
        "#!/bin/sh\n"
        'for a; do case "$a" in -DoutputDirectory=*) to="${a#*=}";; -Dartifact=*) what="${a#*=}";;'
        " esac; done\n"
        f"case $what in *:models) f={models};; *) f={code};; esac\n"
        f'cp "{jars}/$f" "$to/"\n'
    )
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    install(tmp_path / "cache", None)
    assert not isinstance(installed_jars(tmp_path / "cache"), Absent)

    def unreachable(request: urllib.request.Request, timeout: float) -> None:
        raise urllib.error.URLError("no route")

    maven.write_text("#!/bin/sh\necho 'ERROR offline'\nexit 1\n")
    with pytest.raises(DownloadError, match=r"--mirror URL.*--from FOLDER"):
        install(tmp_path / "third", None)
    assert not asked
    install(tmp_path / "third", None, f"{MIRROR}/")
    assert not isinstance(installed_jars(tmp_path / "third"), Absent)
    place = f"{MIRROR}/edu/stanford/nlp/stanford-corenlp/3.6.0"
    assert asked == [f"{place}/{jar.name}" for jar in spice_service.JARS]

    monkeypatch.setattr("metaeval.data.download.urlopen", unreachable)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with pytest.raises(DownloadError, match=r"no route.*--from FOLDER"):
        install(tmp_path / "other", None, MIRROR)
    assert "Maven could not download it: ERROR offline" in capfd.readouterr().err


@pytest.mark.usefixtures("asked")
def test_doctor_installs_from_a_mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")  # no Maven
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))
    assert run_verb(["doctor", "--install", "spice", "--mirror", MIRROR]) == 0
    assert run_verb(["doctor", "--install", "bertscore", "--mirror", MIRROR]) == 2
    for jar in spice_service.JARS:
        check_jar(tmp_path / "cache/spice" / jar.name, jar)


@pytest.mark.java
def test_what_is_installed_is_what_was_pinned() -> None:
    folder = installed_jars(default_cache())
    if isinstance(folder, Absent):
        pytest.skip(str(folder))
    for jar in spice_service.JARS:
        check_jar(folder / jar.name, jar)
        assert (folder / jar.name).stat().st_size == jar.size
        assert jar_content(folder / jar.name) == jar.content
