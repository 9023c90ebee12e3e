"""The report of a run on true and false captions: one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path

from metaeval.runs import files
from reports.pairs.drawing import accuracy_figure
from reports.pairs.findings import findings
from reports.pairs.table import accuracy_table, control_rows, refinement_table
from reports.shared import page
from reports.shared.elements import Header
from reports.shared.formatting import count
from reports.shared.matrix import matrix
from reports.shared.provenance import date_and_version, provenance
from reports.shared.run import FinishedRun, read_run

FIGURE = "accuracy.svg"


def write_report(run_dir: Path | str, figures: bool = True) -> Path:
    """Write `report.html` and the figure's file into a run's directory, from its files alone.

    The same run files give the same bytes. Raises InputError for a file that is missing or broken.
    """
    run = read_run(Path(run_dir))
    if figures:
        drawing = accuracy_figure(
            run.metrics, list(run.statistics["kinds"]), run.statistics["comparisons"][0]
        )
        path = run.directory / files.FIGURES / FIGURE
        files.atomic(path, lambda p: p.write_text(f"{drawing}\n", encoding="utf-8"))
    return page.write_page(run.directory / files.REPORT, render(run))


def render(run: FinishedRun) -> str:
    """The page as text."""
    statistics = run.statistics
    table = accuracy_table(run)
    alpha = statistics["settings"]["alpha"]
    matrices = []
    for name, rows in table.bodies:
        order = [row.metric for row in rows if row.kind == "result"]
        matrices.append((name, matrix(statistics["differences"][name], order, alpha)))
    comparisons = statistics["comparisons"]
    return page.render(
        "true_false.html.j2",
        1,
        room="pairs",
        scripts="[01]-*.js",
        run=run,
        header=_header(run),
        table=table,
        table_caption="How often every metric prefers the truth.",
        matrices=matrices,
        findings=findings(statistics, table, [rows for _, rows in matrices]),
        figures=[
            (c, accuracy_figure(run.metrics, list(statistics["kinds"]), c)) for c in comparisons
        ],
        controls=[(c, control_rows(run, c)) for c in comparisons],
        refinements=[(c, *refinement_table(run, c)) for c in comparisons],
        provenance=provenance(run),
        downloads={},
        beside=["accuracies.csv", "scores.parquet", "pairs.parquet", f"figures/{FIGURE}"],
        wide_times=False,
        protocol=_protocol(run),
        alpha=alpha,
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
