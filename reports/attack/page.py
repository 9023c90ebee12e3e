"""The report of `experiment=attack`: what fools which metric."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup, escape

from metaeval.reports.attack.figures import write_figures
from metaeval.reports.attack.findings import findings
from metaeval.reports.attack.tables import (
    cost_table,
    defence_table,
    goals_table,
    goodhart_table,
    success_tables,
    transfer_table,
)
from metaeval.reports.graded.diff_markup import CLOSE, MID, OPEN, marked
from metaeval.reports.paper.links import save_links
from metaeval.reports.shared import page
from metaeval.reports.shared.figure_style import as_data_uri
from metaeval.reports.shared.formatting import (
    amount,
    count,
    cut,
    interval,
    listed,
    number,
    percent,
)
from metaeval.reports.shared.print_tables import write_tables
from metaeval.reports.shared.row_kind import kind_of
from metaeval.reports.shared.run import load_run_files
from metaeval.results.attack import AttackResult, SuccessfulAttack
from metaeval.runs import files

_PALE, _FULL = (247, 247, 245), (217, 112, 27)  # grey, orange: no share, all


class TransferCell(NamedTuple):
    """A cell of the transfer map: its text, its colours, and what hovering shows."""

    text: str
    background: str
    ink: str
    title: str


class ShownSuccess(NamedTuple):
    """A false caption with its changed words marked, and the scores of both captions."""

    image: str
    human: str
    false: Markup
    scores: tuple[str, str]
    edits: int


def write_report(run_dir: Path | str) -> Path:
    """Write `report.html`, the figures (SVG, PDF) and the tables into a run's directory.

    The same run files give the same bytes. Raises InputError for a missing or damaged file.
    """
    run = load_run_files(Path(run_dir), AttackResult)
    result, settings = run.result, run.result.settings
    figures = write_figures(run.directory / files.FIGURES, result)
    tables = {
        "success": success_tables(result),
        "transfer": [transfer_table(result)],
        "goals": [goals_table(result)],
        "goodhart": [goodhart_table(result)],
        "defences": [defence_table(result)],
        "cost": [cost_table(result, run.info)],
    }
    tables = {name: [t for t in several if t.groups] for name, several in tables.items()}
    write_tables(run.directory, [table for several in tables.values() for table in several])
    return page.write_page(
        run.directory / files.REPORT,
        page.render_run(
            "attack.html.j2",
            run,
            [
                ("Dataset", result.dataset),
                ("Images", count(settings.n_images)),
                ("Calls per image", count(settings.budgets[-1])),
                ("Changed words", f"at most {settings.max_edits}"),
                ("Seed", str(settings.seed)),
            ],
            settings.model_dump(),
            title="Can it be fooled?",
            room="attack",
            findings=findings(result),
            figures={stem: (as_data_uri(path), alt) for stem, (path, alt) in figures.items()},
            tables={name: [(t, save_links([t])) for t in ts] for name, ts in tables.items()},
            targets=transfer_names(result),
            heat=heat_map(result),
            gallery=gallery(result),
            rules=rules(result),
            n=result.settings.budgets[-1],
            edits=amount(result.settings.max_edits, "word"),
            absent=[
                (m.name, m.status, m.reason or "", m.remedy or "")
                for m in result.visible
                if not m.ok
            ],
            further_files=["captions.parquet", "scores.parquet"],
        ),
    )


def rules(result: AttackResult) -> list[tuple[str, str]]:
    """What the attacker could do, in words."""
    settings = result.settings
    if settings.fluent is not None:
        fluency = f"within the central {percent(settings.fluent, 0)} of human captions of its "
        fluency += "length by a language model that sees no image"
    else:
        fluency = f"no constraint: {settings.no_fluency}"
    lengths = settings.lengths
    return [
        ("Captions are false by", settings.rule),
        ("Calls of the metric per image", listed([count(b) for b in settings.budgets])),
        ("Changed words", f"at most {settings.max_edits}"),
        ("Fluency", fluency),
        *([("Length", f"{lengths[0]} to {lengths[1]} words")] if lengths else []),
        *(
            (f"Control: {name}", f"{percent(e.value)} fooled ({count(e.n or 0)} images)")
            for name, e in result.controls.items()
        ),
    ]


def transfer_names(result: AttackResult) -> list[str]:
    """The metrics of the transfer map, the most fooled first, controls last."""
    there = {cell.source for cell in result.transfer}
    metrics = [m for m in result.metrics if m.ok and m.name in there]
    metrics.sort(key=lambda m: (kind_of(m) == "control", -(m.numbers.final().value or 0.0)))
    return [m.name for m in metrics]


def heat_map(result: AttackResult) -> list[tuple[str, int, list[TransferCell]]]:
    """A row for each attacked metric: its name, its number of successes, a cell for each metric."""
    cells = {(c.source, c.target): c.share for c in result.transfer}
    names = transfer_names(result)
    rows = []
    for source in names:
        row = []
        for target in names:
            share = cells[source, target]
            if share.value is None:
                row.append(
                    TransferCell("–", "transparent", "inherit", "no caption fools the metric")
                )
                continue
            mixed = [round(p + share.value * (f - p)) for p, f in zip(_PALE, _FULL, strict=True)]
            ends = interval([100 * v for v in share.interval] if share.interval else None, 1)
            title = f"found against {source}, preferred by {target}: {percent(share.value)}"
            row.append(
                TransferCell(
                    number(100 * share.value, 0),
                    f"rgb({mixed[0]},{mixed[1]},{mixed[2]})",
                    "#111",
                    f"{title}, interval {ends}, n {count(share.n or 0)}",
                )
            )
        rows.append((source, cells[source, source].n or 0, row))
    return rows


def gallery(result: AttackResult) -> list[tuple[str, list[ShownSuccess]]]:
    """For each metric the first captions that fooled it, all text escaped."""
    shown: dict[str, list[ShownSuccess]] = {}
    for success in result.gallery:
        shown.setdefault(success.metric, []).append(example(success))
    return list(shown.items())


def example(success: SuccessfulAttack) -> ShownSuccess:
    """One success with its changed words in `<ins>` and `<del>`."""
    human, false = cut(success.human), cut(success.false)
    return ShownSuccess(
        str(success.image_id),
        human,
        with_marks(human, false),
        (number(success.scores[0]), number(success.scores[1])),
        success.edits,
    )


def with_marks(source: str, caption: str) -> Markup:
    """A caption, escaped, with the words that differ from its source marked."""
    old, new = source.split(), caption.split()
    text = marked(source, caption, [{"position": -1, "before": "", "after": ""}])
    html = str(escape(text if old != new else caption))
    parts = []
    for k, piece in enumerate(html.split(OPEN)):
        if k == 0:
            parts.append(piece)
            continue
        change, _, rest = piece.partition(CLOSE)
        before, _, after = change[1:].partition(MID)
        struck = f"<del>{before}</del>" if before else ""
        parts.append(f'<ins class="{change[0]}">{struck}{after}</ins>' if after else struck)
        parts.append(rest)
    return Markup("".join(parts))  # escaped above; the tags are ours
