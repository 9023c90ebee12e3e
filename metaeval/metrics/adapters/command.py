"""Any program as a metric, in its own environment: `metric=[command] metric.command.run=…`.

The program reads items as JSON Lines from stdin, `{"id", "caption", "references", "image_path"}`,
until its end, and writes one line an item in the same order: a number, a list of numbers or an
object by the names of the columns (with an `id`, which is checked); `null` and NaN are "not
scored". What it writes to stderr is in the run's log.
"""

from __future__ import annotations

import json
import logging
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError
from metaeval.java.process import end, spawn
from metaeval.metrics.adapters.own import OwnMetric, OwnScorer, check_returned_scores
from metaeval.metrics.base import Scores
from metaeval.options import PositiveInt, checked
from metaeval.readers.files import one_line, read_json
from metaeval.runs.files import file_sha256
from metaeval.runs.store import Store

log = logging.getLogger(__name__)
KIT = "capevalkit"  # the program of a preset
# what a preset runs, and how to get it
KIT_PROGRAMS = {
    "git": "install git",
    "uv": "pip install uv",
    KIT: f"uv tool install {KIT}",
}
# a metric of the kit → which of the scores that it writes counts (DEFAULT_SCORE_KEYS of 0.1.3)
KIT_SCORES = {
    "bleu": "BLEU-4",
    "rouge": "ROUGE-L",
    "meteor": "METEOR",
    "cider": "CIDEr",
    "spice": "SPICE",
    "jaspice": "JaSPICE",
    "clipscore": "CLIPScore",
    "clipscore-vitl": "CLIPScore",
    "clipscoreavg": "CLIPScoreavg",
    "refclipscore": "RefCLIPScore",
    "refclipscore-vitl": "RefCLIPScore",
    "pacscore": "PAC-S",
    "pacscore-vitl": "PAC-S",
    "pacscoreavg": "PAC-Savg",
    "refpacscore": "RefPAC-S",
    "refpacscore-vitl": "RefPAC-S",
    "pacscorepp": "PAC-S++",
    "pacscoreppavg": "PAC-S++avg",
    "refpacscorepp": "RefPAC-S++",
    "polos": "Polos",
    "vela": "VELA",
    "fleur": "FLEUR",
    "reffleur": "RefFLEUR",
    "expert": "EXPERT",
}
# they read no references: given some, FLEUR becomes RefFLEUR
KIT_WITHOUT_REFERENCES = ("clipscore", "pacscore", "fleur", "expert")
VERSION_SECONDS = 60.0  # for the program to say its version


class CommandMetric(OwnMetric):
    """A program that is started once for each batch of captions.

    Parameters
    ----------
    run
        The command, as in a shell without its variables and pipes: "uv run score.py --big".
    preset
        "capevalkit:polos" instead of `run`: a metric of the package capevalkit, which makes an
        environment for each of its metrics. It reads image files. Options of the metric may follow:
        "capevalkit:polos --cpu".
    version
        An argument with which the program prints its version: "--version". It enters the
        signature, as do the command and the contents of the files that it names.
    batch_size
        How many captions the program gets at a time. Finished batches are kept: a run that is
        killed goes on with the next one.
    images
        Whether it reads image files: a caption whose image has none is not scored.
    references
        Whether it reads references: a caption whose image has none is not scored.
    name, columns, bounds, higher_is_better, tokenizer, files, on_error, retries, timeout
        See `OwnMetric`; the name is by default the program's.
    """

    @checked
    def __init__(
        self,
        run: str | None = None,
        preset: str | None = None,
        name: str | None = None,
        version: str | None = None,
        batch_size: PositiveInt = 1000,
        images: bool = False,
        references: bool = True,
        **own: Any,
    ) -> None:
        option = "metric.command.run"
        self.of_kit = ""
        if preset:
            kit, _, words = preset.partition(":")
            self.of_kit, _, more = words.partition(" ")
            if run or kit != KIT or self.of_kit not in KIT_SCORES:
                wanted = (
                    f"write {KIT}:METRIC, without run; METRIC is one of {', '.join(KIT_SCORES)}"
                )
                raise ConfigError(f"metric.command.preset: '{preset}' is not a preset; {wanted}")
            run, images = f"{KIT} score --metric {self.of_kit} -- {more}", True
            references &= not self.of_kit.startswith(KIT_WITHOUT_REFERENCES)
        try:
            self.argv = shlex.split(run or "")
        except ValueError as error:
            raise ConfigError(f"{option}: {error}") from None
        if not self.argv:
            raise ConfigError(f"give the command: {option}='uv run score.py'")
        super().__init__(name or self.of_kit or Path(self.argv[-1]).stem, **own)
        self.version, self.batch_size = version, batch_size
        asked = {"images": images, "references": references}
        self.given = frozenset(name for name, is_read in asked.items() if is_read)
        self.needs = self.given  # type: ignore[misc]

    def program(self) -> str | None:
        """The full path of the program, `None` where it is not on this machine."""
        return shutil.which(self.argv[0])

    @cached_property
    def printed_version(self) -> str:
        """What the program prints as its version."""
        command = [str(self.program()), *self.argv[1:], str(self.version)]
        return one_line(_output(command, b"", VERSION_SECONDS).decode(errors="replace"))

    def bind(self, dataset: CaptionDataset, store: Store | None = None) -> CommandScorer | Absent:
        install = "install it, or give its path in metric.command.run"
        for program, how in (KIT_PROGRAMS if self.of_kit else {self.argv[0]: install}).items():
            if shutil.which(program) is None:
                return Absent("program", f"the program '{program}' is not on this machine", how)
        if (absent := self.missing_part(dataset)) is not None:
            return absent
        settings = self.settings(self, store)
        files = [file for file in map(Path, self.argv) if file.is_file()]
        settings |= {file.name: file_sha256(file, store)[:12] for file in files}
        names = {str(file): file.name for file in files}
        words = [names.get(word, word) for word in self.argv]
        settings["run"] = shlex.join(words).replace("|", ";")
        settings["reads"] = ",".join(sorted(self.given))
        settings["batch"] = str(self.batch_size)
        if self.version:
            settings["version"] = self.printed_version.replace("|", ";")
        return CommandScorer(self, settings, dataset, store, None, self.given)


class CommandScorer(OwnScorer):
    """A program that scores a dataset's captions."""

    metric: CommandMetric

    def __init__(self, metric: CommandMetric, *bound: Any) -> None:
        super().__init__(metric, *bound)
        self.batch_size = metric.batch_size

    def values(self, captions: list[str], image_index: npt.NDArray[np.intp]) -> Scores:
        index = image_index.tolist()
        given = self.given
        items = [
            {
                "id": place,
                "caption": caption,
                "references": list(self.references[i]) if "references" in given else [],
                "image_path": str(Path(str(self.paths[i])).absolute())
                if "images" in given
                else None,
            }
            for place, (caption, i) in enumerate(zip(captions, index, strict=True))
        ]
        lines = "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items)
        metric = self.metric

        def call() -> Scores:
            command = [str(metric.program()), *metric.argv[1:]]
            if metric.of_kit:
                values = _kit_scores(command, items, metric.of_kit, metric.calls.timeout)
                return check_returned_scores(values, len(items), metric.names)
            output = _output(command, lines.encode(), metric.calls.timeout)
            return _scores(output.decode(errors="replace").splitlines(), len(items), metric.names)

        return self.call(range(len(items)), call)


def _kit_scores(
    command: Sequence[str], items: Sequence[Mapping[str, Any]], name: str, timeout: float | None
) -> list[float]:
    """The scores of items from capevalkit, which reads and writes files. It may write several
    scores, of which that of the metric's name counts."""
    rows = [{**item, "id": str(item["id"]), "image": item["image_path"]} for item in items]
    with tempfile.TemporaryDirectory() as folder:
        read, output = Path(folder, "items.jsonl"), Path(folder, "scores.json")
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        read.write_text(lines, encoding="utf-8")
        given = ["--predictions", str(read), "--output", str(output)]
        given += ["--references", str(read)] if items[0]["references"] else []
        options = command.index("--")
        _output([*command[:options], *given, *command[options:]], b"", timeout)
        content, _ = read_json(output)
    score = KIT_SCORES[name]
    of_score = content.get(score) if isinstance(content, dict) else None
    written = of_score if isinstance(of_score, dict) else content
    of_item = written.get("per_item") if isinstance(written, dict) else None
    return [_kit_score(of_item, str(i["id"]), score) for i in items]


def _kit_score(of_item: Any, place: str, name: str) -> float:
    """The score of an item: a number, or one of several by their names."""
    value = of_item.get(place) if isinstance(of_item, dict) else None
    value = value.get(name) if isinstance(value, dict) else value
    if not isinstance(value, int | float):
        raise ValueError(f"{KIT} wrote no score '{name}' for item {int(place) + 1:,}")
    return float(value)


def _output(command: Sequence[str], given: bytes, timeout: float | None) -> bytes:
    """What a program writes to stdout. Raises RuntimeError and TimeoutError with what it said."""
    process = spawn(command, os.environ)
    try:
        stdout, stderr = process.communicate(given, timeout)
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"{command[0]}: not done after {timeout:g} s") from None
    finally:
        end(process)
    said = stderr.decode(errors="replace").strip()
    for line in said.splitlines():
        log.info("%s: %s", Path(command[0]).name, line)
    if process.returncode != 0:
        last = said.splitlines()[-1:] or ["it said nothing"]
        raise RuntimeError(f"{command[0]}: exit code {process.returncode} ({one_line(last[0])})")
    return stdout


def _scores(lines: Sequence[str], n: int, names: Sequence[str]) -> Scores:
    """The scores [n, columns] in the lines of a program."""
    if len(lines) != n:
        raise ValueError(f"wrote {len(lines):,} lines for {n:,} captions, not one for each")
    return np.concatenate([_score(line, k, names) for k, line in enumerate(lines)])


def _score(line: str, k: int, names: Sequence[str]) -> Scores:
    try:
        value = json.loads(line)
    except ValueError:
        raise ValueError(f"line {k + 1:,} is not a number: {one_line(line)!r:.60}") from None
    if isinstance(value, dict):
        if value.get("id", k) != k:
            raise ValueError(f"line {k + 1:,} is of item {value['id']!r:.20}: keep the order")
        if len(names) == 1 and "score" in value:
            value = value["score"]
        else:
            value = [check_returned_scores(value, 1, names)[0].tolist()]
    elif isinstance(value, list):
        value = [value]
    return check_returned_scores(value, 1, names)
