"""The report of a run on true and false captions: one self-contained HTML file."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from metaeval.runs import files
from reports.pairs.findings import findings
from reports.pairs.paper import drawings, tables
from reports.paper.citations import citation
from reports.paper.figures import inline, write_figure
from reports.paper.links import save_links
from reports.shared import page
from reports.shared.elements import Header
from reports.shared.formatting import count
from reports.shared.print_tables import write_tables
from reports.shared.provenance import date_and_version, provenance
from reports.shared.run import FinishedRun, read_run


def write_report(run_dir: Path | str, figures: bool = True) -> Path:
    """Write `report.html`, `tables/` and with `figures` the SVG and PDF files into a run's
    directory, from its files alone.

    The same run files give the same bytes. Raises InputError for a file that is missing or broken.
    """
    run = read_run(Path(run_dir))
    printed = tables(run)
    write_tables(run.directory, printed.all)
    if figures:
        folder = run.directory / files.FIGURES
        for comparison in drawings(run, printed.table):
            text = f"{comparison.kinds}\n"
            file = folder / f"{comparison.kinds_stem}.svg"
            files.atomic(file, partial(Path.write_text, data=text, encoding="utf-8"))
            title = f"{run.title}, {comparison.name}"
            write_figure(comparison.kinds_print, folder, comparison.kinds_stem, title, ("pdf",))
            write_figure(comparison.forest, folder, comparison.forest_stem, title)
    return page.write_page(run.directory / files.REPORT, render(run, figures))


def render(run: FinishedRun, figures: bool = True) -> str:
    """The page as text; `figures`: whether it names the files of its figures."""
    statistics, printed = run.statistics, tables(run)
    return page.render(
        "true_false.html.j2",
        1,
        room="pairs",
        scripts="[01]-*.js",
        run=run,
        header=_header(run),
        table=printed.table,
        table_links=save_links(printed.metrics),
        table_caption="How often every metric prefers the truth.",
        matrices=printed.matrices,
        findings=findings(statistics, printed.table, [m.lines for m in printed.matrices]),
        files=figures,
        figures=[
            (drawn, inline(drawn.forest, f"Mean accuracy of every metric, {drawn.name}"))
            for drawn in drawings(run, printed.table)
        ],
        controls=printed.controls,
        refinements=printed.refinements,
        examples=printed.examples,
        citation=citation(run),
        provenance=provenance(run),
        downloads={},
        beside=["accuracies.csv", "scores.parquet", "pairs.parquet"],
        wide_times=False,
        protocol=_protocol(run),
        alpha=statistics["settings"]["alpha"],
    )


def _header(run: FinishedRun) -> Header:
    statistics = run.statistics
    facts = statistics["facts"]
    what = "Triplets" if len(statistics["comparisons"]) > 1 else "Pairs"
    return Header(
        "Meta-evaluation of captioning metrics",
        f"True against false captions on {statistics['title']}",
        run.question,
        [
            ("Dataset", statistics["title"]),
            (what, count(facts["pairs"])),
            ("Images", count(facts["images"])),
            ("Kinds", count(len(statistics["kinds"]))),
            ("Seed", str(statistics["settings"]["seed"])),
            *date_and_version(run.info),
        ],
        fallback=run.dataset.get("fallback"),
    )


def _protocol(run: FinishedRun) -> list[tuple[str, str]]:
    facts = run.statistics["facts"]
    pairs = count(facts["pairs"])
    return [
        ("Pairs", f"{pairs} of {count(facts['images'])} images"),
        ("In the files", f"{count(facts['pairs_in_files'])} valid pairs"),
        ("Right", "the true caption's score is strictly higher; equal scores are not right"),
        (
            "True caption among the references",
            f"in {count(facts['true_among_references'])} pairs; taken out, by letters and digits",
        ),
        ("Near-copies among the references", f"in {count(facts['near_copies'])} pairs"),
        (
            "False caption among the references",
            f"in {count(facts['false_among_references'])} pairs",
        ),
        ("Pairs without references", count(facts["without_references"])),
        ("Documents of CIDEr's idf", f"{count(facts['documents'])}: an image with its references"),
    ]
