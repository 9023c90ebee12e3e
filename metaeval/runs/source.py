"""Digests of code, so that an edit is noticed; and how code that is not metaeval's is found.

A score is kept for ever under its metric's signature. Our own code raises a version there when a
number changes; a user's metric does not do so. Therefore its signature carries a
digest of the code itself: of the module and of those that it imports. Statistics, pages and figures
are kept under a digest of metaeval's own code.
"""

import hashlib
import inspect
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.metadata import version
from modulefinder import ModuleFinder
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from metaeval.errors import ConfigError

_METAEVAL = Path(__file__).parents[1]
OURS = frozenset({"metaeval"})
UNSAVED = "unsaved"
_CODE = frozenset({".py", ".pyx", ".so", ".pyd"})
_PACKAGE = 5  # what ModuleFinder calls a folder with modules
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
    Python has no effect: `None` where that is all. The source of a module is its file and those of
    the modules that it imports, and so on, except what is installed; an import by a computed name
    is not seen. Of an installed module it is all code files of its package. Names and places of
    files have no effect.

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
    contents: set[bytes] = set()
    for name in outside:
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if module is None or not file or not Path(file).is_file():  # "<stdin>"
            return UNSAVED
        if name != outside[0] and (version := _installed_version(module)) is not None:
            contents.add(version.encode())
        else:
            contents |= {path.read_bytes() for path in _files(module)}
    digests = sorted(hashlib.sha256(content).digest() for content in contents)
    return hashlib.sha256(b"".join(digests)).hexdigest()[:12]


def _is_known(module: str) -> bool:
    top = module.partition(".")[0]
    return top in OURS or (top in sys.stdlib_module_names and top != "__main__")


def _is_installed(path: Path) -> bool:
    return not _installed_folders(tuple(sys.path)).isdisjoint(path.resolve().parents)


@cache
def _installed_folders(places: tuple[str, ...]) -> frozenset[Path]:
    """Those of Python's path where packages are installed, not others that are called so."""
    return frozenset(Path(p).resolve() for p in places if Path(p).name in _INSTALLED)


def _installed_version(module: ModuleType) -> str | None:
    """Name and version of the installed package that a module is of; `None` where it is of none."""
    if not _is_installed(Path(str(module.__file__))):
        return None
    top = module.__name__.partition(".")[0]
    version = getattr(sys.modules.get(top), "__version__", None)
    return None if version is None else f"{top} {version}"


def _files(module: ModuleType) -> set[Path]:
    """The code files of an installed module's package, or of a module and all that it imports."""
    path = Path(str(module.__file__)).resolve()
    if _is_installed(path):
        top = sys.modules.get(module.__name__.partition(".")[0], module)
        below = (p for folder in getattr(top, "__path__", ()) for p in Path(folder).rglob("*"))
        return {path} | {p for p in below if p.suffix in _CODE and p.is_file()}
    finder = _Finder()
    with suppress(ImportError, SyntaxError):
        if module.__package__:
            finder.import_hook(module.__name__)
        else:
            finder.run_script(str(path))
    modules: Any = finder.modules.values()
    files = (Path(m.__file__).resolve() for m in modules if m.__file__)
    return {path, *(file for file in files if file.suffix in _CODE)}


class _Finder(ModuleFinder):
    """Follows the imports of modules, except of Python's, metaeval's and installed ones."""

    def find_module(self, name: str, path: Any, parent: Any = None) -> Any:
        """As ModuleFinder's, also for packages without `__init__.py`; ImportError for a module that
        is not followed."""
        if _is_known(name if parent is None else f"{parent.__name__}.{name}"):
            raise ImportError(name)
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is None and spec.submodule_search_locations:
            where: Any = (None, next(iter(spec.submodule_search_locations)), ("", "", _PACKAGE))
        else:
            where = super().find_module(name, path, parent)
        if where[1] is None or _is_installed(Path(where[1])):
            raise ImportError(name)
        return where

    def load_package(self, fqname: str, pathname: str) -> Any:
        """As ModuleFinder's; a package without `__init__.py` has no code of its own."""
        with suppress(ImportError):
            return super().load_package(fqname, pathname)
        return self.modules[fqname]


def digest_of_code(rooms: Iterable[str], packages: Iterable[str]) -> str:
    """A digest of the code, data and templates in folders of metaeval ("stats"), and of the
    versions of packages.

    Experiment trust reads results and computes none: its folders are left out.
    """
    folders = ((_METAEVAL / room).resolve() for room in rooms)
    sources = (s for f in folders for p in ("*.py", "*.yaml", "*.j2") for s in sorted(f.rglob(p)))
    content = [f"{name} {version(name)}" for name in packages]
    read = ((s.name, s.read_bytes()) for s in sources if s.parent.name != "trust")
    content += [f"{name} {hashlib.sha256(text).hexdigest()}" for name, text in read]
    return hashlib.sha256("\n".join(content).encode()).hexdigest()
