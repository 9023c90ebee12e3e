"""Downloads that can be resumed, and are verified by their checksum.

Bytes go to `TARGET.part`, which a later call continues where the server can (HTTP Range); only a
file with the right checksum is renamed to TARGET.
"""

import contextlib
import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from metaeval.errors import InputError, MetaevalError
from metaeval.progress import progress_bar
from metaeval.readers.files import one_line, user_path

try:
    import fcntl
except ImportError:  # Windows: two processes may fetch the same file, the checksum still decides
    fcntl = None  # type: ignore[assignment]

_CHUNK = 1 << 18
_LENGTH = re.compile("[0-9]{1,18}")


class DownloadError(MetaevalError):
    """A download that did not end in a file with the right checksum."""


def download(
    url: str,
    target: Path,
    *,
    sha256: str | None = None,
    md5: str | None = None,
    most: int = 1 << 32,
    timeout: float = 30.0,
    attempts: int = 5,
    pause: float = 1.0,
) -> Path:
    """Download `url` to `target`, unless a file with the right checksum exists already.

    Parameters
    ----------
    url, target
        From where (http or https) to which file; its folder is made.
    sha256, md5
        Hexadecimal checksums; at least one, and every one given must match.
    most
        Bytes of the largest file that is accepted: a server that sends more is cut off.
    timeout
        Seconds without a byte after which a connection counts as cut.
    attempts
        How often in a row a connection may fail without bringing the file any further.
    pause
        Seconds before the first new attempt; doubled with every further one, up to 16 times.

    Raises DownloadError. What was fetched before a cut stays in `target.part` for the next call;
    a complete file with a wrong checksum is deleted.
    """
    expected = {name: value for name, value in (("sha256", sha256), ("md5", md5)) if value}
    if not expected:
        raise ValueError("a download needs a checksum")
    if _scheme(url) not in ("http", "https"):
        raise DownloadError(f"{url}: only http and https can be downloaded")
    target = user_path(target)
    part = target.with_name(target.name + ".part")
    try:
        if not _checksum_problem(target, expected):
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        with _lock(target):
            if not _checksum_problem(target, expected):  # another process has fetched it meanwhile
                return target
            if part.is_symlink():
                part.unlink()  # another's file, which is not written to
            fetch = partial(_fetch_all, url, part, most, timeout, attempts, pause)
            if problem := _problem_of_fetched(part, expected, fetch):
                part.unlink()
                raise DownloadError(
                    f"{url}: the file has a wrong checksum ({problem}) and was deleted; it has "
                    "changed at its source or on the way"
                )
            part.replace(target)
    except OSError as error:
        raise DownloadError(f"{target}: cannot be written ({error.strerror or error})") from None
    return target


def _problem_of_fetched(
    part: Path, expected: dict[str, str], fetch: Callable[[], bool]
) -> str | None:
    """Fetch what a file lacks; what is wrong with it then."""
    problem = _checksum_problem(part, expected)
    if problem is None:  # a process was killed just before the renaming
        return None
    resumed = fetch()
    problem = _checksum_problem(part, expected)
    if not (resumed and problem):
        return problem
    part.unlink()  # the beginning was of another version of the file, or damaged
    fetch()
    return _checksum_problem(part, expected)


def _fetch_all(
    url: str, part: Path, most: int, timeout: float, attempts: int, pause: float
) -> bool:
    """Fetch until the server has no more; whether the last connection continued an earlier one."""
    failures, furthest = 0, _size(part)
    while True:
        try:
            return _fetch_rest(url, part, most, timeout)
        except HTTPError as error:
            error.close()
            problem = f"the server says {error.code} {error.reason}"
            if error.code == 416 and _size(part):
                part.unlink()  # more bytes than the server has: begin again
            elif error.code not in (408, 425, 429) and error.code < 500:
                raise DownloadError(f"{url}: {problem}") from None
        except (_Cut, HTTPException, TimeoutError, ConnectionError) as error:
            problem = str(error) or type(error).__name__
        except OSError as error:
            if not hasattr(error, "reason"):
                raise  # the disk, not the network
            problem = f"no connection ({error.reason})"
        failures += 1
        if _size(part) > furthest:
            failures, furthest = 1, _size(part)
        if failures >= attempts:
            hint = f"; {_size(part):,} bytes are kept, the same command continues"
            raise DownloadError(f"{url}: {problem}{hint if _size(part) else ''}") from None
        time.sleep(pause * 2 ** min(failures - 1, 4))


def _scheme(url: str) -> str:
    """What an address begins with; DownloadError for one that cannot be read."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises ValueError for an invalid port
    except ValueError as error:
        raise DownloadError(f"{url}: is not an address ({one_line(error)})") from None
    return parts.scheme if parts.hostname else ""


class _Cut(Exception):
    """The connection ended before the file did."""


def _refusal(url: str, part: Path, most: int) -> DownloadError:
    """The error for a file of more bytes than are accepted; nothing of it stays."""
    part.unlink(missing_ok=True)
    return DownloadError(f"{url}: the server sends more than {most:,} bytes; check the address")


def _fetch_rest(url: str, part: Path, most: int, timeout: float) -> bool:
    """One connection, to the end of the file; whether it continued what was there."""
    have = _size(part)
    headers = {"User-Agent": "metaeval", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    with urlopen(Request(url, headers=headers), timeout=timeout) as response:
        ranged = response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        resumed = have > 0 and response.status == 206 and ranged
        if not resumed:
            have = 0  # the server does not support Range and sends everything
        length = response.headers.get("Content-Length")
        if length is not None and not _LENGTH.fullmatch(length):
            raise _Cut(f"the server names no length, but {one_line(length, 40)!r}")
        total = have + int(length) if length is not None else None
        if (total or 0) > most:
            raise _refusal(url, part, most)
        name = Path(urlsplit(url).path).name or url
        with (
            part.open("ab" if resumed else "wb") as file,
            progress_bar(
                desc=name,
                total=total,
                initial=have,
                unit="B",
                unit_scale=True,
            ) as bar,
        ):
            while have <= most and (chunk := _read_chunk(response)):
                have += len(chunk)
                file.write(chunk)
                bar.update(len(chunk))
    if have > most:
        raise _refusal(url, part, most)
    if total is not None and _size(part) < total:
        raise _Cut(f"the connection broke off after {_size(part):,} of {total:,} bytes")
    return resumed


def _read_chunk(response: HTTPResponse) -> bytes:
    try:
        return response.read(_CHUNK)
    except OSError as error:  # of the network: what the disk says must not be taken for it
        raise _Cut(str(error) or type(error).__name__) from None


@contextlib.contextmanager
def _lock(target: Path) -> Iterator[None]:
    """Wait until no other process downloads the same file."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)  # a link would be another's file
    with os.fdopen(os.open(target.with_name(target.name + ".lock"), flags, 0o644), "r+b") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)  # released with the file, also by a killed process
        yield


def _checksum_problem(path: Path, expected: dict[str, str]) -> str | None:
    """What is wrong with a file's checksums; `None` if nothing is."""
    if not path.is_file():
        return "no file"
    for name, value in expected.items():
        with path.open("rb") as file:
            # MD5 only identifies COCO's files, it does not protect them: allowed on FIPS machines
            new = partial(hashlib.new, name, usedforsecurity=False)
            digest = hashlib.file_digest(file, new).hexdigest()
        if digest != value.lower():
            return f"{name} {digest} instead of {value.lower()}"
    return None


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def data_folder(data: str | Path | None = None) -> Path | None:
    """The folder of data sets: `data` or, where none is given, METAEVAL_DATA; `None` without."""
    folder = data if data is not None else os.environ.get("METAEVAL_DATA")
    return user_path(folder) if folder else None


def given_path(path: str | Path, option: str, kind: str = "file") -> Path:
    """A file or folder that the user named, which must then be there."""
    given = user_path(path)
    if not (given.is_dir() if kind == "folder" else given.is_file()):
        raise InputError(f"{kind} not found; correct dataset.{option}", file=given)
    return given


def benchmark_file(
    file: str | Path | None,
    name: str,
    *,
    folder: str,
    source: str,
    root: str | Path | None = None,
    data: str | Path | None = None,
) -> Path:
    """A benchmark's file: the one that the user names, or that of this name (`find_files`)."""
    if file is not None:
        return given_path(file, "file")
    remedy = "give it as dataset.file"
    found = find_files([name], folder=folder, source=source, root=root, data=data, remedy=remedy)
    return found[name]


def find_files(
    names: Sequence[str],
    *,
    folder: str,
    source: str,
    root: str | Path | None = None,
    data: str | Path | None = None,
    remedy: str = "give the folder as dataset.root",
) -> dict[str, Path]:
    """The files of those names in `root` or, where none is given, in `folder` of the data folder.

    `data` is the data folder (default: METAEVAL_DATA), `source` says where the files come from.
    Raises InputError, in one line, naming all that are not there.
    """
    if root is not None:
        bases = [user_path(root)]
    else:
        top = data_folder(data)
        bases = [top / folder, top] if top else []
    places = [(name, base / name) for name in names for base in reversed(bases)]
    files = {name: path for name, path in places if path.is_file()}  # the first base wins
    if missing := [name for name in names if name not in files]:
        looked = ", ".join(map(str, bases)) or "METAEVAL_DATA (which is not set)"
        raise InputError(
            f"{', '.join(missing)}: not there; looked in {looked}. Get "
            f"{'it' if len(missing) == 1 else 'them'} from {source}, and {remedy}"
        )
    return files
