"""The default dataset: COCO val2017 where it is found, otherwise the embedded scenes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from metaeval.data.coco.files import find_coco_captions
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import Absent, CaptionDataset


def load_auto(
    root: str | Path | None = None,
    download: bool = False,
    limit: int | None = None,
    n_references: int = 4,
    data: str | Path | None = None,
    cache: str | Path | None = None,
    **options: Any,
) -> CaptionDataset:
    """COCO val2017, or the embedded `scenes`, which then say so in `CaptionDataset.fallback`.

    Parameters are those of `load_coco`. Where the user names a place (`root`, or `captions` among
    the options) or asks for the download, COCO is what is wanted, and nothing stands in for it.

    Raises InputError for what `load_coco` refuses.
    """
    wanted = root is not None or download or options.get("captions") is not None
    found = None if wanted else find_coco_captions("val2017", data=data, cache=cache)
    if not isinstance(found, Absent):
        return load_coco(
            "coco_val2017",
            "val2017",
            root=root,
            download=download,
            limit=limit,
            n_references=n_references,
            data=data,
            cache=cache,
            **options,
        )
    from metaeval.data.scenes import load_scenes  # only where it is needed

    scenes = load_scenes(limit=limit, n_references=n_references, cache=cache)
    words = (
        "COCO val2017 was not found, so the embedded scenes stand in for it; "
        "set METAEVAL_DATA or dataset.root, or add dataset.download=true"
    )
    return replace(scenes, fallback=words)
