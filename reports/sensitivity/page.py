"""The report of what each metric sees: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metaeval.runs import files
from reports.paper.citations import citation
from reports.paper.links import save_links
from reports.sensitivity.dendrogram import dendrogram
from reports.sensitivity.findings import findings
from reports.sensitivity.people import agreement
from reports.sensitivity.print_cards import write_cards
from reports.sensitivity.profile import cards, heat_map, shown
from reports.shared import page
from reports.shared.elements import Header
from reports.shared.formatting import count, number, percent
from reports.shared.print_tables import PrintCell, PrintTable, write_tables
from reports.shared.provenance import date_and_version, provenance
from reports.shared.run import FinishedRun, read_run


def write_report(run_dir: Path | str, figures: bool = True, judgments: Sequence[str] = ()) -> Path:
    """Write `report.html` into a run's directory, from its files alone.

    With `figures`, each metric's card comes for print, too (`print_cards`). `judgments` are folders
    of runs of experiment=judgments: what they say of a metric stands on its card. The same run
    files give the same bytes. Raises InputError for a file that is missing or broken.
    """
    run = read_run(Path(run_dir))
    people = agreement(judgments)
    write_tables(run.directory, [auc_table(run)])
    if figures:
        write_cards(run)
    return page.write_page(run.directory / files.REPORT, render(run, people))


def render(run: FinishedRun, people: Mapping[str, Sequence[str]]) -> str:
    """The page as text."""
    statistics = run.statistics
    return page.render(
        "sensitivity.html.j2",
        1,
        room="sensitivity",
        scripts="0-*.js",
        run=run,
        header=_header(run),
        findings=findings(run),
        metrics=[r["metric"] for r in shown(run)],
        groups=heat_map(run),
        map_links=save_links([auc_table(run)]),
        citation=citation(run),
        cards=cards(run, people),
        examples=_examples(run),
        together=[
            (pair["a"], pair["b"], number(pair["mean_auc"]), number(pair["gain"]))
            for pair in statistics["together"][:5]
        ],
        tree=dendrogram(statistics["order"], statistics["leaves"], statistics["tree"]),
        absent=[
            (r["metric"], r["status"], r["reason"] or "", r["remedy"] or "")
            for r in run.metrics
            if r["status"] != "ok"
        ],
        provenance=provenance(run),
        downloads={},
        beside=["scores.parquet", "captions.parquet"],
        wide_times=False,
    )


def auc_table(run: FinishedRun) -> PrintTable:
    """The heat map for print: a row a change, its kinds parted by rules, a column a metric."""
    heads = ["Change", "Made in", *(r["metric"] for r in shown(run))]
    groups = [
        [
            [PrintCell(text) for text in (row.name, row.applied, *(c.text for c in row.cells))]
            for row in group.rows
        ]
        for group in heat_map(run)
    ]
    caption = "How often the human caption scores above the changed one (AUC times 100)."
    return PrintTable("auc", caption, heads, groups)


def _header(run: FinishedRun) -> Header:
    sets = [entry for entry in run.statistics["sets"] if entry["n_applied"]]
    harmful = sum(entry["expected"] == "lower" for entry in sets)
    return Header(
        "Meta-evaluation of captioning metrics",
        "What does each metric see?",
        run.question,
        [
            ("Dataset", run.statistics["dataset"]),
            ("Images", count(run.statistics["n_images"])),
            ("Sets that harm", str(harmful)),
            ("Harmless sets", str(len(sets) - harmful)),
            ("Seed", str(run.statistics["settings"]["seed"])),
            *date_and_version(run.info),
        ],
        fallback=run.dataset.get("fallback"),
    )


def _examples(run: FinishedRun) -> list[dict[str, Any]]:
    """Per set: what was changed how often and why not, and where metrics erred most."""
    listed = []
    for k, entry in enumerate(run.statistics["sets"]):
        rows = []
        for record in shown(run):
            for example in record["profile"][entry["set"]]["examples"][:1]:
                human, changed = example["scores"]
                rows.append(
                    (record["metric"], example["human"], example["changed"],
                     number(human), number(changed))
                )  # fmt: skip
        listed.append(
            {
                "anchor": f"set-{k}",
                "name": entry["set"],
                "kind": entry["kind"],
                "expected": {"lower": "should lower the score", "same": "should leave the score"}[
                    entry["expected"]
                ],
                "applied": f"{count(entry['n_applied'])} of {count(entry['n'])} captions",
                "words": percent(entry["mean_share_changed"]),
                "reasons": [f"{why}: {count(n)}" for why, n in entry["reasons"].items()],
                "rows": rows,
            }
        )
    return listed
