"""The strict readings: each format read once more, as plainly as it can be, or not at all.

They share nothing with the project's readers. What one of them refuses, the project must refuse;
what the project accepts must be what they read.
"""

from __future__ import annotations

import base64
import json
import math
import os
import pickle
import re
import struct
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq


class Wrong(Exception):
    """The file is not as its format says."""


def require(good: Any) -> None:
    if not good:
        raise Wrong


def text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except ValueError:
        raise Wrong from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    require(len({key for key, _ in pairs}) == len(pairs))
    return dict(pairs)


def parsed(value: str) -> Any:
    try:
        return json.loads(value, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        raise Wrong from None


def json_lines(path: Path) -> list[dict[str, Any]]:
    rows = [parsed(line) for line in text(path).split("\n") if line.strip()]
    require(all(isinstance(row, dict) for row in rows))
    return rows


def csv_rows(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    """RFC 4180, character by character."""
    rows: list[list[str]] = [[]]
    cell, quoted, closed, begun = "", False, False, False
    chars = text(path)
    at = 0
    while at < len(chars):
        c = chars[at]
        at += 1
        if quoted:
            if c != '"':
                cell += c
            elif chars[at : at + 1] == '"':
                cell, at = cell + '"', at + 1
            else:
                quoted, closed = False, True
        elif c == '"' and not begun:
            quoted = begun = True
        elif c == delimiter or c in "\r\n":
            if c in "\r\n":
                at += chars[at - 1 : at + 1] == "\r\n"
                if begun or rows[-1]:
                    rows[-1].append(cell)
                rows.append([])
            else:
                rows[-1].append(cell)
            cell, closed, begun = "", False, False
        else:
            require(not closed)
            cell, begun = cell + c, True
    require(not quoted)
    if begun or rows[-1]:
        rows[-1].append(cell)
    require(rows[0])
    names = [name for name in rows[0] if name]
    require(len(set(names)) == len(names))
    require(all(len(row) in (0, len(rows[0])) for row in rows))
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:] if row]


def tab_rows(path: Path, width: int) -> list[list[str]]:
    rows = [line.removesuffix("\r").split("\t") for line in text(path).split("\n") if line.strip()]
    require(all(len(row) == width for row in rows))
    return rows


def records(path: Path) -> list[dict[str, Any]]:
    """The records of a JSON list."""
    out = parsed(text(path))
    require(isinstance(out, list) and all(isinstance(row, dict) for row in out))
    return list(out)


def rows(path: Path, *fields: str) -> list[dict[str, Any]]:
    """The records of a table, whatever its kind: .json, .jsonl, .csv, .tsv or .parquet.

    Each has these fields.
    """
    if path.suffix == ".jsonl":
        out = json_lines(path)
    elif path.suffix == ".json":
        out = parsed(text(path))
        if isinstance(out, dict):  # one list, or COCO's
            listed = {key: each for key, each in out.items() if isinstance(each, list)}
            require("annotations" in listed or len(listed) == 1)
            out = listed.get("annotations", next(iter(listed.values())))
        require(isinstance(out, list) and all(isinstance(row, dict) for row in out))
    elif path.suffix in (".csv", ".tsv"):
        out = csv_rows(path, "," if path.suffix == ".csv" else "\t")
    else:
        out = apart(lambda: parquet_rows(path))
    require(out and all(set(fields) <= set(row) for row in out))
    return out


def members(path: Path) -> list[dict[str, Any]]:
    """The records of a JSON list, or of an object that holds records by their names."""
    value = parsed(text(path))
    require(isinstance(value, dict | list))
    listed = list(value.values()) if isinstance(value, dict) else value
    require(all(isinstance(record, dict) for record in listed))
    return listed


def caption(value: Any) -> str:
    """A caption as it is tidied: control characters and runs of white space become a space."""
    require(isinstance(value, str))
    require(not any("\ud800" <= c <= "\udfff" for c in value))
    plain = (" " if c == "\ufeff" or unicodedata.category(c) == "Cc" else c for c in value)
    return " ".join("".join(plain).split())


def number(value: Any, low: float = -math.inf, high: float = math.inf) -> float:
    if isinstance(value, str):
        require(re.fullmatch(r"\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*", value))
    require(isinstance(value, int | float | str) and not isinstance(value, bool))
    try:
        out = float(value)
    except (OverflowError, ValueError):
        raise Wrong from None
    require(math.isfinite(out) and low <= out <= high)
    return out


def cell_list(value: Any) -> Any:
    """A list in a cell: JSON, or strings in Python's form, each after a comma."""
    if not isinstance(value, str):
        return value
    require(not re.match(r"""\s*(array\(|Index\(|set\(|[({<]\s*['"])""", value))
    if not value.strip().startswith("["):
        return value
    try:
        return parsed(value.strip())
    except Wrong:
        pass
    import ast

    try:
        tree = ast.parse(value.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Wrong from None
    require(isinstance(tree, ast.List))
    out, last = [], -1
    for item in tree.elts:
        require(isinstance(item, ast.Constant) and isinstance(item.value, str))
        source = ast.get_source_segment(value.strip(), item) or ""
        require(not re.search(r"""(?<!\\)['"]\s+['"]""", source) and "''" not in source[1:-1])
        require(item.col_offset > last)
        last = item.col_offset
        out.append(item.value)
    return out


def texts(value: Any) -> list[str]:
    """The captions in a cell."""
    value = cell_list(value)
    listed = [] if value is None or value == "" else value
    listed = [listed] if isinstance(listed, str) else listed
    require(isinstance(listed, list))
    return [caption(text) for text in listed]


def ids(records: Any) -> list[Any]:
    require(isinstance(records, list) and all(isinstance(r, dict) for r in records))
    values = [r.get("id") for r in records]
    kinds = {type(v) for v in values}
    require(len(kinds) <= 1 and kinds <= {int, str} and len(set(values)) == len(values))
    require(all(not isinstance(v, int) or -(2**63) <= v < 2**63 for v in values))
    return values


def image_id(value: Any) -> str:
    """An id of a table: a whole number of 64 bits, or a printable text that is not empty."""
    require(type(value) in (int, str))
    require(-(2**63) <= value < 2**63 if type(value) is int else value.strip())
    require(str(value).isprintable())
    return str(value)


def name(value: Any) -> str:
    """A name as tables hold it: one line of 1 to 200 printable characters."""
    require(isinstance(value, str) and value.strip() and value.isprintable() and len(value) <= 200)
    return str(value)


def compared_id(image: str) -> str:
    """An id as it is compared across files: without folder, suffix and leading zeros."""
    base = image.replace("\\", "/").split("/")[-1]
    stem, dot, suffix = base.rpartition(".")
    if dot and suffix.lower() in {
        *("jpg", "jpeg", "png", "webp", "bmp", "gif", "tif", "tiff", "npy", "npz"),
    }:
        base = stem
    if base.startswith("COCO_") and base[5:].split("_")[-1].isdigit() and base.isascii():
        base = base[5:].split("_")[-1]
    return (base.lstrip("0") or "0") if base.isascii() and base.isdigit() else base


def coco_captions(path: Path) -> Any:
    value = parsed(text(path))
    require(isinstance(value, dict))
    captions: dict[Any, list[str]] = {i: [] for i in sorted(ids(value.get("images")))}
    annotations = value.get("annotations")
    for _, record in sorted(zip(ids(annotations), annotations, strict=True), key=lambda x: x[0]):
        require(type(record.get("image_id")) in (int, str) and record["image_id"] in captions)
        require(caption(record.get("caption")))
        captions[record["image_id"]].append(caption(record["caption"]))
    return list(captions.items())


def coco_objects(path: Path) -> Any:
    value = parsed(text(path))
    require(isinstance(value, dict))
    sizes = {}
    for i, image in zip(ids(value.get("images")), value["images"], strict=True):
        sizes[i] = [number(image.get(side), 1e-300) for side in ("width", "height")]
        require(all(not isinstance(image[side], str) for side in ("width", "height")))
    names = {}
    for i, category in zip(ids(value.get("categories")), value["categories"], strict=True):
        require(isinstance(category.get("name"), str) and category["name"].strip())
        names[i] = " ".join(category["name"].split())
    out: dict[Any, Any] = {i: [] for i in sizes}
    annotations = value.get("annotations")
    for _, record in sorted(zip(ids(annotations), annotations, strict=True), key=lambda x: x[0]):
        image, category, box = record.get("image_id"), record.get("category_id"), record.get("bbox")
        require(type(image) in (int, str) and image in sizes)
        require(type(category) in (int, str) and category in names)
        require(record.get("iscrowd", 0) in (0, 1) and isinstance(record.get("iscrowd", 0), int))
        require(isinstance(box, list) and len(box) == 4)
        require(not any(isinstance(v, str) for v in box))
        x, y, w, h = (number(v) for v in box)
        require(w >= 0 and h >= 0)
        width, height = sizes[image]
        corners = [x / width, y / height, (box[0] + box[2]) / width, (box[1] + box[3]) / height]
        corners = [min(max(c, 0.0), 1.0) for c in corners]
        if not record.get("iscrowd", 0) and corners[0] < corners[2] and corners[1] < corners[3]:
            out[image].append([names[category], *corners])
    return list(out.items())


def systems(path: Path, known: tuple[Any, ...]) -> Any:
    value = records(path)
    require(value)
    images = [r.get("image_id") for r in value]
    require(all(type(i) in (int, str) and i in known for i in images))
    require(len(set(images)) == len(images))
    return [(r["image_id"], caption(r.get("caption"))) for r in value]


@dataclass(frozen=True)
class JudgedFields:
    """The fields of a table of judged captions, one record a caption.

    Attributes
    ----------
    image, candidate
        The id of the image and the caption.
    ratings
        Fields with a number in [`low`, `high`], or with a list of such numbers.
    references, system
        The captions to compare with, and who wrote the candidate; `None` where no field has them.
    """

    image: str = "image_id"
    candidate: str = "candidate"
    ratings: tuple[str, ...] = ("human",)
    low: float = -math.inf
    high: float = math.inf
    references: str | None = "references"
    system: str | None = "system"

    def of(self, records: list[dict[str, Any]]) -> list[Any]:
        """Image, caption, references, ratings and system of each record that is rated."""
        out = []
        for record in records:
            require({self.image, self.candidate, *self.ratings} <= set(record))
            image = image_id(record[self.image])
            cells = [record[name] for name in self.ratings]
            if any(cell is None or cell == "" or cell == [] or cell != cell for cell in cells):
                require(isinstance(record[self.candidate], str))
                continue
            lists = [v if isinstance(v, list) else [v] for v in map(cell_list, cells)]
            ratings = [number(v, self.low, self.high) for values in lists for v in values]
            references = texts(record.get(self.references)) if self.references else []
            system = record.get(self.system) if self.system else None
            require(system is None or isinstance(system, str))
            out.append((
                image, caption(record[self.candidate]), references, ratings,
                name(system) if system else None,
            ))  # fmt: skip
        return out


def judged(**fields: Any) -> Callable[[Path], list[Any]]:
    """The strict reading of a table of judged captions; see `JudgedFields`."""
    return lambda path: JudgedFields(**fields).of(rows(path))


def word_marks(path: Path) -> list[Any]:
    """Captions with marked words in place of ratings: image, caption, references, rating, marks."""
    out = []
    for record in rows(path):
        require("words" in record and "human" not in record)
        image, text, references, *_ = JudgedFields(ratings=(), system=None).of([record])[0]
        entries = cell_list(record["words"])
        require(isinstance(entries, list))
        wrong = []
        for word, entry in zip(text.split(), entries, strict=len(entries) == len(text.split())):
            said, mark = entry if isinstance(entry, list) else (word, entry)
            require(type(mark) in (bool, int) and mark in (0, 1) and said == word)
            wrong.append(bool(mark))
        require(len(entries) == len(text.split()))
        out.append((image, text, references, [not any(wrong)], wrong))
    return out


def flickr8k(folder: Path, crowd: bool) -> Any:
    captions: dict[str, str] = {}
    by_image: dict[str, list[str]] = {}
    for name, words in tab_rows(folder / "Flickr8k.token.txt", 2):
        require("#" in name and name not in captions)
        captions[name] = caption(words)
        by_image.setdefault(name.split("#")[0], []).append(captions[name])
    file = "CrowdFlowerAnnotations.txt" if crowd else "ExpertAnnotations.txt"
    out = []
    for image, name, *cells in tab_rows(folder / file, 5):
        require(image in by_image and name in captions)
        if crowd:
            share, yes, no = number(cells[0], 0, 1), number(cells[1], 0), number(cells[2], 0)
            require(yes == int(yes) and no == int(no) and yes + no >= 1)
            require(abs(share - yes / (yes + no)) <= 1e-5)
            ratings = [share]
        else:
            ratings = [number(c, 1, 4) for c in cells]
            require(all(r == int(r) for r in ratings))
        out.append((image, captions[name], by_image[image], ratings, None))
    return out


def thumb(folder: Path) -> Any:
    references: dict[str, list[str]] = {}
    for row in json_lines(folder / "mscoco_references.json"):
        image = image_id(row.get("seg_id"))
        require(image not in references and isinstance(row.get("refs"), list))
        references[image] = [caption(r) for r in row["refs"]]
    records = json_lines(folder / "mscoco_THumB-1.0.jsonl")
    fields = JudgedFields("seg_id", "hyp", ("human_score",), high=5, references=None, system="SYS")
    out = fields.of(records)
    require(len(out) == len(records))  # each is rated
    require(all(isinstance(row.get("image"), str) and row["SYS"] for row in records))
    require(all(image in references for image, *_ in out))
    return [(image, text, references[image], *rest) for image, text, _, *rest in out]


def vectors(rows: dict[str, list[float]], wanted: list[str]) -> Any:
    out = {}
    for word in wanted:
        row = np.array(rows.get(word, []), dtype=np.float64)
        require(np.isfinite(row).all())
        if row.any():
            out[word] = (row / np.sqrt((row**2).sum())).tolist()
    return out


def vectors_text(path: Path, wanted: list[str]) -> Any:
    lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    head = lines[0].split()
    counted = len(head) == 2 and all(f.isdigit() for f in head)
    if counted:
        lines = lines[1:]
    width = int(head[1]) if counted else len(head) - 1
    require(width >= 1)
    rows: dict[str, list[float]] = {}
    n = 0
    number = re.compile(rb"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?(nan|inf)")
    for line in lines:
        fields = line.split()
        if not fields:
            continue
        require(len(fields) > width)
        parts = fields[:-width]
        require(len(parts) == 1 or not number.fullmatch(parts[-1]))
        n += 1
        word = line[: line.rindex(parts[-1] + fields_after(line, width)) + len(parts[-1])].strip()
        name = word.decode("utf-8", "surrogateescape")
        if name in wanted and name not in rows:
            require(all(number.fullmatch(f) for f in fields[-width:]))
            rows[name] = np.array(fields[-width:], dtype=np.float32).tolist()
    require(n and (not counted or n == int(head[0])))
    return vectors(rows, wanted)


def fields_after(line: bytes, width: int) -> bytes:
    """The end of a line from the white space before its last fields on."""
    match = re.search(rb"(\s+\S+){%d}\s*$" % width, line)
    require(match)
    return match[0] if match else b""


def vectors_binary(path: Path, wanted: list[str]) -> Any:
    raw = path.read_bytes()
    head, found, rest = raw.partition(b"\n")
    fields = head.split()
    require(found and len(fields) == 2 and all(f.isdigit() and len(f) < 19 for f in fields))
    n, width = map(int, fields)
    require(n and width)
    rows: dict[str, list[float]] = {}
    for _ in range(n):
        word, space, rest = rest.partition(b" ")
        require(space and len(rest) >= 4 * width)
        values, rest = rest[: 4 * width], rest[4 * width :]
        require(b"\n" not in word.lstrip(b"\n"))
        name = word.lstrip(b"\n").decode("utf-8", "surrogateescape")
        rows.setdefault(name, list(struct.unpack(f"<{width}f", values)))
    require(not rest.strip())
    return vectors(rows, wanted)


def regions_tsv(path: Path, wanted: set[str]) -> Any:
    out = {}
    for line in path.read_bytes().split(b"\n"):
        fields = line.decode("ascii", "replace").rstrip("\r").split("\t")
        image = compared_id(fields[0].strip())
        if image not in wanted or image in out:
            continue
        require(len(fields) == 6 and all(re.fullmatch("[0-9]+", f) for f in fields[1:4]))
        n = int(fields[3])
        try:
            raw = base64.b64decode(fields[5], validate=True)
            boxes = base64.b64decode(fields[4], validate=True)
        except ValueError:
            raise Wrong from None
        require(n and int(fields[1]) and int(fields[2]) and len(boxes) == 16 * n)
        require(raw and len(raw) % (4 * n) == 0)
        out[image] = np.frombuffer(raw, "<f4").reshape(n, -1)
    return out


def safetensors(path: Path) -> dict[str, Any]:
    """The tensors of float32 and float16 by the format's description."""
    raw = path.read_bytes()
    require(len(raw) >= 8)
    size = struct.unpack_from("<Q", raw)[0]
    require(8 + size <= len(raw))
    try:
        header = parsed(raw[8 : 8 + size].decode("utf-8"))
    except ValueError:
        raise Wrong from None
    require(isinstance(header, dict))
    out = {}
    for name, facts in header.items():
        if name == "__metadata__":
            continue
        kinds = {"F32": "<f4", "F16": "<f2", "U64": "<u8", "I64": "<i8", "F64": "<f8"}
        require(isinstance(facts, dict) and facts.get("dtype") in kinds)
        begin, end = facts["data_offsets"]
        data = np.frombuffer(raw[8 + size + begin : 8 + size + end], kinds[facts["dtype"]])
        out[name] = data.reshape(facts["shape"])
    return out


def parquet_rows(path: Path) -> list[dict[str, Any]]:
    """The rows by pyarrow and pandas, without what pandas notes of its own in the file."""
    frame = pq.read_table(path).replace_schema_metadata(None).to_pandas()
    rows: list[dict[str, Any]] = frame.to_dict("records")
    return [
        {str(k): v.tolist() if isinstance(v, np.ndarray) else v for k, v in row.items()}
        for row in rows
    ]


class Undecided(Exception):
    """Another library refuses the file, perhaps for the sake of what the project does not read."""


class _Failed(NamedTuple):
    why: str


def apart(read: Callable[[], Any]) -> Any:
    """What a reader of another library gives, in a process of its own: it may take its life.

    Raises Undecided where it refuses the file, or dies of it.
    """
    out, into = os.pipe()
    child = os.fork()
    if not child:
        os.close(out)
        try:
            answer = pickle.dumps(read())
        except BaseException as error:
            answer = pickle.dumps(_Failed(repr(error)))
        with os.fdopen(into, "wb") as pipe:
            pipe.write(answer)
        os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    value = pickle.loads(answer) if status == 0 else _Failed(f"died ({status})")  # our own child
    if isinstance(value, _Failed):
        raise Undecided(value.why)
    return value


def in_a_process(read: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """A strict reading by another library: `apart`."""
    return lambda path: apart(lambda: read(path))
