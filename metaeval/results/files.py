"""Writing and reading `statistics.json` and `run.json`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from metaeval.errors import InputError
from metaeval.results.base import Model
from metaeval.results.blocks import Manifest
from metaeval.results.judge import JudgesFile
from metaeval.results.run import SCHEMA, RunInfo, RunResult
from metaeval.runs import files

# experiment → module and class of its result
RESULTS: dict[str, tuple[str, str]] = {
    "arena": ("measured", "MeasuredResult"),
    "attack": ("measured", "MeasuredResult"),
    "captioners": ("measured", "MeasuredResult"),
    **dict.fromkeys(("graded", "replace", "shuffle"), ("measured", "MeasuredResult")),
    "sample_size": ("measured", "MeasuredResult"),
    "localisation": ("measured", "MeasuredResult"),
    "retrieval": ("measured", "MeasuredResult"),
    "references": ("measured", "MeasuredResult"),
    "forced_choice": ("measured", "MeasuredResult"),
    "judgments": ("measured", "MeasuredResult"),
    "pairs": ("measured", "MeasuredResult"),
    "score": ("measured", "MeasuredResult"),
    "sensitivity": ("measured", "MeasuredResult"),
    "reproduce": ("reproduction", "ReproductionResult"),
    "trust": ("trust", "TrustResult"),
}

_SCHEMA = "schema"
_Model = TypeVar("_Model", bound=Model)


def result_class(experiment: str) -> type[RunResult[Any]]:
    """The class of an experiment's result. Raises KeyError for an unknown experiment."""
    module, name = RESULTS[experiment]
    result: type[RunResult[Any]] = getattr(import_module(f"metaeval.results.{module}"), name)
    return result


def dump(model: RunResult[Any] | RunInfo | Manifest) -> dict[str, object]:
    """The model as JSON's values; "schema" comes first."""
    data = model.model_dump(mode="json")
    return {_SCHEMA: data.pop("schema_version"), **data}


def write_result(path: Path, result: RunResult[Any]) -> None:
    """Write `statistics.json`."""
    files.write_json(path, dump(result))


def read_result(path: Path) -> RunResult[Any]:
    """Read `statistics.json`; InputError names the file and the field that is wrong."""
    data = _read(path)
    experiment = data.get("experiment")
    if not isinstance(experiment, str) or experiment not in RESULTS:
        raise InputError(
            f"{experiment!r} is not an experiment of this version", file=path, field="experiment"
        )
    return _validate(result_class(experiment), data, path)


def write_info(path: Path, info: RunInfo) -> None:
    """Write `run.json`."""
    files.write_json(path, dump(info))


def read_info(path: Path) -> RunInfo:
    """Read `run.json`; InputError names the file and the field that is wrong."""
    return _validate(RunInfo, _read(path), path)


def read_judges(path: Path) -> JudgesFile:
    """Read `judges.json`; InputError names the file and the field that is wrong."""
    data = files.read_json(path)
    if not isinstance(data, dict):
        raise InputError("is not a file of a run: a JSON object is expected", file=path)
    return _validate(JudgesFile, data, path)


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write the manifest of scored blocks."""
    files.write_json(path, dump(manifest))


def read_manifest(path: Path) -> Manifest:
    """Read the manifest of scored blocks; InputError names the file and the wrong field."""
    return _validate(Manifest, _read(path, schema=1), path)


def _read(path: Path, schema: int = SCHEMA) -> dict[str, object]:
    data = files.read_json(path)
    if not isinstance(data, dict):
        raise InputError("is not a file of a run: a JSON object is expected", file=path)
    version = data.pop(_SCHEMA, None)
    if version != schema or isinstance(version, bool):
        raise InputError(
            f"has schema {version!r}, and this version of metaeval reads schema {schema}; "
            "run the experiment again, or read it with the version that wrote it",
            file=path,
            field=_SCHEMA,
        )
    return data


def _validate(model: type[_Model], data: dict[str, object], path: Path) -> _Model:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        more = f" ({error.error_count()} problems in all)" if error.error_count() > 1 else ""
        raise InputError(f"{first['msg']}{more}", file=path, field=place) from None
