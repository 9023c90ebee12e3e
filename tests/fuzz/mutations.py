"""Damage to files, by seed: to their bytes, and to the structure of the format.

A format with checksums (zip, compressed variables, a header with its length) is opened, damaged
inside and closed again with the right checksums: what a damaged disk does is refused by them, what
a person does is not.
"""

import io
import json
import random
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

Harm = Callable[[bytes, random.Random], bytes]

_TEXTS = (
    b'"',
    b"'",
    b"\n",
    b"\r",
    b"\r\n",
    b"\t",
    b",",
    b";",
    b"\x00",
    b"\x0c",
    b"\xe2\x80\xa8",
    b"\xc2\x85",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\xed\xa0\x80",
    b"1_000",
    "٣".encode(),
    b"NaN",
    b"Infinity",
    b"1e999",
    b"-1",
    b"0",
    b"9" * 400,
    b"[" * 5000,
    b"{",
    b"]",
    b"null",
    b"true",
    b"\\ud800",
    b"['a' 'b']",
)
_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**63,
    10**400,
    1.5,
    1e308,
    float("nan"),
    float("inf"),
    "",
    " ",
    "x",
    "1_000",
    "٣",
    "\u2028",
    "\ud800",
    "a\nb",
    "a\x00b",
    "['a' 'b']",
    [],
    [None],
    [[]],
    {},
    {"a": 1},
    ["a", 1],
    "9" * 5000,
    "no",
    "0",
    7,
)


def harm_bytes(raw: bytes, rng: random.Random) -> bytes:
    """One to three small changes of the bytes."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        raw = rng.choice(_BYTES)(raw, rng)
    return raw


def _flip(raw: bytes, rng: random.Random) -> bytes:
    if not raw:
        return b"\x01"
    at = rng.randrange(len(raw))
    return raw[:at] + bytes([raw[at] ^ 1 << rng.randrange(8)]) + raw[at + 1 :]


def _set(raw: bytes, rng: random.Random) -> bytes:
    at, n = rng.randrange(len(raw) + 1), rng.choice((1, 2, 4, 8))
    value = rng.choice((b"\x00", b"\xff", b"\x7f", b"\x80")) * n
    return raw[:at] + value + raw[at + n :]


def _number(raw: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(raw) + 1)
    value = struct.pack("<q", rng.choice((0, -1, 1, 2**31 - 1, 2**31, 2**40, 2**62)))
    value = value[: rng.choice((4, 8))]
    return raw[:at] + value + raw[at + len(value) :]


def _cut(raw: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(raw) + 1)
    return raw[:at] + raw[at + rng.randint(1, 64) :]


def _end(raw: bytes, rng: random.Random) -> bytes:
    return raw[: rng.randrange(len(raw) + 1)]


def _twice(raw: bytes, rng: random.Random) -> bytes:
    at, n = rng.randrange(len(raw) + 1), rng.randint(1, 200)
    return raw[: at + n] + raw[at : at + n] + raw[at + n :]


def _text(raw: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(raw) + 1)
    return raw[:at] + rng.choice(_TEXTS) + raw[at + rng.choice((0, 0, 1, 5)) :]


def _line(raw: bytes, rng: random.Random) -> bytes:
    lines = raw.split(b"\n")
    at = rng.randrange(len(lines))
    change = rng.choice(("out", "twice", "moved"))
    line = lines[at] if change == "twice" else lines.pop(at)
    if change != "out":
        lines.insert(rng.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


_BYTES = (_flip, _flip, _set, _number, _cut, _end, _twice, _text, _text, _line)


def harm_json(raw: bytes, rng: random.Random) -> bytes:
    """A member of a JSON value replaced, taken out, put in twice, or its key."""
    try:
        value = json.loads(raw)
    except ValueError:
        return harm_bytes(raw, rng)
    return _json_bytes(_harmed(value, rng), rng)


def harm_json_lines(raw: bytes, rng: random.Random) -> bytes:
    """As `harm_json`, of one line."""
    lines = raw.split(b"\n")
    at = rng.choice([i for i, line in enumerate(lines) if line.strip()] or [0])
    lines[at] = harm_json(lines[at], rng)
    return b"\n".join(lines)


def _json_bytes(value: Any, rng: random.Random) -> bytes:
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.1:  # a key twice in one object
        text = text.replace("{", '{"id": 7, "image_id": 7, ', 1)
    return text.encode("utf-8", "surrogatepass")


def _harmed(value: Any, rng: random.Random) -> Any:
    inside = isinstance(value, dict | list) and len(value) > 0
    if not inside or rng.random() < 0.1:
        return rng.choice(_VALUES)
    if isinstance(value, dict):
        key = rng.choice(list(value))
        if rng.random() < 0.2:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: _harmed(value[key], rng)}
    at, change = rng.randrange(len(value)), rng.random()
    if change < 0.1:
        return value[:at] + value[at + 1 :]
    if change < 0.2:
        return [*value[:at], value[at], *value[at:]]
    return [*value[:at], _harmed(value[at], rng), *value[at + 1 :]]


def harm_cells(delimiter: str) -> Harm:
    """Of a table: a cell replaced, a row shortened, lengthened or put in twice, a stray quote."""

    def harm(raw: bytes, rng: random.Random) -> bytes:
        rows = [line.split(delimiter) for line in raw.decode("utf-8", "replace").split("\n")]
        row = rng.choice(rows)
        at, change = rng.randrange(len(row)), rng.randrange(6)
        if change == 0:
            del row[at]
        elif change == 1:
            row.insert(at, row[at])
        elif change == 2:
            row[at] = '"' + row[at]
        elif change == 3:
            rows.insert(rng.randrange(len(rows)), list(row))
        else:
            value = rng.choice(_VALUES)
            row[at] = value if isinstance(value, str) else json.dumps(value)
        return "\n".join(map(delimiter.join, rows)).encode("utf-8", "surrogatepass")

    return harm


def harm_zip(raw: bytes, rng: random.Random) -> bytes:
    """A member damaged, packed or named differently; checksums are correct."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as packed:
        entries = [(e.filename, packed.read(e), e.compress_type) for e in packed.infolist()]
    chosen = rng.randrange(len(entries))
    with zipfile.ZipFile(out, "w") as packed:
        for number, (name, content, kind) in enumerate(entries):
            if number == chosen:
                change = rng.random()
                if change < 0.05:
                    continue
                if change < 0.15:
                    kind = zipfile.ZIP_DEFLATED
                elif change < 0.2:
                    name = rng.choice(("../x", "/etc/x", name + "x", "x"))
                elif change < 0.25:
                    content, kind = b"\x00" * rng.choice((1 << 16, 1 << 24)), zipfile.ZIP_DEFLATED
                else:
                    content = harm_bytes(content, rng)
            packed.writestr(name, content, kind)
    return out.getvalue()


def harm_matlab(raw: bytes, rng: random.Random) -> bytes:
    """A compressed variable unpacked, damaged and packed again."""
    size = struct.unpack_from("<I", raw, 132)[0]
    inside = harm_bytes(zlib.decompress(raw[136 : 136 + size]), rng)
    packed = zlib.compress(inside)
    return raw[:128] + struct.pack("<II", 15, len(packed)) + packed + raw[136 + size :]


def harm_safetensors(raw: bytes, rng: random.Random) -> bytes:
    """The header changed, its length right again."""
    size = struct.unpack_from("<Q", raw)[0]
    header = harm_json(raw[8 : 8 + size], rng)
    return struct.pack("<Q", len(header)) + header + raw[8 + size :]


# -- changes of meaning: well-formed files that say something else -------------------------------

_ID = re.compile(rb"(?<![\w.])(?:[\w/-]+\.(?:jpg|png)|[0-9]{1,12})(?![\w.])")


def harm_meaning(name: str) -> Harm | None:
    """The change of meaning for a file of this name, or `None` for a format that has none."""
    return next((h for ends, h in _MEANING.items() if name.lower().endswith(ends)), None)


def _other_form(raw: bytes, rng: random.Random) -> bytes:
    """An id in another written form, in its own place or in another id's."""
    found = list(_ID.finditer(raw))
    if not found:
        return raw
    one, place = rng.choice(found), rng.choice(found)
    place = one if rng.random() < 0.5 else place
    word = one.group()
    return raw[: place.start()] + rng.choice(_forms(word)) + raw[place.end() :]


def _forms(word: bytes) -> tuple[bytes, ...]:
    """Other written forms of an id, among them those that an engine may derive from it."""
    return (
        *(b"0" + word, b"000000" + word, word + b".jpg", b"a/" + word, word.upper(), b" " + word),
        *(word.rsplit(b".", 1)[0] + b".png", word.rsplit(b"/", 1)[-1], word + b".0", b"+" + word),
        *(word, b"00000 " + word, word + b"\\t2", word + b"\t2", word + b" 2", word + b"#1"),
    )


def harm_ids(raw: bytes, rng: random.Random) -> bytes:
    """One id in another written form, wherever it is in the file."""
    if not (found := [match.group() for match in _ID.finditer(raw)]):
        return raw
    word = rng.choice(found)
    form = rng.choice(_forms(word))
    return _ID.sub(lambda match: form if match.group() == word else match.group(), raw)


# -- numbers that are not known, and numbers that are equal on paper ------------------------------

_NUMBER = re.compile(rb"(?<![\w.\"'/-])-?[0-9]+(?:\.[0-9]+)?(?![\w.\"'-])")
_ABSENT_IS_ZERO = ("iscrowd", "sample")  # members of which a format says so
_UNKNOWN = (b"", b"nan", b"null", b"None", b"NA", b"-", b"?")


def harm_unknown(raw: bytes, rng: random.Random, known: bytes | None = None) -> bytes:
    """A number that is not known any more: empty, NaN, null; of JSON also a member that is gone.

    With `known`, that number in the same place.
    """
    found = [
        match
        for match in _NUMBER.finditer(raw)
        if not raw[: match.start()]
        .rstrip(b": ")
        .endswith(tuple(b'"%s"' % name.encode() for name in _ABSENT_IS_ZERO))
    ]
    if not found:
        return raw
    place, value = rng.choice(found), rng.choice(_UNKNOWN)
    if raw[:1] in b"[{" and value not in (b"null",):
        value = b"NaN" if value == b"nan" else b"null"
    return raw[: place.start()] + (value if known is None else known) + raw[place.end() :]


def harm_rounding(raw: bytes, rng: random.Random) -> bytes:
    """A number with a fraction as a sum leaves it: 0.30000000000000004; or two in other order."""
    found = [match for match in _NUMBER.finditer(raw) if b"." in match.group()]
    if not found:
        return raw
    place = rng.choice(found)
    number = float(place.group())
    near = rng.choice((np.nextafter(number, np.inf), np.nextafter(number, -np.inf)))
    return raw[: place.start()] + repr(float(near)).encode() + raw[place.end() :]


def _lines_moved(raw: bytes, rng: random.Random) -> bytes:
    """The lines in another order; the first one, which may be a header, stays."""
    first, *lines = raw.rstrip(b"\n").split(b"\n")
    rng.shuffle(lines)
    return b"\n".join([first, *lines]) + b"\n"


def _json_meaning(raw: bytes, rng: random.Random) -> bytes:
    """A list in another order, a key that only later records have, a key in other letters."""
    lines = raw.rstrip(b"\n").split(b"\n")
    try:
        values = [json.loads(line) for line in lines]
    except ValueError:
        lines, values = [], [json.loads(raw)]
    lists = [values] if lines and len(values) > 1 else _lists_in(values[0])
    records = rng.choice(lists) if lists else values
    change = rng.randrange(3)
    if change == 0:
        rng.shuffle(records)
    else:
        record = records[0] if change == 1 else rng.choice(records)
        if isinstance(record, dict) and record:
            key = rng.choice(list(record))
            value = record.pop(key)
            if change == 2:
                record[rng.choice((key.upper(), f" {key}", f"{key} ", f"{key}s"))] = value
    if lines:
        return b"\n".join(json.dumps(v).encode() for v in values) + b"\n"
    return json.dumps(values[0]).encode()


def _lists_in(value: Any) -> list[list[Any]]:
    inside = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(inside, list):
        return []
    own = [value] if isinstance(value, list) and len(value) > 1 else []
    return own + [found for member in inside for found in _lists_in(member)]


def _parquet_meaning(raw: bytes, rng: random.Random) -> bytes:
    """A column of another type, rows in another order or put in twice, a column twice as wide."""
    try:
        frame = pd.read_parquet(io.BytesIO(raw))
    except Exception:  # an export in another layout
        return raw
    column, change = rng.choice(list(frame.columns)), rng.randrange(8)
    values = frame[column]
    if change == 0:
        frame[column] = [str(v).encode() for v in values]
    elif change == 1:
        frame[column] = pd.Categorical([str(v) for v in values])
    elif change == 2:
        frame[column] = pd.Timestamp("2020-01-01")
    elif change == 3:
        frame[column] = [{"a": str(v)} for v in values]
    elif change == 4:
        frame[column] = [np.array([1.0, np.nan])] * len(frame)
    elif change == 5:
        frame[column] = values.astype("object").map(lambda v: v if isinstance(v, str) else str(v))
    elif change == 6:
        frame = frame.sample(frac=1.0, random_state=rng.randrange(1 << 30))
    else:
        frame = pd.concat([frame, frame.iloc[[rng.randrange(len(frame))]]])
    out = io.BytesIO()
    frame.to_parquet(out, index=change == 6)
    return out.getvalue()


def _wide_image(raw: bytes, rng: random.Random) -> bytes:
    """The picture upside down by its EXIF mark, in sixteen bits, or one row of many pixels."""
    try:
        picture = Image.open(io.BytesIO(raw))
        kind = picture.format or "PNG"
    except Exception:
        return raw
    out, change = io.BytesIO(), rng.randrange(3)
    if change == 0:
        exif = Image.Exif()
        exif[0x0112] = rng.randrange(10)
        picture.save(out, kind, exif=exif)
    elif change == 1:
        Image.fromarray(np.arange(64, dtype=np.uint16).reshape(8, 8) * 1000).save(out, "PNG")
    else:
        Image.new("L", (rng.choice((70_000, 10_000_000)), 1)).save(out, "PNG")
    return out.getvalue()


def _either(*harms: Harm) -> Harm:
    return lambda raw, rng: rng.choice(harms)(raw, rng)


_TEXT = _either(_other_form, harm_ids, _lines_moved, harm_rounding)
_MEANING: dict[tuple[str, ...], Harm] = {
    (".json", ".jsonl"): _either(_other_form, harm_ids, _json_meaning, harm_rounding),
    (".csv", ".tsv", ".txt"): _TEXT,
    (".parquet",): _parquet_meaning,
    (".jpg", ".png"): _wide_image,
}
