"""Where the numbers come from: the facts of run.json as short tables."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reports.shared.formatting import count, listed, number, seconds
from reports.shared.run import FinishedRun

_ENVIRONMENT = {
    "python": "Python",
    "platform": "platform",
    "cpu_count": "CPU cores",
    "java": "Java",
    "cuda": "CUDA",
    "device": "device",
    "seed": "seed",
    "started": "started",
    "finished": "finished",
    "working_directory": "directory",
}


class Provenance(NamedTuple):
    """The section on reproduction: a command, and tables of (what, value).

    `metrics` is (family, time, scored, from the cache), `versions` one row per set of captions.
    """

    command: str
    environment: Sequence[tuple[str, str]]
    settings: Sequence[tuple[str, str]]
    stages: Sequence[tuple[str, str]]
    packages: Sequence[tuple[str, str]]
    sources: Sequence[tuple[str, str]]
    signatures: Sequence[tuple[str, str]]
    metrics: Sequence[tuple[str, str, str, str]]
    versions: Sequence[tuple[str, ...]] = ()


def provenance(run: FinishedRun) -> Provenance:
    """What the files of any run say."""
    info, git = run.info, run.info.get("git")
    dirty = " (with uncommitted changes)" if git and git["dirty"] else ""
    environment = [
        ("metaeval", info.get("metaeval")),
        ("git commit", f"{git['commit']}{dirty}" if git else None),
        *((label, info.get(key)) for key, label in _ENVIRONMENT.items()),
    ]
    settings = {**(run.statistics.get("settings") or {}), **(info.get("corruption") or {})}
    return Provenance(
        command=command(info.get("command") or ()),
        environment=[(k, str(v)) for k, v in environment if v not in (None, "")],
        settings=[(k.replace("_", " "), _print(v)) for k, v in settings.items()],
        stages=[(s["name"], seconds(s["seconds"])) for s in info.get("stages") or ()],
        packages=_sorted_pairs(info.get("packages")),
        sources=_sorted_pairs(run.dataset.get("sources")),
        signatures=[(m["metric"], m["signature"]) for m in run.metrics if m["signature"]],
        metrics=[
            (
                m["metric"],
                seconds(m.get("seconds")),
                count(m.get("n_scored") or 0),
                count(m.get("n_cached") or 0),
            )
            for m in info.get("metrics") or ()
        ],
    )


def command(arguments: Sequence[Any]) -> str:
    """The command line as one would type it: an interpreter's arguments get their interpreter."""
    parts = [str(part) for part in arguments]
    if parts and parts[0].startswith("-"):
        parts.insert(0, "python")
    elif parts:
        parts[0] = Path(parts[0]).name
    return shlex.join(parts)


def date_and_version(info: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Two facts for the head of a page."""
    version, git = f"metaeval {info.get('metaeval')}", info.get("git")
    if git:
        version += f", {git['commit'][:7]}{'+' if git['dirty'] else ''}"
    return [("Date", (info.get("finished") or "")[:10]), ("Version", version)]


def _sorted_pairs(values: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    return [(str(k), str(v)) for k, v in sorted((values or {}).items())]


def _print(value: Any) -> str:
    if isinstance(value, list):
        return listed([_print(v) for v in value]) if len(value) <= 12 else f"{len(value)} values"
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int):
        return count(value) if abs(value) >= 10_000 else str(value)
    return number(value, 2) if isinstance(value, float) else str(value)
