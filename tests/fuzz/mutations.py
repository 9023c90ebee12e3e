"""Damage to the records of a file, by seed: values, members, cells, ids, numbers, the order.

A file without records (an image, vectors in binary form) has its bytes damaged; of an archive, a
member's bytes, and its checksums are right again.
"""

import io
import json
import random
import re
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

Harm = Callable[[bytes, random.Random], bytes]

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


def harm(name: str, raw: bytes, rng: random.Random) -> bytes:
    """The content of a file of this name, damaged."""
    kinds = next((h for ends, h in _KINDS.items() if name.lower().endswith(ends)), (harm_bytes,))
    return rng.choice((*kinds, harm_bytes))(raw, rng)


def harm_bytes(raw: bytes, rng: random.Random) -> bytes:
    """A bit turned, a part left out or twice, a text put in, the end cut off."""
    at, n = rng.randrange(len(raw) + 1), rng.choice((0, 1, 4, 64))
    part = rng.choice((b"", raw[at : at + n] * 2, rng.choice(_TEXTS), rng.randbytes(n)))
    return raw[:at] + part + (b"" if rng.random() < 0.2 else raw[at + n :])


def harm_json(raw: bytes, rng: random.Random) -> bytes:
    """Of a JSON value, or of a line of JSON Lines: a member replaced, left out, twice, moved."""
    try:
        return _json(_harmed(json.loads(raw), rng), rng)
    except ValueError:
        lines = raw.split(b"\n")
    at = rng.choice([i for i, line in enumerate(lines) if line.strip()] or [0])
    try:
        lines[at] = _json(_harmed(json.loads(lines[at]), rng), rng)
    except ValueError:
        lines[at] = harm_bytes(lines[at], rng)
    return b"\n".join(lines)


def _json(value: Any, rng: random.Random) -> bytes:
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.1:  # a key twice in one object
        text = text.replace("{", '{"id": 7, "image_id": 7, ', 1)
    return text.encode("utf-8", "surrogatepass")


def _harmed(value: Any, rng: random.Random) -> Any:
    if not isinstance(value, dict | list) or not value or rng.random() < 0.1:
        return rng.choice(_VALUES)
    change = rng.random()
    if isinstance(value, dict):
        key = rng.choice(list(value))
        rest = {k: v for k, v in value.items() if k != key}
        if change < 0.3:
            new = rng.choice((key.upper(), f" {key}", f"{key}s"))
            return rest if change < 0.15 else {**rest, new: value[key]}
        return {**value, key: _harmed(value[key], rng)}
    at = rng.randrange(len(value))
    if change < 0.1:
        return rng.sample(value, len(value))
    other = [] if change < 0.2 else [value[at]] * 2 if change < 0.3 else [_harmed(value[at], rng)]
    return [*value[:at], *other, *value[at + 1 :]]


def harm_cells(raw: bytes, rng: random.Random) -> bytes:
    """Of a table: a cell replaced, doubled, left out or with a quote; a row twice, rows moved."""
    lines = raw.decode("utf-8", "replace").split("\n")
    delimiter = max("\t;,", key=lines[0].count)
    rows = [line.split(delimiter) for line in lines]
    row = rng.choice(rows)
    at = rng.randrange(len(row))
    value = rng.choice(_VALUES)
    text = value if isinstance(value, str) else json.dumps(value)
    row[at : at + 1] = rng.choice(([], [row[at]] * 2, ['"' + row[at]], [text], [text], [row[at]]))
    if rng.random() < 0.2:
        rows.append(list(row))
    if rng.random() < 0.2:  # the first may be a header
        rows[1:] = rng.sample(rows[1:], len(rows) - 1)
    return "\n".join(map(delimiter.join, rows)).encode("utf-8", "surrogatepass")


def harm_parquet(raw: bytes, rng: random.Random) -> bytes:
    """A column of other values or types, rows moved or twice."""
    frame = pd.read_parquet(io.BytesIO(raw))
    column, out = rng.choice(list(frame.columns)), io.BytesIO()
    values = frame[column]
    frame[column] = rng.choice(
        (
            [str(v).encode() for v in values],
            pd.Categorical([str(v) for v in values]),
            pd.Timestamp("2020-01-01"),
            [{"a": str(v)} for v in values],
            [np.array([1.0, np.nan])] * len(frame),
            [str(v) for v in values],
            [rng.choice((None, v)) for v in values],
            values,
        )
    )
    frame = frame.sample(
        len(frame) + rng.randrange(2), replace=True, random_state=rng.randrange(99)
    )
    frame.to_parquet(out, index=rng.random() < 0.5)
    return out.getvalue()


def harm_zip(raw: bytes, rng: random.Random) -> bytes:
    """A member damaged or renamed; checksums are right."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as packed:
        members = {name: packed.read(name) for name in packed.namelist()}
    chosen = rng.choice(list(members))
    content = members.pop(chosen)
    name = rng.choice((chosen, chosen, "../x", "x"))
    with zipfile.ZipFile(out, "w") as packed:
        for member in {**members, name: harm_bytes(content, rng)}.items():
            packed.writestr(*member)
    return out.getvalue()


_ID = re.compile(rb"(?<![\w.])(?:[\w/-]+\.(?:jpg|png)|[0-9]{1,12})(?![\w.])")


def harm_ids(raw: bytes, rng: random.Random) -> bytes:
    """An id in another written form, everywhere, in its place or in another id's."""
    places = list(_ID.finditer(raw))
    if not places:
        return raw
    word, place, everywhere = rng.choice(places).group(), rng.choice(places), rng.random() < 0.5
    form = rng.choice(
        (
            *(
                b"0" + word,
                b"000000" + word,
                word + b".jpg",
                b"a/" + word,
                word.upper(),
                b" " + word,
            ),
            *(word.rsplit(b".", 1)[0] + b".png", word.rsplit(b"/", 1)[-1], word + b".0"),
            *(b"+" + word, word, b"00000 " + word, word + b"\\t2", word + b"\t2", word + b" 2"),
            word + b"#1",
        )
    )
    if everywhere:
        return _ID.sub(lambda match: form if match.group() == word else match.group(), raw)
    return raw[: place.start()] + form + raw[place.end() :]


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


def harm_rounding(raw: bytes, rng: random.Random) -> bytes:
    """A number with a fraction as a sum leaves it: 0.30000000000000004."""
    places = [match for match in _NUMBER.finditer(raw) if b"." in match.group()]
    if not places:
        return raw
    place = rng.choice(places)
    near = np.nextafter(float(place.group()), rng.choice((np.inf, -np.inf)))
    return raw[: place.start()] + repr(float(near)).encode() + raw[place.end() :]


_KINDS: dict[tuple[str, ...], tuple[Harm, ...]] = {
    (".json", ".jsonl", ".yaml"): (harm_json, harm_json, harm_ids, harm_rounding),
    (".csv", ".tsv", ".txt", ".token"): (harm_cells, harm_cells, harm_ids, harm_rounding),
    (".parquet",): (harm_parquet, harm_parquet),
    (".npz", ".xlsx"): (harm_zip, harm_zip),
}
