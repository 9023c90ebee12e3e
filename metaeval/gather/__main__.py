"""`python -m metaeval.gather DIR`: gather the runs below a folder as the jobs of a sweep.

At any time: while jobs are still running, after some have failed, wherever they ran, and for runs
that no sweep started. Writes sweep.html, sweep.csv, sweep.svg, sweep.pdf and tables/ into DIR.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from metaeval.errors import MetaevalError
from metaeval.reports.sweep.page import write_sweep


def main(arguments: list[str] | None = None) -> int:
    """The command: print the page's path; 2 where there is nothing to gather."""
    parser = argparse.ArgumentParser(prog="python -m metaeval.gather", description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder with runs at any depth")
    folder = parser.parse_args(arguments).folder
    try:
        print(write_sweep(folder))
    except MetaevalError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
