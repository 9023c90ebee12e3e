"""Running cases: a copy of a loader's files is damaged, and read as the project reads it.

A case is a number: the same number damages the same file in the same way, whatever else is run.
"""

import json
import random
import re
import shutil
import tempfile
import traceback
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from metaeval.errors import MetaevalError
from tests.fuzz import mutations
from tests.fuzz.base import Loader

REFUSED, ACCEPTED = "refused", "accepted"
TRACEBACK, UNNAMED, SILENT = "traceback", "unnamed", "silent difference"
BAD = (TRACEBACK, UNNAMED, SILENT)

TEXTS = (".json", ".jsonl", ".csv", ".tsv")  # endings of files of numbers that people write

Outcome = dict[str, Any]  # loader, case, what, and why it is so


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
            what, why = _harmed(loader, random.Random(f"{loader.name} {case}"), folder, value)
            yield {"loader": loader.name, "case": case, "what": what, "why": why}
            shutil.rmtree(folder)


def _harmed(loader: Loader, rng: random.Random, folder: Path, whole: Any) -> tuple[str, str]:
    """Harm a file in a folder, and read it: the result is refused, or can be what the file says."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    harmed = rng.choice([path for path in paths if path.name not in loader.spared])
    raw, seed = harmed.read_bytes(), rng.random()
    unknown = harmed.name.endswith(TEXTS) and rng.random() < 0.1
    if unknown:
        harmed.write_bytes(mutations.harm_unknown(raw, random.Random(seed)))
    else:
        harmed.write_bytes(mutations.harm(harmed.name, raw, rng))
    try:
        value = loader.read(folder)
    except MetaevalError as error:
        line = str(error)
        named = str(folder) in line or any(path.name in line for path in paths)
        return REFUSED if named and "\n" not in line else UNNAMED, line[:300]
    except Exception:
        return TRACEBACK, f"{harmed.name}: {traceback.format_exc(limit=-4)}"
    try:
        after = harmed.read_bytes()
        same_content = loader.exact or _content(harmed.name, raw) == _content(harmed.name, after)
    except (ValueError, RecursionError) as error:
        if not loader.forgiving:
            return SILENT, f"{harmed.name}: accepted, and is no JSON: {error}"
        same_content = False
    if same_content and value != whole:
        return SILENT, f"{harmed.name}: {value!r:.200} instead of {whole!r:.200}"
    with suppress(MetaevalError):
        known = []
        for number in (b"0", b"1") if unknown else ():
            harmed.write_bytes(mutations.harm_unknown(raw, random.Random(seed), number))
            known.append(loader.read(folder))
        if unknown and value == known[0] != known[1]:
            return SILENT, f"a number that is not known is read as 0: {value!r:.200}"
    return ACCEPTED, ""


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
