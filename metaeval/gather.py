"""`python -m metaeval.gather DIR`: another name of `python -m metaeval.report DIR`."""

from metaeval.reports.__main__ import main

if __name__ == "__main__":
    raise SystemExit(main())
