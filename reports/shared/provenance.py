"""Where the numbers come from: the facts of run.json as short tables."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from metaeval.reports.shared.formatting import count, listed, number, seconds
from metaeval.reports.shared.run import FinishedRun, LoadedRun
from metaeval.results.run import RunInfo

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


def date_and_version(info: Mapping[str, Any] | RunInfo) -> list[tuple[str, str]]:
    """Two facts for the head of a page."""
    if isinstance(info, RunInfo):
        commit = f", {info.git.commit[:7]}{'+' if info.git.dirty else ''}" if info.git else ""
        return [
            ("Date", (info.finished or "")[:10]),
            ("Version", f"metaeval {info.metaeval}{commit}"),
        ]
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


def reproduction(run: LoadedRun[Any], settings: Mapping[str, Any]) -> Provenance:
    """The facts of run.json; `settings` are those of the statistics, by name."""
    info = run.info
    dirty = " (with uncommitted changes)" if info.git and info.git.dirty else ""
    environment = [
        ("metaeval", info.metaeval),
        ("git commit", f"{info.git.commit}{dirty}" if info.git else None),
        ("Python", info.python),
        ("platform", info.platform),
        ("CPU cores", info.cpu_count),
        ("Java", info.java),
        ("CUDA", info.cuda),
        ("device", info.device),
        ("seed", info.seed),
        ("started", info.started),
        ("finished", info.finished),
        ("directory", info.working_directory),
    ]
    every = {**settings, **(info.corruption or {})}
    return Provenance(
        command=command(info.command),
        environment=[(k, str(v)) for k, v in environment if v not in (None, "")],
        settings=[(k.replace("_", " "), _print(v)) for k, v in every.items()],
        stages=[(stage.name, seconds(stage.seconds)) for stage in info.stages],
        packages=_sorted_pairs(info.packages),
        sources=_sorted_pairs(run.dataset.sources),
        signatures=[(m.name, m.signature) for m in run.result.visible if m.signature],
        metrics=[
            (family.metric, seconds(family.seconds), count(family.n_scored), count(family.n_cached))
            for family in info.metrics
        ],
    )
