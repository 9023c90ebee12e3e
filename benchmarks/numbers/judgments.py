"""The tables of experiment=judgments."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.numbers.graded import head, row
from benchmarks.numbers.tables import Command, Result, Table
from metaeval.runs import files

METRICS = "[bleu,meteor,rouge_l,cider,spice]"
STATISTICS = ("kendall_tau_c", "kendall_tau_b")
SHOWN = ("SPICE", "CIDEr", "METEOR", "BLEU-1", "ROUGE-L", "BLEU-4")


def flickr8k(results: Sequence[Result]) -> str:
    """τ × 100 on Flickr8k-Expert and -CF, each beside the published value."""
    lines = head("", "Expert τ-c", "published", "CF τ-b", "published")
    runs = [files.read_json(result.folder / files.STATISTICS) for result in results]
    for metric in SHOWN:
        cells = [metric]
        for run, statistic in zip(runs, STATISTICS, strict=True):
            (dimension,) = run["dimensions"]
            records = {r["metric"]: r for r in run["metrics"] if r["status"] == "ok"}
            if metric not in records:
                break
            value = records[metric]["human"][dimension][statistic]
            known = run["published"]["values"].get(dimension, {}).get(metric)
            cells += [f"{100 * value:.3f}", "" if known is None else f"{known:.1f}"]
        else:
            lines.append(row(*cells))
    return "\n".join(lines)


TABLES = (
    Table(
        "flickr8k",
        tuple(
            Command(f"-m metaeval experiment=judgments dataset={name} metrics={METRICS}")
            for name in ("flickr8k_expert", "flickr8k_cf")
        ),
        flickr8k,
    ),
)
