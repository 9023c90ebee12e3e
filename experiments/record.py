"""What a run tells of itself: its configuration, its clock, and the contents of `run.json`."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from experiments.base import Experiment
from metaeval import progress, provenance
from metaeval.compute import device
from metaeval.errors import InputError, MetaevalError
from metaeval.runs import files

log = logging.getLogger(__name__)


class RunRecord:
    """The record of one run. Nothing is written before `begin` or `promise`.

    Attributes
    ----------
    config, out
        Its configuration, and the folder that it writes into.
    info
        What `run.json` will hold.
    """

    def __init__(self, experiment: Experiment, config: DictConfig, out: Path) -> None:
        self.config, self.out = config, out
        device.forget()
        self.info: dict[str, Any] = {
            **_asked(),
            "seed": config.seed,
            **provenance.machine(),
            "stages": [],
            "experiment": {
                "name": experiment.name,
                "title": experiment.title,
                "question": experiment.question,
            },
        }

    def promise(self) -> None:
        """Say "unfinished", unless the folder holds a finished run."""
        if _status(self.out) != files.FINISHED:
            self._write(files.UNFINISHED)

    def begin(self, keep: str | None = None) -> None:
        """Make the folder this run's: say "unfinished", and remove what an earlier run wrote there.

        `config.yaml` is written, everything resolved. What is in the folder `keep` stays, for a run
        that goes on.
        """
        self._write(files.UNFINISHED)
        files.clear(self.out, keep)
        text = OmegaConf.to_yaml(self.config, resolve=True)
        files.atomic(self.out / files.CONFIG, lambda p: p.write_text(text, encoding="utf-8"))

    def keep(self) -> None:
        """Write what there is to tell so far, for the page that tells it."""
        self._write(files.UNFINISHED, ended=True)

    def finish(self) -> None:
        """Say "finished", the last file being there."""
        self._write(files.FINISHED, ended=True)

    @contextmanager
    def failing(self) -> Iterator[None]:
        """What is raised in the block is why the run has failed: `run.json` says it."""
        try:
            yield
        except Exception as error:
            self.info["error"] = _told(error)
            with contextlib.suppress(InputError):  # the disk that is full, perhaps
                self._write(files.FAILED)
            raise

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """A stage of the run, timed."""
        progress.current().begin_stage(name)
        started = time.perf_counter()
        yield
        seconds = round(time.perf_counter() - started, 3)
        self.info["stages"].append({"name": name, "seconds": seconds})
        log.debug("%s: %.3f s", name, seconds)

    def _write(self, status: str, ended: bool = False) -> None:
        self.info["status"] = status
        self.info["device"] = device.used()
        self.info["finished"] = _now() if ended else None
        files.write_json(self.out / files.RUN, self.info)


def record_refusal(out: Path, config: DictConfig, error: Exception) -> None:
    """Say in `run.json` why nothing was run, where the folder holds no run at all."""
    if not out.is_dir() or (out / files.RUN).exists():
        return
    info = {**_asked(), "status": files.FAILED, "error": _told(error)}
    with contextlib.suppress(InputError):
        files.write_json(out / files.RUN, info)


def _asked() -> dict[str, Any]:
    """What was asked for, and when."""
    overrides = HydraConfig.get().overrides.task if HydraConfig.initialized() else []
    return {
        "schema": 1,
        "status": files.UNFINISHED,
        "command": sys.orig_argv[1:],
        "overrides": list(overrides),
        "working_directory": str(Path.cwd()),
        "started": _now(),
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _told(error: Exception) -> str:
    """An error as a line; where it is none of ours, with its name."""
    text = " ".join(str(error).split())
    return text if isinstance(error, MetaevalError) else f"{type(error).__name__}: {text}"


def _status(out: Path) -> str | None:
    try:
        return str(files.read_json(out / files.RUN).get("status"))
    except (InputError, AttributeError):
        return None
