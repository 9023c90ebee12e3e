"""Where the packages and the configuration of this installation are.

`corruptions`, `experiments` and `reports` are common folder names: started with `python -m` from a
folder that has such packages, Python would import those. The command therefore pins the three
names to the installation that it belongs to. As a library, metaeval leaves imports alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

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


def conf() -> Path:
    """The configuration folder: inside the package in a wheel, beside it in a checkout."""
    inside = HERE / "conf"
    return inside if inside.is_dir() else HERE.parent / "conf"
