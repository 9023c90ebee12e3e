"""Writing and reading `statistics.json` and `run.json`."""

from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from metaeval.errors import InputError
from metaeval.results.base import Model
from metaeval.results.judge import JudgesFile
from metaeval.results.measured import MeasuredResult
from metaeval.results.resampled import write_resampled
from metaeval.results.run import SCHEMA, Manifest, RunInfo
from metaeval.runs import files

_SCHEMA = "schema"
_Model = TypeVar("_Model", bound=Model)


def dump(model: MeasuredResult | RunInfo | Manifest) -> dict[str, object]:
    """The model as JSON's values; "schema" comes first."""
    data = model.model_dump(mode="json")
    return {_SCHEMA: data.pop("schema_version"), **data}


def write_result(path: Path, result: MeasuredResult) -> None:
    """Write `statistics.json`, and `replicates.parquet` next to it where there are any."""
    if result.resampled:
        write_resampled(path.with_name(files.REPLICATES), result.resampled)
    files.write_json(path, dump(result))


def read_result(path: Path) -> MeasuredResult:
    """Read `statistics.json`; InputError names the file and the field that is wrong."""
    return _validate(MeasuredResult, _read(path), path)


def write_info(path: Path, info: RunInfo | Manifest) -> None:
    """Write `run.json`, or the manifest of scored blocks."""
    files.write_json(path, dump(info))


def read_info(path: Path) -> RunInfo:
    """Read `run.json`; InputError names the file and the field that is wrong."""
    return _validate(RunInfo, _read(path), path)


def read_finished(folder: Path) -> tuple[MeasuredResult, RunInfo]:
    """The result and the facts of a finished run; InputError where the folder has none."""
    info = read_info(folder / files.RUN)
    if info.status != files.FINISHED:
        raise InputError(f"the run is {info.status}", file=folder / files.RUN, field="status")
    return read_result(folder / files.STATISTICS), info


def read_judges(path: Path) -> JudgesFile:
    """Read `judges.json`; InputError names the file and the field that is wrong."""
    return _validate(JudgesFile, _read(path, schema=None), path)


def read_manifest(path: Path) -> Manifest:
    """Read the manifest of scored blocks; InputError names the file and the wrong field."""
    return _validate(Manifest, _read(path, schema=1), path)


def _read(path: Path, schema: int | None = SCHEMA) -> dict[str, object]:
    """The fields of a file, whose key "schema" has this value; `None` for a file without it."""
    data = files.read_run_json(path)
    if not isinstance(data, dict):
        raise InputError("is not a file of a run: a JSON object is expected", file=path)
    version = None if schema is None else data.pop(_SCHEMA, None)
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
