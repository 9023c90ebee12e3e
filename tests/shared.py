"""What tests of several rooms write and run."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from metaeval.config import compose_config
from metaeval.experiments.run import run_configured
from metaeval.results.files import read_result
from metaeval.runs import files


def write_lines(path: Path, records: Iterable[Any]) -> Path:
    """The file, with a line of JSON for each record."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def write_json(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def run_here(folder: Path, *overrides: str, out: str = "OUT") -> Any:
    """The result, as it is written, of a run in this process with a cache in the folder."""
    run_configured(compose_config([f"paths.cache={folder / 'cache'}", *overrides]), folder / out)
    return read_result(folder / out / files.STATISTICS)
