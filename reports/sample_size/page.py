"""The report of `experiment=sample_size`: the order of metrics by the number of images."""

from __future__ import annotations

from pathlib import Path

from metaeval.reports.shared import page
from metaeval.reports.shared.elements import Finding
from metaeval.reports.shared.figure_style import (
    GREY,
    STYLE,
    LineEnd,
    as_data_uri,
    colours_of,
    label_ends,
    save_figure,
)
from metaeval.reports.shared.formatting import DASH, count, interval, known, listed, number, percent
from metaeval.reports.shared.print_tables import PrintCell, PrintTable
from metaeval.reports.shared.run import load_run_files
from metaeval.results.base import Estimate
from metaeval.results.sample_size import NeighbourPair, OrderStabilityResult, SampleSizeResult
from metaeval.runs import files

FIGURE = "sample_size"


def write_report(run_dir: Path | str) -> Path:
    """Write `report.html`, the figure (SVG, PDF) and the table into a run's directory.

    The same run files give the same bytes. Raises InputError for a file that is missing or broken.
    """
    run = load_run_files(Path(run_dir), SampleSizeResult)
    stability = run.result.sample_size
    tables, image, further_files = [], "", ["scores.parquet", "captions.parquet"]
    if stability is not None:
        tables = [neighbour_table(stability)]
        drawn = _draw(run.directory, stability)
        image = as_data_uri(drawn[0])
        further_files = [f"{files.FIGURES}/{p.name}" for p in drawn] + further_files
    return page.write_series(
        run,
        [("Dataset", run.result.dataset), ("Images", count(run.result.n_images))],
        tables,
        room="sample_size",
        findings=findings(stability),
        image=image,
        alt="Share of samples in the order of all images, by the number of images",
        lead="Left, how often a sample of images puts all metrics into the order that all "
        "images give, and how often two neighbours; right, how often a paired test of two "
        "neighbours is significant (lines), and what the power formula says (dotted).",
        further_files=further_files,
    )


def findings(stability: OrderStabilityResult | None) -> list[Finding]:
    """Statements on the samples."""
    if stability is None:
        return [Finding("Order.", "Fewer than two metrics gave a result: nothing to order.")]
    order = " > ".join(stability.order)
    share, n = percent(stability.stable, 0), stability.images_stable
    if n is None:
        text = (
            f"Not even {count(stability.sizes[-1])} images give the order {order} in {share} of "
            f"the samples ({percent(stability.same_order[-1])} of {count(stability.draws)} do)."
        )
    else:
        text = f"From {count(round(n))} images on, at least {share} of the samples give the order "
        text += f"{order}."
    made = [Finding("Order.", text), _hardest(stability)]
    gaps = [
        (abs(seen - predicted), size, pair)
        for pair in stability.neighbours
        for size, seen, predicted in zip(
            stability.sizes, pair.significant, pair.predicted, strict=True
        )
    ]
    if known_gaps := [entry for entry in gaps if known(entry[0])]:
        gap, size, pair = max(known_gaps, key=lambda entry: entry[0])
        made.append(
            Finding(
                "Formula.",
                f"The power formula is off by at most {number(gap)} from the share in the samples "
                f"({pair.better} and {pair.worse}, {count(size)} images).",
            )
        )
    never = [f"{p.better} and {p.worse}" for p in stability.neighbours
             if p.images_same_sign is None]  # fmt: skip
    if never:
        made.append(
            Finding(
                "Open.",
                f"Which is better of {listed(never)} is not stable with the images at hand.",
            )
        )
    return made


def _hardest(stability: OrderStabilityResult) -> Finding:
    """The neighbours of which no number of images can be given, or that need the most."""
    open_pairs = [p for p in stability.neighbours if p.images_for_power.value is None]
    if open_pairs:
        named = [f"{p.better} and {p.worse} ({_difference(p)})" for p in open_pairs]
        return Finding(
            "Hardest.",
            f"How many images would separate {listed(named, 'or')} cannot be given: the interval "
            "of the difference contains 0.",
        )
    pair = max(stability.neighbours, key=lambda p: p.images_for_power.value or 0.0)
    return Finding(
        "Hardest.",
        f"{pair.better} and {pair.worse} need the most images: they differ by "
        f"{_difference(pair)}, and by the power formula {_needed(pair.images_for_power)} images "
        f"are needed for a power of {percent(stability.power, 0)}.",
    )


def _difference(pair: NeighbourPair) -> str:
    """0.0123, interval 0.0100 to 0.0146."""
    d = pair.difference
    return f"{number(d.value, 4)}, interval {interval(d.interval, 4)}"


def _needed(images: Estimate) -> str:
    """1,300 (900 to 2,100): at the difference, and at both ends of its interval."""
    if images.value is None or images.interval is None:
        return DASH
    low, high = images.interval
    return f"{_whole(images.value)} ({_whole(low)} to {_whole(high)})"


def _whole(n: float) -> str:
    return count(int(-(-n // 1)))


def neighbour_table(stability: OrderStabilityResult) -> PrintTable:
    """A row for each pair of neighbours in the order of all images."""

    def images(value: float | None) -> str:
        return f">{count(stability.sizes[-1])}" if value is None else _whole(value)

    rows = [
        [p.better, p.worse, _difference(p), number(p.sd), images(p.images_same_sign),
         images(p.images_observed), _needed(p.images_for_power)]
        for p in stability.neighbours
    ]  # fmt: skip
    return PrintTable(
        "sample_size",
        f"Neighbours in the order by ρ within an image ({count(stability.n_images)} images that "
        f"every metric scored): images until {percent(stability.stable, 0)} "
        f"of the samples have them in the same order, and until a paired test is significant in "
        f"{percent(stability.power, 0)}, observed and by the power formula (at the difference, and "
        f"at both ends of its interval; a dash where the interval contains 0).",
        ["Better", "Worse", "Difference", "Sd over images", "Same order", "Significant",
         "By the formula"],
        [[[PrintCell(text) for text in row] for row in rows]],
    )  # fmt: skip


def _draw(directory: Path, stability: OrderStabilityResult) -> list[Path]:
    """Two axes: shares of the samples in order, and tests that are significant."""
    import matplotlib as mpl  # a second to import
    from matplotlib.figure import Figure

    pairs = [f"{p.better} > {p.worse}" for p in stability.neighbours]
    colours = colours_of(pairs)
    sizes = stability.sizes
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
            for name, pair in zip(pairs, stability.neighbours, strict=True):
                shares = pair.same_sign if key == "same_sign" else pair.significant
                axes.plot(sizes, shares, color=colours[name], lw=1.3, marker="o", ms=2.5)
                if key == "significant":
                    axes.plot(sizes, pair.predicted, color=colours[name], lw=1, ls=":")
                ends.append(LineEnd(name, colours[name], shares[-1]))
            if key == "same_sign":
                axes.plot(sizes, stability.same_order, color="#1c2430", lw=1.8, marker="s", ms=3)
                ends.append(LineEnd("the whole order", "#1c2430", stability.same_order[-1]))
            axes.axhline(
                stability.stable if key == "same_sign" else stability.power,
                color=GREY,
                lw=0.7,
                ls="--",
            )
            axes.set_xscale("log")
            axes.set_xticks(sizes, [count(s) for s in sizes], rotation=40)
            axes.minorticks_off()
            axes.set(ylim=(0, 1.02), xlabel="images", ylabel=label)
            label_ends(axes, ends, sizes[-1], 72 * height)
        return save_figure(figure, directory / files.FIGURES / FIGURE, "sample size")
