"""What a run on true and false captions prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.controls import verdicts
from experiments.pairs.outcomes import MEAN
from experiments.text_table import text_table
from metaeval.stats.significance.holm import least_draws


def printout(summary: Mapping[str, Any], file: Path) -> str:
    """A table a comparison, best metric first and the controls below; where to look next."""
    lines = [line for comparison in summary["comparisons"] for line in _table(summary, comparison)]
    return "\n".join(
        [*lines, *_refinement(summary), *_unscored(summary), *_impossible(summary),
         *_lacking(summary), f"{file.stem}: {file}"]
    )  # fmt: skip


def _shown(summary: Mapping[str, Any], comparison: str) -> list[Mapping[str, Any]]:
    """The metrics that ran, best first, then the controls."""
    done = [r for r in summary["metrics"] if r["status"] == "ok" and r["part_of"] is None]

    def badness(record: Mapping[str, Any]) -> tuple[bool, float]:
        value = record["accuracy"][comparison][MEAN]["value"]
        return record["control"], -value if value == value else 2.0

    return sorted(done, key=badness)


def _table(summary: Mapping[str, Any], comparison: str) -> Iterator[str]:
    confidence = f"{round(100 * summary['settings']['confidence'], 6):g}% interval"
    lines = []
    for r in _shown(summary, comparison):
        accuracy = r["accuracy"][comparison]
        low, high = accuracy[MEAN]["ci"]
        line = {
            "metric": f"({r['metric']})" if r["control"] else r["metric"],
            MEAN: _percent(accuracy[MEAN]["value"]),
            confidence: f"{100 * low:.1f} {100 * high:.1f}" if low == low else "",
        }
        line |= {kind: _percent(accuracy[kind]["value"]) for kind in summary["kinds"]}
        lines.append(line | {"ties": _percent(accuracy[MEAN]["ties"])})
    yield from text_table(lines, comparison)
    yield from verdicts(summary["controls"][comparison])
    yield _beaten(summary["differences"][comparison]["pairs"], summary["settings"]["alpha"])


def _refinement(summary: Mapping[str, Any]) -> Iterator[str]:
    refinement = summary["refinement"]
    if refinement is None:
        return
    comparison = summary["comparisons"][0]
    lines = []
    for r in _shown(summary, comparison):
        after = refinement["accuracy"][r["metric"]][comparison]
        before = r["accuracy"][comparison]
        name = f"({r['metric']})" if r["control"] else r["metric"]
        lines.append(
            {"metric": name}
            | {
                f"{kind} ({refinement['kinds'].get(kind, sum(refinement['kinds'].values())):,})":
                f"{_percent(before[kind]['value'])} {_percent(after[kind]['value'])}"
                for kind in (MEAN, *summary["kinds"])
            }
        )  # fmt: skip
    yield from text_table(
        lines, f"{comparison}, before and after {refinement['control']} is no use"
    )


def _beaten(pairs: Sequence[Mapping[str, Any]], alpha: float) -> str:
    told = ", ".join(
        f"{sum(p[test]['p_holm'] <= alpha for p in pairs)} by {test}"
        for test in ("permutation", "bootstrap")
        if pairs
    )
    what = "1 pair" if len(pairs) == 1 else f"{len(pairs)} pairs"
    return f"{what} of metrics, significant at {alpha:g} after Holm: {told or 'none'}"


def _unscored(summary: Mapping[str, Any]) -> Iterator[str]:
    for r in summary["metrics"]:
        if r["status"] == "ok" and r["part_of"] is None and r["n_nan"]:
            yield f"{r['metric']}: no score for {r['n_nan']:,} of {r['n'] + r['n_nan']:,} pairs"


def _impossible(summary: Mapping[str, Any]) -> Iterator[str]:
    """Where the permutation test drew too little to call anything significant."""
    settings = summary["settings"]
    pairs = max((len(d["pairs"]) for d in summary["differences"].values()), default=0)
    if pairs and settings["permutations"] < (needed := least_draws(pairs, 1, settings["alpha"])):
        yield (
            f"no difference can be significant by permutation: {settings['permutations']:,} draws "
            f"for {pairs:,} pairs; task.permutations={needed} or more"
        )


def _lacking(summary: Mapping[str, Any]) -> Iterator[str]:
    missing = {r["family"]: r["status"] for r in summary["metrics"] if r["status"] != "ok"}
    if missing:  # the reasons went to stderr, and are in the report
        yield "not run: " + ", ".join(f"{name} ({status})" for name, status in missing.items())


def _percent(share: float) -> str:
    return f"{100 * share:.1f}" if share == share else "–"
