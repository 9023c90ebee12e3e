"""Where the numbers come from: the facts of run.json as short tables."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from metaeval.reports.shared.formatting import count, number, seconds
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.run import RunInfo
from metaeval.results.sentences import join_names

BLEU = ("BLEU without a match", "captions ordered by pycocoevalcap's constants, 1e-15 and 1e-9")


class Provenance(NamedTuple):
    """The section on reproduction: a command, and tables of (what, value).

    `metrics` is (family, time, scored, from the cache).
    """

    command: str
    environment: Sequence[tuple[str, str]]
    settings: Sequence[tuple[str, str]]
    stages: Sequence[tuple[str, str]]
    packages: Sequence[tuple[str, str]]
    sources: Sequence[tuple[str, str]]
    signatures: Sequence[tuple[str, str]]
    metrics: Sequence[tuple[str, str, str, str]]


def command_line(arguments: Sequence[Any]) -> str:
    """The command line as one would type it: an interpreter's arguments get their interpreter."""
    parts = [str(part) for part in arguments]
    if parts and parts[0].startswith("-"):
        parts.insert(0, "python")
    elif parts:
        parts[0] = Path(parts[0]).name
    return shlex.join(parts)


def language_date_and_version(info: RunInfo) -> list[tuple[str, str]]:
    """Facts for the head of a page: the captions' language where it is known, and of the run."""
    commit = f", {info.git.commit[:7]}{'+' if info.git.dirty else ''}" if info.git else ""
    language = info.dataset.language if info.dataset else None
    too_few = info.dataset.too_few if info.dataset else None
    spoken = "not detected"
    if language is not None and language.code is not None:
        spoken = f"{language.code} ({'given' if language.given else 'detected'})"
    return [
        *([] if too_few is None else [("Intervals and tests", f"none: {too_few}")]),
        *([] if language is None else [("Language", spoken)]),
        ("Date", (info.finished or "")[:10]),
        ("Version", f"metaeval {info.metaeval}{commit}"),
    ]


def _sorted_pairs(values: Mapping[str, object] | None) -> list[tuple[str, str]]:
    return [(str(k), str(v)) for k, v in sorted((values or {}).items())]


def _print(value: Any) -> str:
    if isinstance(value, list):
        return (
            join_names([_print(v) for v in value], most=12)
            if len(value) <= 12
            else f"{len(value)} values"
        )
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int):
        return count(value) if abs(value) >= 10_000 else str(value)
    return number(value, 2) if isinstance(value, float) else str(value)


def reproduction(run: LoadedRun, settings: Mapping[str, object]) -> Provenance:
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
    signatures = [(m.name, m.signature) for m in run.result.visible if m.signature]
    return Provenance(
        command=command_line(info.command),
        environment=[(k, str(v)) for k, v in environment if v not in (None, "")],
        settings=[
            *((k.replace("_", " "), _print(v)) for k, v in every.items()),
            *([BLEU] if any("|smooth:coco|" in signature for _, signature in signatures) else []),
        ],
        stages=[(stage.name, seconds(stage.seconds)) for stage in info.stages],
        packages=_sorted_pairs(info.packages),
        sources=_sorted_pairs(run.dataset.sources),
        signatures=signatures,
        metrics=[
            (family.metric, seconds(family.seconds), count(family.n_scored), count(family.n_cached))
            for family in info.metrics
        ],
    )
