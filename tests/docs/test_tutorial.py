"""docs/tutorial.ipynb: its cells run, and what it stores is what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.docs.notebook import NOTEBOOK, executed

BIGGEST = 100_000  # bytes: a report stored in it would be several times that


def printed(cell: dict[str, Any]) -> list[str]:
    """What a cell printed and showed as text, without spaces: tables' widths are pandas' affair."""
    outputs = cell.get("outputs", [])
    texts = [output.get("text") or output["data"]["text/plain"] for output in outputs]
    return ["".join("".join(lines).split()) for lines in texts]


@pytest.mark.slow
def test_the_cells_run_and_say_what_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))
    stored = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    again = executed(stored, tmp_path)
    for before, after in zip(stored["cells"], again["cells"], strict=True):
        assert printed(before) == printed(after), "".join(before["source"])


def test_every_cell_was_executed_in_order_and_the_file_is_small() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    counts = [cell["execution_count"] for cell in cells if cell["cell_type"] == "code"]
    assert counts == list(range(1, len(counts) + 1))
    assert NOTEBOOK.stat().st_size < BIGGEST
