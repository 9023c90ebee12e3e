"""`python -m metaeval.gather DIR`: gather the runs below a folder as the jobs of a sweep.

At any time: while jobs are still running, after some have failed, wherever they ran, and for runs
that no sweep started. Writes sweep.html, sweep.csv, sweep.svg, sweep.pdf and tables/ into DIR.
"""

import argparse
from pathlib import Path

from metaeval.errors import ends_with_status
from metaeval.reports.sweep.page import write_sweep


@ends_with_status("error")
def main(arguments: list[str] | None = None) -> None:
    """The command: print the page's path; 2 where there is nothing to gather."""
    parser = argparse.ArgumentParser(prog="python -m metaeval.gather", description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder with runs at any depth")
    folder = parser.parse_args(arguments).folder
    print(write_sweep(folder))


if __name__ == "__main__":
    raise SystemExit(main())
