"""`experiment=reproduce`: do the numbers of the papers come out?"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from metaeval.errors import ConfigError
from metaeval.experiments.base import Streaming
from metaeval.experiments.printout import text_table
from metaeval.experiments.record import RunRecord
from metaeval.java.process import shared_java_services
from metaeval.metrics.base import Metric
from metaeval.overrides import override_texts, require_listed
from metaeval.papers.expected import FOLDER, Paper, PaperItem, papers
from metaeval.readers.files import user_path
from metaeval.reports.shared.print_tables import latex
from metaeval.reproduce.compare import (
    COMPARED,
    NEEDS,
    OWN,
    ReproducedValue,
    counted,
    overview,
)
from metaeval.reproduce.items import Reproduction
from metaeval.results.measured import Extra, MeasuredResult
from metaeval.runs import files
from metaeval.runs.files import csv_text

OVERVIEW = "overview"  # the extra with the table of all papers
ITEMS = "items"  # the folder of the items' runs
# of the run's configuration, for all items
_SHARED = ("paths.data", "paths.cache", "device", "offline", "cache.enabled")


class Reproduce(
    Streaming,
    name="reproduce",
    title="Papers reproduced",
    question="Do the numbers of the papers come out?",
):
    """Values that papers printed, computed again: each item is a run of its own.

    Parameters
    ----------
    items
        PAPER or PAPER/ITEM; all by default.
    quick
        Only items that take seconds.
    captioners
        A file or folder of captioners' captions that stands for metaeval's data.
    papers
        A folder of YAML files in the form of metaeval/papers.
    """

    def __init__(
        self,
        items: Sequence[str] = (),
        quick: bool = False,
        captioners: str | None = None,
        papers: str | None = None,
    ) -> None:
        self.items, self.quick, self.captioners = tuple(items), quick, captioners
        self.folder = user_path(papers) if papers else FOLDER

    def check(self, config: DictConfig) -> None:
        if config.metrics != "all":
            raise ConfigError("metrics: each item has its own metrics; leave metrics=... out")
        self._chosen()

    def stream(self, metrics: Mapping[str, Metric], record: RunRecord) -> MeasuredResult:
        chosen = self._chosen()
        record.begin(keep=ITEMS)
        shared = {name: OmegaConf.select(record.config, name) for name in _SHARED}
        computed = Reproduction(record.out / ITEMS, self.captioners, shared)
        values: list[ReproducedValue] = []
        records: list[dict[str, object]] = []
        with shared_java_services():
            for paper, item in chosen:
                name = f"{paper.paper}/{item.item}"
                with record.stage(name):
                    of_item = [
                        value._replace(of=OWN if value.metric.startswith(paper.own) else COMPARED)
                        for value in computed.values(paper.paper, item)
                    ]
                seconds = record.info.stages[-1].seconds
                print(f"{name}: {_summary(of_item)} ({seconds:.0f} s)", flush=True)
                values += of_item
                records += [
                    {
                        **value._asdict(),
                        "row": item.labels.get(value.metric, value.metric),
                        "column": item.labels.get(value.cell, value.cell),
                    }
                    for value in of_item
                ]
                write_values(record.out / files.TABLES, values)
        columns = {
            (paper.paper, item.item, cell): title
            for paper, item in chosen
            for cell, title in item.overview.items()
        }
        return MeasuredResult(
            experiment=self.name,
            dataset="several",
            metrics=(),
            declared=(),
            facts=counted(values),
            extras=(
                Extra.of(
                    OVERVIEW, "Printed, ours, ✓: equal to the digits", overview(values, columns)
                ),
                Extra.of("items", "Tables and figures of papers", _item_rows(chosen, computed)),
                Extra.of("values", "Printed and computed values", records),
            ),
        )

    def printout(self, summary: MeasuredResult, out: Path, file: Path) -> str:
        records = summary.extra("values").records
        values = [
            ReproducedValue(**{name: row[name] for name in ReproducedValue._fields})
            for row in records
        ]
        rows = summary.extra(OVERVIEW).records
        shown = [{name: str(row[name]) for name in row if name != NEEDS} for row in rows]
        lines = [*text_table(shown, "metric")] if shown else []
        lines += [f"{row['metric']}: {row[NEEDS]}" for row in rows if row[NEEDS]]
        return "\n".join([*lines, f"{to_text(values)}{file.stem}: {file}"])

    def _chosen(self) -> list[tuple[Paper, PaperItem]]:
        chosen = choose_items(papers(self.folder), self.items, quick=self.quick)
        if not chosen and self.quick:
            raise ConfigError(
                "reproduce.quick: none of the chosen items takes only seconds; leave out --quick "
                "(reproduce.quick=true), or choose others of python -m metaeval reproduce --list"
            )
        if not chosen:
            raise ConfigError(f"reproduce.papers: the files of {self.folder} have no items")
        for paper, item in chosen:
            texts = override_texts(item.run)
            if item.example is not None:
                texts = [f"metric=[{','.join(item.example.metrics)}]"]
                texts += override_texts(item.example.options)
            require_listed(texts, self.folder, f"{paper.paper}/{item.item}")
        return chosen


def choose_items(
    known: Mapping[str, Paper], names: Sequence[str], *, quick: bool = False
) -> list[tuple[Paper, PaperItem]]:
    """The chosen items, in the order of the files. Raises ConfigError."""
    every = [(paper, item) for paper in known.values() for item in paper.items]
    for name in names:
        if not any(name in (p.paper, f"{p.paper}/{i.item}") for p, i in every):
            raise ConfigError(
                f"unknown item '{name}'; choose from {', '.join(known)}, or an item of "
                "python -m metaeval reproduce --list"
            )
    return [
        (p, i)
        for p, i in every
        if (not names or p.paper in names or f"{p.paper}/{i.item}" in names)
        and (i.quick or not quick)
    ]


def write_values(folder: Path, values: Sequence[ReproducedValue]) -> None:
    """Write the values as `reproduction.txt`, `.csv` and `.tex` into a folder."""
    csv = csv_text([ReproducedValue._fields, *values])  # all numbers in full
    for suffix, text in {"txt": to_text(values), "csv": csv, "tex": _to_longtable(values)}.items():
        path = folder / f"reproduction.{suffix}"
        files.atomic(path, partial(Path.write_text, data=text, encoding="utf-8", newline="\n"))


def to_text(values: Sequence[ReproducedValue]) -> str:
    """Columns of equal width; the reason at the end of a line."""
    lines = [ReproducedValue._fields, *map(_printed, values)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = ["  ".join(v.ljust(w) for v, w in zip(line, widths, strict=True)) for line in lines]
    kinds = [
        f"metrics {whose}: {_summary([v for v in values if v.of == kind])}"
        for kind, whose in {OWN: "that a paper proposes", COMPARED: "that it compares"}.items()
    ]
    return "\n".join([*(line.rstrip() for line in text), _summary(values), *kinds, ""])


def _to_longtable(values: Sequence[ReproducedValue]) -> str:
    """A longtable with booktabs' rules; reasons are left out."""
    lines = [
        r"% needs \usepackage{booktabs,longtable}",
        r"\begin{longtable}{llllrrrll}",
        r"\toprule",
        " & ".join(ReproducedValue._fields[:-1]) + r" \\",
        r"\midrule",
        r"\endhead",
    ]
    lines += [" & ".join(map(latex, _printed(value)[:-1])) + r" \\" for value in values]
    return "\n".join([*lines, r"\bottomrule", r"\end{longtable}", ""])


def _printed(value: ReproducedValue) -> tuple[str, ...]:
    return (
        *value[:4],
        "" if value.published is None else f"{value.published:g}",
        "" if value.ours is None else f"{value.ours:.6g}",
        "" if value.difference is None else f"{value.difference:+.1f}",
        value.verdict,
        value.of,
        value.reason,
    )


def _summary(values: Sequence[ReproducedValue]) -> str:
    named = [f"{n:,} {verdict}" for verdict, n in counted(values).items()]
    n_printed = sum(value.published is not None for value in values)
    return (
        f"{len(values):,} value{'s' * (len(values) != 1)}: {', '.join(named) or 'none'}; "
        f"{n_printed:,} printed"
    )


def _item_rows(
    chosen: Sequence[tuple[Paper, PaperItem]], computed: Reproduction
) -> list[dict[str, object]]:
    return [
        {
            "paper": paper.paper,
            "paper_title": paper.title,
            "source": paper.source,
            "item": item.item,
            "title": item.title,
            "table": item.table or item.title,
            "part": item.part,
            "note": item.note or (item.missing if not item.cells else ""),
            "axis": item.axis,
            "command": computed.command(item),
            "computable": not item.missing,
        }
        for paper, item in chosen
    ]
