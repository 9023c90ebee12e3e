"""The report of a run on true and false captions: one self-contained HTML file."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from metaeval.reports.judges.section import JudgesSection, judges_section, statistics_of
from metaeval.reports.pairs.findings import findings
from metaeval.reports.pairs.paper import drawings, tables
from metaeval.reports.pairs.table import TIES
from metaeval.reports.paper.figures import inline, write_figure
from metaeval.reports.paper.links import save_links
from metaeval.reports.shared import page
from metaeval.reports.shared.formatting import count
from metaeval.reports.shared.print_tables import write_tables
from metaeval.reports.shared.run import LoadedRun, load_run_files
from metaeval.results.pairs import PairsResult
from metaeval.runs import files


def write_report(run_dir: Path | str, figures: bool = True) -> Path:
    """Write `report.html`, `tables/` and with `figures` the SVG and PDF files into a run's
    directory, from its files alone.

    The same run files give the same bytes. Raises InputError for a file that is missing or broken.
    """
    run = load_run_files(Path(run_dir), PairsResult)
    printed = tables(run)
    judges = section_of_judges(run)
    write_tables(run.directory, [*printed.all, *([judges.table] if judges else [])])
    if figures:
        folder = run.directory / files.FIGURES
        for comparison in drawings(run.result, printed.table):
            text = f"{comparison.kinds}\n"
            file = folder / f"{comparison.kinds_stem}.svg"
            files.atomic(file, partial(Path.write_text, data=text, encoding="utf-8"))
            title = f"{run.title}, {comparison.name}"
            write_figure(comparison.kinds_print, folder, comparison.kinds_stem, title, ("pdf",))
            write_figure(comparison.forest, folder, comparison.forest_stem, title)
    return page.write_page(run.directory / files.REPORT, render(run, figures))


def render(run: LoadedRun[PairsResult], figures: bool = True) -> str:
    """The page as text; `figures`: whether it names the files of its figures."""
    result, printed = run.result, tables(run)
    return page.render_run(
        "true_false.html.j2",
        run,
        [
            ("Dataset", result.title),
            ("Triplets" if len(result.comparisons) > 1 else "Pairs", count(result.facts.pairs)),
            ("Images", count(result.facts.images)),
            ("Kinds", count(len(result.kinds))),
            ("Seed", str(result.settings.seed)),
        ],
        result.settings.model_dump(),
        title=f"True against false captions on {result.title}",
        room="pairs",
        table=printed.table,
        table_links=save_links(printed.metrics),
        table_caption="How often every metric prefers the truth.",
        matrices=printed.matrices,
        findings=findings(result, printed.table),
        files=figures,
        figures=[
            (drawn, inline(drawn.forest, f"Mean accuracy of every metric, {drawn.name}"))
            for drawn in drawings(run.result, printed.table)
        ],
        controls=printed.controls,
        refinements=printed.refinements,
        examples=printed.examples,
        judges=section_of_judges(run),
        further_files=["accuracies.csv", "scores.parquet", "pairs.parquet"],
        protocol=_protocol(run),
        alpha=result.settings.alpha,
        ties=TIES[result.settings.ties],
    )


def section_of_judges(run: LoadedRun[PairsResult]) -> JudgesSection | None:
    """The section on the run's judges; their agreement is the mean accuracy over kinds."""

    def agreement(judge: str) -> dict[str, float | None]:
        entry = statistics_of(run.result, judge)
        accuracy = entry.numbers.accuracy if entry is not None else {}
        return {f"accuracy, {name}": value.mean.value for name, value in accuracy.items()}

    return judges_section(run.directory, agreement)


def _protocol(run: LoadedRun[PairsResult]) -> list[tuple[str, str]]:
    facts = run.result.facts
    dropped = ""
    if facts.near_copies:
        dropped = "; taken out" if facts.near_copies_dropped else "; they stay"
    return [
        ("Pairs", f"{count(facts.pairs)} of {count(facts.images)} images"),
        ("In the files", f"{count(facts.pairs_in_files)} valid pairs"),
        ("Right", f"the true caption's score is higher. {TIES[run.result.settings.ties]}"),
        (
            "True caption among the references",
            f"in {count(facts.true_among_references)} pairs; taken out, by letters and digits",
        ),
        ("Near-copies among the references", f"in {count(facts.near_copies)} pairs{dropped}"),
        ("False caption among the references", f"in {count(facts.false_among_references)} pairs"),
        ("Pairs without references", count(facts.without_references)),
        ("Documents of CIDEr's idf", f"{count(facts.documents)}: an image with all its references"),
    ]
