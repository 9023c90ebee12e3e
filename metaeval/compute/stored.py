"""Values that are computed once and kept in a store."""

from collections.abc import Callable, Iterable, Sequence

from metaeval.progress import progress_bar
from metaeval.runs.store import Store


def compute_missing(
    store: Store | None,
    namespace: str,
    keys: Sequence[bytes],
    compute: Callable[[list[int]], Iterable[bytes | None]],
    *,
    chunk: int,
    desc: str,
    unit: str = "",
) -> dict[bytes, bytes]:
    """The values of keys: those that the store has, and the others, computed and then kept.

    `compute` gives the value of the key at each of some positions, `None` for one that is not kept.
    It is called for `chunk` keys at a time: what a killed run may lose. `desc` and `unit` name the
    work in the progress bar.
    """
    known = store.get_many(namespace, list(dict.fromkeys(keys))) if store is not None else {}
    first = {key: k for k, key in reversed(list(enumerate(keys)))}
    todo = sorted(k for key, k in first.items() if key not in known)
    chunks = range(0, len(todo), chunk)
    for start in progress_bar(chunks, desc=desc, unit=unit, unit_scale=chunk):
        positions = todo[start : start + chunk]
        values = zip(positions, compute(positions), strict=True)
        new = {keys[k]: value for k, value in values if value is not None}
        if store is not None:
            store.put_many(namespace, new)
        known.update(new)
    return known
