"""The record of a run: its configuration, its clock, and `run.json`."""

from __future__ import annotations

import contextlib
import copy
import json
import logging
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
import yaml
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf
from omegaconf._utils import get_omega_conf_dumper

from metaeval import progress, provenance
from metaeval.compute import device
from metaeval.data.dataset import Absent, CaptionDataset, ImageId, RecordCount, language_of
from metaeval.errors import ConfigError, InputError, MetaevalError, StageError
from metaeval.results.base import MetricResult
from metaeval.results.files import read_info, write_info
from metaeval.results.run import (
    DatasetInfo,
    ExperimentInfo,
    LanguageInfo,
    RecordCounts,
    RunInfo,
    StageInfo,
)
from metaeval.runs import files
from metaeval.runs.environment import as_written, hidden_in
from metaeval.runs.folder import RunFolder, lock
from metaeval.runs.records import CAPTION, IMAGE_ID, ITEM, Version

if TYPE_CHECKING:
    from metaeval.experiments.base import Experiment, ToScore

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
        device.forget_used_devices()
        self.info = RunInfo(
            **_request(),
            seed=config.seed,
            experiment=ExperimentInfo(
                name=experiment.name, title=experiment.title, question=experiment.question
            ),
            **provenance.machine(),
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

        In `config.yaml` all is resolved except `${oc.env:NAME}`. The content of the folder `keep`
        stays, for a run that is resumed.
        """
        self._write("unfinished")
        self.folder.clear(keep)
        text = yaml.dump(
            as_written(self.config), Dumper=get_omega_conf_dumper(), allow_unicode=True,
            sort_keys=False,
        )  # fmt: skip
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
    def stage(self, name: str, *, optional: bool = False) -> Iterator[None]:
        """A stage of the run, timed. The failure of an optional one leaves the run finished:
        `run.json` names it, and the log shows the traceback of an error that is not metaeval's."""
        progress.current().begin_stage(name)
        started = time.perf_counter()
        failure: str | None = None
        try:
            yield
        except Exception as error:
            if not optional:
                raise
            log.error("%s: %s", name, error, exc_info=not isinstance(error, MetaevalError))
            failure = _one_line(error)
        seconds = round(time.perf_counter() - started, 3)
        stage = StageInfo(name=name, seconds=seconds, error=failure)
        self.update(stages=(*self.info.stages, stage))
        log.debug("%s: %.3f s", name, seconds)

    def require_stages(self) -> None:
        """Raise StageError where an optional stage failed."""
        for stage in self.info.stages:
            if stage.error is not None:
                raise StageError(
                    f"{stage.name} failed: {stage.error}; scores and statistics are in {self.out}"
                )

    def _write(self, status: _RunStatus, ended: bool = False) -> None:
        self.update(
            status=status, device=device.used(), java=provenance.java(),
            finished=_now() if ended else None,
            files=self.folder.files,
        )  # fmt: skip
        write_info(self.out / files.RUN, hidden_in(self.info, self.config))


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
        info = hidden_in(RunInfo(**failed, files=folder.files), config)
        write_info(out / files.RUN, info)


def overrides() -> tuple[str, ...]:
    """The overrides of the command."""
    if not HydraConfig.initialized():
        return ()
    # not resolved: a reference in them may be to nothing
    task: Any = OmegaConf.to_container(HydraConfig.get().overrides.task, resolve=False)
    return tuple(task)


def _request() -> dict[str, Any]:
    """The command, its overrides, and when it was started."""
    return {
        "status": "unfinished",
        "command": tuple(sys.orig_argv[1:]),
        "overrides": overrides(),
        "working_directory": str(Path.cwd()),
        "started": _now(),
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _one_line(error: Exception) -> str:
    """An error in one line; an error that is not metaeval's begins with its class."""
    text = " ".join(str(error).split())
    return text if isinstance(error, MetaevalError) else f"{type(error).__name__}: {text}"


def require_captions(dataset: CaptionDataset) -> None:
    """Raise ConfigError for images without captions: then there is nothing to corrupt."""
    if not any(dataset.human):
        raise ConfigError(
            f"the images of {dataset.name} have no captions to corrupt; experiment=captioners "
            "captions=FOLDER scores those of systems"
        )


def write_versions(out: Path, versions: Iterable[tuple[ImageId, Version]]) -> None:
    """captions.parquet: one row per image and version."""
    rows = ((image_id, *version.as_row()) for image_id, version in versions)
    files.write_rows(out / files.CAPTIONS, rows)


def write_references(out: Path, dataset: CaptionDataset, config: DictConfig) -> None:
    """references.parquet: one row per image."""
    photos = bool(config.report and config.report.get("photos"))
    table = pd.DataFrame(
        {
            "image_id": dataset.image_ids,
            "references": [list(references) for references in dataset.references],
            "image_path": image_paths(dataset, photos),
        }
    )
    files.write_table(out / files.REFERENCES, table)


def write_dataset(
    record: RunRecord, dataset: CaptionDataset, versions: Iterable[tuple[ImageId, Version]]
) -> None:
    """captions.parquet of these versions, references.parquet, and the dataset in `run.json`."""
    write_versions(record.out, versions)
    write_references(record.out, dataset, record.config)
    record.update(dataset=dataset_info(dataset))


def write_to_score(out: Path, passes: Iterable[ToScore]) -> tuple[Path, int]:
    """captions_to_score.jsonl: what is to be scored elsewhere, each item once; how many there are.

    A record has `image_id`, `caption`, `references` and, where there is a file, `image_path`.
    """
    records: dict[tuple[ImageId, str, tuple[str, ...]], dict[str, Any]] = {}
    for dataset, captions in passes:
        paths = image_paths(dataset, photos=False)
        for k, caption in zip(item_positions(dataset, captions), captions[CAPTION], strict=True):
            image_id, references = dataset.image_ids[k], dataset.references[k]
            record = {"image_id": image_id, "caption": caption, "references": list(references)}
            if (image_path := paths[k]) is not None:
                record["image_path"] = image_path
            records.setdefault((image_id, caption, references), record)
    path = out / files.TO_SCORE
    lines = [json.dumps(record, ensure_ascii=False) for record in records.values()]
    files.atomic(path, lambda p: p.write_text("\n".join([*lines, ""]), encoding="utf-8"))
    return path, len(lines)


def item_positions(dataset: CaptionDataset, captions: pd.DataFrame) -> list[int]:
    """The position in the dataset of what each caption is compared with: its column `item` or,
    without that column, the position of its image."""
    if ITEM in captions:
        return captions[ITEM].tolist()
    positions = dataset.positions()
    return [positions[image_id] for image_id in captions[IMAGE_ID]]


def image_paths(dataset: CaptionDataset, photos: bool) -> list[str | None]:
    """Where each image's file is, for a report that shows photos; `None` where there is none.

    Images that are drawn on demand are drawn only if the report is to show photos.
    """
    images = dataset.part("images")
    if isinstance(images, Absent) or (images.on_demand and not photos):
        return [None] * len(dataset)
    paths = (images.path(image_id) for image_id in dataset.image_ids)
    return [None if path is None else str(path) for path in paths]


def dataset_info(dataset: CaptionDataset) -> DatasetInfo:
    """The entry of a dataset in `run.json`."""
    return DatasetInfo(
        name=dataset.name,
        n_images=dataset.n_images,
        n_references=tuple(reference_counts(dataset)),
        sources=dict(dataset.sources),
        notes=dataset.notes,
        fallback=dataset.fallback,
        records=record_counts(dataset.records),
        language=language_info(dataset),
    )


def record_counts(records: RecordCount | None) -> RecordCounts | None:
    """The counts of a loader as `run.json` holds them."""
    return RecordCounts(**records.counts()) if records else None


def reference_counts(dataset: CaptionDataset) -> list[int]:
    """How many references images have: each number that occurs, ascending."""
    return sorted({len(references) for references in dataset.references})


def language_info(dataset: CaptionDataset) -> LanguageInfo:
    """The language of a dataset's captions, and whether it was given or detected."""
    return LanguageInfo(code=language_of(dataset), given=dataset.language is not None)


def language_note(dataset: CaptionDataset) -> str:
    """The language for the first line of output; nothing where it is English or unknown."""
    language = language_of(dataset)
    return "" if language in (None, "en") else f", captions in '{language}'"


def counted_noun(n: int, noun: str) -> str:
    """A number with its noun.

    >>> counted_noun(1, "draw"), counted_noun(2000, "draw")
    ('1 draw', '2,000 draws')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def describe_dataset(dataset: CaptionDataset) -> str:
    """The dataset in a few words, for the first line of output."""
    counts = reference_counts(dataset)
    spread = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    text = f"{dataset.name}: {len(dataset):,} images, {spread} references each"
    text += language_note(dataset)
    if dataset.records:
        text += f"; {dataset.records}"
    return f"{text} ({dataset.fallback})" if dataset.fallback else text
