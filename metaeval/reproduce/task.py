"""`experiment=reproduce`: do the numbers of the papers come out?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from omegaconf import DictConfig, OmegaConf

from metaeval.errors import ConfigError
from metaeval.experiments.base import Streaming
from metaeval.experiments.record import RunRecord
from metaeval.java.process import shared_java_services
from metaeval.metrics.base import Metric
from metaeval.papers.expected import FOLDER, Paper, PaperItem, papers
from metaeval.readers.files import user_path
from metaeval.reports.reproduction.page import to_text, write_tables
from metaeval.reproduce.items import Reproduction
from metaeval.results.reproduction import ReproducedItem, ReproductionResult, summary
from metaeval.results.run import RunResult

ITEMS = "items"  # the folder of the items' runs
# of the run's configuration, for all items
_SHARED = ("paths.data", "paths.cache", "device", "offline", "cache.enabled")


class Reproduce(Streaming):
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

    name: ClassVar[str] = "reproduce"
    title: ClassVar[str] = "Papers reproduced"
    report = "reproduction"
    question: ClassVar[str] = "Do the numbers of the papers come out?"

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

    def stream(self, metrics: Mapping[str, Metric], record: RunRecord) -> ReproductionResult:
        chosen = self._chosen()
        record.begin(keep=ITEMS)
        shared = {name: _value(record.config, name) for name in _SHARED}
        computed = Reproduction(record.out / ITEMS, self.captioners, shared)
        items: list[ReproducedItem] = []
        with shared_java_services():
            for paper, item in chosen:
                name = f"{paper.paper}/{item.item}"
                with record.stage(name):
                    items.append(computed.compute(paper, item))
                seconds = record.info.stages[-1].seconds
                print(f"{name}: {summary(items[-1].values)} ({seconds:.0f} s)", flush=True)
                write_tables(record.out / "tables", items)
        return ReproductionResult(
            experiment=self.name, dataset="several", metrics=(), items=tuple(items)
        )

    def printout(self, summary: RunResult[Any], out: Path, file: Path) -> str:
        assert isinstance(summary, ReproductionResult)
        return f"{to_text(summary.items)}report: {file}"

    def _chosen(self) -> list[tuple[Paper, PaperItem]]:
        chosen = choose(papers(self.folder), self.items, quick=self.quick)
        if not chosen and self.quick:
            raise ConfigError(
                "reproduce.quick: none of the chosen items takes only seconds; leave out --quick "
                "(reproduce.quick=true), or choose others of python -m metaeval.reproduce --list"
            )
        if not chosen:
            raise ConfigError(f"reproduce.papers: the files of {self.folder} have no items")
        return chosen


def choose(
    known: Mapping[str, Paper], names: Sequence[str], *, quick: bool = False
) -> list[tuple[Paper, PaperItem]]:
    """The chosen items, in the order of the files. Raises ConfigError."""
    every = [(paper, item) for paper in known.values() for item in paper.items]
    for name in names:
        if not any(name in (p.paper, f"{p.paper}/{i.item}") for p, i in every):
            raise ConfigError(
                f"unknown item '{name}'; choose from {', '.join(known)}, or an item of "
                "python -m metaeval.reproduce --list"
            )
    return [
        (p, i)
        for p, i in every
        if (not names or p.paper in names or f"{p.paper}/{i.item}" in names)
        and (i.quick or not quick)
    ]


def _value(config: DictConfig, name: str) -> object:
    """The value of a dotted name."""
    value: object = OmegaConf.select(config, name)
    return value
