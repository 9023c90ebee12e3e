"""The report of a run of forced choice: one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path

from metaeval.reports.forced_choice.findings import findings
from metaeval.reports.forced_choice.paper import forests, tables
from metaeval.reports.judges.files import tests_made, write_files
from metaeval.reports.judges.section import JudgesSection, judges_section, statistics_of
from metaeval.reports.paper.figures import inline
from metaeval.reports.paper.links import save_links
from metaeval.reports.shared import page
from metaeval.reports.shared.formatting import capital, count, listed, percent
from metaeval.reports.shared.run import LoadedRun, load_run_files
from metaeval.results.forced_choice import ForcedChoiceResult

EXAMPLES = (
    "Of each metric the pairs of which people prefer one caption and the metric most clearly the "
    "other; the gap is in standard deviations of its gaps."
)
_LABELS = {
    "consensus": "consensus: 48 people who compared the captions with one reference each",
    "direct": "direct: 10 or 11 people who saw the image",
    "votes": "the sum of the votes of the people",
}


def write_report(run_dir: Path | str) -> Path:
    """Write `report.html`, `tables/` and `figures/` into a run's directory, from its files.

    The same run files give the same bytes. Raises InputError for a missing or damaged file.
    """
    run = load_run_files(Path(run_dir), ForcedChoiceResult)
    printed = tables(run)
    plots = forests(run.result, printed.table)
    return write_files(run, printed.all, section_of_judges(run), plots, render(run))


def render(run: LoadedRun[ForcedChoiceResult]) -> str:
    """The page as text."""
    result, printed = run.result, tables(run)
    settings = result.settings
    return page.render_run(
        "forced_choice.html.j2",
        run,
        [
            ("Dataset", result.title),
            ("Pairs", count(result.facts.pairs)),
            (f"{capital(result.unit)}s", count(result.facts.images)),
            ("Seed", str(settings.seed)),
        ],
        settings.model_dump(),
        title=f"Metrics against people on {result.title}",
        room="forced_choice",
        table=printed.table,
        table_links=save_links(printed.metrics),
        table_caption="How often every metric chooses as people do.",
        forests=[
            (name, stem, inline(drawing, f"Agreement of every metric with people, {name}"))
            for name, stem, drawing in forests(result, printed.table)
        ],
        matrices=printed.matrices,
        compared="mean accuracy over all pairs",
        findings=findings(result, printed.table),
        examples=printed.examples,
        judges=section_of_judges(run),
        examples_lead=EXAMPLES,
        further_files=["scores.parquet", "judgments.parquet"],
        protocol=_protocol(result),
        tests=listed(tests_made(result.differences.values())),
        alpha=settings.alpha,
    )


def section_of_judges(run: LoadedRun[ForcedChoiceResult]) -> JudgesSection | None:
    """The section on the run's judges; their agreement is the mean accuracy."""

    def agreement(judge: str) -> dict[str, float | None]:
        entry = statistics_of(run.result, judge)
        choices = entry.numbers.choice if entry is not None else ()
        return {f"accuracy, {c.n_references} references": c.mean.value for c in choices}

    return judges_section(run.directory, agreement)


def _protocol(result: ForcedChoiceResult) -> list[tuple[str, str]]:
    """The labels and the counts, in words."""
    facts = result.facts
    agreement = []
    if result.label_agreement is not None:
        shares = (f"{name} {percent(share)}" for name, share in result.label_agreement.items())
        agreement = [("Direct and consensus labels agree on", ", ".join(shares))]
    return [
        ("Pairs", f"{facts.pairs:,} of {facts.images:,} {result.unit}s"),
        ("Labels", _LABELS[result.labels]),
        *agreement,
        ("Equal scores", {"half": "count one half", "wrong": "are wrong"}[result.ties]),
        ("Undecided by people", f"{facts.undecided:,} (as equal scores)"),
        ("Draws of references", str(result.draws)),
    ]
