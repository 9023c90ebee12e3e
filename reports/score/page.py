"""The page of `experiment=score`: the distribution of each metric's scores, and some captions.

Numbers and histograms cover all captions. Shown are only the captions of the rows that the run has
chosen (a random draw, and the extremes of each column), so that the page's size has a limit.
"""

from metaeval.reports.blocks import charts, tables, texts
from metaeval.reports.blocks.texts import NOTHING, Block
from metaeval.reports.measured import PageOptions
from metaeval.reports.paper.figures import BLUE
from metaeval.reports.shared.formatting import number
from metaeval.reports.shared.run import LoadedRun
from metaeval.results.files import read_manifest
from metaeval.results.measured import Extra
from metaeval.runs import files
from metaeval.runs.records import CAPTION, IMAGE_ID

AT_A_TIME = 24
SHOWN = "Captions drawn at random, and of each score the lowest and the highest"


def blocks(run: LoadedRun, options: PageOptions) -> list[Block]:
    """The blocks of the page, in order."""
    further = [f"{files.BLOCKS}/{files.MANIFEST}", f"{files.BLOCKS}/part-*.parquet"]
    return [
        texts.answer(run),
        *tables.measures_tables(run),
        _histograms(run),
        _captions(run),
        texts.notes(run),
        texts.citation_block(run),
        texts.reproduce(run, run.result.settings, further),
    ]


def _histograms(run: LoadedRun) -> Block:
    bins = run.result.extra("histogram")
    if not bins.rows:
        return NOTHING
    table = bins.frame()
    table["score"] = (table["from"] + table["to"]) / 2
    table["set"] = "captions"
    return charts.histograms(
        "distributions",
        "Distributions",
        table.copy,
        table["metric"].unique().tolist(),
        repr(bins),
        {"captions": BLUE},
        lower=run.result.lower_is_better,
    )


def _captions(run: LoadedRun) -> Block:
    """The captions of the rows that the run has chosen, read from the parts that hold them."""
    shown = run.result.extra("shown").frame().reindex(columns=["row", "chosen", "metric"])
    why = (shown["chosen"] + " " + shown["metric"].fillna("")).str.strip()
    reasons = why.groupby(shown["row"]).agg(", ".join)
    columns = [m.name for m in run.result.visible if m.statistics is not None]
    folder = run.directory / files.BLOCKS
    records = []
    for part in read_manifest(folder / files.MANIFEST).parts:
        inside = reasons[reasons.index.isin(range(part.first_row, part.first_row + part.rows))]
        names = [IMAGE_ID, CAPTION, *columns]
        table = files.read_columns(folder / part.part, names, names)
        chosen = table.iloc[[row - part.first_row for row in inside.index]].to_dict("records")
        records += [
            {
                "row": row,
                "image": cells[IMAGE_ID],
                "caption": cells[CAPTION] or "(empty)",
                "scores": ", ".join(f"{c} {number(cells[c], 4)}" for c in columns),
                "chosen": reason,
            }
            for (row, reason), cells in zip(inside.items(), chosen, strict=True)
        ]
    extra = Extra.of("shown", SHOWN, records, kind="examples")
    return texts.examples(extra, title="Captions", shown=AT_A_TIME)
