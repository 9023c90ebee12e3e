"""`python -m metaeval.report RUN_DIR`: write the report of a finished run or sweep again."""

from metaeval.reports.__main__ import main

if __name__ == "__main__":
    raise SystemExit(main())
