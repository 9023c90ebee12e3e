"""The record of a run: its configuration, its clock, and `run.json`."""

from __future__ import annotations

import contextlib
import copy
import logging
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from metaeval import progress, provenance
from metaeval.compute import device
from metaeval.errors import InputError, MetaevalError, StageError
from metaeval.experiments.base import Experiment
from metaeval.results.base import MetricResult
from metaeval.results.files import read_info, write_info
from metaeval.results.run import ExperimentInfo, GitInfo, RunInfo, StageInfo
from metaeval.runs import files
from metaeval.runs.folder import RunFolder, lock

log = logging.getLogger(__name__)

_RunStatus = Literal["unfinished", "finished", "failed"]


class RunRecord:
    """The record of one run. Nothing is written before `begin` or `mark_unfinished`.

    Attributes
    ----------
    config, out, folder
        The configuration, and the folder of the run, which is locked.
    info
        The content of `run.json` so far; `update` changes its fields.
    """

    def __init__(self, experiment: Experiment, config: DictConfig, folder: RunFolder) -> None:
        self.config, self.out, self.folder = config, folder.given, folder
        device.forget()
        machine = provenance.machine()
        git = machine.pop("git")
        self.info = RunInfo(
            **_request(),
            seed=config.seed,
            git=git and GitInfo(**git),
            experiment=ExperimentInfo(
                name=experiment.name, title=experiment.title, question=experiment.question
            ),
            **machine,
        )

    def update(self, **fields: Any) -> None:
        """Set fields of `info`; they are validated."""
        current = {name: getattr(self.info, name) for name in RunInfo.model_fields}
        self.info = RunInfo(**{**current, **fields})

    def inside(self, folder: str) -> RunRecord:
        """The record for files in a folder of the run; it writes no `run.json`."""
        inner = copy.copy(self)
        inner.out = self.out / folder
        return inner

    def mark_unfinished(self) -> None:
        """Write "unfinished", unless the folder holds a finished run."""
        status = None
        with suppress(InputError):
            status = read_info(self.out / files.RUN).status
        if status != files.FINISHED:
            self._write("unfinished")

    def begin(self, keep: str | None = None) -> None:
        """Write "unfinished", and remove the files that an earlier run left in the folder.

        `config.yaml` is written with everything resolved. The content of the folder `keep` stays,
        for a run that is resumed.
        """
        self._write("unfinished")
        self.folder.clear(keep)
        text = OmegaConf.to_yaml(self.config, resolve=True)
        files.atomic(self.out / files.CONFIG, lambda p: p.write_text(text, encoding="utf-8"))

    def write_partial(self) -> None:
        """Write the record so far, for the report that reads it."""
        self._write("unfinished", ended=True)

    def finish(self, metrics: Sequence[MetricResult] = ()) -> None:
        """Write "finished", or "failed" where none of the metrics has scores; all other files are
        complete."""
        self.update(error=nothing_ran(metrics))
        self._write("failed" if self.info.error else "finished", ended=True)

    @contextmanager
    def record_failure(self) -> Iterator[None]:
        """Write an exception of the block into `run.json` as the reason of the failure."""
        try:
            yield
        except Exception as error:
            self.update(error=_one_line(error))
            with contextlib.suppress(InputError):  # the disk may be full
                self._write("failed")
            raise

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """A stage of the run, timed."""
        progress.current().begin_stage(name)
        started = time.perf_counter()
        yield
        seconds = round(time.perf_counter() - started, 3)
        self.update(stages=(*self.info.stages, StageInfo(name=name, seconds=seconds)))
        log.debug("%s: %.3f s", name, seconds)

    @contextmanager
    def optional_stage(self, name: str) -> Iterator[None]:
        """A stage whose failure leaves the run finished: `run.json` names it, and the log shows
        the traceback of an error that is not metaeval's."""
        started = time.perf_counter()
        try:
            with self.stage(name):
                yield
        except Exception as error:
            log.error("%s: %s", name, error, exc_info=not isinstance(error, MetaevalError))
            seconds = round(time.perf_counter() - started, 3)
            failed = StageInfo(name=name, seconds=seconds, error=_one_line(error))
            self.update(stages=(*self.info.stages, failed))

    def require_stages(self) -> None:
        """Raise StageError where an optional stage failed."""
        for stage in self.info.stages:
            if stage.error is not None:
                raise StageError(
                    f"{stage.name} failed: {stage.error}; scores and statistics are in {self.out}"
                )

    def _write(self, status: _RunStatus, ended: bool = False) -> None:
        self.update(
            status=status, device=device.used(), finished=_now() if ended else None,
            files=self.folder.files,
        )  # fmt: skip
        write_info(self.out / files.RUN, self.info)


def nothing_ran(metrics: Sequence[MetricResult]) -> str | None:
    """Why there is no result: no metric, apart from controls, has scores; `None` where one has."""
    wanted = [m for m in metrics if not m.column.control] or metrics
    if not wanted or any(m.ok or m.on_request for m in wanted):
        return None
    return f"no metric has scores: {'; '.join(reasons(wanted))}"


def reasons(metrics: Iterable[MetricResult]) -> list[str]:
    """A line for each metric that failed or was skipped."""
    lines = (f"{m.family} {m.status}: {m.reason}" for m in metrics if not m.ok)
    return list(dict.fromkeys(lines))


def record_refusal(out: Path, config: DictConfig, error: Exception) -> None:
    """Write to `run.json` why nothing was run, where the folder holds no run, and nothing else."""
    if not out.is_dir() or (out / files.RUN).exists():
        return
    failed = {**_request(), "status": "failed", "error": _one_line(error)}
    with contextlib.suppress(MetaevalError), lock(out) as folder:
        folder.require_own()
        write_info(out / files.RUN, RunInfo(**failed, files=folder.files))


def _request() -> dict[str, Any]:
    """The command, its overrides, and when it was started."""
    given: Any = HydraConfig.get().overrides.task if HydraConfig.initialized() else []
    if OmegaConf.is_config(given):  # a reference in them may be to nothing
        given = OmegaConf.to_container(given, resolve=False)
    return {
        "status": "unfinished",
        "command": tuple(sys.orig_argv[1:]),
        "overrides": tuple(given),
        "working_directory": str(Path.cwd()),
        "started": _now(),
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _one_line(error: Exception) -> str:
    """An error in one line; an error that is not metaeval's begins with its class."""
    text = " ".join(str(error).split())
    return text if isinstance(error, MetaevalError) else f"{type(error).__name__}: {text}"
