"""What an earlier run computed from the same content by the same code, from the content store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import version
from pathlib import Path

from metaeval.runs.files import digest, file_sha256
from metaeval.runs.store import Store

_METAEVAL = Path(__file__).parents[1]
_STORE: ContextVar[Store | None] = ContextVar("store", default=None)


@contextmanager
def remembering(store: Store) -> Iterator[None]:
    """Within the block, `remember` looks into this store."""
    token = _STORE.set(store)
    try:
        yield
    finally:
        _STORE.reset(token)


def remember(code: str, content: bytes | str, compute: Callable[[], bytes]) -> bytes:
    """What `compute` returns, from the store where it was computed before; computed anew outside of
    a block `remembering`.

    `code` names what computes, with its `digest_of_code`; `content` is all else that it depends on.
    Empty bytes are not kept.
    """
    store = _STORE.get()
    if store is None:
        return compute()
    key = digest(content)
    known = store.get_many(code, [key]).get(key)
    if known is None:
        known = compute()
        if known:
            store.put_many(code, {key: known})
    return known


def digest_of_code(rooms: Iterable[str], packages: Iterable[str]) -> str:
    """A digest of the code, data and templates in folders of metaeval ("stats"), and of the
    versions of packages.

    Experiment trust reads results and computes none: its folders are left out.
    """
    folders = ((_METAEVAL / room).resolve() for room in rooms)
    sources = (s for f in folders for p in ("*.py", "*.yaml", "*.j2") for s in sorted(f.rglob(p)))
    content = [f"{name} {version(name)}" for name in packages]
    content += [f"{s.name} {file_sha256(s)}" for s in sources if s.parent.name != "trust"]
    return digest("\n".join(content)).hex()
