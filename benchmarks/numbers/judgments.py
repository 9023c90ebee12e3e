"""The tables of experiment=judgments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.numbers.graded import head, row, title
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


def ratings(results: Sequence[Result]) -> str:
    """Every metric of a run with ratings: the protocol's statistic × 100, with its interval, by
    dimension, best first in the first; published values; controls in italics; on how many captions
    a row rests."""
    run = files.read_json(results[0].folder / files.STATISTICS)
    statistic, names = run["protocol"]["statistic"], run["dimensions"]
    published = run["published"]["values"] if run["published"] else {}
    heads = [cell for name in names for cell in (name, "published") if _has(cell, name, published)]
    lines = head("", *heads, "captions")
    records = [r for r in run["metrics"] if r["status"] == "ok"]
    for record in sorted(records, key=lambda r: -r["human"][names[0]][statistic]):
        cells = [title(record)]
        for name in names:
            told = record["human"][name]
            low, high = told[f"{statistic}_ci"]
            cells.append(f"{100 * told[statistic]:.1f} [{100 * low:.1f}, {100 * high:.1f}]")
            if name in published:
                known = published[name].get(record["metric"])
                cells.append("" if known is None else f"{100 * known:.1f}")
        lines.append(row(*cells, f"{record['n']:,}"))
    return "\n".join(lines)


def _has(cell: str, name: str, published: Mapping[str, object]) -> bool:
    return cell != "published" or name in published


def composite(results: Sequence[Result]) -> str:
    """Composite's τ-c × 100 of all captions and of its parts, the best on COCO first.

    The first run has every metric, the second SPICE by its authors' parser. A metric that needs
    annotated objects has rows of COCO's captions alone, and no value for all.
    """
    records, published = [], {}
    for result in results:
        run = files.read_json(result.folder / files.STATISTICS)
        records += [r for r in run["metrics"] if r["status"] == "ok" and r["part_of"] is None]
        (dimension,) = run["dimensions"]
        published = run["published"]["values"][dimension]
        views = list(run["views"])
        everything = int(run["facts"]["judged"])
    lines = head("", "all", "published", *views, "captions")

    def told(record: Mapping[str, Any]) -> Mapping[str, Any]:
        (values,) = record["human"].values()  # Composite has one dimension: correctness
        return dict(values)

    def order(record: Mapping[str, Any]) -> tuple[bool, float]:
        return record["control"], -told(record)["views"][views[-1]]["kendall_tau_c"]

    for record in sorted(records, key=order):
        n = record["n"]
        total = f"{100 * told(record)['kendall_tau_c']:.3f}"
        known = published.get(record["metric"])
        parts = [told(record)["views"][view] for view in views]
        cells = [f"{100 * p['kendall_tau_c']:.1f}" if p["n"] > 2 else "–" for p in parts]
        lines.append(
            row(
                title(record),
                total if n == everything else "–",
                "" if known is None else f"{100 * known:.1f}",
                *cells,
                f"{n:,}",
            )
        )
    return "\n".join(lines)


def choices(results: Sequence[Result]) -> str:
    """PASCAL-50S: how often each metric chooses as people do, in per cent by kind of pair, with
    the published value in brackets, for the most references of the run; people at the end."""
    run = files.read_json(results[0].folder / files.STATISTICS)
    published = run["published"]["values"] if run["published"] else {}
    groups = run["groups"]
    lines = head("", *groups, "interval of the mean")
    records = [r for r in run["metrics"] if r["status"] == "ok" and r["part_of"] is None]
    for record in sorted(
        records, key=lambda r: (r["control"], -r["choice"][-1]["accuracy"]["mean"]["value"])
    ):
        told = record["choice"][-1]["accuracy"]
        cells = []
        for group in groups:
            known = published.get(record["metric"], {}).get(group)
            beside = "" if known is None else f" ({100 * known:g})"
            cells.append(f"{100 * told[group]['value']:.1f}{beside}")
        low, high = told["mean"]["ci"]
        lines.append(row(title(record), *cells, f"{100 * low:.1f} to {100 * high:.1f}"))
    if people := run["people"]:
        cells = [f"{100 * people[g]:.1f}" if g in people else "" for g in groups]
        lines.append(row("one person with the others", *cells, ""))
    return "\n".join(lines)


def judged(options: str) -> tuple[Command, ...]:
    return (Command(f"-m metaeval experiment=judgments {options} metric.spice.parser=rules"),)


PASCAL = "dataset=pascal50s dataset.labels="
TABLES = (
    Table(
        "flickr8k",
        tuple(
            Command(f"-m metaeval experiment=judgments dataset={name} metrics={METRICS}")
            for name in ("flickr8k_expert", "flickr8k_cf")
        ),
        flickr8k,
    ),
    Table(
        "composite",
        (
            *judged("dataset=composite"),
            Command("-m metaeval experiment=judgments dataset=composite metrics=[spice]"),
        ),
        composite,
    ),
    Table("pascal50s-direct", judged(f"{PASCAL}direct"), choices),
    Table("pascal50s-consensus", judged(f"{PASCAL}consensus"), choices),
    Table("thumb", judged("dataset=thumb"), ratings),
    Table(
        "capeval1k",
        judged(
            "dataset=table dataset.name=CapEval1k dataset.image_source=coco "
            "dataset.file=${METAEVAL_DATA}/capeval1k/capeval1k_decoded_939.jsonl"
        ),
        ratings,
    ),
)
