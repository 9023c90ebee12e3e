"""`python -m tests.fuzz N`: N cases over all loaders, a table, and every case that went wrong."""

import argparse
import time

from tests.fuzz.loaders import LOADERS
from tests.fuzz.run import BAD, run, table


def main() -> int:
    """The command; 1 where a case went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("n", type=int, nargs="?", default=5000, help="cases (5,000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first case (0)")
    parser.add_argument("--loader", help="only loaders whose name holds this")
    parser.add_argument("--show", type=int, default=20, help="bad cases to print (20)")
    options = parser.parse_args()
    loaders = [x for x in LOADERS if options.loader is None or options.loader in x.name]
    started = time.perf_counter()
    outcomes = list(run(loaders, range(options.first, options.first + options.n)))
    bad = [o for o in outcomes if o["what"] in BAD]
    for outcome in bad[: options.show]:
        print(
            f"{outcome['what']}: {outcome['loader']}, case {outcome['case']}, "
            f"{outcome.get('file', '')}\n{outcome.get('why', '')}\n"
        )
    print(table(outcomes))
    print(
        f"{len(outcomes):,} cases, {len(bad):,} went wrong, {time.perf_counter() - started:.0f} s"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
