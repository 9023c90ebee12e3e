"""Code that is not metaeval's: how it is found, and a digest of it, so that an edit is noticed.

A score is kept for ever under its metric's signature. Our own code raises a version there when a
number changes; a user's metric does not do so. Therefore its signature carries a
digest of the code itself: of the module and of those next to it.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from metaeval.errors import ConfigError

OURS = frozenset({"metaeval"})
UNSAVED = "unsaved"
_CODE = frozenset({".py", ".pyx", ".so", ".pyd"})
_INSTALLED = frozenset({"site-packages", "dist-packages"})

# An object's code at its first use: a file that is edited later is not what
# runs. A module that is loaded again makes new objects.
_seen: WeakKeyDictionary[Any, str | None] = WeakKeyDictionary()


def imported(path: str, option: str) -> Any:
    """The object that "my_module.my_score" (or "my_module:my_score") names.

    Modules are looked for in the current folder too. `option` is what messages call it. Raises
    ConfigError where there is none, or where its module breaks while it is imported.
    """
    module, _, name = path.partition(":") if ":" in path else path.rpartition(".")
    if not module or not name:
        raise ConfigError(f"{option}: '{path}' is not of the form module.name")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    try:
        value = import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
    except ModuleNotFoundError as error:
        if error.name and f"{module}.".startswith(f"{error.name}."):
            raise ConfigError(
                f"{option}: no module named '{error.name}'; is its folder on PYTHONPATH?"
            ) from None
        raise ConfigError(f"{option}: {module} needs the module '{error.name}'") from None
    except AttributeError as error:
        raise ConfigError(f"{option}: {error}") from None
    except Exception as error:
        problem = " ".join(f"{type(error).__name__}: {error}".split())
        raise ConfigError(f"{option}: {module} fails on import ({problem})") from error
    return value


def source_digest(thing: Any) -> str | None:
    """12 hexadecimal digits of the source of a function, a class or an object's class.

    Of a class those of the classes that it inherits from count too (of installed packages other
    than its own only the version: torch has thousands of files). What belongs to metaeval or to
    Python has no effect: `None` where that is all. The source of a module is

    - in a package: all code files of the outermost package;
    - else: the code files in the module's folder, and the folders next to it that they import (of
      an installed module its own file alone).

    `UNSAVED` where some of it is in no file (a notebook cell, standard input): then nothing can
    show whether it has changed.
    """
    key = thing if inspect.isclass(thing) or inspect.isroutine(thing) else type(thing)
    if key not in _seen:
        _seen[key] = _digest(key)
    return _seen[key]


def _digest(thing: Any) -> str | None:
    owners = inspect.getmro(thing) if inspect.isclass(thing) else (thing,)
    names = dict.fromkeys(str(getattr(owner, "__module__", None)) for owner in owners)
    outside = [name for name in names if not _is_known(name)]
    if not outside:
        return None
    digest = hashlib.sha256()
    for name in outside:
        module = sys.modules.get(name)
        if module is None or not getattr(module, "__file__", None):
            return UNSAVED
        if name != outside[0] and (version := _installed_version(module)) is not None:
            digest.update(version.encode())
            continue
        for label, path in sorted(_files(module)):
            content = path.read_bytes()
            digest.update(f"{label}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:12]


def _is_known(module: str) -> bool:
    top = module.partition(".")[0]
    return top in OURS or (top in sys.stdlib_module_names and top != "__main__")


def _installed_version(module: ModuleType) -> str | None:
    """Name and version of the installed package that a module is of; `None` where it is of none."""
    if not _INSTALLED & set(Path(str(module.__file__)).parts):
        return None
    top = module.__name__.partition(".")[0]
    version = getattr(sys.modules.get(top), "__version__", None)
    return None if version is None else f"{top} {version}"


def _files(module: ModuleType) -> set[tuple[str, Path]]:
    """The code files of a module and its siblings, with their names below the outermost folder."""
    path = Path(str(module.__file__)).resolve()
    top = sys.modules.get(module.__name__.partition(".")[0], module)
    if folders := list(getattr(top, "__path__", [])):
        return {pair for folder in folders for pair in _below(Path(folder).resolve())}
    if path.parent.name in _INSTALLED:
        return {(path.name, path)}
    siblings = [p for p in path.parent.iterdir() if p.suffix in _CODE and p.is_file()]
    files = {(p.name, p) for p in {*siblings, path}}
    for name in {name for p in (*siblings, path) for name in _imported(p)} - OURS:
        folder = path.parent / name
        if folder.is_dir():
            files |= {(f"{name}/{label}", p) for label, p in _below(folder)}
    return files


def _below(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in folder.rglob("*"):
        if path.suffix in _CODE and path.is_file():
            yield path.relative_to(folder).as_posix(), path


def _imported(path: Path) -> set[str]:
    """The outermost names that a Python file imports; none of one that cannot be parsed."""
    if path.suffix != ".py":
        return set()
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names
