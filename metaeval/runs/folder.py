"""The folder of a run: a new one for each, one run at a time, and which files in it are the run's.

`run.json` lists the files that runs wrote there; only these are ever removed. While a run writes,
`.lock` is locked, and its lines are the files written so far, for the next run to know them if this
one is killed. The lock is the kernel's (`flock`): it ends with its process, however that ends, so
a stale lock cannot remain. A file system without locks leaves the folder unlocked.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from metaeval.errors import ConfigError, InputError
from metaeval.readers.files import read_json
from metaeval.readers.yaml_text import read_yaml

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

RUN = "run.json"
FILES = "files"  # its field
LOCK = ".lock"
MULTIRUN = "multirun.yaml"  # in which Hydra keeps the configuration of a sweep
_AROUND = frozenset({"metaeval.log", "exit_code.json"})  # written by the command around a run
# inputs of a run that are in its folder: paid answers, and records given to `metaeval.run`
_LASTING = frozenset({"answers.parquet", "dataset.jsonl"})
_OTHER = "give another folder: hydra.run.dir=FOLDER"


def new_folder(path: Path) -> Path:
    """Make the folder of this name, or with -2, -3 … behind it where there is one; return it."""
    for k in count(2):
        try:
            path.mkdir(parents=True)
            return path
        except FileExistsError:
            path = path.with_name(f"{path.name.removesuffix(f'-{k - 1}')}-{k}")
        except OSError as error:
            raise InputError(f"cannot be made ({error.strerror})", file=path) from None
    raise AssertionError("there is always another number")


class RunFolder:
    """A folder that this process has locked; `path` is absolute.

    With `replace`, files that no run wrote may be replaced, too.
    """

    def __init__(self, path: Path, replace: bool) -> None:
        self.given, self.path, self._replace = path, Path(os.path.abspath(path)), replace
        self._is_new = not self.path.exists()
        self._lock = _lock(self.path)
        self._listed = _listed(self.path)
        written = os.read(self._lock, os.fstat(self._lock).st_size).decode(errors="replace")
        names = [*(self._listed or ()), *written.splitlines()]
        self._before = {name for name in names if self._is_inside(name)}
        self._written: set[str] = set()

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files that runs wrote and that are there."""
        names = sorted(self._before | self._written)
        return tuple(name for name in names if (self.path / name).is_file())

    def require_own(self, texts: Iterable[str] = (), experiment: str | None = None) -> None:
        """Raise ConfigError for a folder with files and without a `run.json` that lists its files,
        where one of `texts`, of the configuration, names files that `clear` removes, and for a
        folder with the finished run of another experiment than this one."""
        info = _info(self.path)
        there = info["experiment"] if isinstance(info.get("experiment"), dict) else {}
        is_other = there.get("name", experiment) != experiment
        if experiment and is_other and info.get("status") == "finished":
            name = there["name"]
            problem = f"holds a finished run of experiment={name}, which this run would replace"
            raise ConfigError(f"{self.path}: {problem}; {_OTHER}")
        if self._listed is None:
            known = {*_AROUND, *(name.partition("/")[0] for name in self._before)}
            for path in sorted(self.path.iterdir()):
                if not path.name.startswith(".") and path.name not in known:
                    problem = f"holds '{path.name}', and no {RUN} that lists what a run wrote"
                    raise ConfigError(f"{self.path}: {problem}; {_OTHER}")
        removed = [self.path / name for name in self._before - _LASTING]
        for text in filter(None, texts):
            given = Path(os.path.abspath(os.path.expanduser(text)))
            of_run = given.is_relative_to(self.path)
            if of_run and any(each.is_relative_to(given) for each in removed):
                problem = f"'{text}' is read by this run, which would remove it"
                raise ConfigError(f"{self.path}: {problem}; {_OTHER}")

    def _is_inside(self, name: str) -> bool:
        """Whether a name is that of a file below the folder; a list from elsewhere may say more."""
        here = self.path.resolve()
        try:
            path = (here / name).resolve()
            return path.is_relative_to(here) and not path.is_dir()
        except (OSError, RuntimeError, ValueError):  # too long, a loop of links, a null byte
            return False

    def name_of(self, path: Path) -> str:
        """The name of a file in the folder, as `files` has it."""
        return Path(os.path.abspath(path)).relative_to(self.path).as_posix()

    def wrote(self, path: Path) -> bool:
        """Whether a run wrote a file in the folder."""
        name = self.name_of(path)
        return name in self._written or name in self._before

    def add(self, path: Path) -> None:
        """Note a file before it is written; InputError for one there that no run wrote."""
        name = self.name_of(path)
        if name in self._written or name == RUN:
            return
        foreign = self._listed is not None and not self._replace and not self.wrote(path)
        if foreign and path.exists():
            raise InputError(f"is there, and no run wrote it; move it, or {_OTHER}", file=path)
        os.write(self._lock, f"{name}\n".encode(errors="replace"))
        self._written.add(name)

    def clear(self, keep: str | None = None) -> None:
        """Remove what earlier runs wrote, and what a killed one left half-written.

        What this run has written stays, and lasting inputs, and what is in the folder `keep`.
        """
        for name in self._before - self._written - _LASTING:
            if keep is None or not name.startswith(f"{keep}/"):
                _remove(self.path / name)
        names = {RUN, *self._before}
        for folder in sorted({(self.path / name).parent for name in names}, reverse=True):
            for path in folder.glob(".*.*"):  # a temporary file of `files.atomic`
                whole = path.with_name(path.name[1:].rpartition(".")[0])
                if whole.relative_to(self.path).as_posix() in names:
                    _remove(path)
            if folder != self.path:
                with contextlib.suppress(OSError):  # it is not there, or holds something else
                    folder.rmdir()

    def release(self) -> None:
        """Unlock the folder. `.lock` stays where it alone knows of a file of the run."""
        listed = _listed(self.path)
        of_older_version = listed is None and (self.path / RUN).exists()
        if of_older_version or set(self.files) <= (listed or set()):
            (self.path / LOCK).unlink(missing_ok=True)
        if self._is_new:
            with contextlib.suppress(OSError):  # of a run that was refused it is empty
                self.path.rmdir()
        os.close(self._lock)


_locked: list[RunFolder] = []  # by this process, the outermost first


@contextmanager
def lock(path: Path, replace: bool = False) -> Iterator[RunFolder]:
    """Lock the folder of a run, and make it where there is none; `replace` as of `RunFolder`.

    Raises InputError where another run has it, or where nothing can be written.
    """
    _locked.append(folder := RunFolder(path, replace))
    try:
        yield folder
    finally:
        _locked.remove(folder)
        folder.release()


def add(path: Path) -> None:
    """Note a file before it is written, where it is in a locked folder."""
    if (folder := _folder_of(path)) is not None:
        folder.add(path)


def wrote(path: Path) -> bool:
    """Whether a file is in a locked folder and a run wrote it."""
    return (folder := _folder_of(path)) is not None and folder.wrote(path)


def _folder_of(path: Path) -> RunFolder | None:
    full = os.path.abspath(path)
    return next((f for f in reversed(_locked) if Path(full).is_relative_to(f.path)), None)


def _lock(path: Path) -> int:
    """The descriptor of the locked `.lock` of a folder."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        while True:
            descriptor = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            try:
                if fcntl is not None:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                raise InputError(
                    f"another run is writing into this folder; wait for it, or {_OTHER}", file=path
                ) from None
            except OSError:
                pass  # this file system has no locks
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(path / LOCK)):
                    return descriptor
            os.close(descriptor)  # of a run that has just ended, and removed it
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", file=path) from None


def require_same_sweep(folder: Path, overrides: Sequence[str]) -> None:
    """Raise ConfigError for a sweep's folder with runs, unless the same sweep made them: they would
    count as jobs of this one."""
    config = folder / MULTIRUN
    theirs: Any = None
    if config.is_file():
        with contextlib.suppress(InputError, AttributeError):  # not written by Hydra
            theirs = read_yaml(config).get("hydra", {}).get("overrides", {}).get("task")
    if theirs != list(overrides) and any(folder.rglob(RUN)):
        problem = "holds runs that this sweep would count as its jobs"
        raise ConfigError(f"{folder}: {problem}; give another folder: hydra.sweep.dir=FOLDER")


def _info(folder: Path) -> dict[str, Any]:
    """The content of `run.json`; empty where it is not there or not a record."""
    with contextlib.suppress(InputError):
        content = read_json(folder / RUN)[0]
        return content if isinstance(content, dict) else {}
    return {}


def _listed(folder: Path) -> set[str] | None:
    """The files that `run.json` lists; `None` where it is not there, or lists none."""
    names = _info(folder).get(FILES)
    return {str(name) for name in names} if isinstance(names, list) else None


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot be removed ({error.strerror})", file=path) from error
