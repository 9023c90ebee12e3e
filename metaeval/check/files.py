"""`metaeval check FILE [OPTION=VALUE …]`: how is a file read, and what can use it?

FILE is given to the loader of every experiment that takes a file of one's own, with the options
after it (`dataset.fields.human=stars`). Printed are its records and columns; for each experiment
that can use it what was recognised, how much there is, the first of it, and the command; for every
other one why it cannot. Exit codes: 0 an experiment can use it, 2 none can.
"""

import argparse
import logging
import shlex
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from metaeval.config import component, compose_config, load_dataset
from metaeval.data.download import given_path
from metaeval.data.own.tables import read_table
from metaeval.errors import MetaevalError
from metaeval.overrides import override_value

SCORES = "NAME"  # any experiment
# an experiment, and the options in which it takes a file of one's own
USES = (
    ("judgments", "dataset=table dataset.file"),
    ("forced_choice", "dataset=battles dataset.file"),
    ("pairs", "dataset=pairs dataset.file"),
    ("systems", "dataset=systems dataset.file"),
    ("captioners", "captions"),
    ("replace", "dataset=own dataset.file"),
    (SCORES, "metric=[scores] metric.scores.file"),
)
ALSO = {
    "forced_choice": "experiment=arena, where the systems are named",
    "judgments": "experiment=localisation, where words are marked; dataset.references=FILE",
    "replace": "experiment=shuffle, graded, sensitivity, retrieval, references, attack",
}
# experiment → what its loader has read, a line for each caption, pair or system
EXAMPLES: dict[str, Callable[[Any], Iterator[str]]] = {
    "judgments": lambda data: (
        f"{j.image}: {j.candidate!r}, {', '.join(f'{name} {v}' for name, v in j.human.items())}; "
        f"references {j.references}"
        for j in data.judged
    ),
    "forced_choice": lambda data: (
        f"{image}: {first!r} or {second!r}, votes {votes.tolist()}"
        for image, first, second, votes in zip(
            data.image, data.first, data.second, data.votes, strict=True
        )
    ),
    "pairs": lambda data: (
        f"{p.image}: {p.true!r}, not {p.false!r} ({p.kind})" for p in data.pairs
    ),
    "systems": lambda data: (
        f"{system}: {', '.join(f'{c} {v[k]:g}' for c, v in {**data.human, **data.metrics}.items())}"
        for k, system in enumerate(data.systems)
    ),
    "captioners": lambda data: (
        f"{system.name}: {image}: {text!r}"
        for system in data.systems
        for image, text in islice(system.captions.items(), 1)
    ),
    "replace": lambda data: (
        f"{image}: {text!r}; references {others}"
        for image, text, others in zip(data.image_ids, data.human, data.references, strict=True)
    ),
}


def main(given: argparse.Namespace) -> int:
    """Print how a file is read; 2 where no experiment can use it."""
    logging.disable(logging.WARNING)  # what is guessed is among the notes
    try:
        path = given_path(given.what, "file")
        print(_content(path))
        used, reasons = 0, []
        elsewhere = any(option.startswith("dataset=") for option in given.options)
        for experiment, option in USES:
            if elsewhere and "dataset=" in option:  # another file holds the images
                continue
            try:
                text = _use(path, experiment, option, given.options)
            except MetaevalError as error:
                reason = str(error).replace(f"{path}, ", "").replace(f"{path}: ", "")
                use = experiment if experiment != SCORES else "metric=[scores]"
                reasons.append(f"{use}: {reason}")
            else:
                used += 1
                print(f"\n{text}")
        print(*(["\nNot for:", *reasons] if reasons else []), sep="\n  ")
        return 0 if used else 2
    finally:
        logging.disable(logging.NOTSET)


def _content(path: Path) -> str:
    """What a file holds, as far as it is a table."""
    try:
        table = read_table(path)
    except MetaevalError as error:
        return f"not a table of records: {error}"
    columns = ", ".join(map(repr, table.rows[0].fields))
    return f"{path.name}: {len(table.rows):,} records with the columns {columns}"


def _use(path: Path, experiment: str, option: str, options: Sequence[str]) -> str:
    """How an experiment reads a file, and the command; raises where it cannot use the file."""
    *words, last = [f"experiment={experiment}", *option.split()]
    words = [*words, f"{last}={override_value(str(path))}", *options]
    command = f"  python -m metaeval {shlex.join(words)}"
    if experiment == SCORES:
        metric = component(compose_config(words[1:]).metric.scores, "metric.scores")
        columns, n = metric.scores.columns, len(metric.scores.scores)
        return f"metric=[scores]: {', '.join(columns)} of {n:,} captions\n{command}"
    config = compose_config(words)
    task = component(config.task, "task")
    streams = not hasattr(task, "load")
    data = load_dataset(config) if streams else task.load(config)
    size = f"{len(data.systems):,} systems" if streams else task.describe(data)
    notes = list(data.notes if hasattr(data, "notes") else data.dataset.notes)
    if experiment == "captioners":
        notes += [note for system in data.systems for note in system.notes]
    also = [f"also {ALSO[experiment]}"] if experiment in ALSO else []
    lines = [*notes, *islice(EXAMPLES[experiment](data), 2), *also]
    return "\n  ".join([f"experiment={experiment}: {size}", *lines]) + f"\n{command}"
