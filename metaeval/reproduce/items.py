"""Computing the items of papers: each one's run, example or function, and the rows of its table."""

import contextlib
import io
import json
import logging
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from metaeval.api import load_run, score
from metaeval.compute.device import release
from metaeval.config import build, compose_config
from metaeval.errors import ConfigError, MetaevalError
from metaeval.experiments.run import run_configured
from metaeval.overrides import override_texts
from metaeval.papers.expected import PaperItem
from metaeval.reproduce.compare import (
    ReproducedValue,
    compare_run,
    compare_values,
    not_run_values,
    reasons_by_column,
)
from metaeval.reproduce.functions import OF_DATA, OF_RUN
from metaeval.text.tokenizers.base import forget_texts

log = logging.getLogger(__name__)

Function = TypeVar("Function")

# where an item's run says `captions: captioners`
CAPTIONERS: Mapping[str, str] = {
    **{
        name: f"${{paths.data}}/coco/captioners/{name}.json"
        for name in ("updown", "gat", "ssg", "ersan", "magic", "zerocap", "nucleus_lm")
    },
    "M2": "${paths.data}/coco/captioners_vlm/m2_transformer.json",
}
# a table shows values, not intervals
_ALWAYS: Mapping[str, Any] = {"report": "none", "stats.replicates": 0, "controls": []}
_FEWER: Mapping[str, Mapping[str, Any]] = {
    "judgments": {"task.fitted": False},
    "captioners": {"task.permutations": 100},
    "replace": {"corruption.seeds": 1},
    "shuffle": {"corruption.seeds": 1},
}


@dataclass
class Reproduction:
    """A call of the command: where runs go, and what is already computed.

    Attributes
    ----------
    out
        Each run has a folder below it, named after the first item that needs it.
    captioners
        A file or folder of captioners' captions that stands for metaeval's data.
    shared
        Options of every item, by their dotted names: where data and scores are.
    """

    out: Path
    captioners: str | None = None
    shared: Mapping[str, object] = field(default_factory=dict)
    _folders: dict[str, Path] = field(default_factory=dict)
    _refused: dict[str, MetaevalError] = field(default_factory=dict)

    def values(self, paper: str, item: PaperItem) -> list[ReproducedValue]:
        """The values of an item; where it cannot be computed, each says why."""
        if item.missing:
            return not_run_values(paper, item, item.missing)
        try:
            if item.example is not None:
                return self._example(paper, item)
            if not item.run:
                function = _function(OF_DATA, item)
                return compare_values(paper, item, function(override_texts(self.shared)))
            if item.draws > 1:
                folders = [self._run(paper, _with_draw(item, k)) for k in range(item.draws)]
                return compare_run(paper, item, *(load_run(folder).result for folder in folders))
            folder = self._run(paper, item)
            result = load_run(folder).result
            if item.function:
                values = _function(OF_RUN, item)(folder)
                return compare_values(paper, item, values, reasons_by_column(result))
            return compare_run(paper, item, result)
        except MetaevalError as error:
            return not_run_values(paper, item, str(error))
        except Exception as error:  # one item that breaks leaves the others
            log.exception("%s/%s", paper, item.item)
            return not_run_values(paper, item, f"{type(error).__name__}: {error}")

    def options(self, item: PaperItem) -> dict[str, Any]:
        """The options of an item's run, by their dotted names."""
        few = _FEWER.get(str(item.run["experiment"]), {})
        options = {**_ALWAYS, **few, **item.run}
        if options.get("captions") == "captioners":
            options["captions"] = self.captioners or CAPTIONERS
        return options

    def command(self, item: PaperItem) -> str:
        """The command of the item's run, as a user would type it; "" where it has none."""
        if not item.run:
            return ""
        options = {k: v for k, v in self.options(item).items() if k not in _ALWAYS}
        words = override_texts(options)
        if item.draws > 1:
            words = ["-m", *words, f"dataset.draw={','.join(map(str, range(item.draws)))}"]
        return f"python -m metaeval {' '.join(map(shlex.quote, words))}"

    def _run(self, paper: str, item: PaperItem) -> Path:
        """The folder of the item's finished run; items with the same options share one."""
        options = self.options(item)
        key = json.dumps(options, sort_keys=True)
        if key in self._refused:
            raise self._refused[key]
        if key not in self._folders:
            folder = self.out / paper / item.item
            folder.mkdir(parents=True, exist_ok=True)
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    texts = override_texts({**self.shared, **options})
                    run_configured(compose_config(texts), folder)
            except MetaevalError as error:
                self._refused[key] = error
                raise
            finally:
                forget_texts()
                release("dataset", "encoded sentences")
            self._folders[key] = folder
        return self._folders[key]

    def _example(self, paper: str, item: PaperItem) -> list[ReproducedValue]:
        example = item.example
        assert example is not None
        given = {name.replace(".", "__"): value for name, value in self.shared.items()}
        options: dict[str, Any] = {**given, **example.options}
        scored = score(
            list(example.candidates),
            [list(references) for references in example.references],
            metrics=list(example.metrics),
            **options,
        )
        columns = [c for c in scored.table.columns if c not in ("image_id", "caption")]
        one = len(example.candidates) == 1
        values = {
            name: {"" if one else str(k): float(v) for k, v in enumerate(scored.table[name])}
            for name in columns
        }
        config = compose_config(override_texts(options))
        skipped = {
            column.name: reason
            for name, reason in scored.skipped.items()
            for column in build(name, config).columns
        }
        return compare_values(paper, item, values, skipped)


def _with_draw(item: PaperItem, draw: int) -> PaperItem:
    """The item with the run of one draw, which has a folder of its own."""
    run = {**item.run, "dataset.draw": draw}
    return item.model_copy(update={"item": f"{item.item}-draw{draw}", "run": run})


def _function(known: Mapping[str, Function], item: PaperItem) -> Function:
    """The function that an item names. Raises ConfigError for one that there is not."""
    if item.function not in known:
        names = ", ".join(known)
        raise ConfigError(f"{item.item}: unknown function '{item.function}'; choose from {names}")
    return known[item.function]
