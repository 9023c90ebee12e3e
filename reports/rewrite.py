"""`metaeval report DIR`: write the report of a run once more, or of the runs below DIR.

Runs are gathered at any time: while jobs of a sweep are still running, after some have failed,
wherever they ran, and where no sweep started them.
"""

import argparse
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import UndefinedError

from metaeval.errors import ConfigError, InputError
from metaeval.readers.files import one_line
from metaeval.readers.yaml_text import read_yaml
from metaeval.reports.measured import write_report
from metaeval.reports.sweep.page import write_sweep
from metaeval.results.files import read_info, write_info
from metaeval.runs import files
from metaeval.runs.folder import lock
from metaeval.runs.print_style import PrintStyle, print_style

OPTIONS = ("figures", "explanations", "photos")  # of this command


def writer_of(directory: Path) -> tuple[Callable[..., Path], frozenset[str]]:
    """What writes the page of this directory, and its options of this command.

    A directory without statistics.json that holds runs, at any depth, is a sweep's. The options are
    those that the run's configuration has for its report.
    """
    has_runs = any(path.parent != directory for path in directory.rglob(files.RUN))
    if has_runs and not (directory / files.STATISTICS).is_file():
        return write_sweep, frozenset()
    known = frozenset(OPTIONS) & (_report_of(directory) or dict.fromkeys(OPTIONS)).keys()
    return write_report, known


def main(given: argparse.Namespace) -> None:
    """Write the report and print its path."""
    options = {name: value for name, value in vars(given).items() if name in OPTIONS}
    directory = given.run_dir
    write, known = writer_of(directory)
    if foreign := set(options) - known:
        names = ", ".join(sorted(f"--{'no-' * (o == 'figures')}{o}" for o in foreign))
        raise ConfigError(f"the report of {directory} has no {names}")
    if (directory / files.RUN).is_file():
        with lock(directory, replace=True) as folder:
            print(_written(write, directory, options))
            info = read_info(directory / files.RUN)
            if info.files is not None:
                new = info.model_copy(update={"files": folder.files})
                write_info(directory / files.RUN, new)
    else:  # of a sweep
        print(_written(write, directory, options))


def _written(write: Callable[..., Path], directory: Path, options: dict[str, object]) -> Path:
    """Write the page. What a run wrote is trusted to fit together: where it does not, its files
    were changed, and the reason is one line."""
    try:
        report = _report_of(directory)
        with print_style(PrintStyle() if report is None else PrintStyle.of(report)):
            return write(directory, **options)
    except (
        KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError,
        UndefinedError,  # what a template misses
    ) as error:  # fmt: skip
        where = traceback.extract_tb(error.__traceback__)[-1]
        problem = f"{type(error).__name__}: {one_line(error)}, at {Path(where.filename).name}"
        raise InputError(
            f"the run's files do not fit together ({problem}:{where.lineno}): they were damaged or "
            "written by another version of metaeval",
            file=directory,
        ) from error


def _report_of(directory: Path) -> dict[str, Any] | None:
    """The options of the report in the run's configuration; `None` where it has none."""
    path = directory / files.CONFIG
    report = read_yaml(path).get("report") if path.is_file() else None
    return report if isinstance(report, dict) and report else None
