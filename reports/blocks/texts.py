"""Blocks of text: the answer, folded notes, examples, and how to cite and reproduce a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from metaeval.reports.blocks.block import Block, rendered
from metaeval.reports.judges.section import judges_section, statistics_of
from metaeval.reports.paper.citations import cite as citation_of
from metaeval.reports.shared.formatting import DASH, cut, number
from metaeval.reports.shared.provenance import reproduction
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.measured import Extra, MeasuredResult
from metaeval.results.sentences import sentences

MOST_NOTES = 8
Run = LoadedRun[MeasuredResult]


def answer(run: Run) -> Block:
    """The page's sentences."""
    html = rendered("answer.html.j2", sentences=sentences(run.result))
    return Block("answer", "Answer", html)


def notes(run: Run) -> Block:
    """What a reader may look up: what metrics counted, published values that cannot be compared,
    and the notes of the result and of the dataset."""
    result = run.result
    lines = [
        *result.notes,
        *(f"{name}: {text}" for name, text in result.counted()),
        *(f"{p.source}: not comparable: {p.why_not}" for p in result.published if p.why_not),
        *run.dataset.notes,
    ]
    html = rendered("notes.html.j2", notes=lines[:MOST_NOTES]) if lines else Markup("")
    return Block("notes", "Notes", html, folded=True)


def examples(
    extra: Extra, photos: Mapping[str, str] | None = None, title: str = "Examples"
) -> Block:
    """A card for each row of an extra, searchable; the picture where `photos` has the image id."""
    cards = [
        (
            str(record.get("image_id", "")),
            [
                (column.replace("_", " "), _text(value))
                for column, value in record.items()
                if column != "image_id" and value is not None
            ],
        )
        for record in extra.records
    ]
    html = rendered(
        "examples_block.html.j2",
        cards=cards,
        caption=extra.title,
        photos=photos or {},
        key=extra.name,
    )
    return Block(f"extra-{extra.name}", title, html, folded=extra.folded)


def judges(run: Run) -> Block:
    """What the answers of the run's judges show; empty where the run has no judge."""
    scales = {"share": 1, "score": 1, "percent": 100}  # of the unit in which agreement is 1

    def agreement(judge: str) -> dict[str, float | None]:
        entry = statistics_of(run.result, judge)
        values: dict[str, float | None] = {}
        for measure, estimate in run.result.measures(entry) if entry is not None else ():
            if measure.shown and measure.unit in scales and estimate.value is not None:
                values[measure.title] = estimate.value / scales[measure.unit]
        return values

    section = judges_section(run.directory, agreement)
    if section is None:
        return Block("", "", Markup(""))
    html = rendered("judges_block.html.j2", judges=section)
    return Block("judges", "Judges", html, tables=(section.table,))


def cite(run: LoadedRun[Any]) -> Block:
    """What a paper that uses this run cites."""
    return Block("cite", "Cite", rendered("cite_block.html.j2", citation=citation_of(run)))


def reproduce(
    run: LoadedRun[Any], settings: Mapping[str, object], further_files: Sequence[str] = ()
) -> Block:
    """The command, the signatures, the environment and the configuration of the run."""
    html = rendered(
        "reproduce_block.html.j2",
        run=run,
        provenance=reproduction(run, settings),
        further_files=further_files,
        downloads={},
        wide_times=False,
    )
    return Block("reproduce", "Reproduce", html)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value)
    return cut(str(value)) if value is not None else DASH
