"""Java services that outlive the metric that began them: shared by the jobs of a sweep.

A JVM with METEOR's references or SPICE's models takes seconds to start. Within
`shared_java_services` a service that is given back stays, and the next metric that needs the same
service takes it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar


class Service(Protocol):
    """Something that runs until it is closed."""

    @property
    def is_running(self) -> bool:
        """Whether it can be asked."""
        ...

    def close(self) -> None:
        """End it. Idempotent."""
        ...


S = TypeVar("S", bound=Service)


@dataclass
class _Kept(Generic[S]):
    key: Hashable
    service: S
    in_use: bool


_kept: dict[str, list[_Kept[Service]]] | None = None


@contextmanager
def shared_java_services() -> Iterator[None]:
    """Keep services that are given back, one of a kind, until the block ends; then end all."""
    global _kept
    before, _kept = _kept, {} if _kept is None else _kept
    try:
        yield
    finally:
        if before is None:
            for kept in [k for of_kind in _kept.values() for k in of_kind]:
                kept.service.close()
        _kept = before


def borrow(kind: str, key: Hashable, start: Callable[[], S]) -> S:
    """A service of this kind: the one that is there for the same key, else a new one.

    `key` names all that the service depends on. A service in use is not shared; one of another
    key that is not in use is ended, as its memory is needed.
    """
    if _kept is None:
        return start()
    for kept in list(_kept.setdefault(kind, [])):
        if kept.in_use:
            continue
        if kept.key == key and kept.service.is_running:
            kept.in_use = True
            return kept.service  # type: ignore[return-value]
        kept.service.close()
        _kept[kind].remove(kept)
    service = start()
    _kept[kind].append(_Kept(key, service, True))
    return service


def give_back(service: Service) -> None:
    """Return a borrowed service; outside `shared_java_services`, or where it broke, end it."""
    for of_kind in (_kept or {}).values():
        for kept in of_kind:
            if kept.service is service:
                kept.in_use = False
                return
    service.close()
