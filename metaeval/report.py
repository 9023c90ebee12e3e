"""`python -m metaeval.report DIR`: write the report of a finished run again, or that of a sweep."""

from metaeval.reports.__main__ import main

if __name__ == "__main__":
    raise SystemExit(main())
