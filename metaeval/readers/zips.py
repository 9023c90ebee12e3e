"""Zip archives: single members, with their size checked before they are unpacked."""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from metaeval.errors import InputError
from metaeval.readers.files import native_errors, open_binary

MOST_MEMBERS = 200_000
_MOST_RATIO = 200  # what deflate reaches on text and numbers; a bomb has a thousand
_FOLDER = 0x10  # an attribute of MS-DOS, which PyTorch's own reader heeds
_FREE = 1 << 20  # bytes to which any member may unpack
_MOST_STORED = 64 << 30  # bytes of a member that is not compressed


def open_zip(path: Path, what: str = "zip archive") -> zipfile.ZipFile:
    """An archive, open; InputError where it is damaged or names a member twice."""
    open_binary(path).close()  # a regular file that can be read
    with native_errors(path, what, "is not a {}, or is cut short"):
        archive = zipfile.ZipFile(path)
        names, first = (
            archive.namelist(),
            min((e.header_offset for e in archive.filelist), default=0),
        )
        problem = f"it has {len(names):,} members" if len(names) > MOST_MEMBERS else ""
        problem = "a member occurs twice" if len(set(names)) != len(names) else problem
        problem = "unexpected bytes before its first member" if first > 0 else problem
        if problem:
            archive.close()
            raise ValueError(problem)
        return archive


def read_member(
    archive: zipfile.ZipFile, name: str, path: Path, most: int, *, stored: bool = False
) -> IO[bytes]:
    """A member, open for reading, if it unpacks to `most` bytes at most.

    With `stored` one that is compressed is refused. Its checksum is verified when its end is read.
    """
    try:
        entry = archive.getinfo(name)
    except KeyError:
        raise InputError("is missing", file=path, field=name) from None
    if entry.is_dir() or entry.external_attr & _FOLDER:
        raise InputError("is a folder, not a file", file=path, field=name)
    if stored and entry.compress_type != zipfile.ZIP_STORED:
        raise InputError("is compressed; save it uncompressed", file=path, field=name)
    if entry.file_size > most:
        raise InputError(
            f"unpacks to {entry.file_size:,} bytes, at most {most:,} are read",
            file=path,
            field=name,
        )
    if entry.header_offset + entry.compress_size > path.stat().st_size:
        raise InputError("is cut short", file=path, record=name)
    if entry.compress_type == zipfile.ZIP_STORED and entry.file_size != entry.compress_size:
        raise InputError("is damaged: it has two sizes", file=path, record=name)
    if entry.file_size > max(_FREE, _MOST_RATIO * entry.compress_size):
        raise InputError(
            f"unpacks from {entry.compress_size:,} bytes to {entry.file_size:,}: not read",
            file=path,
            field=name,
        )
    with native_errors(path, "", "cannot be read", name):
        return archive.open(entry)


def unpack_member(
    archive: zipfile.ZipFile,
    name: str,
    path: Path,
    target: Path,
    most: int,
    seen: Callable[[int], object] = lambda _: None,
) -> None:
    """Unpack a member into a file atomically; `seen` receives the number of bytes."""
    part = target.with_name(target.name + ".part")
    try:
        with read_member(archive, name, path, most) as stream, part.open("wb") as out:
            while block := _read(stream, path, name, 1 << 20):
                out.write(block)
                seen(len(block))
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _read(stream: IO[bytes], path: Path, name: str, n: int = -1) -> bytes:
    with native_errors(path, "", "is damaged", name):
        return stream.read(n)


def member_bytes(
    archive: zipfile.ZipFile, name: str, path: Path, most: int, *, stored: bool = False
) -> bytes:
    """All bytes of a member, with its checksum verified."""
    with read_member(archive, name, path, most, stored=stored) as file:
        return _read(file, path, name)


def check_members(archive: zipfile.ZipFile, path: Path) -> None:
    """Refuse an archive with a member that is compressed, damaged, or has another checksum."""
    for name in archive.namelist():
        with read_member(archive, name, path, _MOST_STORED, stored=True) as file:
            while _read(file, path, name, 1 << 20):
                pass
