"""The report of graded corruption: one self-contained HTML file from a run's files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup

from metaeval.options import Count, Whole
from metaeval.runs import files
from reports.dose.curves import corruption_title, panel
from reports.dose.section import DoseSection, dose_section
from reports.graded.alerts import alerts
from reports.graded.bins import density, order_counts
from reports.graded.drawings import density_chart, order_chart
from reports.graded.embedded import EmbeddedData, PackedExplanations, embed
from reports.graded.glossary import TERMS
from reports.graded.paper import GradedTables, forest_figure, tables
from reports.graded.run import GradedRun, read_graded_run
from reports.graded.slopes import slope_chart, slopes
from reports.graded.statements.counts import counts
from reports.graded.statements.groups import group_tables
from reports.graded.summary import headline, summary
from reports.graded.table import metrics_table
from reports.paper.citations import citation
from reports.paper.links import save_links
from reports.shared import formatting, page, payload
from reports.shared.elements import Header, Row
from reports.shared.formatting import count, percent
from reports.shared.photos import thumbnails
from reports.shared.print_tables import write_tables
from reports.shared.provenance import date_and_version, provenance
from reports.shared.row_kind import row_kind

ORDER_BINS = 50


def write_report(
    run_dir: Path | str,
    *,
    figures: bool = True,
    examples: Count = 6,
    explanations: Whole = 12,
    photos: Whole = 0,
    max_bytes: Count = 5_000_000,
) -> Path:
    """Write `report.html`, `tables/`, and with `figures` the SVG and PDF files, into a run's
    directory.

    Parameters
    ----------
    run_dir
        The directory of a finished run; its files are all that is read.
    figures
        Whether to draw the forest plot, and to write it and each metric's order and densities
        into `figures/`, as SVG and PDF.
    examples
        Example images shown at a time.
    explanations
        How many images to explain for each column of a metric that tells how its scores came
        about; the run holds no more than it was asked for. 0: none.
    photos
        How many images' photos to embed as thumbnails (those of the worst inversions), where the
        run knows an image file. 0 by default: photos have owners, and weigh.
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
        from reports.graded.figures import write_figures  # matplotlib takes a second to import

        write_figures(run)
        forest = forest_figure(run)
    printed = tables(run)
    write_tables(run.directory, printed.all)
    order = run.worst_first()
    shots = thumbnails(run.image_ids, run.image_paths, order[:photos])
    context = _context(run, printed, forest, figures)
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
    meta = {
        "sets": [{"name": s["name"], "level": s["level"]} for s in run.sets],
        "metrics": [
            {"name": name, "kind": row_kind(r), "higher": r["higher_is_better"]}
            for name, r in run.records.items()
        ],
        "examples": examples,
        "config": run.config,
        "name": run.statistics["experiment"],
        "photos": dict(shots),
        "explained": data.explanations.brief,
    }
    return page.render(
        "graded.html.j2", len(run.sets), room="graded", captions=data.captions,
        scores=data.scores, explanations=data.explanations.data, kept=kept,
        meta=page.inert(meta), **context,
    )  # fmt: skip


def _context(
    run: GradedRun, printed: GradedTables, forest: Markup, figures: bool
) -> dict[str, Any]:
    """What the page holds whatever the data."""
    table = metrics_table(run)
    return {
        "run": run,
        "header": _header(run),
        "findings": summary(run),
        "alerts": alerts(run),
        "no_alerts": "every metric ran, every caption was scored, every corruption changed its "
        "caption, and no ρ hangs on ties.",
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
        "bins": ORDER_BINS,
        "citation": citation(run),
        "provenance": provenance(run)._replace(versions=[_version_row(s) for s in run.sets]),
        "downloads": {
            "config": "Resolved config",
            "table": "Table as CSV",
            "scores": "Scores as CSV",
            "statistics": "statistics.json",
        },
        "wide_times": False,
        "terms": TERMS,
        "statistics": payload.pack_json(run.statistics),
    }


def _dose(run: GradedRun, figures: bool) -> DoseSection | None:
    """The curves of a run with several rates."""
    dose = run.statistics.get("dose")
    if not dose:
        return None
    curves = panel(corruption_title(dose["sets"]), dose, run.metrics)
    return dose_section(run.directory, [curves], figures)


def _header(run: GradedRun) -> Header:
    return Header(
        "Meta-evaluation of captioning metrics",
        run.title,
        run.question,
        [
            ("Dataset", run.statistics["dataset"]),
            ("Size", headline(run)),
            ("Seed", str(run.seed)),
            *date_and_version(run.info),
        ],
        legend_label="Versions, worst to best",
        legend=[(f"l{k}", name) for k, name in enumerate(run.names)],
        fallback=run.dataset.get("fallback"),
    )


def _version_row(s: Mapping[str, Any]) -> tuple[str, str, str, str, str]:
    """Name, level, captions, unchanged ones, words of one set."""
    requested, realised, harm = (
        s.get(key) for key in ("requested_rate", "mean_realised_rate", "mean_harm")
    )
    words = [f"{percent(requested, 0)} asked"] if requested is not None else []
    if realised or requested is not None:
        words.append(f"{percent(realised)} changed")
    if harm is not None:
        words.append(f"{percent(harm)} of the statements false or lost")
    n, unapplied = s["n"], s["n_unapplied"]
    return (
        s["name"],
        str(s["level"]),
        count(n),
        f"{count(unapplied)} ({percent(unapplied / n)})" if n else "0",
        ", ".join(words),
    )


def _charts(run: GradedRun, rows: Sequence[Row], figures: bool) -> list[dict[str, Any]]:
    """The two drawings of every metric that ran, in the order of the table."""
    charts = []
    for row in rows:
        if row.kind == "absent":
            continue
        record, scores = run.records[row.metric], run.scores[run.columns.index(row.metric)]
        places = order_counts(scores, run.seed, ORDER_BINS, record["higher_is_better"])
        charts.append(
            {
                "metric": row.metric,
                "stem": formatting.file_stem(row.metric),
                "kind": row.kind,
                "record": record,
                "order": order_chart(places, run.names),
                "density": density_chart(density(scores), run.names),
                "files": figures,
            }
        )
    return charts
