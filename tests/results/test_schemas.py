"""The JSON schemas of the documentation are those of the models, and real files fit them."""

from __future__ import annotations

import json
from pathlib import Path

from metaeval.results.__main__ import schemas
from metaeval.results.files import RESULTS

FOLDER = Path(__file__).parents[2] / "docs" / "schemas"


def test_the_documented_schemas_are_current() -> None:
    current = schemas()
    assert {path.name for path in FOLDER.glob("*.json")} == set(current)
    stale = [name for name, text in current.items() if (FOLDER / name).read_text("utf-8") != text]
    assert not stale, "write them again: python -m metaeval.results docs/schemas"


def test_every_experiment_has_a_schema_that_names_its_fields() -> None:
    for module, _ in RESULTS.values():
        schema = json.loads((FOLDER / f"{module}.schema.json").read_text("utf-8"))
        assert {"schema", "experiment", "dataset", "metrics"} <= set(schema["properties"])
        assert schema["additionalProperties"] is False
