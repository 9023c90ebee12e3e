"""`metaeval check WHAT`: how a file is read, or whether a metric keeps the contract."""

import argparse

from metaeval.readers.files import user_path

_SUFFIXES = (".csv", ".tsv", ".txt", ".token", ".json", ".jsonl", ".parquet", ".xlsx", ".yaml")


def main(given: argparse.Namespace) -> int:
    """Check a file or a metric; the exit code.

    A file of scores with its description (NAME.csv next to NAME.yaml) is one of the score bank.
    """
    from metaeval.check import bank, contract, files  # slow to import

    path = user_path(given.what)
    if not (path.is_file() or "/" in given.what or path.suffix.lower() in _SUFFIXES):
        return contract.main(given)
    scores = path.with_suffix(".csv")
    if path.suffix == ".yaml" or (path == scores and path.with_suffix(".yaml").is_file()):
        return bank.check_file(scores)
    return files.main(given)
