"""Paths as users write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from metaeval import installation
from metaeval.errors import InputError
from metaeval.readers.files import user_path
from tests.forked import run_command


def test_the_home_folder_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/somewhere")
    assert user_path("~/a.json") == Path("/somewhere/a.json")
    assert user_path(Path("b/~c")) == Path("b/~c")
    with pytest.raises(InputError, match=r"^~no such user/x: the home folder is not known; write "):
        user_path("~no such user/x")


def test_every_path_of_a_user_goes_through_it() -> None:
    """A `~` without a home folder is a RuntimeError of pathlib's."""
    root = installation.conf().parent
    others = [
        path.relative_to(root).as_posix()
        for folder in ("metaeval", "experiments", "reports", "corruptions")
        for path in (root / folder).rglob("*.py")
        if ".expanduser()" in path.read_text(encoding="utf-8")
    ]
    assert others == ["metaeval/readers/files.py"]


def test_without_a_home_folder_the_remedy_is_named(tmp_path: Path) -> None:
    given = ("experiment=captioners", "dataset=scenes", "dataset.limit=3", "metrics=[bleu]")
    done = run_command("metaeval", *given, "captions='~nobody.here/x.json'", cwd=tmp_path)
    line = (
        "metaeval: ~nobody.here/x.json: the home folder is not known; write the path without ~; "
        "of the cache: METAEVAL_CACHE=FOLDER\n"
    )
    assert (done.returncode, done.stderr) == (2, line)
