"""The report: one self-contained HTML file from a run's files.

`python -m reports.graded.page RUN_DIR` rebuilds the report of a finished run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from metaeval.errors import MetaevalError
from metaeval.runs import files as results
from reports.graded import alerts, table
from reports.graded.bins import density, order_counts
from reports.graded.counts import counts
from reports.graded.drawings import density_chart, order_chart
from reports.graded.explained import Explained, explained
from reports.graded.row_kind import standing
from reports.graded.run import Run, load
from reports.graded.summary import headline, summary
from reports.shared import formatting, glossary, page, payload, provenance
from reports.shared.photos import thumbnails

ORDER_BINS = 50


def write_report(
    run_dir: Path | str,
    *,
    figures: bool = True,
    examples: int = 6,
    explanations: int = 12,
    photos: int = 0,
    max_bytes: int = 5_000_000,
) -> Path:
    """Write `report.html`, and with `figures` the SVG files, into a run's directory.

    Parameters
    ----------
    run_dir
        The directory of a finished run; its files are all that is read.
    figures
        Whether to write `figures/<metric>-order.svg` and `-density.svg` as well.
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
    run = load(Path(run_dir))
    if figures:
        from reports.graded.figures import write_figures  # matplotlib takes a second to import

        write_figures(run)
    path = run.directory / results.REPORT
    html = render(
        run,
        figures=figures,
        examples=examples,
        explanations=explanations,
        photos=photos,
        max_bytes=max_bytes,
    )
    results.atomic(path, lambda p: p.write_text(html, encoding="utf-8", newline="\n"))
    return path


def render(
    run: Run, *, figures: bool, examples: int, explanations: int, photos: int, max_bytes: int
) -> str:
    """The page as text, no longer than `max_bytes` where leaving out examples can make it so.

    Explanations get what the captions leave them, or at least a tenth: rather fewer explanations
    than fewer captions.
    """
    order = payload.worst_first(run)
    shots = thumbnails(run, order[:photos])
    set_page = _page(run, figures)
    nothing = Data("", "", Explained([], ""))
    fixed = len(set_page(nothing, 0, examples, shots).encode())

    def data_of(keep: int, most: int) -> Data:
        chosen = sorted(order[:keep])
        scores = payload.scores(run.scores[:, :, chosen])
        return Data(payload.captions(run, chosen), scores, explained(run, chosen, most))

    keep, data = len(order), data_of(len(order), 0)
    left = max(max_bytes - fixed - data.size, (max_bytes - fixed) // 10)
    while explanations and explained(run, order, explanations).size > left:
        explanations //= 2
    data = data._replace(explained=explained(run, order, explanations))
    while True:
        size = fixed + data.size
        if size <= max_bytes or keep <= 1:
            return set_page(data, keep, examples, shots)
        keep = max(1, int(keep * 0.97 * max(max_bytes - fixed, 1) / max(size - fixed, 1)))
        data = data_of(keep, explanations)


class Data(NamedTuple):
    """The packed data of the images that the page shows."""

    captions: str
    scores: str
    explained: Explained

    @property
    def size(self) -> int:
        return len(self.captions) + len(self.scores) + self.explained.size


def _page(run: Run, figures: bool) -> Callable[[Data, int, int, Mapping[str, str]], str]:
    """A function that sets the page around given data: all that does not depend on the data."""
    experiment = run.info.get("experiment") or {}
    context: dict[str, Any] = {
        "run": run,
        "info": run.info,
        "title": experiment.get("title") or run.statistics["experiment"],
        "headline": headline(run),
        "findings": summary(run),
        "alerts": alerts.alerts(run),
        "terms": glossary.TERMS,
        "columns": [glossary.COLUMNS[key] for key in table.columns(run)],
        "bodies": _bodies(run),
        "axis": table.axis_of(run),
        "counts": counts(run),
        "charts": _charts(run, figures),
        "bins": ORDER_BINS,
        "sets": run.sets,
        "facts": provenance.facts(run),
        "statistics": payload.packed_json(run.statistics),
    }

    def made(data: Data, kept: int, examples: int, shots: Mapping[str, str]) -> str:
        meta = {
            "sets": [{"name": s["name"], "level": s["level"]} for s in run.sets],
            "metrics": [_brief(run, column) for column in run.columns],
            "examples": examples,
            "config": run.config,
            "name": run.statistics["experiment"],
            "photos": dict(shots),
            "explained": data.explained.brief,
        }
        return page.render(
            "report.html.j2", len(run.sets), room="graded", captions=data.captions,
            scores=data.scores, explanations=data.explained.data, kept=kept,
            meta=page.inert(meta), **context,
        )  # fmt: skip

    return made


def _brief(run: Run, column: str) -> dict[str, Any]:
    record = next(m for m in run.metrics if m["metric"] == column)
    return {
        "name": column,
        "kind": standing(record, run.metrics),
        "higher": record.get("higher_is_better", True),
    }


def _bodies(run: Run) -> list[tuple[str, list[table.Row]]]:
    """The table's bodies: all items and, where any corruption was not applied, without those."""
    bodies = [("all", table.rows(run, applied=False))]
    if any(r.get("applied_only") for r in run.metrics):
        bodies.append(("applied", table.rows(run, applied=True)))
    return bodies


def _charts(run: Run, figures: bool) -> list[dict[str, Any]]:
    names = [s["name"] for s in run.sets]
    charts = []
    records = {m["metric"]: m for m in run.metrics}
    for row in table.rows(run, applied=False):
        if row.kind == "absent":
            continue
        record, values = records[row.metric], run.scores[run.columns.index(row.metric)]
        placed = order_counts(values, run.seed, ORDER_BINS, record.get("higher_is_better", True))
        charts.append(
            {
                "metric": row.metric,
                "stem": formatting.file_stem(row.metric),
                "kind": row.kind,
                "record": record,
                "order": order_chart(placed, names),
                "density": density_chart(density(values), names),
                "files": figures,
            }
        )
    return charts


def main(arguments: list[str] | None = None) -> int:
    """The command: rebuild a report, print its path."""
    parser = argparse.ArgumentParser(prog="python -m reports.graded.page", description=__doc__)
    parser.add_argument("run_dir", type=Path, help="directory of a finished run")
    parser.add_argument("--no-figures", action="store_true", help="do not write the SVG files")
    parser.add_argument(
        "--explanations", type=int, default=12, help="images to explain a column (default: 12)"
    )
    parser.add_argument("--photos", type=int, default=0, help="photos to embed (default: none)")
    given = parser.parse_args(arguments)
    try:
        path = write_report(
            given.run_dir,
            figures=not given.no_figures,
            explanations=given.explanations,
            photos=given.photos,
        )
        print(path)
    except MetaevalError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
