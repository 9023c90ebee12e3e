"""The report of what each metric sees: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from metaeval.reports.paper.links import save_links
from metaeval.reports.sensitivity.dendrogram import dendrogram
from metaeval.reports.sensitivity.findings import combination, findings
from metaeval.reports.sensitivity.people import agreement
from metaeval.reports.sensitivity.print_cards import write_cards
from metaeval.reports.sensitivity.profile import cards, heat_map, shown
from metaeval.reports.shared import page
from metaeval.reports.shared.formatting import capital, count, number, percent, with_interval
from metaeval.reports.shared.print_tables import PrintCell, PrintTable, write_tables
from metaeval.reports.shared.run import LoadedRun, load_run_files
from metaeval.results.sensitivity import SensitivityResult
from metaeval.runs import files


def write_report(run_dir: Path | str, figures: bool = True, judgments: Sequence[str] = ()) -> Path:
    """Write `report.html` into a run's directory, from its files alone.

    With `figures`, each metric's card is also written for print (`print_cards`). `judgments` are
    folders of runs of experiment=judgments; their agreement is shown on the cards. The same run
    files give the same bytes. Raises InputError for a file that is missing or broken.
    """
    run = load_run_files(Path(run_dir), SensitivityResult)
    people = agreement(judgments)
    write_tables(run.directory, [auc_table(run.result)])
    if figures:
        write_cards(run)
    return page.write_page(run.directory / files.REPORT, render(run, people))


def render(run: LoadedRun[SensitivityResult], people: Mapping[str, Sequence[str]]) -> str:
    """The page as text."""
    result = run.result
    sets = [entry for entry in result.sets if entry.n_applied]
    return page.render_run(
        "sensitivity.html.j2",
        run,
        [
            ("Dataset", result.dataset),
            ("Images", count(result.n_images)),
            ("Sets that harm", str(sum(entry.expected == "lower" for entry in sets))),
            ("Harmless sets", str(sum(entry.expected != "lower" for entry in sets))),
            ("Seed", str(result.settings.seed)),
        ],
        result.settings.model_dump(),
        title="What does each metric see?",
        room="sensitivity",
        scripts="0-*.js",
        findings=findings(result),
        metrics=[m.name for m in shown(result)],
        groups=heat_map(result),
        map_links=save_links([auc_table(run.result)]),
        cards=cards(run, people),
        examples=_examples(result),
        kinds=_kinds(result),
        together=_together(result),
        tree=dendrogram(result.order, result.leaves, result.tree),
        absent=[
            (m.name, m.status, m.reason or "", m.remedy or "") for m in result.visible if not m.ok
        ],
        further_files=["scores.parquet", "captions.parquet"],
    )


def auc_table(result: SensitivityResult) -> PrintTable:
    """The heat map for print: a row per change, kinds separated by rules, a column per metric."""
    heads = ["Change", "Made in", *(m.name for m in shown(result))]
    groups = [
        [
            [PrintCell(text) for text in (row.name, row.applied, *(c.text for c in row.cells))]
            for row in group.rows
        ]
        for group in heat_map(result)
    ]
    caption = "How often the human caption scores above the changed one (AUC times 100)."
    return PrintTable("auc", caption, heads, groups)


def _kinds(result: SensitivityResult) -> list[list[str]]:
    """Kind, number of sets, and the mean AUC of each metric; then severities, mildest first."""
    metrics = shown(result)
    first = metrics[0].numbers if metrics else None
    if first is None:
        return []
    rows = []
    for kind in first.kinds:
        n = sum(e.kind == kind and e.n_applied > 0 and not e.experimental for e in result.sets)
        means = [number(m.numbers.kinds[kind].value) for m in metrics]
        rows.append([capital(kind), str(n), *means])
    rows.append(["All kinds that harm", "", *(number(m.numbers.harm.value) for m in metrics)])
    for severity in first.severity:
        n = sum(
            e.severity == severity
            and e.expected == "lower"
            and e.n_applied > 0
            and not e.experimental
            for e in result.sets
        )
        means = [number(m.numbers.severity[severity].value) for m in metrics]
        rows.append([f"Severity: {severity}", str(n), *means])
    means = [number(m.numbers.severity_order.value) for m in metrics]
    rows.append(["Milder above severer", "", *means])
    positives = [m.numbers.hard_positives for m in metrics]
    counts = result.harmless
    rows.append(
        ["Rewrite above near-copy", count(counts.rewrites)]
        + [number(p.rewrites.value) for p in positives]
    )
    rows.append(
        ["The same without real change", count(counts.no_ops + counts.references)]
        + [number(p.no_ops.value) for p in positives]
    )
    return rows


def _together(result: SensitivityResult) -> list[tuple[str, str, str]]:
    """A row a combination: its name, its mean AUC where it was chosen, and on the other half."""
    if (made := result.together) is None:
        return []
    rows = [made.metrics, made.with_control, made.single]
    return [
        (
            combination(row),
            number(row.chosen_on),
            with_interval(row.held_out.value, (row.held_out.low, row.held_out.high)),
        )
        for row in rows
        if row is not None
    ]


def _examples(result: SensitivityResult) -> list[dict[str, Sequence[Sequence[str]]]]:
    """Per set: what was changed how often and why not, and where metrics erred most."""
    listed = []
    for k, entry in enumerate(result.sets):
        rows = []
        for metric in shown(result):
            for example in metric.numbers.profile[entry.set].examples[:1]:
                human, changed = example.scores
                rows.append(
                    (metric.name, example.human, example.changed, number(human), number(changed))
                )
        severity = f", {entry.severity}" if entry.severity else ""
        listed.append(
            {
                "anchor": f"set-{k}",
                "name": entry.set,
                "kind": entry.kind,
                "expected": "should lower the score" + severity
                if entry.expected == "lower"
                else "should leave the score",
                "applied": f"{count(entry.n_applied)} of {count(entry.n)} captions",
                "words": percent(entry.mean_share_changed),
                "reasons": [f"{why}: {count(n)}" for why, n in entry.reasons.items()],
                "rows": rows,
            }
        )
    return listed
