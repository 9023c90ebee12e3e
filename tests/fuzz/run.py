"""Running cases: each loader in a process of its own, with a limit of memory and of time.

A case is a number: the same number damages the same file in the same way, whatever else is run.
"""

import json
import math
import os
import random
import re
import resource
import select
import shutil
import signal
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from metaeval.errors import MetaevalError
from tests.fuzz import mutations
from tests.fuzz.base import HARM, Loader
from tests.fuzz.loaders import LOADERS

MEMORY = 1_500_000_000  # bytes
SECONDS = 20.0  # after which a case counts as hanging
REFUSED, ACCEPTED = "refused", "accepted"
TRACEBACK, UNNAMED, SILENT = "traceback", "unnamed", "silent difference"
HANG, MEMORY_OVER, DIED = "hang", "over memory", "died"
BAD = (TRACEBACK, UNNAMED, SILENT, HANG, MEMORY_OVER, DIED)

TEXTS = (".json", ".jsonl", ".csv", ".tsv")  # endings of files of numbers that people write

Outcome = dict[str, Any]  # loader, case, what, and for bad ones `why`


def run(loaders: Sequence[Loader], cases: range) -> Iterator[Outcome]:
    """The outcomes of cases, the loaders taking turns."""
    for place, loader in enumerate(loaders):
        mine = [case for case in cases if case % len(loaders) == place]
        while mine:
            done = 0
            for outcome in _in_child(loader, mine):
                done += 1
                yield outcome
            mine = mine[done:]


def _in_child(loader: Loader, cases: list[int]) -> Iterator[Outcome]:
    """Outcomes from a child; where it dies or hangs, that is the outcome of its last case."""
    out, into = os.pipe()
    child = os.fork()
    if not child:
        os.close(out)
        try:
            _work(loader, cases, into)
        except BaseException:
            why = f"before any harm: {traceback.format_exc(limit=-4)}"
            failed = {"loader": loader.name, "what": TRACEBACK, "why": why}
            for case in cases:
                os.write(into, json.dumps({**failed, "case": case}).encode() + b"\n")
        os._exit(0)
    os.close(into)
    buffer, done = b"", 0
    try:
        while done < len(cases):
            ready, _, _ = select.select([out], [], [], SECONDS)
            chunk = os.read(out, 1 << 16) if ready else b""
            if not chunk:
                what = DIED if ready else HANG
                yield {"loader": loader.name, "case": cases[done], "what": what, "why": what}
                return
            *lines, buffer = (buffer + chunk).split(b"\n")
            for line in lines:
                done += 1
                outcome = json.loads(line)
                yield outcome
                if outcome["what"] == MEMORY_OVER:
                    return  # the child has ended itself
    finally:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(out)


def _work(loader: Loader, cases: list[int], into: int) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="metaeval-fuzz-") as top:
        made = Path(top) / "made"
        made.mkdir()
        loader.make(made)
        whole = loader.read(made)
        shutil.rmtree(made / "cache", ignore_errors=True)
        for case in cases:
            folder = Path(top) / f"case-{case}"
            shutil.copytree(made, folder)
            outcome = one_case(loader, case, folder, whole)
            shutil.rmtree(folder)
            if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > MEMORY:
                outcome = {**outcome, "what": MEMORY_OVER, "why": "more than the limit resident"}
            os.write(into, json.dumps(outcome).encode() + b"\n")
            if outcome["what"] == MEMORY_OVER:
                return  # the next one starts again


def one_case(loader: Loader, case: int, folder: Path, whole: Any) -> Outcome:
    """Harm a file in a folder, and read it: the result is refused, or can be what the file says."""
    rng = random.Random(f"{loader.name} {case}")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    harmed, known = harm(loader, folder, rng)
    outcome: Outcome = {"loader": loader.name, "case": case, "file": harmed.name}
    started = time.process_time()
    try:
        value = loader.read(folder)
    except MetaevalError as error:
        line = str(error)
        named = "\n" not in line and (
            str(folder) in line or any(p.name in line for p in folder.rglob("*") if p.is_file())
        )
        what = REFUSED if named else UNNAMED
        return {**outcome, "what": what, "why": line[:300]}
    except MemoryError:
        return {**outcome, "what": MEMORY_OVER, "why": traceback.format_exc(limit=-3)}
    except BaseException:
        return {**outcome, "what": TRACEBACK, "why": traceback.format_exc(limit=-4)}
    outcome["seconds"] = time.process_time() - started
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
    """Change one of the folder's files; how, the generator says.

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
        if after != raw:
            path.write_bytes(after)
            return path, (zero, one)
    harms = {**HARM, **loader.harm}
    own = next((h for end, h in harms.items() if path.name.endswith(end)), None)
    meaning = mutations.harm_meaning(path.name)
    after = raw
    for _ in range(10):
        chosen = own if own is not None and rng.random() < 0.6 else mutations.harm_bytes
        if meaning is not None and rng.random() < 0.3:
            chosen = meaning
        after = chosen(raw, rng)
        if after != raw:
            break
    path.write_bytes(after)
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


def table(outcomes: Sequence[Outcome]) -> str:
    """Counts by loader and outcome."""
    columns = (REFUSED, ACCEPTED, *BAD)
    counts = Counter((o["loader"], o["what"]) for o in outcomes)
    rows = [["loader", "cases", *columns]]
    for name in (*(loader.name for loader in LOADERS), "all"):
        mine = [
            sum(n for (who, what), n in counts.items() if what == column and name in (who, "all"))
            for column in columns
        ]
        if sum(mine):
            rows.append([name, f"{sum(mine):,}", *(f"{n:,}" for n in mine)])
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
