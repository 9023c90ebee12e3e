"""Bringing CoreNLP into the cache folder: what is accepted, what refused, and what is left."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import urllib.error
import urllib.request
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from metaeval import doctor
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
    models = jars / spice_service.JARS[1].name
    make_jar(models, "something else")
    with pytest.raises(InputError, match=r"models\.jar.*not CoreNLP 3\.6\.0"):
        install(tmp_path / "cache", jars)
    models.write_bytes(b"no jar at all")
    with pytest.raises(InputError, match="not CoreNLP"):
        install(tmp_path / "cache", jars)
    models.unlink()
    with pytest.raises(InputError, match=r"stanford-corenlp-3\.6\.0-models\.jar is missing"):
        install(tmp_path / "cache", jars)
    with pytest.raises(InputError, match="folder or zip file not found"):
        install(tmp_path / "cache", tmp_path / "nowhere")
    assert isinstance(installed_jars(tmp_path / "cache"), Absent)
    assert os.listdir(tmp_path / "cache" / "spice") == []


def test_from_maven_and_without_it(
    jars: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
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

    asked = []

    def served(request: urllib.request.Request, timeout: float) -> Any:
        asked.append(request.full_url)
        return urllib.request.urlopen((jars / Path(request.full_url).name).as_uri())

    def unreachable(request: urllib.request.Request, timeout: float) -> None:
        raise urllib.error.URLError("no route")

    maven.write_text("#!/bin/sh\necho 'ERROR offline'\nexit 1\n")
    monkeypatch.setattr("metaeval.data.download.urlopen", served)
    with pytest.raises(DownloadError, match=r"--mirror URL.*--from FOLDER"):
        install(tmp_path / "third", None)
    assert not asked
    install(tmp_path / "third", None, "http://repository.test/maven2/")
    assert not isinstance(installed_jars(tmp_path / "third"), Absent)
    place = "http://repository.test/maven2/edu/stanford/nlp/stanford-corenlp/3.6.0"
    assert asked == [f"{place}/{jar.name}" for jar in spice_service.JARS]

    monkeypatch.setattr("metaeval.data.download.urlopen", unreachable)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with pytest.raises(DownloadError, match=r"no route.*--from FOLDER"):
        install(tmp_path / "other", None, "http://repository.test/maven2")
    assert "Maven could not download it: ERROR offline" in capfd.readouterr().err


class _Mirror(BaseHTTPRequestHandler):
    """A folder laid out as Maven Central; the first answer breaks off half way."""

    root: ClassVar[Path]
    asked: ClassVar[list[tuple[str, str | None]]]

    def do_GET(self) -> None:
        data, wanted = (self.root / self.path.lstrip("/")).read_bytes(), self.headers["Range"]
        first = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        self.asked.append((Path(self.path).name, wanted))
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(data) - first))
        if wanted:
            self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        self.wfile.write(data[first : len(data) // 2 if len(self.asked) == 1 else None])

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_from_a_mirror_that_breaks_off(
    jars: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`doctor --install spice --mirror URL`: Maven is not asked, the download goes on half way."""
    place = tmp_path / "served/maven/edu/stanford/nlp/stanford-corenlp/3.6.0"
    shutil.copytree(jars, place)
    _Mirror.root, _Mirror.asked = tmp_path / "served", []
    monkeypatch.setenv("PATH", "")  # no Maven
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))
    with ThreadingHTTPServer(("127.0.0.1", 0), _Mirror) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/maven/"
        assert doctor.main(["--install", "spice", "--mirror", url]) == 0
        assert doctor.main(["--install", "bertscore", "--mirror", url]) == 2
        server.shutdown()
    code, models = (jar.name for jar in spice_service.JARS)
    half = (place / code).stat().st_size // 2
    assert _Mirror.asked == [(code, None), (code, f"bytes={half}-"), (models, None)]
    for jar in spice_service.JARS:
        check_jar(tmp_path / "cache/spice" / jar.name, jar)
    left = {path.name for path in (tmp_path / "cache/spice").iterdir()}
    assert {name for name in left if not name.endswith(".lock")} == {code, models}


@pytest.mark.java
def test_what_is_installed_is_what_was_pinned() -> None:
    folder = installed_jars(default_cache())
    if isinstance(folder, Absent):
        pytest.skip(str(folder))
    for jar in spice_service.JARS:
        check_jar(folder / jar.name, jar)
        assert (folder / jar.name).stat().st_size == jar.size
        assert jar_content(folder / jar.name) == jar.content
