"""The digest of a user's code: its module and what that imports, whatever else lies there."""

import importlib
import sys
from pathlib import Path

import pytest

from metaeval.runs.source import source_digest

FILES = {
    "mine.py": "import json, numpy\nfrom parts import shared\nfrom loose import leaf\n\n"
    "def score(captions):\n"
    "    import late\n    return [late.X + shared.X for _ in captions]\n",
    "late.py": "X = 1\n",
    "loose/leaf.py": "X = 1\n",  # of a package without __init__.py
    "parts/__init__.py": "A = 1\n",
    "parts/shared.py": "from . import deep as d\nfrom .inner.leaf import X\n",
    "parts/deep.py": "D = 1\n",
    "parts/inner/__init__.py": "",
    "parts/inner/leaf.py": "from ...... import nothing  # beyond the package\nX = 1\n",
    "parts/unused.py": "U = 1\n",
}
NAMES = {name.partition("/")[0].partition(".")[0] for name in FILES}


def written(folder: Path) -> Path:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def digest(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """The digest of `mine.score` as a new process finds it; only `mine` itself is run."""
    for name in [n for n in sys.modules if n.partition(".")[0] in NAMES]:
        del sys.modules[name]
    importlib.invalidate_caches()
    module = type(sys)("mine")
    module.__file__, module.__package__ = str(folder / "mine.py"), ""
    monkeypatch.setitem(sys.modules, "mine", module)
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(folder))
        exec("def score(captions): ...", module.__dict__)
        return source_digest(module.score)


def test_a_file_that_is_not_imported_has_no_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path / "a")
    first = digest(folder, monkeypatch)
    (folder / "unrelated.py").write_text("import mine\n")
    (folder / "parts" / "unused.py").write_text("U = 2\n")
    assert digest(folder, monkeypatch) == first
    for place in ("moved/b", "site-packages/mine"):  # also where a folder has Python's name
        assert digest(written(tmp_path / place), monkeypatch) == first


@pytest.mark.parametrize(
    "name", [n for n in FILES if n not in ("parts/unused.py", "parts/inner/__init__.py")]
)
def test_an_edit_of_what_is_imported_changes_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path)
    first = digest(folder, monkeypatch)
    (folder / name).write_text(FILES[name] + "MORE = 1\n")
    assert digest(folder, monkeypatch) != first
    (folder / name).write_text(FILES[name])
    assert digest(folder, monkeypatch) == first
