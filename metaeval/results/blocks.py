"""The manifest of a run of `experiment=score`: its blocks of captions and their files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from metaeval.results.base import Model


class ColumnSum(Model):
    """The number of the scores of a column in a block, and their sum; NaN left out."""

    n: int
    sum: float


class BlockEntry(Model):
    """One scored block, as the manifest and the metadata of its file describe it.

    Attributes
    ----------
    part
        The name of its file.
    request
        The digest of the run's tables, block size and signatures.
    captions
        The digest of its rows.
    first_row, rows
        The number of its first row, and how many it has.
    failed
        Metric → the reason why it failed in this block.
    columns
        Column → its scores.
    """

    part: str
    request: str
    captions: str
    first_row: int
    rows: int
    failed: Mapping[str, str] = {}
    columns: Mapping[str, ColumnSum] = {}


class SourceFile(Model):
    """A table of captions that was scored."""

    file: str
    sha256: str


class Manifest(Model):
    """`scores/_manifest.json`: the blocks of a run in the order of their rows.

    `signatures` maps a column to the signature of its scores, `block` is the size of a block.
    """

    schema_version: Literal[1] = 1
    request: str
    block: int
    files: tuple[SourceFile, ...]
    signatures: Mapping[str, str]
    parts: tuple[BlockEntry, ...] = ()
