"""Blocks of text: the answer, folded notes, examples, and how to cite and reproduce a run."""

import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from metaeval.reports.paper.citations import cite as citation_of
from metaeval.reports.paper.figures import LazyFigure
from metaeval.reports.shared.formatting import count, cut, number, plain, seconds
from metaeval.reports.shared.page import environment
from metaeval.reports.shared.print_tables import PrintTable
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.measured import Extra
from metaeval.results.sentences import join_names, sentences


class Block(NamedTuple):
    """A section of a page.

    Attributes
    ----------
    key
        Its anchor.
    title
        Its heading, and its name in the bar of the page.
    html
        Its content.
    folded
        Whether the page opens it only on request.
    tables
        Its tables for papers, written to `tables/`.
    figures
        Name → its drawing, written to `figures/` as SVG and PDF.
    data
        Name → text of a file, written to `tables/` as it is.
    levels
        How many colours of levels it uses: the classes l0, l1 …, worst first.
    embedded
        Whether it embeds data, which the scripts of the page's room read.
    """

    key: str
    title: str
    html: Markup
    folded: bool = False
    tables: tuple[PrintTable, ...] = ()
    figures: Mapping[str, LazyFigure] = {}
    data: Mapping[str, str] = {}
    levels: int = 1
    embedded: bool = False


NOTHING = Block("", "", Markup(""))  # which pages leave out


def rendered(template: str, **context: Any) -> Markup:
    """A template of `reports/*/templates` with its context."""
    return Markup(environment().get_template(template).render(context))


MOST_NOTES = 8
BLEU = ("BLEU without a match", "captions ordered by pycocoevalcap's constants, 1e-15 and 1e-9")


def answer(run: LoadedRun) -> Block:
    """The page's sentences."""
    answers = sentences(run.result)
    html = rendered("answer.html.j2", sentences=answers) if answers else Markup("")
    return Block("answer", "Answer", html)


def notes(run: LoadedRun) -> Block:
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
    extra: Extra,
    photos: Mapping[str, str] | None = None,
    title: str = "Examples",
    *,
    shown: int | None = None,
    names: Collection[str] = (),
) -> Block:
    """A card for each row of an extra, searchable; the picture where `photos` has the image id.

    `shown` cards are visible at a time; `names` are columns whose names stay as they are.
    """
    cards = [
        (
            str(record.get("image_id", "")),
            [
                (column if column in names else column.replace("_", " "), cut(plain(value)))
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
        shown=shown or len(cards),
    )
    return Block(f"extra-{extra.name}", title, html, folded=extra.folded)


def citation_block(run: LoadedRun) -> Block:
    """What a paper that uses this run cites."""
    return Block("cite", "Cite", rendered("cite_block.html.j2", citation=citation_of(run)))


def reproduce(
    run: LoadedRun, settings: Mapping[str, object], further_files: Sequence[str] = ()
) -> Block:
    """The command, the signatures, the environment and the configuration of the run."""
    html = rendered(
        "reproduce_block.html.j2",
        run=run,
        provenance=reproduction(run, settings),
        further_files=further_files,
    )
    return Block("reproduce", "Reproduce", html)


def reproduction(run: LoadedRun, settings: Mapping[str, object]) -> dict[str, object]:
    """The command and tables of run.json's facts; `settings` are those of the statistics."""
    info = run.info
    dirty = " (with uncommitted changes)" if info.git and info.git.dirty else ""
    environment = [
        ("metaeval", info.metaeval),
        ("git commit", f"{info.git.commit}{dirty}" if info.git else None),
        ("Python", info.python),
        ("platform", info.platform),
        ("CPU cores", info.cpu_count),
        ("Java", info.java),
        ("CUDA", info.cuda),
        ("device", info.device),
        ("seed", info.seed),
        ("started", info.started),
        ("finished", info.finished),
        ("directory", info.working_directory),
    ]
    every = {**settings, **(info.corruption or {})}
    signatures = [(m.name, m.signature) for m in run.result.visible if m.signature]
    return {
        "command": command_line(info.command),
        "environment": [(k, str(v)) for k, v in environment if v not in (None, "")],
        "settings": [
            *((k.replace("_", " "), _print(v)) for k, v in every.items()),
            *([BLEU] if any("|smooth:coco|" in signature for _, signature in signatures) else []),
        ],
        "stages": [(stage.name, seconds(stage.seconds)) for stage in info.stages],
        "packages": _sorted_pairs(info.packages),
        "sources": _sorted_pairs(run.dataset.sources),
        "signatures": signatures,
        "metrics": [
            (family.metric, seconds(family.seconds), count(family.n_scored), count(family.n_cached))
            for family in info.metrics
        ],
    }


def command_line(arguments: Sequence[Any]) -> str:
    """The command line as one would type it: an interpreter's arguments get their interpreter."""
    parts = [str(part) for part in arguments]
    if parts and parts[0].startswith("-"):
        parts.insert(0, "python")
    elif parts:
        parts[0] = Path(parts[0]).name
    return shlex.join(parts)


def _sorted_pairs(values: Mapping[str, object] | None) -> list[tuple[str, str]]:
    return [(str(k), str(v)) for k, v in sorted((values or {}).items())]


def _print(value: Any) -> str:
    if isinstance(value, list):
        return (
            join_names([_print(v) for v in value], most=12)
            if len(value) <= 12
            else f"{len(value)} values"
        )
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int):
        return count(value) if abs(value) >= 10_000 else str(value)
    return number(value, 2) if isinstance(value, float) else str(value)
