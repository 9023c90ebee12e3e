"""Damage to the records of a file, by seed: values, members, cells, ids, numbers, the order.

Of a file without records (an image, vectors in binary form), and of some others, the bytes are
damaged; the members of an archive are, and its checksums are right again.
"""

import io
import json
import random
import re
import zipfile
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

_TEXTS = (
    *(b'"', b"'", b"\n", b"\r", b"\r\n", b"\t", b",", b";", b"\x00", b"\x0c", b"\xe2\x80\xa8"),
    *(b"\xc2\x85", b"\xef\xbb\xbf", b"\xff", b"\xed\xa0\x80", b"1_000", "٣".encode(), b"NaN"),
    *(b"Infinity", b"1e999", b"-1", b"0", b"9" * 400, b"[" * 5000, b"{", b"]", b"null", b"true"),
    *(b"\\ud800", b"['a' 'b']"),
)
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 7, 2**63, 10**400, 1.5, 1e308, float("nan"), float("inf")),
    *("", " ", "x", "no", "0", "1_000", "٣", "\u2028", "\ud800", "a\nb", "a\x00b", "['a' 'b']"),
    *("9" * 5000, [], [None], [[]], {}, {"a": 1}, ["a", 1]),
)
# an id, a name or a cell in another written form
_FORMS = (
    *("0{}", "000000{}", "{}.jpg", "a/{}", " {}", "{}.0", "+{}", "00000 {}", "{}\t2", "{} 2"),
    *("{}#1", "{}s", "../{}", '"{}'),
)


def harm(name: str, raw: bytes, rng: random.Random) -> bytes:
    """The content of a file of this name, damaged."""
    forms = (form for ends, form in _RECORDS.items() if name.lower().endswith(ends))
    for read, write in forms if rng.random() < 0.75 else ():
        # damaged before, or a value that the format has not
        with suppress(ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            return write(harmed(read(raw), rng), rng)
    return harm_bytes(raw, rng)


def harm_bytes(raw: bytes, rng: random.Random) -> bytes:
    """A bit turned, a part left out or twice, a text put in, the end cut off."""
    at, n = rng.randrange(len(raw) + 1), rng.choice((0, 1, 4, 64))
    part = rng.choice((b"", raw[at : at + n] * 2, rng.choice(_TEXTS), rng.randbytes(n)))
    return raw[:at] + part + (b"" if rng.random() < 0.2 else raw[at + n :])


def harmed(value: Any, rng: random.Random) -> Any:
    """A value with a part replaced, left out, twice, moved, or in another written form."""
    change = rng.random()
    if isinstance(value, bytes):
        return harm_bytes(value, rng)
    if not isinstance(value, dict | list) or not value or change < 0.05:
        if isinstance(value, float) and change < 0.3:  # as a sum leaves it
            return float(np.nextafter(value, rng.choice((np.inf, -np.inf))))
        if isinstance(value, str | int) and change < 0.6:
            return rng.choice((*_FORMS, "{}")).format(value)
        return rng.choice(_VALUES)
    if isinstance(value, dict):
        key = rng.choice(list(value))
        rest = {k: v for k, v in value.items() if k != key}
        if change < 0.2:
            return rest
        new = rng.choice((key.upper(), *(form.format(key) for form in _FORMS)))
        return {**rest, new: value[key]} if change < 0.3 else value | {key: harmed(value[key], rng)}
    at = rng.randrange(len(value))
    if change < 0.1:
        return rng.sample(value, len(value))
    other = [] if change < 0.2 else [value[at]] * 2 if change < 0.3 else [harmed(value[at], rng)]
    return [*value[:at], *other, *value[at + 1 :]]


def _json(value: Any, rng: random.Random) -> bytes:
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.1:  # a key twice in one object
        text = text.replace("{", '{"id": 7, "image_id": 7, ', 1)
    return text.encode("utf-8", "surrogatepass")


def _cells(raw: bytes) -> list[list[str]]:
    """The lines of a text, their cells and the delimiters between them."""
    return [re.split("([\t;,])", line) for line in raw.decode().split("\n")]


def _parquet(rows: Any, rng: random.Random) -> bytes:
    table = pd.DataFrame(rows)
    if rng.random() < 0.5:  # a column of another type
        types = ("str", "category", "object", "datetime64[ns]", "bytes")
        column = rng.choice(list(table.columns))
        table[column] = table[column].map(str).astype(rng.choice(types))  # type: ignore[call-overload]
    table.to_parquet(out := io.BytesIO(), index=rng.random() < 0.5)
    return out.getvalue()


def _members(raw: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(raw)) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def _zip(members: dict[str, bytes], rng: random.Random) -> bytes:
    with zipfile.ZipFile(out := io.BytesIO(), "w") as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return out.getvalue()


# endings of files → what reads their records, and what writes them
_RECORDS: dict[tuple[str, ...], tuple[Callable[[bytes], Any], Callable[..., bytes]]] = {
    (".json", ".yaml"): (json.loads, _json),
    (".jsonl",): (
        lambda raw: [json.loads(line) for line in raw.split(b"\n") if line.strip()],
        lambda rows, rng: b"\n".join(_json(row, rng) for row in rows),
    ),
    (".csv", ".tsv", ".txt", ".token"): (
        _cells,
        lambda rows, rng: "\n".join("".join(map(str, row)) for row in rows).encode(
            "utf-8", "surrogatepass"
        ),
    ),
    (".parquet",): (
        lambda raw: pd.read_parquet(io.BytesIO(raw)).to_dict("records"),
        _parquet,
    ),
    (".npz", ".xlsx"): (_members, _zip),
}

_NUMBER = re.compile(rb"(?<![\w.\"'/-])-?[0-9]+(?:\.[0-9]+)?(?![\w.\"'-])")
_ABSENT_IS_ZERO = re.compile(rb'"(iscrowd|sample)": *$')  # members of which a format says so
_UNKNOWN = (b"", b"nan", b"null", b"None", b"NA", b"-", b"?")


def harm_unknown(raw: bytes, rng: random.Random, known: bytes | None = None) -> bytes:
    """A number that is not known any more: empty, NaN, null. With `known`, that in its place."""
    places = [m for m in _NUMBER.finditer(raw) if not _ABSENT_IS_ZERO.search(raw[: m.start()])]
    if not places:
        return raw
    place = rng.choice(places)
    value = rng.choice((b"null", b"NaN") if raw[:1] in b"[{" else _UNKNOWN)
    return raw[: place.start()] + (value if known is None else known) + raw[place.end() :]
