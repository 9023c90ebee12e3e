"""The page of a run: a list of blocks over its result.

`reports/NAME/page.py` may have the function `blocks(run, options)` for the experiment NAME; every
other experiment has `default_blocks`.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from metaeval.errors import ConfigError
from metaeval.options import NonNegativeInt, PositiveInt
from metaeval.reports.blocks import charts, tables, texts
from metaeval.reports.blocks.judges import judges
from metaeval.reports.blocks.texts import NOTHING, Block
from metaeval.reports.paper.figures import write_figure
from metaeval.reports.shared import page
from metaeval.reports.shared.print_tables import write_tables
from metaeval.reports.shared.run import LoadedRun, load_run_files
from metaeval.results.measured import Extra
from metaeval.results.run import RunInfo
from metaeval.runs import files
from metaeval.runs.print_style import style

ROOMS = {"replace": "graded", "shuffle": "graded"}  # experiments that share a page


class PageOptions(NamedTuple):
    """The options of `report` that pages have; each page uses some.

    Attributes
    ----------
    figures
        Whether the figures are also written as files.
    examples
        Example images that are shown at a time.
    photos
        Photos to embed as thumbnails.
    explanations
        Images whose scores are explained.
    max_bytes
        The most bytes of embedded captions and scores.
    """

    figures: bool = True
    examples: int = 6
    photos: int = 0
    explanations: int = 12
    max_bytes: int = 5_000_000


Blocks = Callable[[LoadedRun, PageOptions], list[Block]]


def write_report(
    run_dir: Path | str,
    *,
    figures: bool = True,
    examples: PositiveInt = 6,
    photos: NonNegativeInt = 0,
    explanations: NonNegativeInt = 12,
    max_bytes: PositiveInt = 5_000_000,
) -> Path:
    """Write `report.html`, `tables/` and `figures/` of a finished run, from its files alone.

    The options are those of `PageOptions`. The same run files give the same bytes. Raises
    InputError for a file that is missing or damaged.
    """
    run = load_run_files(Path(run_dir))
    options = PageOptions(figures, examples, photos, explanations, max_bytes)
    known = {
        *(m.name for m in run.result.metrics),
        *(s for r in run.result.systems.values() for s in r.ranking),
    }
    if unknown := [name for name in style().highlight if name not in known]:
        problem = f"'{unknown[0]}' is not one of {', '.join(sorted(known))}"
        raise ConfigError(f"report.highlight: {problem}")
    blocks = blocks_of(run.result.experiment)(run, options)
    return write_blocks(run, blocks, files.REPORT, figures=figures)


def write_blocks(
    run: LoadedRun, given: Iterable[Block], name: str, *, figures: bool = True
) -> Path:
    """Write the page `name` of these blocks, and their tables, data and figures."""
    blocks = _merge_blocks(block for block in given if block.html)
    write_tables(run.directory, [table for block in blocks for table in block.tables])
    for block in blocks:
        for file, text in block.data.items():
            path = run.directory / files.TABLES / file
            files.atomic(path, partial(Path.write_text, data=text, encoding="utf-8"))
        for stem, figure in block.figures.items() if figures else ():
            title = f"{run.title}: {block.title}"
            write_figure(figure, run.directory / files.FIGURES, stem, title)
    path, html = run.directory / name, html_of(run, blocks)
    files.atomic(path, lambda p: p.write_text(html, encoding="utf-8", newline="\n"))
    return path


def html_of(run: LoadedRun, blocks: Sequence[Block]) -> str:
    """The page with these blocks."""
    return page.render_page(
        "measured.html.j2",
        max((block.levels for block in blocks), default=1),
        room=ROOMS.get(run.result.experiment, run.result.experiment),
        scripts="*.js" if any(block.embedded for block in blocks) else "[01]-*.js",
        run=run,
        blocks=blocks,
        header=header(run),
    )


def _merge_blocks(blocks: Iterable[Block]) -> list[Block]:
    """Folded blocks of the same title, of several dimensions for instance, as one."""
    made: dict[str, Block] = {}
    for block in blocks:
        key = block.title if block.folded else block.key
        before = made.get(key)
        if before is None:
            made[key] = block
        else:
            made[key] = before._replace(
                html=before.html + block.html,
                tables=before.tables + block.tables,
                figures={**before.figures, **block.figures},
            )
    return list(made.values())


def blocks_of(experiment: str) -> Blocks:
    """The function that lists the blocks of an experiment's page."""
    room = f"metaeval.reports.{ROOMS.get(experiment, experiment)}"
    if find_spec(room) is not None and find_spec(f"{room}.page") is not None:
        return import_module(f"{room}.page").blocks
    return default_blocks


def default_blocks(run: LoadedRun, options: PageOptions) -> list[Block]:
    """Answer, ranking, table, extras, who beats whom, notes, citation, reproduction."""
    return [
        texts.answer(run),
        charts.ranking(run),
        *tables.measures_tables(run),
        *(
            extra_block(run, extra)
            for extra in run.result.extras
            if extra.rows and extra.kind != "data"
        ),
        *closing_blocks(run),
    ]


def closing_blocks(run: LoadedRun) -> list[Block]:
    """The blocks that end every page."""
    first = [measures[0] for measures in run.result.groups().values()]
    return [
        *(tables.difference_tables(run, measure) for measure in first),
        *([judges(run)] if (run.directory / files.JUDGES).is_file() else []),
        texts.notes(run),
        texts.citation_block(run),
        texts.reproduce(run, run.result.settings, [files.SCORES]),
    ]


def extra_block(run: LoadedRun, extra: Extra) -> Block:
    """The block of an extra, by its kind."""
    if not extra.rows:
        return NOTHING
    if extra.kind == "matrix":
        return tables.matrix_block(run.result, extra)
    table = tables.print_extra(run.result, extra)
    if extra.kind == "curves":
        return charts.curves(extra)._replace(tables=(table,))
    if extra.kind == "examples":
        return texts.examples(extra, title=extra.title)._replace(tables=(table,))
    return tables.extra_table(run.result, extra)


def header(run: LoadedRun) -> page.Header:
    """The head of the page: the question, the data, n and the seed."""
    result = run.result
    facts = [("Dataset", result.title or result.dataset)]
    facts += [
        (name, f"{value:,}" if type(value) is int else str(value))
        for name, value in result.facts.items()
    ]
    if style().highlight:
        facts.append(("Highlighted (▸)", ", ".join(style().highlight)))
    if "seed" in result.settings:
        facts.append(("Seed", str(result.settings["seed"])))
    return page.Header(
        run.title,
        run.question,
        [*facts, *language_date_and_version(run.info)],
        fallback=run.dataset.fallback,
    )


def language_date_and_version(info: RunInfo) -> list[tuple[str, str]]:
    """Facts for the head of a page: the captions' language where it is known, and of the run."""
    commit = f", {info.git.commit[:7]}{'+' if info.git.dirty else ''}" if info.git else ""
    language = info.dataset.language if info.dataset else None
    too_few = info.dataset.too_few if info.dataset else None
    spoken = "not detected"
    if language is not None and language.code is not None:
        spoken = f"{language.code} ({'given' if language.given else 'detected'})"
    return [
        *([] if too_few is None else [("Intervals and tests", f"none: {too_few}")]),
        *([] if language is None else [("Language", spoken)]),
        ("Date", (info.finished or "")[:10]),
        ("Version", f"metaeval {info.metaeval}{commit}"),
    ]
