"""Where the packages and the configuration of this installation are.

`corruptions`, `experiments` and `reports` are common folder names: started with `python -m` from a
folder that has such packages, Python would import those. The command therefore pins the three
names to the installation that it belongs to. As a library, metaeval leaves imports alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from metaeval.errors import ConfigError

HERE = Path(__file__).resolve().parent
NAMES = frozenset({"corruptions", "experiments", "reports"})


class _Rooms(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in NAMES:
            return PathFinder.find_spec(fullname, [str(HERE.parent)], target)
        return None


def install() -> None:
    """Make the three names mean our packages, in this process, from now on."""
    if not any(isinstance(finder, _Rooms) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Rooms())


@contextmanager
def packages() -> Iterator[None]:
    """Within the block the three names mean our packages, for the library's own imports.

    Raises ConfigError where the program has imported a package of such a name that is not ours.
    """
    for name in NAMES & sys.modules.keys():
        where = next(iter(getattr(sys.modules[name], "__path__", [])), None)
        if where is None or Path(where).resolve() != HERE.parent / name:
            raise ConfigError(f"a package '{name}' is imported that is not metaeval's: {where}")
    rooms = _Rooms()
    sys.meta_path.insert(0, rooms)
    try:
        yield
    finally:
        sys.meta_path.remove(rooms)


def conf() -> Path:
    """The configuration folder: inside the package in a wheel, beside it in a checkout."""
    inside = HERE / "conf"
    return inside if inside.is_dir() else HERE.parent / "conf"


_added: list[Path] = []


def config_folders() -> list[Path]:
    """The folders of the configuration: metaeval's own, then those of `--config-dir`."""
    return [conf(), *_added]


def add_config_folder(folder: Path) -> None:
    """Let another folder have metrics, datasets and corruptions, too, in this process."""
    if not folder.is_dir():
        raise ConfigError(f"--config-dir: there is no folder {folder}")
    if folder.resolve() not in (conf().resolve(), *_added):
        _added.append(folder.resolve())
