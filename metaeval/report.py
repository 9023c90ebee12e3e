"""`python -m metaeval.report RUN_DIR`: write the report of a finished run, or of a sweep, anew."""

from __future__ import annotations

from importlib import import_module

from metaeval import installation


def main(arguments: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    installation.install()  # `reports` in the current folder may be somebody else's
    # by name: the command hands over to the reports, but metaeval imports nothing above it
    code: int = import_module("reports.__main__").main(arguments)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
