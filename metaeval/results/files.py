"""Writing and reading `statistics.json`, `replicates.parquet` and `run.json`."""

from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from metaeval.errors import InputError
from metaeval.results.base import Model
from metaeval.results.judge import JudgesFile
from metaeval.results.measured import MeasuredResult
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


# The replicates behind the intervals of a run.

CEILING = ""  # the name of the column of a perfect metric


class Resampled(NamedTuple):
    """A measure of a column on all images and on resampled ones; those of one run are of the same
    draws, so replicate k of two columns, or of two measures, is of the same images.

    Attributes
    ----------
    measure
        The key of the measure.
    column
        The name of a metric or control; `CEILING` is a perfect metric, where its value is not
        certain.
    items_of
        The metric on whose items alone a control was measured; "" = all its own.
    value
        On all images.
    n_units, n
        How many images and items took part.
    replicates
        float64 [replicates], of at least seven digits.
    """

    measure: str
    column: str
    items_of: str
    value: float
    n_units: int
    n: int
    replicates: npt.NDArray[np.float64]


def write_resampled(path: Path, rows: Iterable[Resampled]) -> None:
    """Write `replicates.parquet`."""
    content = resampled_bytes(rows)
    files.atomic(path, lambda p: p.write_bytes(content))


def resampled_bytes(rows: Iterable[Resampled]) -> bytes:
    """The rows as a Parquet file; replicates take four bytes each."""
    known = list(rows)
    columns = {
        name: [getattr(row, name) for row in known]
        for name in Resampled._fields
        if name != "replicates"
    }
    small = [row.replicates.astype(np.float32) for row in known]
    table = pa.table({**columns, "replicates": pa.array(small, pa.list_(pa.float32()))})
    buffer = BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def resampled_rows(content: bytes) -> tuple[Resampled, ...]:
    """The rows of a Parquet file."""
    return tuple(map(_row, pq.read_table(BytesIO(content)).to_pylist()))


def _row(row: Mapping[Any, Any]) -> Resampled:
    return Resampled(**{**row, "replicates": np.asarray(row["replicates"], np.float64)})


def read_resampled(path: Path) -> tuple[Resampled, ...]:
    """Read `replicates.parquet`. Raises InputError where it is missing or damaged."""
    rows = files.read_columns(path, Resampled._fields).to_dict("records")
    return tuple(map(_row, rows))
