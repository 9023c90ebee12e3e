"""What a finished run of `experiment=captioners` prints: every system's score by every metric."""

from __future__ import annotations

from pathlib import Path

from metaeval.results.captioners import CaptionersResult, LengthAnalysis


def printout(result: CaptionersResult, file: Path) -> str:
    """A line per metric, a column per system, systems by mean rank; `*` marks a significant lead
    over the next system in the ranking by this metric (not the next column).

    `file` is what to open next: the report, or the statistics of a run without one.
    """
    names = result.by_mean_rank()
    wide = {name: max(9, len(name) + 1) for name in names}
    left = max((len(m.name) for m in result.scores), default=0)
    lines = [" " * left + "".join(f"{name:>{wide[name] + 1}}" for name in names)]
    for metric in result.scores:
        numbers = metric.numbers
        ahead = {name for k, name in enumerate(numbers.ranking) if numbers.is_ahead(k)}
        cells = [
            f"{_score(numbers.systems[name].value):>{wide[name]}}{'*' if name in ahead else ' '}"
            for name in names
        ]
        lines.append(f"{metric.name:<{left}}" + "".join(cells))
    lines.append(
        "* ahead of the system that is next by this metric (which need not be the next "
        f"column) by a paired permutation test (Holm, p < {result.settings.alpha:.2g})"
    )
    lines += _lengths(result.length)
    lines += [f"{name}: {text}" for name, text in result.counted()]
    missing = {m.family: m.status for m in result.metrics if not m.ok}
    if missing:  # the reasons went to stderr, and are in the report
        skipped = ", ".join(f"{name} ({status})" for name, status in missing.items())
        lines.append(f"not run: {skipped}")
    return "\n".join([*lines, f"{file.stem}: {file}"])


def _score(value: float | None) -> str:
    return "nan" if value is None else f"{value:.4f}"


def _lengths(length: LengthAnalysis) -> list[str]:
    """A line for each system whose captions cannot be compared with the others' at equal length;
    one line where there are too few captions for any."""
    separate, n = "scores cannot be separated from length", len(length.systems)
    if n > 1 and all(max(s.bins, default=0) < length.fewest for s in length.systems):
        return [f"every length bin has fewer than {length.fewest} captions of a system: {separate}"]
    return [
        f"{s.name}: captions {s.ratio:.1f} times as long as the references, in no length bin of "
        f"the other systems; its {separate}"
        for s in length.systems
        if not s.comparable and s.ratio is not None
    ]
