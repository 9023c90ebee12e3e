"""Where the numbers come from: the facts of run.json as short tables."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import Any, NamedTuple

from metaeval.reports.shared.formatting import count, join_words, number, row_kind, seconds
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.base import NEW, MetricResult, TrainingRecord
from metaeval.results.run import RunInfo

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
            join_words([_print(v) for v in value]) if len(value) <= 12 else f"{len(value)} values"
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


class Footnote(NamedTuple):
    """A mark, what it says, and the metrics that bear it."""

    mark: str
    text: str
    metrics: tuple[str, ...]


def training_footnotes(metrics: Sequence[MetricResult], experiment: str) -> list[Footnote]:
    """One footnote for each fact about training, in the order of the metrics; parts have none."""
    bearers: dict[str, list[str]] = {}
    results = [metric for metric in metrics if row_kind(metric) == "result"]
    for metric in results:
        if metric.training is not None:
            learned = metric.column.learned_from_corruptions
            for text in _training_texts(metric.training, learned, experiment):
                bearers.setdefault(text, []).append(metric.name)
    if (seeds := _seed_text(results)) is not None:
        bearers[seeds] = [m.name for m in results if m.training and m.training.seeds]
    return [
        Footnote(mark, text, tuple(names))
        for mark, (text, names) in zip(ascii_lowercase, bearers.items(), strict=False)
    ]


CHOSEN = (
    "Chosen on this experiment's dev images: of the trainings that were tried, this one did best "
    "here, on images that are not scored. No such choice is known of the metrics without this mark."
)
BUILT_ON = (
    "Built on, or started from, {}, which was trained on captions of photographs like these: by "
    "its own card on {}, in pairs."
)
SEEDS = (
    "The weights of one of several trainings that differ in their seed. Mean ± standard deviation "
    "of ρ over all training seeds: {}."
)


def _training_texts(training: TrainingRecord, learned: bool, experiment: str) -> Iterable[str]:
    if experiment in training.chosen_on:
        yield CHOSEN
    for model in training.caption_models:
        pairs = join_words([f"{count(n)} of {name}" for name, n in model.pairs.items()])
        yield BUILT_ON.format(model.model, pairs)
    by_status: dict[str, list[str]] = {}
    for name, status in (training.versions or {}).items():
        by_status.setdefault(status, []).append(name)
    # a metric that learned from no corrupted caption has seen none of these: not worth a footnote
    if learned or by_status.keys() - {NEW}:
        parts = [f"{status}: {join_words(names)}" for status, names in by_status.items()]
        yield f"Of the versions here {'; '.join(parts)}."


def _seed_text(metrics: Sequence[MetricResult]) -> str | None:
    """The footnote on training seeds; `None` where none were measured on this run."""
    spreads = [(m.name, m.training.seeds) for m in metrics if m.training and m.training.seeds]
    if not spreads:
        return None
    values = [
        f"{name} {number(s.rank_order_rho.mean)} ± {number(s.rank_order_rho.sd)} "
        f"({len(s.seeds)} seeds)"
        for name, s in spreads
    ]
    return SEEDS.format("; ".join(values))
