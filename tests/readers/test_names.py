"""Names that tables, figures and pages can hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from metaeval.data.judgments.table import load_table
from metaeval.data.pairs.pairs import load_pairs_table
from metaeval.data.system_captions import find_system_files
from metaeval.errors import InputError
from metaeval.readers.tables import MOST_NAME, check_name, name_problem
from tests.shared import write_lines

BAD = {
    "a\nb": r"contains '\n', which cannot be printed",
    "\x1b[31mred": r"contains '\x1b', which cannot be printed",
    "\u202eabc": r"contains '\u202e', which cannot be printed",
    "a\ud800": "contains an unpaired surrogate U+D800",
    "x" * 5000: "has 5,000 characters, at most 200",
    " ": "is empty",
}


@pytest.mark.parametrize("name", ["CLIP <base>", "LLaVA-1.5 (7B)", "模型", "=cmd", "a" * MOST_NAME])
def test_ordinary_names_are_names(name: str) -> None:
    assert name_problem(name) is None
    assert check_name(name, file=Path("x.csv"), record=None, field="set") == name


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_printed_is_not_a_name(name: str) -> None:
    problem = name_problem(name)
    assert BAD[name] in problem
    assert problem.isprintable()
    assert len(problem) < 200


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
