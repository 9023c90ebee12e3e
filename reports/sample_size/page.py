"""The report of `experiment=sample_size`: the order of metrics by the number of images."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metaeval.runs import files
from reports.paper.citations import citation
from reports.paper.links import save_links
from reports.shared import page
from reports.shared.elements import Finding, Header
from reports.shared.figure_style import (
    GREY,
    STYLE,
    LineEnd,
    as_data_uri,
    colours_of,
    label_ends,
    save_figure,
)
from reports.shared.formatting import DASH, amount, count, listed, number, percent
from reports.shared.print_tables import PrintCell, PrintTable, write_tables
from reports.shared.provenance import date_and_version, provenance
from reports.shared.run import read_run

FIGURE = "sample_size"


def write_report(run_dir: Path | str) -> Path:
    """Write `report.html`, the figure (SVG, PDF) and the table into a run's directory.

    The same run files give the same bytes. Raises InputError for a file that is missing or broken.
    """
    run = read_run(Path(run_dir))
    told = run.statistics["sample_size"]
    tables, image, beside = [], "", ["scores.parquet", "captions.parquet"]
    if told:
        tables = [neighbour_table(told)]
        write_tables(run.directory, tables)
        drawn = _draw(run.directory, told)
        image = as_data_uri(drawn[0])
        beside = [f"{files.FIGURES}/{p.name}" for p in drawn] + beside
    return page.write_page(
        run.directory / files.REPORT,
        page.render(
            "series.html.j2",
            1,
            room="sample_size",
            scripts="[01]-*.js",
            run=run,
            header=Header(
                "Meta-evaluation of captioning metrics",
                run.title,
                run.question,
                [
                    ("Dataset", run.statistics["dataset"]),
                    ("Images", count(run.statistics["n_images"])),
                    *date_and_version(run.info),
                ],
                fallback=run.dataset.get("fallback"),
            ),
            findings=findings(told),
            image=image,
            alt="Share of samples in the order of all images, by the number of images",
            lead="Left, how often a sample of images puts all metrics into the order that all "
            "images give, and how often two neighbours; right, how often a paired test of two "
            "neighbours is significant (lines), and what the power formula says (dotted).",
            tables=[(table, save_links([table])) for table in tables],
            citation=citation(run),
            provenance=provenance(run),
            downloads={},
            beside=beside,
            wide_times=False,
        ),
    )


def findings(told: Mapping[str, Any] | None) -> list[Finding]:
    """What the samples say, in words."""
    if not told:
        return [Finding("Order.", "Fewer than two metrics gave a result: there is no order.")]
    order = " > ".join(told["order"])
    share, n = percent(told["stable"], 0), told["images_stable"]
    if n is None:
        text = (
            f"Not even {count(told['sizes'][-1])} images give the order {order} in {share} of the "
            f"samples ({percent(told['same_order'][-1])} of {count(told['draws'])} do)."
        )
    else:
        text = f"From {count(n)} images on, {share} of the samples give the order {order}."
    made = [Finding("Order.", text)]
    hardest = max(
        told["neighbours"],
        key=lambda p: float("inf") if p["images_for_power"] is None else p["images_for_power"],
    )
    needed = hardest["images_for_power"]
    made.append(
        Finding(
            "Hardest.",
            f"{hardest['better']} and {hardest['worse']} are the hardest to tell apart: they "
            f"differ by {number(hardest['difference'], 4)}, "
            + (
                "and no number of images suffices."
                if needed is None
                else f"and by the power formula {amount_of_images(needed)} are needed for a power "
                f"of {percent(told['power'], 0)}."
            ),
        )
    )
    gaps = [
        (abs(seen - predicted), size, pair)
        for pair in told["neighbours"]
        for size, seen, predicted in zip(
            told["sizes"], pair["significant"], pair["predicted"], strict=True
        )
    ]
    gap, size, pair = max(gaps, key=lambda g: g[0])
    made.append(
        Finding(
            "Formula.",
            f"The power formula is off by at most {number(gap)} from what the samples show "
            f"({pair['better']} and {pair['worse']}, {count(size)} images).",
        )
    )
    never = [f"{p['better']} and {p['worse']}" for p in told["neighbours"]
             if p["images_same_sign"] is None]  # fmt: skip
    if never:
        made.append(
            Finding(
                "Open.",
                f"Which is better of {listed(never)} is not stable with the images at hand.",
            )
        )
    return made


def amount_of_images(n: float) -> str:
    return amount(int(-(-n // 1)), "image")


def neighbour_table(told: Mapping[str, Any]) -> PrintTable:
    """A row a pair of neighbours in the order of all images."""

    def images(value: float | None) -> str:
        return f">{count(told['sizes'][-1])}" if value is None else count(int(-(-value // 1)))

    rows = [
        [p["better"], p["worse"], number(p["difference"], 4), number(p["sd"]),
         images(p["images_same_sign"]), images(p["images_observed"]),
         DASH if p["images_for_power"] is None else images(p["images_for_power"])]
        for p in told["neighbours"]
    ]  # fmt: skip
    return PrintTable(
        "sample_size",
        f"Neighbours in the order by ρ within an image: images until {percent(told['stable'], 0)} "
        f"of the samples have them the same way round, and until a paired test is significant in "
        f"{percent(told['power'], 0)}, observed and by the power formula.",
        ["Better", "Worse", "Difference", "Sd over images", "Same way round", "Significant",
         "By the formula"],
        [[[PrintCell(text) for text in row] for row in rows]],
    )  # fmt: skip


def _draw(directory: Path, told: Mapping[str, Any]) -> list[Path]:
    """Two axes: shares of the samples in order, and tests that are significant."""
    import matplotlib as mpl  # a second to import
    from matplotlib.figure import Figure

    pairs = [f"{p['better']} > {p['worse']}" for p in told["neighbours"]]
    colours = colours_of(pairs)
    sizes = told["sizes"]
    width, height, labels, left = 2.7, 2.9, 1.9, 0.7  # inches
    size = (2 * (width + labels) + left, height + 1.0)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=size)
        for k, (key, label) in enumerate(
            (("same_sign", "share of samples in order"), ("significant", "share significant"))
        ):
            place = ((left + k * (width + labels)) / size[0], 0.6 / size[1])
            axes = figure.add_axes((*place, width / size[0], height / size[1]))
            ends = []
            for name, pair in zip(pairs, told["neighbours"], strict=True):
                axes.plot(sizes, pair[key], color=colours[name], lw=1.3, marker="o", ms=2.5)
                if key == "significant":
                    axes.plot(sizes, pair["predicted"], color=colours[name], lw=1, ls=":")
                ends.append(LineEnd(name, colours[name], pair[key][-1]))
            if key == "same_sign":
                axes.plot(sizes, told["same_order"], color="#1c2430", lw=1.8, marker="s", ms=3)
                ends.append(LineEnd("the whole order", "#1c2430", told["same_order"][-1]))
            axes.axhline(
                told["stable"] if key == "same_sign" else told["power"], color=GREY, lw=0.7, ls="--"
            )
            axes.set_xscale("log")
            axes.set_xticks(sizes, [count(s) for s in sizes], rotation=40)
            axes.minorticks_off()
            axes.set(ylim=(0, 1.02), xlabel="images", ylabel=label)
            label_ends(axes, ends, sizes[-1], 72 * height)
        return save_figure(figure, directory / files.FIGURES / FIGURE, "sample size")
