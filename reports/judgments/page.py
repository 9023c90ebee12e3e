"""The report of a run against human judgements: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metaeval.runs import files
from reports.judgments.findings import findings
from reports.judgments.paper import forests, is_choice, tables
from reports.paper.citations import citation
from reports.paper.figures import inline, write_figure
from reports.paper.links import save_links
from reports.shared import page
from reports.shared.elements import Header
from reports.shared.formatting import count, listed, percent
from reports.shared.print_tables import write_tables
from reports.shared.provenance import date_and_version, provenance
from reports.shared.run import FinishedRun, read_run


def write_report(run_dir: Path | str) -> Path:
    """Write `report.html`, `tables/` and `figures/` into a run's directory, from its files alone.

    The same run files give the same bytes. Raises InputError for a file that is missing or broken.
    """
    run = read_run(Path(run_dir))
    printed = tables(run)
    write_tables(run.directory, printed.all)
    for name, stem, drawing in forests(run, printed.table):
        write_figure(drawing, run.directory / files.FIGURES, stem, f"{run.title}, {name}")
    return page.write_page(run.directory / files.REPORT, render(run))


def render(run: FinishedRun) -> str:
    """The page as text."""
    statistics, choice = run.statistics, is_choice(run)
    printed = tables(run)
    return page.render(
        "judgments.html.j2",
        1,
        room="judgments",
        scripts="[01]-*.js",
        run=run,
        header=_header(run, choice),
        choice=choice,
        table=printed.table,
        table_links=save_links(printed.metrics),
        table_caption="Every metric's agreement with human judgements.",
        forests=[
            (name, stem, inline(drawing, f"Agreement of every metric with people, {name}"))
            for name, stem, drawing in forests(run, printed.table)
        ],
        matrices=printed.matrices,
        findings=findings(statistics, printed.table, [m.lines for m in printed.matrices]),
        systems=printed.systems,
        views=printed.views,
        examples=printed.examples,
        citation=citation(run),
        provenance=provenance(run),
        downloads={},
        beside=["scores.parquet", "judgments.parquet"],
        wide_times=False,
        protocol=_protocol(statistics),
        tests=listed(_tests(statistics)),
        alpha=statistics["settings"]["alpha"],
    )


def _header(run: FinishedRun, choice: bool) -> Header:
    statistics = run.statistics
    n = statistics["facts"]
    size = (
        [("Pairs", count(n["pairs"]))]
        if choice
        else [("Protocol", statistics["protocol"]["name"]), ("Captions", count(n["judged"]))]
    )
    return Header(
        "Meta-evaluation of captioning metrics",
        f"Metrics against people on {statistics['title']}",
        run.question,
        [
            ("Dataset", statistics["title"]),
            *size,
            ("Images", count(n["images"])),
            ("Seed", str(statistics["settings"]["seed"])),
            *date_and_version(run.info),
        ],
        fallback=run.dataset.get("fallback"),
    )


def _tests(statistics: Mapping[str, Any]) -> list[str]:
    """The tests that were made, each with its letter."""
    descriptions = {
        "permutation": "P the paired permutation test",
        "bootstrap": "B the paired bootstrap over images",
        "williams": "W Williams' test (of Pearson's r with the captions' mean ratings)",
    }
    pair: Mapping[str, Any] = next(
        (p for d in statistics["differences"].values() for p in d["pairs"]), {}
    )
    return [text for test, text in descriptions.items() if test in pair]


_LABELS = {
    "consensus": "consensus: 48 people who compared the captions with one reference each",
    "direct": "direct: 10 or 11 people who saw the image",
}


def _agreement_of_labels(statistics: Mapping[str, Any]) -> list[tuple[str, str]]:
    agreement = statistics["label_agreement"]
    if agreement is None:
        return []
    shares = ", ".join(f"{name} {percent(share)}" for name, share in agreement.items())
    return [("Direct and consensus labels agree on", shares)]


def _protocol(statistics: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The protocol and the counts, in words."""
    n = statistics["facts"]
    if statistics["kind"] == "forced_choice":
        return [
            ("Pairs", f"{n['pairs']:,} of {n['images']:,} images"),
            ("Labels", _LABELS[statistics["labels"]]),
            *_agreement_of_labels(statistics),
            ("Equal scores", {"half": "count one half", "wrong": "are wrong"}[statistics["ties"]]),
            ("Undecided by people", f"{n['undecided']:,} (as equal scores)"),
            ("Draws of references", str(statistics["draws"])),
        ]
    protocol = statistics["protocol"]
    own_captions = {
        "drop": "left out",
        "unreference": "kept, and taken out of their image's references",
        "keep": "kept, and compared with themselves",
    }[protocol["own_captions"]]
    documents = {
        "rating": "every rating",
        "pair": "every judged caption with its references",
        "image": "every image",
    }[protocol["documents"]]
    a_row = {"each": "every rating", "mean": "every caption, with its mean rating"}
    return [
        ("Protocol", protocol["name"]),
        ("Judged captions", f"{n['judged']:,} of {n['images']:,} images"),
        (f"Own captions ({n['own_captions']:,})", own_captions),
        (
            "A row of the correlations is",
            f"{a_row[protocol['ratings']]} "
            f"({', '.join(f'{d}: {rows:,}' for d, rows in n['rows'].items())})",
        ),
        ("A document of CIDEr's idf is", f"{documents} ({n['documents']:,})"),
        ("Captions without references", f"{n['without_references']:,}"),
    ]
