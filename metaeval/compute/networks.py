"""Networks and datasets that are loaded once: for a run, or for all jobs of a sweep here."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

_kept: dict[Hashable, Any] | None = None
_blocks = 0  # that are on, in all threads
_lock = threading.Lock()


@contextmanager
def keep_networks() -> Iterator[None]:
    """Keep what is loaded by `load_once` until the block ends, and those of other threads."""
    global _kept, _blocks
    with _lock:
        _blocks += 1
        _kept = {} if _kept is None else _kept
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            _kept = _kept if _blocks else None


def load_once(key: Hashable, load: Callable[[], T], *, by_runs: bool = False) -> T:
    """What `load` gives: loaded once for a key within `keep_networks`, anew each time outside.

    `by_runs` is for what only several runs share, and is large: it is kept where `keep_networks`
    is within another one. Do not change a shared network; it is in eval mode.
    """
    if (kept := _kept) is None or (by_runs and _blocks < 2):
        return load()
    if key not in kept:
        kept[key] = load()
    return kept[key]


def release(*kinds: str) -> None:
    """Forget what was loaded under keys of these kinds: ("dataset", …), ("encoded sentences", …).

    For a process that goes on with other data.
    """
    for key in list(_kept or {}):
        if isinstance(key, tuple) and key[0] in kinds:
            del _kept[key]  # type: ignore[union-attr]
