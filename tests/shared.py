"""What tests of several rooms write and run."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from omegaconf import DictConfig, OmegaConf

from metaeval.config import compose_config, metric_names
from metaeval.experiments.run import run_configured
from metaeval.results.files import read_result
from metaeval.runs import files


def write_lines(path: Path, records: Iterable[Any]) -> Path:
    """The file, with a line of JSON for each record."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def write_json(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def write_texts(folder: Path, texts: Mapping[str, str]) -> Path:
    """Files by their paths in the folder, which is returned."""
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def write_captions(path: Path, captions: Mapping[Any, Iterable[str]]) -> Path:
    """A captions file in COCO's format: image → its captions."""
    texts = [(i, text) for i, several in captions.items() for text in several]
    annotations = [{"id": k, "image_id": i, "caption": text} for k, (i, text) in enumerate(texts)]
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_json(path, {"images": [{"id": i} for i in captions], "annotations": annotations})


def in_data(root: Path, name: str) -> Path:
    """A path in the data folder; without it the test is skipped."""
    if not (root / name).exists():
        pytest.skip(f"METAEVAL_DATA has no {name}")
    return root / name


CONTROLS = re.compile(r"metrics?=.*(control|length|random_score|brevity|bigram|_labels|_copy)")


def without_controls(*overrides: str) -> list[str]:
    """The overrides of a run, which adds no control to the metrics that they name, and composes no
    other metric: most tests are about the metrics alone, and 18 take longer to compose than to
    score a few captions."""
    named = [o for o in overrides if o.startswith(("metric=", "metrics="))]
    settled = any(o.startswith("controls=") or CONTROLS.match(o) for o in overrides)
    more = ["controls=[]"] if named and not settled else []
    if len(named) == 1 and named[0].startswith("metrics=["):
        listed = named[0].removeprefix("metrics=")
        if set(listed[1:-1].split(",")) <= set(metric_names()):  # no group
            more.append(f"metric={listed}")
    return [*overrides, *more]


def composed(folder: Path, *overrides: str) -> DictConfig:
    """The configuration of a run with a cache in the folder.

    Composing takes longer than most of the runs, so options that name the folder are set in what
    is composed, once, of the others.
    """
    there = [o for o in overrides if f"={folder}" in o]
    config = compose_config([o for o in overrides if o not in there])
    for override in (f"paths.cache={folder / 'cache'}", *there):
        key, _, value = override.partition("=")
        OmegaConf.update(config, key, value)
    return config


def run_here(folder: Path, *overrides: str, out: str = "OUT") -> Any:
    """The result, as it is written, of a run in this process with a cache in the folder."""
    run_configured(composed(folder, *without_controls(*overrides)), folder / out)
    return read_result(folder / out / files.STATISTICS)
