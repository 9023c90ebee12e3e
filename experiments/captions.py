"""The files of what is scored: versions of captions, and the references they are compared with."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
from omegaconf import DictConfig

from metaeval.data.dataset import Absent, CaptionDataset, ImageId, RecordCount
from metaeval.errors import ConfigError
from metaeval.experiments.base import ToScore
from metaeval.results.run import DatasetInfo, LanguageInfo, RecordCounts
from metaeval.runs import files
from metaeval.runs.columns import CAPTION, IMAGE_ID, ITEM
from metaeval.runs.records import Version
from metaeval.text.language import language_of


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


def write_to_score(out: Path, passes: Iterable[ToScore]) -> tuple[Path, int]:
    """captions_to_score.jsonl: what is to be scored elsewhere, each item once; how many there are.

    A record has `image_id`, `caption`, `references` and, where there is a file, `image_path`.
    """
    records: dict[tuple[ImageId, str, tuple[str, ...]], dict[str, Any]] = {}
    for dataset, captions in passes:
        paths = image_paths(dataset, photos=False)
        for k, caption in zip(items_of(dataset, captions), captions[CAPTION], strict=True):
            image_id, references = dataset.image_ids[k], dataset.references[k]
            record = {"image_id": image_id, "caption": caption, "references": list(references)}
            if (image_path := paths[k]) is not None:
                record["image_path"] = image_path
            records.setdefault((image_id, caption, references), record)
    path = out / files.TO_SCORE
    lines = [json.dumps(record, ensure_ascii=False) for record in records.values()]
    files.atomic(path, lambda p: p.write_text("\n".join([*lines, ""]), encoding="utf-8"))
    return path, len(lines)


def items_of(dataset: CaptionDataset, captions: pd.DataFrame) -> list[int]:
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


def describe_dataset(dataset: CaptionDataset) -> str:
    """The dataset in a few words, for the first line of output."""
    counts = reference_counts(dataset)
    spread = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    text = f"{dataset.name}: {len(dataset):,} images, {spread} references each"
    text += language_note(dataset)
    if dataset.records:
        text += f"; {dataset.records}"
    return f"{text} ({dataset.fallback})" if dataset.fallback else text
