"""What a run tells of itself: its configuration, its clock, and the contents of `run.json`."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from metaeval import progress, provenance
from metaeval.compute import device
from metaeval.runs import files

log = logging.getLogger(__name__)


class RunRecord:
    """The record of one run.

    Attributes
    ----------
    config, out
        Its configuration, and the folder that it writes into.
    info
        What `run.json` will hold.
    """

    def __init__(self, config: DictConfig, out: Path) -> None:
        self.config, self.out = config, out
        device.forget()
        self.info: dict[str, Any] = {
            "schema": 1,
            "command": sys.orig_argv[1:],
            "working_directory": str(Path.cwd()),
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "seed": config.seed,
            **provenance.machine(),
            "stages": [],
        }

    def write_config(self) -> None:
        """Write `config.yaml`, everything resolved."""
        text = OmegaConf.to_yaml(self.config, resolve=True)
        files.atomic(self.out / files.CONFIG, lambda p: p.write_text(text, encoding="utf-8"))

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """A stage of the run, timed."""
        progress.current().begin_stage(name)
        started = time.perf_counter()
        yield
        seconds = round(time.perf_counter() - started, 3)
        self.info["stages"].append({"name": name, "seconds": seconds})
        log.debug("%s: %.3f s", name, seconds)

    def write(self) -> None:
        """Write `run.json` as it stands."""
        self.info["device"] = device.used()
        self.info["finished"] = datetime.now(UTC).isoformat(timespec="seconds")
        files.write_json(self.out / files.RUN, self.info)
