"""`python -m metaeval.report RUN_DIR`: write the report of a run or of a sweep once more."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from jinja2 import UndefinedError

from metaeval.errors import InputError, MetaevalError
from metaeval.readers.files import one_line
from metaeval.readers.yaml_text import read_yaml
from metaeval.reports import measured
from metaeval.reports.reproduction import page as reproduction
from metaeval.reports.sweep.page import write_sweep
from metaeval.reports.trust import page as trust
from metaeval.results.files import read_info, write_info
from metaeval.runs import files
from metaeval.runs.folder import lock
from metaeval.runs.print_style import PrintStyle, print_style

GRADED = measured.write_report, frozenset({"figures", "explanations", "photos"})
# experiment → its writer, and the options of this command that it has
WRITERS: dict[str, tuple[Callable[..., Path], frozenset[str]]] = {
    "attack": (measured.write_report, frozenset({"figures"})),
    "arena": (measured.write_report, frozenset({"figures"})),
    "captioners": (measured.write_report, frozenset({"figures", "photos"})),
    "forced_choice": (measured.write_report, frozenset({"figures"})),
    "judgments": (measured.write_report, frozenset({"figures"})),
    "pairs": (measured.write_report, frozenset({"figures"})),
    "reproduce": (reproduction.write_report, frozenset()),
    "localisation": (measured.write_report, frozenset({"figures"})),
    "retrieval": (measured.write_report, frozenset({"figures"})),
    "references": (measured.write_report, frozenset({"figures"})),
    "sample_size": (measured.write_report, frozenset({"figures"})),
    "score": (measured.write_report, frozenset({"figures"})),
    "sensitivity": (measured.write_report, frozenset({"figures"})),
    "trust": (trust.write_report, frozenset()),
    **dict.fromkeys(("graded", "replace", "shuffle"), GRADED),
}


def writer_of(directory: Path) -> tuple[Callable[..., Path], frozenset[str]]:
    """What writes the page of this directory, and its options, by what statistics.json says.

    A directory without one that holds those of jobs is a sweep's. Raises InputError where there is
    nothing to report on.
    """
    jobs = list(directory.glob(f"*/{files.RUN}"))
    if jobs and not (directory / files.STATISTICS).is_file():
        return write_sweep, frozenset()
    content = files.read_json(directory / files.STATISTICS)
    experiment = content.get("experiment") if isinstance(content, dict) else None
    if isinstance(experiment, str) and experiment in WRITERS:
        return WRITERS[experiment]
    raise InputError(
        f"experiment={experiment} has no report",
        file=directory / files.STATISTICS,
        field="experiment",
    )


def main(arguments: list[str] | None = None) -> int:
    """The command: write the report, print its path; 2 where the directory is not as it must be."""
    parser = argparse.ArgumentParser(
        prog="python -m metaeval.report", description=__doc__, argument_default=argparse.SUPPRESS
    )
    parser.add_argument("run_dir", type=Path, help="directory of a finished run or of a sweep")
    parser.add_argument(
        "--no-figures", dest="figures", action="store_false", help="do not write the SVG files"
    )
    parser.add_argument("--explanations", type=int, help="images to explain a column (default: 12)")
    parser.add_argument("--photos", type=int, help="photos to embed (default: none)")
    options = vars(parser.parse_args(arguments))
    directory = options.pop("run_dir")
    try:
        write, known = writer_of(directory)
        if foreign := set(options) - known:
            names = ", ".join(sorted(f"--{'no-' * (o == 'figures')}{o}" for o in foreign))
            parser.error(f"the report of {directory} has no {names}")
        if (directory / files.RUN).is_file():
            with lock(directory, replace=True) as folder:
                print(_written(write, directory, options))
                info = read_info(directory / files.RUN)
                if info.files is not None:
                    new = info.model_copy(update={"files": folder.files})
                    write_info(directory / files.RUN, new)
        else:  # of a sweep
            print(_written(write, directory, options))
    except MetaevalError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _written(write: Callable[..., Path], directory: Path, options: dict[str, object]) -> Path:
    """Write the page. What a run wrote is trusted to fit together: where it does not, its files
    were changed, and the reason is one line."""
    try:
        with print_style(_style_of(directory)):
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


def _style_of(directory: Path) -> PrintStyle:
    """The style that the run's configuration gives its tables."""
    path = directory / files.CONFIG
    report = read_yaml(path).get("report") if path.is_file() else None
    return PrintStyle.of(report) if isinstance(report, dict) else PrintStyle()


if __name__ == "__main__":
    raise SystemExit(main())
