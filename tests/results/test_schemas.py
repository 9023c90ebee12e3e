"""The JSON schemas on the site fit the files of a run."""

import json
from pathlib import Path
from typing import Any

import pytest

import metaeval
from metaeval.results.schemas import schemas


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("schemas")
    for name, text in schemas().items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_schema_of_results_names_its_fields(folder: Path) -> None:
    schema = read(folder / "measured.schema.json")
    assert {"schema", "experiment", "dataset", "metrics"} <= set(schema["properties"])
    assert schema["additionalProperties"] is False


def test_the_files_of_a_run_are_valid_and_a_wrong_one_is_not(folder: Path, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    metaeval.run(
        "replace",
        metrics=["bleu"],
        dataset="scenes",
        dataset__limit=8,
        stats__replicates=20,
        report="none",
        out=tmp_path,
    )
    jsonschema.validate(read(tmp_path / "run.json"), read(folder / "run.schema.json"))
    statistics, schema = read(tmp_path / "statistics.json"), read(folder / "measured.schema.json")
    jsonschema.validate(statistics, schema)
    del statistics["metrics"][0]["column"]["name"]
    with pytest.raises(jsonschema.ValidationError, match="'name' is a required property"):
        jsonschema.validate(statistics, schema)
