"""What a finished run prints: one line a metric, best first, and where the report is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from metaeval.runs.records import Count, PaperValue, paper_value


def printout(summary: Mapping[str, Any], published: Mapping[str, float], file: Path) -> str:
    """A plain table of rank-order ρ with its interval, ρ within an image, pairwise accuracy, the
    share of images all in order, ties, and the published value.

    Below it, what metrics counted (captions that were cut, images without objects, …).
    `file` is what to open next: the report, or the statistics of a run without one.
    """
    return "\n".join([*_rows(summary, published), f"{file.stem}: {file}"])


def _rows(summary: Mapping[str, Any], published: Mapping[str, float]) -> Iterator[str]:
    records = summary["metrics"]
    done = [r for r in records if r["status"] == "ok"]
    done.sort(key=lambda r: (r["control"], -r["rank_order_rho"]))
    width = max((len(r["metric"]) for r in done), default=0)
    head = (
        f"{'':<{width}}  rank-order ρ  {'95% interval':<16} "
        f"{'within':>7} {'pairs':>6} {'all':>6} {'ties':>6}"
    )
    confidence = round(100 * summary["settings"]["confidence"], 6)
    yield head.replace("95%", f"{confidence:g}%") + ("  published" if published else "")
    metrics = [r for r in done if not r["control"]]
    for r in metrics:
        yield _row(r, width, paper_value(published, r["metric"], r["variant_of"]))
    if len(metrics) < len(done):
        yield "controls, which are no metrics"
        for r in done[len(metrics) :]:
            yield _row(r, width, None)
    if spread := [(r["metric"], r["seeds"]) for r in metrics if r.get("seeds")]:
        sds = ", ".join(f"{name} {seeds['rank_order_rho']['sd']:.4f}" for name, seeds in spread)
        yield f"sd of rank-order ρ over {spread[0][1]['n']} corruption seeds: {sds}"
        once = [r["metric"] for r in metrics if not r.get("seeds") and not r.get("part_of")]
        if once:
            yield f"of one seed alone (corruption.reseeded): {', '.join(once)}"
    if trained := [(r["metric"], r["training_seeds"]) for r in metrics if r.get("training_seeds")]:
        sds = ", ".join(f"{name} {t['rank_order_rho']['sd']:.3f}" for name, t in trained)
        yield f"sd of rank-order ρ over {len(trained[0][1]['seeds'])} training seeds: {sds}"
    counted: dict[str, None] = {}
    for record in records:
        counts = (Count(**count) for count in record.get("counts") or ())
        if text := "; ".join(str(count) for count in counts if count.n):
            counted[f"{record['family']}: {text}"] = None  # the columns of one metric say the same
    yield from counted
    lacking = {r["family"]: r["status"] for r in records if r["status"] != "ok"}
    if lacking:  # the reasons went to stderr, and are in the report
        yield "not run: " + ", ".join(f"{name} ({status})" for name, status in lacking.items())


def _row(r: Mapping[str, Any], width: int, paper: PaperValue | None) -> str:
    low, high = r["rank_order_rho_ci"]
    interval = f"{low:.4f} {high:.4f}" if low == low else ""
    line = (
        f"{r['metric']:<{width}}  {r['rank_order_rho']:>12.4f}  {interval:<16} "
        f"{r['rank_order_rho_within']:>7.3f} {100 * r['pairwise_accuracy']:>5.1f}% "
        f"{100 * r['monotone_rate']:>5.1f}% {100 * r['tie_fraction']:>5.1f}%"
    )
    other = "" if paper is None or paper.same_model else " (another model)"
    return line if paper is None else f"{line}  {paper.value:>9.4f}{other}"
