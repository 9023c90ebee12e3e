"""The report of graded corruption: one self-contained HTML file from a run's files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup

from metaeval.options import NonNegativeInt, PositiveInt
from metaeval.reports.dose.curves import corruption_title, panel
from metaeval.reports.dose.section import DoseSection, dose_section
from metaeval.reports.graded.alerts import alerts
from metaeval.reports.graded.bins import density, order_counts
from metaeval.reports.graded.drawings import density_chart, order_chart
from metaeval.reports.graded.embedded import EmbeddedData, PackedExplanations, embed
from metaeval.reports.graded.glossary import TERMS
from metaeval.reports.graded.paper import GradedTables, forest_figure, tables
from metaeval.reports.graded.ranking import TIES_DECIDE, block
from metaeval.reports.graded.run import GradedRun, read_graded_run
from metaeval.reports.graded.slopes import slope_chart, slopes
from metaeval.reports.graded.statements.counts import counts
from metaeval.reports.graded.statements.groups import group_tables
from metaeval.reports.graded.summary import headline, summary
from metaeval.reports.graded.table import metrics_table
from metaeval.reports.paper.citations import cite
from metaeval.reports.paper.links import save_links
from metaeval.reports.shared import formatting, page, payload
from metaeval.reports.shared.elements import Header, Row
from metaeval.reports.shared.formatting import count, percent
from metaeval.reports.shared.photos import thumbnails
from metaeval.reports.shared.print_tables import write_tables
from metaeval.reports.shared.provenance import language_date_and_version, reproduction
from metaeval.reports.shared.row_kind import kind_of
from metaeval.results.files import dump
from metaeval.results.graded import CaptionSet
from metaeval.runs import files

ORDER_BINS = 50


def write_report(
    run_dir: Path | str,
    *,
    figures: bool = True,
    pdf: bool = False,
    examples: PositiveInt = 6,
    explanations: NonNegativeInt = 12,
    photos: NonNegativeInt = 0,
    max_bytes: PositiveInt = 5_000_000,
) -> Path:
    """Write `report.html`, `tables/`, and with `figures` the SVG and PDF files, into a run's
    directory.

    Parameters
    ----------
    run_dir
        The directory of a finished run; its files are all that is read.
    figures
        Whether to draw the forest plot, and to write it and each metric's order and densities
        into `figures/`, as SVG; the forest and slope plots also as PDF.
    pdf
        Whether to write each metric's order and densities as PDF as well.
    examples
        Example images shown at a time.
    explanations
        How many images to explain for each column of a metric that explains its scores; the run
        contains at most as many as were requested by the run. 0: none.
    photos
        How many images' photos to embed as thumbnails (those of the worst inversions), where the
        run knows an image file. 0 by default: photos have owners, and are large.
    max_bytes
        The report's size limit. Captions and scores of all images are embedded where they fit;
        where not, those of the worst inversions, and the page says so.

    Returns
    -------
    Path
        The report. The same run files give the same bytes.

    Raises
    ------
    InputError
        A file of the run is missing or broken.
    """
    run = read_graded_run(Path(run_dir))
    forest = Markup("")
    if figures:
        from metaeval.reports.graded.figures import (
            write_figures,  # matplotlib takes a second to import
        )

        write_figures(run, pdf)
        forest = forest_figure(run)
    printed = tables(run)
    write_tables(run.directory, printed.all)
    order = run.worst_first()
    shots = thumbnails(run.image_ids, run.image_paths, order[:photos])
    context = _context(run, printed, forest, figures, pdf)
    render = partial(_render, run, context, examples, shots)
    nothing = EmbeddedData("", "", PackedExplanations([], ""))
    room = max_bytes - len(render(nothing, 0).encode())
    return page.write_page(
        run.directory / files.REPORT, render(*embed(run, order, explanations, room))
    )


def _render(
    run: GradedRun,
    context: Mapping[str, Any],
    examples: int,
    shots: Mapping[str, str],
    data: EmbeddedData,
    kept: int,
) -> str:
    """The page around the data of `kept` images, `examples` of which it shows at a time."""
    experiment = run.result.experiment
    meta = {
        "sets": [{"name": s.name, "level": s.level} for s in run.sets],
        "metrics": [
            {"name": m.name, "kind": block(m, experiment), "higher": m.column.higher_is_better}
            for m in run.ran.values()
        ],
        "examples": examples,
        "config": run.config,
        "name": experiment,
        "photos": dict(shots),
        "explained": data.explanations.brief,
    }
    return page.render(
        "graded.html.j2", len(run.sets), room="graded", captions=data.captions,
        scores=data.scores, explanations=data.explanations.data, kept=kept,
        meta=page.inert(meta), **context,
    )  # fmt: skip


def _context(
    run: GradedRun, printed: GradedTables, forest: Markup, figures: bool, pdf: bool
) -> dict[str, Any]:
    """The parts of the page that do not depend on the data."""
    table = metrics_table(run)
    return {
        "run": run,
        "header": _header(run),
        "findings": summary(run),
        "alerts": alerts(run),
        "no_alerts": "every metric ran, every caption was scored, every corruption changed its "
        f"caption, and breaking ties moves no ρ by {TIES_DECIDE} or more.",
        "table": table,
        "table_caption": "Every metric's agreement with the known order of the versions.",
        "counts": counts(run),
        "table_links": save_links(printed.metrics),
        "matrices": printed.matrices,
        "groups": [
            (group, save_links([table]))
            for group, table in zip(group_tables(run), printed.groups, strict=True)
        ],
        "floor": run.names[0],
        "forest": forest,
        "slopes": slope_chart(slopes(run.metrics)),
        "files": figures,
        "dose": _dose(run, figures),
        "charts": _charts(run, table.bodies[0][1], figures),
        "pdf": pdf,
        "bins": ORDER_BINS,
        "citation": cite(run),
        "provenance": reproduction(run, run.result.settings.model_dump())._replace(
            versions=[_version_row(s) for s in run.sets]
        ),
        "downloads": {
            "config": "Resolved config",
            "table": "Table as CSV",
            "scores": "Scores as CSV",
            "statistics": "statistics.json",
        },
        "wide_times": False,
        "terms": TERMS,
        "statistics": payload.pack_json(dump(run.result)),
    }


def _dose(run: GradedRun, figures: bool) -> DoseSection | None:
    """The curves of a run with several rates."""
    dose = run.result.dose
    if dose is None:
        return None
    kinds = {m.name: kind_of(m) for m in run.metrics}
    curves = panel(
        corruption_title(dose.sets), dose.doses, dose.realised, dose.floor, dose.metrics, kinds
    )
    return dose_section(run.directory, [curves], figures)


def _header(run: GradedRun) -> Header:
    return Header(
        "Meta-evaluation of captioning metrics",
        run.title,
        run.question,
        [
            ("Dataset", run.result.dataset),
            ("Size", headline(run)),
            ("Seed", str(run.seed)),
            *language_date_and_version(run.info),
        ],
        legend_label="Versions, worst to best",
        legend=[(f"l{k}", name) for k, name in enumerate(run.names)],
        fallback=run.dataset.fallback,
    )


def _version_row(s: CaptionSet) -> tuple[str, str, str, str, str]:
    """Name, level, captions, unchanged ones, words of one set."""
    requested, realised = s.requested_rate, s.mean_realised_rate
    words = [f"{percent(requested, 0)} asked"] if requested is not None else []
    if realised or requested is not None:
        words.append(f"{percent(realised)} changed")
    if s.mean_harm is not None:
        words.append(f"{percent(s.mean_harm)} of the statements false or lost")
    return (
        s.name,
        str(s.level),
        count(s.n),
        f"{count(s.n_unapplied)} ({percent(s.n_unapplied / s.n)})" if s.n else "0",
        ", ".join(words),
    )


def _charts(run: GradedRun, rows: Sequence[Row], figures: bool) -> list[dict[str, Any]]:
    """The two drawings of every metric that ran, in the order of the table."""
    charts = []
    for row in rows:
        if row.kind == "absent":
            continue
        metric, scores = run.ran[row.metric], run.scores[run.columns.index(row.metric)]
        places = order_counts(scores, run.seed, ORDER_BINS, metric.column.higher_is_better)
        charts.append(
            {
                "metric": row.metric,
                "stem": formatting.file_stem(row.metric),
                "kind": row.kind,
                "rho": metric.numbers.rank_order_rho.value,
                "order": order_chart(places, run.names),
                "density": density_chart(density(scores), run.names),
                "files": figures,
            }
        )
    return charts
