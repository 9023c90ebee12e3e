"""The report of a run against human judgements: one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from metaeval.reports.judges.files import tests_made, write_files
from metaeval.reports.judges.section import JudgesSection, judges_section, statistics_of
from metaeval.reports.judgments.findings import findings
from metaeval.reports.judgments.further import curves, sentences
from metaeval.reports.judgments.paper import forests, tables
from metaeval.reports.judgments.table import STATISTICS
from metaeval.reports.paper.figures import inline
from metaeval.reports.paper.links import save_links
from metaeval.reports.paper.saved import file_name
from metaeval.reports.shared import page
from metaeval.reports.shared.formatting import count, listed
from metaeval.reports.shared.run import LoadedRun, load_run_files
from metaeval.results.judgments import JudgmentsResult

EXAMPLES = (
    "Of each metric the captions whose place by its score is furthest from their place by people’s "
    "mean rating; a place is the share of the rated captions below (“above 90%”), ties half."
)


def write_report(run_dir: Path | str) -> Path:
    """Write `report.html`, `tables/` and `figures/` into a run's directory, from its files.

    The same run files give the same bytes. Raises InputError for a missing or damaged file.
    """
    run = load_run_files(Path(run_dir), JudgmentsResult)
    printed = tables(run)
    plots = [*forests(run.result, printed.table), *_curves(run.result)]
    return write_files(run, printed.all, section_of_judges(run), plots, render(run))


def render(run: LoadedRun[JudgmentsResult]) -> str:
    """The page as text."""
    result, printed = run.result, tables(run)
    return page.render_run(
        "judgments.html.j2",
        run,
        [
            ("Dataset", result.title),
            ("Protocol", result.protocol.name),
            ("Captions", count(result.facts.judged)),
            ("Images", count(result.facts.images)),
            ("Seed", str(result.settings.seed)),
        ],
        settings_of(result),
        title=f"Metrics against people on {result.title}",
        room="judgments",
        table=printed.table,
        table_links=save_links(printed.metrics),
        table_caption="Every metric's agreement with human judgements.",
        forests=[
            (name, stem, inline(drawing, f"Agreement of every metric with people, {name}"))
            for name, stem, drawing in forests(result, printed.table)
        ],
        matrices=printed.matrices,
        compared=printed.table.heads[1].name,
        findings=findings(result, printed.table),
        systems=printed.systems,
        further=printed.further,
        notes={name: sentences(result, name) for name in result.dimensions},
        curves={
            name: (stem, inline(drawing, f"How often people prefer the higher score, {name}"))
            for name, stem, drawing in _curves(result)
        },
        groups=printed.groups,
        judges=section_of_judges(run),
        views=printed.views,
        examples=printed.examples,
        examples_lead=EXAMPLES,
        further_files=["scores.parquet", "judgments.parquet"],
        protocol=_protocol(result),
        tests=listed(tests_made(result.differences.values())),
        alpha=result.settings.alpha,
    )


def _curves(result: JudgmentsResult) -> list[tuple[str, str, Figure]]:
    """Name, file stem and drawing of the curves of each dimension."""
    return [
        (name, file_name("preferred", k, name), drawing)
        for k, name in enumerate(result.dimensions)
        if (drawing := curves(result, name)) is not None
    ]


def section_of_judges(run: LoadedRun[JudgmentsResult]) -> JudgesSection | None:
    """The section on the run's judges; their agreement is the protocol's correlation."""
    result = run.result
    statistic = result.protocol.statistic

    def agreement(judge: str) -> dict[str, float | None]:
        entry = statistics_of(result, judge)
        if entry is None:
            return {}
        title, human = STATISTICS[statistic][0], entry.numbers.human
        return {f"{title}, {name}": a.estimate(statistic).value for name, a in human.items()}

    return judges_section(run.directory, agreement)


def settings_of(result: JudgmentsResult) -> dict[str, int | float | str]:
    """The settings by name, for the section on reproduction."""
    settings = result.settings
    return {
        "replicates": settings.replicates,
        "confidence": settings.confidence,
        "seed": settings.seed,
        "permutations": settings.permutations,
        "swap": settings.swap,
        "alpha": settings.alpha,
        "fitted controls": str(settings.fitted),
    }


def _protocol(result: JudgmentsResult) -> list[tuple[str, str]]:
    """The protocol and the counts, in words."""
    facts, protocol = result.facts, result.protocol
    own_captions = {
        "drop": "left out",
        "unreference": "kept, and taken out of their image's references",
        "leave_out": "kept, and taken out of their own references",
        "keep": "kept, and compared with themselves",
    }[protocol.own_captions]
    documents = {
        "rating": "every rating",
        "pair": "every judged caption with its references",
        "image": "every image",
    }[protocol.documents]
    row = {"each": "every rating", "mean": "every caption, with its mean rating"}[protocol.ratings]
    rows = ", ".join(f"{dimension}: {n:,}" for dimension, n in facts.rows.items())
    return [
        ("Protocol", protocol.name),
        ("Judged captions", f"{facts.judged:,} of {facts.images:,} images"),
        (f"Own captions ({facts.own_captions:,})", own_captions),
        ("A row of the correlations is", f"{row} ({rows})"),
        ("A document of CIDEr's idf is", f"{documents} ({facts.documents:,})"),
        ("Captions without references", f"{facts.without_references:,}"),
    ]
