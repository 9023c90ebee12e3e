"""`python -m tests.fuzz N`: N cases over all loaders, a table, and every case that went wrong."""

import argparse
import faulthandler
import logging
import resource
import warnings

import pandas as pd

from tests.fuzz.loaders import LOADERS
from tests.fuzz.run import BAD, run

MEMORY = 3_000_000_000  # bytes


def main() -> int:
    """The command; 1 where a case went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("n", type=int, nargs="?", default=5000, help="cases (5,000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first case (0)")
    parser.add_argument("--loader", default="", help="only loaders whose name contains this")
    parser.add_argument("--show", type=int, default=20, help="bad cases to print (20)")
    options = parser.parse_args()
    faulthandler.enable()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))  # more is a MemoryError
    loaders = [x for x in LOADERS if options.loader in x.name]
    outcomes = []
    for place, loader in enumerate(loaders):
        first, end = options.first + place, options.first + options.n
        outcomes += run(loader, range(first, end, len(loaders)))
    bad = [o for o in outcomes if o["what"] in BAD]
    for outcome in bad[: options.show]:
        print("{what}: {loader}, case {case}, {file}\n{why}\n".format(**outcome))
    table = pd.DataFrame(outcomes)
    print(pd.crosstab(table["loader"], table["what"], margins=True, margins_name="all").to_string())
    print(f"{len(outcomes):,} cases, {len(bad):,} went wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
