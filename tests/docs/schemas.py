"""The JSON schema of each file of a run's result.

`run.schema.json` describes `run.json`, `measured.schema.json` the `statistics.json` of every
experiment. `make docs` puts them on the site.
"""

import json
from typing import Any

from metaeval.results.measured import MeasuredResult
from metaeval.results.run import RunInfo


def schemas() -> dict[str, str]:
    """Name of a file → its text."""
    return {
        "run.schema.json": _text(RunInfo.model_json_schema(mode="serialization")),
        "measured.schema.json": _text(MeasuredResult.model_json_schema(mode="serialization")),
    }


def _text(schema: dict[str, Any]) -> str:
    """The schema, with the key by which the files name their version."""
    properties = schema["properties"]
    schema["properties"] = {"schema": properties.pop("schema_version"), **properties}
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
