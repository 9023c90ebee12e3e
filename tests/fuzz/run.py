"""Running cases: a copy of a loader's files is damaged, and read as the project reads it.

A case is a number: the same number damages the same file in the same way, whatever else is run.
"""

import json
import math
import random
import re
import shutil
import signal
import tempfile
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from metaeval.errors import MetaevalError
from tests.fuzz import mutations
from tests.fuzz.base import Loader

SECONDS = 20.0  # after which a case counts as hanging
REFUSED, ACCEPTED = "refused", "accepted"
TRACEBACK, UNNAMED, SILENT, HANG = "traceback", "unnamed", "silent difference", "hang"
BAD = (TRACEBACK, UNNAMED, SILENT, HANG)

TEXTS = (".json", ".jsonl", ".csv", ".tsv")  # endings of files of numbers that people write

Outcome = dict[str, Any]  # loader, case, what, and for bad ones `why`


class Hanging(BaseException):
    """Not an `Exception`, which the project might catch."""


def run(loader: Loader, cases: Iterable[int]) -> Iterator[Outcome]:
    """The outcomes of a loader's cases."""
    with tempfile.TemporaryDirectory(prefix="metaeval-fuzz-") as top:
        made, whole = Path(top) / "made", Path(top) / "whole"
        made.mkdir()
        loader.make(made)
        shutil.copytree(made, whole)
        value = loader.read(whole)
        for case in cases:
            folder = Path(top) / f"case-{case}"
            shutil.copytree(made, folder)
            with _time_limit():
                yield one_case(loader, case, folder, value)
            shutil.rmtree(folder)


@contextmanager
def _time_limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Hanging

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def one_case(loader: Loader, case: int, folder: Path, whole: Any) -> Outcome:
    """Harm a file in a folder, and read it: the result is refused, or can be what the file says."""
    rng = random.Random(f"{loader.name} {case}")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    harmed, known = harm(loader, folder, rng)
    outcome: Outcome = {"loader": loader.name, "case": case, "file": harmed.name}
    try:
        value = loader.read(folder)
    except MetaevalError as error:
        line = str(error)
        named = "\n" not in line and (
            str(folder) in line or any(p.name in line for p in folder.rglob("*") if p.is_file())
        )
        what = REFUSED if named else UNNAMED
        return {**outcome, "what": what, "why": line[:300]}
    except (Exception, Hanging) as error:
        what = HANG if isinstance(error, Hanging) else TRACEBACK
        return {**outcome, "what": what, "why": traceback.format_exc(limit=-4)}
    wrong = "" if _finite(value) else f"a number that is not finite: {value!r:.200}"
    raw = before[harmed]
    try:
        after = harmed.read_bytes()
        same_content = loader.exact or _content(harmed.name, raw) == _content(harmed.name, after)
    except (ValueError, RecursionError) as error:
        same_content = False
        wrong = wrong or ("" if loader.forgiving else f"accepted, and is no JSON: {error}")
    if same_content and not _same(value, whole):
        wrong = f"{value!r:.200} instead of {whole!r:.200}"
    if known is not None and not wrong:
        with suppress(MetaevalError):
            zero, one = (_reading(loader, folder, harmed, raw) for raw in known)
            if _same(value, zero) and not _same(zero, one):
                wrong = f"a number that is not known is read as 0: {value!r:.200}"
    return {**outcome, "what": SILENT, "why": wrong} if wrong else {**outcome, "what": ACCEPTED}


def _content(name: str, raw: bytes) -> Any:
    """What a file says, by the standard library; ValueError where JSON is malformed."""
    if not name.endswith((".json", ".jsonl")):
        return raw
    text = raw.decode("utf-8-sig")
    truths = sorted(re.findall("true|false", text))  # `true` is not 1 in JSON; in Python it is
    try:
        return [json.loads(text, object_pairs_hook=_members)], truths
    except ValueError:  # an object a line
        lines = [line for line in text.split("\n") if line.strip()]
        return [json.loads(line, object_pairs_hook=_members) for line in lines], truths


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def _finite(value: Any) -> bool:
    """Whether all numbers in a value are finite."""
    if isinstance(value, dict):
        return all(map(_finite, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def _reading(loader: Loader, folder: Path, file: Path, raw: bytes) -> Any:
    file.write_bytes(raw)
    return loader.read(folder)


def harm(
    loader: Loader, folder: Path, rng: random.Random
) -> tuple[Path, tuple[bytes, bytes] | None]:
    """Damage one of the folder's files.

    Returns the file and, where a number in it is not known any more, its bytes with 0 and with 1
    in that place.
    """
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.name not in loader.spared)
    path = rng.choice(files)
    raw = path.read_bytes()
    if path.name.endswith(TEXTS) and rng.random() < 0.1:
        seed = rng.random()
        after, zero, one = (
            mutations.harm_unknown(raw, random.Random(seed), known) for known in (None, b"0", b"1")
        )
        path.write_bytes(after)
        return path, (zero, one)
    path.write_bytes(mutations.harm(path.name, raw, rng))
    return path, None


def _same(one: Any, other: Any) -> bool:
    """Whether two readings are the same, numbers to the last bits of float32."""
    if isinstance(one, float) and isinstance(other, int | float):
        if one == other or (one != one and other != other):
            return True
        return abs(one - other) <= 1e-6 * max(1.0, abs(one), abs(other))
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[k], other[k]) for k in one)
    return bool(one == other)
