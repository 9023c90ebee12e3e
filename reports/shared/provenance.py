"""Where the numbers come from: the facts of run.json as short tables."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reports.graded.run import Run
from reports.shared.formatting import count, listed, number, percent, seconds


class Facts(NamedTuple):
    """The reproduction section: a command and tables of (what, value)."""

    command: str
    environment: list[tuple[str, str]]
    packages: list[tuple[str, str]]
    sources: list[tuple[str, str]]
    stages: list[tuple[str, str]]
    metrics: list[tuple[str, str, str, str]]
    sets: list[tuple[str, str, str, str, str]]
    signatures: list[tuple[str, str]]
    settings: list[tuple[str, str]]


def facts(run: Run) -> Facts:
    info, dataset = run.info, run.info.get("dataset") or {}
    git = info.get("git")
    commit = (
        f"{git['commit']}{' (with uncommitted changes)' if git['dirty'] else ''}" if git else ""
    )
    environment = [
        ("metaeval", info.get("metaeval")),
        ("git commit", commit),
        ("Python", info.get("python")),
        ("platform", info.get("platform")),
        ("CPU cores", info.get("cpu_count")),
        ("Java", info.get("java")),
        ("CUDA", info.get("cuda")),
        ("device", info.get("device")),
        ("seed", info.get("seed")),
        ("started", info.get("started")),
        ("finished", info.get("finished")),
        ("directory", info.get("working_directory")),
    ]
    return Facts(
        command=command(info.get("command") or ()),
        environment=[(k, str(v)) for k, v in environment if v not in (None, "")],
        packages=_pairs(info.get("packages")),
        sources=_pairs(dataset.get("sources")),
        stages=[(s["name"], seconds(s["seconds"])) for s in info.get("stages") or ()],
        metrics=[
            (
                m["metric"],
                seconds(m.get("seconds")),
                count(m.get("n_scored") or 0),
                count(m.get("n_cached") or 0),
            )
            for m in info.get("metrics") or ()
        ],
        sets=[_set(s) for s in run.sets],
        signatures=[(m["metric"], m["signature"]) for m in run.metrics if m.get("signature")],
        settings=[
            (k.replace("_", " "), _plain(v))
            for k, v in {
                **(run.statistics.get("settings") or {}),
                **(info.get("corruption") or {}),
            }.items()
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


def _set(s: Mapping[str, Any]) -> tuple[str, str, str, str, str]:
    requested, realised, harm = (
        s.get(key) for key in ("requested_rate", "mean_realised_rate", "mean_harm")
    )
    said = [f"{percent(requested, 0)} asked"] if requested is not None else []
    if realised or requested is not None:
        said.append(f"{percent(realised)} changed")
    if harm is not None:
        said.append(f"{percent(harm)} of the statements false or lost")
    n, unapplied = s["n"], s["n_unapplied"]
    return (
        s["name"],
        str(s["level"]),
        count(n),
        f"{count(unapplied)} ({percent(unapplied / n)})" if n else "0",
        ", ".join(said),
    )


def _pairs(values: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    return [(str(k), str(v)) for k, v in sorted((values or {}).items())]


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return listed([_plain(v) for v in value]) if len(value) <= 12 else f"{len(value)} values"
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int):
        return count(value) if abs(value) >= 10_000 else str(value)
    return number(value, 2) if isinstance(value, float) else str(value)
