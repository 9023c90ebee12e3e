"""Names that tables, figures and pages can hold, and paths as users write them."""

from pathlib import Path

import pytest

from metaeval import installation
from metaeval.data.judgments.table import load_table
from metaeval.data.pairs.pairs import load_pairs_table
from metaeval.data.system_captions import find_system_files
from metaeval.errors import InputError
from metaeval.readers.files import user_path
from metaeval.readers.tables import MOST_NAME, name_problem
from tests.shared import write_lines

BAD = {
    "a\nb": r"contains '\n', which cannot be printed",
    "\x1b[31mred": r"contains '\x1b', which cannot be printed",
    "\u202eabc": r"contains '\u202e', which cannot be printed",
    "a\ud800": "contains an unpaired surrogate U+D800",
    "x" * 5000: "has 5,000 characters, at most 200",
    " ": "is empty",
}


@pytest.mark.parametrize(
    ("name", "problem"),
    [(n, None) for n in ("CLIP <base>", "LLaVA-1.5 (7B)", "模型", "=cmd", "a" * MOST_NAME)]
    + list(BAD.items()),
)
def test_a_name_can_be_printed(name: str, problem: str | None) -> None:
    found = name_problem(name)
    assert (problem or "") in (found or "")
    assert (found is None, (found or "").isprintable()) == (problem is None, True)
    assert len(found or "") < 200


@pytest.mark.parametrize("name", [n for n in BAD if n.strip()])
def test_every_loader_refuses_such_names(name: str, tmp_path: Path) -> None:
    shared = {"image_id": 1, "references": ["b"]}
    for load, field, row in (
        (load_table, "system", {"candidate": "a", "human": 1, "system": name}),
        (load_pairs_table, "kind", {"true": "a", "false": "b", "kind": name}),
    ):
        with pytest.raises(InputError, match=f"line 1, field '{field}'"):
            load(write_lines(tmp_path / "t.jsonl", [{**shared, **row}]))
    with pytest.raises(InputError, match="is not a name"):
        find_system_files({name: write_lines(tmp_path / "ok.json", [[]])})


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
