"""The report of a run of battles: one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path

from metaeval.reports.arena.findings import findings
from metaeval.reports.arena.paper import forests, tables
from metaeval.reports.arena.table import TIES
from metaeval.reports.judges.files import tests_made, write_files
from metaeval.reports.judges.section import JudgesSection, judges_section, statistics_of
from metaeval.reports.paper.figures import inline
from metaeval.reports.paper.links import save_links
from metaeval.reports.shared import page
from metaeval.reports.shared.formatting import capital, count, listed, number, percent
from metaeval.reports.shared.run import LoadedRun, load_run_files
from metaeval.results.arena import ALL, ArenaResult

EXAMPLES = (
    "Of each metric the battles that it loses most clearly: the gap between the loser's score and "
    "the winner's, in standard deviations of its gaps."
)


def write_report(run_dir: Path | str) -> Path:
    """Write `report.html`, `tables/` and `figures/` into a run's directory, from its files.

    The same run files give the same bytes. Raises InputError for a missing or damaged file.
    """
    run = load_run_files(Path(run_dir), ArenaResult)
    printed = tables(run)
    plots = forests(run.result, printed.table)
    return write_files(run, printed.all, section_of_judges(run), plots, render(run))


def render(run: LoadedRun[ArenaResult]) -> str:
    """The page as text."""
    result, printed = run.result, tables(run)
    return page.render_run(
        "arena.html.j2",
        run,
        [
            ("Dataset", result.title),
            ("Battles", count(result.facts.battles)),
            (f"{capital(result.unit)}s", count(result.facts.images)),
            *([("Systems", count(result.facts.systems))] if result.facts.systems else []),
            ("Seed", str(result.settings.seed)),
        ],
        result.settings.model_dump(),
        title=f"Battles on {result.title}",
        room="arena",
        table=printed.table,
        table_links=save_links(printed.metrics),
        table_caption="How often every metric prefers the winner.",
        forests=[
            (name, stem, inline(drawing, "Agreement of every metric with the winners"))
            for name, stem, drawing in forests(result, printed.table)
        ],
        matrices=printed.matrices,
        compared="agreement over all battles",
        findings=findings(result, printed.table),
        systems=printed.systems,
        ranking=result.ranking,
        tie=_tie(result),
        examples=printed.examples,
        examples_lead=EXAMPLES,
        judges=section_of_judges(run),
        further_files=["scores.parquet", "judgments.parquet"],
        protocol=_protocol(result),
        tests=listed(tests_made([result.differences])),
        alpha=result.settings.alpha,
    )


def section_of_judges(run: LoadedRun[ArenaResult]) -> JudgesSection | None:
    """The section on the run's judges; their agreement is that over all battles."""

    def agreement(judge: str) -> dict[str, float | None]:
        entry = statistics_of(run.result, judge)
        return {} if entry is None else {"agreement": entry.numbers.agreement[ALL].value}

    return judges_section(run.directory, agreement)


def _tie(result: ArenaResult) -> str:
    """The probability that two equal systems tie, in percent."""
    ranking = result.ranking
    return "" if ranking is None else percent(ranking.tie / (2 + ranking.tie))


def _protocol(result: ArenaResult) -> list[tuple[str, str]]:
    facts, settings = result.facts, result.settings
    by = {"people": "people"}.get(settings.winner, settings.winner)
    ranking = result.ranking
    rows = [
        ("Battles", f"{count(facts.battles)} of {count(facts.images)} {result.unit}s"),
        ("Winner by", by),
        ("Raters", count(facts.raters) if facts.raters else "not known"),
        ("Ties", f"{count(facts.tied)} battles. {TIES[settings.ties]}"),
        ("Without references", f"{count(facts.without_references)} battles"),
    ]
    if ranking is None:
        return [*rows, ("Ranking of systems", f"none: {result.unranked}")]
    return [
        *rows,
        ("Ranking of systems", "Bradley-Terry with ties (Davidson), by maximum likelihood"),
        ("Log-odds per word more", number(ranking.length.value)),
    ]
